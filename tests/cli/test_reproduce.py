import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fcconan
from fcconan.errors import InputError
from fcconan.oldcli import app
from fcconan.reproduction import comparison
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper, parse_printed
from fcconan.reproduction.values import Key, RecomputedValue


def computed(paper: str) -> Mapping[Key, RecomputedValue]:
    """The printed values as recomputed ones; one of them differs."""
    values = {
        (table.id, row, column): RecomputedValue(
            parse_printed(printed).value + bool(parse_printed(printed).bound), "from <b>made-up</b> rows"
        )
        for table, row, column, printed in load_paper(paper).cells()
        if table.reason(row) is None
    }
    return values | {("Table 4", "bm25", "max"): RecomputedValue(0.5, "a [bold]made-up[/bold] reason")}


@pytest.fixture(autouse=True)
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_load_recompute", lambda paper: lambda _: computed(paper))


def test_the_table_is_printed_and_written_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "fc-conan", "--verbose", "--json", str(tmp_path / "values.json")])
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.output.splitlines() if "differs" in line and "bm25" in line]
    assert [cell.strip() for cell in line.split("│")[1:-1]] == [
        *("bm25, max", "fc-conan", "Table 4", "0.3810", "0.5", "differs"),
        "a [bold]made-up[/bold] reason",
    ]
    cells = json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))
    assert len(cells) == sum(1 for _ in load_paper("fc-conan").cells())
    assert [cell["published"] for cell in cells if cell["status"] == "differs"] == ["0.3810"]
    assert {tuple(cell) for cell in cells} == {
        ("paper", "table", "row", "column", "published", "recomputed", "status", "note")
    }
    assert done.output.splitlines()[-1] == f"fcconan:{fcconan.__version__}|reproduce:fc-conan|data:none"


def test_verbose_prints_every_value() -> None:
    done = CliRunner().invoke(app, ["reproduce", "fc-conan", "--verbose"])
    assert done.exit_code == 0, done.output
    printed = [line for line in done.output.splitlines() if "│ fc-conan" in line]
    cells, tables = sum(1 for _ in load_paper("fc-conan").cells()), len(load_paper("fc-conan").tables)
    assert len(printed) == cells + tables + 1


def test_the_answer_is_the_number_of_values_of_each_paper() -> None:
    done = CliRunner().invoke(app, ["reproduce", "fc-conan"])
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("│ fc-conan")]
    reasons = [table.reason(name) for table, name, _, _ in load_paper("fc-conan").cells()]
    without = Counter("computed" if reason is None else str(reason.without) for reason in reasons)
    numbers = [int(cell) for cell in row.split("│")[2:-1]]  # exact, rounding, differs, needs_model, not_released
    assert numbers[:5] == [without["computed"] - 1, 0, 1, without["needs_model"], without["not_released"]]
    assert numbers[5] == len(reasons)
    assert "--verbose prints every value" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fc"], "the paper 'fc' is unknown: choose among cseval"),
        (["fc-conan", "--json", "nowhere/values.json"], "cannot be written"),
        (["fc-conan", "--data-dir", "rel", "--json", "rel"], "rel is read, and --json would destroy it"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "_load_recompute", lambda paper: pytest.fail("it was computed"))
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_dataset_is_refused(tmp_path: Path) -> None:
    with Datasets(tmp_path) as data:
        built = data.path("demo")
        assert [row["_id"] for row in data.rows("demo", "queries")][:1] != []
        assert data.rows("demo", "queries") is data.rows("demo", "queries")
    built.rename(tmp_path / "kn-conan")
    with Datasets(tmp_path) as data, pytest.raises(InputError, match="is not kn-conan with its texts"):
        data.path("kn-conan")
    with Datasets(tmp_path) as data:
        assert data.path("demo") == tmp_path / "demo"  # built anew


def test_a_kept_folder_that_was_changed_is_refused_and_so_is_a_result_in_it(tmp_path: Path) -> None:
    with Datasets(tmp_path) as data:
        built = data.path("demo")
    with Datasets(tmp_path) as data:
        assert data.path("demo") == built
    done = CliRunner().invoke(
        app, ["reproduce", "fc-conan", "--data-dir", str(tmp_path), "--json", str(built / "manifest.json")]
    )
    assert f"is in the folder {built}, which holds the release only" in str(done.exception)
    table = next(built.glob("queries/*.parquet"))
    whole = table.read_bytes()
    for change in (lambda: table.write_bytes(whole + b" "), table.unlink):
        change()
        with Datasets(tmp_path) as data, pytest.raises(InputError) as refused:
            data.path("demo")
        assert str(refused.value) == f"{table} was changed after the build: remove {built} to build it again"
        assert data.fingerprints == {}
