from typing import Any

import pytest

import fcconan
from fcconan.errors import InputError
from fcconan.reproduction.comparison import (
    Cell,
    as_rows,
    reproduce,
    reproduction_signature,
)
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper, paper_names, parse_printed
from fcconan.reproduction.values import RecomputedValue, status_of


@pytest.mark.parametrize(
    ("printed", "value", "unit", "bound"),
    [
        (".50", 0.5, 0.01, ""),
        ("0.2203", 0.2203, 0.0001, ""),
        ("4,078", 4078.0, 1.0, ""),
        ("≈11.49%", 11.49, 0.01, ""),
        (">63", 63.0, 1.0, ">"),
        ("1e-5", 1e-5, 1e-5, ""),
        ("-.05*", -0.05, 0.01, ""),
    ],
)
def test_a_printed_value_has_a_number_and_a_unit(printed: str, value: float, unit: float, bound: str) -> None:
    found = parse_printed(printed)
    assert (found.value, found.bound) == (value, bound)
    assert found.unit == pytest.approx(unit)


@pytest.mark.parametrize(
    ("printed", "value", "status"),
    [
        (".22", 0.2249, "exact"),
        (".22", 0.215, "exact"),  # a half is rounded up or to even
        (".22", 0.2299, "rounding"),  # cut off
        (".22", 0.2301, "differs"),
        (".22", None, "differs"),
        ("11.49%", 11.4988, "rounding"),
        ("129", 129.0, "exact"),
        ("129", 130.0, "differs"),  # a count is not rounded
        ("23", 23.4, "exact"),
        (">63", 63.1, "exact"),
        (">63", 63.0, "differs"),
        ("1e-5", 1.4e-5, "exact"),
    ],
)
def test_the_status_of_a_value(printed: str, value: float | None, status: str) -> None:
    assert status_of(parse_printed(printed), value) == status


def test_every_printed_value_has_a_row_in_the_order_of_the_paper() -> None:
    paper = load_paper("fc-conan")
    known = {
        (table.id, row, column): RecomputedValue(parse_printed(printed).value + bool(parse_printed(printed).bound))
        for table, row, column, printed in paper.cells()
        if table.reason(row) is None
    }
    with Datasets() as data:
        cells = reproduce("fc-conan", data, lambda _: known)
    assert [(cell.table, cell.row, cell.column, cell.published) for cell in cells] == [
        (table.id, row, column, printed) for table, row, column, printed in paper.cells()
    ]
    assert cells[0] == Cell("fc-conan", "Table 1", "diamond", "total", "551", 551.0, "exact", "")
    assert {cell.status for cell in cells} == {"exact", "needs_model", "not_released"}
    (row,) = [row for row in as_rows(cells) if (row["row"], row["column"]) == ("sbert-mpnet", "cv")]
    assert row == {
        "paper": "fc-conan",
        "table": "Table 4",
        "row": "sbert-mpnet",
        "column": "cv",
        "published": "38.425",
        "recomputed": None,
        "status": "needs_model",
        "note": "the values need this encoder",
    }
    assert {cell.status for cell in cells if cell.table == "Table 1"} == {"exact"}


def test_missing_and_superfluous_recomputed_values_are_errors() -> None:
    with Datasets() as data:
        with pytest.raises(ValueError, match="Table 1, diamond, total: no value and no reason"):
            reproduce("fc-conan", data, lambda _: {})
        known = {
            (table.id, row, column): RecomputedValue(0.0)
            for table, row, column, _ in load_paper("fc-conan").cells()
            if table.reason(row) is None
        }
        with pytest.raises(ValueError, match="recomputed values without a printed value"):
            reproduce("fc-conan", data, lambda _: {**known, ("Table 9", "x", "y"): RecomputedValue(1.0)})


def test_a_missing_value_has_its_reason() -> None:
    cells = {
        (table.id, row, column): RecomputedValue(None, "install the extra", "needs_model")
        for table, row, column, _ in load_paper("multi-aspect").cells()
        if table.reason(row) is None
    }
    with Datasets() as data:
        found = reproduce("multi-aspect", data, lambda _: cells)
    assert [(cell.recomputed, cell.note) for cell in found if cell.status == "needs_model"] == [
        (None, "install the extra")
    ] * len(cells)


def test_equality_by_chance_differs_and_values_from_print_are_marked() -> None:
    flags: dict[str, dict[str, Any]] = {
        "total": {"from_print": True},
        "appropriate": {"by_chance": True},
        "not_appropriate": {"from_print": True, "by_chance": True},
    }
    known = {
        (table.id, row, column): RecomputedValue(
            parse_printed(printed).value + bool(parse_printed(printed).bound),
            "bronze" if column == "total" else "",
            **(flags.get(column, {}) if (table.id, row) == ("Table 1", "diamond") else {}),
        )
        for table, row, column, printed in load_paper("fc-conan").cells()
        if table.reason(row) is None
    }
    known["Table 1", "gold", "total"] = RecomputedValue(float("nan"), by_chance=True)
    with Datasets() as data:
        cells = reproduce("fc-conan", data, lambda _: known)
    found = {
        cell.column: (cell.status, cell.note) for cell in cells if (cell.table, cell.row) == ("Table 1", "diamond")
    }
    assert found == {
        "total": ("exact", "from printed values: bronze"),
        "appropriate": ("differs", "close to the printed value by chance"),
        "not_appropriate": ("differs", "from printed values; close to the printed value by chance"),
    }
    (undefined,) = [cell for cell in cells if (cell.table, cell.row, cell.column) == ("Table 1", "gold", "total")]
    assert (undefined.recomputed, undefined.status, undefined.note) == (None, "differs", "")


def test_the_signature_names_papers_and_datasets() -> None:
    assert reproduction_signature(["cseval", "fc-conan"], {"velmari": "ab", "ombrey": "cd"}) == (
        f"fcconan:{fcconan.__version__}|reproduce:cseval+fc-conan|data:ombrey@cd+velmari@ab"
    )


def test_an_unknown_paper_is_an_error_that_lists_the_known_ones() -> None:
    assert paper_names() == ["cseval", "fc-conan", "multi-aspect", "pairwise-ranking"]
    with pytest.raises(
        InputError, match="the paper 'fc' is unknown: choose among cseval, fc-conan, multi-aspect, pairwise"
    ):
        load_paper("fc")
