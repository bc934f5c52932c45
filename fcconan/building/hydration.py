"""Brings the texts back into a labels-only folder."""

from pathlib import Path

from fcconan.building import releases
from fcconan.building.builds import build_tables
from fcconan.building.recipes import load_recipe
from fcconan.building.tables import Built, Table
from fcconan.data import read_manifest, read_table, recipe_names, release_folder
from fcconan.errors import InputError
from fcconan.result import Result


def hydrate(
    folder: str,
    *,
    out: Path,
    recipe: Path | None = None,
    revision: str | None = None,
) -> Result:
    """Add the texts to a labels-only dataset.

    The dataset is built from its pinned sources, and each row of the folder gets the texts of the row with its ids.
    With the same version of the package, the result equals the full build byte for byte.

    Args:
        folder: Labels-only folder, or the name of such a dataset on the Hub (OWNER/NAME).
        out: Folder to write.
        recipe: Recipe file of a dataset that is not in the catalogue.
        revision: Tag, branch or commit of a dataset on the Hub; default: the newest.

    Returns:
        `rows`: the number of rows by `config` and `split`.

    Raises:
        InputError: The folder has its texts, its recipe is unknown, or a row is not in the sources.

    Examples:
        >>> import tempfile
        >>> from fcconan.building import build
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     labels = build("demo", out=f"{folder}/labels", labels_only=True)
        ...     hydrate(f"{folder}/labels", out=f"{folder}/full").to_frame()["config"].tolist()[:3]
        ['diamond', 'gold', 'silver']
    """
    from pandas import DataFrame

    source = release_folder(str(folder), revision=revision)
    manifest = read_manifest(source)
    name, rule = manifest["name"], manifest["tier_rule"]
    if not manifest["labels_only"]:
        raise InputError(f"{folder} has its texts already (labels_only is false in its manifest): nothing to hydrate")
    if recipe is None and name not in recipe_names():
        raise InputError(f"{folder} is of the recipe {name}, which is not in the catalogue: give its file as --recipe")
    loaded = load_recipe(str(recipe or name))
    if loaded.name != name:
        raise InputError(f"{folder} is of the recipe {name}, not of {loaded.name}: give its file as --recipe")
    built, left_out = build_tables(loaded, tier_rule=rule)
    rebuilt = {(table.config, table.split): table for table in built.tables}
    tables = []
    for config, splits in manifest["counts"].items():
        for split in splits:
            if (config, split) not in rebuilt:
                raise InputError(f"found {config}/{split} in {folder}, but not in the sources of {name}: {ADVICE}")
            tables.append(_with_texts(rebuilt[config, split], source, str(folder)))
    joined = Built(tables, built.aliases, built.facts, built.agreement, built.notes)
    releases.write_release(Path(out).absolute(), loaded, joined, labels_only=False, tier_rule=rule, left_out=left_out)
    counts = [{"config": each.config, "split": each.split, "rows": len(each)} for each in tables]
    return Result("hydrate", {"rows": DataFrame(counts)}, {"data": f"{name}@{manifest['fingerprint']}"})


ADVICE = "get the folder again, or the version of fcconan that built it"


def _with_texts(full: Table, folder: Path, name: str) -> Table:
    """Returns the rows of a labels-only folder with the texts of the same rows of a full table.

    Raises:
        InputError: A row is not in the full table.
    """
    texts = dict(zip(full.keys(), full.rows(), strict=True))
    rows = []
    for row in read_table(folder / releases.table_path(full.config, full.split)).to_pylist():
        key = tuple(row[column] for column in full.key)
        if key not in texts:
            raise InputError(
                f"found the row {' '.join(map(str, key))} in {full.config}/{full.split} of {name}, but not in the "
                f"sources: {ADVICE}"
            )
        rows.append(texts[key] | row)
    return Table.from_rows(full.config, full.split, full.columns, rows, full.key)
