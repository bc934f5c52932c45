"""The training pairs that are learnt from and shown as examples, and which of them a message may be shown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fcconan.data import Kinship, check_there, codes_of_row, id_of, kin_of, make_cn_id, make_hs_id, make_pair_id
from fcconan.errors import InputError
from fcconan.generation.items import APPROPRIATE, Example, Item, language_of_row
from fcconan.generation.splits import Part, is_judged, open_part
from fcconan.retrieval import TrainingPair

CORPUS = "corpus"
_LISTED = 5  # pairs that a message names


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


def first_names(names: Sequence[str], between: str) -> str:
    """Returns the first names of a list, and how many more there are."""
    more = len(names) - _LISTED
    return between.join(names[:_LISTED]) + (f" and {more} more, which --json FILE lists" if more > 0 else "")


@dataclass(frozen=True)
class Pair:
    """A message with a CN that people wrote for it or found to fit it.

    Attributes:
        pair_id: Of the pair.
        cn_id: Of the CN.
        hate_speech: The message; empty for a CN of a catalogue without messages.
        counter_narrative: The CN.
        kin: What `fcconan.data.leakage.kin_of` says of it.
        language: Code of the message's language, where the dataset names one.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    kin: frozenset[str]
    language: str | None = None

    def example(self, score: float = 0.0) -> Example:
        """Returns the pair as what is shown."""
        return Example(self.pair_id, self.cn_id, self.hate_speech, self.counter_narrative, score)


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs of one split, in the order of the data.

    Attributes:
        pairs: Those whose CN fits its message.
        not_appropriate: How many others there are.
        configuration: Which they are, as JSON-able values.
        judged: Whether people judged that the CNs fit, rather than wrote them for the messages.
    """

    pairs: tuple[Pair, ...]
    not_appropriate: int
    configuration: Mapping[str, Any]
    judged: bool


class Pool:
    """Training pairs, each once, and the kin among them.

    Args:
        pairs: The pairs.
        configuration: Where they are from, as JSON-able values.
        judged: Whether their CNs are those that people judged for the messages of a benchmark.

    Attributes:
        pairs: The pairs.
        judged: As given.
        groups: The group of every pair: of one group are the pairs with one message, in the same or other words.
        configuration: Where the pairs are from, and how many there are.
    """

    def __init__(
        self, pairs: Sequence[Pair], configuration: Mapping[str, Any] | None = None, *, judged: bool = False
    ) -> None:
        self.judged = judged
        unique: dict[str, Pair] = {}
        for pair in pairs:
            first = unique.setdefault(pair.pair_id, pair)
            unique[pair.pair_id] = replace(first, kin=first.kin | pair.kin)
        self.pairs = tuple(unique.values())
        self._kinship = Kinship([pair.kin for pair in self.pairs], [pair.hate_speech for pair in self.pairs])
        self.groups = self._kinship.groups
        self.configuration: dict[str, Any] = {**(configuration or {}), "pairs": len(self.pairs)}
        self._known: dict[tuple[frozenset[str], str], frozenset[int]] = {}

    def kin_of(self, item: Item) -> frozenset[int]:
        """Returns the positions of the pairs that may not be shown for an item.

        What follows from the item's texts counts also where `item.kin` does not say it.
        """
        known = any(token.startswith("hs:") for token in item.kin)
        kin = item.kin if known else item.kin | kin_of(item.hate_speech, item.references)
        key = (kin, item.hate_speech)
        if key not in self._known:
            self._known[key] = self._kinship.of(*key)
        return self._known[key]

    def training(self, without: frozenset[int] = frozenset()) -> list[TrainingPair]:
        """Returns the pairs with a message as retrieval systems learn from them, without those at some positions."""
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
) -> Pool:
    """Reads training pairs as a pool, as `load_training_pairs` does; or the catalogue of a benchmark.

    Args:
        source: As for `load_training_pairs`.
        config: The same; `corpus` gives the catalogue of a benchmark: CNs without messages.
        split: A split of that part; by default `train` where there is one.
        columns: Name of a column here -> its name in a file.

    Raises:
        InputError: As `load_training_pairs`.
    """
    if config == CORPUS:
        part = open_part(source, config=config, split=split, columns=columns, training=True)
        entries = [(row["hs_id"], row["hate_speech"]) for _, row in part.all_rows()]
        catalogue = [Pair(key, make_cn_id(text), "", text, kin_of("", [text])) for key, text in entries]
        return Pool(catalogue, _configuration(part), judged=True)
    read = load_training_pairs(source, config=config, split=split, columns=columns)
    return Pool(read.pairs, read.configuration, judged=read.judged)


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
        source: A folder that `fcconan build` wrote, or a CSV, JSONL or parquet file with columns `hate_speech` and
            `counter_narrative`.
        config: A part of the folder; by default its training part, else its pairs.
        split: A split of that part; by default `train` where there is one.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.

    Raises:
        RefusedPairsError: A text is empty.
        InputError: The file, folder or part is missing, or it holds no pairs.
    """
    part = open_part(source, config=config, split=split, columns=columns, filter=filter, training=True)
    rows = part.all_rows()
    judged = is_judged(rows)
    pairs, empty = [], []
    for place, row in rows:
        check_there(place, [] if "counter_narrative" in row else ["counter_narrative"], row)
        message, reply = row.get("hate_speech", ""), row["counter_narrative"]
        if not (message.strip() and reply.strip()):
            empty.append(place)
        elif row.get("label") in (None, "", APPROPRIATE):
            own_id = id_of(row, "pair_id", place) or make_pair_id(make_hs_id(message), make_cn_id(reply))
            codes = codes_of_row(row, dataset=part.dataset, judged=judged)
            kin = kin_of(message, [reply], codes=codes, judged=judged)
            pairs.append(Pair(own_id, make_cn_id(reply), message, reply, kin, language_of_row(row)))
    if empty:
        raise RefusedPairsError(
            f"{source} has {len(empty)} pairs without a message or without a CN ({first_names(empty, '; ')}): fill or "
            "remove those rows",
            [{"row": place} for place in empty],
        )
    if not pairs:
        raise InputError(f"{source} has {len(rows)} pairs, and no CN in them fits its message: choose another dataset")
    configuration = _configuration(part) | {"pairs": len(pairs)}
    return TrainingPairs(tuple(pairs), len(rows) - len(pairs), configuration, judged)


def _configuration(part: Part) -> dict[str, Any]:
    return {"dataset": part.dataset, "fingerprint": part.fingerprint, "config": part.config, "split": part.split}
