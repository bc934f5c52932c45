from typing import Any

import pytest

import fcconan
from fcconan.errors import InputError
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.ledger import Cell, as_rows, counts, from_print, ledger_signature, reproduce
from fcconan.reproduction.published import figure, load_paper, paper_names
from fcconan.reproduction.values import Value, status_of


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
def test_a_printed_figure_has_a_value_and_a_unit(printed: str, value: float, unit: float, bound: str) -> None:
    found = figure(printed)
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
def test_the_status_of_a_figure(printed: str, value: float | None, status: str) -> None:
    assert status_of(figure(printed), value) == status


def test_every_printed_figure_has_a_line_in_the_order_of_the_paper() -> None:
    paper = load_paper("fc-conan")
    known = {
        (table.id, row, column): Value(figure(printed).value + bool(figure(printed).bound))
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
        "note": "the encoder has to be run",
    }
    tables = {table: found for _, table, found in counts(cells)}
    assert sum(sum(found.values()) for found in tables.values()) == len(cells)
    assert tables["Table 1"] == {"exact": 12, "rounding": 0, "differs": 0, "needs_model": 0, "not_released": 0}


def test_a_figure_without_a_value_or_a_reason_is_an_error_and_so_is_a_value_without_a_figure() -> None:
    with Datasets() as data:
        with pytest.raises(ValueError, match="Table 1, diamond, total: no value and no reason"):
            reproduce("fc-conan", data, lambda _: {})
        known = {
            (table.id, row, column): Value(0.0)
            for table, row, column, _ in load_paper("fc-conan").cells()
            if table.reason(row) is None
        }
        with pytest.raises(ValueError, match="values without a printed figure"):
            reproduce("fc-conan", data, lambda _: {**known, ("Table 9", "x", "y"): Value(1.0)})


def test_a_value_that_cannot_be_computed_here_says_why() -> None:
    cells = {
        (table.id, row, column): Value(None, "install the extra", "needs_model")
        for table, row, column, _ in load_paper("multi-aspect").cells()
        if table.reason(row) is None
    }
    with Datasets() as data:
        found = reproduce("multi-aspect", data, lambda _: cells)
    assert [(cell.recomputed, cell.note) for cell in found if cell.status == "needs_model"] == [
        (None, "install the extra")
    ] * len(cells)


def test_chance_is_not_exact_and_figures_from_the_print_say_so() -> None:
    flags: dict[str, dict[str, Any]] = {
        "total": {"from_print": True},
        "appropriate": {"by_chance": True},
        "not_appropriate": {"from_print": True, "by_chance": True},
    }
    known = {
        (table.id, row, column): Value(
            figure(printed).value + bool(figure(printed).bound),
            "bronze" if column == "total" else "",
            **(flags.get(column, {}) if (table.id, row) == ("Table 1", "diamond") else {}),
        )
        for table, row, column, printed in load_paper("fc-conan").cells()
        if table.reason(row) is None
    }
    known["Table 1", "gold", "total"] = Value(float("nan"), by_chance=True)
    with Datasets() as data:
        cells = reproduce("fc-conan", data, lambda _: known)
    found = {
        cell.column: (cell.status, cell.note) for cell in cells if (cell.table, cell.row) == ("Table 1", "diamond")
    }
    assert found == {
        "total": ("exact", "from printed figures: bronze"),
        "appropriate": ("differs", "near the printed figure by chance"),
        "not_appropriate": ("differs", "from printed figures; near the printed figure by chance"),
    }
    assert from_print(cells) == {("fc-conan", "Table 1"): 1}
    (undefined,) = [cell for cell in cells if (cell.table, cell.row, cell.column) == ("Table 1", "gold", "total")]
    assert (undefined.recomputed, undefined.status, undefined.note) == (None, "differs", "")


def test_the_signature_names_papers_and_datasets() -> None:
    assert ledger_signature(["cseval", "fc-conan"], {"velmari": "ab", "ombrey": "cd"}) == (
        f"fcconan:{fcconan.__version__}|reproduce:cseval+fc-conan|data:ombrey@cd+velmari@ab"
    )


def test_an_unknown_paper_is_named_with_those_that_are_known() -> None:
    assert paper_names() == ["cseval", "fc-conan", "multi-aspect", "pairwise-ranking"]
    with pytest.raises(
        InputError, match="there is no paper 'fc': choose among cseval, fc-conan, multi-aspect, pairwise"
    ):
        load_paper("fc")
