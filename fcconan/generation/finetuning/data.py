"""Pairs to fine-tune on: read, checked against an evaluation part, divided, and put into tokens.

No pair leaves the training unseen: those that cannot be learnt from are refused or counted, with the reason.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fcconan.data import SUFFIXES, Kinship, codes_of_row, kin_of, make_cn_id, make_hs_id, make_pair_id, simplified
from fcconan.errors import InputError
from fcconan.generation.finetuning.model import Encoded
from fcconan.generation.items import APPROPRIATE, Item, Shown
from fcconan.generation.splits import is_judged, open_part
from fcconan.models import one_line
from fcconan.retrieval import TrainingPair, groups_of

NOT_APPROPRIATE, DUPLICATE, KIN, TOO_LONG, CONTROL_TOKEN = (
    "not_appropriate", "duplicate", "kin_of_evaluation", "too_long", "control_token",
)  # fmt: skip
LISTED = 5


class RefusedPairsError(InputError):
    """Some pairs must not, or cannot, be learnt from.

    Attributes:
        pairs: All of them, where the message names the first ones: their `row`, or their `pair_id` and texts.
    """

    def __init__(self, message: str, pairs: Sequence[Mapping[str, str]]) -> None:
        super().__init__(message)
        self.pairs = list(pairs)

    @property
    def details(self) -> dict[str, Any]:
        """All pairs, for a file of results."""
        return {"refused": self.pairs}


@dataclass(frozen=True)
class TrainingExample:
    """A message and the CN that is learnt as its answer.

    Attributes:
        hs_id: Of the message.
        cn_id: Of the CN.
        hate_speech: The message.
        counter_narrative: The CN.
        kin: See `fcconan.data.leakage`.
        language: Code of the message's language, where the dataset names one.
    """

    hs_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    kin: frozenset[str]
    language: str | None = None

    @property
    def pair_id(self) -> str:
        """The id of the pair."""
        return make_pair_id(self.hs_id, self.cn_id)


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs of one split, in the order of the data.

    Attributes:
        examples: The pairs.
        left_out: How many were left out, by reason.
        configuration: Which they are.
    """

    examples: tuple[TrainingExample, ...]
    left_out: Mapping[str, int]
    configuration: Mapping[str, Any]


class Parts(NamedTuple):
    """Pairs that are learnt from, and pairs that say when to stop."""

    train: list[TrainingExample]
    validation: list[TrainingExample]


def load_training_pairs(
    source: Path,
    *,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
) -> TrainingPairs:
    """Reads pairs; those that people found not appropriate are left out and counted.

    Args:
        source: A folder that `fcconan build` wrote, or a CSV, JSONL or parquet file.
        config: A part of the folder; by default its training part, else its pairs.
        split: A split of that part; by default `train` where there is one.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.

    Raises:
        RefusedPairsError: A text is empty.
        InputError: There are no pairs.
    """
    part = open_part(source, config=config, split=split, columns=columns, filter=filter, training=True)
    rows = part.all_rows()
    judged = is_judged(rows)
    examples, empty, left_out = [], [], Counter[str]()
    for place, row in rows:
        if "counter_narrative" not in row:
            raise InputError(
                f"{place}: the columns are {', '.join(row)}, expected `counter_narrative`: name it with --rename "
                "counter_narrative=COLUMN"
            )
        message, reply = row.get("hate_speech", "").strip(), row["counter_narrative"].strip()
        if not (message and reply):
            empty.append(place)
        elif row.get("label") not in (None, "", APPROPRIATE):
            left_out[NOT_APPROPRIATE] += 1
        else:
            examples.append(_example(message, reply, row, dataset=part.dataset, judged=judged))
    if empty:
        raise RefusedPairsError(
            f"{source} has {len(empty)} pairs without a message or without a CN ({_first(empty, '; ')}): fill or "
            "remove those rows",
            [{"row": place} for place in empty],
        )
    if not examples:
        raise InputError(f"{source} has {len(rows)} pairs, and no CN in them fits its message: choose another dataset")
    texts_read = json.dumps([(each.hate_speech, each.counter_narrative) for each in examples])
    configuration = {
        "dataset": part.dataset,
        "fingerprint": part.fingerprint,
        "config": part.config,
        "split": part.split,
        "pairs": len(examples),
        "sha256": hashlib.sha256(texts_read.encode()).hexdigest(),
    }
    return TrainingPairs(tuple(examples), left_out, configuration)


def prepare(
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
) -> tuple[Parts, dict[str, Any]]:
    """Reads the pairs of a fine-tuning and divides them.

    Args:
        source: As for `load_training_pairs`.
        validation: A share of the pairs, a split of the same part, or a file.
        evaluation: Items that must not be met in training, by the names of their datasets.
        leave_out_evaluation: Leave such pairs out, rather than refuse them.
        drop_duplicates: Keep one pair for every message of the training part.
        config: As for `load_training_pairs`.
        split: As for `load_training_pairs`.
        columns: As for `load_training_pairs`.
        filter: As for `load_training_pairs`; it also holds for a validation split.
        seed: Of the draws.

    Returns:
        The parts, and what is to be reported of them.

    Raises:
        InputError: As `load_training_pairs` and `divide`; or there is no such split or file.
        RefusedPairsError: Pairs have messages or CNs of the evaluation.
    """
    read = load_training_pairs(source, config=config, split=split, columns=columns, filter=filter)
    examples, left_out = list(read.examples), Counter(read.left_out)
    given = None
    share = _share(validation)
    if share is None:
        where = (Path(validation), None, None) if Path(validation).suffix in SUFFIXES else (source, config, validation)
        chosen = filter if where[0] == source else None
        given = load_training_pairs(where[0], config=where[1], split=where[2], columns=columns, filter=chosen)
        if where[0] == source and given.configuration["split"] == read.configuration["split"]:
            raise InputError(f"the split {validation} is what is learnt from: give another one for validation")
    held = list(given.examples) if given is not None else []
    for name, items in (evaluation or {}).items():
        every = [*examples, *held]
        kin = kin_of_evaluation(every, items)
        if kin and not leave_out_evaluation:
            raise evaluation_refusal([every[place] for place in sorted(kin)], name)
        left_out[KIN] += len(kin)
        held = [each for place, each in enumerate(held, len(examples)) if place not in kin]
        examples = [each for place, each in enumerate(examples) if place not in kin]
    if not examples or (given is not None and not held):
        raise InputError(f"nothing is left of {source} without the messages of the evaluation: give another dataset")
    if drop_duplicates:
        single = without_duplicates(examples, seed=seed)
        left_out[DUPLICATE] += len(examples) - len(single)
        examples = single
    parts = Parts(examples, held) if given is not None else divide(examples, share or 0, seed=seed)
    repeated = len(examples) - len({each.pair_id for each in examples})
    return parts, {
        **read.configuration,
        "left_out": dict(left_out),
        "identical_pairs": repeated,
        "validation": {"share": share} if given is None else dict(given.configuration),
        "validation_pairs_with_a_message_of_training": shared_messages(parts),
        "evaluation": sorted(evaluation or {}),
        "drop_duplicates": drop_duplicates,
    }


def _share(validation: str) -> float | None:
    try:
        return float(validation)
    except ValueError:
        return None


def without_duplicates(examples: Sequence[TrainingExample], *, seed: int) -> list[TrainingExample]:
    """Keeps one pair for every message, at random, in the order of the data.

    The ablation of the pairwise ranking paper (section Limitations): a corpus that gives one message again and again,
    each time with another CN, has its repetitions removed at random. Messages are the same if their texts are.
    """
    places = defaultdict(list)
    for place, each in enumerate(examples):
        places[each.hs_id].append(place)
    random = np.random.default_rng(seed)
    return [examples[place] for place in sorted(int(random.choice(same)) for same in places.values())]


def kin_of_evaluation(examples: Sequence[TrainingExample], items: Sequence[Item]) -> frozenset[int]:
    """Returns the places of pairs whose message is to be answered later, in the same or other words, or whose CN is one
    of its references.
    """
    kinship = _kinship(examples)
    return frozenset(place for item in items for place in kinship.of(item.kin, item.hate_speech))


def evaluation_refusal(found: Sequence[TrainingExample], name: str) -> RefusedPairsError:
    """Returns the refusal of training pairs that an evaluation would find again."""
    return RefusedPairsError(
        f"{len(found)} pairs to learn from have a message of {name}, the same in other words, or a CN of it "
        f"({_first([each.pair_id for each in found], ', ')}): take them out, or give --leave-out-evaluation",
        [{name: getattr(each, name) for name in ("pair_id", "hate_speech", "counter_narrative")} for each in found],
    )


def _first(names: Sequence[str], between: str) -> str:
    more = len(names) - LISTED
    return between.join(names[:LISTED]) + (f" and {more} more, which --json FILE lists" if more > 0 else "")


def divide(examples: Sequence[TrainingExample], share: float, *, seed: int) -> Parts:
    """Cuts off a validation part that shares no message, in whatever words, and no CN with the rest.

    Groups of pairs that hang together are drawn at random, and taken while they fit.

    Args:
        examples: The pairs.
        share: Of the pairs, for validation, above 0 and below 1; no more than that where groups allow.
        seed: Of the draw.

    Raises:
        InputError: The pairs are one group.
    """
    if not 0 < share < 1:
        raise InputError(f"a share of {share} for validation: give a number above 0 and below 1")
    kin = _kinship(examples)
    named = [
        TrainingPair(str(group), simplified(each.counter_narrative))
        for group, each in zip(kin.groups, examples, strict=True)
    ]
    groups = groups_of(named)
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise InputError(
            f"the {len(examples)} training pairs hang together by their messages and CNs, so that no part can be cut "
            "off for validation: give one with --validation"
        )
    room = max(int(share * len(examples)), int(sizes.min()))
    taken: set[int] = set()
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[group] <= room and len(taken) < len(sizes) - 1:
            taken.add(int(group))
            room -= int(sizes[group])
    inside = [int(group) in taken for group in groups]
    return Parts(
        [each for each, held in zip(examples, inside, strict=True) if not held],
        [each for each, held in zip(examples, inside, strict=True) if held],
    )


def shared_messages(parts: Parts) -> int:
    """Returns how many validation pairs have a message of a training pair, in whatever words."""
    kinship = _kinship((*parts.train, *parts.validation))
    learnt = set(kinship.groups[: len(parts.train)])
    return sum(group in learnt for group in kinship.groups[len(parts.train) :])


def encode(
    examples: Sequence[TrainingExample], *, tokenizer: Any, prompt: Any, template: Any, max_length: int
) -> tuple[list[Encoded], dict[str, list[str]]]:
    """Puts pairs into tokens, as they will be generated: prompt, reply, and one end token.

    Args:
        examples: The pairs.
        tokenizer: Of transformers.
        prompt: A `GenerationPrompt`.
        template: A `Format`; None for the tokenizer's own chat template.
        max_length: The longest pair in tokens.

    Returns:
        The pairs that can be learnt from, and by reason the ids of those that cannot: longer ones, and those with a
        text that holds a control token, which the model would obey.

    Raises:
        InputError: The prompt shows more than the message, or none can be learnt from.
    """
    from fcconan.models import control_tokens, encode_pair, held_token

    shown = sorted(set(prompt.variables) - {"hate_speech", "language"})
    if shown:
        raise InputError(
            f"the prompt {prompt.name} shows {', '.join(shown)}, which training pairs do not have: choose one that "
            "shows the message only, such as brief"
        )
    controls = control_tokens(tokenizer)
    text = None if template is None else template.template
    encoded: list[Encoded] = []
    left_out: dict[str, list[str]] = {}
    lengths = []
    for each in examples:
        if held_token((each.hate_speech, each.counter_narrative), controls) is not None:
            left_out.setdefault(CONTROL_TOKEN, []).append(each.pair_id)
            continue
        item = Item(each.hs_id, each.hs_id, each.hate_speech, language=each.language)
        messages, _ = prompt.messages(item, Shown())
        try:
            tokens, start = encode_pair(tokenizer, text, messages, each.counter_narrative)
        except InputError:
            raise
        except Exception as error:  # what a template raises is its own affair
            raise InputError(
                f"the chat template refuses the prompt {prompt.name} ({one_line(error)}): choose another prompt or "
                "format"
            ) from error
        lengths.append(len(tokens))
        if len(tokens) > max_length:
            left_out.setdefault(TOO_LONG, []).append(each.pair_id)
        else:
            encoded.append(Encoded(tuple(tokens), start))
    if not encoded:
        shortest = f", the shortest {min(lengths)}" if lengths else ""
        raise InputError(
            f"none of {len(examples)} pairs fits {max_length} tokens{shortest}: give a larger --max-length, within the "
            "model's context, or a shorter prompt"
        )
    return encoded, left_out


def _kinship(examples: Sequence[TrainingExample]) -> Kinship:
    return Kinship([each.kin for each in examples], [each.hate_speech for each in examples])


def _example(
    hate_speech: str, counter_narrative: str, row: Mapping[str, Any], *, dataset: str, judged: bool
) -> TrainingExample:
    codes = codes_of_row(row, dataset=dataset, judged=judged)
    return TrainingExample(
        make_hs_id(hate_speech),
        make_cn_id(counter_narrative),
        hate_speech,
        counter_narrative,
        kin_of(hate_speech, [counter_narrative], codes=codes, judged=judged),
        row.get("text_language") or row.get("language") or None,
    )
