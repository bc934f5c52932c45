"""The recipe of a campaign: pinned data files, a card template, and counts of the built dataset."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from fcconan.annotation.campaigns import MAIN, Campaign, Row
from fcconan.annotation.release import Published, published_rows, without_label
from fcconan.annotation.tools.guidelines import campaign_template
from fcconan.building import TIER_RULES, Recipe, TierRule, find_builder, load_recipe, load_tier_rule
from fcconan.data import RowWriter, file_sha256, new_folder, read_yaml
from fcconan.errors import InputError

RECIPE = "recipe.yaml"
DEFAULT_RULE = "released"
HEAD = (
    "# Written by `fcconan annotate tier`. It updates sources, tier rule and counts; other keys are retained.\n"
    "# Edit them before you publish, above all homepage, card_licence, citation, card, and:\n"
    "# - redistributable: true if everyone may have the texts; otherwise publish a folder built with --labels-only\n"
    "# - annotations_creators: expert-generated (trained annotators), crowdsourced, or machine-generated (simulated)\n"
    "# - language_creators, of the texts: found, expert-generated, crowdsourced or machine-generated\n"
)
NOT_STATED = ("hate_speech", "counter_narratives")  # derived from the rows


@dataclass(frozen=True)
class WrittenDataset:
    """The written dataset.

    Attributes:
        recipe: Path of the recipe file.
        rows: Numbers of rows by config and split, as stated in the recipe.
        facts: Further counts, as stated in the recipe.
        tier_rule: Name of the tier rule; None without tiers.
        without_label: Judged pairs without a final label, by reason.
        published: Published rows, with counts of omitted data.
        unvalidated: Whether a tier requires confirmed labels, and no label was validated.
        kept: Whether an existing recipe's card and metadata were retained.
    """

    recipe: Path
    rows: dict[str, dict[str, int]]
    facts: dict[str, int]
    tier_rule: str | None
    without_label: dict[str, int]
    published: Published
    unvalidated: bool
    kept: bool


def write_dataset(
    campaign: Campaign,
    out: Path,
    *,
    rule: str | None = None,
    rounds: Sequence[str] = (MAIN,),
    synthetic: bool = False,
) -> WrittenDataset:
    """Writes the data files and the recipe of a campaign, and builds the dataset in memory as a check.

    Files of an earlier run are replaced. Edited keys of the recipe are retained.

    Args:
        campaign: The campaign.
        out: Output folder.
        rule: Tier rule of the catalogue, or its file; None for `released`, or without tiers.
        rounds: Rounds whose answers count, as for `published_rows`.
        synthetic: Whether the answers were simulated.

    Raises:
        InputError: A rule is given for a dataset without tiers, the rule is not valid, the campaign cannot be published
            in its state, or the folder has other content.
    """
    if rule is not None and campaign.task.unit != "pair":
        raise InputError(
            f"{campaign.folder} has a task on a {campaign.task.unit}, expected pairs: leave --tier-rule out"
        )
    name = rule or DEFAULT_RULE if campaign.task.unit == "pair" else None
    tiers = None if name is None else load_tier_rule(name)
    before = _before(campaign, out)
    with campaign.changing():
        published = published_rows(campaign, rounds)
    try:
        with new_folder(out) as stage:
            for key, rows in published.rows.items():
                with RowWriter(stage / f"{key}.csv", published.columns[key]) as writer:
                    writer.write(rows)
            data = _recipe(campaign, stage, published, synthetic) | before | _tier_rule(tiers, name)
            data["synthetic"] = synthetic or data["synthetic"]
            _write_recipe(stage, data | {"expect": {"rows": {}}})
            data |= _counts(stage, name if name in TIER_RULES else None)
            _write_recipe(stage, data)
            _copy_others(out, stage)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    return WrittenDataset(
        out / RECIPE,
        data["expect"]["rows"],
        data["expect"]["facts"],
        name,
        without_label(published),
        published,
        tiers is not None
        and any(tier.valid is True for tier in tiers.complete)
        and not any(row["n_validators"] for row in published.rows["pairs"]),
        bool(before),
    )


def _write_recipe(stage: Path, data: Row) -> None:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    (stage / RECIPE).write_text(HEAD + text, encoding="utf-8")


def _copy_others(out: Path, stage: Path) -> None:
    """Copies other files of the folder that is replaced."""
    for path in out.iterdir() if out.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, stage / path.name, symlinks=True)
        elif not (stage / path.name).exists():
            shutil.copy2(path, stage / path.name, follow_symlinks=False)


def _before(campaign: Campaign, out: Path) -> Row:
    """Checks that the folder may be written, and returns the edited keys of an existing recipe."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out} is not a folder: choose another --out")
    if not out.is_dir() or not any(out.iterdir()):
        return {}
    path = out / RECIPE
    if not path.is_file():
        raise InputError(f"{out} has files but no {RECIPE} of a campaign: choose an empty or new folder")
    found = read_yaml(path)
    if (found.get("kind"), found.get("name")) != ("campaign", campaign.settings.name):
        raise InputError(f"{path} does not belong to the campaign {campaign.settings.name!r}: choose another --out")
    return {key: found[key] for key in _template() if key in found}


def _template() -> Row:
    """Returns the template of a recipe; null marks values of the campaign."""
    return dict(yaml.safe_load(campaign_template("recipe.yaml")))


def _recipe(campaign: Campaign, out: Path, published: Published, synthetic: bool) -> Row:
    """Returns the recipe without tier rule and counts."""
    name, task = campaign.settings.name, campaign.task
    title = name.replace("-", " ").capitalize()
    data = _template() | {
        "name": name,
        "title": title,
        "languages": [campaign.settings.language],
        "synthetic": synthetic,
        "annotations_creators": ["machine-generated" if synthetic else "expert-generated"],
        "citation": f"@misc{{{name},\n  title = {{{title}}},\n}}\n",
    }
    for held in (data, data["card"]):
        held |= {key: value[task.unit] for key, value in held.items() if isinstance(value, dict) and task.unit in value}
    data["card"]["collection"] = data["card"]["collection"].format(question=task.question, task=task.name)
    data["sources"] = {
        key: {
            "path": f"{key}.csv",
            "sha256": file_sha256(out / f"{key}.csv"),
            "columns": {column: column for column in columns},
        }
        for key, columns in published.columns.items()
    }
    if task.aspects:
        data["aspects"] = {
            aspect.name: {name: getattr(aspect, name) for name in ("low", "high", "higher_is_better")}
            for aspect in task.aspects
        }
    return data


def _tier_rule(rule: TierRule | None, name: str | None) -> Row:
    """Returns the tier rule as a recipe states it."""
    if rule is None:
        return {}
    if name in TIER_RULES:
        return {"tier_rule": name}
    return {"own_tier_rule": rule.model_dump(exclude_none=True, exclude_unset=True)}


def _counts(stage: Path, name: str | None) -> Row:
    """Builds the dataset of a recipe without counts, and returns the counts; for other tier rules, only different
    counts.

    Args:
        stage: Folder of the recipe.
        name: Name of the tier rule; None without tiers, or for a rule in the recipe.
    """
    recipe = load_recipe(str(stage / RECIPE))
    files = {key: stage / f"{key}.csv" for key in recipe.sources}
    rows, facts = _built_counts(recipe, files, name)
    counts: Row = {"expect": {"rows": rows, "facts": facts}}
    if name is None:
        return counts
    others: Row = {}
    for other in (each for each in TIER_RULES if each != name):
        other_rows, other_facts = _built_counts(recipe, files, other)
        if other_rows.keys() == rows.keys():
            others[other] = {
                "rows": {key: value for key, value in other_rows.items() if value != rows[key]},
                "facts": {key: value for key, value in other_facts.items() if value != facts[key]},
            }
    return {**counts, "expect_by_tier_rule": others}


def _built_counts(
    recipe: Recipe, files: dict[str, Path], rule: str | None
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Returns the rows by config and split of the built dataset, and its further counts."""
    built = find_builder(recipe, rule)(files)
    counted: dict[str, dict[str, int]] = {}
    for table in built.tables:
        table.check()
        counted.setdefault(table.config, {})[table.split] = len(table)
    last = [name for name in ("qrels", "corpus", "queries", "votes") if name in counted]
    rows = {name: counted[name] for name in (*(name for name in counted if name not in last), *last)}
    stated = {name: n for name, n in built.facts.items() if not name.startswith("left_out_") and name not in NOT_STATED}
    return rows, stated
