"""What every benchmark here has in common: ratios with their aims, and the machine that they were measured on."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fcconan

# By name, such as `time, fcconan / polars`: the ratio, and what it should be, if that was ever said.
Ratios = dict[str, tuple[float, str]]
NO_INPUT = 2  # exit code of a benchmark whose upstream files cannot be had


def machine(*libraries: str) -> dict[str, Any]:
    """Return what the figures depend on besides the code.

    Args:
        libraries: Names of distributions whose versions matter.
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
    """Return a ratio with three digits that mean something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def write_json(result: Mapping[str, Any], file: Path | None) -> None:
    """Write all figures to a file, if one is named."""
    if file is not None:
        file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
