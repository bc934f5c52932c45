"""`annotate release`: data files of a campaign and a recipe, from which `build` makes a dataset."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from fcconan.annotation.campaigns import Campaign, Row
from fcconan.annotation.published import published_tables
from fcconan.annotation.sheets import campaign_template
from fcconan.building import TIER_RULES, Recipe, load_recipe, load_tier_rule, tables_of
from fcconan.data import file_sha256
from fcconan.errors import InputError
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

RECIPE = "recipe.yaml"
DEFAULT_RULE = "released"
HEAD = (
    "# Written by `fcconan annotate release`. It updates sources, tier rule and counts; other keys are retained.\n"
    "# Edit them before you publish, above all card, and:\n"
    "# - card_licence, citation, and homepage (null if there is none): `publish` refuses `unknown`\n"
    "# - redistributable: true if everyone may have the texts; otherwise publish a folder built with --labels-only\n"
    "# - annotations_creators: expert-generated (trained annotators), crowdsourced, or machine-generated (simulated)\n"
    "# - language_creators, of the texts: found, expert-generated, crowdsourced or machine-generated\n"
)
NOT_STATED = ("hate_speech", "counter_narratives")  # facts that follow from the rows
LAST = ("qrels", "corpus", "queries", "votes")  # configs below the tiers


def release(
    campaign: Path, *, out: Path, round: tuple[str, ...] = (), tier_rule: str | None = None, synthetic: bool = False
) -> Result:
    """Sort the pairs of a campaign into tiers, and write data files with a recipe that `build` reads.

    Of replies and comparisons, the answers of all raters are written, with final verdicts and confirmed grades if there
    are any. Comments, gold questions and qualification tests are left out. With `--force`, the data files are written
    again, and the texts that you wrote into the recipe stay.

    Args:
        campaign: Folder of the campaign.
        out: Folder for the data files and recipe.yaml.
        round: Rounds whose answers count, or patterns such as 'queue-*'; default: all with answers.
        tier_rule: Rule of the tiers of pairs: released, strict or a YAML file; default: released.
        synthetic: State that the answers were simulated.

    Returns:
        `rows`: number of `rows` of the dataset by `config` and `split`. `left_out`: numbers of units and answers that
        are in no row or no tier, by `reason`.

    Raises:
        InputError: The tier rule cannot be used, the labels of the task have no place in a dataset, or answers or final
            labels are missing or have changed.

    Examples:
        >>> release(answered, out=folder / "data", synthetic=True).to_frame().head(2).values.tolist()
        [['diamond', 'test', 2], ['gold', 'test', 3]]
    """
    from pandas import DataFrame

    opened, out = Campaign(Path(campaign)), Path(out)
    pairs = opened.task.unit == "pair"
    if tier_rule is not None and not pairs:
        raise InputError(f"{campaign} has a task on a {opened.task.unit}, expected pairs: leave --tier-rule out")
    rule = tier_rule or (DEFAULT_RULE if pairs else None)
    own = None if rule is None else load_tier_rule(rule)
    rounds = opened.rounds_like(round)
    tables, left_out = published_tables(opened, rounds)
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name) / "release"
        stage.mkdir()
        for key, table in tables.items():
            table.to_csv(stage / f"{key}.csv", index=False, lineterminator="\r\n")  # quotes either end of a line
        data = _recipe(opened, stage, tables, synthetic)
        before = yaml.safe_load((out / RECIPE).read_text(encoding="utf-8")) if (out / RECIPE).is_file() else {}
        if before.get("name") == data["name"]:  # with texts of people
            data |= {key: before[key] for key in _template() if key in before}
        data |= {"synthetic": synthetic or data["synthetic"]}
        if rule in TIER_RULES:
            data["tier_rule"] = rule
        elif own is not None:
            data["own_tier_rule"] = own.model_dump(exclude_none=True, exclude_unset=True)
        _write(stage, data | {"expect": {"rows": {}}})
        data |= _counts(stage, rule if rule in TIER_RULES else None)
        _write(stage, data)
        shutil.copytree(stage, out, dirs_exist_ok=True)
    notes = []
    needs = own is not None and not own.unseen_is_valid and any(tier.valid for tier in own.complete)
    if needs and not tables["pairs"]["n_validators"].any():
        notes.append("No label was validated: tiers that need validated labels are empty.")
    rows = [(config, split, n) for config, splits in data["expect"]["rows"].items() for split, n in splits.items()]
    return Result(
        "annotate release",
        {
            "rows": DataFrame(rows, columns=["config", "split", "rows"]),
            "left_out": DataFrame(left_out.items(), columns=["reason", "number"]),
        },
        {"campaign": opened.settings.name, "rounds": ",".join(rounds), "tier_rule": rule},
        [*notes, f"Next: edit {out / RECIPE}; then fcconan build {out / RECIPE} --out FOLDER."],
    )


def _write(stage: Path, data: Row) -> None:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    (stage / RECIPE).write_text(HEAD + text, encoding="utf-8")


def _template() -> Row:
    """Returns the template of a recipe; null marks values of the campaign."""
    return dict(yaml.safe_load(campaign_template(RECIPE)))


def _recipe(campaign: Campaign, stage: Path, tables: Mapping[str, "DataFrame"], synthetic: bool) -> Row:
    """Returns the recipe without tier rule and counts."""
    name, task = campaign.settings.name, campaign.task
    title = name.replace("-", " ").capitalize()
    data = _template() | {
        "name": name,
        "title": title,
        "languages": [campaign.settings.language],
        "synthetic": synthetic,
        "annotations_creators": ["machine-generated" if synthetic else "expert-generated"],
        "citation": f"@misc{{{name},\n  title = {{{title}}},\n  author = {{unknown}},\n  year = {{unknown}},\n}}\n",
    }
    for held in (data, data["card"]):
        held |= {key: value[task.unit] for key, value in held.items() if isinstance(value, dict) and task.unit in value}
    data["card"]["collection"] = data["card"]["collection"].format(question=task.question, task=task.name)
    data["sources"] = {
        key: {
            "path": f"{key}.csv",
            "sha256": file_sha256(stage / f"{key}.csv"),
            "columns": {column: column for column in table},
        }
        for key, table in tables.items()
    }
    if task.aspects:
        data["aspects"] = {
            aspect.name: {name: getattr(aspect, name) for name in ("low", "high", "higher_is_better")}
            for aspect in task.aspects
        }
    return data


def _counts(stage: Path, rule: str | None) -> Row:
    """Builds the dataset of a recipe without counts, and returns them; for other tier rules those that differ.

    Args:
        stage: Folder of the recipe.
        rule: Rule of the catalogue; None without tiers, or for a rule in the recipe.
    """
    recipe = load_recipe(str(stage / RECIPE))
    rows, facts = _built_counts(recipe, stage, rule)
    found: Row = {"expect": {"rows": rows, "facts": facts}}
    for other in TIER_RULES if rule else ():
        others, other_facts = _built_counts(recipe, stage, other)
        if other != rule and others.keys() == rows.keys():
            found.setdefault("expect_by_tier_rule", {})[other] = {
                "rows": {key: value for key, value in others.items() if value != rows[key]},
                "facts": {key: value for key, value in other_facts.items() if value != facts[key]},
            }
    return found


def _built_counts(recipe: Recipe, stage: Path, rule: str | None) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Returns the rows by config and split of the built dataset, and its further counts."""
    built = tables_of(recipe, {key: stage / f"{key}.csv" for key in recipe.sources}, rule)
    counted: dict[str, dict[str, int]] = {}
    for table in built.tables:
        counted.setdefault(table.config, {})[table.split] = len(table)
    rows = {name: counted[name] for name in sorted(counted, key=lambda name: LAST.index(name) if name in LAST else -1)}
    stated = {name: n for name, n in built.facts.items() if not name.startswith("left_out_") and name not in NOT_STATED}
    return rows, stated
