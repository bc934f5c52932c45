"""The demo calls of the record give the recorded values, and the comparison finds what it is for."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.golden import record, values
from tests.golden.answers import MADE
from tests.golden.calls import CALLS
from tests.golden.digests import dataset
from tests.golden.readers import from_tables
from tests.golden.values import REPLACED, RESAMPLED, Row, Table, differences, interval, named
from tests.golden.workplace import Workplace

pytestmark = pytest.mark.slow

PARTS = dict.fromkeys(call.part for call in CALLS if not call.mirror)
QUICK = ("demo data", "demo campaigns", "demo scores")  # `make golden` and `make check-all` have all of them
KEYS = {"system": "one", "metric": "mrr@10"}
MEAN = Row("mean", KEYS, 0.25, "R01")


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part in QUICK else pytest.mark.long) for part in PARTS]
)
def test_the_demo_gives_what_is_recorded(part: str, tmp_path: Path) -> None:
    calls = [call for call in CALLS if call.part == part]
    outcome = record.compute(calls, Workplace(tmp_path, MADE))
    assert outcome.failed == {}
    lines, equal = record.report(values.read(), outcome.found, [call.name for call in calls], 20)
    assert equal, "a bug, or a line in CHANGELOG.md and `make golden-update`:\n" + "\n".join(lines)


def test_every_call_is_recorded_and_every_recorded_call_exists() -> None:
    recorded = values.read()
    assert {value.call for value in recorded.values()} == {call.name for call in CALLS}
    assert len({call.name for call in CALLS}) == len(CALLS)
    assert values.RECORD.stat().st_size < 2_000_000


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (MEAN, []),
        (MEAN._replace(value=0.25 * (1 + 5e-10)), []),
        (MEAN._replace(value=0.2500001), ["'0.25' -> '0.2500001'"]),
        (MEAN._replace(value=None), ["'0.25' -> ''"]),
        (MEAN._replace(keys={**KEYS, "system": "two"}), ["'0.25' -> absent", "absent -> '0.25'"]),
    ],
)
def test_a_changed_value_is_a_difference(new: Row, expected: list[str]) -> None:
    found = differences(named("bench", [MEAN]), named("bench", [new]))
    assert [line.split(": ", 1)[1] for _, line in found] == expected


def test_a_new_quantity_is_no_difference_and_neither_are_two_forms_of_a_number() -> None:
    old = named("build", [Row("rows", KEYS, 3, "D10")])
    new = named("build", [Row("rows", KEYS, 3.0, "D10"), Row("column tone", KEYS, "ab12", "D10")])
    assert differences(old, new) == []


@pytest.mark.parametrize(("shift", "equal"), [(0.029, True), (0.031, False)])
def test_ends_of_intervals_may_move_by_15_percent_of_the_width(shift: float, equal: bool) -> None:
    old, new = (named("rank", interval("share", KEYS, (0.4 + by, 0.6), "S13")) for by in (0, shift))
    assert {value.kind for value in old.values()} == {RESAMPLED}
    assert (differences(old, new) == []) == equal


def test_two_values_of_the_same_name_and_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="mean metric=mrr@10;system=one occurs twice"):
        named("bench", [MEAN, MEAN])
    for changed in ({"value": "The Velmari bakers water the milk daily."}, {"keys": {"of": "a b c d e f g"}}):
        with pytest.raises(ValueError, match="a string of 7 words"):
            named("bench", [MEAN._replace(**changed)])


def test_the_general_reader_reads_numbers_ends_and_renamed_columns() -> None:
    table = [{"system": "one", "raters": ["b", "c"], "score": 2, "low": 1.0, "high": 3.0, "p": 0.5, "note": "fine"}]
    found = from_tables(
        {"systems": table}, keys=("system", "raters"), row="S13", rename={"score": "value"}, kinds={"p": REPLACED}
    )
    assert [(row.quantity, dict(row.keys), row.value, row.kind, row.tolerance) for row in found] == [
        ("value", {"system": "one", "raters": "b+c"}, 2, "exact", None),
        ("p", {"system": "one", "raters": "b+c"}, 0.5, REPLACED, None),
        ("value.low", {"system": "one", "raters": "b+c"}, 1.0, RESAMPLED, pytest.approx(0.3)),
        ("value.high", {"system": "one", "raters": "b+c"}, 3.0, RESAMPLED, pytest.approx(0.3)),
    ]


def test_a_changed_cell_changes_its_column_and_a_new_column_nothing(tmp_path: Path) -> None:
    found: list[Table] = []
    more: tuple[dict[str, list[Any]], ...] = (
        {"label": ["yes", "yes"]},
        {"label": ["yes", "no"], "tone": ["calm", None]},
    )
    for number, columns in enumerate(more):
        (tmp_path / f"{number}" / "pairs").mkdir(parents=True)
        table = pa.table({"pair_id": ["a", "b"], **columns})
        pq.write_table(table, tmp_path / f"{number}" / "pairs" / "test-00000-of-00001.parquet")
        found.append(named("build", dataset(tmp_path / f"{number}", "D08")))
    assert [value.quantity for value, _ in differences(*found)] == ["column label"]


def test_the_record_is_read_as_it_was_written_the_same_bytes_each_time(tmp_path: Path) -> None:
    table = named("bench", [MEAN, MEAN._replace(quantity="p", kind=REPLACED), *interval("mean", KEYS, (0, 1), "R15")])
    for name in ("one", "two"):
        values.write(table, tmp_path / name)
    assert values.read(tmp_path / "one") == table
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_differences_are_printed_and_counted_by_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [call for call in CALLS if call.name in ("rank demo", "rank cseval ratings")]
    made = named("rank demo", [MEAN, MEAN._replace(quantity="p", kind=REPLACED)])
    monkeypatch.setattr(values, "RECORD", tmp_path / "values.csv.gz")
    monkeypatch.setattr(record, "CALLS", calls)
    monkeypatch.setattr(values.read, "__defaults__", (tmp_path / "values.csv.gz",))
    monkeypatch.setattr(values.write, "__defaults__", (tmp_path / "values.csv.gz",))
    monkeypatch.setattr(record, "outcome", lambda *_: record.Outcome(made, {}))
    monkeypatch.delenv(record.MIRROR, raising=False)
    assert record.main([]) == 1
    assert "not recorded: rank demo: run `make golden-update`" in capsys.readouterr().out
    assert record.main(["--update"]) == 0
    assert record.main([]) == 0
    made |= named("rank demo", [MEAN._replace(value=0.5)])
    capsys.readouterr()
    assert record.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "skipped, because FCCONAN_MIRROR is not set: rank cseval ratings",
        "rank demo | mean | metric=mrr@10;system=one: '0.25' -> '0.5'",
        "Record of 1 calls: values that differ: 1 of 1 exact, 0 of 0 resampled, 0 of 1 replaced.",
    ]
    assert record.main(["--summary"]) == 0
    assert "| rank demo | R01 | 1 | 0 | 1 |" in capsys.readouterr().out
