"""Decisions of persons on other votes, on the command line."""

from pathlib import Path

from tests.annotation.answered import NO, YES, labelled, say
from tests.conftest import RunCli


def test_decisions_on_other_votes_are_said_and_listed_until_somebody_confirms_them(
    tmp_path: Path, run_cli: RunCli
) -> None:
    campaign, file = labelled(tmp_path / "c", "22", "00"), tmp_path / "list.csv"
    command = ("annotate", "adjudicate", tmp_path / "c")
    run_cli(*command, "--export-conflicts", file)
    text = file.read_text(encoding="utf-8-sig")
    file.write_text("\n".join(line + YES if at else line for at, line in enumerate(text.splitlines())))
    assert "2 decisions of chair." in run_cli(*command, "--import-decisions", file, "--decided-by", "chair").stdout
    say(campaign, "rater-1", 1, NO)  # both say no now, which is no conflict any more
    file = tmp_path / "anew.csv"
    said = run_cli(*command, "--export-conflicts", file).stdout
    assert (
        "The votes have changed since 1 decisions of persons, the first on hs-1:cn-1. The decisions still apply: "
        in said
    )
    assert "2 units to decide. Write" in said
    done = run_cli(*command, "--import-decisions", file, "--decided-by", "other-chair")
    assert (done.returncode, "votes have changed" in done.stdout) == (0, False)
    first = campaign.decisions()["hs-1:cn-1"]
    assert (first.label, first.by, first.votes) == (YES, "chair", f"{NO} {NO}")
