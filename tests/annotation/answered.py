"""Campaigns about invented peoples in which raters have answered."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.annotation import Answer, Assignment, Campaign, Rater, Settings, Unit, create
from fcconan.judging import load_task

LABEL, MAIN = "label", "main"
NO, SURE, YES = "not_appropriate", "not_sure", "appropriate"
SHORT: dict[str | None, str | None] = {"0": NO, "1": SURE, "2": YES, "-": None}
PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")


def pair_units(number: int) -> list[Unit]:
    """Pairs of one HS each with one CN."""
    return [Unit(f"hs-{at}:cn-{at}", hs_id=f"hs-{at}", cn_id=f"cn-{at}") for at in range(1, number + 1)]


def comparison_units(number: int) -> list[Unit]:
    """Comparisons of two replies."""
    return [
        Unit(f"re-{at}a:re-{at}b", item_id=f"item-{at}", reply_a=f"re-{at}a", reply_b=f"re-{at}b")
        for at in range(1, number + 1)
    ]


def reply_units(number: int) -> list[Unit]:
    """Replies to one item each."""
    return [Unit(f"re-{at}", item_id=f"item-{at}", reply_a=f"re-{at}") for at in range(1, number + 1)]


def campaign_of(
    folder: Path,
    units: Sequence[Unit],
    said: Mapping[str, Sequence[Any]],
    *,
    task: str = "appropriateness",
    seconds: Mapping[str, Sequence[float]] | None = None,
    swapped: Mapping[str, Sequence[bool]] | None = None,
    validators: Sequence[str] = (),
    name: str = "books",
) -> Campaign:
    """Makes a campaign in which everybody has answered what they were assigned, in the order of the units.

    Args:
        folder: Of the campaign.
        units: What is judged.
        said: By rater, for each unit: a label, a mapping of grades by aspect, None where it was skipped, `...` where it
            was assigned and not answered, "" where it was not assigned.
        task: Of the catalogue.
        seconds: By rater, for each unit.
        swapped: By rater, for each unit.
        validators: Their pseudonyms.
        name: Of the campaign.
    """
    texts: dict[str, dict[str, dict[str, Any]]] = {"hs.jsonl": {}, "cn.jsonl": {}, "replies.jsonl": {}}
    for number, unit in enumerate(units):
        people = PEOPLES[number % len(PEOPLES)]
        message = f"The {people} never return book {number}."
        if unit.hs_id:
            texts["hs.jsonl"][unit.hs_id] = {"hs_id": unit.hs_id, "text": message}
        if unit.cn_id:
            texts["cn.jsonl"][unit.cn_id] = {"cn_id": unit.cn_id, "text": f"They returned book {number}; I saw it."}
        for key in (unit.reply_a, unit.reply_b):
            if key:
                row = {"reply_id": key, "text": f"Book {number} is on its shelf, says {key}.", "hate_speech": message}
                texts["replies.jsonl"][key] = row
    files = {name: rows.values() for name, rows in texts.items() if rows}
    campaign = create(folder, Settings(name=name), load_task(task), units, files)
    assignments, answers = [], []
    for rater, values in said.items():
        for at, (unit, value) in enumerate(zip(units, values, strict=True)):
            if value == "":
                continue
            turned = bool(swapped and swapped[rater][at])
            assignments.append(Assignment(rater, unit.unit_id, at + 1, swapped=turned))
            if value is ...:
                continue
            given = value if isinstance(value, Mapping) else dict.fromkeys(campaign.aspects, value)
            took = seconds[rater][at] if seconds else None
            answers += [Answer(MAIN, rater, unit.unit_id, aspect, each, took) for aspect, each in given.items()]
    campaign.write("rounds/main.jsonl", assignments)
    campaign.write("answers.jsonl", answers)
    raters = [*map(Rater, said), *(Rater(validator, "validator") for validator in validators)]
    write_raters(campaign, raters)
    return campaign


def write_raters(campaign: Campaign, raters: Iterable[Rater]) -> None:
    """Replaces the raters of a campaign."""
    campaign.write("raters.csv", raters)


def labelled(folder: Path, *votes: str, **options: Any) -> Campaign:
    """Makes a campaign on pairs from the votes of each rater, as "0", "1", "2", "-" (skipped), "?" and " " (not asked).

    Args:
        folder: Of the campaign.
        votes: Of `rater-1`, `rater-2`, ...; a character for each pair.
        options: As `campaign_of`.
    """
    meaning: dict[str, Any] = {**SHORT, "?": ..., " ": ""}  # type: ignore[dict-item]
    said = {f"rater-{at}": [meaning[vote] for vote in each] for at, each in enumerate(votes, start=1)}
    return campaign_of(folder, pair_units(len(votes[0])), said, **options)


def add_answers(campaign: Campaign, *new: Answer) -> None:
    """Adds answers to those that are there."""
    campaign.write("answers.jsonl", [*campaign.history(), *new])


def say(campaign: Campaign, rater: str, at: int, label: str | None, *, round_name: str = MAIN) -> None:
    """Lets a rater label a pair."""
    add_answers(campaign, Answer(round_name, rater, f"hs-{at}:cn-{at}", LABEL, label))
