"""Training of a causal language model on the replies of pairs, by transformers' Trainer and adapters of peft."""

import gc
import json
import math
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.models import loading_errors

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    Encoded = Sequence[tuple[list[int], int]]  # tokens of each pair, and the number of those of its prompt

IGNORED = -100  # label of tokens without a loss
AT_ONCE = 8  # pairs in memory; a step adds up the gradients of several such parts
STATE = "trainer_state.json"


def train(
    rate: float,
    pairs: Mapping[str, "Encoded"],
    *,
    source: Any,
    settings: Mapping[str, Any],
    padding: int,
    folder: Path,
) -> "DataFrame":
    """Trains at one learning rate, and continues from the last checkpoint in the folder.

    Args:
        rate: The learning rate.
        pairs: Tokens of the pairs in the splits `train` and `held_out`.
        source: Path and commit of the model.
        settings: Settings of the training.
        padding: Token behind shorter pairs.
        folder: Folder of the checkpoints, `checkpoint-STEP`; the last one and the best one stay.

    Returns:
        One row for the model before training and for each epoch, with `learning_rate`, `epoch`, `step`, `training_loss`
        (mean of the epoch, with dropout), `loss` of the held-out pairs, `perplexity` and `reason`. Losses are means of
        all reply tokens, in nats.

    Raises:
        InputError: The model cannot be loaded.
    """
    import numpy as np
    import pandas as pd

    last = _last_checkpoint(folder)
    history = [] if last is None else json.loads((last / STATE).read_text(encoding="utf-8"))["log_history"]
    if not _is_finished(history, settings):
        gc.collect()  # the model of the learning rate before
        trainer = _trainer(rate, pairs, source, settings, padding, output_dir=str(folder), eval_on_start=last is None)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
        history = trainer.state.log_history
    found = pd.DataFrame(history).groupby("step", as_index=False).first()
    found = found.rename(columns={"loss": "training_loss", "eval_nll": "loss"}).assign(learning_rate=rate)
    found["perplexity"] = np.exp(found["loss"].where(found["loss"] < math.log(sys.float_info.max)))
    found["reason"] = found["perplexity"].isna().map({True: "diverged", False: None})
    return found[["learning_rate", "epoch", "step", "training_loss", "loss", "perplexity", "reason"]]


def computes_in_half(method: str) -> bool:
    """Returns whether the computation is in bfloat16: of adapters, where the device has it."""
    import torch

    return method != "full" and torch.cuda.is_available() and torch.cuda.is_bf16_supported()


def _load(source: Any, settings: Mapping[str, Any]) -> Any:
    """Returns the model in float32 or bfloat16; for `lora` and `qlora` with new adapters of its attention blocks."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, set_seed
    from transformers.pytorch_utils import Conv1D

    method, more = settings["method"], dict[str, Any]()
    if method == "qlora":
        if not torch.cuda.is_available():
            raise InputError("found no CUDA device, expected one for the 4 bits of qlora: use --preset pairwise-lora")
        # NF4 computed in bfloat16 (pairwise ranking, section 5.2), which does not say that constants are quantised.
        four_bit = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": torch.bfloat16}
        more = {"quantization_config": BitsAndBytesConfig(load_in_4bit=True, **four_bit), "device_map": {"": 0}}
    dtype = torch.bfloat16 if computes_in_half(method) else torch.float32
    path = source.path if source.commit else str(Path(source.path).resolve())  # adapters store it
    model = AutoModelForCausalLM.from_pretrained(path, revision=source.commit, dtype=dtype, **more)
    if method == "full":
        return model
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    layers = [
        name
        for name, layer in model.named_modules()
        if isinstance(layer, torch.nn.Linear | Conv1D) and re.search("attn|attention", name.rpartition(".")[0], re.I)
    ]
    if not layers:
        raise InputError(f"found no attention blocks in {source.name}, expected some for adapters: use method full")
    if method == "qlora":
        model = prepare_model_for_kbit_training(model)
    set_seed(settings["seed"])
    lora = {"target_modules": layers, "task_type": "CAUSAL_LM", "revision": source.commit}
    return get_peft_model(model, LoraConfig(**lora, **settings["lora"]))


def _trainer(
    rate: float, pairs: Mapping[str, "Encoded"], source: Any, settings: Mapping[str, Any], padding: int, **more: Any
) -> Any:
    with loading_errors(source.name):
        from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainingArguments
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        model = _load(source, settings)

    class Patience(TrainerCallback):  # type: ignore[misc]
        def on_evaluate(self, arguments: Any, state: Any, control: Any, **unused: Any) -> None:
            control.should_training_stop |= _is_finished(state.log_history, settings)

    class Bar(ProgressCallback):  # type: ignore[misc]
        def on_log(self, *arguments: Any, **unused: Any) -> None:
            """Prints nothing, as standard output is for results."""

    at_once = math.gcd(settings["batch_size"], AT_ONCE)
    arguments = TrainingArguments(
        learning_rate=rate,
        max_steps=settings["steps"],
        per_device_train_batch_size=at_once,
        per_device_eval_batch_size=at_once,
        gradient_accumulation_steps=settings["batch_size"] // at_once,
        lr_scheduler_type=settings["schedule"],
        optim="adamw_torch",  # without weight decay this is Adam
        bf16=computes_in_half(settings["method"]),
        seed=settings["seed"],
        data_seed=settings["seed"],
        logging_strategy="epoch",
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,  # in addition to the best one
        metric_for_best_model="eval_nll",
        greater_is_better=False,
        use_cache=True,  # it is stored in the configuration of the model
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        report_to="none",
        **more,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # else a batch grows with the number of devices
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=pairs["train"],
        eval_dataset=pairs["held_out"],
        data_collator=lambda batch: _pad(batch, padding),
        compute_loss_func=_loss,
        preprocess_logits_for_metrics=_token_losses,
        compute_metrics=_mean_loss,
        callbacks=[Patience(), *([Bar()] if sys.stderr.isatty() else [])],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _token_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Returns the negative log likelihoods of tokens, in nats, shape (pairs, tokens - 1); 0 without a label."""
    import torch

    scores = logits[:, :-1].float().transpose(1, 2)
    return torch.nn.functional.cross_entropy(scores, labels[:, 1:], ignore_index=IGNORED, reduction="none")


def _loss(outputs: Any, labels: "Tensor", num_items_in_batch: Any = None) -> "Tensor":
    """Returns the loss of a part of a step, divided by the reply tokens of the whole step."""
    tokens = (labels != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
    return _token_losses(outputs.logits, labels).sum() / tokens


def _mean_loss(found: Any) -> dict[str, float]:
    """Returns the mean loss of all reply tokens (the mean of batches, which Trainer reports, weighs them unequally)."""
    return {"nll": float(found.predictions[found.label_ids[:, 1:] != IGNORED].mean(dtype=float))}


def _pad(pairs: "Encoded", padding: int) -> dict[str, "Tensor"]:
    """Returns tokens, mask and labels of shape (pairs, longest pair); only replies have labels."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def padded(rows: list[list[int]], value: int) -> "Tensor":
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)

    return {
        "input_ids": padded([tokens for tokens, _ in pairs], padding),
        "attention_mask": padded([[1] * len(tokens) for tokens, _ in pairs], 0),
        "labels": padded([[IGNORED] * start + tokens[start:] for tokens, start in pairs], IGNORED),
    }


def _is_finished(history: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> bool:
    """Returns whether training ends: after all steps, without a lower loss for some epochs, or when it diverged."""
    losses = [entry["eval_nll"] for entry in history if entry["step"] and "eval_nll" in entry]
    if not losses:
        return False
    is_worse = 0 < settings["patience"] < len(losses) - losses.index(min(losses))
    return history[-1]["step"] >= settings["steps"] or is_worse or not math.isfinite(losses[-1])


def _last_checkpoint(folder: Path) -> Path | None:
    """Returns the newest complete checkpoint, and removes incomplete ones; Trainer writes its state last."""
    complete = []
    for path in folder.glob("checkpoint-*"):
        try:
            complete.append((json.loads((path / STATE).read_text(encoding="utf-8"))["global_step"], path))
        except (OSError, ValueError):
            shutil.rmtree(path)
    return max(complete, default=(0, None))[1]
