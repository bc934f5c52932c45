"""`fcconan.audit`: values by hand and by scipy, intervals by a plain loop, users' mistakes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fcconan import Bootstrap, InputError, Result, audit
from tests.conftest import RunCli

NONE = Bootstrap(resamples=0)
Row = dict[str, Any]
REFUSAL = "I'm sorry, but I cannot help with that request."


def reply(name: str, text: str, item: str = "i1", system: str = "s") -> Row:
    return {"reply_id": name, "item_id": item, "system": system, "text": text, "hate_speech": "Tessok cheat."}


def verdict(item: str, said: str, rater: str = "judge", **more: Any) -> Row:
    sides = {"system_a": "A", "system_b": "B", "reply_a": f"{item}A", "reply_b": f"{item}B"}
    kind = "human" if rater == "anna" else "model"
    return {"item_id": item, **sides, "rater": rater, "rater_kind": kind, "verdict": said, **more}


def grade(name: str, value: float | None, rater: str = "judge", **more: Any) -> Row:
    kind = "human" if rater == "anna" else "model"
    given = {"reply_id": name, "rater": rater, "rater_kind": kind, "aspect": "kind", "value": value}
    return {**given, "low": 1, "high": 5, "higher_is_better": True, **more}


def cell(found: Result, check: str, column: str = "value", rater: str = "judge", failure: str | None = None) -> Any:
    table = found.to_frame()
    table = table[(table["check"] == check) & (table["rater"] == rater)]
    (value,) = table[column][table["failure"].isna() if failure is None else table["failure"] == failure]
    return value


TEXTS = {  # replies of A and of B
    "i1": ("one two three", "one"),
    "i2": ("one", "one two"),
    "i3": ("one two", "three four"),
    "i4": (REFUSAL, "one two three four five six seven eight nine ten eleven"),
}
REPLIES = [
    reply(f"{item}{system}", text, item, system)
    for item, both in TEXTS.items()
    for system, text in zip("AB", both, strict=True)
]


# Comparisons


def test_wins_of_longer_replies_and_of_refusals() -> None:
    """Longer: A won i1 (1), a tie on i2 (1/2), equal lengths on i3, B lost i4 (0). The refusal won its comparison."""
    said = [verdict("i1", "a"), verdict("i2", "tie"), verdict("i3", "b"), verdict("i4", "a")]
    found = audit(comparisons=said, replies=REPLIES, bootstrap=NONE)
    assert (cell(found, "length_wins"), cell(found, "length_wins", "n")) == (0.5, 3)
    assert (cell(found, "refusal_wins"), cell(found, "refusal_wins", "n")) == (1.0, 1)
    assert cell(found, "length_wins", "baseline") == 0.5 and not found.notes
    without = audit(comparisons=said, bootstrap=NONE)
    assert cell(without, "length_wins", "reason") == "no_rows" and cell(without, "length_wins", "n_missing") == 4
    assert without.notes == ["Lengths and refusals of 8 of 8 replies are unknown: --replies lacks them."]


def test_positions_by_hand() -> None:
    """Verdicts in terms of A, with A first and with B first: i1 a, b (the first wins twice); i2 a, a; i3 tie, a."""
    orders = {"i1": ("a", "b"), "i2": ("a", "a"), "i3": ("tie", "a")}
    said = [verdict(item, "tie", verdict_ab=ab, verdict_ba=ba) for item, (ab, ba) in orders.items()]
    said.append(verdict("i4", "invalid", verdict_ab="a", verdict_ba=None, reason="empty", reason_ba="empty"))
    found = audit(comparisons=said, bootstrap=NONE)
    assert cell(found, "position_flips") == pytest.approx(2 / 3)
    assert cell(found, "position_reversals") == pytest.approx(1 / 3)
    assert cell(found, "first_position_wins") == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert (cell(found, "position_flips", "n"), cell(found, "position_flips", "n_missing")) == (3, 1)
    assert (cell(found, "failures"), cell(found, "failures", failure="empty")) == (0.25, 0.25)


def test_orders_in_separate_rows_are_one_comparison() -> None:
    turned = {"system_a": "B", "system_b": "A", "reply_a": "i1B", "reply_b": "i1A"}
    said = [verdict("i1", "a"), {**verdict("i1", "tie"), **turned}, verdict("i2", "a")]
    found = audit(comparisons=said, replies=REPLIES, bootstrap=NONE)
    assert (cell(found, "position_flips"), cell(found, "position_flips", "n")) == (1.0, 1)
    assert cell(found, "first_position_wins") == (1 + 0.5) / 2  # A first: it won; B first: a tie
    assert (cell(found, "length_wins"), cell(found, "length_wins", "n")) == ((0.75 + 0) / 2, 2)
    assert cell(found, "failures", "n") == 2


def test_own_replies_in_comparisons() -> None:
    """The judge lets A win twice and lose once; anna lets it win, tie and lose."""
    said = [verdict(item, each) for item, each in zip(TEXTS, ("a", "a", "b", "invalid"), strict=True)]
    said += [verdict(item, each, "anna") for item, each in zip(TEXTS, ("a", "tie", "b"), strict=False)]
    found = audit(comparisons=said, self_judge={"judge": "A"}, bootstrap=NONE)
    assert cell(found, "self_preference") == pytest.approx(2 / 3 - 1.5 / 3)
    assert (cell(found, "self_preference", "n"), cell(found, "self_preference", "n_missing")) == (3, 1)
    assert "self_preference" not in {*audit(comparisons=said, bootstrap=NONE).to_frame()["check"]}
    named = [{**row, "rater": "A" if row["rater"] == "judge" else "anna"} for row in said]
    assert cell(audit(comparisons=named, bootstrap=NONE), "self_preference", rater="A") == pytest.approx(1 / 6)


# Ratings


@pytest.mark.parametrize("better", [True, False])
def test_own_replies_in_grades(better: bool) -> None:
    """The judge's own replies are 3 points above the others, for people 1 point, on a scale of length 4."""
    grades = {"i1A": (5, 3), "i1B": (2, 2), "i2A": (4, 4), "i2B": (1, 3)}  # judge's and people's
    rated = [grade(name, own, higher_is_better=better) for name, (own, _) in grades.items()]
    rated += [grade(name, value, "anna", higher_is_better=better) for name, (_, value) in grades.items()]
    found = audit(ratings=rated, replies=REPLIES, self_judge={"judge": "A"}, bootstrap=NONE)
    assert cell(found, "self_preference_grades") == pytest.approx((1 if better else -1) * (3 - 1) / 4)


def test_use_of_the_scale_by_hand_and_by_scipy() -> None:
    mine, people = [3, 3, 3, 4, 4, 3], [1, 2, 3, 4, 5, 3]
    rated = [grade(f"r{n}", value) for n, value in enumerate(mine)]
    rated += [grade(f"r{n}", value, "anna") for n, value in enumerate(people)]
    rated += [grade("r9", None, reason="empty"), grade("r10", None, reason="unreadable")]
    found = audit(ratings=rated, bootstrap=NONE)
    assert (cell(found, "modal_share"), cell(found, "modal_share", "baseline")) == (4 / 6, pytest.approx(2 / 6))
    assert (cell(found, "levels_used"), cell(found, "levels_used", "baseline")) == (0.4, 1.0)
    assert cell(found, "entropy") == pytest.approx(stats.entropy([4, 2], base=5))
    assert cell(found, "spread") == pytest.approx(np.std(mine) / np.std(people))
    assert (cell(found, "spread", "n"), cell(found, "spread", "n_missing")) == (6, 2)
    assert cell(found, "failures") == 0.25 and cell(found, "failures", failure="unreadable") == 0.125
    assert cell(found, "spread", "reason", rater="anna") == "no_people"
    tenths = audit(ratings=[grade("r0", 1.1), grade("r1", 3.0)], bootstrap=NONE)
    assert cell(tenths, "levels_used") == 2 / 41
    halves = audit(ratings=[grade("r0", 1.5), grade("r1", 3.0)], bootstrap=NONE)
    assert (cell(halves, "levels_used"), cell(halves, "entropy")) == (2 / 9, pytest.approx(np.log(2) / np.log(9)))
    unknown = audit(ratings=[grade("r0", 1.1, low=None, high=None)], bootstrap=NONE)
    assert cell(unknown, "entropy", "reason") == "no_levels"


LONG = [reply(f"r{n}", " ".join("a" * (1 + 7 * n % 10)), f"i{n // 3}") for n in range(24)]
GRADES = [1 + (n * n) % 5 for n in range(24)]


def rated_long(**more: Any) -> list[Row]:
    return [grade(row["reply_id"], value, **more) for row, value in zip(LONG, GRADES, strict=True)]


@pytest.mark.parametrize("better", [True, False])
def test_length_and_refusals_of_ratings(better: bool) -> None:
    replies = [{**row, "text": REFUSAL} if n < 4 else row for n, row in enumerate(LONG)]
    found = audit(ratings=rated_long(higher_is_better=better), replies=replies, bootstrap=NONE)
    sign, words = 1 if better else -1, [len(row["text"].split()) for row in replies]
    assert cell(found, "length_correlation") == pytest.approx(sign * stats.spearmanr(words, GRADES)[0])
    assert cell(found, "refusal_difference") == pytest.approx(sign * (np.mean(GRADES[:4]) - np.mean(GRADES[4:])))
    without = audit(ratings=rated_long(), replies=LONG, bootstrap=NONE)
    assert cell(without, "refusal_difference", "reason") == "one_group"


# Intervals


def test_intervals_of_ratings_are_those_of_a_plain_loop_over_items() -> None:
    replies = [{**row, "text": REFUSAL} if n % 5 == 0 else row for n, row in enumerate(LONG)]
    of_people = np.array([6 - value if n % 3 else value for n, value in enumerate(GRADES)])
    people = [grade(row["reply_id"], float(value), "anna") for row, value in zip(LONG, of_people, strict=True)]
    given = Bootstrap(resamples=4000, confidence=0.9)
    found = audit(ratings=rated_long() + people, replies=replies, bootstrap=given)
    words, grades = np.array([len(row["text"].split()) for row in replies]), np.array(GRADES)
    refuses, item = np.arange(24) % 5 == 0, np.arange(24) // 3
    generator, drawn = np.random.default_rng(7), []
    for _ in range(4000):
        rows = np.concatenate([np.flatnonzero(item == each) for each in generator.integers(8, size=8)])
        own, refused = grades[rows], refuses[rows]
        apart = own[refused].mean() - own[~refused].mean() if 0 < refused.sum() < len(rows) else np.nan
        spread = own.std() / of_people[rows].std()
        drawn.append((stats.spearmanr(words[rows], own)[0], apart, (own == stats.mode(grades)[0]).mean(), spread))
    checks = ("length_correlation", "refusal_difference", "modal_share", "spread")
    for check, values in zip(checks, np.transpose(drawn), strict=True):
        low, high = np.nanquantile(values, [0.05, 0.95])
        ends = [cell(found, check, end) for end in ("low", "high")]
        assert ends == pytest.approx([low, high], abs=0.1 * (high - low)), check
    assert np.isnan(cell(found, "levels_used", "low"))  # resamples can only lose grades


def test_intervals_of_shares_are_those_of_a_plain_loop() -> None:
    """Two comparisons of each item; a share of 0 has no interval."""
    said, replies = [], []
    for n in range(30):
        row = verdict(f"i{n // 2}", ("a", "b", "tie", "a", "a")[n % 5], verdict_ab="a", verdict_ba="a")
        said.append({**row, "reply_a": f"a{n}", "reply_b": f"b{n}"})
        replies += [reply(f"{side}{n}", "w " * (n % 3 + 1 + (side == "a")), f"i{n // 2}") for side in "ab"]
    found = audit(comparisons=said, replies=replies, bootstrap=Bootstrap(resamples=4000))
    shares = np.array([{"a": 1.0, "tie": 0.5, "b": 0.0}[row["verdict"]] for row in said])
    assert cell(found, "length_wins") == pytest.approx(shares.mean())
    generator, means = np.random.default_rng(3), shares.reshape(15, 2).mean(axis=1)
    low, high = np.quantile([means[generator.integers(15, size=15)].mean() for _ in range(4000)], [0.025, 0.975])
    ends = [cell(found, "length_wins", end) for end in ("low", "high")]
    assert ends == pytest.approx([low, high], abs=0.1 * (high - low))
    assert cell(found, "position_flips") == 0 and np.isnan(cell(found, "position_flips", "high"))


# The command, and users' mistakes


def test_a_command_with_names_that_have_dots(tmp_path: Path, run_cli: RunCli) -> None:
    said = [verdict(item, "a", "gpt-4.1:choice") for item in TEXTS] + [verdict(item, "b", "anna") for item in TEXTS]
    for name, rows in {"said": said, "replies": REPLIES}.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = run_cli(
        *("judge", "audit", "--comparisons", tmp_path / "said.jsonl", "--replies", tmp_path / "replies.jsonl"),
        *("--self-judge.gpt-4.1:choice", "A", "--resamples", 100, "--json", tmp_path / "out.json"),
        *("--report", tmp_path / "page"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    checks = json.loads((tmp_path / "out.json").read_text())["tables"]["checks"]
    (row,) = [each for each in checks if each["check"] == "self_preference"]
    assert (row["rater"], row["value"]) == ("gpt-4.1:choice", 1.0)
    assert "length_wins" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "found nothing to audit"),
        ({"ratings": [{"reply_id": "r", "rater": "m"}]}, "has neither value nor"),
        ({"ratings": [grade("r", 3), grade("r", 4)]}, "rated kind of the reply r twice"),
        ({"comparisons": [verdict("i1", "c")]}, "expected an item, two systems, and one of a, tie, b, invalid"),
        ({"ratings": [grade("r", 3)], "self_judge": {"other": "A"}}, "unknown rater of --self-judge 'other'"),
        ({"comparisons": [verdict("i1", "a")], "self_judge": {"judge": "C"}}, "unknown system of --self-judge 'C'"),
    ],
)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(**given)
