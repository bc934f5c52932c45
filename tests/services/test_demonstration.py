"""`fcconan.run_demo`: the same as the command, and its parts as the other functions give them."""

import json
from functools import partial
from pathlib import Path

import pytest

import fcconan
from fcconan import scoring
from tests.conftest import RunCli


@pytest.mark.long  # the demo twice
def test_the_demo_from_python_is_that_of_the_command(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ten thousand resamples take minutes as Python, and compiling them takes longer than everything else here.
    whole = scoring.correlate
    monkeypatch.setattr(scoring, "correlate", lambda table, **how: whole(table, **how | {"resamples": 20}))
    monkeypatch.setattr(scoring, "rank_systems", partial(scoring.rank_systems, resamples=100))
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(name).mkdir()
    lines: list[str] = []
    found = fcconan.run_demo("one/demo", progress=lines.append)
    assert lines[-2:] == ["training a rater", "comparing judges with people"]
    assert found.ratings_file == Path("one/demo-ratings.csv")
    assert found.to_frame()["rows"].sum() == sum(
        rows for splits in found.manifest["counts"].values() for rows in splits.values()
    )

    done = run_cli("demo", "--out", "two/demo", "--verbose", "--json", "two.json")
    assert (done.returncode, done.stderr) == (0, "")
    written = json.loads(Path("two.json").read_text())
    assert written == {**found.to_dict(), "out": str(tmp_path / "two" / "demo")}
    assert Path("two/demo-ratings.csv").read_bytes() == found.ratings_file.read_bytes()
    assert found.benchmark.signature in done.stdout
    assert done.stdout.count("┏") > 10
