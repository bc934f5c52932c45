"""Inputs of a report: results of commands as JSON, and folders that commands write."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.data import read_text
from fcconan.errors import InputError

EXPECTED = (
    "a folder of `bench --report-folder`, `build` or `evaluate-generators`, a JSON result of bench, rank, correlate, "
    "agree, leaderboard, metrics or reproduce, or a folder of these"
)
MANIFEST, SUITE, CAMPAIGN = "manifest.json", "suite.json", "campaign.yaml"


@dataclass(frozen=True)
class Input:
    """Something that a page is made from.

    Attributes:
        kind: `dataset`, `generators`, `bench`, `rank`, `correlate`, `agree`, `leaderboard`, `metrics` or
            `reproduce`.
        path: The file or folder.
        data: The content of the JSON file; None for a dataset and a suite.
    """

    kind: str
    path: Path
    data: Any = None


def find_inputs(paths: Sequence[Path], *, on_skip: Callable[[str], None] = lambda line: None) -> list[Input]:
    """Recognises files and folders by their content, and orders them by kind.

    A result that is there twice, as a file and in the folder of `bench --report-folder`, is one input: that with more
    in it.

    Args:
        paths: Files and folders. A folder of several results gives all of them: its files, and folders directly in it.
        on_skip: Receives a line for each part of these folders that is left out, with the reason.

    Raises:
        InputError: One of them is not there, cannot be read, or is nothing that a report shows.
    """
    found: dict[Path, Input] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} is not there: give {EXPECTED}")
        recognised = list(_inputs(path, on_skip))
        if not recognised and (path / CAMPAIGN).is_file():
            raise InputError(f"{path} is a running campaign: give the dataset that `fcconan build` makes of its tiers")
        if not recognised:
            raise InputError(f"{path} holds nothing that a report shows: give {EXPECTED}")
        for each in recognised:
            found.setdefault(each.path.resolve(), each)  # named twice, it is shown once
    kinds = [*_KEYS, "generators", "dataset"]
    return sorted(_once(found.values(), on_skip), key=lambda each: kinds.index(each.kind))


def _once(found: Iterable[Input], on_skip: Callable[[str], None]) -> list[Input]:
    """Returns inputs, of those that hold the same result the one that is a folder, or else the first."""
    kept: dict[str, Input] = {}
    for each in found:
        whole = each.kind in _KEYS  # a dataset or a suite is more than its JSON file
        same = json.dumps([each.kind, each.data], sort_keys=True) if whole else str(each.path.resolve())
        before = kept.get(same)
        if before is None or (each.path.is_dir() and not before.path.is_dir()):
            kept[same] = each
        if before is not None:
            less = before if kept[same] is each else each
            on_skip(f"{less.path} holds the same result as {kept[same].path}: it is shown once")
    return list(kept.values())


def _inputs(path: Path, on_skip: Callable[[str], None]) -> Iterator[Input]:
    one = _input(path)
    if one is not None:
        yield one
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.name.startswith(".") or not (child.is_dir() or child.suffix == ".json"):
                continue
            inner = _input(child)
            if inner is not None:
                yield inner
            else:
                on_skip(f"{child} is left out: it holds nothing that a report shows")


def _input(path: Path) -> Input | None:
    """Recognises one result, or the folder of one command; None for anything else."""
    from fcconan.reporting.benchmark_reports import DETAILS, RESULT

    file = path
    if path.is_dir():
        if _is_release(path):
            return Input("dataset", path)
        if not all((path / name).is_file() for name in (RESULT, DETAILS)):
            return Input("generators", path) if (path / SUITE).is_file() else None
        file = path / RESULT
    elif path.suffix != ".json":
        return None
    data = read_json(file)
    kind = _kind(data)
    return None if kind is None or (path.is_dir() and kind != "bench") else Input(kind, path, data)


def _is_release(path: Path) -> bool:
    manifest = read_json(path / MANIFEST) if (path / MANIFEST).is_file() else None
    package = manifest.get("package") if isinstance(manifest, dict) else None
    return isinstance(package, dict) and package.get("name") == "fcconan"


def _kind(data: Any) -> str | None:
    """Returns the command that wrote a result; None for other JSON."""
    rows = data.get("rows") if isinstance(data, dict) else data
    first = rows[0] if isinstance(rows, list) and rows else None
    keys = [set(each) if isinstance(each, dict) else set() for each in (data, first)]
    return next((kind for kind, (place, needed) in _KEYS.items() if needed <= keys[place]), None)


# The keys by which a result is recognised: its own (0), or those of the first of its rows (1).
_KEYS: dict[str, tuple[int, set[str]]] = {
    "bench": (0, {"protocol", "partitions", "chance", "settings", "systems"}),
    "correlate": (1, {"metric", "aspect", "level", "coefficient", "ceiling"}),
    "agree": (1, {"aspect", "coefficient", "raters", "level"}),
    "leaderboard": (1, {"system", "aspect", "rater", "rater_kind", "higher_is_better"}),
    "metrics": (1, {"system", "metric", "value", "missing"}),
    "rank": (0, {"win_matrix", "systems"}),
    "reproduce": (1, {"paper", "table", "row", "column", "published", "recomputed", "status"}),
}


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        InputError: The file cannot be read, or is not JSON.
    """
    try:
        return json.loads(read_text(path), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}): write it again with --json") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number")
