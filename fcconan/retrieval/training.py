"""Contrastive fine-tuning of an encoder on training pairs (sentence-transformers).

The loss is multiple negatives ranking (Henderson et al., 2017): in a batch, the CN of a pair should be nearer to its HS
than the CNs of the other pairs and the hard negatives. Hard negatives are CNs of other groups of training pairs; groups
share no HS and no CN. No batch contains a CN that is a known positive of another HS in it.

The number of epochs is given by the caller, or chosen by cross-validation in folds that share no HS and no CN. The
criterion is the mean of hit ratio, MRR, NDCG and MAP at 10 on held-out pairs. 0 epochs (no training) are a candidate;
ties are resolved in favour of fewer epochs. Labels of an evaluation part are not used.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fcconan
from fcconan.data import Checkpoint, claim_folder, locked, new_folder, write_whole
from fcconan.errors import InputError
from fcconan.models import quiet_training
from fcconan.retrieval.dense import MINILM, load_model, packaged_minilm, weights_hash
from fcconan.retrieval.propagation import mean_metrics
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.training_data import group_pairs, grouped_folds, index_texts, make_batches

REPORT = "training.json"
SKIPPED_NEAREST = 10


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the fine-tuning of an encoder.

    Attributes:
        epochs: Fixed number of epochs; None to choose it by cross-validation.
        max_epochs: Largest number of epochs in the cross-validation.
        batch_size: Maximum number of pairs in a batch.
        learning_rate: Peak of the linear schedule; a tenth of the steps is warm-up.
        hard_negatives: Number of hard negatives for each pair.
        scale: Inverse temperature of the loss.
        folds: Number of folds of the cross-validation.
        seed: Seed of folds, batches and dropout.
    """

    epochs: int | None = None
    max_epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 2e-5
    hard_negatives: int = 1
    scale: float = 20.0
    folds: int = 3
    seed: int = 13


def train_retriever(
    pairs: Sequence[TrainingPair],
    out: Path,
    *,
    model: Path | str,
    training: TrainingSettings | None = None,
    left_out: int | None = None,
    device: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Fine-tunes an encoder and writes it as a sentence-transformers folder.

    Checkpoints of folds and epochs are stored in `<out>.partial`; the same call resumes an interrupted training.

    Args:
        pairs: The training pairs.
        out: Output folder; it must not exist or must be empty.
        model: Initial model: `minilm` (packaged), a folder, or a name on the Hub.
        training: Settings of the training; None for the defaults.
        left_out: Number of pairs that were removed because of leakage; None if leakage was not checked.
        device: Device of the training, such as `cpu` or `cuda`.
        progress: Function that receives a line of text at each stage.

    Returns:
        The content of `training.json` in the folder: settings, epochs, scores and versions.

    Raises:
        InputError: There are too few pairs, `out` is in use, the model cannot be loaded, or training diverged.
    """
    settings = training or TrainingSettings()
    pairs = list(dict.fromkeys(pairs))
    if len(pairs) < 2:
        without = f" after {left_out} were left out because of leakage" if left_out else ""
        raise InputError(f"{len(pairs)} training pairs{without}: contrastive training needs 2 or more")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not empty: choose another --out, or remove it")
    folds = grouped_folds(pairs, settings.folds, seed=settings.seed) if settings.epochs is None else None
    source = str(packaged_minilm() if model == MINILM else model)
    encoder = load_model(source, device=device)
    _check_negatives(pairs, folds, settings)
    partial_folder = out.with_name(f"{out.name}.partial")
    inputs = {
        "model": {
            "name": MINILM if model == MINILM else Path(source).name,
            "weights": weights_hash(Path(source)) if Path(source).is_dir() else source,
        },
        "pairs": hashlib.sha256(json.dumps(pairs).encode()).hexdigest(),
        "settings": asdict(settings),
        "device": encoder.device.type,
    }
    claim_folder(partial_folder, inputs, "training")
    with locked(partial_folder):
        chosen, scores = settings.epochs, None
        if folds is not None:
            load = partial(load_model, source, device=device)
            chosen, scores = _choose_epochs(pairs, folds, settings, load, partial_folder, inputs, progress)
        progress(f"training on {len(pairs)} pairs, {chosen} epochs")
        losses: list[float] = []
        if chosen:
            planned = chosen if folds is None else settings.max_epochs  # the same schedule as in the cross-validation
            losses = _train(encoder, pairs, settings, planned, partial_folder / "final", last=chosen)
        if not all(np.isfinite(losses)) or not _is_finite(encoder):
            shutil.rmtree(partial_folder, ignore_errors=True)
            raise InputError(f"training at a learning rate of {settings.learning_rate} diverged: give a smaller rate")
        report = {
            "fcconan": fcconan.__version__,
            "model": inputs["model"],
            "pairs": len(pairs),
            "pairs_left_out": left_out,
            "pairs_sha256": inputs["pairs"],
            "settings": asdict(settings),
            "epochs": chosen,
            "cross_validation": scores,
            "loss_by_epoch": losses,
            "versions": _versions(),
        }
        with new_folder(out) as stage:
            encoder.save_pretrained(str(stage), create_model_card=False)
            write_whole(stage / REPORT, json.dumps(report, indent=2) + "\n")
            write_whole(stage / "README.md", _model_card(report))
        shutil.rmtree(partial_folder, ignore_errors=True)
    return report


def _check_negatives(
    pairs: Sequence[TrainingPair], folds: npt.NDArray[np.int64] | None, settings: TrainingSettings
) -> None:
    """Raises InputError if a training set has too few CNs of other groups for the hard negatives."""
    group = group_pairs(pairs)
    used = [np.ones(len(pairs), dtype=np.bool_)]
    if folds is not None:
        used += [folds != fold for fold in range(settings.folds)]
    for rows in used:
        group_by_cn = {
            pair.counter_narrative: int(one) for pair, one, row in zip(pairs, group, rows, strict=True) if row
        }
        fewest = len(group_by_cn) - max(Counter(group_by_cn.values()).values())
        if fewest < settings.hard_negatives:
            raise InputError(
                f"found {fewest} CNs of other groups; expected at least {settings.hard_negatives} for hard negatives: "
                "give more pairs, or fewer hard negatives"
            )


def _is_finite(model: Any) -> bool:
    return all(bool(values.isfinite().all()) for values in model.state_dict().values())


def _choose_epochs(
    pairs: list[TrainingPair],
    folds: npt.NDArray[np.int64],
    settings: TrainingSettings,
    load: Callable[[], Any],
    partial_folder: Path,
    inputs: Mapping[str, Any],
    progress: Callable[[str], None],
) -> tuple[int, dict[str, Any]]:
    by_fold = []
    for fold in range(settings.folds):
        checkpoint = _checkpoint(partial_folder, inputs, fold)
        scores = checkpoint.load()
        if scores is None:
            progress(f"cross-validation: fold {fold + 1} of {settings.folds}")
            held_out = [pair for pair, number in zip(pairs, folds, strict=True) if number == fold]
            others = [pair for pair, number in zip(pairs, folds, strict=True) if number != fold]
            scores = _score_fold(load(), others, held_out, settings, partial_folder / f"fold-{fold}")
            checkpoint.save(scores)
        by_fold.append(scores)
    means = [float(value) for value in np.mean(by_fold, axis=0)]
    chosen = int(np.argmax(means))  # argmax returns the smallest of tied numbers
    return chosen, {"mean_of_hit_rate_mrr_ndcg_map_at_10_by_epochs": means, "by_fold": by_fold}


def _checkpoint(partial_folder: Path, inputs: Mapping[str, Any], fold: int) -> Checkpoint:
    return Checkpoint(partial_folder / f"fold-{fold}.json", {"training": inputs, "fold": fold})


def _score_fold(
    model: Any, others: list[TrainingPair], held_out: list[TrainingPair], settings: TrainingSettings, folder: Path
) -> list[float]:
    """Trains on the other folds and returns the held-out score after 0, 1, ... epochs."""
    scores = [_score_pairs(model, held_out)]
    _train(
        model,
        others,
        settings,
        settings.max_epochs,
        folder,
        after_epoch=lambda: scores.append(_score_pairs(model, held_out)),
    )
    shutil.rmtree(folder, ignore_errors=True)
    return scores


def _score_pairs(model: Any, pairs: Sequence[TrainingPair]) -> float:
    """Returns the mean of hit ratio, MRR, NDCG and MAP at 10, with the HS as queries and the CNs as the catalogue."""
    queries, hs = index_texts(pair.hate_speech for pair in pairs)
    catalogue, cn = index_texts(pair.counter_narrative for pair in pairs)
    relevance = np.zeros((len(queries), len(catalogue)))
    relevance[hs, cn] = 1
    return float(np.mean(mean_metrics(_similarities(model, queries, catalogue), relevance)))


def _similarities(model: Any, queries: list[str], catalogue: list[str]) -> npt.NDArray[np.float64]:
    """Returns the cosines of HS and CNs; shape (HS, CNs)."""
    query_vectors, cn_vectors = (
        np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False), dtype=np.float64)
        for texts in (queries, catalogue)
    )
    return query_vectors @ cn_vectors.T


def find_hard_negatives(model: Any, pairs: Sequence[TrainingPair], number: int) -> list[list[str]]:
    """Finds CNs that are similar to an HS but were written for HS of other groups.

    The `SKIPPED_NEAREST` most similar CNs are skipped: labels are sparse, and these CNs are often appropriate although
    they have no label. If too few CNs remain, fewer are skipped.

    Args:
        model: The encoder.
        pairs: The training pairs.
        number: Number of hard negatives for each pair; `_check_negatives` ensures that there are enough CNs.

    Returns:
        For each pair, `number` different CNs.
    """
    if number == 0:
        return [[] for _ in pairs]
    group = group_pairs(pairs)
    queries, hs = index_texts(pair.hate_speech for pair in pairs)
    catalogue, cn = index_texts(pair.counter_narrative for pair in pairs)
    cn_groups = np.zeros(len(catalogue), dtype=np.int64)
    cn_groups[cn] = group
    order = np.argsort(-_similarities(model, queries, catalogue), axis=1, kind="stable")
    found = []
    for row, own in zip(hs, group, strict=True):
        others = [index for index in order[row] if cn_groups[index] != own]
        skipped = min(SKIPPED_NEAREST, len(others) - number)
        found.append([catalogue[index] for index in others[skipped : skipped + number]])
    return found


def _train(
    model: Any,
    pairs: Sequence[TrainingPair],
    settings: TrainingSettings,
    epochs: int,
    folder: Path,
    *,
    last: int | None = None,
    after_epoch: Callable[[], None] | None = None,
) -> list[float]:
    """Trains a model in place, and resumes from the last checkpoint in the folder.

    Args:
        model: The model.
        pairs: The training pairs.
        settings: Settings of the training.
        epochs: Number of epochs over which the learning rate decreases to 0.
        folder: Folder of the checkpoints.
        last: Last epoch; None for `epochs`.
        after_epoch: Function that is called after each epoch; then no checkpoints are written.

    Returns:
        Mean loss of each epoch.
    """
    try:
        import datasets
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from sentence_transformers.base.sampler import DefaultBatchSampler
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
        from transformers import PrinterCallback, TrainerCallback
    except ImportError as error:
        raise InputError("training needs the extra: `pip install 'fcconan[neural]'`") from error

    class AfterEpoch(TrainerCallback):
        def on_epoch_end(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
            if after_epoch:
                after_epoch()
            if last is not None and round(state.epoch) >= last:
                control.should_training_stop = True

    negatives = find_hard_negatives(model, pairs, settings.hard_negatives)

    # Epochs differ only in the order of batches: a resumed Trainer derives the epoch from the number of batches.
    batches = make_batches(pairs, negatives, settings.batch_size, seed=settings.seed)

    class CleanBatches(DefaultBatchSampler):
        def __iter__(self) -> Iterator[list[int]]:
            order = np.random.default_rng([settings.seed, self.epoch]).permutation(len(batches))
            return iter([batches[place] for place in order])

        def __len__(self) -> int:
            return len(batches)

    class Trainer(SentenceTransformerTrainer):  # an argument `batch_sampler` would be pickled with each checkpoint
        def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **named: Any) -> CleanBatches:
            return CleanBatches(dataset, batch_size, drop_last)

    columns: dict[str, list[str]] = {
        "anchor": [pair.hate_speech for pair in pairs],
        "positive": [pair.counter_narrative for pair in pairs],
    }
    for index, texts in enumerate(zip(*negatives, strict=True)):
        columns[f"negative_{index}"] = list(texts)
    model.model_card_data.generate_widget_examples = False
    model.model_card_data.widget = [{"text": ""}]  # an empty list would be filled with training texts
    with quiet_training(), _without_card(model):
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(folder),
            num_train_epochs=epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            warmup_steps=max(1, len(batches) * epochs // 10),
            seed=settings.seed,
            data_seed=settings.seed,
            save_strategy="no" if after_epoch else "epoch",
            save_total_limit=2,
            logging_strategy="epoch",
            report_to=[],
            disable_tqdm=not os.isatty(2),
            use_cpu=model.device.type == "cpu",
            dataloader_pin_memory=False,
        )
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict(columns),
            loss=MultipleNegativesRankingLoss(model, scale=settings.scale),
            callbacks=[AfterEpoch()],
        )
        trainer.remove_callback(PrinterCallback)
        checkpoint = None if after_epoch else last_whole_checkpoint(folder)
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    model.eval()
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


@contextmanager
def _without_card(model: Any) -> Iterator[None]:
    """Disables model cards of checkpoints, which take a third of the time of a short training."""
    model.save_pretrained = partial(type(model).save_pretrained, model, create_model_card=False)
    try:
        yield
    finally:
        del model.save_pretrained


def last_whole_checkpoint(folder: Path) -> Path | None:
    """Returns the newest complete checkpoint of a Trainer, and removes incomplete ones.

    A checkpoint is complete if it has the state of the Trainer, which is written last.

    Args:
        folder: Folder of the checkpoints.

    Returns:
        Path of the checkpoint; None if there is none.
    """
    complete = []
    for path in folder.glob("checkpoint-*"):
        try:
            json.loads((path / "trainer_state.json").read_text("utf-8"))
            complete.append(path)
        except (OSError, ValueError):
            shutil.rmtree(path)
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("sentence-transformers", "transformers", "torch")}


def _model_card(report: dict[str, Any]) -> str:
    chosen = "fixed in advance" if report["settings"]["epochs"] is not None else "chosen by cross-validation"
    return (
        "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\n---\n\n"
        "# Counter-narrative retriever\n\n"
        f"`{report['model']['name']}`, fine-tuned by fcconan {report['fcconan']} on {report['pairs']} pairs of "
        "hate speech "
        f"and counter-narrative for {report['epochs']} epochs ({chosen}). `{REPORT}` has all settings and "
        "scores.\n\n"
        "The training texts may not be redistributable; check their terms before you publish these weights.\n"
    )
