"""The remarks about printed figures, and the notes that a missing part causes."""

from fnmatch import fnmatchcase
from typing import Any

import pytest

from fcconan.reproduction import pairwise_ranking
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import Remark, load_paper, paper_names
from fcconan.reproduction.values import Value


class FiveRows(Datasets):
    """Every dataset: five pairs about the Tessok."""

    def rows(self, name: str, config: str, split: str = "test") -> list[dict[str, Any]]:
        return [
            {"hate_speech": f"Tessok {number}", "counter_narrative": "That is wrong.", "target": "Tessok"}
            for number in range(5)
        ]


def test_counts_of_corpora() -> None:
    with FiveRows() as data:
        found: dict[Any, Value] = dict(pairwise_ranking._corpora(data))
    assert found["text 3.2", "conan", "train"] == Value(5)
    assert found["Table 2", "conan", "pairs"] == Value(15)
    assert found["Table 2", "conan", "replies_per_hate_speech"] == Value(3)
    assert found["Table 2", "mt-conan", "counter_narratives"] == Value(1)
    assert ("text 3.2", "conan", "targets") not in found
    assert found["text 3.2", "mt-conan", "targets"] == Value(1)


@pytest.mark.parametrize("paper", paper_names())
def test_every_name_in_a_remark_is_that_of_a_row_or_column(paper: str) -> None:
    for table in load_paper(paper).tables:
        for remark in table.remarks:
            for names, known in ((remark.rows, table.rows), (remark.columns, table.columns)):
                assert [name for name in names if not any(fnmatchcase(each, name) for each in known)] == []
        assert len(set(table.remarks)) == len(table.remarks)


def test_a_remark_is_about_figures_whose_row_and_column_it_names() -> None:
    remark = Remark(note="a copy", rows=("ombrey/*", "all"), columns=("*/mean",))
    figures = [("ombrey/judge", "tone/mean"), ("all", "tone/mean"), ("all", "tone/std"), ("tessok/all", "tone/mean")]
    assert [remark.is_about(*figure) for figure in figures] == [True, True, False, False]
    assert Remark(note="all are copies").is_about("tessok", "tone")


def test_remarks_about_one_figure_keep_their_order() -> None:
    table = load_paper("multi-aspect").table("Table A.1")
    assert table.notes("vicuna", "fluency") == ["Table I.3 prints the same", "Table I.1 prints the same"]
    assert table.notes("vicuna", "aspect-average") == ["Table I.3 prints the same", "follows from the five aspects"]


def test_inferred_labels_are_said() -> None:
    (table,) = (table for table in load_paper("multi-aspect").tables if table.id == "Table G.4")
    assert table.about.endswith("the labels of its rows are inferred from the order of Table G.1.")
