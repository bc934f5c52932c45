"""Fine-tuning on a made-up language of answers: every HS about a place is answered by CNs that name its emblem."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieve.dense import SentenceEncoder, load_model
from fcconan.retrieve.folds import groups_of
from fcconan.retrieve.system import TrainingPair
from fcconan.retrieve.train import Training, hard_negatives, train_retriever
from tests.retrieve.tiny import tiny_encoder

PLACES = ["Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun"]
PAIRS = [
    TrainingPair(f"The {place} cheat at {game}.", f"No {place} was ever caught at {game}, the baker says {number}.")
    for place in PLACES
    for game in ("cards", "harvest")
    for number in ("once", "twice")
]
FAST = Training(epochs=12, batch_size=4, learning_rate=3e-3, hard_negatives=1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    train_retriever(PAIRS, out, model=tiny, training=FAST)
    return out


def test_training_brings_pairs_together_and_the_folder_loads(tiny: Path, trained: Path) -> None:
    def closeness(folder: Path) -> float:
        encoder = SentenceEncoder(str(folder))
        hs = encoder.encode([pair.hate_speech for pair in PAIRS], role="query")
        cn = encoder.encode([pair.counter_narrative for pair in PAIRS], role="document")
        products = hs @ cn.T
        same = np.array([[a.hate_speech == b.hate_speech for b in PAIRS] for a in PAIRS])
        return float(products[same].mean() - products[~same].mean())

    assert closeness(trained) > closeness(tiny) + 0.05
    report = json.loads((trained / "training.json").read_text())
    assert report["epochs"] == 12
    assert report["pairs"] == len(PAIRS)
    assert len(report["loss_by_epoch"]) == 12
    assert report["loss_by_epoch"][-1] < report["loss_by_epoch"][0]
    assert not trained.with_name("model.partial").exists()
    for text in (trained / "README.md", trained / "training.json"):
        assert not any(pair.counter_narrative in text.read_text() for pair in PAIRS)


def test_the_same_seed_gives_the_same_weights(tiny: Path, trained: Path, tmp_path: Path) -> None:
    train_retriever(PAIRS, tmp_path / "again", model=tiny, training=FAST)
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_hard_negatives_are_of_other_groups(tiny: Path) -> None:
    found = hard_negatives(load_model(str(tiny), device="cpu"), PAIRS, 2)
    group = groups_of(PAIRS)
    group_of = {pair.counter_narrative: one for pair, one in zip(PAIRS, group, strict=True)}
    assert len(set(group)) == 12  # every HS has two CNs of its own
    for pair, own, negatives in zip(PAIRS, group, found, strict=True):
        assert len(set(negatives)) == 2
        assert pair.counter_narrative not in negatives
        assert all(group_of[text] != own for text in negatives)


def test_cross_validation_chooses_the_epochs_and_resumes(tiny: Path, tmp_path: Path) -> None:
    how = Training(max_epochs=1, folds=2, batch_size=4, learning_rate=1e-3)
    report = train_retriever(PAIRS, tmp_path / "model", model=tiny, training=how)
    figures = report["cross_validation"]
    means = figures["mean_of_hit_rate_mrr_ndcg_map_at_10_by_epochs"]
    assert len(means) == 2
    assert means == pytest.approx(np.mean(figures["by_fold"], axis=0), abs=0)
    assert report["epochs"] == int(means[1] > means[0])
    assert (tmp_path / "model" / "model.safetensors").is_file()


KILLED = """
import sys
from pathlib import Path
from tests.retrieve.test_train import FAST, PAIRS
from fcconan.retrieve.train import Training, train_retriever
how = Training(epochs=8, batch_size=4, learning_rate=1e-3)
train_retriever(PAIRS, Path(sys.argv[2]), model=Path(sys.argv[1]), training=how)
"""


@pytest.mark.slow
def test_a_killed_training_goes_on(tiny: Path, tmp_path: Path) -> None:
    def start(out: Path) -> subprocess.Popen[bytes]:
        root = Path(__file__).parents[2]
        return subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tiny), str(out)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train_retriever(PAIRS, whole, model=tiny, training=Training(epochs=8, batch_size=4, learning_rate=1e-3))
    process = start(cut)
    partial = tmp_path / "cut.partial" / "final"
    for _ in range(2_400):
        if any(partial.glob("checkpoint-*/trainer_state.json")) or process.poll() is not None:
            break
        time.sleep(0.025)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not cut.exists():
        assert any(partial.glob("checkpoint-*"))
        assert start(cut).wait(timeout=120) == 0
    assert (cut / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert not (tmp_path / "cut.partial").exists()


def test_bad_input_is_refused_before_training(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="1 training pairs: contrastive training needs 2 or more"):
        train_retriever(PAIRS[:1], out, model=tiny, training=FAST)
    with pytest.raises(InputError, match=r"fall into 2 groups .* fewer than the 3 folds"):
        train_retriever(PAIRS[:4], out, model=tiny)
    with pytest.raises(InputError, match="epochs is -1: give 0 or more"):
        train_retriever(PAIRS, out, model=tiny, training=Training(epochs=-1))
    with pytest.raises(InputError, match="learning rate and scale are above 0"):
        train_retriever(PAIRS, out, model=tiny, training=Training(learning_rate=0.0))
    with pytest.raises(InputError, match="cannot be loaded"):
        train_retriever(PAIRS, out, model=tiny, training=FAST, device="abacus")
    with pytest.raises(InputError, match="cannot be loaded"):
        train_retriever(PAIRS, out, model=tmp_path / "nothing", training=FAST)
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is there and not empty"):
        train_retriever(PAIRS, out, model=tiny, training=FAST)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine.txt"]


def test_another_unfinished_training_is_not_gone_on_with(tiny: Path, tmp_path: Path) -> None:
    partial = tmp_path / "out.partial"
    partial.mkdir()
    (partial / "what.json").write_text("{}")
    with pytest.raises(InputError, match="unfinished training of other data or settings"):
        train_retriever(PAIRS, tmp_path / "out", model=tiny, training=FAST)
    assert (partial / "what.json").read_text() == "{}"
