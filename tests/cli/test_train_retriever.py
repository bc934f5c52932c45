"""`fcconan train-retriever` as a user runs it."""

import json
from pathlib import Path

import fcconan
from fcconan.retrieve.dense import SentenceEncoder
from tests.conftest import RunCli
from tests.retrieve.tiny import tiny_encoder


def test_a_model_is_trained_on_a_dataset_and_its_folder_loads(run_cli: RunCli, tmp_path: Path) -> None:
    fcconan.build("demo", tmp_path / "demo")
    tiny = tiny_encoder(tmp_path / "tiny")
    arguments = ["train-retriever", tmp_path / "demo", "--out", tmp_path / "model", "--model", tiny]
    done = run_cli(*arguments, "--epochs", 1, "--batch-size", 8, "--json", tmp_path / "what.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"44 pairs, 1 epochs. Written to {tmp_path / 'model'}" in done.stdout
    report = json.loads((tmp_path / "what.json").read_text())
    assert report == json.loads((tmp_path / "model" / "training.json").read_text())
    assert (report["pairs"], report["epochs"], report["settings"]["batch_size"]) == (44, 1, 8)
    before, after = (SentenceEncoder(str(path)).encode(["a"], role="query") for path in (tiny, tmp_path / "model"))
    assert before.shape == after.shape
    assert (before != after).any()

    again = run_cli(*arguments)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        f"fcconan: {tmp_path / 'model'} is there and not empty: choose another --out, or remove it\n"
    )
