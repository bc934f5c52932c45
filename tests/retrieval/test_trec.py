"""TREC and BEIR files: exact round trip, and errors that name the line."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.data.atomic import write_whole
from fcconan.errors import InputError
from fcconan.retrieval.trec import qrels_text, read_qrels, read_run, run_text


def complaint(read: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.txt"


def test_a_run_is_written_as_trec_eval_reads_it(path: Path) -> None:
    path.write_text(
        run_text("bm25", {"hs-a": [("cn-y", 2.5), ("cn-x", -1.0)], "hs-b": [("cn-x", 1e-300)]}), encoding="utf-8"
    )
    assert path.read_text(encoding="utf-8") == (
        "hs-a Q0 cn-y 1 2.5 bm25\nhs-a Q0 cn-x 2 -1.0 bm25\nhs-b Q0 cn-x 1 1e-300 bm25\n"
    )
    assert read_run(path) == ("bm25", {"hs-a": [("cn-y", 2.5), ("cn-x", -1.0)], "hs-b": [("cn-x", 1e-300)]})


def test_scores_are_read_back_to_the_last_bit(path: Path) -> None:
    generator = np.random.default_rng(3)
    scores = [0.1 + 0.2, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, *generator.normal(0, 1e-9, 200).tolist()]
    run = {"hs-å": [(f"cn-{index}", score) for index, score in enumerate(scores)]}
    path.write_text(run_text("Ombrey-1", run), encoding="utf-8")
    name, found = read_run(path)
    assert name == "Ombrey-1"
    assert [(key, score.hex()) for key, score in found["hs-å"]] == [(key, score.hex()) for key, score in run["hs-å"]]


def test_numbers_of_numpy_are_written_as_numbers(path: Path) -> None:
    path.write_text(
        run_text("mine", {"hs-a": [("cn-x", np.float64(0.5)), ("cn-y", float(np.float32(0.1)))]}), encoding="utf-8"
    )
    assert path.read_text(encoding="utf-8") == "hs-a Q0 cn-x 1 0.5 mine\nhs-a Q0 cn-y 2 0.10000000149011612 mine\n"
    path.write_text(qrels_text({"hs-a": {"cn-x": int(np.int64(2))}}), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "hs-a 0 cn-x 2\n"


def test_scores_decide_and_the_rank_column_is_not_used(path: Path) -> None:
    path.write_text("q Q0 a 2 0.25 mine\n\n   \nq Q0 b 1 0.5 mine\r\np Q0 a junk -3 mine", encoding="utf-8")
    assert read_run(path) == ("mine", {"q": [("a", 0.25), ("b", 0.5)], "p": [("a", -3.0)]})


def test_columns_may_be_apart_by_tabs_or_by_any_white_space(path: Path) -> None:
    path.write_text("q 1\tQ0\ta b\t1\t0.5\tmy run\nq 1\tQ0\tc\t2\t0.25\tmy run\n", encoding="utf-8")
    assert read_run(path) == ("my run", {"q 1": [("a b", 0.5), ("c", 0.25)]})
    path.write_text("q   Q0  a 1 \t 0.5   mine\n", encoding="utf-8")
    assert read_run(path) == ("mine", {"q": [("a", 0.5)]})


def test_marks_and_line_ends_of_other_systems_are_no_part_of_an_id(path: Path) -> None:
    path.write_bytes("\ufeffq\tQ0\ta\u2028b\t1\t0.5\tmine\r\n".encode())
    assert read_run(path) == ("mine", {"q": [("a\u2028b", 0.5)]})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q Q0 b 2 0.5", "5 fields, expected 6 (query Q0 document rank score name): correct the line"),
        ("q Q0 b 2 0.5 my run", "7 fields, expected 6 (query Q0 document rank score name): correct the line"),
        ("q\tQ0\tb\t2\t0.5", "5 fields, expected 6 (query Q0 document rank score name): correct the line"),
        ("q Q0 b 2 high mine", "the score 'high' is not a number: correct the line"),
        ("q Q0 b 2 0,5 mine", "the score '0,5' is not a number: correct the line"),
        ("q Q0 b 2 nan mine", "the score is nan; expected a finite number: correct the line"),
        ("q Q0 b 2 -inf mine", "the score is -inf; expected a finite number: correct the line"),
        ("q Q0 b 2 1e999 mine", "the score is 1e999; expected a finite number: correct the line"),
    ],
)
def test_a_bad_line_of_a_run_is_named(path: Path, line: str, problem: str) -> None:
    path.write_text(f"q Q0 a 1 0.75 mine\n\n{line}\n", encoding="utf-8")
    assert complaint(read_run, path) == f"{path}, line 3: {problem}"


def test_a_file_holds_one_run(path: Path) -> None:
    path.write_text("q Q0 a 1 2 tessok\nq Q0 b 2 1 ombrey\n", encoding="utf-8")
    assert complaint(read_run, path) == f"{path} holds the runs ombrey, tessok: give one file for each"
    path.write_text(" \n\n", encoding="utf-8")
    assert complaint(read_run, path) == f"{path} holds no ranking: give a TREC run with a line for every ranked CN"


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    missing, latin = tmp_path / "none.txt", tmp_path / "latin.txt"
    latin.write_bytes(b"q\xe5 Q0 a 1 2 mine\n")
    assert complaint(read, latin) == f"{latin}: byte 1 is not UTF-8: save it as UTF-8"
    assert complaint(read, missing) == f"{missing} cannot be read (No such file or directory): check the path"
    assert complaint(read, tmp_path) == f"{tmp_path} cannot be read (Is a directory): check the path"


def test_qrels_are_read_back(path: Path) -> None:
    qrels = {"hs-b": {"cn-x": 1, "cn-y": 0}, "hs-a": {"cn-å": 3, "cn-x": -1}}
    path.write_text(qrels_text(qrels), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "hs-b 0 cn-x 1\nhs-b 0 cn-y 0\nhs-a 0 cn-å 3\nhs-a 0 cn-x -1\n"
    found = read_qrels(path)
    assert found == qrels
    assert list(found) == ["hs-b", "hs-a"]


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n", "Query-ID Corpus-ID Relevance\n", "q d rel\n"])
def test_qrels_of_beir_have_a_header_or_none(path: Path, header: str) -> None:
    path.write_text(f"{header}q 1\ta\t1\nq 1\tb c\t0\n\nq2\ta\t2\n", encoding="utf-8")
    assert read_qrels(path) == {"q 1": {"a": 1, "b c": 0}, "q2": {"a": 2}}


def test_a_header_stands_on_the_first_line_only(path: Path) -> None:
    path.write_text("q\ta\t1\nquery-id\tcorpus-id\tscore\n", encoding="utf-8")
    assert complaint(read_qrels, path) == (
        f"{path}, line 2: the relevance 'score' is not a whole number: correct the line"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q b", "2 fields, expected 3 (query document relevance) or 4 (query 0 document relevance): correct the line"),
        (
            "q 0 b 1 x",
            "5 fields, expected 3 (query document relevance) or 4 (query 0 document relevance): correct the line",
        ),
        ("q 0 b 0.5", "the relevance '0.5' is not a whole number: correct the line"),
        ("q 0 b yes", "the relevance 'yes' is not a whole number: correct the line"),
        ("q\tb\t", "the relevance '' is not a whole number: correct the line"),
        ("q 0 b nan", "the relevance 'nan' is not a whole number: correct the line"),
        ("q 0 a 0", "q a is judged twice: keep one of the lines"),
        ("q\ta\t1", "q a is judged twice: keep one of the lines"),
    ],
)
def test_a_bad_line_of_qrels_is_named(path: Path, line: str, problem: str) -> None:
    path.write_text(f"\nq 0 a 1\np 0 a 1\n{line}\n", encoding="utf-8")
    assert complaint(read_qrels, path) == f"{path}, line 4: {problem}"


def test_qrels_without_a_judgement_are_refused(path: Path) -> None:
    path.write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    expected = f"{path} holds no judgement: give qrels with a line for every judged pair"
    assert complaint(read_qrels, path) == expected
    path.write_text("", encoding="utf-8")
    assert complaint(read_qrels, path) == expected


@pytest.mark.parametrize("bad", ["", "a b", "a\tb", "a\n", "\u2028", "a\u00a0b"])
def test_ids_that_the_format_does_not_allow_are_not_written(bad: str) -> None:
    expected = f"^{re.escape(repr(bad))} is empty or has white space, which TREC files do not allow: use ids and names "
    with pytest.raises(InputError, match=expected):
        run_text("mine", {"q": [("a", 1.0)], bad: [("a", 1.0)]})
    with pytest.raises(InputError, match=expected):
        run_text("mine", {"q": [("a", 1.0), (bad, 0.5)]})
    with pytest.raises(InputError, match=expected):
        run_text(bad, {"q": [("a", 1.0)]})
    with pytest.raises(InputError, match=expected):
        qrels_text({bad: {"a": 1}})
    with pytest.raises(InputError, match=expected):
        qrels_text({"q": {bad: 1}})


def test_a_file_is_replaced_whole_or_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(path, "first å\n")
    write_whole(path, "second å\n")
    assert path.read_bytes() == "second å\n".encode()

    def full(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, "third\n")
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]
    assert path.read_bytes() == "second å\n".encode()
