"""Kill commands that ask a model, at random moments, and check that at most the requests in flight are asked again.

Each command runs against an endpoint in this process, with 8 requests in flight. A trial kills it by SIGKILL, and runs
it again to its end. It fails if more than 8 requests are repeated, if the killed run left an output, or if the results
differ from those of an uninterrupted run.

Run it in a checkout: `python benchmarks/kills.py [--kills 100] [--seed 0]`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.models.server import KEY, Action, Body, Server, completion, overlap

AT_ONCE, LATENCY = 8, 0.03
SUITE = "systems: {listwise: {kind: rerank, first_stage: bm25, top: 20, window: 8, step: 4, model: stub}}"
COMMANDS = {
    "judge rate": "judge rate demo --task cseval --model stub --limit 40 --out out.csv",
    "bench": "bench demo --suite suite.yaml --system listwise --resamples 0 --json out.json",
    "generate": "generate demo --model stub --limit 120 --out out.csv",
}


def answer(body: Body, number: int) -> Action:
    """Answers after the latency, in the form of the schema or the task of the request."""
    form = body.get("response_format", {}).get("json_schema", {"name": "", "schema": {"properties": {}}})
    text = json.dumps({name: len(str(body)) % 3 + 1 for name in form["schema"]["properties"]})
    said = overlap(body) if form["name"] == "listwise" else text if form["name"] else f"Reply {len(str(body))}."
    return Action(delay=LATENCY, body=completion(body, said))


def start(words: str, server: Server, folder: Path, cache: Path) -> subprocess.Popen[str]:
    """Starts a command in a folder."""
    line = [*words.split(), "--base-url", server.url, "--concurrency", str(AT_ONCE), "--force"]
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1", "FCCONAN_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-m", "fcconan", *line],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(words: str, server: Server, folder: Path, cache: Path) -> str:
    """Runs a command to its end, and returns its output, without its counts of requests."""
    with start(words, server, folder, cache) as process:
        complaint = process.communicate()[1]
    if process.returncode:
        sys.exit(f"{words} ended with {process.returncode}: {complaint}")
    text = (folder / words.split()[-1]).read_text(encoding="utf-8")
    if words.endswith(".csv"):
        return text
    found: dict[str, Any] = json.loads(text)
    return json.dumps({name: each for name, each in found["tables"].items() if name != "usage"})


def main() -> None:
    """Kill each command the given number of times, and print the numbers of repeated requests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Commands whose names start so.")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name, Server(answer) as server:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "fcconan", "build", "demo", "--out", folder / "demo"], check=True)
        (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
        for command, words in COMMANDS.items():
            if not command.startswith(options.only):
                continue
            server.requests.clear()
            expected, whole = finish(words, server, folder, folder / "first"), len(server.requests)
            repeated, wrong = Counter[int](), 0
            out = folder / words.split()[-1]
            for kill in range(options.kills):
                server.requests.clear()
                out.unlink()
                cache, moment = folder / f"{command.split()[0]}-{kill}", draw.randrange(1, whole)
                with start(words, server, folder, cache) as process:
                    while len(server.requests) < moment and process.poll() is None:
                        time.sleep(0.002)
                    process.kill()
                time.sleep(2 * LATENCY)  # answers without a reader
                wrong += process.returncode not in (0, -9) or (out.exists() and process.returncode != 0)
                wrong += finish(words, server, folder, cache) != expected
                repeated[len(server.requests) - whole] += 1
            print(
                f"{command}: {whole} requests, {options.kills} kills, repeated {dict(sorted(repeated.items()))}, "
                f"{wrong} wrong"
            )
            if wrong or min(repeated) < 0 or max(repeated) > AT_ONCE:
                sys.exit(1)


if __name__ == "__main__":
    main()
