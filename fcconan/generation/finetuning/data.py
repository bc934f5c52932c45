"""Training pairs of a fine-tuning: read, checked against an evaluation dataset, split, and tokenized.

Pairs that cannot be used are refused, or left out and counted with a reason.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fcconan.data import SUFFIXES, LeakageIndex, connected_groups, make_hs_id, one_line, simplify_text
from fcconan.errors import InputError
from fcconan.generation.finetuning.model import EncodedPair
from fcconan.generation.items import Item, PromptContext
from fcconan.generation.training_pool import (
    Pair,
    RefusedPairsError,
    TrainingPairs,
    first_names,
    load_training_pairs,
)

NOT_APPROPRIATE, DUPLICATE, IN_EVALUATION, TOO_LONG, CONTROL_TOKEN = (
    "not_appropriate", "duplicate", "kin_of_evaluation", "too_long", "control_token",
)  # fmt: skip


class TrainingSplit(NamedTuple):
    """Pairs for training, and pairs for validation and early stopping."""

    train: list[Pair]
    validation: list[Pair]


def prepare_pairs(
    source: Path,
    *,
    validation: str = "0.1",
    evaluation: Mapping[str, Sequence[Item]] | None = None,
    leave_out_evaluation: bool = False,
    drop_duplicates: bool = False,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
    seed: int,
) -> tuple[TrainingSplit, dict[str, Any]]:
    """Reads the pairs of a fine-tuning and divides them.

    Args:
        source: As for `load_training_pairs`.
        validation: A share of the pairs, a split of the same part, or a file.
        evaluation: Dataset name -> items whose leakage groups must not be in the training pairs.
        leave_out_evaluation: Whether such pairs are left out instead of refused.
        drop_duplicates: Whether one pair is retained for each message of the training part.
        config: As for `load_training_pairs`.
        split: As for `load_training_pairs`.
        columns: As for `load_training_pairs`.
        filter: As for `load_training_pairs`; also applied to a validation split.
        seed: Seed of all random choices.

    Returns:
        The parts, and their description for the report.

    Raises:
        InputError: As `load_training_pairs` and `divide`; or the split or file is missing.
        RefusedPairsError: Pairs share messages or CNs with the evaluation.
    """
    read = load_training_pairs(source, config=config, split=split, columns=columns, filter=filter)
    examples = list(read.pairs)
    left_out = Counter[str]({NOT_APPROPRIATE: read.not_appropriate} if read.not_appropriate else {})
    given = None
    share = _share(validation)
    if share is None:
        where = (Path(validation), None, None) if Path(validation).suffix in SUFFIXES else (source, config, validation)
        chosen = filter if where[0] == source else None
        given = load_training_pairs(where[0], config=where[1], split=where[2], columns=columns, filter=chosen)
        if where[0] == source and given.configuration["split"] == read.configuration["split"]:
            raise InputError(f"the split {validation} is the training split: give another one for validation")
    held = list(given.pairs) if given is not None else []
    for name, items in (evaluation or {}).items():
        every = [*examples, *held]
        leaking = find_evaluation_pairs(every, items)
        if leaking and not leave_out_evaluation:
            raise evaluation_refusal([every[place] for place in sorted(leaking)], name)
        left_out[IN_EVALUATION] += len(leaking)
        held = [each for place, each in enumerate(held, len(examples)) if place not in leaking]
        examples = [each for place, each in enumerate(examples) if place not in leaking]
    if not examples or (given is not None and not held):
        raise InputError(f"all pairs of {source} share messages with the evaluation: give another dataset")
    if drop_duplicates:
        single = without_duplicates(examples, seed=seed)
        left_out[DUPLICATE] += len(examples) - len(single)
        examples = single
    parts = TrainingSplit(examples, held) if given is not None else divide(examples, share or 0, seed=seed)
    repeated = len(examples) - len({(make_hs_id(each.hate_speech), each.cn_id) for each in examples})
    return parts, {
        **_described(read),
        "left_out": dict(left_out),
        "identical_pairs": repeated,
        "validation": {"share": share} if given is None else _described(given),
        "validation_pairs_with_a_message_of_training": shared_messages(parts),
        "evaluation": sorted(evaluation or {}),
        "drop_duplicates": drop_duplicates,
    }


def _described(read: TrainingPairs) -> dict[str, Any]:
    texts = json.dumps([(each.hate_speech.strip(), each.counter_narrative.strip()) for each in read.pairs])
    return {**read.configuration, "sha256": hashlib.sha256(texts.encode()).hexdigest()}


def _share(validation: str) -> float | None:
    try:
        return float(validation)
    except ValueError:
        return None


def without_duplicates(examples: Sequence[Pair], *, seed: int) -> list[Pair]:
    """Retains one random pair for each message, in the order of the data.

    This is the ablation of the pairwise ranking paper (section Limitations). Messages are equal if their texts are.
    """
    places = defaultdict(list)
    for place, each in enumerate(examples):
        places[make_hs_id(each.hate_speech)].append(place)
    random = np.random.default_rng(seed)
    return [examples[place] for place in sorted(int(random.choice(same)) for same in places.values())]


def find_evaluation_pairs(examples: Sequence[Pair], items: Sequence[Item]) -> frozenset[int]:
    """Returns the indices of pairs in the leakage groups of evaluation items, or with a CN of their references."""
    leakage = _leakage(examples)
    return frozenset(place for item in items for place in leakage.of(item.leakage_keys, item.hate_speech))


def evaluation_refusal(found: Sequence[Pair], name: str) -> RefusedPairsError:
    """Returns the error for training pairs that share messages or CNs with an evaluation dataset."""
    return RefusedPairsError(
        f"{len(found)} training pairs have a message of {name}, a paraphrase of one, or a CN of it "
        f"({first_names([each.pair_id for each in found], ', ')}): take them out, or give --leave-out-evaluation",
        [{name: getattr(each, name) for name in ("pair_id", "hate_speech", "counter_narrative")} for each in found],
    )


def divide(examples: Sequence[Pair], share: float, *, seed: int) -> TrainingSplit:
    """Splits pairs so that training and validation share no leakage group and no CN.

    Groups of connected pairs are added to the validation part in random order while they fit.

    Args:
        examples: The pairs.
        share: Maximum share of the pairs for validation, above 0 and below 1.
        seed: Seed of the order of groups.

    Raises:
        InputError: All pairs are connected.
    """
    if not 0 < share < 1:
        raise InputError(f"a share of {share} for validation: give a number above 0 and below 1")
    leakage = _leakage(examples)
    groups = connected_groups(
        (("hs", str(group)), ("cn", simplify_text(each.counter_narrative)))
        for group, each in zip(leakage.groups, examples, strict=True)
    )
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise InputError(
            f"the {len(examples)} training pairs are one group, connected by messages and CNs, and cannot be split for "
            "validation: give a validation part with --validation"
        )
    room = max(int(share * len(examples)), int(sizes.min()))
    taken: set[int] = set()
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[group] <= room and len(taken) < len(sizes) - 1:
            taken.add(int(group))
            room -= int(sizes[group])
    inside = [int(group) in taken for group in groups]
    return TrainingSplit(
        [each for each, held in zip(examples, inside, strict=True) if not held],
        [each for each, held in zip(examples, inside, strict=True) if held],
    )


def shared_messages(parts: TrainingSplit) -> int:
    """Returns the number of validation pairs in the leakage group of a training pair."""
    leakage = _leakage((*parts.train, *parts.validation))
    learnt = set(leakage.groups[: len(parts.train)])
    return sum(group in learnt for group in leakage.groups[len(parts.train) :])


def encode(
    examples: Sequence[Pair], *, tokenizer: Any, prompt: Any, template: Any, max_length: int
) -> tuple[list[EncodedPair], dict[str, list[str]]]:
    """Tokenizes pairs in the format of generation: prompt, reply, and one end token.

    Args:
        examples: The pairs.
        tokenizer: Tokenizer of transformers.
        prompt: A `GenerationPrompt`.
        template: A `Format`; None for the tokenizer's own chat template.
        max_length: Maximum length of a pair, in tokens.

    Returns:
        The tokenized pairs, and the ids of unusable pairs by reason: too long, or with a control token of the model.

    Raises:
        InputError: The prompt needs more than the message, or no pair is usable.
    """
    from fcconan.models import control_tokens, encode_pair, find_token

    shown = sorted(set(prompt.variables) - {"hate_speech", "language"})
    if shown:
        raise InputError(
            f"the prompt {prompt.name} shows {', '.join(shown)}, which training pairs do not have: choose one that "
            "shows the message only, such as brief"
        )
    controls = control_tokens(tokenizer)
    text = None if template is None else template.template
    encoded: list[EncodedPair] = []
    left_out: dict[str, list[str]] = {}
    lengths = []
    for each in examples:
        if find_token((each.hate_speech, each.counter_narrative), controls) is not None:
            left_out.setdefault(CONTROL_TOKEN, []).append(each.pair_id)
            continue
        item = Item("", "", each.hate_speech, language=each.language)
        messages, _ = prompt.messages(item, PromptContext())
        try:
            tokens, start = encode_pair(tokenizer, text, messages, each.counter_narrative)
        except Exception as error:  # a template may raise any exception
            raise InputError(
                f"the chat template refuses the prompt {prompt.name} ({one_line(error)}): choose another prompt or "
                "format"
            ) from error
        lengths.append(len(tokens))
        if len(tokens) > max_length:
            left_out.setdefault(TOO_LONG, []).append(each.pair_id)
        else:
            encoded.append(EncodedPair(tuple(tokens), start))
    if not encoded:
        shortest = f", the shortest {min(lengths)}" if lengths else ""
        raise InputError(
            f"none of {len(examples)} pairs fits {max_length} tokens{shortest}: give a larger --max-length, within the "
            "model's context, or a shorter prompt"
        )
    return encoded, left_out


def _leakage(examples: Sequence[Pair]) -> LeakageIndex:
    return LeakageIndex([each.leakage_keys for each in examples], [each.hate_speech for each in examples])
