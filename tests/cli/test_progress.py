"""Progress of long commands, on a terminal and elsewhere."""

import sys
import time

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


def test_the_latest_line_is_printed_after_each_pause_also_during_one_part_of_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fcconan.oldcli.progress.PAUSE", 0.1)
    shown = progress.LineProgress()
    shown("Reading")
    shown("Encoding")
    printed = ""
    ends = time.monotonic() + 20
    while printed.count("\n") < 2 and time.monotonic() < ends:
        time.sleep(0.02)
        printed += capsys.readouterr().err
    assert printed.startswith("Encoding\nEncoding\n")
    shown.close()
    time.sleep(0.3)
    capsys.readouterr()
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_short_work_prints_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown = progress.LineProgress()
    shown("Reading")
    shown.close()
    shown.close()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_one_line_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = progress.LineProgress()
    shown("Reading")
    shown("3 of 65 raters")
    shown.close()
    printed = capsys.readouterr().err
    assert "3 of 65 raters [00:00]" in printed and "\n" not in printed
    assert printed.split("\r")[-1].strip() == ""
