"""The training pairs that examples and catalogues are taken from, and which of them a message may be shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fcconan.data import Kinship, codes_of_row, id_of, kin_of, make_cn_id, make_hs_id, make_pair_id
from fcconan.errors import InputError
from fcconan.generation.items import APPROPRIATE, Example, Item
from fcconan.generation.splits import is_judged, open_part
from fcconan.retrieval import TrainingPair

CORPUS = "corpus"


@dataclass(frozen=True)
class Pair:
    """A message with a CN that people wrote for it or found to fit it.

    Attributes:
        pair_id: Of the pair.
        cn_id: Of the CN.
        hate_speech: The message; empty for a CN of a catalogue without messages.
        counter_narrative: The CN.
        kin: What `fcconan.data.leakage.kin_of` says of it.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    kin: frozenset[str]

    def example(self, score: float = 0.0) -> Example:
        """Returns the pair as what is shown."""
        return Example(self.pair_id, self.cn_id, self.hate_speech, self.counter_narrative, score)


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
    """Reads training pairs; those whose label says that the CN does not fit are left out.

    Args:
        source: A folder that `fcconan build` wrote, or a CSV, JSONL or parquet file with columns `hate_speech` and
            `counter_narrative`.
        config: A part of the folder; by default its training part, else its pairs. `corpus` gives the catalogue of a
            benchmark: CNs without messages.
        split: A split of that part; by default `train` where there is one.
        columns: Name of a column here -> its name in a file.

    Raises:
        InputError: There is no such file, folder or part, it holds no pairs, or a text is empty.
    """
    part = open_part(source, config=config, split=split, columns=columns, training=True)
    configuration = {
        "dataset": part.dataset,
        "fingerprint": part.fingerprint,
        "config": part.config,
        "split": part.split,
    }
    rows = part.all_rows()
    if config == CORPUS:
        return Pool([_catalogue_entry(row["hs_id"], row["hate_speech"]) for _, row in rows], configuration, judged=True)
    judged = is_judged(rows)
    pairs = []
    for place, row in rows:
        if "counter_narrative" not in row:
            raise InputError(f"{place}: there is no `counter_narrative`: training pairs have a message and a CN")
        for name in ("hate_speech", "counter_narrative"):
            if not row.get(name, "").strip():
                raise InputError(f"{place}: {name} is empty; remove or mend that row")
        if row.get("label") not in (None, "", APPROPRIATE):
            continue
        message, reply = row["hate_speech"], row["counter_narrative"]
        own_id = id_of(row, "pair_id", place) or make_pair_id(make_hs_id(message), make_cn_id(reply))
        codes = codes_of_row(row, dataset=part.dataset, judged=judged)
        kin = kin_of(message, [reply], codes=codes, judged=judged)
        pairs.append(Pair(own_id, make_cn_id(reply), message, reply, kin))
    if not pairs:
        raise InputError(f"{source} has {len(rows)} pairs, and no CN in them fits its message: choose another dataset")
    return Pool(pairs, configuration, judged=judged)


def _catalogue_entry(key: str, text: str) -> Pair:
    return Pair(key, make_cn_id(text), "", text, kin_of("", [text]))
