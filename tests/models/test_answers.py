import json
import multiprocessing
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcconan.errors import InputError
from fcconan.models.answers import Answers
from fcconan.models.requests import Finished, request_key

RESPONSE = {"choices": [], "usage": {"total_tokens": 3}}


def request(number: int) -> dict[str, object]:
    return {"endpoint": "http://one/v1", "path": "/x", "body": {"model": "m", "n": number}, "sample": 0}


def test_a_response_is_found_again_by_another_journal_on_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a" / "journal.jsonl"
    Answers(path).put(request(1), RESPONSE)
    again = Answers(path)
    assert again.get(request(1)) == RESPONSE
    assert again.get(request(2)) is None
    record = json.loads(path.read_text())
    rest = path.read_bytes().split(record["crc32"].encode())[1]
    assert record == {
        "crc32": f"{zlib.crc32(rest):08x}",
        "key": request_key(request(1)),
        "request": request(1),
        "response": RESPONSE,
        "usage": {"total_tokens": 3},
        "at": None,
        "seconds": None,
    }


def test_the_key_is_the_sha256_of_the_whole_request_in_any_order() -> None:
    whole = {"endpoint": "e", "path": "p", "body": {"model": "m", "seed": 0}, "sample": 0}
    reordered = {"sample": 0, "body": {"seed": 0, "model": "m"}, "path": "p", "endpoint": "e"}
    assert request_key(whole) == request_key(reordered)
    # printf '{"a":1}' | sha256sum
    assert request_key({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


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
    journal = Answers(path)
    journal.put(request(1), RESPONSE)
    journal.put(request(2), RESPONSE)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:-20])
    torn = Answers(path)
    assert (len(torn), torn.get(request(1)), torn.get(request(2))) == (1, RESPONSE, None)
    torn.put(request(3), RESPONSE)
    torn.put(request(2), RESPONSE)
    again = Answers(path)
    assert (len(again), again.get(request(2)), again.get(request(3))) == (3, RESPONSE, RESPONSE)
    assert path.read_bytes()[first:].split(b"\n")[0] == whole[first:-20]
    assert torn.get(request(3)) == RESPONSE


@pytest.mark.parametrize(
    "line", ["[1]", '{"key": "x"}', "\x00\x00", '{"key": NaN, "request": NaN, "response": {}}', ""]
)
def test_lines_that_are_no_records_are_ignored(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line + "\n")
    journal = Answers(path)
    journal.put(request(1), RESPONSE)
    assert (len(journal), journal.get(request(1))) == (1, RESPONSE)


def test_a_line_whose_request_was_changed_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Answers(path).put(request(1), RESPONSE)
    path.write_text(path.read_text().replace('"n":1', '"n":2'))
    journal = Answers(path)
    assert (journal.get(request(1)), journal.get(request(2))) == (None, None)


def test_what_another_journal_appends_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    one, two = Answers(path), Answers(path)
    one.put(request(1), RESPONSE)
    assert two.get(request(1)) == RESPONSE
    two.put(request(2), RESPONSE)
    assert one.get(request(2)) == RESPONSE
    assert len(path.read_text().splitlines()) == 2


def _write(path: Path, start: int) -> None:
    journal = Answers(path)
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
    journal = Answers(path)
    assert [journal.get(request(number))["number"] for number in range(80)] == list(range(80))  # type: ignore[index]


def test_a_folder_in_its_place_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be used \(Is a directory\): choose another file"):
        Answers(tmp_path)


def test_a_file_that_lost_its_lines_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Answers(path)
    journal.put(request(1), RESPONSE)
    path.write_text("\n")
    with pytest.raises(InputError, match="was changed while it was in use"):
        journal.get(request(1))


def test_many_are_appended_together_with_their_times(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Answers(path)
    finished = [Finished(request(number), {"n": number}, "2026-01-02T03:04:05.678+00:00", 0.25) for number in range(50)]
    assert journal.put_all(finished) == [{"n": number} for number in range(50)]
    records = list(journal.records())
    assert [(each["response"]["n"], each["at"], each["seconds"]) for each in records] == [
        (number, "2026-01-02T03:04:05.678+00:00", 0.25) for number in range(50)
    ]
    assert (len(journal), len(Answers(path))) == (50, 50)
    assert journal.put_all([]) == []


def test_the_first_answer_stands_within_a_batch_and_after_it(tmp_path: Path) -> None:
    journal = Answers(tmp_path / "journal.jsonl")
    assert journal.put_all([Finished(request(1), {"n": 1})]) == [{"n": 1}]
    assert journal.put_all([Finished(request(2), {"n": 2}), Finished(request(1), {"n": 3})]) == [{"n": 2}, {"n": 1}]
    assert [each["response"] for each in journal.records()] == [{"n": 1}, {"n": 2}]


def test_the_same_request_twice_in_a_batch_has_one_answer(tmp_path: Path) -> None:
    journal = Answers(tmp_path / "journal.jsonl")
    assert journal.put_all([Finished(request(1), {"n": 1}), Finished(request(1), {"n": 2})]) == [{"n": 1}, {"n": 1}]
    assert [each["response"] for each in journal.records()] == [{"n": 1}]


def _race(path: Path, name: str, found: Any) -> None:
    journal = Answers(path)
    standing = [journal.put_all([Finished(request(number), {"by": name})])[0]["by"] for number in range(150)]
    found.put((name, standing))


def test_of_two_processes_the_first_answer_stands_for_both(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    processes = [context.Process(target=_race, args=(path, name, found)) for name in ("one", "two")]
    for process in processes:
        process.start()
    both = dict(found.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(60)
    found.close()
    found.join_thread()
    assert both["one"] == both["two"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["request"]["body"]["n"] for each in lines] == list(range(150))
    assert [each["response"]["by"] for each in lines] == both["one"]


def test_any_flipped_bit_makes_a_line_unknown_and_never_another_answer(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    response = {"choices": [{"message": {"content": "3"}}]}
    Answers(path).put_all([Finished(request(1), response), Finished(request(2), response)])
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    found = []
    for place in range(second - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        journal = Answers(path)
        assert journal.get(request(2)) == response
        if (answer := journal.get(request(1))) is not None:
            assert answer == response
            found.append(place)
    assert found == []


@pytest.mark.parametrize("part", ["key", "request", "response"])
def test_a_damaged_answer_is_asked_again_and_the_new_one_is_found(tmp_path: Path, part: str) -> None:
    path = tmp_path / "journal.jsonl"
    Answers(path).put(request(1), {"content": "3"})
    key = request_key(request(1))
    old, new = {
        "key": (key, key[:-1] + ("0" if key[-1] != "0" else "1")),
        "request": ('"n":1', '"n":5'),
        "response": ('"content":"3"', '"content":"7"'),
    }[part]
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    journal = Answers(path)
    assert [journal.get(request(1)), journal.get(request(5))] == [None, None]
    journal.put(request(1), {"content": "4"})
    assert [journal.get(request(1)), Answers(path).get(request(1))] == [{"content": "4"}] * 2
    assert path.read_text().startswith(text.replace(old, new))


KILLED = """
import os, sys
from pathlib import Path
from fcconan.models.answers import Answers
journal = Answers(Path(sys.argv[1]))
for number in range(10**6):
    journal.put({"n": number}, {"filler": "x" * 200_000})
    print(number, flush=True)
"""


def test_what_was_on_the_disk_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
        seen += [int(line) for line in process.stdout]
    response = {"filler": "x" * 200_000}
    journal = Answers(path)
    assert [journal.get({"n": number}) == response for number in seen] == [True] * len(seen)
    assert len(journal) - len(seen) in (0, 1)  # the last may have been written and not said
    journal.put({"n": -1}, {"filler": "y"})
    assert Answers(path).get({"n": -1}) == {"filler": "y"}


@pytest.mark.parametrize("left", [1, 20, 75, 200])
def test_a_record_torn_anywhere_is_ended_by_the_next_writer(tmp_path: Path, left: int) -> None:
    path = tmp_path / "journal.jsonl"
    Answers(path).put(request(1), RESPONSE)
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(whole[:left])
    journal = Answers(path)
    journal.put(request(2), RESPONSE)
    assert path.read_bytes().split(b"\n")[:2] == [whole[:-1], whole[:left]]
    assert [journal.get(request(number)) for number in (1, 2)] == [RESPONSE] * 2
    assert len(list(journal.records())) == 2


FULL = """
import resource, sys
from pathlib import Path
from fcconan.errors import InputError
from fcconan.models.answers import Answers
from fcconan.models.requests import Finished
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
journal = Answers(Path(sys.argv[1]))
number = 0
try:
    while True:
        journal.put({"n": number}, {"filler": "x" * 900})
        number += 1
except InputError as error:
    print(number, error)
kept = [journal.get({"n": each}) == {"filler": "x" * 900} for each in range(number)]
print(kept.count(True), journal.get({"n": number}))
"""


def test_a_full_disk_is_told_and_nothing_before_it_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    command = [sys.executable, "-c", FULL, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stderr, ended.returncode) == ("", 0)
    line, kept = ended.stdout.splitlines()
    # A line takes 1082 bytes: 9 of them fit.
    assert line == f"9 the journal {path} cannot be used (File too large): choose another file, or free its disk"
    assert kept == "9 None"
    journal = Answers(path)
    assert (len(journal), path.stat().st_size) == (9, 10_000)
    journal.put({"n": 9}, {"n": 9})
    assert [each["request"]["n"] for each in Answers(path).records()] == list(range(10))


def test_a_journal_that_is_deleted_or_replaced_while_in_use_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Answers(path)
    journal.put(request(1), RESPONSE)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot be used \(No such file or directory\)"):
        journal.get(request(2))
    with pytest.raises(InputError, match="was changed while it was in use"):
        journal.put(request(2), RESPONSE)
    Answers(other := tmp_path / "other.jsonl").put(request(3), RESPONSE)
    other.replace(path)
    for _ in range(2):
        with pytest.raises(InputError, match="was changed while it was in use: leave journals as they are"):
            journal.get(request(3))
    assert Answers(path).get(request(3)) == RESPONSE


def test_opening_a_large_journal_reads_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    Answers(path).put_all([Finished(request(number), {"n": number}) for number in range(50_000)])
    parsed: list[bytes] = []
    real = orjson.loads

    def watched(line: bytes) -> Any:
        parsed.append(line)
        return real(line)

    monkeypatch.setattr("orjson.loads", watched)
    journal = Answers(path)
    assert (len(journal), parsed) == (50_000, [])
    assert (journal.get(request(31_416)), len(parsed)) == ({"n": 31_416}, 1)
    assert (journal.get(request(50_000)), len(parsed)) == (None, 1)


def test_a_closed_journal_opens_itself_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Answers(path)
    journal.put(request(1), RESPONSE)
    journal.close()
    assert journal.get(request(1)) == RESPONSE
    journal.close()
    journal.put(request(2), RESPONSE)
    assert len(Answers(path)) == 2


def test_a_response_that_no_line_can_hold_is_bad_input(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(InputError, match="too many objects and lists in one another"):
        Answers(tmp_path / "journal").put({"a": 1}, {"x": deep})
