"""`finetune`: a language model learns the replies of training pairs."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.data import (
    TIERS,
    LeakageIndex,
    RowSource,
    catalogue_entry,
    connected_groups,
    content_folder,
    first_column,
    message_codes,
    message_leakage_keys,
    read,
    simplify_text,
    train_split,
    write_whole,
)
from fcconan.errors import InputError
from fcconan.generation.prompts import generation_messages, load_generation_prompt
from fcconan.generation.training import computes_in_half, train
from fcconan.groups import Rows
from fcconan.models import encode_pair, format_names, load_format, loading_errors, locate_model
from fcconan.report import curves
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

REPORT = "finetune.json"
IDENTITY = "identity.json"
TEXTS = ["hate_speech", "counter_narrative"]
# Files of Trainer and peft that are not of the model.
OTHERS = (
    "optimizer.pt",
    "scheduler.pt",
    "scaler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "training_args.bin",
    "*.md",
)


def finetune(
    pairs: RowSource,
    *,
    model: str,
    out: Path,
    preset: str = "pairwise-lora",
    prompt: str = "brief",
    prompt_format: str | None = None,
    learning_rate: tuple[float, ...] = (),
    epochs: int | None = None,
    max_steps: int | None = None,
    batch_size: int | None = None,
    rows: Rows = Rows(),
    seed: int = 0,
) -> Result:
    """Fine-tune a language model on pairs of hate speech and counter-narratives.

    The loss is that of the tokens of the reply and one end token. A part of the pairs is held out, which shares no
    leakage group of messages and no CN with the other pairs. The learning rate and epoch with the lowest perplexity of
    the held-out pairs, the exponential of the mean loss of their tokens, is the model in `out`. `fcconan generate
    --model local:OUT` uses it with the same prompt. The same command continues an interrupted run from the last epoch
    in the folder OUT.unfinished. Pairs that people labelled as not appropriate are left out.

    Args:
        pairs: Dataset folder, name of a dataset, or file with the columns hate_speech and counter_narrative; of a
            dataset the split train.
        model: Folder of a model, or its name on the Hub.
        out: Folder for the model, or its adapters.
        preset: Settings: pairwise-lora or pairwise-qlora (adapters, Hu et al., 2021; on 4 bit, Dettmers et al., 2023),
            dialogpt (all weights), or a YAML file.
        prompt: Prompt: a name, or a YAML file.
        prompt_format: Chat format of a model without one: a name, or a Jinja file.
        learning_rate: Learning rates to try; default: those of the preset.
        epochs: Largest number of epochs; default: that of the preset.
        max_steps: Largest number of steps at each learning rate.
        batch_size: Pairs of a step; default: that of the preset.
        rows: Which rows are read.
        seed: Seed of the held-out part, the order of pairs, dropout, and new adapters.

    Returns:
        `runs`: one row for each learning rate and epoch (0 is before training), with `step`, `training_loss` (mean of
        the epoch), `loss` (of held-out pairs; nats for each token), `perplexity`, `chosen`, and the `reason` of a
        missing perplexity. `splits`: `pairs`, `tokens` and `reply_tokens` of both parts, and pairs that are too long.

    Raises:
        InputError: The pairs or the model cannot be read, a text is empty, all pairs are of one group, the model has no
            chat format, OUT.unfinished is of another training, or all learning rates diverge.
    """
    import pandas as pd

    given = {"learning_rate": [*learning_rate], "epochs": epochs, "batch_size": batch_size}
    settings = _settings(preset) | {name: value for name, value in given.items() if value} | {"seed": seed}
    counts = {"epochs": epochs, "max_steps": max_steps, "batch_size": batch_size}
    if wrong := {name: value for name, value in counts.items() if value is not None and value < 1}:
        raise InputError(f"found {wrong}, expected 1 or more: choose a larger number")
    if not all(0 < rate < 1 for rate in settings["learning_rate"]):
        raise InputError(f"found learning rates {settings['learning_rate']}, expected numbers between 0 and 1")
    out = Path(out)
    if out.exists() and not (out / REPORT).is_file():
        raise InputError(f"{out} exists and holds no fine-tuned model: choose another folder")
    work = out.with_name(f"{out.name}.unfinished")

    split = rows.split or train_split(pairs)
    frame, _, name = read(("train", "pairs", *TIERS[::-1]), pairs, rows=replace(rows, split=split))
    examples, notes = _examples(frame, name)
    source, shown = locate_model(model), load_generation_prompt(prompt)
    if Path(source.path, "adapter_config.json").is_file():
        raise InputError(f"{model} is an adapter, expected a whole model: give the model that it belongs to")
    if "background" in shown.variables:
        raise InputError(f"the prompt {prompt} shows background, expected one with the message only, such as brief")
    with loading_errors(source.name):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(source.path, revision=source.commit)
    chat = None if prompt_format is None else load_format(prompt_format)
    tokenizer.chat_template = chat.template if chat else tokenizer.chat_template
    if not tokenizer.chat_template:
        formats = ", ".join(format_names())
        raise InputError(f"found no chat template in {model}, expected one: name a --prompt-format ({formats})")
    examples["encoded"] = [
        encode_pair(tokenizer, None, generation_messages(shown, message, language=language)[0], reply)
        for message, reply, language in examples[[*TEXTS, "language"]].itertuples(index=False)
    ]
    examples["tokens"] = [len(tokens) for tokens, _ in examples["encoded"]]
    examples["reply_tokens"] = [len(tokens) - start for tokens, start in examples["encoded"]]
    examples["is_held"] = _held_out(examples["group"].to_numpy(), settings["held_out"], seed)
    fits = examples["tokens"] <= min(settings["max_length"], tokenizer.model_max_length)
    splits = {"train": examples[fits & ~examples["is_held"]], "held_out": examples[fits & examples["is_held"]]}
    if lost := [part for part, own in splits.items() if own.empty]:
        raise InputError(f"found no pairs for {lost[0]} in {name}, expected some in both parts: give more pairs")
    table = pd.DataFrame({part: own[["tokens", "reply_tokens"]].sum() for part, own in splits.items()}).T
    table.insert(0, "pairs", [*map(len, splits.values())])
    table["too_long"] = (~fits).groupby(examples["is_held"]).sum().to_numpy()

    every = settings["epochs"] * -(-len(splits["train"]) // settings["batch_size"])
    settings["steps"] = min(every, max_steps or every)
    identity = {
        "data": name,
        "model": f"{source.name}@{source.commit or source.hash}",
        "prompt": f"{prompt}@{shown.hash}",
        "prompt_format": chat and f"{chat.name}@{chat.hash}",
        "dtype": "bfloat16" if computes_in_half(settings["method"]) else "float32",
        **settings,
    }
    stated = json.dumps(identity) + "\n"
    if (work / IDENTITY).is_file() and (work / IDENTITY).read_text(encoding="utf-8") != stated:
        raise InputError(f"{work} is of another training: remove it, or choose another --out")
    work.mkdir(parents=True, exist_ok=True)
    write_whole(work / IDENTITY, stated)
    how: dict[str, Any] = {"source": source, "settings": settings}
    how["padding"] = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    encoded = {part: [*own["encoded"]] for part, own in splits.items()}
    rates = settings["learning_rate"]
    runs = pd.concat([train(rate, encoded, folder=work / f"rate-{rate}", **how) for rate in rates], ignore_index=True)
    trained = runs[runs["step"] > 0]
    if trained["perplexity"].isna().all():
        shutil.rmtree(work)
        raise InputError("the training diverged at every learning rate: give a smaller one")
    best = runs.loc[trained["perplexity"].idxmin()]
    runs.insert(len(runs.columns) - 1, "chosen", runs.index == best.name)
    if best["perplexity"] >= runs["perplexity"].iloc[0]:
        notes.append("No epoch has a lower perplexity than the model before training.")
    labelled = runs.assign(learning_rate=runs["learning_rate"].map("{:g}".format))
    result = Result(
        "finetune",
        {"runs": labelled, "splits": table.rename_axis("split").reset_index()},
        identity,
        notes,
        plots={
            "Perplexity of held-out pairs": partial(curves, labelled, x="step", y="perplexity", line="learning_rate")
        },
    )
    _write(result, work / f"rate-{best['learning_rate']}" / f"checkpoint-{best['step']}", tokenizer, out, work)
    return result


def _settings(preset: str) -> dict[str, Any]:
    import yaml

    file = content_folder() / "annotations" / "generation" / "finetuning.yaml"
    known: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    path = catalogue_entry("preset", preset, dict.fromkeys(known, file))
    own = known[preset] if path == file else yaml.safe_load(path.read_text(encoding="utf-8"))
    base = known["pairwise-lora"]
    if not isinstance(own, Mapping) or own.keys() - base.keys():
        raise InputError(f"found {own} in {preset}, expected only the settings {', '.join(base)}")
    return {**base, **own}


def _examples(frame: "DataFrame", name: str) -> tuple["DataFrame", list[str]]:
    """Returns message, CN, language and group of the pairs; groups share no leakage group of messages and no CN."""
    import pandas as pd

    notes = [*frame.attrs["notes"]]
    label = frame.get("label", pd.Series(index=frame.index, dtype=object))
    if (wrong := label.eq("not_appropriate")).any():
        notes.append(f"{wrong.sum()} of {len(frame)} pairs are labelled as not appropriate and left out.")
    judged = bool(wrong.any() or ("tier" in frame and frame["tier"].fillna("").ne("").any()))
    frame = frame.astype(object).where(frame.notna(), None)[~wrong].reset_index(drop=True)
    for column in TEXTS:
        if (theirs := first_column(dict.fromkeys(frame), column)) is None:
            raise InputError(f"{name} has no column {column}, only {', '.join(frame)}: rename that of the texts")
        frame[column] = frame[theirs].fillna("").astype(str).str.strip()
    if (empty := frame[TEXTS].eq("").any(axis=1)).any():
        raise InputError(f"{name} has {empty.sum()} pairs with an empty text, expected both: fill or remove them")
    told = {"judged": judged}
    keys = [
        message_leakage_keys(text, [reply], codes=message_codes(row, dataset=name.partition("@")[0], **told), **told)
        for row, text, reply in zip(frame.to_dict("records"), frame[TEXTS[0]], frame[TEXTS[1]], strict=True)
    ]
    groups = LeakageIndex(keys, [*frame[TEXTS[0]]]).groups
    own = [(("hs", each), ("cn", simplify_text(text))) for each, text in zip(groups, frame[TEXTS[1]], strict=True)]
    found = frame[TEXTS].assign(language=frame.get("text_language", frame.get("language")), group=connected_groups(own))
    return found, notes


def _held_out(groups: "np.ndarray[Any, Any]", share: float, seed: int) -> "np.ndarray[Any, Any]":
    """Returns which pairs are held out: groups in random order, while they fit the share; shape (pairs,).

    Raises:
        InputError: All pairs are of one group.
    """
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise InputError(f"the {len(groups)} pairs are connected by messages and CNs, expected two groups: add pairs")
    room, taken = max(int(share * len(groups)), sizes.min()), list[int]()
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[group] <= room and len(taken) < len(sizes) - 1:
            taken.append(group)
            room -= sizes[group]
    return np.isin(groups, taken)


def _write(result: Result, checkpoint: Path, tokenizer: Any, out: Path, work: Path) -> None:
    stage = work / "model"
    shutil.rmtree(stage, ignore_errors=True)  # of an interrupted run
    shutil.copytree(checkpoint, stage, ignore=shutil.ignore_patterns(*OTHERS))
    tokenizer.save_pretrained(stage)
    (stage / REPORT).write_text(result.to_json(), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    stage.replace(out)
    shutil.rmtree(work)
