"""Run every speed benchmark and write docs/speed.md: a table of ratios for each, with the machine named.

Each benchmark runs in a process of its own, one after the other; all of its output goes to the terminal. What a
benchmark measures is the first line of its file. A benchmark without its upstream files is left out, which the page
says; if one fails in another way, the page is not written. `--json` keeps all figures;
`--from` writes the page of figures that were kept.

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

Ratios against a named baseline of the same run, on the machine below; `make speed` measures them again
and writes this page. A ratio depends on the machine much less than seconds do. Aims are what we hold ourselves to; a
missed one is shown, and no test fails by it.
"""


def measure() -> dict[str, Any]:
    """Run the benchmarks and return the figures of each."""
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
        found: The figures of each benchmark, by its name.
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
    """Return what a benchmark measures, in the words of its file, and its name."""
    says = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or name
    return f"`{name}.py`: {says.splitlines()[0]}"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description="Run every speed benchmark and write a page of ratios.")
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "docs" / "speed.md", help="the page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument("--from", dest="kept", type=Path, metavar="FILE", help="write the page of these figures")
    options = parser.parse_args()
    found = measure() if options.kept is None else json.loads(options.kept.read_text(encoding="utf-8"))
    ratios.write_json(found, options.json)
    text = page(found)
    options.out.write_text(text, encoding="utf-8")
    print(f"\n{text}\nWritten to {options.out}")


if __name__ == "__main__":
    main()
