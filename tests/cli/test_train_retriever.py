"""`fcconan train-retriever` as a user runs it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fcconan
from fcconan.building.releases import table_path
from fcconan.retrieval.dense import SentenceEncoder
from tests.conftest import RunCli
from tests.retrieval.tiny import tiny_encoder


def test_a_model_is_trained_on_a_dataset_and_its_folder_loads(run_cli: RunCli, tmp_path: Path) -> None:
    fcconan.build("demo", tmp_path / "demo")
    tiny = tiny_encoder(tmp_path / "tiny")
    arguments = ["train-retriever", tmp_path / "demo", "--out", tmp_path / "model", "--base-model", tiny]
    done = run_cli(*arguments, "--epochs", 1, "--train-batch-size", 8, "--json", tmp_path / "what.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"44 pairs, 1 epochs. Written to {tmp_path / 'model'}" in done.stdout
    report = json.loads((tmp_path / "what.json").read_text())
    assert report == json.loads((tmp_path / "model" / "training.json").read_text())
    assert report["pairs_left_out"] == 0
    assert (report["pairs"], report["epochs"], report["settings"]["batch_size"]) == (44, 1, 8)
    before, after = (SentenceEncoder(str(path)).encode(["a"], role="query") for path in (tiny, tmp_path / "model"))
    assert before.shape == after.shape
    assert (before != after).any()

    again = run_cli(*arguments)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        f"fcconan: {tmp_path / 'model'} exists and is not empty: choose another --out, or remove it\n"
    )


@pytest.fixture
def with_kin(tmp_path: Path) -> Path:
    """The demo dataset with two more training pairs, of an evaluated HS."""
    folder = tmp_path / "demo"
    fcconan.build("demo", folder)
    path = folder / table_path("train", "train")
    query = pq.read_table(folder / table_path("queries", "test"))["text"][0].as_py()
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows += [
        {**rows[0], "hate_speech": query, "counter_narrative": f"The abacus says {said}."} for said in ("no", "so")
    ]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    return folder


def test_pairs_of_evaluated_hs_are_left_out_unless_asked_for(run_cli: RunCli, with_kin: Path, tmp_path: Path) -> None:
    tiny = tiny_encoder(tmp_path / "tiny")
    said = "2 pairs of evaluated HS, in the same or other words, were left out (--keep-leakage keeps them).\n"
    for name, options, pairs, left_out in (("sound", (), 44, 2), ("released", ("--keep-leakage",), 46, None)):
        out = tmp_path / name
        done = run_cli("train-retriever", with_kin, "--out", out, "--base-model", tiny, "--epochs", 0, *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert (said in done.stdout) == (left_out == 2)
        report = json.loads((out / "training.json").read_text())
        assert (report["pairs"], report["pairs_left_out"]) == (pairs, left_out)


def test_the_benchmark_trains_as_its_protocol_says(run_cli: RunCli, with_kin: Path, tmp_path: Path) -> None:
    for protocol, pairs, left_out in (("sound", 44, 2), ("paper", 46, 0)):
        target = tmp_path / f"{protocol}.json"
        arguments = ("--system", "tfidf", "--protocol", protocol, "--resamples", 200, "--no-cache", "--json", target)
        done = run_cli("bench", with_kin, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert ("2 of 46 training pairs were left out" in done.stdout) == (left_out == 2)
        result = json.loads(target.read_text())
        assert (result["dataset"]["training_pairs"], result["dataset"]["training_pairs_left_out"]) == (pairs, left_out)
        assert result["systems"]["tfidf"]["configuration"]["fit_on"] == f"{pairs} training CNs"
