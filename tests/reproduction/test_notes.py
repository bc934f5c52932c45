"""A note is there only where its arithmetic holds."""

from typing import Any

import pytest

from fcconan.reproduction import cseval_correlations, fc_conan, pairwise_ranking
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import figure, load_paper
from fcconan.reproduction.values import Value


class FiveRows(Datasets):
    """Stands for every dataset: five pairs about the Tessok."""

    def rows(self, name: str, config: str, split: str = "test") -> list[dict[str, Any]]:
        return [
            {"hate_speech": f"Tessok {number}", "counter_narrative": "That is wrong.", "target": "Tessok"}
            for number in range(5)
        ]


def test_header_lines_are_named_where_they_make_the_difference() -> None:
    file, files = "the paper counts the header line of the file", "the paper counts the header lines of the three files"
    assert pairwise_ranking._headers(4832, 4833) == file
    assert pairwise_ranking._headers(6645, 6648, 3) == files
    assert [pairwise_ranking._headers(count, 4833) for count in (4831, 4833, 4834)] == ["", "", ""]
    with FiveRows() as data:
        found: dict[Any, Value] = dict(pairwise_ranking._corpora(data))
    assert found["text 3.2", "conan", "train"] == Value(5)
    assert found["Table 2", "conan", "pairs"] == Value(15)
    assert found["Table 2", "mt-conan", "counter_narratives"] == Value(1, "no cause found")


def test_digits_are_swapped_where_they_are_the_same() -> None:
    assert fc_conan._swapped(figure("6,654"), 6645) == "digits of the print are swapped"
    assert [fc_conan._swapped(figure("6,654"), count) for count in (6654, 6646, 66450)] == ["", "", ""]


@pytest.mark.parametrize(
    ("printed", "value", "note"),
    [
        ("≈11.49%", 11.4988, "cut off, not rounded"),
        ("≈11.49%", 11.4912, ""),
        ("≈11.50%", 11.49496, ""),  # rounded twice
        ("≈11.48%", 11.4988, ""),
    ],
)
def test_a_figure_is_cut_off_where_cutting_gives_it(printed: str, value: float, note: str) -> None:
    assert fc_conan._cut_off(figure(printed), value) == note


def test_the_numbers_of_comparisons_that_shares_fit() -> None:
    thirds = [100 * points / 3 for points in (0.5, 1, 1.5)]
    assert pairwise_ranking._numbers_of_comparisons([round(share, 2) for share in thirds], 9) == [3, 6, 9]
    people = pairwise_ranking._printed("Table 4")["human/share"].values()
    assert pairwise_ranking._numbers_of_comparisons(people, 720) == [358, 716]


def test_rows_are_mixed_up_where_the_file_has_the_printed_figure() -> None:
    for value, ends in ((0.0325, True), (0.03248, True), (0.05, False)):
        note = cseval_correlations._authors_note("pd-score", "average", figure("0.033"), value, None)
        assert note.endswith("; the labels of three rows are mixed up") is ends


def test_the_gain_has_no_cause_while_it_differs() -> None:
    gain = cseval_correlations.table_6()["text D", cseval_correlations.GAIN, "value"]
    assert gain.from_print
    assert gain.note == "mean of the first row of Table 6; no cause of 0.190 found"


def test_inferred_labels_are_said() -> None:
    (table,) = (table for table in load_paper("multi-aspect").tables if table.id == "Table G.4")
    assert table.about.endswith("the labels of its rows are inferred from the order of Table G.1.")
