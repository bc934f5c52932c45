"""Results, iterators and runs of ranx as sources of other calls."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fcconan
from fcconan import (
    CompareOptions,
    RateOptions,
)
from fcconan.data import open_table
from fcconan.errors import InputError
from fcconan.models import ChatResponse

MESSAGE = "The Ombrey keep our books."
REPLIES = [
    {"hate_speech": MESSAGE, "text": "The Ombrey keep no books.", "system": "A"},
    {"hate_speech": MESSAGE, "text": "Rain.", "system": "B"},
]
VOTES = [{"pair_id": pair, "rater": rater, "label": "appropriate"} for pair in ("hs1:cn1", "hs1:cn2") for rater in "ab"]


class First:
    """Prefers the first reply."""

    name = "first"

    def __init__(self) -> None:
        self.configuration: dict[str, Any] = {}

    def replies(self, calls: Any) -> Any:
        for _ in calls:
            yield ChatResponse('{"better": "a"}')


class Falling:
    """Gives the first reply the grade 5, the second 4 and so on."""

    name = "falling"

    def __init__(self) -> None:
        self.configuration: dict[str, Any] = {}

    def replies(self, calls: Any) -> Any:
        for number, _ in enumerate(calls):
            yield ChatResponse(f'{{"relevance": {5 - number}}}')


@pytest.mark.parametrize("out", [None, "rows.csv"])
def test_results_are_sources(out: str | None, tmp_path: Path) -> None:
    file = None if out is None else tmp_path / out
    relevance = RateOptions(model=("falling",), task="cseval", aspect=("relevance",))
    rated = fcconan.rate(REPLIES, relevance, client=Falling(), out=file)
    people = [{**row, "rater": "people", "rater_kind": "human"} for row in rated.ratings()]
    own = rated.ratings() if file is None else file
    found = fcconan.correlate(people, own, bootstrap=fcconan.Bootstrap(resamples=0)).to_frame()
    assert found["n"].tolist()[:3] == [2, 2, 2]
    file = None if out is None else tmp_path / "compared.csv"
    compared = fcconan.compare(REPLIES, CompareOptions(model="first", orders="ab"), client=First(), out=file)
    other = [{**row, "rater": "other"} for row in compared.comparisons()]
    assert fcconan.agree(compared.comparisons(), other).to_frame()["value"][0] == 1.0


def test_one_source_is_opened_without_a_list(tmp_path: Path) -> None:
    frame = pd.DataFrame(VOTES)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    forms: list[Any] = [iter(VOTES), frame, tmp_path / "votes.csv", str(tmp_path / "votes.csv")]
    for form in (*forms, [frame], [VOTES], (VOTES,)):
        assert list(open_table("votes", form)) == VOTES
    assert list(open_table("votes", [frame, VOTES])) == VOTES + VOTES
    with pytest.raises(InputError, match=r"^a row is a list, expected a mapping from columns to values$"):
        list(open_table("votes", [[["hs1:cn1", "a"]]]))
