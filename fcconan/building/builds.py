"""Builds release folders from recipes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.building.recipes import Expectations, Recipe, load_recipe
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.building.tables import Built

__all__ = ["BuildResult", "Recipe", "build", "build_tables", "load_recipe"]

TIERED_KINDS = ("exhaustive", "demo")  # and campaigns on pairs


@dataclass(frozen=True)
class BuildResult:
    """The result of a build.

    Attributes:
        folder: The release folder.
        manifest: Content of its `manifest.json`.
    """

    folder: Path
    manifest: dict[str, Any]


def build(
    recipe: Recipe | str,
    out: Path | str,
    *,
    labels_only: bool = False,
    tier_rule: str | None = None,
    jobs: int = 4,
    progress: bool | None = None,
) -> BuildResult:
    """Builds a dataset and writes its release folder. An older release is replaced atomically.

    Args:
        recipe: A recipe, its name in the catalogue, or its file.
        out: The folder to write.
        labels_only: Whether to leave out all text columns; `hydrate` restores them.
        tier_rule: A tier rule of the catalogue, for datasets with tiers; by default that of the recipe.
        jobs: Number of simultaneous downloads.
        progress: Whether to show progress; by default if standard error is a terminal.

    Returns:
        The folder and its manifest.

    Raises:
        InputError: The recipe, a source file or the output folder is invalid, or the counts differ from the recipe. The
            output folder is then unchanged.
    """
    from fcconan.building import releases

    loaded = load_recipe(recipe) if isinstance(recipe, str) else recipe
    folder = releases.output_folder(out)
    releases.check_target(folder, loaded.name)
    built, left_out = build_tables(loaded, tier_rule=tier_rule, jobs=jobs, progress=progress)
    with status(f"{loaded.name}: writing {folder}", progress):
        manifest = releases.write_release(
            folder,
            loaded,
            built,
            labels_only=labels_only,
            tier_rule=find_tier_rule(loaded, tier_rule),
            left_out=left_out,
        )
    return BuildResult(folder, manifest)


def build_tables(
    recipe: Recipe, *, tier_rule: str | None = None, jobs: int = 4, progress: bool | None = None
) -> "tuple[Built, list[str]]":
    """Builds the tables of a recipe in memory and compares their sizes with the counts in the recipe.

    Args:
        recipe: The recipe.
        tier_rule: As in `build`.
        jobs: As in `build`.
        progress: As in `build`.

    Returns:
        The tables, and one sentence for each optional file that was left out.

    Raises:
        InputError: The recipe or a source file is invalid, or the counts differ from the recipe.
    """
    from fcconan.data import fetch_all

    rule = find_tier_rule(recipe, tier_rule)
    files = fetch_all(
        recipe.sources,
        folder=recipe.folder,
        terms=recipe.card.terms,
    )
    with status(f"{recipe.name}: building", progress):
        built = find_builder(recipe, rule)(files)
        for table in built.tables:
            table.check()
        check_counts(recipe, built, rule)
    left_out = [
        f"{source.path}: optional, not available" + (f" ({source.note})" if source.note else "")
        for key, source in recipe.sources.items()
        if key not in files
    ]
    return built, left_out


def find_tier_rule(recipe: Recipe, tier_rule: str | None) -> str | None:
    """Returns the catalogue tier rule of a dataset, or None for a dataset without tiers or with its own rule.

    Raises:
        InputError: The rule is unknown, or the dataset has no tiers or its own rule.
    """
    from fcconan.building.tiers import TIER_RULES

    has_tiers = recipe.kind in TIERED_KINDS or (recipe.kind == "campaign" and "pairs" in recipe.sources)
    if recipe.own_tier_rule is not None or not has_tiers:
        if tier_rule is not None:
            why = "no tiers" if recipe.own_tier_rule is None else "a tier rule of its own"
            raise InputError(f"recipe {recipe.name!r} has {why}: leave --tier-rule out")
        return None
    if tier_rule is not None and tier_rule not in TIER_RULES:
        raise InputError(f"unknown tier rule {tier_rule!r}: known are {', '.join(TIER_RULES)}")
    return tier_rule or recipe.tier_rule


def check_counts(recipe: Recipe, built: "Built", rule: str | None) -> None:
    """Compares the counts of a build with those of the recipe.

    Raises:
        InputError: A count differs; the message names it.
    """
    expected, changed = recipe.expect, recipe.expect_by_tier_rule.get(rule or "", Expectations(rows={}))
    wanted = _flat(expected.rows) | _flat(changed.rows) | expected.facts | changed.facts
    rows = {
        f"{table.config}/{table.split} rows": len(table)
        for table in built.tables
        if table.split not in expected.optional_splits
    }
    found = rows | {name: count for name, count in built.facts.items() if name in wanted}
    wrong = [
        f"{name}: found {found.get(name, 'nothing')}, expected {wanted.get(name, 'nothing')}"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]
    if wrong:
        where = f"`expect_by_tier_rule.{rule}`" if rule not in (None, recipe.tier_rule) else "`expect`"
        raise InputError(
            f"recipe {recipe.name!r} produced other counts than it states: {'; '.join(wrong)}; correct {where} if meant"
        )


def _flat(nested: dict[str, dict[str, int]]) -> dict[str, int]:
    return {f"{config}/{split} rows": rows for config, splits in nested.items() for split, rows in splits.items()}


def find_builder(recipe: Recipe, rule: str | None) -> "Callable[[dict[str, Path]], Built]":
    """Returns the builder of a recipe: the function `build` of the module in `kinds` with the name of its kind."""
    from fcconan.building.source_files import SourceFiles

    kind = import_module(f"fcconan.building.kinds.{recipe.kind}")
    return lambda files: kind.build(SourceFiles(recipe, files, rule))


@contextmanager
def status(message: str, progress: bool | None) -> Iterator[None]:
    """Shows a message with a spinner during the block, on a terminal only."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(file=sys.stderr).status(Text(message)):
        yield
