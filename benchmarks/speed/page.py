"""Run every speed benchmark and write docs/speed.md: the machine, and a table of ratios for each benchmark.

Benchmarks run one after the other, each in its own process, and print to the terminal. The first line of a benchmark's
docstring is its description. A benchmark without its upstream files is left out, and the page names it. After any other
failure, no page is written. `--json` stores all results, and `--from` writes the page from stored results.

Run it with `python benchmarks/speed/page.py [--out FILE] [--json FILE] [--from FILE]`, on an idle machine.
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
BENCHMARKS = ("retrieval", "judge", "scoring", "tournament", "scale")
INTRODUCTION = """# Speed

Each benchmark compares this package with a baseline in the same run, on the machine below. Ratios depend much less on
the machine than seconds. Aims are targets of this package; a missed aim fails no test. `make speed` measures all ratios
again and writes this page.
"""


def measure() -> dict[str, Any]:
    """Run the benchmarks and return their results by name."""
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
        f"Load average after a benchmark: {min(loads)} to {max(loads)}.\n",
    ]
    for name, result in found.items():
        rows = [f"| {ratio} | {ratios.shown(value)} | {aim} |" for ratio, (value, aim) in result["ratios"].items()]
        parts.append("\n".join([f"## {_describe(name)}\n", "| ratio | measured | aim |", "|---|---:|---|", *rows, ""]))
    left_out = [f"`{name}.py`" for name in BENCHMARKS if name not in found]
    if left_out:
        parts.append(f"Not measured in this run: {', '.join(left_out)}.\n")
    return "\n".join(parts)


def _describe(name: str) -> str:
    """Return the name and description of a benchmark."""
    docstring = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or name
    return f"`{name}.py`: {docstring.splitlines()[0]}"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description="Run every speed benchmark and write a page of ratios.")
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "docs" / "speed.md", help="the page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    parser.add_argument("--from", dest="stored", type=Path, metavar="FILE", help="write the page from stored results")
    options = parser.parse_args()
    found = measure() if options.stored is None else json.loads(options.stored.read_text(encoding="utf-8"))
    ratios.write_json(found, options.json)
    text = page(found)
    options.out.write_text(text, encoding="utf-8")
    print(f"\n{text}\nWritten to {options.out}")


if __name__ == "__main__":
    main()
