"""Run every speed benchmark and write docs/speed.md: a table of ratios for each, with the machine named.

Benchmarks run one after the other, each in its own process, and print to the terminal. The first line of a benchmark's
file is its description. A benchmark without its upstream files is left out, with a line on the page; after any other
failure, no page is written. `--json` stores all results, and `--from` writes the page from stored results.

Run it with `python benchmarks/speed/page.py [--out FILE] [--json FILE] [--from FILE]`, on a machine that does nothing
else.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ratios

HERE = Path(__file__).parent
BENCHMARKS = ("build", "retrieval", "judge", "scoring", "tournament", "scale")
INTRODUCTION = """# Speed

Ratios against a named baseline of the same run, on the machine below. `make speed` measures them again and writes this
page. A ratio depends on the machine much less than seconds do. Aims are targets of this package: a missed aim is shown,
and no test fails.
"""


def measure() -> dict[str, Any]:
    """Run the benchmarks and return their results."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="fcconan-speed-") as folder:
        for name in BENCHMARKS:
            print(f"\n== {name}", flush=True)
            file = Path(folder) / f"{name}.json"
            done = subprocess.run([sys.executable, str(HERE / f"{name}.py"), "--json", str(file)], check=False)
            if done.returncode == ratios.NO_INPUT:
                continue
            done.check_returncode()
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    return found


def page(found: dict[str, Any]) -> str:
    """Return the page as Markdown.

    Args:
        found: Results of each benchmark, by name.
    """
    machines: dict[str, Any] = {}
    loads = []
    for result in found.values():
        loads.append(result["machine"].pop("load"))
        machines |= result["machine"]
    parts = [
        INTRODUCTION,
        "Machine: " + ", ".join(f"{name} {value}" for name, value in machines.items()) + ". "
        f"Load when a benchmark ended: {min(loads)} to {max(loads)}.\n",
    ]
    for name, result in found.items():
        rows = [f"| {what} | {ratios.shown(value)} | {aim} |" for what, (value, aim) in result["ratios"].items()]
        parts.append("\n".join([f"## {_what(name)}\n", "| ratio | measured | aim |", "|---|---:|---|", *rows, ""]))
    left_out = [f"`{name}.py`" for name in BENCHMARKS if name not in found]
    if left_out:
        parts.append(f"Not measured this time: {', '.join(left_out)}.\n")
    return "\n".join(parts)


def _what(name: str) -> str:
    """Return the name and description of a benchmark."""
    says = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or name
    return f"`{name}.py`: {says.splitlines()[0]}"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description="Run every speed benchmark and write a page of ratios.")
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "docs" / "speed.md", help="the page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    parser.add_argument("--from", dest="kept", type=Path, metavar="FILE", help="write the page from these results")
    options = parser.parse_args()
    found = measure() if options.kept is None else json.loads(options.kept.read_text(encoding="utf-8"))
    ratios.write_json(found, options.json)
    text = page(found)
    options.out.write_text(text, encoding="utf-8")
    print(f"\n{text}\nWritten to {options.out}")


if __name__ == "__main__":
    main()
