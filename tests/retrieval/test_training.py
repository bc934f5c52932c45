"""Fine-tuning on an invented language: CNs that answer an HS about a place name its emblem."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval import training
from fcconan.retrieval.dense import SentenceEncoder, load_model
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.training import TrainingSettings, find_hard_negatives, train_retriever
from fcconan.retrieval.training_data import group_pairs, make_batches
from tests.retrieval.tiny import tiny_encoder

PLACES = ["Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun"]
PAIRS = [
    TrainingPair(f"The {place} cheat at {game}.", f"No {place} was ever caught at {game}, the baker says {number}.")
    for place in PLACES
    for game in ("cards", "harvest")
    for number in ("once", "twice")
]
FAST = TrainingSettings(epochs=12, batch_size=4, learning_rate=3e-3, hard_negatives=1)


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


def test_hard_negatives_are_of_other_groups(tiny: Path) -> None:
    found = find_hard_negatives(load_model(str(tiny), device="cpu"), PAIRS, 2)
    group = group_pairs(PAIRS)
    group_of = {pair.counter_narrative: one for pair, one in zip(PAIRS, group, strict=True)}
    assert len(set(group)) == 12  # every HS has two CNs of its own
    for pair, own, negatives in zip(PAIRS, group, found, strict=True):
        assert len(set(negatives)) == 2
        assert pair.counter_narrative not in negatives
        assert all(group_of[text] != own for text in negatives)


def test_a_model_that_finds_all_cns_of_each_hs_scores_one() -> None:
    vectors = {"b": [0.0, 1.0], "a": [1.0, 0.0], "y": [0.1, 0.9], "x": [1.0, 0.0], "z": [0.9, 0.1], "w": [0.8, 0.2]}

    class Model:
        def encode(self, texts: list[str], **options: Any) -> Any:
            return np.array([vectors[text] for text in texts])

    pairs = [TrainingPair("b", "y"), *(TrainingPair("a", cn) for cn in "xzw")]
    assert training._score_pairs(Model(), pairs) == 1.0
    vectors["a"], vectors["b"] = vectors["b"], vectors["a"]
    # b finds y at rank 4, and a finds its three CNs at the ranks 2 to 4: hit ratio, MRR, NDCG and MAP of each.
    second, third, fourth = 1 / np.log2(3), 1 / np.log2(4), 1 / np.log2(5)
    of_b = [1, 1 / 4, fourth, 1 / 4]
    of_a = [1, 1 / 2, (second + third + fourth) / (1 + second + third), (1 / 2 + 2 / 3 + 3 / 4) / 3]
    assert training._score_pairs(Model(), pairs) == pytest.approx(np.mean([of_a, of_b]))


@pytest.mark.parametrize("seed", range(6))
def test_no_known_positive_is_a_negative_in_its_batch(seed: int) -> None:
    generator = np.random.default_rng(seed)
    drawn = [TrainingPair(f"HS {generator.integers(40)}", f"CN {generator.integers(50)}") for _ in range(150)]
    pairs = list(dict.fromkeys(drawn))
    known = set(pairs)
    negatives = []
    for pair in pairs:
        others = [f"CN {number}" for number in range(50) if TrainingPair(pair.hate_speech, f"CN {number}") not in known]
        negatives.append([str(text) for text in generator.choice(others, 2, replace=False)])
    batches = make_batches(pairs, negatives, 8, seed=seed)
    assert sorted(index for batch in batches for index in batch) == list(range(len(pairs)))
    assert max(map(len, batches)) <= 8
    for batch in batches:
        brought = [text for index in batch for text in {pairs[index].counter_narrative, *negatives[index]}]
        assert len(set(brought)) == len(brought)
        assert len({pairs[index].hate_speech for index in batch}) == len(batch)
        for index in batch:
            mine = {pairs[index].counter_narrative}
            assert not [text for text in set(brought) - mine if TrainingPair(pairs[index].hate_speech, text) in known]
    assert make_batches(pairs, negatives, 8, seed=seed) == batches
    assert make_batches(pairs, negatives, 8, seed=seed + 1) != batches


def test_batches_are_as_full_as_they_can_be() -> None:
    pairs = [TrainingPair(f"HS {number}", f"CN {number}") for number in range(10)]
    assert sorted(map(len, make_batches(pairs, [[]] * 10, 4, seed=0))) == [3, 3, 4]
    # HS 0 has two CNs; the second pair's CN and the third's hard negative keep all three apart.
    apart = [TrainingPair("HS 0", "CN 0"), TrainingPair("HS 0", "CN 1"), TrainingPair("HS 1", "CN 2")]
    assert sorted(map(len, make_batches(apart, [["CN 3"], ["CN 4"], ["CN 0"]], 3, seed=0))) == [1, 1, 1]


def test_the_same_seed_gives_the_same_weights_and_half_a_checkpoint_is_not_gone_on_with(
    tiny: Path, trained: Path, tmp_path: Path
) -> None:
    half = tmp_path / "model.partial" / "final" / "checkpoint-999"
    half.mkdir(parents=True)
    (half / "config.json").write_text("{")
    train_retriever(PAIRS, tmp_path / "model", model=tiny, training=FAST)
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_training_says_nothing_where_no_one_looks(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train_retriever(PAIRS, tmp_path / "model", model=tiny, training=TrainingSettings(epochs=1, batch_size=4))
    assert capfd.readouterr() == ("", "")


def test_a_training_that_diverges_writes_no_model(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="diverged: give a smaller rate"):
        train_retriever(
            PAIRS, tmp_path / "model", model=tiny, training=TrainingSettings(epochs=2, batch_size=4, learning_rate=1e38)
        )
    assert list(tmp_path.iterdir()) == []


CHOOSING = TrainingSettings(max_epochs=2, folds=2, batch_size=4, learning_rate=1e-3)


@pytest.mark.long
def test_cross_validation_chooses_the_epochs_and_resumes(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = train_retriever(PAIRS, tmp_path / "model", model=tiny, training=CHOOSING)
    figures = report["cross_validation"]
    means = figures["mean_of_hit_rate_mrr_ndcg_map_at_10_by_epochs"]
    assert means == pytest.approx(np.mean(figures["by_fold"], axis=0), abs=0)
    assert report["epochs"] == int(np.argmax(means))
    assert len(means) == 3

    fitted: list[str] = []
    fit = training._train

    def interrupted(*arguments: Any, **named: Any) -> Any:
        fitted.append(Path(arguments[4]).name)
        if len(fitted) == 2:
            raise KeyboardInterrupt
        return fit(*arguments, **named)

    monkeypatch.setattr(training, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_retriever(PAIRS, tmp_path / "cut", model=tiny, training=CHOOSING)
    fold = tmp_path / "cut.partial" / "fold-0.json"
    assert json.loads(fold.read_text())["value"] == figures["by_fold"][0]
    shutil.copytree(tmp_path / "cut.partial", tmp_path / "edited.partial")
    assert train_retriever(PAIRS, tmp_path / "cut", model=tiny, training=CHOOSING) == report
    final = ["final"] if report["epochs"] else []
    assert fitted == ["fold-0", "fold-1", "fold-1", *final]
    edited = tmp_path / "edited.partial" / "fold-0.json"
    edited.write_text(edited.read_text().replace("0.", "1."))
    assert train_retriever(PAIRS, tmp_path / "edited", model=tiny, training=CHOOSING) == report
    assert fitted[3 + len(final) :] == ["fold-0", "fold-1", *final]


def test_the_chosen_number_of_epochs_is_trained_as_it_was_cross_validated(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_choose_epochs", lambda *arguments: (1, {"chosen": 1}))
    train_retriever(PAIRS, tmp_path / "first", model=tiny, training=CHOOSING)
    train_retriever(PAIRS, tmp_path / "one", model=tiny, training=replace(CHOOSING, epochs=1))
    report = json.loads((tmp_path / "first" / "training.json").read_text())
    assert len(report["loss_by_epoch"]) == 1
    # The first of two epochs is trained at a higher rate than a single one, which ends at 0: other weights.
    first, one = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("first", "one"))
    assert first != one


KILLED = """
import sys
from pathlib import Path
from tests.retrieval.test_training import FAST, PAIRS
from fcconan.retrieval.training import train_retriever
train_retriever(PAIRS, Path(sys.argv[2]), model=Path(sys.argv[1]), training=FAST)
"""


@pytest.mark.long
def test_a_killed_training_goes_on(tiny: Path, trained: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tiny), str(cut)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    partial = tmp_path / "cut.partial" / "final"
    for _ in range(9_600):
        if any(partial.glob("checkpoint-*/trainer_state.json")) or process.poll() is not None:
            break
        time.sleep(0.025)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not cut.exists():
        assert any(partial.glob("checkpoint-*"))
        train_retriever(PAIRS, cut, model=tiny, training=FAST)
    assert (cut / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
    assert not (tmp_path / "cut.partial").exists()


def test_bad_input_is_refused_before_training(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="0 training pairs after 4 were left out because of leakage: contrastive"):
        train_retriever([], out, model=tiny, left_out=4)
    with pytest.raises(InputError, match="1 training pairs: contrastive training needs 2 or more"):
        train_retriever(PAIRS[:1], out, model=tiny, training=FAST)
    with pytest.raises(InputError, match=r"form 2 groups .* fewer than the 3 folds"):
        train_retriever(PAIRS[:4], out, model=tiny)
    with pytest.raises(InputError, match="found 22 CNs of other groups; expected at least 23 for"):
        train_retriever(PAIRS, out, model=tiny, training=TrainingSettings(epochs=1, hard_negatives=23))
    with pytest.raises(InputError, match="found 0 CNs of other groups; expected at least 1 for"):
        train_retriever(PAIRS[:2], out, model=tiny, training=FAST)
    with pytest.raises(InputError, match="cannot be loaded"):
        train_retriever(PAIRS, out, model=tiny, training=FAST, device="abacus")
    with pytest.raises(InputError, match="cannot be loaded"):
        train_retriever(PAIRS, out, model=tmp_path / "nothing", training=FAST)
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not empty"):
        train_retriever(PAIRS, out, model=tiny, training=FAST)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine.txt"]


def test_another_unfinished_training_is_not_gone_on_with(tiny: Path, tmp_path: Path) -> None:
    partial = tmp_path / "out.partial"
    partial.mkdir()
    (partial / "what.json").write_text("{}")
    with pytest.raises(InputError, match="unfinished training with another device, model, pairs, settings: finish it"):
        train_retriever(PAIRS, tmp_path / "out", model=tiny, training=FAST)
    assert (partial / "what.json").read_text() == "{}"
