"""Common parts of the speed benchmarks: ratios with their aims, and the machine."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fcconan

# Measured ratio and aim, by name, such as `time, scipy looped / fcconan`; the aim may be empty.
Ratios = dict[str, tuple[float, str]]
NO_INPUT = 2  # exit code of a benchmark whose upstream files are unavailable


def machine(*libraries: str) -> dict[str, Any]:
    """Return the machine, its load, and the versions of libraries.

    Args:
        libraries: Names of distributions.
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "fcconan": fcconan.__version__,
        **{library: version(library) for library in libraries},
    }


def lines(result: Mapping[str, Any]) -> list[str]:
    """Return the ratios and the machine as lines of text."""
    width = max(len(name) for name in result["ratios"]) + 2
    found = [f"{'ratio':{width}} {'measured':>9}  aim"]
    found += [f"{name:{width}} {shown(value):>9}  {aim}".rstrip() for name, (value, aim) in result["ratios"].items()]
    return [*found, "", ", ".join(f"{name} {value}" for name, value in result["machine"].items())]


def shown(value: float) -> str:
    """Return a ratio with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def write_json(result: Mapping[str, Any], file: Path | None) -> None:
    """Write a result to a file, unless the file is None."""
    if file is not None:
        file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
