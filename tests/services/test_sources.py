"""Results, iterators and runs of ranx as sources of other calls."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan.data import open_table
from fcconan.errors import InputError

VOTES = [{"pair_id": pair, "rater": rater, "label": "appropriate"} for pair in ("hs1:cn1", "hs1:cn2") for rater in "ab"]


def test_one_source_is_opened_without_a_list(tmp_path: Path) -> None:
    frame = pd.DataFrame(VOTES)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    forms: list[Any] = [iter(VOTES), frame, tmp_path / "votes.csv", str(tmp_path / "votes.csv")]
    for form in (*forms, [frame], [VOTES], (VOTES,)):
        assert list(open_table("votes", form)) == VOTES
    assert list(open_table("votes", [frame, VOTES])) == VOTES + VOTES
    with pytest.raises(InputError, match=r"^a row is a list, expected a mapping from columns to values$"):
        list(open_table("votes", [[["hs1:cn1", "a"]]]))
