"""Brings the texts back into a labels-only folder."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fcconan.building import releases
from fcconan.building.builds import build_tables
from fcconan.building.recipes import Recipe, load_recipe
from fcconan.building.tables import Built, Table
from fcconan.data import read_manifest, read_table, recipe_names, release_folder
from fcconan.errors import InputError


@dataclass
class Hydration:
    """How the rows of a labels-only folder compare with the same rows built from upstream.

    Attributes:
        folder: The written folder, or None.
        matched: Number of equal rows.
        changed: Number of rows with different labels or other columns.
        missing: Number of rows of the folder without a row in the source files.
        extra: Number of rows of the source files without a row in the folder.
        unbuilt: Splits of the folder that cannot be built; their rows count as missing.
        examples: Some unmatched rows, each with config, split, matter and key.
    """

    folder: Path | None = None
    matched: int = 0
    changed: int = 0
    missing: int = 0
    extra: int = 0
    unbuilt: list[str] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all rows match, without further rows."""
        return not (self.changed or self.missing or self.extra)


def hydrate(
    labels: Path | str,
    out: Path | str,
    *,
    revision: str | None = None,
    recipe: str | None = None,
    keep_going: bool = False,
) -> Hydration:
    """Restores the full dataset from a labels-only folder and the source files.

    If all rows match, the result equals the full build byte for byte.

    Args:
        labels: The labels-only folder, or the name of a labels-only dataset on the Hub (`owner/name`).
        out: The folder to write.
        revision: A tag, branch or commit of the dataset on the Hub; by default the newest commit.
        recipe: The recipe file, for a dataset outside of the catalogue.
        keep_going: Whether to write the folder even if rows are changed or missing. The rows and labels are then those
            of the labels-only folder, with missing texts where the source files lack them. Splits that cannot be
            built are left out and listed on the card.

    Returns:
        The counts. `folder` is None if nothing was written.

    Raises:
        InputError: The folder is not a labels-only release, its recipe is unknown, or the Hub or a source file is not
            available.
    """
    target = Path(out)
    source = release_folder(str(labels), revision=revision)
    manifest = read_manifest(source)
    if not manifest["labels_only"]:
        raise InputError(f"{labels} has its texts already (labels_only is false in its manifest): nothing to hydrate")
    if source.resolve() == target.resolve():
        raise InputError(f"--out is the labels-only folder itself ({source}): choose another folder")
    loaded = _recipe_of(manifest, recipe)
    rule = manifest["tier_rule"]
    built, left_out = build_tables(loaded, tier_rule=rule)
    result, joined = _compare(source, built)
    _count_unknown_tables(manifest, built, result)
    if not result.complete and not keep_going:
        return result
    whole = built if result.complete else _joined(loaded, built, joined, result)
    releases.write_release(target, loaded, whole, labels_only=False, tier_rule=rule, left_out=left_out)
    result.folder = target
    return result


def _recipe_of(manifest: dict[str, Any], recipe: str | None) -> Recipe:
    if recipe is None and manifest["name"] not in recipe_names():
        raise InputError(
            f"the folder was built from recipe {manifest['name']!r}, which is not in the catalogue: "
            "give its file with --recipe"
        )
    loaded = load_recipe(recipe or manifest["name"])
    if loaded.name != manifest["name"]:
        raise InputError(
            f"the folder was built from recipe {manifest['name']!r}, not from {loaded.name!r}: give its recipe"
        )
    return loaded


def _compare(folder: Path, built: Built) -> tuple[Hydration, list[Table]]:
    """Compares the folder with the rebuilt tables, and merges its rows with the rebuilt texts."""
    result = Hydration()
    joined = []
    for table in built.tables:
        labels = table.labels_only()
        present = _read_labels(folder, labels)
        if present.data == labels.data:
            result.matched += len(table)
            joined.append(table)
            continue
        rebuilt = dict(zip(table.keys(), table.rows(), strict=True))
        rows = []
        for key, row in zip(present.keys(), present.rows(), strict=True):
            full = rebuilt.pop(key, None)
            if full is None:
                result.missing += 1
                _remember(result, table, "missing upstream", key)
            elif {name: full[name] for name in labels.columns} != row:
                result.changed += 1
                _remember(result, table, "changed", key)
            else:
                result.matched += 1
            rows.append({**(full or {}), **row})
        result.extra += len(rebuilt)
        for key in list(rebuilt)[:1]:
            _remember(result, table, "not in the folder", key)
        joined.append(Table.from_rows(table.config, table.split, table.columns, rows, table.key))
    return result, joined


def _count_unknown_tables(manifest: dict[str, Any], built: Built, result: Hydration) -> None:
    """Counts the rows of splits without a rebuilt table, such as those of an optional file."""
    known = {(table.config, table.split) for table in built.tables}
    counts = ((config, split, rows) for config, each in manifest["counts"].items() for split, rows in each.items())
    for config, split, rows in counts:
        if (config, split) not in known:
            result.missing += rows
            result.unbuilt.append(f"{config}/{split}")
            result.examples.append({"config": config, "split": split, "matter": "missing upstream", "key": "all rows"})


def _read_labels(folder: Path, table: Table) -> Table:
    """Returns a table with the data of the folder; empty if its file is missing."""
    path = folder / releases.table_path(table.config, table.split)
    if not path.is_file():
        return replace(table, data={name: [] for name in table.columns})
    read = read_table(path)
    lacking = [name for name in table.columns if name not in read.column_names]
    if lacking:
        raise InputError(f"{path} lacks the column {lacking[0]!r}: it was built by another version of the recipe")
    return replace(table, data=read.select(list(table.columns)).to_pydict())


def _remember(result: Hydration, table: Table, matter: str, key: tuple[Any, ...]) -> None:
    seen = Counter((example["config"], example["matter"]) for example in result.examples)
    if seen[(table.config, matter)] < 3:
        named = dict(zip(table.key, key, strict=True))
        result.examples.append({"config": table.config, "split": table.split, "matter": matter, "key": named})


def _joined(recipe: Recipe, built: Built, tables: list[Table], result: Hydration) -> Built:
    note = (
        f"Hydrated from a labels-only folder that differs from recipe {recipe.name!r}: {result.matched} rows matched, "
        f"{result.changed} changed, {result.missing} missing upstream (their texts are missing here), {result.extra} "
        "not in the folder."
    )
    if result.unbuilt:
        note += f" Left out because they cannot be built here: {', '.join(result.unbuilt)}."
    return Built(tables, built.aliases, built.facts, built.agreement, [*built.notes, note])
