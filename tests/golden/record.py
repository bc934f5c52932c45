"""Compares what the package computes with the record of values, or writes it: `make golden`, `make golden-update`.

Every part runs in a process and a folder of its own. Exit code 1: a value differs, or a call failed or has no record.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.golden import values
from tests.golden.answers import MADE
from tests.golden.calls import CALLS, Call
from tests.golden.values import Table, differences, named
from tests.golden.workplace import ROOT, Workplace, settle

MIRROR = "FCCONAN_MIRROR"


class Outcome(NamedTuple):
    """What came of the calls of a part: their values, and a line for each call that failed."""

    found: Table
    failed: dict[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs calls and returns the exit code."""
    options = _options(arguments)
    if options.summary:
        print("\n".join(summary(values.read())))
        return 0
    chosen = [call for call in CALLS if call.name.startswith(options.only)]
    if options.compute:
        _compute([call for call in chosen if call.part == options.compute], options)
        return 0
    skipped = [call for call in chosen if call.mirror and not os.environ.get(MIRROR)]
    if skipped:
        print(f"skipped, because {MIRROR} is not set: {', '.join(call.name for call in skipped)}")
    chosen = [call for call in chosen if call not in skipped]
    with tempfile.TemporaryDirectory(prefix="fcconan-golden-") as name, ThreadPoolExecutor(options.jobs) as pool:
        parts = dict.fromkeys(call.part for call in chosen)
        outcomes = list(pool.map(lambda part: outcome(part, Path(name, part), options), parts))
    found = {key: value for outcome in outcomes for key, value in outcome.found.items()}
    failed = {name: line for outcome in outcomes for name, line in outcome.failed.items()}
    for name, line in failed.items():
        print(f"failed: {name}: {line}")
    computed = [call.name for call in chosen if call.name not in failed]
    if options.update:
        values.write({**kept(values.read(), computed, whole=not options.only), **found})
        print(f"{len(found)} values of {len(computed)} calls recorded")
        return int(bool(failed))
    lines, equal = report(values.read(), found, computed, options.lines)
    print("\n".join(lines))
    return int(bool(failed) or not equal)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.record", description=str(__doc__).split("\n")[0])
    parser.add_argument("--update", action="store_true", help="Write the record instead of comparing with it.")
    parser.add_argument(
        "--only", default="", metavar="PREFIX", help="Calls whose names start so, such as 'bench demo'."
    )
    parser.add_argument("--jobs", type=int, default=2, help="Parts at once.")
    parser.add_argument("--lines", type=int, default=200, help="Differences to print; default: 200.")
    parser.add_argument("--summary", action="store_true", help="Print what the record covers, call by call.")
    parser.add_argument("--compute", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def kept(recorded: Table, computed: Sequence[str], *, whole: bool) -> Table:
    """Returns the recorded values that an update leaves: of calls that were not computed and still exist."""
    known = {call.name for call in CALLS} if whole else {value.call for value in recorded.values()}
    return {key: value for key, value in recorded.items() if value.call in known - {*computed}}


def report(recorded: Table, found: Table, calls: Sequence[str], limit: int) -> tuple[list[str], bool]:
    """Returns lines on the differences and a summary by class, and whether all values are equal."""
    compared = {key: value for key, value in recorded.items() if value.call in calls}
    differing = differences(compared, found)
    without = sorted({*calls} - {value.call for value in compared.values()})
    lines = [line for _, line in differing[:limit]]
    lines += [f"... and {len(differing) - limit} more"] * (len(differing) > limit)
    lines += [f"not recorded: {', '.join(without)}: run `make golden-update`"] * bool(without)
    of, among = (
        Counter(value.kind for value in those) for those in ([each for each, _ in differing], compared.values())
    )
    counts = ", ".join(f"{of[kind]} of {among[kind]} {kind}" for kind in values.CLASSES)
    lines.append(f"Record of {len(calls)} calls: values that differ: {counts}.")
    return lines, not differing and not without


def summary(recorded: Table) -> list[str]:
    """Returns a table of calls, their rows of SCOPE.md, and the number of values by class."""
    found: dict[str, list[values.Value]] = {}
    for value in recorded.values():
        found.setdefault(value.call, []).append(value)
    lines = ["| call | rows of SCOPE.md | exact | resampled | replaced |", "|---|---|--:|--:|--:|"]
    for name, those in {**found, "all": [*recorded.values()]}.items():
        rows = (
            " ".join(sorted({value.row for value in those})) if name != "all" else f"{len({v.row for v in those})} rows"
        )
        counts = Counter(value.kind for value in those)
        lines.append(f"| {name} | {rows} | " + " | ".join(str(counts[kind]) for kind in values.CLASSES) + " |")
    return lines


def compute(calls: Iterable[Call], place: Workplace) -> Outcome:
    """Runs calls in a folder."""
    found: Table = {}
    failed: dict[str, str] = {}
    for call in calls:
        started = time.monotonic()
        try:
            found |= named(call.name, call.run(place))
        except Exception as problem:  # one failing call leaves the others comparable
            failed[call.name] = f"{type(problem).__name__}: {problem}".replace("\n", " ")[:300]
        print(f"{call.name} ({time.monotonic() - started:.0f} s)", flush=True)
    return Outcome(found, failed)


def _compute(calls: list[Call], options: argparse.Namespace) -> None:
    """Computes calls in this process and writes their values."""
    settle(options.folder)
    outcome = compute(calls, Workplace(options.folder, MADE))
    values.write(outcome.found, options.folder / "found.csv.gz")
    (options.folder / "failed").write_text("".join(f"{n}\t{line}\n" for n, line in outcome.failed.items()), "utf-8")


def outcome(part: str, folder: Path, options: argparse.Namespace) -> Outcome:
    """Computes a part in a process of its own."""
    folder.mkdir()
    calls = [call for call in CALLS if call.part == part and call.name.startswith(options.only)]
    environment = dict(os.environ)
    if not any(call.mirror for call in calls):
        environment.pop(MIRROR, None)  # so that no upstream text can be among the values
        environment["NUMBA_DISABLE_JIT"] = "1"  # as in the tests, which compute these calls, too
    command = [sys.executable, "-m", "tests.golden.record", "--compute", part, "--folder", str(folder)]
    command += ["--only", options.only] + ["--update"] * options.update
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=None, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        line = (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1]
        return Outcome({}, {call.name: line for call in calls})
    failed = (folder / "failed").read_text("utf-8").splitlines()
    return Outcome(values.read(folder / "found.csv.gz"), dict(line.split("\t", 1) for line in failed))


if __name__ == "__main__":
    sys.exit(main())
