import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcconan.annotation.pair_scoring.scorers import TfIdfScorer
from fcconan.annotation.pair_scoring.scores import ScoringJob, plan_scoring
from fcconan.errors import InputError
from fcconan.parallel import workers
from fcconan.parallel.shards import Progress, Shard, ShardWriter, make_shards, run_shards
from fcconan.parallel.workers import open_workers
from fcconan.services import MetricsOptions, metrics
from tests.conftest import RunCli
from tests.parallel.counting import Counting, Killed, Unknown

pytestmark = pytest.mark.slow

PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
THINGS = ("books", "bread", "cards", "lamps", "roofs", "salt", "songs")
HS = {f"{who}-{what}": f"The {who} hide {what}." for who in PEOPLES for what in THINGS}
CN = {f"c{at}": f"Ask number {at}: the {PEOPLES[at % 6]} share {THINGS[at % 7]}." for at in range(84)}
PAIRS = 42 * 84


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


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The shards as this process writes them."""
    work, shards = product(tmp_path_factory.mktemp("here") / "scores")
    run_shards(work, shards)
    return shard_bytes(work.folder)


def product(folder: Path) -> tuple[ScoringJob, list[Shard]]:
    return plan_scoring(HS, CN, TfIdfScorer(), folder, rows_per_shard=500)


def run_on_cluster(work: ShardWriter, shards: list[Shard], scheduler: str, progress: Progress | None = None) -> None:
    with open_workers(scheduler=scheduler) as workers:
        run_shards(work, shards, workers, progress=progress)


def shard_bytes(folder: Path) -> dict[str, bytes]:
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def test_a_cluster_of_two_processes_writes_the_bytes_that_this_one_writes(
    cluster: Any, expected: dict[str, bytes], tmp_path: Path
) -> None:
    work, shards = product(tmp_path / "scores")
    told: list[tuple[int, int]] = []
    run_on_cluster(work, shards, cluster.scheduler_address, progress=lambda *counts: told.append(counts))
    assert len(expected) == 9
    assert shard_bytes(work.folder) == expected
    assert (len(told), told[-1]) == (9, (42, 42))
    workers = {worker.pid for worker in cluster.workers.values()}
    assert len(workers) == 2
    assert os.getpid() not in workers


@pytest.mark.long
def test_a_worker_that_is_killed_costs_nothing_but_time(
    cluster: Any, expected: dict[str, bytes], tmp_path: Path
) -> None:
    before = {worker.pid for worker in cluster.workers.values()}
    work, shards = product(tmp_path / "scores")
    run_on_cluster(Killed(work, at=3), shards, cluster.scheduler_address)
    assert (tmp_path / "killed").exists()
    assert shard_bytes(work.folder) == expected
    assert {worker.pid for worker in cluster.workers.values()} != before


def test_a_cluster_goes_on_where_another_process_stopped(
    cluster: Any, expected: dict[str, bytes], tmp_path: Path
) -> None:
    work, shards = product(tmp_path / "scores")
    run_shards(work, shards[:4])
    times = {path: path.stat().st_mtime_ns for path in work.folder.glob("part-*")}
    told: list[tuple[int, int]] = []
    run_on_cluster(work, shards, cluster.scheduler_address, progress=lambda *counts: told.append(counts))
    assert told[0] == (20, 42)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert shard_bytes(work.folder) == expected


def test_a_client_of_the_caller_does_the_work_and_stays_open(
    distributed: Any, cluster: Any, expected: dict[str, bytes], tmp_path: Path
) -> None:
    work, shards = product(tmp_path / "scores")
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        with open_workers(executor=client) as workers:
            run_shards(work, shards, workers)
        assert client.submit(sum, [1, 2]).result() == 3
    assert shard_bytes(work.folder) == expected
    with pytest.raises(InputError, match=r"^executor is shut down: give a"), open_workers(executor=client):
        pass


def test_what_a_worker_complains_of_is_said_here(cluster: Any, tmp_path: Path) -> None:
    work, shards = product(tmp_path / "scores")
    with pytest.raises(InputError, match=r"^a worker finds no _scoring\.json of this job"):
        run_on_cluster(replace(work, plan_digest="0" * 64), shards, cluster.scheduler_address)
    assert shard_bytes(work.folder) == {}


def test_other_software_at_the_other_end_is_said_in_one_line(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lacks a module of this process .* install the same versions") as caught:
        run_on_cluster(Unknown(tmp_path), make_shards(2, 2), cluster.scheduler_address)
    assert "\n" not in str(caught.value)


def test_a_shard_at_which_all_workers_are_killed_ends_the_run(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    cluster.scheduler.allowed_failures, usual = 0, cluster.scheduler.allowed_failures
    try:
        with pytest.raises(InputError, match=r"^part-00000-of-00001\.parquet: .* workers were killed at it") as caught:
            run_on_cluster(Killed(Counting(folder), at=0, always=True), make_shards(2, 2), cluster.scheduler_address)
    finally:
        cluster.scheduler.allowed_failures = usual
    assert "\n" not in str(caught.value)


def test_the_verb_sends_the_work_to_a_scheduler(
    cluster: Any, expected: dict[str, bytes], tmp_path: Path, run_cli: RunCli
) -> None:
    for name, side in (("hs", HS), ("cn", CN)):
        rows = "".join(f'{key},"{text}"\n' for key, text in side.items())
        (tmp_path / f"{name}.csv").write_text(f"{name}_id,text\n{rows}")
    command = ["annotate", "score", tmp_path / "hs.csv", tmp_path / "cn.csv", "--scorer", "tfidf"]
    done = run_cli(
        *command, "--out", tmp_path / "scores", "--rows-per-shard", 500, "--scheduler", cluster.scheduler_address
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert str(PAIRS) in done.stdout
    assert shard_bytes(tmp_path / "scores") == expected


def test_metrics_on_a_cluster_are_those_of_this_process(cluster: Any) -> None:
    replies = [
        {"system": who, "item_id": key, "hate_speech": text, "text": CN[f"c{at}"], "references": [text]}
        for who in ("A", "B")
        for at, (key, text) in enumerate(HS.items())
    ]
    options = MetricsOptions(metric=("bleu-2", "rouge-l", "meteor", "distinct-2"))
    here = metrics(replies, options)
    there = metrics(replies, options.model_copy(update={"scheduler": cluster.scheduler_address}))
    assert (there.data, there.ratings) == (here.data, here.ratings)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "no address"])
def test_an_address_without_a_scheduler_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(workers, "_WAIT", 0.2)
    with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}") as caught:
        run_on_cluster(Counting(tmp_path), make_shards(2, 2), address)
    assert "\n" not in str(caught.value)


def test_a_scheduler_without_workers_is_said_in_one_line(
    distributed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_WAIT", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(InputError, match=r"has no workers: start some with `dask worker"),
    ):
        run_on_cluster(Counting(tmp_path), make_shards(2, 2), empty.scheduler_address)
