import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.parallel import workers
from fcconan.parallel.workers import IN_FLIGHT, MOST_DEATHS, open_workers
from fcconan.services import MetricsOptions, metrics
from tests.parallel.counting import Killed, Unknown, pid_of, pid_then_sleep, squared

SQUARES = {number: number * number for number in range(7)}


@pytest.fixture(scope="module")
def distributed() -> Any:
    """Imported where it is used: other processes that share the tests need not wait for it."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(distributed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=folder
    ) as started:
        yield started


def run_in(jobs: int, function: Callable[[int], int], tasks: list[int]) -> dict[int, int]:
    with open_workers(jobs) as opened:
        return dict(opened.map(function, tasks))


def run_on(scheduler: str, function: Callable[[int], int], tasks: list[int]) -> dict[int, int]:
    with open_workers(scheduler=scheduler) as opened:
        return dict(opened.map(function, tasks))


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_have_the_numbers_of_their_tasks(jobs: int) -> None:
    assert run_in(jobs, squared, list(range(7))) == SQUARES


def test_a_killed_worker_costs_its_task_only_which_is_done_again(tmp_path: Path) -> None:
    assert run_in(2, Killed(tmp_path, at=1), list(range(7))) == SQUARES
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == [0, 1, 1, 2, 3, 4, 5, 6]


def test_a_task_at_which_all_workers_are_killed_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run_in(2, Killed(tmp_path, at=1, always=True), list(range(7)))
    assert (tmp_path / "log").read_text().split().count("1") == MOST_DEATHS
    assert f"part 2: {MOST_DEATHS} workers were killed at it: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_task_complains_of_is_said_here(jobs: int) -> None:
    with pytest.raises(InputError, match=r"^the number 13 is odd: make it even$"):
        run_in(jobs, squared, [1, 13, 2])
    assert not multiprocessing.active_children()


def test_a_fault_in_a_worker_shows_where_it_was() -> None:
    with pytest.raises(ZeroDivisionError, match="a fault") as caught:
        run_in(2, squared, [1, 14, 2])
    assert "tests/parallel/counting.py" in str(caught.value.__cause__)


def test_an_error_of_the_caller_stops_the_workers() -> None:
    with pytest.raises(KeyboardInterrupt), open_workers(2) as opened:
        for _ in opened.map(squared, range(13)):
            raise KeyboardInterrupt
    assert not multiprocessing.active_children()


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


def test_an_executor_that_is_shut_down_is_refused() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(InputError) as caught, open_workers(executor=pool) as workers:
        list(workers.map(squared, range(4)))
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


def test_an_executor_of_the_caller_does_the_same_and_stays_open() -> None:
    with ThreadPoolExecutor(3) as pool:
        with open_workers(executor=pool) as opened:
            assert dict(opened.map(squared, range(7))) == SQUARES
        assert pool.submit(sum, [1, 2]).result() == 3


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


@pytest.mark.slow
def test_a_cluster_of_two_processes_gives_the_same(cluster: Any) -> None:
    assert run_on(cluster.scheduler_address, squared, list(range(7))) == SQUARES
    used = set(run_on(cluster.scheduler_address, pid_of, list(range(8))).values())
    assert used == {worker.pid for worker in cluster.workers.values()}
    assert os.getpid() not in used


@pytest.mark.long
def test_a_worker_of_a_cluster_that_is_killed_costs_nothing_but_time(cluster: Any, tmp_path: Path) -> None:
    before = {worker.pid for worker in cluster.workers.values()}
    assert run_on(cluster.scheduler_address, Killed(tmp_path, at=3), list(range(7))) == SQUARES
    assert (tmp_path / "killed").exists()
    assert {worker.pid for worker in cluster.workers.values()} != before


@pytest.mark.slow
def test_a_client_of_the_caller_does_the_work_and_stays_open(distributed: Any, cluster: Any) -> None:
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        with open_workers(executor=client) as opened:
            assert dict(opened.map(squared, range(7))) == SQUARES
        assert client.submit(sum, [1, 2]).result() == 3
    with pytest.raises(InputError, match=r"^executor is shut down: give a"), open_workers(executor=client):
        pass


@pytest.mark.slow
def test_what_a_worker_of_a_cluster_complains_of_is_said_here(cluster: Any) -> None:
    with pytest.raises(InputError, match=r"^the number 13 is odd: make it even$"):
        run_on(cluster.scheduler_address, squared, [1, 13])


@pytest.mark.slow
def test_other_software_at_the_other_end_is_said_in_one_line(cluster: Any) -> None:
    with pytest.raises(InputError, match=r"lacks a module of this process .* install the same versions") as caught:
        run_on(cluster.scheduler_address, Unknown(), [1, 2])
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_task_at_which_all_workers_of_a_cluster_are_killed_ends_the_run(cluster: Any, tmp_path: Path) -> None:
    cluster.scheduler.allowed_failures, usual = 0, cluster.scheduler.allowed_failures
    try:
        with pytest.raises(InputError, match=r"^part 1: .* workers were killed at it") as caught:
            run_on(cluster.scheduler_address, Killed(tmp_path, at=0, always=True), [0])
    finally:
        cluster.scheduler.allowed_failures = usual
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_metrics_on_a_cluster_are_those_of_this_process(cluster: Any) -> None:
    replies = [
        {
            "system": who,
            "item_id": f"i{at}",
            "hate_speech": f"The Ombrey hide {at} books.",
            "text": f"Count all {at} of them, with {who}.",
            "references": [f"They count {at} books."],
        }
        for who in ("A", "B")
        for at in range(42)
    ]
    options = MetricsOptions(metric=("bleu-2", "rouge-l", "meteor", "distinct-2"))
    here = metrics(replies, options)
    there = metrics(replies, options.model_copy(update={"scheduler": cluster.scheduler_address}))
    assert (there.data, there.ratings) == (here.data, here.ratings)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "no address"])
def test_an_address_without_a_scheduler_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(workers, "_WAIT", 0.2)
    with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}") as caught:
        run_on(address, squared, [1, 2])
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_scheduler_without_workers_is_said_in_one_line(distributed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_WAIT", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(InputError, match=r"has no workers: start some with `dask worker"),
    ):
        run_on(empty.scheduler_address, squared, [1, 2])
