"""What may be published of every upstream recipe: no text, and enough to restore every byte of the full folder."""

import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.data import recipe_names
from tests.conftest import RunCli
from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = [pytest.mark.upstream, pytest.mark.slow]

RECIPES = [name for name in recipe_names() if name != "demo"]
QUICK = ("kn-conan",)
LARGEST = ("cn-ranking", "conan", "cseval")
RELEASES = [pytest.param(name, marks=pytest.mark.long if name in LARGEST else ()) for name in RECIPES]
VARIANTS = [pytest.param(name, None, id=name, marks=() if name in QUICK else pytest.mark.long) for name in RECIPES]
VARIANTS.append(pytest.param("fc-conan", "strict", id="fc-conan-strict", marks=pytest.mark.long))
SHORTEST = 20


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _different_files(one: Path, two: Path) -> list[str]:
    """Names only: a failing test must not print upstream text."""
    first, second = _bytes(one), _bytes(two)
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def _comparable(text: str) -> str:
    return oracle.normalised(text).casefold()


def _strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value, keys of objects left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@cache
def _upstream_heads(mirror: Path) -> dict[str, set[str]]:
    """The first 40 characters of every upstream text (all of a shorter one), by the first 20 of them.

    A text is every cell of 20 or more characters and three or more words, whatever its column: ids, figures and
    labels are shorter.
    """
    csv.field_size_limit(2**31 - 1)
    cells: set[str] = set()
    for path in sorted(mirror.rglob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            next(reader)
            cells.update(cell for row in reader for cell in row if len(cell) >= SHORTEST)
    for path in sorted(mirror.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            cells.update(_strings(json.loads(line)))
    for path in sorted(mirror.rglob("*.json")):
        cells.update(_strings(json.loads(path.read_text(encoding="utf-8"))))
    texts = {text for text in map(_comparable, cells) if len(text) >= SHORTEST and len(text.split()) >= 3}
    assert len(texts) > 30_000
    heads: dict[str, set[str]] = {}
    for text in texts:
        heads.setdefault(text[:SHORTEST], set()).add(text[: 2 * SHORTEST])
    return heads


def _contents(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file as text: the metadata and the cells of a parquet file, any other file as a whole.

    A cell that stands in several files is given once.
    """
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            yield name, repr(table.schema.metadata)
            cells: set[str] = set()
            for column in table.columns:
                for chunk in column.chunks:
                    values = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
                    cells.update(_strings(values.unique().to_pylist()))
            yield from ((name, cell) for cell in cells - seen)
            seen |= cells
        elif path.is_file():
            yield name, path.read_text(encoding="utf-8")


def _leaks(folder: Path, heads: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """File and hash, for every upstream text whose beginning stands anywhere in the folder."""
    for name, content in _contents(folder):
        text = _comparable(content)
        for position in range(len(text) - SHORTEST + 1):
            for head in heads.get(text[position : position + SHORTEST], ()):
                if text.startswith(head, position):
                    yield name, oracle.text_id("text", head)


@pytest.mark.parametrize(("recipe", "tier_rule"), VARIANTS)
def test_hydrated_labels_are_the_full_build_byte_for_byte(
    release: Release, run_process: RunCli, tmp_path: Path, recipe: str, tier_rule: str | None
) -> None:
    """Hydration builds everything anew, here in another process with other hashes: a rebuild gives the same bytes."""
    full, labels = release(recipe, tier_rule=tier_rule), release(recipe, labels_only=True, tier_rule=tier_rule)
    options = ("--out", tmp_path / "full", "--json", tmp_path / "rows.json")
    result = run_process("hydrate", labels, *options, PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    assert (result.returncode, result.stderr) == (0, "")
    counts = json.loads((full / "manifest.json").read_bytes())["counts"].values()
    rows = json.loads((tmp_path / "rows.json").read_bytes())["tables"]["rows"]
    assert [row["rows"] for row in rows] == [number for splits in counts for number in splits.values()]
    assert _different_files(tmp_path / "full", full) == []


@pytest.mark.parametrize("recipe", RELEASES)
def test_labels_only_holds_no_upstream_text(release: Release, mirror: Path, recipe: str) -> None:
    heads = _upstream_heads(mirror)
    assert next(_leaks(release(recipe), heads), None) is not None, "the scan finds nothing in the full folder either"
    folder = release(recipe, labels_only=True)
    assert list(_leaks(folder, heads)) == []


@pytest.mark.parametrize("recipe", RELEASES)
def test_labels_only_drops_the_text_columns_and_keeps_the_rest(release: Release, recipe: str) -> None:
    full, folder = release(recipe), release(recipe, labels_only=True)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["labels_only"] is True
    assert manifest["restricted_columns"]
    names = {path.relative_to(full) for path in full.glob("*/*.parquet")}
    assert names == {path.relative_to(folder) for path in folder.glob("*/*.parquet")}
    for name in names:
        restricted = manifest["restricted_columns"].get(name.parts[0], [])
        table = pq.read_table(full / name)
        kept = table.select([column for column in table.column_names if column not in restricted])
        assert pq.read_table(folder / name).equals(kept)
