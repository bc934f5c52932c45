"""Measure `judge rate` against an endpoint of fixed latency, in one run.

- Throughput: replies are rated with 64 concurrent requests; every answer is stored before use. The baseline is the
  ideal time: latency times requests, divided by 64, or 213 requests per second at 300 ms. 2000 replies take 32 rounds,
  and the last round has a quarter of the requests, so no client exceeds .977 of the ideal.
- CPU: milliseconds of the rating process for each request. The endpoint is another process; so this value, unlike the
  throughput, hardly depends on other load on the machine.
- Memory: peak memory of the process for ten times the replies, compared with that for the replies.
- Resume: time of a run whose answers are all stored, compared with the run that sent the requests.

The endpoint is a separate process that answers every request after the latency. Each run has its own process. Time
covers the rating with its files, without the start of Python. A missed aim is not an error; the benchmark stops if a
resumed run gives other ratings.

Run it with `python benchmarks/speed/judge.py [--json FILE] [--replies N] [--latency SECONDS]`.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ratios
from ratios import machine, write_json

AT_ONCE = 64
TIMES_MORE = 10
WORDS = "the ombrey tessok velmari dravene quillish ostrun bring salt lamps bread to market and build roofs".split()
SECRET = "a-key-of-the-benchmark"


class Answering(asyncio.Protocol):
    """Answers every request after the latency, over persistent connections."""

    def __init__(self, latency: float) -> None:
        self._latency, self._read = latency, b""
        message = {"role": "assistant", "content": '{"relevance": 4}'}
        body = {
            "object": "chat.completion",
            "model": "fixed-latency",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 8, "total_tokens": 408},
        }
        raw = json.dumps(body).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        self._answer = head.encode() + raw

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer the complete requests."""
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            fields = dict(line.split(b":", 1) for line in self._read[:end].lower().split(b"\r\n")[1:])
            whole = end + 4 + int(fields.get(b"content-length", b"0"))
            if len(self._read) < whole:
                return
            self._read = self._read[whole:]
            asyncio.get_running_loop().call_later(self._latency, self._write)

    def _write(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._answer)  # type: ignore[attr-defined]


def serve(latency: float) -> None:
    """Serve on a free port, which is printed."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Answering(latency), "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    # epoll rounds timeouts up to milliseconds, which would increase the latency.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(run())


def rate(port: int, replies: Path, out: Path) -> None:
    """Rate replies and print wall time, CPU time and peak memory in MB."""
    import openai  # noqa: F401  # not part of the measured time
    import pandas as pd

    import fcconan

    frame = pd.read_json(replies, lines=True)
    endpoint = fcconan.Endpoint(base_url=f"http://127.0.0.1:{port}/v1", concurrency=AT_ONCE)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    found = fcconan.rate(frame, task="cseval", aspect=("relevance",), model=("fixed-latency",), endpoint=endpoint)
    found.write(out)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sent = int(found.tables["usage"]["requests"].sum())
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak, "sent": sent}))


def cpu_of(run: dict[str, Any]) -> float:
    """Return milliseconds of CPU time for each request."""
    return float(1000 * run["cpu_seconds"] / run["sent"])


def write_replies(path: Path, number: int) -> None:
    """Write invented replies, of 40 words each."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for each in range(number):
            hs, cn = (" ".join(draw.choices(WORDS, k=length)) for length in (15, 40))
            row = {
                "reply_id": f"re-{each}",
                "hate_speech": hs,
                "text": cn,
                "system": "invented",
                "item_id": f"it-{each}",
            }
            file.write(json.dumps(row) + "\n")


def child(cache: Path, *arguments: object) -> dict[str, Any]:
    """Run this file in a new process with a store of its own, and parse its output."""
    environment = {**os.environ, "OPENAI_API_KEY": SECRET, "NO_PROXY": "127.0.0.1", "FCCONAN_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        sys.exit(f"a run failed: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    print(f"{arguments[0]}: {found}", file=sys.stderr)
    return found


def measure(number: int, latency: float) -> dict[str, Any]:
    """Measure throughput, memory and resuming."""
    command = [sys.executable, __file__, "--serve", str(latency)]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        port, folder = int(server.stdout.readline()), Path(name)
        runs = {}
        try:
            for label, many in (("few", number), ("many", number * TIMES_MORE)):
                replies = folder / f"{label}.jsonl"
                write_replies(replies, many)
                work = folder / label
                work.mkdir()
                runs[label] = child(work, "--rate", port, replies, work / "first.jsonl")
            runs["again"] = child(work, "--rate", port, replies, work / "again.jsonl")
            first, again = ((folder / "many" / f"{each}.jsonl").read_bytes() for each in ("first", "again"))
            if first != again or runs["again"]["sent"]:
                sys.exit("the resumed run gives other ratings than the first one")
        finally:
            server.terminate()
    ideal = number * latency / AT_ONCE
    return {
        "replies": number,
        "latency_seconds": latency,
        "requests_at_once": AT_ONCE,
        "seconds": runs["few"]["seconds"],
        "ideal_seconds": ideal,
        "requests_per_second": number / runs["few"]["seconds"],
        "cpu_ms_per_request": cpu_of(runs["few"]),
        "peak_mb": runs["few"]["peak_mb"],
        "peak_mb_many": runs["many"]["peak_mb"],
        "seconds_many": runs["many"]["seconds"],
        "seconds_resumed": runs["again"]["seconds"],
        "ratios": {
            "throughput, fcconan / ideal": (ideal / runs["few"]["seconds"], "at least 0.9"),
            "CPU, ms a request": (cpu_of(runs["few"]), "at most 4"),
            "CPU, ms a request, ten times the replies": (cpu_of(runs["many"]), "at most 4"),
            "throughput, fcconan / ideal, ten times the replies": (ideal * TIMES_MORE / runs["many"]["seconds"], ""),
            "memory, ten times the replies / once": (runs["many"]["peak_mb"] / runs["few"]["peak_mb"], "about 1"),
            "time, all answers stored / run": (runs["again"]["seconds"] / runs["many"]["seconds"], "at most 0.05"),
        },
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the measurements to this file")
    parser.add_argument("--replies", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.3, help="seconds")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--rate", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        serve(arguments.serve)
        return
    if arguments.rate:
        port, replies, out = arguments.rate
        rate(int(port), Path(replies), Path(out))
        return
    found = {"machine": machine("openai"), **measure(arguments.replies, arguments.latency)}
    for name, value in found.items():
        if name not in ("machine", "ratios"):
            print(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
    print("", *ratios.lines(found), sep="\n")
    write_json(found, arguments.json)


if __name__ == "__main__":
    main()
