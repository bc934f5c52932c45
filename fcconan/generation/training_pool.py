"""Training pairs for fine-tuning and for examples, and their leakage groups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fcconan.data import (
    LeakageIndex,
    check_there,
    make_cn_id,
    make_hs_id,
    make_pair_id,
    message_codes,
    message_leakage_keys,
    optional_id,
)
from fcconan.errors import InputError
from fcconan.generation.items import APPROPRIATE, Example, Item, language_of_row
from fcconan.generation.splits import DatasetSplit, is_judged, open_split
from fcconan.retrieval import TrainingPair

CORPUS = "corpus"
_LISTED = 5  # pairs that a message names


class RefusedPairsError(InputError):
    """Some training pairs are unusable or leak an evaluation.

    Attributes:
        pairs: All refused pairs, as `row`, or as `pair_id` and texts; the message lists only the first ones.
    """

    def __init__(self, message: str, pairs: Sequence[Mapping[str, str]]) -> None:
        super().__init__(message)
        self.pairs = list(pairs)

    @property
    def details(self) -> dict[str, Any]:
        """All pairs, for a file of results."""
        return {"refused": self.pairs}


def first_names(names: Sequence[str], between: str) -> str:
    """Returns the first names of a list, and the number of further ones."""
    more = len(names) - _LISTED
    return between.join(names[:_LISTED]) + (f" and {more} more, which --json FILE lists" if more > 0 else "")


@dataclass(frozen=True)
class Pair:
    """A message with a CN that people wrote for it or labelled appropriate.

    Attributes:
        pair_id: Id of the pair.
        cn_id: Id of the CN.
        hate_speech: Text of the message; empty for a CN of a corpus without messages.
        counter_narrative: Text of the CN.
        leakage_keys: Keys of the leakage group (`fcconan.data.leakage`).
        language: Language code of the message, if the dataset has one.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    leakage_keys: frozenset[str]
    language: str | None = None

    def example(self, score: float = 0.0) -> Example:
        """Returns the pair as an example for prompts."""
        return Example(self.pair_id, self.cn_id, self.hate_speech, self.counter_narrative, score)


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs of one split, in the order of the data.

    Attributes:
        pairs: Pairs with an appropriate CN.
        not_appropriate: Number of other pairs.
        configuration: Description of the pairs, as JSON-able values.
        judged: Whether the pairs are combinations that annotators labelled, rather than CNs written for the messages.
    """

    pairs: tuple[Pair, ...]
    not_appropriate: int
    configuration: Mapping[str, Any]
    judged: bool


class TrainingPool:
    """Distinct training pairs with their leakage groups.

    Args:
        pairs: The pairs.
        configuration: Source of the pairs, as JSON-able values.
        judged: Whether annotators labelled the CNs for the messages of a benchmark.

    Attributes:
        pairs: The distinct pairs.
        judged: The given value.
        groups: Leakage group of each pair; pairs with the same or a paraphrased message have the same group.
        configuration: Source and number of the pairs.
    """

    def __init__(
        self, pairs: Sequence[Pair], configuration: Mapping[str, Any] | None = None, *, judged: bool = False
    ) -> None:
        self.judged = judged
        unique: dict[str, Pair] = {}
        for pair in pairs:
            first = unique.setdefault(pair.pair_id, pair)
            unique[pair.pair_id] = replace(first, leakage_keys=first.leakage_keys | pair.leakage_keys)
        self.pairs = tuple(unique.values())
        self._leakage = LeakageIndex(
            [pair.leakage_keys for pair in self.pairs], [pair.hate_speech for pair in self.pairs]
        )
        self.groups = self._leakage.groups
        self.configuration: dict[str, Any] = {**(configuration or {}), "pairs": len(self.pairs)}
        self._known: dict[tuple[frozenset[str], str], frozenset[int]] = {}

    def excluded_pairs(self, item: Item) -> frozenset[int]:
        """Returns the positions of the pairs in the leakage group of an item.

        Keys that follow from the texts of the item are added if `item.leakage_keys` lacks them.
        """
        known = any(token.startswith("hs:") for token in item.leakage_keys)
        keys = (
            item.leakage_keys if known else item.leakage_keys | message_leakage_keys(item.hate_speech, item.references)
        )
        key = (keys, item.hate_speech)
        if key not in self._known:
            self._known[key] = self._leakage.of(*key)
        return self._known[key]

    def training(self, without: frozenset[int] = frozenset()) -> list[TrainingPair]:
        """Returns the training pairs of retrieval systems: those with a message, without the given positions."""
        return [
            TrainingPair(pair.hate_speech, pair.counter_narrative)
            for position, pair in enumerate(self.pairs)
            if pair.hate_speech and position not in without
        ]


def load_pool(
    source: Path,
    *,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> TrainingPool:
    """Reads training pairs as a pool, or the corpus of a benchmark.

    Args:
        source: As for `load_training_pairs`.
        config: As for `load_training_pairs`; `corpus` is the corpus of a benchmark: CNs without messages.
        split: Split of the config; by default `train` if it exists.
        columns: Name of a column here -> its name in a file.

    Raises:
        InputError: As `load_training_pairs`.
    """
    if config == CORPUS:
        part = open_split(source, config=config, split=split, columns=columns, training=True)
        entries = [(row["hs_id"], row["hate_speech"]) for _, row in part.all_rows()]
        catalogue = [Pair(key, make_cn_id(text), "", text, message_leakage_keys("", [text])) for key, text in entries]
        return TrainingPool(catalogue, _configuration(part), judged=True)
    read = load_training_pairs(source, config=config, split=split, columns=columns)
    return TrainingPool(read.pairs, read.configuration, judged=read.judged)


def load_training_pairs(
    source: Path,
    *,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
) -> TrainingPairs:
    """Reads training pairs; pairs labelled not appropriate are left out and counted.

    Args:
        source: A folder that `fcconan build` wrote, or a CSV, JSONL or parquet file with columns `hate_speech` and
            `counter_narrative`.
        config: Config of the folder; by default its training part, else its pairs.
        split: Split of the config; by default `train` if it exists.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.

    Raises:
        RefusedPairsError: A text is empty.
        InputError: The file, folder or config is missing or has no pairs.
    """
    part = open_split(source, config=config, split=split, columns=columns, filter=filter, training=True)
    rows = part.all_rows()
    judged = is_judged(rows)
    pairs, empty = [], []
    for place, row in rows:
        check_there(place, [] if "counter_narrative" in row else ["counter_narrative"], row)
        message, reply = row.get("hate_speech", ""), row["counter_narrative"]
        if not (message.strip() and reply.strip()):
            empty.append(place)
        elif row.get("label") in (None, "", APPROPRIATE):
            own_id = optional_id(row, "pair_id", place) or make_pair_id(make_hs_id(message), make_cn_id(reply))
            codes = message_codes(row, dataset=part.dataset, judged=judged)
            keys = message_leakage_keys(message, [reply], codes=codes, judged=judged)
            pairs.append(Pair(own_id, make_cn_id(reply), message, reply, keys, language_of_row(row)))
    if empty:
        raise RefusedPairsError(
            f"{source} has {len(empty)} pairs without a message or without a CN ({first_names(empty, '; ')}): fill or "
            "remove those rows",
            [{"row": place} for place in empty],
        )
    if not pairs:
        raise InputError(f"{source} has {len(rows)} pairs, none of them appropriate: choose another dataset")
    configuration = _configuration(part) | {"pairs": len(pairs)}
    return TrainingPairs(tuple(pairs), len(rows) - len(pairs), configuration, judged)


def _configuration(part: DatasetSplit) -> dict[str, Any]:
    return {"dataset": part.dataset, "fingerprint": part.fingerprint, "config": part.config, "split": part.split}
