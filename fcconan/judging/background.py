"""Background knowledge for grounded judges, from kn-conan or a folder of passages."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fcconan.data import SUFFIXES, check_there, open_table, read_rows, read_text, short_hash
from fcconan.errors import InputError

Row = Mapping[str, Any]
COMMON = 0.5  # share of passages above which a word is ignored as too common
ENOUGH = 10  # smallest number of passages for this rule
# Function words that are missing from the stop words of bm25s.
FURTHER = frozenset(
    "also although always among another anybody anyone anything cannot could either else ever every everybody everyone"
    " everything however may maybe might mine much must neither never nobody none nothing shall since somebody someone"
    " something still though upon us whether whoever whose within without would yet".split()
)


class KnownKnowledge:
    """Background knowledge of a dataset, by the id of the message.

    Args:
        folder: Folder of a built `kn-conan`, or of another dataset whose pairs have a column `knowledge`.

    Attributes:
        configuration: All settings that change the results.
        nothing: Explanation of missing knowledge, for notes.

    Raises:
        InputError: The dataset has no pairs with knowledge.
    """

    nothing = "their messages are not in the dataset"

    def __init__(self, folder: Path) -> None:
        self._by_message: dict[str, dict[str, None]] = {}  # texts in their order, each once
        for path in sorted((folder / "pairs").glob("*.parquet")):
            for row in read_rows(path):
                if text := row.get("knowledge"):
                    self._by_message.setdefault(row["hs_id"], {})[text] = None
        if not self._by_message:
            raise InputError(f"{folder} has no pairs with `knowledge`: give a folder of `fcconan build kn-conan`")

        texts = (each for message, known in sorted(self._by_message.items()) for each in (message, *known))
        self.configuration: dict[str, Any] = {"knowledge": short_hash(*texts)}

    def __call__(self, row: Row) -> str | None:
        """Returns the knowledge about the message of a row, a paragraph for each source; None without any."""
        return "\n\n".join(self._by_message.get(row["hs_id"], ())) or None


class Passages:
    """Passages of a folder with the highest BM25+ scores for a message.

    English function words of the message are ignored, and in a folder of ten passages or more also the words that occur
    in more than half of them. A message may have fewer than `k` passages, or none.

    Args:
        folder: Folder with `.txt` and `.md` files, whose paragraphs are the passages, or files of rows with a column
            `text`.
        k: Largest number of passages.

    Attributes:
        configuration: All settings that change the results.
        nothing: Explanation of missing knowledge, for notes.

    Raises:
        InputError: There are no passages, or a file cannot be read.
    """

    nothing = "no passage shares a content word with their messages"

    def __init__(self, folder: Path, *, k: int = 3) -> None:
        from bm25s.stopwords import STOPWORDS_EN_PLUS
        from rank_bm25 import BM25Plus

        self._passages = _passages(folder)
        if not self._passages:
            raise InputError(f"{folder} has no passages: give a folder with .txt, .md or {', '.join(SUFFIXES)} files")
        words = [_words(text) for text in self._passages]
        # BM25+ has no negative weights for words that occur in most passages.
        self._index = BM25Plus(words)
        self._words = [frozenset(each) for each in words]
        english = FURTHER.union(STOPWORDS_EN_PLUS)
        self._common = set(english)
        if len(words) >= ENOUGH:
            counts = Counter(word for each in self._words for word in each)
            self._common |= {word for word, n_with in counts.items() if n_with > COMMON * len(words)}
        self._k = k
        self.configuration: dict[str, Any] = {
            "passages": short_hash(*self._passages),
            "k": k,
            "common": {"words": short_hash(*sorted(english)), "share": COMMON, "from": ENOUGH},
        }
        self._found: dict[str, str | None] = {}

    def __call__(self, row: Row) -> str | None:
        """Returns the passages for the message of a row."""
        return self.find(str(row["hate_speech"]))

    def find(self, message: str) -> str | None:
        """Returns the passages for a message; None if no passage shares a content word with it."""
        if message not in self._found:
            self._found[message] = self._search(message)
        return self._found[message]

    def _search(self, message: str) -> str | None:
        words = [word for word in _words(message) if word not in self._common]
        scores = self._index.get_scores(words)
        sharing = [number for number, known in enumerate(self._words) if not known.isdisjoint(words)]
        best = sorted(sharing, key=lambda number: -scores[number])[: self._k]
        return "\n\n".join(self._passages[number] for number in best) or None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _passages(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give a folder with passages")
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".txt", ".md", *SUFFIXES):
            texts = _rows(path) if path.suffix in SUFFIXES else re.split(r"\n\s*\n", read_text(path))
            found += [" ".join(text.split()) for text in texts]
    return list(dict.fromkeys(text for text in found if text))


def _rows(path: Path) -> Iterator[str]:
    for row in open_table("rows", [path]):
        check_there(str(path), [] if "text" in row else ["text"], row)
        yield str(row["text"] or "")
