"""The reproduction table of the multi-aspect paper, and arithmetic between its printed values."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from fcconan.reproduction import multi_aspect
from fcconan.reproduction.comparison import Cell, reproduce
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper

ASPECTS = ("opposition", "relatedness", "specificity", "toxicity", "fluency")
SYSTEMS = ("dialogpt", "chatgpt", "vicuna")
Reproduced = dict[tuple[str, str, str], Cell]


class ThreePairs(Datasets):
    """A dataset of three training pairs."""

    def rows(self, name: str, config: str, split: str = "test") -> list[dict[str, Any]]:
        assert (name, config, split) == ("multi-aspect", "pairs", "train")
        return [{"pair_id": number} for number in range(3)]


@pytest.fixture(scope="module")
def reproduced() -> Reproduced:
    with ThreePairs() as data:
        cells = reproduce("multi-aspect", data, multi_aspect.recompute)
    return {(cell.table, cell.row, cell.column): cell for cell in cells}


def printed(name: str) -> dict[tuple[str, str], Decimal]:
    return {
        (row, column): Decimal(value.replace(",", ""))
        for table, row, column, value in load_paper("multi-aspect").cells()
        if table.id == name
    }


def test_all_but_one_value_are_not_released(reproduced: Reproduced) -> None:
    assert Counter(cell.status for cell in reproduced.values()) == {"not_released": 1051, "differs": 1}
    training = reproduced["text 3", "training-pairs", "count"]
    assert (training.published, training.recomputed, training.status) == ("4003", 3, "differs")
    assert all(cell.recomputed is None and cell.note for cell in reproduced.values() if cell is not training)


def test_table_2_equals_table_g_1(reproduced: Reproduced) -> None:
    whole = printed("Table G.1")
    assert len(printed("Table 2")) == 84
    assert {key: whole[key] for key in printed("Table 2")} == printed("Table 2")
    notes = {reproduced["Table 2", *key].note for key in printed("Table 2")}
    assert notes == {"the scores of the crowd workers were not released; equal to Table G.1"}


def test_table_a_1_equals_the_means_of_tables_i_1_and_i_3(reproduced: Reproduced) -> None:
    means, people, whole = printed("Table A.1"), printed("Table I.1"), printed("Table I.3")
    for (system, column), value in means.items():
        assert whole[system, f"{column}/mean"] == value
        note = reproduced["Table A.1", system, column].note
        if column == "aspect-average":
            mean = sum((means[system, aspect] for aspect in ASPECTS), Decimal(0)) / 5
            assert abs(mean - value) <= Decimal("0.005")
            assert note.endswith("; equal to Table I.3; follows from the five aspects")
        else:
            assert people[f"{system}/human", column] == value
            assert note.endswith("; equal to Table I.3; equal to Table I.1")


def test_five_signs_of_table_i_1_are_wrong(reproduced: Reproduced) -> None:
    rows, wrong = printed("Table I.1"), {}
    for row, column in rows:
        aspect, _, difference = column.partition("/")
        if not difference:
            continue
        expected = rows[row, aspect] - rows[f"{row.split('/')[0]}/human", aspect]
        note = reproduced["Table I.1", row, column].note.split("; ")[1]
        if rows[row, column] == expected:
            assert note == "follows from the means"
        else:
            assert rows[row, column] == -expected
            assert note == f"wrong sign: the means give +{expected}"
            wrong[row, aspect] = expected
    assert wrong == {
        ("chatgpt/prometheus-13b", "toxicity"): Decimal("0.33"),
        ("chatgpt/prometheus-13b", "overall"): Decimal("0.46"),
        ("vicuna/prometheus-13b", "relatedness"): Decimal("0.46"),
        ("vicuna/prometheus-13b", "toxicity"): Decimal("0.14"),
        ("vicuna/prometheus-13b", "overall"): Decimal("0.75"),
    }


def test_totals_of_tables_i_2_and_i_3_follow_from_the_systems(reproduced: Reproduced) -> None:
    errors = printed("Table I.2")
    for (row, column), value in errors.items():
        if row.startswith("all/"):
            mean = sum((errors[f"{system}/{row[4:]}", column] for system in SYSTEMS), Decimal(0)) / 3
            assert abs(mean - value) <= Decimal("0.0101")
            assert reproduced["Table I.2", row, column].note.endswith("; follows from the three systems")
    whole = printed("Table I.3")
    for name in (*ASPECTS, "aspect-average", "overall"):
        means = [whole[system, f"{name}/mean"] for system in SYSTEMS]
        assert abs(sum(means, Decimal(0)) / 3 - whole["all", f"{name}/mean"]) <= Decimal("0.0101")
        squares = [whole[system, f"{name}/std"] ** 2 + mean**2 for system, mean in zip(SYSTEMS, means, strict=True)]
        deviation = (sum(squares, Decimal(0)) / 3 - (sum(means, Decimal(0)) / 3) ** 2).sqrt()
        assert abs(deviation - whole["all", f"{name}/std"]) <= Decimal("0.0101")
        for kind in ("mean", "std"):
            assert reproduced["Table I.3", "all", f"{name}/{kind}"].note.endswith("; follows from the three systems")


def test_one_percentage_of_table_e_1_is_impossible_with_13_workers(reproduced: Reproduced) -> None:
    rows = {row: value for (row, _), value in printed("Table E.1").items()}
    shares = {round(Decimal(100 * workers) / 13, 1): workers for workers in range(14)}
    unknown = {row for row, value in rows.items() if value not in shares}
    assert unknown == {"age/18-25", "ethnicity/hispanic-latino"}
    assert sum(value for row, value in rows.items() if row.startswith("ethnicity/")) == 110
    note = "no other data about the crowd workers are released; "
    assert reproduced["Table E.1", "age/18-25", "percent"].note == f"{note}2 of 13, truncated"
    assert reproduced["Table E.1", "ethnicity/hispanic-latino", "percent"].note == (
        f"{note}not a share of 13 workers; the answers add up to 110.0, "
        "and the other answers leave 3 of 13, which is 23.1"
    )
    for row in rows.keys() - unknown:
        assert reproduced["Table E.1", row, "percent"].note == f"{note}{shares[rows[row]]} of 13"


def test_rows_that_are_likely_copies(reproduced: Reproduced) -> None:
    rows = printed("Table G.4")
    columns = {column for _, column in rows}
    copies = {key: cell.note for key, cell in reproduced.items() if "likely a copy" in cell.note}
    assert set(copies) == {
        ("Table G.4", f"{judge}-overall", column) for judge in ("gpt-4", "chatgpt") for column in columns
    }
    assert all(rows["gpt-4-overall", column] == rows["chatgpt-overall", column] for column in columns)
    assert copies["Table G.4", "gpt-4-overall", "overall/kendall"].endswith(
        "; the row equals chatgpt-overall; one of them is likely a copy, if the inferred labels of the rows are right"
    )
    near = {key[:2] for key, cell in reproduced.items() if "all values are within 0.02 of" in cell.note}
    assert near == {
        (table, f"vicuna/{judge}") for table in ("Table I.1", "Table I.2") for judge in ("gpt-4", "chatgpt")
    }
    for name in ("Table I.1", "Table I.2"):
        table = printed(name)
        gaps = [
            abs(value - table["vicuna/chatgpt", key[1]]) for key, value in table.items() if key[0] == "vicuna/gpt-4"
        ]
        assert max(gaps) == Decimal("0.02")


def test_payment(reproduced: Reproduced) -> None:
    pay = {row: value for (row, _), value in printed("text E").items()}
    assert pay["pay-per-task"] * 60 / pay["minutes-per-task"] == pay["pay-per-hour"]
    note = reproduced["text E", "pay-per-hour", "value"].note
    assert note.endswith("; follows from the pay and duration of a task")
