import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.parallel.shards import Portion, Progress, Shard, ShardWriter, claim_shards, make_shards, run_shards
from fcconan.parallel.workers import IN_FLIGHT, MOST_DEATHS, open_workers
from tests.parallel.counting import Counting, Killed, Logged, pid_then_sleep

PLAN = {"lists": 2, "scorer": {"kind": "tfidf"}}


def run_in(jobs: int, work: ShardWriter, shards: list[Shard], progress: Progress | None = None) -> None:
    with open_workers(jobs) as workers:
        run_shards(work, shards, workers, progress=progress)


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def whole(folder: Path, *, size: int = 7, per_shard: int = 2) -> dict[str, str]:
    folder.mkdir()
    run_shards(Counting(folder), make_shards(size, per_shard))
    return content(folder)


def test_shards_are_cut_evenly_and_named_by_their_place() -> None:
    assert make_shards(7, 3) == [Shard(0, 3, 0, 3), Shard(1, 3, 3, 6), Shard(2, 3, 6, 7)]
    assert [(shard.name, shard.size) for shard in make_shards(7, 3)] == [
        ("part-00000-of-00003.parquet", 3),
        ("part-00001-of-00003.parquet", 3),
        ("part-00002-of-00003.parquet", 1),
    ]
    assert make_shards(6, 3)[-1] == Shard(1, 2, 3, 6)
    assert make_shards(0, 3) == []


def test_portions_share_the_shards_and_the_keys_without_rest() -> None:
    shards = make_shards(7, 1)
    portions = [Portion(number, 3) for number in (1, 2, 3)]
    assert [[shard.number for shard in portion.select(shards)] for portion in portions] == [[0, 3, 6], [1, 4], [2, 5]]
    assert Portion(3, 3).select(shards[:2]) == []
    keys = [f"item-{number}" for number in range(300)]
    held = [[key for key in keys if portion.holds(key)] for portion in portions]
    assert sorted(key for own in held for key in own) == sorted(keys)
    assert all(70 < len(own) < 130 for own in held)
    # By hand: sha256 of "i1" begins with the digits below.
    first = int(hashlib.sha256(b"i1").hexdigest()[:12], 16)
    assert [portion.holds("i1") for portion in portions] == [first % 3 == place for place in range(3)]
    assert all(Portion(1, 1).holds(key) for key in keys)
    for number, count in ((4, 3), (0, 3), (1, 0)):
        with pytest.raises(InputError, match=f"shard {number}/{count} does not exist"):
            Portion(number, count)


@pytest.mark.parametrize("jobs", [1, 2])
def test_shards_hold_the_same_whoever_writes_them(tmp_path: Path, jobs: int) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    told: list[tuple[int, int]] = []
    run_in(jobs, Counting(folder), make_shards(7, 2), lambda *counts: told.append(counts))
    assert content(folder) == {
        "part-00000-of-00004.parquet": "0 1",
        "part-00001-of-00004.parquet": "2 3",
        "part-00002-of-00004.parquet": "4 5",
        "part-00003-of-00004.parquet": "6",
    }
    assert len(told) == 4
    assert (told[-1], {total for _, total in told}) == ((7, 7), {7})


@pytest.mark.parametrize("damage", ["deleted", "cut short"])
def test_only_what_is_missing_is_done_again(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "shards"
    before = whole(folder)
    torn = folder / "part-00001-of-00004.parquet"
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file() and path != torn}
    if damage == "deleted":
        torn.unlink()
    else:
        torn.write_text("2")
    told: list[tuple[int, int]] = []
    run_shards(Counting(folder), make_shards(7, 2), progress=lambda *counts: told.append(counts))
    assert content(folder) == before
    assert {name: (folder / name).stat().st_mtime_ns for name in times} == times
    assert told == [(5, 7), (7, 7)]


def test_a_killed_worker_costs_its_shard_only_which_is_done_again(tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole")
    folder = tmp_path / "shards"
    folder.mkdir()
    work = Logged(Counting(folder), tmp_path / "log")
    run_in(2, Killed(work, at=1), make_shards(7, 2))
    assert (tmp_path / "killed").exists()
    assert content(folder) == expected  # and nothing of the torn file is left
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == [0, 1, 1, 2, 3]


def test_a_shard_at_which_all_workers_are_killed_ends_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    with pytest.raises(InputError) as caught:
        run_in(2, Killed(Logged(Counting(folder), tmp_path / "log"), at=1, always=True), make_shards(7, 2))
    assert (tmp_path / "log").read_text().split().count("1") == MOST_DEATHS
    assert f"part-00001-of-00004.parquet: {MOST_DEATHS} workers were killed at it: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "part-00001-of-00004.parquet" not in content(folder)
    assert all(name.startswith("part-") for name in content(folder))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_shard_complains_of_is_said_here_and_leaves_no_file(tmp_path: Path, jobs: int) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    with pytest.raises(InputError, match=r"^the unit 3 is odd: make it even$"):
        run_in(jobs, Counting(folder, fails_at=1), make_shards(7, 2))
    assert "part-00001-of-00004.parquet" not in content(folder)
    assert all(name.startswith("part-") for name in content(folder))
    assert not multiprocessing.active_children()


def test_a_fault_in_a_worker_shows_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    with pytest.raises(ZeroDivisionError, match="a fault") as caught:
        run_in(2, Counting(folder, breaks_at=1), make_shards(7, 2))
    assert "tests/parallel/counting.py" in str(caught.value.__cause__)


def test_progress_that_raises_stops_the_workers(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(2, Counting(folder), make_shards(40, 1), stop)
    assert not multiprocessing.active_children()
    assert 0 < len(content(folder)) < 40
    run_shards(Counting(folder), make_shards(40, 1))
    assert len(content(folder)) == 40


def test_what_another_run_left_when_it_was_killed_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    program = (
        "import sys, pathlib\nfrom fcconan.parallel.shards import make_shards, run_shards\n"
        "from tests.parallel.counting import Counting, Killed\n"
        "run_shards(Killed(Counting(pathlib.Path(sys.argv[1])), at=1), make_shards(7, 2))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", program, str(folder)], check=False, env=environment, timeout=60)
    assert ended.returncode == -9
    assert [name.startswith(".part-") for name in sorted(content(folder))] == [True, False]
    run_shards(Counting(folder), make_shards(7, 2))
    assert content(folder) == whole(tmp_path / "whole")


def test_a_disk_that_is_full_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"part-00000-of-00001\.parquet cannot be written \(No such file"):
        run_shards(Counting(tmp_path / "not there"), make_shards(2, 2))


def test_two_kinds_of_workers_are_refused() -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InputError) as caught,
        open_workers(2, executor=pool),
    ):
        pass
    assert str(caught.value) == "--jobs and executor exclude each other: give one of them"


EXECUTOR = "give a concurrent.futures.Executor, such as ProcessPoolExecutor(2), or a Dask client"


@pytest.mark.parametrize(
    ("executor", "found"),
    [("threads", "str"), (4, "int"), (ThreadPoolExecutor, "type")],
)
def test_anything_but_an_executor_is_refused(executor: object, found: str) -> None:
    with pytest.raises(InputError) as caught, open_workers(executor=executor):
        pass
    assert str(caught.value) == f"executor is of the type {found}: {EXECUTOR}"


def test_an_executor_that_is_shut_down_is_refused(tmp_path: Path) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(InputError) as caught, open_workers(executor=pool) as workers:
        run_shards(Counting(tmp_path), make_shards(7, 2), workers)
    assert str(caught.value) == f"executor is shut down: {EXECUTOR}"


def test_a_script_without_a_guard_learns_why_its_workers_ended(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "from fcconan.parallel.workers import open_workers\nfrom tests.parallel.counting import pid_then_sleep\n"
        "with open_workers(2) as workers:\n    list(workers.map(pid_then_sleep, ['']))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, str(script)], check=False, env=environment, timeout=60, capture_output=True, text=True
    )
    assert ended.stderr.splitlines()[-1] == (
        f"fcconan.errors.InputError: {MOST_DEATHS} worker processes ended before their first task: put the calls of a "
        'script under `if __name__ == "__main__":`, as each worker imports the script; otherwise check the free memory'
    )


def test_an_executor_of_the_caller_writes_the_same_and_stays_open(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    with ThreadPoolExecutor(3) as pool:
        with open_workers(executor=pool) as workers:
            run_shards(Counting(folder), make_shards(7, 2), workers)
        assert pool.submit(sum, [1, 2]).result() == 3
    assert content(folder) == whole(tmp_path / "whole")


def test_a_bounded_number_of_tasks_is_read_ahead() -> None:
    read: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(200):
            read.append(number)
            yield number

    ahead = []
    with ThreadPoolExecutor(2) as pool, open_workers(executor=pool) as workers:
        for done, (number, outcome) in enumerate(workers.map(str, tasks()), 1):
            ahead.append(len(read) - done)
            assert outcome == str(number)
    assert len(ahead) == 200
    assert max(ahead) <= IN_FLIGHT


def test_processes_end_in_the_middle_of_a_task_when_workers_are_closed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with open_workers(2) as workers:
        outcomes = workers.map(pid_then_sleep, [str(note), ""])
        assert next(outcomes) == (1, None)
        wait_until(lambda: note.exists() and bool(note.read_text()))
    wait_until(lambda: not Path(f"/proc/{note.read_text()}").exists())


def test_worker_processes_end_with_the_first_process(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\nfrom fcconan.parallel.workers import open_workers\n"
        "from tests.parallel.counting import pid_then_sleep\n"
        "if __name__ == '__main__':\n"
        "    with open_workers(2) as workers:\n"
        "        list(workers.map(pid_then_sleep, sys.argv[1:]))"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    notes = [tmp_path / "one", tmp_path / "two"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.Popen([sys.executable, str(script), *map(str, notes)], env=environment)
    try:
        wait_until(lambda: all(note.exists() and note.read_text() for note in notes))
    finally:
        first.kill()
        first.wait()
    wait_until(lambda: not any(Path(f"/proc/{note.read_text()}").exists() for note in notes))


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_folder_is_claimed_once_and_for_one_plan(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    claim_shards(folder, "plan.json", PLAN, kind="scoring")
    written = (folder / "plan.json").stat().st_mtime_ns
    assert json.loads((folder / "plan.json").read_text()) == PLAN
    time.sleep(0.01)
    claim_shards(folder, "plan.json", PLAN, kind="scoring")
    assert (folder / "plan.json").stat().st_mtime_ns == written
    with pytest.raises(InputError) as caught:
        claim_shards(folder, "plan.json", {"lists": 3, "scorer": {"kind": "dense"}}, kind="scoring")
    assert str(caught.value) == (
        f"{folder / 'plan.json'}: found the plan of another scoring, expected the plan of this one "
        "(lists 2 instead of 3, another scorer): give an empty folder or delete this one"
    )
    (folder / "part-00000-of-00001.parquet").touch()
    (folder / "plan.json").unlink()
    with pytest.raises(InputError, match=r"found shards without plan\.json"):
        claim_shards(folder, "plan.json", PLAN, kind="scoring")
