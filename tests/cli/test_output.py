"""Tables of people who have no wide terminal."""

import pytest

from fcconan.data import printable_name
from fcconan.oldcli import output
from fcconan.oldcli.output import print_counts, print_table
from fcconan.reporting import DisplayTable


def test_columns_that_do_not_fit_stand_below_with_the_first_one_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    print_table(DisplayTable("Systems", ["system", "mrr", "interval", "n"], [["bm25", "0.5", "0.1 to 0.9", "24"]]))
    shown = [line for line in capsys.readouterr().out.splitlines() if "bm25" in line or "system" in line]
    cells = [[cell.strip() for cell in line.replace("┃", "│").split("│")[1:-1]] for line in shown]
    parts = [("mrr", "0.5"), ("interval", "0.1 to 0.9"), ("n", "24")]
    assert cells == [line for head, cell in parts for line in (["system", head], ["bm25", cell])]


def test_numbers_are_flush_right_and_nothing_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(DisplayTable("T", ["system", "n"], [["a\u202eb", "7"], ["[b]c[/b]", "1,024"]]))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "│" in line] == ["│ a\\u202eb │     7 │", "│ [b]c[/b] │ 1,024 │"]
    print_counts("T", ("what", "value"), {"flip rate": 0.25, "identical": 3, "share": None})
    shown = [line.split("│")[2] for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert shown == [" 0.250 ", "     3 ", "     – "]


@pytest.mark.parametrize(
    ("widths", "room", "tables"),
    [
        ([6, 3, 10, 1], 33, [[0, 1, 2, 3]]),  # 6 + 3 + 10 + 1, four times 3, and the last border
        ([6, 3, 10, 1], 32, [[0, 1, 2], [0, 3]]),
        ([6, 30, 1], 20, [[0, 1], [0, 2]]),  # what fits nowhere is folded
        ([6], 3, [[0]]),
    ],
)
def test_as_many_columns_as_fit_stand_in_a_table(widths: list[int], room: int, tables: list[list[int]]) -> None:
    assert output._fitting(widths, room) == tables


def test_names_from_elsewhere_stay_in_their_line() -> None:
    assert printable_name("a\nb\u202ec d") == "a\\x0ab\\u202ec d"
