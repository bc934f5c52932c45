"""Leakage groups: messages that are the same, nearly the same, or paraphrases of each other.

Two messages belong to one group in these cases:

- Their texts are equal up to case, punctuation and white space.
- Their texts are nearly equal: of all runs of three letters in either text, at least two thirds are in both.
- They have the same upstream code, which paraphrases and translations in CONAN share. The code comes from the columns
  of the row, or from a table of all messages of CONAN in this package (hashes and codes only), because copies of CONAN
  often lack its ids.
- They have no code, and the same CN was written for both: paraphrases share their CNs. CNs that were only judged as
  appropriate for a message do not count here.

A CN that was written for a message can reveal the message, so that pairs with such a CN leak, too.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.data.content import content_folder
from fcconan.data.files import SUFFIXES
from fcconan.data.ids import decode_conan_id, normalise, short_hash

TABLE = "annotations/generation/kin/conan.csv"
MESSAGE, CODE, REPLY, WRITTEN = "hs:", "code:", "cn:", "written:"
_NEAR = "near:"  # with the letters of a nearly equal message
_ALIKE = (MESSAGE, CODE, WRITTEN, _NEAR)  # pairs with a common key of these kinds form a group


def simplify_text(text: str) -> str:
    """Returns the letters and digits of a text, in lower case; the text itself where it has none."""
    return "".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())) or normalise(text)


def message_leakage_keys(
    hate_speech: str, replies: Iterable[str] = (), *, codes: Iterable[str] = (), judged: bool = False
) -> frozenset[str]:
    """Returns the leakage keys of a message: messages with a common key may be paraphrases of each other.

    Args:
        hate_speech: The message; empty for a CN without a message.
        replies: CNs of the message.
        codes: Upstream codes of the message, in addition to those known from its text.
        judged: Whether the CNs were judged as appropriate for the message, instead of written for it.

    Returns:
        `hs:` with a hash of the letters of the message, `code:` with an upstream code, `cn:` with a hash of the letters
        of a CN, and `written:` with the same hash where the CN was written for the message and no code is known.
    """
    own = {f"{CODE}{code}" for code in (*codes, *known_codes(hate_speech))}
    hashes = [short_hash(simplify_text(text)) for text in replies]
    found = own | {f"{REPLY}{each}" for each in hashes}
    if hate_speech:
        found.add(f"{MESSAGE}{short_hash(simplify_text(hate_speech))}")
        if not own and not judged:
            found |= {f"{WRITTEN}{each}" for each in hashes}
    return frozenset(found)


def message_codes(row: Mapping[str, Any], *, dataset: str = "", judged: bool = False) -> tuple[str, ...]:
    """Returns the upstream codes of the message of a row.

    The numbers of messages in CONAN restart for each language: HS0033 is one message in the English part and another
    in the French part.

    Args:
        row: A pair, with `hs_code` (in CONAN also `language`) or the id of CONAN as `source_id`.
        dataset: Dataset of the row. Other codes than those of CONAN are only compared within a dataset. Codes of files
            are compared with those of all other files.
        judged: Whether the pair is a combination of a message with any CN. Its id then belongs to the CN.
    """
    code = row.get("hs_code")
    if code and "subtopic_code" in row and row.get("language"):
        return (f"conan-{row['language']}:{code}",)
    if code:
        return (f"{'' if dataset.endswith(SUFFIXES) else dataset}:{code}",)
    decoded = None if judged else decode_conan_id(str(row.get("source_id") or ""))
    return (f"conan-{decoded['language']}:{decoded['hs_code']}",) if decoded else ()


def known_codes(hate_speech: str) -> tuple[str, ...]:
    """Returns the codes of a message of CONAN; empty for other messages."""
    return _table().get(short_hash(simplify_text(hate_speech)), ())


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ...]]:
    from pandas import read_csv

    codes: dict[str, tuple[str, ...]] = (
        read_csv(content_folder() / TABLE).groupby("message")["code"].agg(tuple).to_dict()
    )
    return codes


class LeakageIndex:
    """An index of training pairs by leakage keys.

    Args:
        keys: Leakage keys of each pair; length n.
        messages: Message of each pair; length n, or empty to ignore nearly equal messages.

    Attributes:
        groups: Leakage group of each pair; length n.
    """

    def __init__(self, keys: Sequence[frozenset[str]], messages: Sequence[str] = ()) -> None:
        self._near = _Near(messages)
        near = [self._near.tokens(message) for message in messages] or [frozenset[str]()] * len(keys)
        self._keys = [own | others for own, others in zip(keys, near, strict=True)]
        self._with: dict[str, list[int]] = defaultdict(list)
        for position, each in enumerate(self._keys):
            for token in each:
                self._with[token].append(position)
        alike = ([token for token in each if token.startswith(_ALIKE)] for each in self._keys)
        self.groups = tuple(connected_groups(alike))
        self._members: dict[int, list[int]] = defaultdict(list)
        for position, group in enumerate(self.groups):
            self._members[group].append(position)

    def of(self, keys: Iterable[str], message: str = "") -> frozenset[int]:
        """Returns the positions of the pairs that leak information about a message.

        These are all pairs in the leakage group of the message, and all pairs with a CN of these.

        Args:
            keys: Leakage keys of the message.
            message: Text of the message.
        """
        tokens = {*keys, *self._near.tokens(message)}
        written = {token.removeprefix(WRITTEN) for token in tokens if token.startswith(WRITTEN)}
        own = [position for token in tokens if token.startswith(_ALIKE) for position in self._positions(token)]
        own += [position for each in written for position in self._positions(REPLY + each)]
        found = self._whole(own)
        replies = self._replies(found) | {token for token in tokens if token.startswith(REPLY)}
        linked = [p for token in replies for p in self._positions(WRITTEN + token.removeprefix(REPLY))]
        found |= self._whole(linked)
        return frozenset(found | {p for token in replies | self._replies(found) for p in self._positions(token)})

    def _positions(self, token: str) -> Sequence[int]:
        return self._with.get(token, ())

    def _whole(self, positions: Iterable[int]) -> set[int]:
        return {member for group in {self.groups[p] for p in positions} for member in self._members[group]}

    def _replies(self, positions: Iterable[int]) -> set[str]:
        return {token for p in positions for token in self._keys[p] if token.startswith(REPLY)}


class _Near:
    """Finds nearly equal messages by their runs of three letters."""

    def __init__(self, messages: Iterable[str]) -> None:
        self._texts = list(dict.fromkeys(simplify_text(message) for message in messages if message))
        having: dict[str, list[int]] = defaultdict(list)
        for place, letters in enumerate(self._texts):
            for run in _runs(letters):
                having[run].append(place)
        self._having = {run: np.array(places) for run, places in having.items()}
        self._sizes = np.array([len(_runs(letters)) for letters in self._texts])
        self._known: dict[str, frozenset[str]] = {}

    def tokens(self, message: str) -> frozenset[str]:
        """Returns a key `near:` with the letters of each nearly equal message."""
        letters = simplify_text(message)
        if letters not in self._known:
            runs = _runs(letters)
            having = [self._having[run] for run in runs if run in self._having] or [np.zeros(0, dtype=np.int64)]
            shared = np.bincount(np.concatenate(having), minlength=len(self._texts))
            either = len(runs) + self._sizes - shared
            near = np.flatnonzero((shared > 0) & (3 * shared >= 2 * either)).tolist()
            self._known[letters] = frozenset(f"{_NEAR}{self._texts[place]}" for place in near)
        return self._known[letters]


def _runs(letters: str) -> frozenset[str]:
    return frozenset(letters[start : start + 3] for start in range(max(1, len(letters) - 2)) if letters)


def connected_groups(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """Numbers the groups of items that are connected by common keys, by first occurrence.

    Args:
        keys: The keys of every item.

    Returns:
        The group of every item.

    >>> connected_groups([{"a"}, {"b"}, {"a", "c"}, {"c"}, {"b"}])
    [0, 1, 0, 0, 1]
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    of_items = [list(each) for each in keys]
    columns = {key: column for column, key in enumerate(dict.fromkeys(chain(*of_items)), start=len(of_items))}
    edges = [(row, columns[key]) for row, each in enumerate(of_items) for key in each]
    size = len(of_items) + len(columns)
    rows = ([row for row, _ in edges], [column for _, column in edges])
    _, groups = connected_components(coo_matrix((np.ones(len(edges)), rows), shape=(size, size)), directed=False)
    found: list[int] = groups[: len(of_items)].tolist()
    return found


def leakage_groups(messages: Sequence[str], codes: Sequence[Sequence[str]] = ()) -> npt.NDArray[np.int64]:
    """Returns the leakage group of each message: messages of one group say the same, in the same or other words.

    Replies do not join groups, as the same reply may answer any number of messages.

    Args:
        messages: The HS; length n.
        codes: Upstream codes of each HS, in addition to those known from its text; empty by default.

    Returns:
        Group of each message, numbered by first occurrence; shape (n,).
    """
    own = codes or [()] * len(messages)
    tokens = [message_leakage_keys(message, codes=each) for message, each in zip(messages, own, strict=True)]
    return np.array(LeakageIndex(tokens, messages).groups, dtype=np.int64)
