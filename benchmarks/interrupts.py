"""Stop commands at random moments and check that nothing is lost, paid twice or half-written.

Every command line runs against a loopback endpoint, a process that counts the bodies of requests. It is stopped by
SIGKILL, SIGINT or SIGTERM at random moments of an undisturbed run, several times in a row on the same output, and then
runs to its end. A command fails if

- its results differ from those of the undisturbed run;
- a request was sent twice more often than `--concurrency` times for each SIGKILL (never after SIGINT or SIGTERM);
- after a stop, a result is neither whole nor as it was before;
- a process hangs, prints a traceback, or ends with another exit code than that of the signal;
- stale temporary files remain.

Each run is forked from one process that has imported the package, so that moments fall into the work and not into
imports; `--spawn` starts Python each time.

Run it in a checkout: `python benchmarks/interrupts.py [--commands NAME ...] [--moments N] [--seed N]`.
"""

import argparse
import asyncio
import hashlib
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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LATENCY = 0.05  # seconds
CONCURRENCY = 8
IN_A_ROW = 5  # stops before a run that ends
HANGS = 60.0  # seconds after a signal, and besides ten undisturbed durations
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
VOLATILE = re.compile(r'"(?:seconds|peak_bytes|used|date|dates|sent|answered_already)": (?:\{[^{}]*\}|[^,}\n]*)')
CACHE = "cache"  # in each working folder; its content is no result
LEFT = re.compile(r"\.partial$|-wal$|-journal$|^\..*-\d+-")  # the names of stale temporary files


# The endpoint


def filled(schema: dict[str, Any], draw: random.Random, root: dict[str, Any]) -> Any:
    """Return a value of a JSON schema."""
    if "$ref" in schema:
        return filled(root["$defs"][schema["$ref"].rpartition("/")[2]], draw, root)
    if "anyOf" in schema:
        return filled(schema["anyOf"][0], draw, root)
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: filled(each, draw, root) for name, each in schema.get("properties", {}).items()}
        case "array":
            entry = schema["items"]
            if "enum" in entry:
                return draw.sample(entry["enum"], schema.get("maxItems", len(entry["enum"])))
            return [filled(entry, draw, root) for _ in range(schema.get("minItems", 3))]
        case "integer" | "number":
            return draw.randint(int(schema.get("minimum", 1)), int(schema.get("maximum", 5)))
    return f"The Ombrey bake {draw.randrange(10**6)} loaves."


def answered(body: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request, which follows from its body alone."""
    draw = random.Random(json.dumps(body, sort_keys=True))
    if "input" in body:
        data = [
            {"index": place, "embedding": [random.Random(f"{text} {axis}").gauss() for axis in range(16)]}
            for place, text in enumerate(body["input"])
        ]
        return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 5}}
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    text = filled({"type": "string"}, draw, {}) if schema is None else json.dumps(filled(schema, draw, schema))
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


async def respond(log: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection after the latency, and note each body."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1]) if length else 0)
            with log.open("a") as file:
                file.write(hashlib.sha256(head.split()[1] + body).hexdigest() + "\n")
            await asyncio.sleep(LATENCY)
            raw = json.dumps(answered(json.loads(body))).encode()
            top = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
            writer.write(top.encode() + raw)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(log: Path) -> None:
    """Serve on a free port, and print it."""
    server = await asyncio.start_server(lambda *streams: respond(log, *streams), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# Commands


@dataclass(frozen=True)
class Command:
    """A command line with its input.

    Attributes:
        line: The arguments; `{data}` is the folder of shared input, the working folder is the current one.
        start: The folder of shared input that is copied as the working folder, for commands that change their input.
        asks: Whether it sends requests.
        resumes: Whether files of unfinished work lie among the results until the end.
        refuses: Whether it refuses to do finished work again.
    """

    line: str
    start: str | None = None
    asks: bool = False
    resumes: bool = False
    refuses: bool = False


def asking(line: str, **more: Any) -> Command:
    """Return a command that sends requests."""
    return Command(line, asks=True, **more)


BENCH = "bench {data}/demo --suite {data}/systems.yaml --resamples 50 --json out.json --system "
COMMANDS = {
    "bench embeddings": asking(BENCH + "embeddings"),
    "bench zero-shot": asking(BENCH + "zero-shot"),
    "bench rerank": asking(BENCH + "rerank --report-folder report"),
    "generate": asking("generate {data}/demo --model stub --task message --limit 60 --out out.parquet --json out.json"),
    "generate candidates": asking(
        "generate {data}/demo --model stub --task message --limit 10 --candidates 3 --temperature 1 --pick judge "
        "--judge stub --judge-aspect relevance --out out.csv"
    ),
    "judge rate": asking(
        "judge rate {data}/demo --model stub --task cseval --limit 30 --out out.parquet --json out.json"
    ),
    "judge rate panel": asking(
        "judge rate {data}/demo --model stub --model other --panel mean --task cseval --limit 15 --out out.csv"
    ),
    "judge compare": asking("judge compare {data}/demo --model stub --pairs 60 --out out.parquet --json out.json"),
    "judge calibrate": asking(
        "judge calibrate {data}/demo --model stub --aspect relevance --trials 2 --refinement-rounds 1 --refinements 1 "
        "--resamples 100 --limit 40 --out out.yaml --json out.json"
    ),
    "judge rubric": asking("judge rubric empathy --definition kindness --model stub --out out.yaml --json out.json"),
    "annotate score": asking(
        "annotate score {data}/campaign --scorer judge --model stub --out scores --rows-per-shard 20 --json out.json",
        resumes=True,
    ),
    "evaluate-generators": asking("evaluate-generators {data}/suite.yaml --out out --json out.json", resumes=True),
    "build": Command("build demo --out out"),
    "build labels-only": Command("build demo --out out --labels-only"),
    "hydrate": Command("hydrate {data}/labels --out out"),
    "croissant": Command("croissant {data}/demo --json out.json"),
    "demo": Command("demo --out out --report-folder report --ratings-out out.csv"),
    "metrics": Command("metrics {data}/demo --out out.parquet --json out.json"),
    "rank": Command("rank {data}/demo --json out.json --report out.html"),
    "leaderboard": Command("leaderboard {data}/demo --json out.json --report out.html"),
    "correlate": Command("correlate {data}/demo --resamples 500 --json out.json --report out.html"),
    "agree": Command("agree {data}/demo --kind votes --json out.json --report out.html"),
    "judge audit": Command("judge audit --ratings {data}/demo --json out.json"),
    "report": Command("report {data}/demo --out out --json out.json"),
    "publish": Command("publish {data}/demo owner/name --dry-run --json out.json"),
    "finetune": Command(
        "finetune {data}/demo --base-model local:{data}/chat --prompt message --max-epochs 2 --train-batch-size 8 "
        "--validation 0.2 --lr-schedule constant --learning-rate 1e-2 --learning-rate 1e-3 --out out --json out.json",
        resumes=True,
    ),
    "train-retriever": Command(
        "train-retriever {data}/demo --base-model {data}/encoder --epochs 3 --out out", resumes=True, refuses=True
    ),
    "annotate new": Command(
        "annotate new campaign --task appropriateness --hs-file {data}/hs.txt --cn-file {data}/cn.txt --seed 7",
        refuses=True,
    ),
    "annotate raters": Command("annotate raters campaign --join dora --leave annotator-1", start="assigned"),
    "annotate assign": Command(
        "annotate assign campaign --overlap 2=0.2 --overlap 3=0.8", start="campaign", refuses=True
    ),
    "annotate simulate": Command("annotate simulate campaign --out sheets --positive-rate 0.4", start="assigned"),
    "annotate export": Command("annotate export campaign --out sheets", start="assigned"),
    "annotate import": Command(
        "annotate import campaign {data}/sheets/main-annotator-1.csv {data}/sheets/main-annotator-2.csv",
        start="assigned",
    ),
    "annotate adjudicate": Command("annotate adjudicate campaign --json out.json", start="answered"),
    "annotate validate": Command("annotate validate campaign --resamples 0", start="adjudicated"),
    "annotate tier": Command("annotate tier campaign --out out --synthetic", start="adjudicated"),
    "annotate score tfidf": Command(
        "annotate score {data}/campaign --scorer tfidf --out scores --rows-per-shard 20", resumes=True
    ),
}
SUITE = """
name: invented
dataset: demo
config: queries
limit: 8
resamples: 50
systems:
  model: {model: stub, task: message, max_tokens: 30}
  tfidf: {strategy: retrieval, retriever: tfidf, pool: demo}
metrics: [rouge-l, length-words]
ratings: [{model: stub, task: cseval, aspect: [relevance]}]
comparisons: [{model: stub}]
"""
SYSTEMS = """
name: stub
title: Stub
systems:
  embeddings: {kind: dense, encoder: {endpoint: openai, model: stub, batch_size: 4}}
  zero-shot: {kind: zero-shot, model: stub, n: 10}
  rerank: {kind: rerank, first_stage: tfidf, top: 5, model: stub}
"""
SETUP = (
    "build demo --out demo",
    "build demo --out labels --labels-only",
    "annotate new campaign --task appropriateness --hs-file hs.txt --cn-file cn.txt --seed 7 --campaign-name whole",
    "annotate raters campaign --add-annotators 6 --add-validators 2",
    "cp campaign assigned",
    "annotate assign assigned --overlap 2=0.2 --overlap 3=0.8",
    "cp assigned answered",
    "annotate simulate answered --out sheets --positive-rate 0.4",
    "annotate import answered " + " ".join(f"sheets/main-annotator-{number}.csv" for number in range(1, 7)),
    "cp answered adjudicated",
    "annotate adjudicate adjudicated",
)


# Runs


class Process:
    """One run of the command line in a folder.

    Args:
        line: The arguments.
        folder: The working folder.
        spawn: Whether Python is started; otherwise this process is forked.
    """

    def __init__(self, line: str, folder: Path, *, spawn: bool) -> None:
        self.folder, self.said = folder, folder / "said.txt"
        self.begin = time.monotonic()
        if spawn:
            with self.said.open("w") as said:
                command = [sys.executable, "-m", "fcconan", *line.split()]
                self._pid = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=said, stderr=said).pid
            return
        self._pid = os.fork()
        if not self._pid:
            self._run(line)

    def _run(self, line: str) -> None:
        """Run the command in the forked process."""
        from fcconan.cli import main

        status = 1
        try:
            os.chdir(self.folder)
            os.environ.update(environment(self.folder))
            said = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            sys.argv = ["fcconan", *line.split()]
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdout.flush()
            os._exit(status)

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the process still runs after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                return None
            time.sleep(0.005)

    def kill(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self._pid, number)

    def output(self) -> str:
        """Return what the process printed."""
        return self.said.read_text(errors="replace") if self.said.exists() else ""


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a run."""
    own = {"FCCONAN_CACHE": str(folder / CACHE), "OPENAI_API_KEY": "a-key-of-the-benchmark", "NO_PROXY": "127.0.0.1"}
    return {**os.environ, **own}


def results(folder: Path) -> dict[str, str]:
    """Return a hash of every file of a working folder; times and numbers of requests do not count."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name.split("/")[0] not in (CACHE, "said.txt") and path.name != ".lock":
            content = path.read_bytes()
            if path.suffix in (".json", ".html"):
                content = VOLATILE.sub("", content.decode()).encode()
            found[name] = hashlib.sha256(content).hexdigest()[:16]
    return found


@dataclass
class Trial:
    """All runs of one command.

    Attributes:
        name: The name of the command.
        shared: The folder of shared input.
        log: The file in which the endpoint notes bodies.
        spawn: See `Process`.
        problems: One line for each failed check.
    """

    name: str
    shared: Path
    log: Path
    spawn: bool
    problems: list[str] = field(default_factory=list)
    stops: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def command(self) -> Command:
        """The command."""
        return COMMANDS[self.name]

    def fresh(self) -> Path:
        """Make a working folder."""
        folder = Path(tempfile.mkdtemp(dir=self.shared.parent, prefix="run-"))
        if self.command.start is not None:
            shutil.copytree(self.shared / self.command.start, folder / "campaign")
        return folder

    def start(self, folder: Path) -> Process:
        """Start the command."""
        return Process(self.command.line.replace("{data}", str(self.shared)), folder, spawn=self.spawn)

    def bodies(self) -> Counter[str]:
        """Return how often each body was sent since the last call."""
        found = Counter(self.log.read_text().split()) if self.log.exists() else Counter[str]()
        self.log.unlink(missing_ok=True)
        return found

    def undisturbed(self) -> bool:
        """Run the command to its end, and note its results; return whether it succeeded."""
        for _ in range(2):  # the first run compiles and fills the disk cache
            folder = self.fresh()
            self.before = results(folder)
            self.bodies()
            process = self.start(folder)
            status = process.wait(600)
            self.seconds = time.monotonic() - process.begin
        self.after, self.sent = results(folder), self.bodies()
        if status or (self.command.asks and not self.sent):
            self.problems.append(f"undisturbed: exit code {status}, {len(self.sent)} bodies: {process.output()[-300:]}")
        shutil.rmtree(folder)
        return not self.problems

    def stop(self, folder: Path, draw: random.Random) -> signal.Signals | None:
        """Start the command and stop it at a random moment; return the signal, or None if it ended before."""
        process, number = self.start(folder), draw.choice(SIGNALS)
        if process.wait(draw.uniform(0.02, self.seconds)) is not None:
            return None
        process.kill(number)
        status = process.wait(HANGS)
        if status is None:
            process.kill(signal.SIGKILL)
            process.wait(HANGS)
            self.problems.append(f"{number.name}: hangs")
        elif status not in (-signal.SIGKILL if number == signal.SIGKILL else 128 + number, 0):
            self.problems.append(f"{number.name}: exit code {status}: {process.output()[-300:]}")
        self.check_output(process, number.name)
        self.check_files(folder, number.name)
        self.stops[number.name] += 1
        return number

    def check_output(self, process: Process, when: str) -> None:
        """Check that nothing but messages was printed."""
        if re.search("Traceback|unexpected error|Exception ignored", process.output()):
            self.problems.append(f"{when}: {process.output()[-600:]}")

    def check_files(self, folder: Path, when: str) -> None:
        """Check that every result is as before or as after the command."""
        if not self.command.resumes:
            for name, content in results(folder).items():
                whole = content in (self.before.get(name), self.after.get(name))
                if not whole and not any(LEFT.search(part) for part in name.split("/")):
                    self.problems.append(f"{when}: {name} is neither old nor new")

    def finish(self, folder: Path, kills: int, when: str) -> None:
        """Run the command to its end, and check results, requests and stale files."""
        process = self.start(folder)
        status = process.wait(HANGS + 10 * self.seconds)
        found = results(folder)
        if status is None:
            process.kill(signal.SIGKILL)
            process.wait(HANGS)
        self.check_output(process, when)
        if status and not (self.command.refuses and status == 2 and found == self.after):
            self.problems.append(f"{when}: exit code {status}: {process.output()[-300:]}")
        changed = sorted(name for name in {*found, *self.after} if found.get(name) != self.after.get(name))
        if changed:
            self.problems.append(f"{when}: other results: {', '.join(changed)[:200]}")
        sent = self.bodies()
        repeated = sum((sent - self.sent).values())
        if repeated > CONCURRENCY * kills:
            self.problems.append(f"{when}: {repeated} requests repeated after {kills} kills")
        if lost := sum((self.sent - sent).values()):
            self.problems.append(f"{when}: {lost} requests never sent")
        stale = [path.name for path in folder.rglob("*") if LEFT.search(path.name)]
        if stale:
            self.problems.append(f"{when}: stale files: {', '.join(stale)[:200]}")

    def run(self, moments: int, draw: random.Random) -> None:
        """Stop the command at so many moments."""
        if not self.undisturbed():
            return
        cycle = 0
        while self.stops.total() < moments and cycle < moments and len(self.problems) < 10:
            cycle += 1
            folder, numbers = self.fresh(), list[signal.Signals]()
            self.bodies()
            while len(numbers) < min(IN_A_ROW, moments - self.stops.total() + len(numbers)):
                number = self.stop(folder, draw)
                if number is None:
                    break
                numbers.append(number)
            when = f"cycle {cycle} ({' '.join(number.name[3:] for number in numbers)})"
            self.finish(folder, numbers.count(signal.SIGKILL), when)
            shutil.rmtree(folder, ignore_errors=True)


def set_up(shared: Path, names: Sequence[str]) -> None:
    """Make the shared input."""
    peoples = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
    (shared / "hs.txt").write_text("\n".join(f"The {people} spoil the bread." for people in peoples))
    (shared / "cn.txt").write_text("\n".join(f"Bakers of {year} praise them." for year in range(1900, 1915)))
    (shared / "suite.yaml").write_text(SUITE)
    (shared / "systems.yaml").write_text(SYSTEMS)
    for line in SETUP:
        if line.startswith("cp "):
            shutil.copytree(*(shared / name for name in line.split()[1:]))
            continue
        process = Process(line, shared, spawn=False)
        if process.wait(600):
            sys.exit(f"{line}: {process.output()}")
    if "finetune" in names:
        from tests.models.tiny_chat import tiny_chat

        tiny_chat(shared / "chat")
    if "train-retriever" in names:
        from tests.retrieval.tiny import tiny_encoder

        tiny_encoder(shared / "encoder")


def main() -> int:
    """Run the trials and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), help="such as generate or 'judge rate'")
    parser.add_argument("--moments", type=int, nargs=2, default=(100, 20), help="with requests; without requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spawn", action="store_true", help="start Python for each run")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return 0
    sys.path.insert(0, str(ROOT))
    work = Path(tempfile.mkdtemp(prefix="fcconan-interrupts-"))
    server = subprocess.Popen([sys.executable, __file__, "--serve", work / "log"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    failed = 0
    try:
        shared = work / "data"
        shared.mkdir()
        set_up(shared, arguments.commands)
        for name in arguments.commands:
            trial = Trial(name, shared, work / "log", arguments.spawn)
            begin = time.monotonic()
            trial.run(arguments.moments[not trial.command.asks], random.Random(f"{arguments.seed} {name}"))
            stops = " ".join(f"{number.name[3:]} {trial.stops[number.name]}" for number in SIGNALS)
            spent = time.monotonic() - begin
            print(f"{name:22} {stops:24} {trial.seconds:6.2f} s {spent:6.0f} s  {'FAILED' if trial.problems else 'ok'}")
            for problem in trial.problems:
                print(f"    {problem}", flush=True)
            failed += bool(trial.problems)
    finally:
        server.terminate()
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
