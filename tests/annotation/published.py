"""Small campaigns of every kind, about invented peoples, in the state in which they are published."""

from pathlib import Path
from typing import Any

from fcconan.annotation import VALIDATION, Answer, Assignment, Campaign, Decision, Rater, Settings, Unit, create
from fcconan.data import make_cn_id, make_hs_id, make_item_id, make_pair_id, make_reply_id
from fcconan.judging import load_task

LABEL, MAIN = "label", "main"
HS = ["The Ombrey never return a book.", "Every Tessok cheats at cards."]
CN = ["The library's list says\notherwise.", "None", "Cards were banned in Tessok towns."]
HS_ID = [make_hs_id(text) for text in HS]
CN_ID = [make_cn_id(text) for text in CN]
PAIR = [[make_pair_id(hs, cn) for cn in CN_ID] for hs in HS_ID]
VOTE = {"n": "not_appropriate", "u": "not_sure", "y": "appropriate", "-": None}
LABELS = {"n": "not_appropriate", "y": "appropriate"}
# Pair, votes by rater, final label or reason, validators' answers; and, worked out by hand, tier under both rules.
JUDGED: list[tuple[int, int, dict[str, str], str, str, str, str]] = [
    (0, 0, {"p1": "y", "p2": "y"}, "y", "y", "diamond", "diamond"),
    (0, 1, {"p1": "n", "p2": "n", "p3": "y"}, "n", "yy", "diamond", "gold"),
    (0, 2, {"p1": "u", "p2": "n"}, "n", "y", "gold", "gold"),
    (1, 0, {"p3": "y", "p2": "-"}, "y", "y", "silver", "silver"),
    (1, 1, {"p2": "n", "p3": "n"}, "n", "yn", "bronze", "bronze"),  # one validator disagrees
    (1, 2, {"p1": "y", "p3": "n"}, "no_majority", "", "", ""),
]
QUIZ = Unit("quiz-1", "quiz", hs_id=HS_ID[0], cn_id=CN_ID[0], known={LABEL: "appropriate"})


def pairs_campaign(folder: Path, *, decided: bool = True) -> Campaign:
    """A campaign on pairs; `JUDGED` says what people did."""
    texts: dict[str, list[dict[str, Any]]] = {
        "hs.jsonl": [{"hs_id": key, "text": text, "hs_type": "sly"} for key, text in zip(HS_ID, HS, strict=True)],
        "cn.jsonl": [
            {"cn_id": key, "text": text, "age": 31, "source_ids": ["a", "b"], "nearest_of": [key]}
            for key, text in zip(CN_ID, CN, strict=True)
        ],
    }
    units = [
        Unit(pair, hs_id=hs, cn_id=cn)
        for hs, row in zip(HS_ID, PAIR, strict=True)
        for cn, pair in zip(CN_ID, row, strict=True)
    ]
    campaign = create(folder, Settings(name="small-pairs"), load_task("appropriateness"), [QUIZ, *units], texts)
    answers, decisions = [Answer(MAIN, "p1", "quiz-1", LABEL, "appropriate")], []
    validated = []
    for hs, cn, votes, final, validators, *_ in JUDGED:
        unit, label = PAIR[hs][cn], LABELS.get(final)
        answers += [Answer(MAIN, rater, unit, LABEL, VOTE[vote], comment="ask Ann") for rater, vote in votes.items()]
        decisions.append(Decision(unit, label, "rule", "majority" if label else final))
        said = [{"y": "agree", "n": "disagree"}[each] for each in validators]
        validated += [(f"v{number}", unit, {LABEL: label}, each) for number, each in enumerate(said, start=1)]
    raters = [*(Rater(f"p{number}") for number in (1, 2, 3)), Rater("v1", "validator"), Rater("v2", "validator")]
    fill(campaign, raters, answers)
    if decided:
        campaign.write("decisions.jsonl", decisions)
        validate(campaign, validated)
    return campaign


def replies(*systems: str) -> list[dict[str, Any]]:
    """One reply of each system to each HS."""
    rows = []
    for hs, text in zip(HS_ID, HS, strict=True):
        item = make_item_id(hs, [])
        for system in systems:
            said = f"{system} says no."
            reply = {"reply_id": make_reply_id(item, system, said), "item_id": item, "hs_id": hs}
            rows.append(
                reply | {"hate_speech": text, "text": said, "system": system, "references": ['Yes, "they" do.']}
            )
    return rows


def ratings_campaign(folder: Path) -> Campaign:
    """Four replies, two raters, four aspects; the second rater skips an aspect of the last reply."""
    rows = replies("one", "two")
    units = [Unit(row["reply_id"], hs_id=row["hs_id"], item_id=row["item_id"], reply_a=row["reply_id"]) for row in rows]
    campaign = create(folder, Settings(name="small-ratings"), load_task("cseval"), units, {"replies.jsonl": rows})
    answers = [
        Answer(MAIN, rater, unit.unit_id, aspect, 1.0 + (place + number) % 3, comment="because")
        for place, unit in enumerate(units)
        for number, rater in enumerate(("p1", "p2"))
        for aspect in campaign.aspects
    ]
    answers.append(Answer(MAIN, "p2", units[-1].unit_id, "coherence", None))
    fill(campaign, [Rater("p1"), Rater("p2")], answers)
    return campaign


def comparisons_campaign(folder: Path) -> Campaign:
    """Two comparisons, judged by two raters, one of whom skips the second one."""
    rows = replies("one", "two")
    units = [
        Unit(
            f"{a['reply_id']}:{b['reply_id']}",
            item_id=a["item_id"],
            hs_id=a["hs_id"],
            reply_a=a["reply_id"],
            reply_b=b["reply_id"],
        )
        for a, b in zip(rows[::2], rows[1::2], strict=True)
    ]
    campaign = create(folder, Settings(name="small-duels"), load_task("pairwise"), units, {"replies.jsonl": rows})
    said = [("p1", 0, "a"), ("p2", 0, "a"), ("p1", 1, "tie"), ("p2", 1, None)]
    raters = [Rater("p1"), Rater("p2"), Rater("v1", "validator")]
    fill(campaign, raters, [Answer(MAIN, rater, units[at].unit_id, LABEL, value) for rater, at, value in said])
    return campaign


def decided_comparisons(folder: Path) -> Campaign:
    """As `comparisons_campaign`, with final verdicts, one of which a validator confirmed."""
    campaign = comparisons_campaign(folder)
    one, two = campaign.units()
    decisions = [Decision(one, "a", "votes", "unanimous"), Decision(two, None, "boss", "person_discarded")]
    campaign.write("decisions.jsonl", decisions)
    validate(campaign, [("v1", one, {LABEL: "a"}, "agree")])
    return campaign


def validated_ratings(folder: Path) -> Campaign:
    """As `ratings_campaign`, with a validator who agrees to the grades of the first reply, not to the second's."""
    campaign = ratings_campaign(folder)
    campaign.write("raters.csv", [*campaign.raters().values(), Rater("v1", "validator")])
    medians = [dict.fromkeys(campaign.aspects, 1.0 + (place % 3 + (place + 1) % 3) / 2) for place in range(2)]
    said = zip(campaign.units(), medians, ("agree", "disagree"), strict=False)
    validate(campaign, [("v1", unit, {"grades": grades}, value) for unit, grades, value in said])
    return campaign


def validate(campaign: Campaign, said: list[tuple[str, str, dict[str, Any], str]]) -> None:
    """Adds a round of validators: validator, unit, shown label or grades, answer."""
    campaign.write(
        "rounds/validation.jsonl", [Assignment(rater, unit, at) for at, (rater, unit, *_) in enumerate(said, 1)]
    )
    shown = [{"rater": rater, "unit_id": unit, **label} for rater, unit, label, _ in said]
    campaign.write("rounds/validation.shown.jsonl", shown)
    answers = [Answer(VALIDATION, rater, unit, LABEL, value) for rater, unit, _, value in said]
    campaign.write("answers.jsonl", [*campaign.history(), *answers])


def fill(campaign: Campaign, raters: list[Rater], answers: list[Answer]) -> None:
    """Adds raters, answers and the rounds with what was answered."""
    campaign.write("raters.csv", raters)
    for name in dict.fromkeys(answer.round for answer in answers):
        asked = dict.fromkeys((answer.rater, answer.unit_id) for answer in answers if answer.round == name)
        rows = [Assignment(rater, unit, place) for place, (rater, unit) in enumerate(asked, start=1)]
        campaign.write(f"rounds/{name}.jsonl", rows)
    campaign.write("answers.jsonl", answers)
