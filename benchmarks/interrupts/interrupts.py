"""Stop commands at random moments and check that nothing is lost, paid twice or written incompletely.

The command lines are in `commands.yaml`. Each runs against a local endpoint, a process that counts the bodies of
requests. It is stopped by SIGKILL, SIGINT or SIGTERM at random moments, several times in a row on the same output, and
then runs to completion. A command fails if

- its results differ from those of an uninterrupted run;
- more than `--concurrency` requests are repeated for each SIGKILL, or `--in-flight` for each SIGINT or SIGTERM;
- after a stop, a result is neither complete nor unchanged;
- a process hangs, prints a traceback, or ends with another exit code than that of the signal;
- stale temporary files remain.

Each run is forked from one process that has imported the modules of an uninterrupted run, so that commands are stopped
during their work and not during imports; `--spawn` starts Python each time.

Run it in a checkout: `python benchmarks/interrupts/interrupts.py [--commands NAME ...] [--moments N] [--seed N]`.
"""

import argparse
import asyncio
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
LATENCY = 0.05  # seconds
CONCURRENCY = 8  # the default of all commands
IN_A_ROW = 5  # stops before a run that ends
PATIENCE = 60.0  # seconds after which a process hangs
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
VOLATILE = ("seconds", "peak_bytes", "used", "dates", "memory", "checksum", "key", "files")  # keys of JSON files
TIME = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.+]+")  # times of answers
NO_RESULTS = ("cache", "output.txt", "modules.txt")  # in each working folder
MODELS = (  # made in another process: torch starts threads, and a process with threads must not be forked
    "import sys; from pathlib import Path; from tests.models.tiny_chat import tiny_chat; "
    "tiny_chat(Path(sys.argv[1], 'chat'))"
)
# Python ignores a KeyboardInterrupt inside a finalizer of a library; the command then continues.
FINALIZER = re.compile(r"Exception ignored in: <function \S+__del__.*?(?:KeyboardInterrupt|SystemExit).*?\n", re.DOTALL)
STALE = re.compile(r"\.partial$|-wal$|-journal$|^\..*-\d+-")


def filled(schema: dict[str, Any], ids: list[str], draw: random.Random) -> Any:
    """Return a random value of a JSON schema; an array of strings is a permutation of the ids in the prompt."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: filled(each, ids, draw) for name, each in schema["properties"].items()}
        case "array":
            return draw.sample(ids, len(ids)) or [filled(schema["items"], ids, draw) for _ in range(3)]
        case "integer" | "number":
            return draw.randint(schema.get("minimum", 1), schema.get("maximum", 5))
    return f"The Ombrey bake {draw.randrange(10**6)} loaves."


def answered(body: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request; it depends on the body only."""
    if "input" in body:
        data = [
            {"index": place, "embedding": [random.Random(f"{text} {axis}").gauss() for axis in range(16)]}
            for place, text in enumerate(body["input"])
        ]
        return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 5}}
    draw = random.Random(json.dumps(body, sort_keys=True))
    form = body.get("response_format", {}).get("json_schema", {"schema": {}})
    content = filled(form["schema"], re.findall(r'"id": ?"([^"]+)"', body["messages"][-1]["content"]), draw)
    message = {"role": "assistant", "content": content if isinstance(content, str) else json.dumps(content)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


async def serve(log: Path) -> None:
    """Serve on a free port, which is printed; append a hash of each body to a file."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                if length is None:  # the Hub has no dataset
                    writer.write(b"HTTP/1.1 404 Not Found\r\nX-Error-Code: RepoNotFound\r\nContent-Length: 0\r\n\r\n")
                    continue
                body = await reader.readexactly(int(length[1]))
                with log.open("a") as file:
                    file.write(hashlib.sha256(head.split()[1] + body).hexdigest() + "\n")
                await asyncio.sleep(LATENCY)
                raw = json.dumps(answered(json.loads(body))).encode()
                top = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
                writer.write(top.encode() + raw)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Process:
    """One run of the command line in a folder.

    Args:
        line: Arguments of the command.
        folder: Working folder.
        spawn: Whether to start Python; otherwise this process is forked.
    """

    def __init__(self, line: str, folder: Path, *, spawn: bool = False) -> None:
        self._output_file = folder / "output.txt"
        self._output_file.unlink(missing_ok=True)
        os.environ["FCCONAN_CACHE"] = str(folder / "cache")
        if spawn:
            command = [sys.executable, "-m", "fcconan", *line.split()]
            with self._output_file.open("w") as file:
                self.id = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file).pid
            return
        sys.stdout.flush()
        self.id = os.fork()
        if not self.id:
            self._run(line, folder)

    def _run(self, line: str, folder: Path) -> None:
        """Run the command in the forked process; it exits and never returns, not even after a signal."""
        status = 128 + signal.SIGINT
        try:
            os.chdir(folder)
            output = os.open(self._output_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.argv = ["fcconan", *line.split()]
            try:
                importlib.import_module("fcconan.oldcli").main()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            sys.stdout.flush()
            Path("modules.txt").write_text("\n".join(sys.modules))
        finally:
            os._exit(status)

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the process still runs after the given time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found, status = os.waitpid(self.id, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        return None

    def end(self, seconds: float) -> int | None:
        """Return the exit code as in `wait`, and kill a process that hangs."""
        status = self.wait(seconds)
        if status is None:
            os.kill(self.id, signal.SIGKILL)
            os.waitpid(self.id, 0)
        return status

    @property
    def output(self) -> str:
        """Return the printed text."""
        return self._output_file.read_text(errors="replace") if self._output_file.exists() else ""


def lasting(value: Any) -> Any:
    """Return a JSON value without the keys whose values differ from run to run."""
    if isinstance(value, dict):
        return {key: lasting(each) for key, each in value.items() if key not in VOLATILE}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def results(folder: Path) -> dict[str, str]:
    """Return a hash of every file of a working folder, without times and numbers of requests."""
    found = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file() and place.parts[0] not in NO_RESULTS and path.suffix != ".sqlite" and path.name != ".lock":
            content = path.read_bytes()
            if path.suffix == ".json":
                with suppress(ValueError):  # an incomplete file
                    content = json.dumps(lasting(json.loads(content))).encode()
            if path.suffix in (".json", ".md", ".html"):
                content = TIME.sub(b"", content)
            found[place.as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def differing(found: dict[str, str], expected: dict[str, str]) -> str:
    """Return the names of files that differ."""
    return ", ".join(name for name in sorted({*found, *expected}) if found.get(name) != expected.get(name))


@dataclass
class Trial:
    """All runs of one command.

    Attributes:
        name: Name of the command.
        about: Entry of the command in `commands.yaml`.
        shared: Folder of shared input.
        log: File with the hashes of the bodies, written by the endpoint.
        spawn: Whether to start Python for each run; see `Process`.
        in_flight: Number of requests that may be repeated after SIGINT or SIGTERM.
        problems: One line for each failed check.
        stops: Number of stops by signal.
        seconds: Duration of an uninterrupted run.
    """

    name: str
    about: dict[str, Any]
    shared: Path
    log: Path
    spawn: bool
    in_flight: int
    problems: list[str] = field(default_factory=list)
    stops: Counter[signal.Signals] = field(default_factory=Counter)
    seconds: float = 0.0

    def run(self, moments: int, draw: random.Random) -> None:
        """Stop the command the given number of times."""
        for _ in range(2):  # the first run fills caches of compiled code and lists the imported modules
            self._run_uninterrupted()
        while self.stops.total() < moments and len(self.problems) < 10:
            folder, numbers = self._fresh(), list[signal.Signals]()
            for _ in range(min(IN_A_ROW, moments - self.stops.total())):
                number = self._stop(folder, draw)
                if number is None:
                    break
                numbers.append(number)
            self._finish(folder, numbers)
            shutil.rmtree(folder)

    def _fresh(self) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.shared.parent, prefix="run-"))
        if "start" in self.about:
            shutil.copytree(self.shared / self.about["start"], folder / "campaign")
        self._bodies()
        return folder

    def _start(self, folder: Path) -> Process:
        return Process(self.about["line"].replace("{data}", str(self.shared)), folder, spawn=self.spawn)

    def _bodies(self) -> Counter[str]:
        """Return the number of requests by body since the last call."""
        found = Counter(self.log.read_text().split()) if self.log.exists() else Counter[str]()
        self.log.unlink(missing_ok=True)
        return found

    def _run_uninterrupted(self) -> None:
        folder = self._fresh()
        self.before = results(folder)
        begin = time.monotonic()
        process = self._start(folder)
        status = process.end(10 * PATIENCE)
        self.seconds = time.monotonic() - begin
        self.after, self.sent = results(folder), self._bodies()
        if status or bool(self.sent) != self.about.get("asks", False):
            self.problems.append(f"uninterrupted: exit code {status}, {len(self.sent)} bodies: {process.output[-300:]}")
        for module in (folder / "modules.txt").read_text().split() if (folder / "modules.txt").exists() else ():
            with suppress(Exception):
                importlib.import_module(module)
        shutil.rmtree(folder)

    def _stop(self, folder: Path, draw: random.Random) -> signal.Signals | None:
        """Start the command and stop it at a random moment; return the signal, or None if it ended before."""
        process, number = self._start(folder), draw.choice(SIGNALS)
        if process.wait(draw.uniform(0.02, self.seconds)) is not None:
            return None
        os.kill(process.id, number)
        status = process.end(PATIENCE)
        expected = -number if number == signal.SIGKILL else 128 + number
        if status not in (expected, 0, -number):  # signals may arrive before the command handles them
            self.problems.append(f"{number.name}: {status or 'hangs'}: {process.output[-300:]}")
        self._check_output(process, number.name)
        for name, content in self._parts(results(folder)).items() if not self.about.get("resumes") else ():
            whole = content in (self._parts(self.before).get(name), self._parts(self.after).get(name))
            if not whole and not STALE.search(name.rpartition("/")[2]):
                self.problems.append(f"{number.name}: {name} is neither old nor new")
        self.stops[number] += 1
        return number

    def _parts(self, found: dict[str, str]) -> dict[str, dict[str, str]]:
        """Return the files by result; each result is written atomically."""
        parts: dict[str, dict[str, str]] = {}
        for name, content in found.items():
            top = name.split("/")[0]
            part = name if (top == "campaign" and "start" in self.about) or "each" in self.about else top
            parts.setdefault(part, {})[name] = content
        return parts

    def _finish(self, folder: Path, numbers: Sequence[signal.Signals]) -> None:
        """Run the command to completion, and check results, requests and stale files."""
        process, when = self._start(folder), "finished after " + " ".join(number.name for number in numbers)
        status = process.end(PATIENCE + 10 * self.seconds)
        found, sent = results(folder), self._bodies()
        self._check_output(process, when)
        if status != 0 and not (self.about.get("refuses") and found == self.after):
            self.problems.append(f"{when}: {status or 'hangs'}: {process.output[-300:]}")
        if changed := differing(found, self.after):
            self.problems.append(f"{when}: other results: {changed[:300]}")
        kills = numbers.count(signal.SIGKILL)
        repeated = (sent - self.sent).total()
        allowed = CONCURRENCY * kills + self.in_flight * (len(numbers) - kills)
        if repeated > allowed:
            self.problems.append(f"{when}: {repeated} requests repeated, at most {allowed} allowed")
        if missing := (self.sent - sent).total():
            self.problems.append(f"{when}: {missing} requests were not sent")
        if stale := [path.name for path in folder.rglob("*") if STALE.search(path.name)]:
            self.problems.append(f"{when}: stale files: {', '.join(stale)[:300]}")

    def _check_output(self, process: Process, when: str) -> None:
        output = FINALIZER.sub("", process.output)
        found = re.search("Traceback|unexpected error|Exception ignored", output)
        if found:
            self.problems.append(f"{when}: {output[found.start() :][:600]}")


def set_up(shared: Path, plan: dict[str, Any]) -> None:
    """Write the shared input."""
    for name, content in plan["files"].items():
        (shared / name).write_text(content)
    for line in plan["setup"]:
        if line.startswith("copy "):
            _, source, copy = line.split()
            shutil.copytree(shared / source, shared / copy)
            continue
        process = Process(line, shared)
        if process.end(10 * PATIENCE):
            sys.exit(f"{line}: {process.output}")
    subprocess.run([sys.executable, "-c", MODELS, shared], cwd=ROOT, check=True, capture_output=True)


def main() -> int:
    """Run the trials and print a table."""
    plan = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text())
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--commands",
        nargs="+",
        default=list(plan["commands"]),
        help="names in commands.yaml, such as generate 'judge rate'",
    )
    parser.add_argument(
        "--moments", type=int, nargs=2, default=(100, 20), help="number of stops of commands with and without requests"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in-flight", type=int, default=0, help="repeated requests allowed after SIGINT and SIGTERM")
    parser.add_argument("--spawn", action="store_true", help="start Python for each run")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve))
    sys.path.insert(0, str(ROOT))  # prefer this checkout to an installed package
    work = Path(tempfile.mkdtemp(prefix="fcconan-interrupts-"))
    server = subprocess.Popen([sys.executable, __file__, "--serve", work / "log"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}"
    os.environ |= {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "a-key-of-the-benchmark", "HF_ENDPOINT": url}
    os.environ |= {"NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    warnings.simplefilter("ignore")
    failed = 0
    try:
        shared = work / "data"
        shared.mkdir()
        set_up(shared, plan)
        for name in options.commands:
            trial = Trial(name, plan["commands"][name], shared, work / "log", options.spawn, options.in_flight)
            begin = time.monotonic()
            trial.run(options.moments["asks" not in trial.about], random.Random(f"{options.seed} {name}"))
            stops = " ".join(f"{number.name[3:]} {trial.stops[number]:<3}" for number in SIGNALS)
            spent = time.monotonic() - begin
            print(
                f"{name:22} {stops} {trial.seconds:6.2f} s {spent:6.0f} s  {'FAILED' if trial.problems else 'ok'}",
                flush=True,
            )
            for problem in trial.problems:
                print(f"    {' '.join(problem.split())}", flush=True)
            failed += bool(trial.problems)
    finally:
        server.terminate()
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
