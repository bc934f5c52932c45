"""Training at one learning rate with transformers' Trainer: early stopping, best epoch, and resuming.

A checkpoint is written after every epoch; the last one and the best one are retained. An interrupted training continues
from the last one, with weights, optimizer, schedule and random state. Trainer derives the order of pairs from seed and
epoch, so the final weights equal those of an uninterrupted training.
"""

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from fcconan.data import Checkpoint, one_line
from fcconan.errors import InputError
from fcconan.generation.finetuning.model import (
    EncodedPair,
    PretrainedModel,
    compute_dtype,
    mean_loss,
    pad_batch,
    quiet_training,
    reply_loss,
)
from fcconan.generation.finetuning.settings import FinetuningSettings

RESULT = "result.json"
DIVERGED = "diverged"
_RESUME_FILES = ("optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth")  # much larger than adapters
_MAX_LOSS = 700.0  # the exponential of larger values overflows
Entry = dict[str, Any]
Notify = Callable[[str], None]
Made = TypeVar("Made")


@dataclass(frozen=True)
class TrainingInputs:
    """Model, data and device of a training.

    Attributes:
        base: Base model.
        train: Training pairs.
        validation: Validation pairs, for early stopping.
        padding: Padding token.
        device: `cpu` or `cuda`.
        training: Fingerprint of model, pairs, settings and device, stored in checkpoints.
    """

    base: PretrainedModel
    train: Sequence[EncodedPair]
    validation: Sequence[EncodedPair]
    padding: int
    device: str
    training: str


def baseline_loss(inputs: TrainingInputs, settings: FinetuningSettings, folder: Path, notify: Notify) -> float:
    """Returns the validation loss before training, and stores it in the folder.

    New adapters do not change the output of a model, so this is the loss of the base model.

    Args:
        inputs: Model, data and device.
        settings: Settings of the fine-tuning.
        folder: Folder of the stored loss.
        notify: Callback for messages, such as a batch that does not fit into memory.

    Raises:
        InputError: The model cannot be loaded, or does not fit the memory.
    """
    checkpoint = Checkpoint(folder / "untuned.json", {"training": inputs.training})
    loss: float | None = checkpoint.load()
    if loss is None:

        def measured(parts: int) -> float:
            return _validation_loss(inputs.base.load(settings, inputs.device), inputs, settings, parts)

        with quiet_training():
            loss = retry_out_of_memory(measured, settings, folder, notify)
        if not math.isfinite(loss):
            raise InputError(f"the loss of {inputs.base.name} is not finite before it is tuned: check its weights")
        checkpoint.save(loss)
    return loss


def train_with_rate(
    rate: float, inputs: TrainingInputs, settings: FinetuningSettings, folder: Path, notify: Notify
) -> Entry:
    """Trains at one learning rate, continues an interrupted training, or returns the result of a finished one.

    Args:
        rate: Learning rate.
        inputs: Model, data and device.
        settings: Settings of the fine-tuning.
        folder: Folder of the checkpoints; its parent stores the number of parts of a batch.
        notify: Callback for messages, such as a batch that does not fit into memory.

    Returns:
        `learning_rate`, `best_epoch` (from 1), `validation_loss` (nats a reply token) and `perplexity` of it, `curve`
        (one entry for every epoch), `checkpoint` (the folder of the best epoch) and `accumulation` (the parts of a
        batch). If no epoch has a finite loss, `reason` is `diverged`, and the values of the best epoch are None.

    Raises:
        InputError: The model cannot be loaded, or one pair does not fit the memory.
    """
    finished = Checkpoint(folder / RESULT, {"training": inputs.training, "learning_rate": rate})
    result: Entry | None = finished.load()
    if result is not None:
        return result
    if finished.path.exists():  # the result is damaged, and a finished training has no files to continue from
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def trained(parts: int) -> tuple[list[Entry], int]:
        last = last_whole_checkpoint(folder)
        curve = _curve(json.loads((last / "trainer_state.json").read_text("utf-8"))["log_history"]) if last else []
        return curve if _is_finished(curve, settings) else _train(rate, inputs, settings, folder, last, parts), parts

    with quiet_training():
        curve, parts = retry_out_of_memory(trained, settings, folder.parent, notify)
    best = _best(curve)
    result = {
        "learning_rate": rate,
        "best_epoch": None if best is None else best["epoch"],
        "validation_loss": None if best is None else best["validation_loss"],
        "perplexity": None if best is None else perplexity(best["validation_loss"]),
        "reason": DIVERGED if best is None else None,
        "curve": curve,
        "checkpoint": None if best is None else f"checkpoint-{best['step']}",
        "accumulation": parts,
    }
    finished.save(result)
    for path in folder.glob("checkpoint-*"):
        if path.name != result["checkpoint"]:
            shutil.rmtree(path)
        else:
            for name in _RESUME_FILES:
                (path / name).unlink(missing_ok=True)
    return result


def perplexity(loss: float) -> float | None:
    """Returns the exponential of a mean loss in nats; None if it overflows."""
    return math.exp(loss) if loss < _MAX_LOSS else None


def retry_out_of_memory(
    work: Callable[[int], Made], settings: FinetuningSettings, folder: Path, notify: Notify
) -> Made:
    """Runs a function with batches in parts; after an out-of-memory error, again with at least twice as many parts.

    The batch size of a step stays the same. The number of parts is stored in the folder for later calls.

    Args:
        work: Function of the number of parts; it may be called several times.
        settings: Settings of the fine-tuning.
        folder: Folder of the stored number.
        notify: Callback for messages.

    Raises:
        InputError: A single pair does not fit into memory.
    """
    from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

    checkpoint = Checkpoint(folder / "parts.json", {"settings": asdict(settings)})
    parts = checkpoint.load() or settings.accumulation
    while True:
        try:
            return work(parts)
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if not should_reduce_batch_size(error):
                raise
            said = one_line(error)
        # Outside of the except block, the frames of the failed call no longer hold its memory.
        clear_device_cache(garbage_collection=True)
        more = [number for number in range(2 * parts, settings.batch_size + 1) if settings.batch_size % number == 0]
        if not more:
            raise InputError(
                f"one pair at a time does not fit into memory ({said}): give a smaller --max-length, method lora or "
                "qlora, or a smaller model"
            )
        parts = more[0]
        notify(
            f"out of memory: {settings.batch_size // parts} pairs at a time from now on, in {parts} parts of a batch"
        )
        checkpoint.save(parts)


class _Epoch:
    """Sums over an epoch."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._loss: Any = 0.0
        self._tokens: Any = 0
        self._since = time.monotonic()

    def loss(self, outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        """Returns the loss of a batch, or of a part of it, divided by the reply tokens of the whole batch."""
        total = reply_loss(outputs.logits, labels)
        tokens = (labels[:, 1:] >= 0).sum()
        self._loss, self._tokens = self._loss + total.detach().double(), self._tokens + tokens
        return total / (tokens if num_items_in_batch is None else num_items_in_batch)

    def metrics(self, device: str) -> Entry:
        """Returns the mean training loss of a reply token (with dropout, while weights change), time and memory."""
        mean = float(self._loss) / max(1, int(self._tokens))
        return {
            "training_loss": mean if math.isfinite(mean) else None,
            "seconds": round(time.monotonic() - self._since, 3),
            "peak_bytes": peak_bytes(device),
        }


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


def _train(
    rate: float, inputs: TrainingInputs, settings: FinetuningSettings, folder: Path, last: Path | None, parts: int
) -> list[Entry]:
    """Trains from a checkpoint, or from the start; returns the curve."""
    from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback

    so_far = _Epoch()

    class Training(Trainer):  # type: ignore[misc]
        control: Any

        def evaluate(self, *arguments: Any, **named: Any) -> Entry:
            learnt = so_far.metrics(inputs.device)
            loss = _validation_loss(self.model, inputs, settings, parts)
            metrics = {"validation_loss": loss if math.isfinite(loss) else None, **learnt}
            self.log(metrics)
            self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
            return {**metrics, "eval_loss": loss}

    class Epochs(TrainerCallback):  # type: ignore[misc]
        def on_epoch_begin(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
            so_far.start()

        def on_evaluate(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
            control.should_training_stop = _is_finished(_curve(state.log_history), settings)

    class Bar(ProgressCallback):  # type: ignore[misc]
        def on_log(self, *arguments: Any, **named: Any) -> None:
            """Prints nothing, as standard output is for results."""

    trainer = Training(
        model=inputs.base.load(settings, inputs.device),
        args=_arguments(rate, inputs, settings, folder, parts),
        train_dataset=list(inputs.train),
        eval_dataset=list(inputs.validation),
        data_collator=lambda pairs: pad_batch(pairs, inputs.padding),
        compute_loss_func=so_far.loss,
        callbacks=[Epochs(), *([Bar()] if sys.stderr.isatty() else [])],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.model_accepts_loss_kwargs = False
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    return _curve(trainer.state.log_history)


def _arguments(rate: float, inputs: TrainingInputs, settings: FinetuningSettings, folder: Path, parts: int) -> Any:
    """Returns the settings as transformers' Trainer calls them."""
    import torch
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size // parts,
        gradient_accumulation_steps=parts,
        learning_rate=rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps,
        optim="adamw_torch",  # without weight decay this is Adam
        weight_decay=0.0,
        max_grad_norm=settings.max_grad_norm,
        bf16=compute_dtype(settings, inputs.device) == torch.bfloat16,
        seed=settings.seed,
        data_seed=settings.seed,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,  # in addition to the best one
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=inputs.device == "cpu",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # or the batch would be multiplied by their number
    return arguments


def _validation_loss(model: Any, inputs: TrainingInputs, settings: FinetuningSettings, parts: int) -> float:
    import torch

    half = compute_dtype(settings, inputs.device) == torch.bfloat16
    with torch.autocast(inputs.device, dtype=torch.bfloat16, enabled=half):
        return mean_loss(model, inputs.validation, batch_size=settings.batch_size // parts, padding=inputs.padding)


def _curve(history: Sequence[Entry]) -> list[Entry]:
    """Returns one entry for each epoch, from the log of Trainer."""
    names = ("step", "training_loss", "validation_loss", "seconds", "peak_bytes")
    entries = [entry for entry in history if "validation_loss" in entry]
    return [{"epoch": place, **{name: entry[name] for name in names}} for place, entry in enumerate(entries, start=1)]


def _best(curve: Sequence[Entry]) -> Entry | None:
    """Returns the epoch with the lowest validation loss, the first one of equals; None where none is finite."""
    finite = [entry for entry in curve if entry["validation_loss"] is not None]
    return min(finite, key=lambda entry: float(entry["validation_loss"]), default=None)


def _is_finished(curve: Sequence[Entry], settings: FinetuningSettings) -> bool:
    """Returns whether training ends: all epochs are trained, patience is exhausted, or the loss is not finite."""
    if not curve:
        return False
    best = _best(curve)
    if best is None or curve[-1]["validation_loss"] is None or len(curve) >= settings.epochs:
        return True
    return settings.patience > 0 and len(curve) - int(best["epoch"]) >= settings.patience


def peak_bytes(device: str) -> int | None:
    """Returns the peak memory of the CUDA device or of this process; None if it is unknown."""
    if device == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated())
    with suppress(ImportError):  # Windows lacks this module
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return None
