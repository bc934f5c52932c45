"""`build` and `list`: datasets from recipes."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import fcconan
from fcconan.building.recipes import Expectations, Recipe, load_recipe
from fcconan.building.releases import write_release
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built
from fcconan.building.tiers import TIER_RULES
from fcconan.data import (
    MANIFEST,
    cache_folder,
    fetch_all,
    recipe_names,
    recipe_path,
    release_folder,
    short_hash,
    task_names,
    task_path,
)
from fcconan.errors import InputError
from fcconan.result import Result


def build(recipe: str, *, out: Path, labels_only: bool = False, tier_rule: str | None = None) -> Result:
    """Build a dataset from its pinned files, for `datasets.load_dataset`.

    Args:
        recipe: A name that `fcconan list` prints, or the path of a recipe file.
        out: Folder for the dataset.
        labels_only: Leave out all columns of upstream text, which `fcconan hydrate` restores.
        tier_rule: Tier rule of a dataset with tiers, `released` or `strict`; default: that of the recipe.

    Returns:
        `splits`: `config`, `split` and number of `rows` of each table of the dataset.

    Raises:
        InputError: The recipe or a source file is missing or invalid, the counts differ from those of the recipe, or
            the folder has other files.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build("demo", out=Path(folder, "demo")).to_frame().values.tolist()[0]
        ['diamond', 'test', 747]
    """
    import pandas as pd

    loaded = load_recipe(str(recipe))
    built, left_out = build_tables(loaded, tier_rule=tier_rule)
    rule = find_tier_rule(loaded, tier_rule)
    manifest = write_release(Path(out), loaded, built, labels_only=labels_only, tier_rule=rule, left_out=left_out)
    rows = [(table.config, table.split, len(table)) for table in built.tables]
    return Result(
        "build",
        {"splits": pd.DataFrame(rows, columns=["config", "split", "rows"])},
        {
            "data": f"{loaded.name}@{manifest['fingerprint']}",
            "tier_rule": rule,
            "labels_only": labels_only or None,
        },
        [*built.notes, *(f"Left out: {each}" for each in left_out)],
    )


def list_datasets() -> Result:
    """List the datasets that can be built, and the annotation tasks.

    Returns:
        `datasets`: `name`, `languages`, `redistributable` (the texts), `rows` of the largest split and `title`.
        `tasks`: `name`, judged `unit`, `parts` (aspects or labels) and `title`. `splits`: the rows of each split.

    Examples:
        >>> "demo" in list_datasets().to_frame()["name"].tolist()
        True
    """
    import pandas as pd
    import yaml

    recipes = [load_recipe(name) for name in recipe_names()]
    splits = pd.DataFrame(
        [
            (recipe.name, config, split, rows)
            for recipe in recipes
            for config, parts in recipe.expect.rows.items()
            for split, rows in parts.items()
        ],
        columns=["name", "config", "split", "rows"],
    )
    largest = splits.groupby("name")["rows"].max()
    datasets = [
        {
            "name": recipe.name,
            "languages": " ".join(recipe.languages),
            "redistributable": recipe.redistributable,
            "rows": largest[recipe.name],
            "title": recipe.title + (" (synthetic)" if recipe.synthetic else ""),
        }
        for recipe in recipes
    ]
    tasks = []
    for name in task_names():
        task = yaml.safe_load(task_path(name).read_text(encoding="utf-8"))
        parts = ", ".join(str(part["name"]) for part in task.get("aspects") or task["labels"])
        tasks.append({"name": name, "unit": task["unit"], "parts": parts, "title": task["title"]})
    return Result("list", {"datasets": pd.DataFrame(datasets), "tasks": pd.DataFrame(tasks), "splits": splits}, {})


def dataset_folder(name: str | Path) -> Path:
    """Returns the path of a file or folder of a name.

    An existing path comes first, then a dataset of the catalogue, which is built into the cache (`$FCCONAN_CACHE`) on
    first use, then a dataset on the Hub (`owner/name`), which is downloaded. Any other name is returned unchanged, and
    its reader raises the error.

    Args:
        name: A path or a name.

    Raises:
        InputError: The dataset cannot be built or downloaded.

    Examples:
        >>> dataset_folder("rows.csv")
        PosixPath('rows.csv')
    """
    if Path(name).exists() or str(name) not in recipe_names():
        return release_folder(str(name))
    version = f"{fcconan.__version__}-{short_hash(recipe_path(str(name)).read_text(encoding='utf-8'))}"
    folder = cache_folder() / "datasets" / version / str(name)
    if not (folder / MANIFEST).is_file():
        print(f"note: building {name} into {folder}, for this and later commands", file=sys.stderr)
        build(str(name), out=folder)
    return folder


def build_tables(recipe: Recipe, *, tier_rule: str | None = None) -> tuple[Built, list[str]]:
    """Builds the tables of a recipe in memory and compares their sizes with the counts in the recipe.

    Args:
        recipe: The recipe.
        tier_rule: As in `build`.

    Returns:
        The tables, and one sentence for each optional file that was left out.

    Raises:
        InputError: The recipe or a source file is invalid, or the counts differ from the recipe.
    """
    rule = find_tier_rule(recipe, tier_rule)
    files = fetch_all(recipe.sources, folder=recipe.folder, terms=recipe.card.terms)
    built = tables_of(recipe, files, rule)
    _check_counts(recipe, built, rule)
    left_out = [
        f"{source.path}: optional, not available" + (f" ({source.note})" if source.note else "")
        for key, source in recipe.sources.items()
        if key not in files
    ]
    return built, left_out


def tables_of(recipe: Recipe, files: Mapping[str, Path], rule: str | None) -> Built:
    """Returns the tables of a recipe, by the function `build` of the module in `kinds` with the name of its kind.

    Args:
        recipe: The recipe.
        files: Local files by name of the source.
        rule: Tier rule of the catalogue; None without tiers, or for a rule in the recipe.

    Raises:
        InputError: A source file is invalid, or two rows share a key.
    """
    built: Built = import_module(f"fcconan.building.kinds.{recipe.kind}").build(SourceFiles(recipe, files, rule))
    for table in built.tables:
        table.check()
    return built


def find_tier_rule(recipe: Recipe, tier_rule: str | None) -> str | None:
    """Returns the catalogue tier rule of a dataset, or None for a dataset without tiers or with its own rule.

    Raises:
        InputError: The rule is unknown, or the dataset has no tiers or its own rule.
    """
    has_tiers = recipe.kind == "exhaustive" or (recipe.kind == "campaign" and "pairs" in recipe.sources)
    if recipe.own_tier_rule is not None or not has_tiers:
        if tier_rule is not None:
            why = "no tiers" if recipe.own_tier_rule is None else "a tier rule of its own"
            raise InputError(f"recipe {recipe.name!r} has {why}: leave --tier-rule out")
        return None
    rule = tier_rule or recipe.tier_rule
    if rule not in TIER_RULES:
        raise InputError(f"unknown tier rule {rule!r}: known are {', '.join(TIER_RULES)}")
    return rule


def _check_counts(recipe: Recipe, built: Built, rule: str | None) -> None:
    expected, changed = recipe.expect, recipe.expect_by_tier_rule.get(rule or "", Expectations(rows={}))
    wanted = {
        f"{config}/{split} rows": rows
        for each in (expected, changed)
        for config, splits in each.rows.items()
        for split, rows in splits.items()
    }
    wanted |= expected.facts | changed.facts
    found = {f"{table.config}/{table.split} rows": len(table) for table in built.tables}
    optional = tuple(f"/{split} rows" for split in expected.optional_splits)
    found = {name: count for name, count in (found | built.facts).items() if name in wanted or " " in name}
    wrong = [
        f"{name}: found {found.get(name, 'nothing')}, expected {wanted.get(name, 'nothing')}"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name) and not name.endswith(optional)
    ]
    if wrong:
        where = f"`expect_by_tier_rule.{rule}`" if rule not in (None, recipe.tier_rule) else "`expect`"
        raise InputError(
            f"recipe {recipe.name!r} produced other counts than it states: {'; '.join(wrong)}; correct {where} if meant"
        )
