"""Tables as elements, and the widget that is vendored for them."""

import hashlib
import json
from pathlib import Path

import fcconan.reporting
from fcconan.reporting.html_tables import LONG, MOST, View, packed, table_html, table_script, tables_html, word_columns
from fcconan.reporting.tables import DisplayTable, number_columns

VENDORED = Path(fcconan.reporting.__file__).parent / "vendor" / "datatables"


def test_the_widget_is_the_recorded_one_and_its_licence_goes_with_every_page() -> None:
    record = json.loads((VENDORED / "vendored.json").read_text(encoding="utf-8"))
    for name, digest in record["files"].items():
        content = (VENDORED / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert content.startswith(f"/*! DataTables {record['version']}\n".encode())
    licence = (VENDORED / "LICENSE.txt").read_text(encoding="utf-8")
    assert licence.startswith("The MIT License (MIT)") and record["license"] == "MIT"
    script = table_script()
    assert licence in script and script.isascii() is False
    assert "</script" not in script.lower() and "<!--" not in script


def test_columns_are_distinct_values_and_places() -> None:
    table = DisplayTable("T", ["a", "b"], [["x", "1"], ["y", "2"], ["z", "1"]])
    assert packed(table) == [{"values": ["x", "y", "z"]}, {"values": ["1", "2"], "places": [0, 1, 0]}]
    assert packed(DisplayTable("T", ["a"], [])) == [{"values": []}]


def test_long_tables_and_texts_are_data_and_others_are_elements() -> None:
    rows = [[f"r{place}", "1"] for place in range(MOST + 1)]
    short, long = (str(table_html(DisplayTable("T", ["a", "b"], found))) for found in (rows[:-1], rows))
    assert short.count("<tr>") == MOST + 1 and "<script" not in short
    assert long.count("<tr>") == LONG + 1 and f"the first {LONG} of {MOST + 1} rows" in long
    hidden = str(table_html(View(DisplayTable("T", ["a", "b"], [["r", "</script>said"]]), texts=("b",))))
    assert hidden.count("<tr>") == 1 and "\\u003c/script\\u003esaid" in hidden and 'data-texts="1"' in hidden


def test_parts_of_a_table() -> None:
    table = DisplayTable("T", ["a", "b", "c"], [["1", "2", "3"]])
    assert table.without(["b"]) == DisplayTable("T", ["a", "c"], [["1", "3"]])


def test_words_are_flush_left_and_figures_right() -> None:
    cells = ["1.5 [1, 2]", "12.5%", "– (no_values)", "< 0.0001", "-3", "[0.1, 0.2]", "1,024", "± 0.5"]
    table = DisplayTable("T", ["name", *map(str, range(len(cells))), "x", "y"], [["1", *cells, "pairs", "2nd"]])
    assert word_columns(View(table)) == [9, 10]
    assert number_columns(table) == [False, *[True] * len(cells), False, False]  # the first column names the row


def test_the_first_table_is_open_and_the_others_wait() -> None:
    tables = [DisplayTable(name, ["a"], [["x"]]) for name in ("One <b>", "Two")]
    shown = str(tables_html(tables))
    assert shown.count('<details class="table-part" open>') == 1 and shown.count("<details") == 2
    assert "<summary>One &lt;b&gt;</summary>" in shown
    assert " open" not in str(tables_html(tables, folded=True)) and "<details" not in str(table_html(tables[0]))
