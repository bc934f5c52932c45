"""The demo part of the golden record is what the package computes; and the comparison finds what it is for."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.golden import files, record
from tests.golden.differences import differences
from tests.golden.guard import quotations
from tests.golden.masks import masked
from tests.golden.parts import DEMO, PARTS, compute
from tests.golden.tables import digest
from tests.golden.workplace import Workplace

pytestmark = pytest.mark.slow

LONG = ("demo-bench",)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.long if part in LONG else ()) for part in DEMO])
def test_the_demo_gives_what_is_recorded(part: str, place: Workplace) -> None:
    found = record.compared(part, compute(part, place))
    assert found == [], "a bug, or a line in CHANGELOG.md and `make golden-update`"


def test_every_part_has_a_record_and_every_record_a_part() -> None:
    assert sorted(path.stem for path in files.RECORDS.iterdir()) == sorted(PARTS)
    assert sum(path.stat().st_size for path in files.RECORDS.iterdir()) < 2_500_000


ROWS: list[dict[str, Any]] = [
    {"system": "one", "value": 0.25},
    {"system": "two", "value": 3.0},
    {"system": "three", "value": None},
]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (ROWS, []),
        ([{"system": "one", "value": 0.25 * (1 + 5e-10)}, *ROWS[1:]], []),
        ([{"system": "one", "value": 0.2500001}, *ROWS[1:]], ["rows[system=one].value: 0.25 -> 0.2500001"]),
        ([ROWS[0], {"system": "two", "value": 3}, ROWS[2]], ["rows[system=two].value: 3.0 -> 3"]),
        ([*ROWS[:2], {"system": "three", "value": 0.0}], ["rows[system=three].value: null -> 0.0"]),
        (ROWS[:2], ['rows[system=three]: {"system": "three", "value": null} -> absent']),
        ([ROWS[1], ROWS[0], ROWS[2]], ["rows: rows in the recorded order -> rows in another order"]),
        (
            [{**row, "n": 1} for row in ROWS],
            [f"rows[system={name}].n: absent -> 1" for name in ("one", "two", "three")],
        ),
    ],
)
def test_a_difference_is_named_by_its_row_and_key(new: list[dict[str, Any]], expected: list[str]) -> None:
    assert [str(each) for each in differences({"rows": ROWS}, {"rows": new})] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": True}, {"a": 1}, ["a: true -> 1"]),
        ({"a": 1}, {}, ["a: 1 -> absent"]),
        ([1, 2, 3], [1, 3], [": 3 entries -> 2 entries", "[]: 2 -> absent"]),
        ([[0.1, "x"]], [[0.2, "y"]], ["[0][0]: 0.1 -> 0.2", '[0][1]: "x" -> "y"']),
        ({"a": 0.0}, {"a": 1e-13}, []),
    ],
)
def test_other_values_are_compared_exactly(old: Any, new: Any, expected: list[str]) -> None:
    assert [str(each) for each in differences(old, new)] == expected


def test_versions_bytes_dates_and_needless_digits_are_masked_and_nothing_else() -> None:
    result = {
        "signature": "fcconan:0.1.0|nltk:3.10.4|confidence:0.95|data:demo@8f6317564d9b+a.parquet@2b13aec8cdc5",
        "version": "1.4104733075.3319285542",
        "settings": {"version": "0.2.0.dev1", "seed": 3},
        "note": "made on 2026-11-22",
        "values": [1 / 3, 2, True, None],
    }
    assert masked(result) == {
        "signature": "fcconan:*|nltk:*|confidence:0.95|data:demo@8f6317564d9b+a.parquet@*",
        "version": "1.4104733075.3319285542",
        "settings": {"version": "*", "seed": 3},
        "note": "made on *",
        "values": [0.333333333333, 2, True, None],
    }


def test_a_record_is_read_as_it_was_written_one_row_a_line() -> None:
    value = {
        "rows": [{**row, "more": {"n": [1, 2]}, "long": "x" * 60} for row in ROWS],
        "none": [],
        "mixed": [{}, ROWS[0]],
    }
    text = files.as_text(value)
    assert files._decoded(json.loads(text)) == value
    assert sum("x" * 60 in line for line in text.splitlines()) == 3
    assert text.count('"system"') == 2


def test_a_changed_cell_changes_the_hash_of_its_column_alone(tmp_path: Path) -> None:
    found = []
    for number, label in enumerate(("yes", "no")):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": ["a", "b"], "label": ["yes", label], "text": ["Ombrey", None]}), path)
        found.append(digest(path))
    assert [each.path for each in differences(*found)] == ["columns[column=label].sha256"]
    assert [column["missing"] for column in found[0]["columns"]] == [0, 0, 1]


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({"rows": [{"note": "They say the Velmari bakers water the milk each day."}]}, ["rows[0].note"]),
        ({"the VELMARI bakers – water, the milk each!": 1}, [" (a name)"]),
        ({"note": "the Velmari bakers water the milk"}, []),
        ({"note": "Of seven words in a row not one is theirs."}, []),
        ({"note": "so were the lists read, too, and that is well"}, ["note"]),
    ],
)
def test_seven_words_of_a_source_text_are_refused(recorded: Any, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    texts = pa.array(["The Velmari bakers water the milk each day.", None])
    lists = pa.array([["so were the lists read, too, and that"], []])
    pq.write_table(pa.table({"text": texts, "references": lists}), tmp_path / "pairs" / "test.parquet")
    assert quotations(recorded, [tmp_path]) == expected


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records of two parts: one of the demo, which is computed without the package, and one of upstream files."""
    outputs = json.dumps({"rank": {"rows": [{"system": f"s{number}", "value": 1.0} for number in range(50)]}})
    monkeypatch.setattr(files, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(record, "PARTS", {"demo-scores": PARTS["demo-scores"], "cseval": PARTS["cseval"]})

    def computed(part: str, folder: Path, *, update: bool) -> None:
        folder.mkdir()
        (folder / record.OUTPUTS).write_text(outputs, encoding="utf-8")

    monkeypatch.setattr(record, "_computed", computed)
    return tmp_path / "records"


def test_a_difference_is_reported_and_what_cannot_run_is_skipped(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skipped = "cseval: skipped (0 s): FCCONAN_MIRROR is not set; its record"
    assert record.main(["--jobs", "1"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "demo-scores: failed (0 s): it has no record: run `make golden-update`",
        f"{skipped} is not compared",
        "Golden record: 1 failed, 1 skipped.",
    ]
    assert record.main(["--update", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "demo-scores: recorded (0 s)", f"{skipped} stays as it is", "Golden record: 1 recorded, 1 skipped.",
    ]  # fmt: skip
    assert record.main(["--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Golden record: 1 equal, 1 skipped."

    path = records / "demo-scores.json"
    path.write_text(path.read_text(encoding="utf-8").replace("1.0]", "2.0]"), encoding="utf-8")
    assert record.main(["--only", "demo-scores"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "demo-scores: differs in 50 place(s) (0 s)",
        "",
        "output, place: recorded -> new",
        "demo-scores: rank.rows[system=s0].value: 2.0 -> 1.0",
    ]
    assert len(lines) == 3 + record.LINES + 2
    assert lines[-2:] == ["demo-scores: ... and 10 more", "Golden record: 1 differs."]

    (records / "gone.json").write_text("{}", encoding="utf-8")
    assert record.main(["--jobs", "1"]) == 1
    assert record.unknown_records() == ["gone"]
