"""Remarks about printed values, and recomputed counts."""

from fnmatch import fnmatchcase
from typing import Any

import pytest

from fcconan.reproduction import pairwise_ranking
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import Remark, load_paper, paper_names
from fcconan.reproduction.values import RecomputedValue


class FiveRows(Datasets):
    """Every dataset: five pairs about the Tessok."""

    def rows(self, name: str, config: str, split: str = "test") -> list[dict[str, Any]]:
        return [
            {"hate_speech": f"Tessok {number}", "counter_narrative": "That is wrong.", "target": "Tessok"}
            for number in range(5)
        ]


def test_counts_of_corpora() -> None:
    with FiveRows() as data:
        found: dict[Any, RecomputedValue] = dict(pairwise_ranking._recompute_corpora(data))
    assert found["text 3.2", "conan", "train"] == RecomputedValue(5)
    assert found["Table 2", "conan", "pairs"] == RecomputedValue(15)
    assert found["Table 2", "conan", "replies_per_hate_speech"] == RecomputedValue(3)
    assert found["Table 2", "mt-conan", "counter_narratives"] == RecomputedValue(1)
    assert ("text 3.2", "conan", "targets") not in found
    assert found["text 3.2", "mt-conan", "targets"] == RecomputedValue(1)


@pytest.mark.parametrize("paper", paper_names())
def test_remarks_name_existing_rows_and_columns(paper: str) -> None:
    for table in load_paper(paper).tables:
        for remark in table.remarks:
            for names, known in ((remark.rows, table.rows), (remark.columns, table.columns)):
                assert [name for name in names if not any(fnmatchcase(each, name) for each in known)] == []
        assert len(set(table.remarks)) == len(table.remarks)


def test_a_remark_applies_to_its_rows_and_columns() -> None:
    remark = Remark(note="a copy", rows=("ombrey/*", "all"), columns=("*/mean",))
    cells = [("ombrey/judge", "tone/mean"), ("all", "tone/mean"), ("all", "tone/std"), ("tessok/all", "tone/mean")]
    assert [remark.applies_to(*cell) for cell in cells] == [True, True, False, False]
    assert Remark(note="all are copies").applies_to("tessok", "tone")


def test_the_remarks_about_a_value_have_the_order_of_the_file() -> None:
    table = load_paper("multi-aspect").table("Table A.1")
    assert table.notes("vicuna", "fluency") == ["equal to Table I.3", "equal to Table I.1"]
    assert table.notes("vicuna", "aspect-average") == ["equal to Table I.3", "follows from the five aspects"]


def test_inferred_labels_are_marked() -> None:
    (table,) = (table for table in load_paper("multi-aspect").tables if table.id == "Table G.4")
    assert table.about.endswith("the labels of its rows are inferred from the order of Table G.1.")
