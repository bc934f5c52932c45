"""Progress of long commands, on a terminal and elsewhere."""

import sys

import pytest

from fcconan.oldcli import progress


def test_a_line_is_printed_after_a_pause(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    monkeypatch.setattr("fcconan.oldcli.progress.time.monotonic", lambda: now)
    shown = progress.CountProgress("rating")
    for done, now in ((0, 5.0), (10, 14.0), (20, 15.0), (30, 24.9), (40, 25.1)):  # noqa: B007
        shown(done, 240)
    assert capsys.readouterr().err == "rating: 20 of 240\nrating: 40 of 240\n"
    shown.close()
    now = 100.0
    shown(0, None)
    now = 110.0
    shown(3, None)
    assert capsys.readouterr().err == "rating: 3\n"


def test_a_terminal_has_one_bar_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = progress.CountProgress("rating")
    shown(0, 65)
    shown(65, 65)
    shown.close()
    printed = capsys.readouterr().err
    assert "rating:   0%" in printed and "\n" not in printed
    assert printed.split("\r")[-1].strip() == ""
