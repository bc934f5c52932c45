import json
import multiprocessing
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.answers.file import store_path
from fcconan.models.answers.store import AnswerStore, CommandRun
from fcconan.models.requests import Finished, Request, request_key
from tests.models import old
from tests.models.stored import records

RESPONSE = {"choices": [], "usage": {"total_tokens": 3}}
AT = "2026-01-02T03:04:05.678+00:00"


def request(number: int, sample: int = 0) -> dict[str, object]:
    return {"endpoint": "http://one/v1", "path": "/x", "body": {"model": "m", "n": number}, "sample": sample}


def answered(
    asked: dict[str, Any], response: dict[str, Any], at: str | None = None, seconds: float | None = None
) -> Finished:
    return Finished(Request(asked), response, at, seconds)


def said(answers: AnswerStore, asked: dict[str, Any]) -> Any:
    stored = answers.get(asked)
    return None if stored is None else stored.response


def rows_of(path: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(statement).fetchall()
        connection.commit()
        return found
    finally:
        connection.close()


def test_an_answer_is_found_again_by_another_process_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "answers"
    AnswerStore(path).put_all([answered(request(1, sample=2), RESPONSE, AT, 0.25)])
    again = AnswerStore(path)
    assert (said(again, request(1, sample=2)), said(again, request(1)), len(again)) == (RESPONSE, None, 1)
    assert records(again.path) == [
        {
            "key": request_key(request(1, sample=2)),
            "sample": 2,
            "epoch": 0,
            "at": AT,
            "seconds": 0.25,
            "usage": {"total_tokens": 3},
            "request": request(1, sample=2),
            "response": RESPONSE,
        }
    ]
    again.close()
    assert [each.name for each in path.parent.iterdir()] == ["answers"]
    # The form of the file, as another program sees it.
    (columns,) = rows_of(path, "SELECT hex(key), sample, epoch, request, response, at, seconds, usage FROM answers")
    assert columns[0].lower() == request_key(request(1, sample=2))
    assert (columns[1:3], json.loads(columns[3])) == ((2, 0), request(1, sample=2))
    assert (json.loads(columns[4]), *columns[5:7], json.loads(columns[7])) == (RESPONSE, AT, 0.25, RESPONSE["usage"])
    assert rows_of(path, "PRAGMA user_version") + rows_of(path, "PRAGMA journal_mode") == [(1,), ("wal",)]


def test_every_commit_is_forced_to_the_disk(tmp_path: Path) -> None:
    answers = AnswerStore(tmp_path / "answers")
    answers.put(request(1), RESPONSE)
    assert answers._connections[True].execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


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


def test_many_are_stored_together_and_the_first_answer_of_an_epoch_counts(tmp_path: Path) -> None:
    answers = AnswerStore(tmp_path / "answers")
    finished = [answered(request(number), {"n": number}, AT, 0.25) for number in range(1200)]
    assert [each.response["n"] for each in answers.put_all(finished)] == list(range(1200))
    again = answers.put_all([answered(request(3), {"n": -1}), answered(request(-5), {"n": -5})])
    assert [(each.response, each.at) for each in again] == [({"n": 3}, AT), ({"n": -5}, None)]
    twice = answers.put_all([answered(request(-6), {"n": 1}), answered(request(-6), {"n": 2})])
    assert [each.response for each in twice] == [{"n": 1}, {"n": 1}]
    assert [each["response"]["n"] for each in records(answers.path)] == [*range(1200), -5, 1]
    assert (len(answers), answers.put_all([])) == (1202, [])


@pytest.mark.parametrize("value", ["\ud83d", 2**70, "Zeile\r\n \x00ü"])
def test_any_json_value_is_read_as_it_was_written(tmp_path: Path, value: Any) -> None:
    AnswerStore(tmp_path / "answers").put({"asked": value}, {"said": [value]})
    assert said(AnswerStore(tmp_path / "answers"), {"asked": value}) == {"said": [value]}


# Damage


@pytest.mark.parametrize(
    "change",
    [
        """response = replace(response, '"3"', '"7"')""",
        """request = replace(request, '"n":1', '"n":5')""",
        "at = '2026-01-03T03:04:05.678+00:00'",
        "seconds = 0.5",
        "usage = NULL",
        "checksum = zeroblob(16)",
        "epoch = 7",
        "response = ''",
        "response = 5",
    ],
)
def test_a_damaged_row_is_sent_again_with_a_note_and_its_new_answer_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put_all([answered(request(1), {"content": "3", "usage": {"n": 1}}, AT, 0.25)])
    rows_of(path, f"UPDATE answers SET {change}")
    answers = AnswerStore(path)
    assert [said(answers, request(1)), said(answers, request(1, sample=1))] == [None, None]
    assert answers.put_all([answered(request(1), {"content": "4"})])[0].response == {"content": "4"}
    assert said(AnswerStore(path), request(1)) == {"content": "4"}
    assert capsys.readouterr().err == f"fcconan: answers in {path} are damaged, so their requests are sent again\n"


def test_any_flipped_bit_of_the_file_gives_the_answer_none_or_one_line_and_never_another(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    response = {"choices": [{"message": {"content": "3"}}], "filler": "x" * 3000}
    AnswerStore(path).put_all([answered(request(number), response) for number in (1, 2)])
    whole = path.read_bytes()
    told = {"right": 0, "missing": 0, "refused": 0}
    for place in range(0, len(whole), 61):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            answers = AnswerStore(path)
            for number in (1, 2):
                stored = answers.get(request(number))
                assert stored is None or stored.response == response
                told["right" if stored else "missing"] += 1
            answers.close()
        except InputError as error:
            assert "\n" not in str(error)
            told["refused"] += 1
        for each in tmp_path.glob("answers-*"):
            each.unlink()
    assert all(told.values())


def test_a_file_that_sqlite_cannot_read_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put_all([answered(request(number), {"filler": "x" * 3000}) for number in range(50)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"answers is damaged \(.*\): restore a copy, or recover its answers"):
        for number in range(50):
            AnswerStore(path).get(request(number))


# Files that are refused


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.mkdir(), r"cannot be used \(Is a directory\): choose another file, or free its disk$"),
        (
            lambda path: path.write_text("a,b\n1,2\n"),
            r"answers is not a file of answers; it is left unchanged",
        ),
        (lambda path: rows_of(path, "CREATE TABLE t (a)"), r"answers is a database of another program: choose another"),
        (lambda path: rows_of(path, "PRAGMA application_id = 5"), r"answers is a database of another program"),
        (
            lambda path: (AnswerStore(path).put_all([answered({}, {})]), rows_of(path, "PRAGMA user_version = 2")),
            r"answers has answers in version 2 of their format, and this version of fcconan reads version 1: update ",
        ),
        (
            lambda path: (AnswerStore(path).put_all([answered({}, {})]), rows_of(path, "PRAGMA application_id = 5")),
            r"answers is a database of another program",
        ),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_other_files_are_refused_in_one_line(
    tmp_path: Path, make: Callable[[Path], Any], told: str, write: bool
) -> None:
    path = tmp_path / "answers"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(InputError, match=told) as error:
        answers = AnswerStore(path)
        if write:
            answers.prepare()
        answers.get(request(1))
    assert "\n" not in str(error.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    path.touch()
    answers = AnswerStore(path)
    assert (said(answers, request(1)), len(answers)) == (None, 0)
    answers.put(request(1), RESPONSE)
    assert said(AnswerStore(path), request(1)) == RESPONSE


def test_a_store_that_is_moved_or_replaced_while_in_use_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    answers = AnswerStore(path)
    answers.put(request(1), RESPONSE)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="was moved or deleted while it was in use: leave it there, and run again"):
        answers.put(request(2), RESPONSE)
    path.write_bytes((tmp_path / "elsewhere").read_bytes())
    with pytest.raises(InputError, match="was moved or deleted while it was in use"):
        answers.put(request(2), RESPONSE)


def test_a_closed_store_opens_itself_again(tmp_path: Path) -> None:
    answers = AnswerStore(tmp_path / "answers")
    answers.put(request(1), RESPONSE)
    answers.close()
    assert said(answers, request(1)) == RESPONSE
    answers.close()
    answers.put(request(2), RESPONSE)
    assert len(answers) == 2


# What cannot be written

FULL = """
import resource, sys
from pathlib import Path
from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
answers = AnswerStore(Path(sys.argv[1]))
number = 0
try:
    answers.prepare()
    print("prepared")
    while True:
        answers.put({"n": number}, {"filler": "x" * 900})
        number += 1
except InputError as error:
    print(error)
print(sum(answers.get({"n": each}).response == {"filler": "x" * 900} for each in range(number)) == number, number > 0)
"""


@pytest.mark.parametrize(("limit", "begins"), [(0, False), (40_000, False), (300_000, True)])
def test_a_full_disk_is_told_and_nothing_before_it_is_lost(tmp_path: Path, limit: int, begins: bool) -> None:
    path = tmp_path / "answers"
    command = [sys.executable, "-c", FULL, str(path), str(limit)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stderr, ended.returncode) == ("", 0)
    *prepared, line, kept = ended.stdout.splitlines()
    assert prepared == (["prepared"] if begins else [])
    assert line.startswith(f"the file of answers {path} cannot be used (")
    assert line.endswith("): choose another file, or free its disk")
    assert kept == f"True {begins}"
    answers = AnswerStore(path)
    answers.put({"n": -1}, {"n": -1})
    assert said(answers, {"n": -1}) == {"n": -1}


READ_ONLY = """
import os, sys
from pathlib import Path
from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
import fcconan.models.answers.file, fcconan.models.answers.file, encodings.idna
if os.geteuid() == 0:
    os.setuid(65534)
answers = AnswerStore(Path(sys.argv[1]))
print(answers.get({"n": 1}).response)
try:
    answers.prepare()
except InputError as error:
    print(error)
"""


def test_a_store_that_may_only_be_read_answers_and_is_refused_before_anything_is_sent() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        AnswerStore(folder / "answers").put({"n": 1}, {"said": "yes"})
        (folder / "answers").chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, str(folder / "answers")]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        folder.chmod(0o700)
    assert (ended.stderr, ended.returncode) == ("", 0)
    answer, line = ended.stdout.splitlines()
    assert answer == "{'said': 'yes'}"
    assert line.startswith(f"the file of answers {folder / 'answers'} cannot be used (")


LEFT = """
import os, sys
from pathlib import Path
from fcconan.models.answers.store import AnswerStore
answers = AnswerStore(Path(sys.argv[1]))
answers.put({"n": 1}, {"said": "yes"})
os._exit(0)  # as after a kill: the answer is in the write-ahead log
"""


def test_a_log_that_cannot_be_read_is_reported_and_not_passed_over() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", LEFT, str(folder / "answers")], check=True, timeout=60)
        (folder / "answers-shm").unlink()
        for each in folder.iterdir():
            each.chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, str(folder / "answers")]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        folder.chmod(0o700)
    assert "InputError: the file of answers" in ended.stderr
    assert ended.stdout == ""


# Several at once


def _write(path: Path, start: int) -> None:
    answers = AnswerStore(path)
    for number in range(start, start + 40):
        answers.put(request(number), {"filler": "x" * 100_000, "number": number})


def test_two_processes_write_to_one_store(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(path, start)) for start in (0, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    answers = AnswerStore(path)
    assert [said(answers, request(number))["number"] for number in range(80)] == list(range(80))


def test_what_another_one_stores_is_seen(tmp_path: Path) -> None:
    one, two = AnswerStore(tmp_path / "answers"), AnswerStore(tmp_path / "answers")
    one.put(request(1), RESPONSE)
    assert said(two, request(1)) == RESPONSE
    two.put(request(2), RESPONSE)
    assert said(one, request(2)) == RESPONSE


def test_opening_a_store_that_is_open_drops_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    first = AnswerStore(path)
    first.put(request(1), RESPONSE)
    AnswerStore(path).get(request(1))  # looks at the file, and closes it
    code = (
        "import sys, pathlib, fcconan.models\nanswers = fcconan.models.AnswerStore(pathlib.Path(sys.argv[1]))\n"
        "print(len(answers))\nanswers.close()"
    )
    for number in (1, 2):
        told = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
        assert told.stdout == f"{number}\n"
        # Without the locks, the other process would have thought that it is the last one, and removed this.
        assert path.with_name("answers-wal").exists()
        first.put(request(number + 1), RESPONSE)


def _race(path: Path, name: str, found: Any) -> None:
    answers = AnswerStore(path)
    counting = [answers.put_all([answered(request(number), {"by": name})])[0].response["by"] for number in range(150)]
    found.put((name, counting))


def test_of_two_processes_the_first_answer_counts_for_both(tmp_path: Path) -> None:
    path = tmp_path / "answers"
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
    assert [each["response"]["by"] for each in records(path)] == both["one"]


KILLED = """
import sys
from pathlib import Path
from fcconan.models.answers.store import AnswerStore
answers = AnswerStore(Path(sys.argv[1]))
for number in range(10**6):
    answers.put({"n": number}, {"filler": "x" * 200_000})
    print(number, flush=True)
"""


def test_what_was_on_the_disk_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
        seen += [int(line) for line in process.stdout]
    answers = AnswerStore(path)
    assert [said(answers, {"n": number}) == {"filler": "x" * 200_000} for number in seen] == [True] * len(seen)
    assert len(answers) - len(seen) in (0, 1)  # the last may have been written and not printed
    answers.put({"n": -1}, {"filler": "y"})
    assert said(AnswerStore(path), {"n": -1}) == {"filler": "y"}


def test_where_wal_is_refused_there_is_a_rollback_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., sqlite3.Connection] = sqlite3.connect

    def without_shared_memory(address: str, **options: Any) -> sqlite3.Connection:
        return real(f"{address}&vfs=unix-dotfile", **options)  # as on a network file system

    monkeypatch.setattr("fcconan.models.answers.file.sqlite3.connect", without_shared_memory)
    path = tmp_path / "answers"
    one, two = AnswerStore(path), AnswerStore(path)
    one.put(request(1), RESPONSE)
    two.put(request(2), RESPONSE)
    writer = one._connections[True]
    modes = [writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert modes == [b"delete", 2]
    assert [said(one, request(2)), said(two, request(1))] == [RESPONSE, RESPONSE]
    one.close()
    two.close()
    monkeypatch.undo()
    assert len(AnswerStore(path)) == 2


# Epochs


def test_a_fresh_run_asks_again_and_its_answers_are_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put_all([answered(request(number), {"old": number}) for number in (1, 2)])
    run = CommandRun("rate", fresh=True)
    fresh = run.answers(path)
    assert (said(fresh, request(1)), fresh.is_empty()) == (None, True)
    began = time.time() * 1000
    fresh.put(request(1), {"new": 1})
    assert (said(fresh, request(1)), said(fresh, request(2)), len(fresh)) == ({"new": 1}, None, 2)
    assert abs(fresh.epoch - began) < 60_000
    run.finish()
    plain = AnswerStore(path)
    assert [said(plain, request(number)) for number in (1, 2)] == [{"new": 1}, {"old": 2}]
    assert [each["epoch"] for each in records(plain.path)] == [0, 0, fresh.epoch]
    again = CommandRun("rate", fresh=True).answers(path)
    again.put(request(1), {"newer": 1})
    assert again.epoch > fresh.epoch
    assert said(AnswerStore(path), request(1)) == {"newer": 1}


@pytest.mark.parametrize("fresh", [True, None])
def test_an_interrupted_fresh_run_is_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh: bool | None
) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put_all([answered(request(number), {"old": number}) for number in (1, 2)])
    interrupted = CommandRun("rate", fresh=True).answers(path)
    interrupted.put(request(1), {"new": 1})
    interrupted.close()
    other = CommandRun("compare", fresh).answers(path)  # another command has nothing to go on with
    assert said(other, request(1)) == (None if fresh else {"new": 1})
    assert capsys.readouterr().err == ""
    run = CommandRun("rate", fresh)
    going_on = run.answers(path)
    assert [said(going_on, request(number)) for number in (1, 2)] == [{"new": 1}, None]
    going_on.put(request(2), {"new": 2})
    assert going_on.epoch == interrupted.epoch
    date = time.strftime("%Y-%m-%d", time.gmtime(interrupted.epoch / 1000))
    assert capsys.readouterr().err == (
        f"fcconan: continuing the interrupted --fresh run of {date} ({path}); --no-fresh abandons it\n"
    )
    run.finish()
    last = CommandRun("rate", fresh=True).answers(path)
    assert [said(last, request(number)) for number in (1, 2)] == [None, None]
    assert capsys.readouterr().err == ""


def test_an_interrupted_fresh_run_can_be_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put_all([answered(request(number), {"old": number}) for number in (1, 2)])
    CommandRun("rate", fresh=True).answers(path).put(request(1), {"new": 1})
    run = CommandRun("rate", fresh=False)
    given_up = run.answers(path)
    assert [said(given_up, request(number)) for number in (1, 2)] == [{"new": 1}, {"old": 2}]
    run.finish()
    later = CommandRun("rate").answers(path)
    assert [said(later, request(number)) for number in (1, 2)] == [{"new": 1}, {"old": 2}]
    assert capsys.readouterr().err == ""


def test_a_run_that_gives_up_a_fresh_one_has_done_so_before_its_first_request(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    AnswerStore(path).put(request(1), {"old": 1})
    CommandRun("rate", fresh=True).answers(path).put(request(1), {"new": 1})
    CommandRun("rate", fresh=False).answers(path).prepare()  # and is interrupted
    assert said(CommandRun("rate", fresh=True).answers(path), request(1)) is None


def test_the_models_of_a_run_share_its_epoch_also_in_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    run = CommandRun("rate", fresh=True)
    assert run.answers(path) is run.answers(path)
    one, two = AnswerStore(path, run), AnswerStore(path, run)
    one.prepare()
    two.prepare()
    assert one.epoch == two.epoch > 0


def test_a_new_answer_of_a_plain_run_belongs_to_the_newest_epoch(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    run = CommandRun("rate", fresh=True)
    run.answers(path).put(request(1), {"new": 1})
    run.finish()
    plain = AnswerStore(path)
    plain.put(request(2), {"later": 2})
    assert [each["epoch"] for each in records(plain.path)] == [plain.epoch] * 2


# Journals of earlier versions


def old_line(number: int) -> bytes:
    return old.old_line(request(number), {"n": number}, AT, 0.25)


@pytest.mark.parametrize(
    ("write", "answers", "damaged"),
    [
        (lambda lines: b"".join(lines), 3, 0),
        (lambda lines: b"".join(lines).replace(b"\n", b"\r\n"), 3, 0),
        (lambda lines: b"\xef\xbb\xbf" + b"".join(lines).replace(b"\n", b"\r\n"), 3, 0),
        (lambda lines: b"".join(lines).rstrip(b"\n"), 3, 0),
        (lambda lines: b"".join(lines)[:-30], 2, 1),
        (lambda lines: lines[0].replace(b'"n":0}', b'"n":9}') + lines[1] + b"\n" + lines[2], 2, 1),
        (lambda lines: lines[0][:5] + b"\n" + lines[1] + lines[2] + lines[1], 2, 1),
    ],
)
@pytest.mark.parametrize("name", ["journal.jsonl", "journal"])
def test_a_journal_of_an_earlier_version_is_imported_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    write: Callable[[list[bytes]], bytes],
    answers: int,
    damaged: int,
    name: str,
) -> None:
    journal, store = tmp_path / name, tmp_path / "journal.sqlite"
    whole = write([old_line(number) for number in range(3)])
    journal.write_bytes(whole)
    imported = AnswerStore(journal)
    left = f"; damaged lines left out: {damaged}" if damaged else ""
    assert capsys.readouterr().err == f"fcconan: answers imported from {journal} into {store}: {answers}{left}\n"
    assert (imported.path, len(imported), journal.read_bytes()) == (store, answers, whole)
    found = [each for number in range(3) if (each := imported.get(request(number))) is not None]
    assert len(found) == answers
    assert {(each.response["n"] < 3, each.at) for each in found} == {(True, AT)}
    imported.put(request(7), {"n": 7})
    imported.close()
    assert len(AnswerStore(journal)) == answers + 1
    assert capsys.readouterr().err == ""
    journal.unlink()
    assert len(AnswerStore(journal)) == answers + 1  # the store is found without it


@pytest.mark.parametrize(
    "strange",
    [{"at": 5}, {"at": ["x"]}, {"seconds": "x"}, {"sample": "x"}, {"sample": -1.5}, {"sample": 2**70}],
)
def test_lines_with_values_of_other_types_are_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], strange: dict[str, Any]
) -> None:
    times: dict[str, Any] = {"at": AT, "seconds": 0.25} | strange
    odd = old.old_line(request(1, times.get("sample", 0)), {"n": 1}, times["at"], times["seconds"])
    (tmp_path / "journal.jsonl").write_bytes(odd + old_line(2))
    imported = AnswerStore(tmp_path / "journal.jsonl")
    assert ([each["response"] for each in records(imported.path)], said(imported, request(2))) == ([{"n": 2}], {"n": 2})
    assert capsys.readouterr().err.endswith("journal.sqlite: 1; damaged lines left out: 1\n")


def test_lines_that_an_earlier_version_appends_later_are_imported_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(old_line(0))
    first = AnswerStore(journal)
    first.put(request(1), {"mine": 1})
    with journal.open("ab") as file:
        file.write(old_line(1) + old_line(2))
    capsys.readouterr()
    again = AnswerStore(tmp_path / "journal.sqlite")
    assert [said(again, request(number)) for number in range(3)] == [{"n": 0}, {"mine": 1}, {"n": 2}]
    assert capsys.readouterr().err == f"fcconan: answers imported from {journal} into {again.path}: 1\n"


@pytest.mark.parametrize(
    ("name", "content", "store"),
    [
        ("a.jsonl", None, "a.sqlite"),
        ("a.jsonl", old_line(1), "a.sqlite"),
        ("a.db", None, "a.db"),
        ("a", old_line(1), "a.sqlite"),
        ("a.b", b"\xef\xbb\xbf" + old_line(1), "a.b.sqlite"),
        ("a.jsonl", b"SQLite format 3\0", "a.jsonl"),
    ],
)
def test_where_the_store_of_a_given_file_is(tmp_path: Path, name: str, content: bytes | None, store: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert store_path(tmp_path / name) == tmp_path / store


def test_the_note_of_a_file_with_control_characters_in_its_name_is_one_plain_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b[31m\nb"
    AnswerStore(path).put_all([answered(request(1), RESPONSE)])
    rows_of(path, "UPDATE answers SET at = 'x'")
    assert said(AnswerStore(path), request(1)) is None
    err = capsys.readouterr().err
    assert (err.count("\n"), "\x1b" in err) == (1, False)
