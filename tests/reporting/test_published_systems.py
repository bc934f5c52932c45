"""Published systems next to the user's own."""

from typing import Any

from fcconan.reporting.forest_plots import Dot
from fcconan.reporting.page import render
from fcconan.reporting.published_systems import (
    Published,
    published_retrieval,
    with_published,
    with_published_dots,
)
from fcconan.reporting.retrieval import drill_down, retrieval_page
from fcconan.reporting.tables import DisplayTable
from tests.reporting.invented import example_details, example_result


def paper_result() -> dict[str, Any]:
    result = example_result()
    result["protocol"] = "paper"
    result["dataset"] |= {"name": "fc-conan", "title": "FC-CONAN"}
    return result


def test_rows_are_ordered_by_a_column_and_special_ones_are_last() -> None:
    own = DisplayTable(
        "T", ["system", "avg", "min"], [["a", "0.30", "0.1"], ["b", "0.10", "0.0"], ["(chance)", "0.99", "–"]]
    )
    published = Published("Grey: a paper.", {"p (published)": {"avg": "0.20"}, "q (published)": {"min": "0.2"}})
    view = with_published(own, published, "avg")
    assert [row[0] for row in view.table.rows] == ["a", "p (published)", "b", "(chance)", "q (published)"]
    assert view.table.rows[1] == ["p (published)", "0.20", "–"] and list(view.grey) == [1, 4]
    assert with_published(own, None, "avg").table is own
    dots = with_published_dots([Dot("a", 0.3), Dot("c", None)], published, "avg")
    assert [(dot.name, dot.is_grey) for dot in dots] == [("a", False), ("p (published)", True), ("c", False)]


def test_table_4_stands_beside_systems_under_its_own_protocol_only() -> None:
    found = published_retrieval(paper_result())
    assert found is not None and len(found.rows) == 12
    assert found.rows["sbert-mpnet (published)"] == {"avg": "0.3283", "min": "0.1836", "max": "0.4904", "CV%": "38.425"}
    assert found.source.startswith("Grey: Table 4 of Juan Junqueras and others, 2025: FC-CONAN: An Exhaustively")
    changes: tuple[dict[str, Any], ...] = ({"protocol": "sound"}, {"partitions": {"gold": {}}})
    for change in changes:
        assert published_retrieval({**paper_result(), **change}) is None
    other = paper_result()
    other["settings"]["k"] = 5
    assert published_retrieval(other) is None and published_retrieval(example_result()) is None


def test_a_page_shows_them_in_grey() -> None:
    text = _page(paper_result())
    assert '<tr class="grey"><th scope="row">sbert-mpnet (published)</th><td>0.3283</td>' in text
    assert text.count('<div class="dot-row grey"') == 12 and "hollow dots are published values" in text
    assert "https://hal.science/hal-05538818" in text
    assert "(published)" not in _page(example_result())


def _page(result: dict[str, Any]) -> str:
    return render(retrieval_page(result, drill_down(result, example_details()), {}))
