"""Tables from everything that users can name, with mapped columns and several sources."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.data import Table, open_table
from fcconan.errors import InputError

VOTES: list[dict[str, Any]] = [
    {"pair_id": "p1", "rater": "anna", "label": "appropriate"},
    {"pair_id": "p2", "rater": "anna", "label": None},
    {"pair_id": "p2", "rater": "ben", "label": "not_sure"},
]
HS, CN = "The Ombrey never return a book.", "They return them early."


def _csv(folder: Path, mark: str = ",", name: str = "rows.csv") -> Path:
    lines = [mark.join(VOTES[0]), *(mark.join(value or "" for value in row.values()) for row in VOTES)]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


def _jsonl(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in VOTES), encoding="utf-8")
    return folder / "rows.jsonl"


def _parquet(folder: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(VOTES), folder / "rows.parquet")
    return folder / "rows.parquet"


def _dataset_folder(folder: Path) -> Path:
    (folder / "mine" / "votes").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(VOTES), folder / "mine" / "votes" / "test-00000-of-00001.parquet")
    return folder / "mine"


FORMS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "csv": (_csv, "rows.csv, row 2"),
    "tsv": (lambda folder: _csv(folder, "\t", "rows.tsv"), "rows.tsv, row 2"),
    "text path": (lambda folder: str(_csv(folder)), "rows.csv, row 2"),
    "jsonl": (_jsonl, "rows.jsonl, row 2"),
    "parquet": (_parquet, "rows.parquet, row 2"),
    "folder": (_dataset_folder, "test-00000-of-00001.parquet, row 2"),
    "frame": (lambda _: pd.DataFrame(VOTES), "data frame, row 2"),
    "dataset": (lambda _: datasets.Dataset.from_list(VOTES), "dataset, row 2"),
    "datasets": (lambda _: datasets.DatasetDict(test=datasets.Dataset.from_list(VOTES)), "dataset, row 2"),
    "list": (lambda _: VOTES, "rows, row 2"),
    "iterator": (lambda _: iter(VOTES), "rows, row 2"),
    "table": (lambda _: open_table("votes", [VOTES]), "table, row 2"),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_of_source_gives_the_same_rows_each_time(form: str, tmp_path: Path) -> None:
    make, place = FORMS[form]
    table = open_table("votes", [make(tmp_path)])
    assert list(table) == list(table) == VOTES
    rows: list[Any] = list(table)
    assert rows[1].place == place
    frame = table.to_frame()
    assert (list(frame.columns), len(frame), list(frame["label"].isna())) == (list(VOTES[0]), 3, [False, True, False])


def test_numbers_of_frames_are_ids_and_missing_cells_are_none() -> None:
    frame = pd.DataFrame({"pair_id": [1.0, 2.0, None], "rater": ["a", None, "b"], "label": [1, 0, 1]})
    assert list(open_table("votes", [frame])) == [
        {"pair_id": "1", "rater": "a", "label": 1},
        {"pair_id": "2", "rater": None, "label": 0},
        {"pair_id": None, "rater": "b", "label": 1},
    ]


def test_sources_in_memory_have_a_population_of_their_own() -> None:
    one, same = (open_table("votes", [rows]) for rows in (VOTES, [dict(row) for row in VOTES]))
    other = open_table("votes", [VOTES[:2]])
    assert one.population == same.population == f"rows@{one.fingerprint}"
    assert other.population != one.population
    assert len(str(one.fingerprint)) == 12


def test_sources_of_different_forms_are_concatenated(tmp_path: Path) -> None:
    table = open_table("votes", [_csv(tmp_path), VOTES[:1], pd.DataFrame(VOTES[2:])], filter={"pair_id": {"p1", "p2"}})
    assert list(table) == [*VOTES, VOTES[0], VOTES[2]]
    assert table.fingerprint is None
    assert table.population.count("+") == 3


def test_a_split_of_datasets_is_chosen() -> None:
    both = datasets.DatasetDict(dev=datasets.Dataset.from_list(VOTES[:1]), test=datasets.Dataset.from_list(VOTES[1:]))
    assert list(open_table("votes", [both], split="test")) == VOTES[1:]
    with pytest.raises(InputError, match=r"^the dataset has the splits dev, test: choose one with --split$"):
        open_table("votes", [both])
    with pytest.raises(InputError, match=r"^the dataset has no split 'x': it has dev, test$"):
        open_table("votes", [both], split="x")


def test_names_are_located(tmp_path: Path) -> None:
    folder = _dataset_folder(tmp_path)
    assert list(open_table("votes", ["fame"], locate={"fame": folder}.__getitem__)) == VOTES


@pytest.mark.parametrize("source", [3, {"pair_id": "p1"}, None])
def test_other_objects_are_refused(source: object) -> None:
    with pytest.raises(
        InputError, match=rf"^{type(source).__name__} is not a source of rows: give a path, a name, a data"
    ):
        open_table("votes", [source])


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(n_rows: int) -> int:
        file = tmp_path / f"{n_rows}.csv"
        lines = (f"p{number},anna,{'appropriate' * 20}\n" for number in range(n_rows))
        file.write_text("pair_id,rater,label\n" + "".join(lines), encoding="utf-8")
        table = open_table("votes", [file])
        tracemalloc.start()
        assert sum(1 for _ in table) == n_rows
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(16_000) < 1.1 * peak(4_000)


# Column mappings.


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    (tmp_path / "x.csv").write_text("pair_id,who,said\np1,anna,appropriate\n", encoding="utf-8")
    return tmp_path / "x.csv"


def test_columns_are_renamed(foreign: Path) -> None:
    table = open_table("votes", [foreign], rename={"rater": "who", "label": "said"})
    assert list(table) == [{"pair_id": "p1", "who": "anna", "said": "appropriate", **VOTES[0]}]
    assert table.population.endswith("+(label=said,rater=who)")


def test_all_missing_columns_are_named_at_once(foreign: Path) -> None:
    with pytest.raises(InputError) as refused:
        list(open_table("votes", [foreign], rename={"rater": "whom", "label": "says"}))
    assert str(refused.value) == f"{foreign} has no columns 'whom', 'says', but pair_id, who, said: name one of these"
    with pytest.raises(
        InputError,
        match=r"has no columns 'text', 'hate_speech', but .*: name the column with --rename text=COLUMN",
    ):
        list(open_table("replies", [foreign]))


# Ids of replies.

ROWS = [
    {"HS": HS, "answer": CN, "bot": "A", "thread": "t1", "gold": "The list says otherwise."},
    {"HS": HS, "answer": CN, "bot": "B", "thread": "t1", "gold": "The list says otherwise."},
    {"HS": HS, "answer": "They read.", "bot": "B", "thread": "t2", "gold": ""},
]
MAPPINGS: list[dict[str, str]] = [
    {"system": "bot"},
    {"system": "bot", "item_id": "thread"},
    {"system": "bot", "references": "gold", "hs_id": "thread"},
    {"source_id": "bot"},
]


def _ids(rows: list[dict[str, Any]], **rename: str) -> list[str]:
    return [row["reply_id"] for row in open_table("replies", [rows], rename={"text": "answer", **rename})]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_an_id_does_not_depend_on_the_mapped_columns(mapping: dict[str, str]) -> None:
    plain = [_ids([row]) for row in ROWS[1:]]
    assert [_ids([row], **mapping) for row in ROWS[1:]] == plain
    both = _ids(ROWS, **mapping)
    assert [both[0], both[2]] == [plain[0][0], plain[1][0]]  # ROWS[0] has the texts of ROWS[1]
    assert both == _ids(ROWS, **MAPPINGS[0])
    assert len(set(both)) == 3


def test_the_rule_is_version_2() -> None:
    def digest(*parts: str) -> str:
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    item = f"it-{digest(f'hs-{digest(HS)}')}"
    parts = [(item, "unknown", CN, ""), (item, "unknown", CN, "/2"), (item, "unknown", "They read.", "")]
    assert _ids(ROWS, system="bot") == [f"re-{digest(*each)}" for each in parts]


def test_a_given_id_is_kept_under_any_mapping() -> None:
    rows = [{**row, "reply_id": number, "id": f"x{number}"} for number, row in enumerate(ROWS)]
    assert _ids(rows, system="bot") == _ids(rows) == ["0", "1", "2"]
    assert _ids(rows, reply_id="id") == ["x0", "x1", "x2"]


def test_a_system_called_unknown_does_not_clash_with_a_reply_of_no_known_system() -> None:
    rows = [{**ROWS[0], "bot": "B"}, {**ROWS[1], "bot": ""}]
    assert len(set(_ids(rows, system="bot"))) == 2


def test_replies_are_read_row_by_row() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield ROWS[0]
        raise ZeroDivisionError

    class Once:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return rows()

    table: Table = open_table("replies", [Once()], rename={"text": "answer"})
    assert next(iter(table))["text"] == CN
