from collections.abc import Sequence
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.judging.panel import Rule, combine, rate_with_panel
from fcconan.judging.rating import ModelJudge
from fcconan.judging.strategies import RatingPlan
from tests.judging.fake_model import FakeModel, aspect, labels_task, row, task


def rating(value: float | None, name: str = "re-1", about: str = "calm") -> dict[str, Any]:
    reason = "timeout" if value is None else None
    return {"reply_id": name, "aspect": about, "value": value, "low": 1.0, "high": 5.0, "reason": reason}


def voted(*values: float | str | None, rule: Rule) -> tuple[Any, ...]:
    labels = any(isinstance(value, str) for value in values)
    if labels:
        judged: Sequence[Any] = [[{"pair_id": "p", "label": value, "strategy": "rubric"}] for value in values]
    else:
        judged = [[rating(value)] for value in values]  # type: ignore[arg-type]
    [found] = combine(judged, rule)
    return found["label" if labels else "value"], found["reason"], found["n_samples"], found["n_read"]


@pytest.mark.parametrize(
    ("values", "rule", "expected"),
    [
        ((1, 2, 5), "mean", (8 / 3, None, 3, 3)),
        ((1, 2, 5), "median", (2, None, 3, 3)),
        ((1, 2, 4, 5), "median", (3, None, 4, 4)),
        ((1, None, 4), "mean", (2.5, None, 3, 2)),
        ((1, None, 4), "median", (2.5, None, 3, 2)),
        ((1, None), "mean", (None, "too_few_judges", 2, 1)),
        ((1, 3, None, None), "median", (None, "too_few_judges", 4, 2)),
        ((None, None), "mean", (None, "too_few_judges", 2, 0)),
        ((4, 4, 1), "majority", (4, None, 3, 3)),
        ((1, 4, 4), "majority", (4, None, 3, 3)),
        ((1, 2, 3), "majority", (None, "no_majority", 3, 3)),
        # A juror who failed counts for nobody: two of four are no majority, in whatever order.
        ((4, 4, 1, None), "majority", (None, "no_majority", 4, 3)),
        ((4, 4, 1, 1), "majority", (None, "no_majority", 4, 4)),
        ((1, 1, 4, 4), "majority", (None, "no_majority", 4, 4)),
        ((4, None), "majority", (None, "no_majority", 2, 1)),
        ((4, 4, None), "majority", (4, None, 3, 2)),
        ((4, 4), "majority", (4, None, 2, 2)),
        (("good", "bad", "good"), "majority", ("good", None, 3, 3)),
        (("good", "bad"), "majority", (None, "no_majority", 2, 2)),
        (("good", None, "good"), "majority", ("good", None, 3, 2)),
    ],
)
def test_a_panel_gives_one_value_or_a_reason(values: tuple[Any, ...], rule: Rule, expected: tuple[Any, ...]) -> None:
    assert voted(*values, rule=rule) == expected


def test_every_aspect_has_a_row_of_the_panel() -> None:
    first = [rating(1.0), rating(None, about="depth")]
    second = [rating(3.0), rating(5.0, about="depth")]
    found = combine([first, second], "mean")
    assert [(each["aspect"], each["value"], each["rater"], each["rater_kind"]) for each in found] == [
        ("calm", 2.0, "panel:mean", "model"),
        ("depth", None, "panel:mean", "model"),
    ]
    assert (found[0]["low"], found[0]["high"], found[0]["reply_id"]) == (1.0, 5.0, "re-1")


def test_labels_are_not_averaged() -> None:
    with pytest.raises(InputError, match="labels have no mean: use --panel majority"):
        voted("good", "bad", rule="mean")


def says(answer: str) -> FakeModel:
    return FakeModel(lambda _: answer)


def test_the_rows_of_the_judges_come_first() -> None:
    rows = [row(1), row(2, ""), row(3)]
    plan = RatingPlan(task(aspect("calm")))
    judges = [ModelJudge(says(f'{{"calm": {value}}}'), plan, name=f"judge {value}") for value in (2, 5, 5)]
    found = list(rate_with_panel(judges, rows, "median"))
    assert [[(each["reply_id"], each["rater"], each["value"]) for each in rows] for rows in found] == [
        [
            (name, "judge 2", given[0]),
            (name, "judge 5", given[1]),
            (name, "judge 5", given[1]),
            (name, "panel:median", given[1]),
        ]
        for name, given in (("re-1", (2.0, 5.0)), ("re-2", (None, None)), ("re-3", (2.0, 5.0)))
    ]
    assert [rows[-1]["reason"] for rows in found] == [None, "too_few_judges", None]


def test_panels_choose_labels() -> None:
    plan = RatingPlan(labels_task("good", "bad"))
    judges = [ModelJudge(says(name), plan) for name in ("good", "bad", "bad")]
    [rows] = rate_with_panel(judges, [row(1)], "majority")
    assert [each["label"] for each in rows] == ["good", "bad", "bad", "bad"]
    assert rows[-1]["pair_id"] == "re-1"
