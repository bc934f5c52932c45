"""The recipe of a campaign: pinned data files, a card to start from, and counts taken from the files themselves."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from fcconan.annotation.campaigns import MAIN, Campaign, Row
from fcconan.annotation.release import Published, published_rows, without_label
from fcconan.annotation.tools.guidelines import campaign_template
from fcconan.building import TIER_RULES, Recipe, TierRule, builder_of, load_recipe, load_tier_rule
from fcconan.data import RowWriter, YamlFile, new_folder, sha256_of
from fcconan.errors import InputError

RECIPE = "recipe.yaml"
DEFAULT_RULE = "released"
HEAD = (
    "# Written by `fcconan annotate tier`, which renews sources, tier rule and counts, and leaves what the other keys\n"
    "# say. Edit these before you publish: above all homepage, card_licence, citation and card.\n"
)
NOT_STATED = ("hate_speech", "counter_narratives")  # facts of a build that follow from its rows


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        recipe: The recipe file.
        rows: Rows by config and split, as the recipe states them.
        facts: Further counts, as the recipe states them.
        tier_rule: The tier rule; None where there are no tiers.
        without_label: Judged pairs without a final label, by reason.
        published: The rows, and what is not among them.
        unvalidated: Whether a tier asks for confirmed labels, and no label was validated.
        kept: Whether the card text of a recipe that was there was kept.
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
) -> Written:
    """Writes the data files and the recipe of a campaign, and builds them in memory to see that they hold.

    Files that an earlier run wrote are replaced. What people wrote into the recipe stays.

    Args:
        campaign: The campaign.
        out: The folder to write.
        rule: The tier rule, of the catalogue or a file of one's own; None for `released`, and where there are no tiers.
        rounds: As in `published_rows`.
        synthetic: Whether the answers were simulated.

    Raises:
        InputError: There is a rule and there are no tiers, the rule cannot be used, the campaign cannot be published as
            it is, or the folder holds something else.
    """
    if rule is not None and campaign.task.unit != "pair":
        raise InputError(f"{campaign.folder} judges a {campaign.task.unit}, not pairs: leave --tier-rule out")
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
    return Written(
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
    """Copies what people added to the folder that is replaced."""
    for path in out.iterdir() if out.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, stage / path.name, symlinks=True)
        elif not (stage / path.name).exists():
            shutil.copy2(path, stage / path.name, follow_symlinks=False)


def _before(campaign: Campaign, out: Path) -> Row:
    """Checks that the folder may be written, and returns what people wrote into the recipe that is there."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out} is not a folder: choose another --out")
    if not out.is_dir() or not any(out.iterdir()):
        return {}
    path = out / RECIPE
    if not path.is_file():
        raise InputError(f"{out} holds files but no {RECIPE} of a campaign: choose an empty or new folder")
    found = YamlFile(path).data
    if (found.get("kind"), found.get("name")) != ("campaign", campaign.settings.name):
        raise InputError(f"{path} is not of the campaign {campaign.settings.name!r}: choose another --out")
    return {key: found[key] for key in _template() if key in found}


def _template() -> Row:
    """Returns what a new recipe says, with null where a campaign decides."""
    return dict(yaml.safe_load(campaign_template("recipe.yaml")))


def _recipe(campaign: Campaign, out: Path, published: Published, synthetic: bool) -> Row:
    """Returns the recipe without its tier rule and counts."""
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
            "sha256": sha256_of(out / f"{key}.csv"),
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
    """The tier rule as a recipe states it."""
    if rule is None:
        return {}
    if name in TIER_RULES:
        return {"tier_rule": name}
    return {"own_tier_rule": rule.model_dump(exclude_none=True, exclude_unset=True)}


def _counts(stage: Path, name: str | None) -> Row:
    """Builds the dataset of a recipe without counts, and returns the counts; by other tier rules those that differ.

    Args:
        stage: The folder of the recipe.
        name: The tier rule; None where there are no tiers, or a rule of the recipe's own.
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
    """Rows by config and split of the built dataset, and further counts that the recipe states."""
    built = builder_of(recipe, rule)(files)
    counted: dict[str, dict[str, int]] = {}
    for table in built.tables:
        table.check()
        counted.setdefault(table.config, {})[table.split] = len(table)
    last = [name for name in ("qrels", "corpus", "queries", "votes") if name in counted]
    rows = {name: counted[name] for name in (*(name for name in counted if name not in last), *last)}
    stated = {name: n for name, n in built.facts.items() if not name.startswith("left_out_") and name not in NOT_STATED}
    return rows, stated
