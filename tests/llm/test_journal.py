import json
import multiprocessing
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.llm.journal import Journal, request_key

RESPONSE = {"choices": [], "usage": {"total_tokens": 3}}


def request(number: int) -> dict[str, object]:
    return {"endpoint": "http://one/v1", "path": "/x", "body": {"model": "m", "n": number}, "sample": 0}


def test_a_response_is_found_again_by_another_journal_on_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a" / "journal.jsonl"
    Journal(path).put(request(1), RESPONSE)
    again = Journal(path)
    assert again.get(request(1)) == RESPONSE
    assert again.get(request(2)) is None
    record = json.loads(path.read_text())
    assert record == {
        "key": request_key(request(1)),
        "request": request(1),
        "response": RESPONSE,
        "usage": {"total_tokens": 3},
    }


def test_the_key_is_the_sha256_of_the_whole_request_in_any_order() -> None:
    whole = {"endpoint": "e", "path": "p", "body": {"model": "m", "seed": 0}, "sample": 0}
    reordered = {"sample": 0, "body": {"seed": 0, "model": "m"}, "path": "p", "endpoint": "e"}
    assert request_key(whole) == request_key(reordered)
    # printf '{"a": 1}' | sha256sum
    assert request_key({"a": 1}) == "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310"


@pytest.mark.parametrize(
    "other",
    [
        {"endpoint": "f"},
        {"path": "q"},
        {"body": {"model": "n", "seed": 0}},
        {"body": {"model": "m", "seed": 1}},
        {"sample": 1},
    ],
)
def test_every_part_of_the_request_changes_the_key(other: dict[str, object]) -> None:
    whole = {"endpoint": "e", "path": "p", "body": {"model": "m", "seed": 0}, "sample": 0}
    assert request_key(whole) != request_key(whole | other)


def test_a_torn_last_line_is_ignored_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.put(request(1), RESPONSE)
    journal.put(request(2), RESPONSE)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:-20])
    torn = Journal(path)
    assert (len(torn), torn.get(request(1)), torn.get(request(2))) == (1, RESPONSE, None)
    torn.put(request(3), RESPONSE)
    torn.put(request(2), RESPONSE)
    again = Journal(path)
    assert (len(again), again.get(request(2)), again.get(request(3))) == (3, RESPONSE, RESPONSE)
    assert path.read_bytes()[first:].split(b"\n")[0] == whole[first:-20]
    assert torn.get(request(3)) == RESPONSE


@pytest.mark.parametrize(
    "line", ["[1]", '{"key": "x"}', "\x00\x00", '{"key": NaN, "request": NaN, "response": {}}', ""]
)
def test_lines_that_are_no_records_are_ignored(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line + "\n")
    journal = Journal(path)
    journal.put(request(1), RESPONSE)
    assert (len(journal), journal.get(request(1))) == (1, RESPONSE)


def test_a_line_whose_request_was_changed_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path).put(request(1), RESPONSE)
    path.write_text(path.read_text().replace('"n": 1', '"n": 2'))
    journal = Journal(path)
    assert (journal.get(request(1)), journal.get(request(2))) == (None, None)


def test_what_another_journal_appends_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    one, two = Journal(path), Journal(path)
    one.put(request(1), RESPONSE)
    assert two.get(request(1)) == RESPONSE
    two.put(request(2), RESPONSE)
    assert one.get(request(2)) == RESPONSE
    assert len(path.read_text().splitlines()) == 2


def _write(path: Path, start: int) -> None:
    journal = Journal(path)
    for number in range(start, start + 40):
        journal.put(request(number), {"filler": "x" * 100_000, "number": number})


def test_two_processes_append_to_one_journal_without_mixing_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(path, start)) for start in (0, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    lines = path.read_text().splitlines()
    assert sorted(json.loads(line)["response"]["number"] for line in lines) == list(range(80))
    journal = Journal(path)
    assert [journal.get(request(number))["number"] for number in range(80)] == list(range(80))  # type: ignore[index]


def test_a_folder_in_its_place_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be used \(Is a directory\): choose another file"):
        Journal(tmp_path)


def test_a_file_that_lost_its_lines_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.put(request(1), RESPONSE)
    path.write_text("\n")
    with pytest.raises(InputError, match="was changed while it was in use"):
        journal.get(request(1))
