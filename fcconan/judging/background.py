"""Background passages for prompts, from files."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from fcconan.data import SUFFIXES, read_rows, read_text, short_hash
from fcconan.errors import InputError

COLUMNS = ("text", "knowledge")  # of passages in files of rows
COMMON = 0.5  # share of passages above which a word is ignored as too common
ENOUGH = 10  # smallest number of passages for this rule
# Function words that are missing from the stop words of bm25s.
FURTHER = frozenset(
    "also although always among another anybody anyone anything cannot could either else ever every everybody everyone"
    " everything however may maybe might mine much must neither never nobody none nothing shall since somebody someone"
    " something still though upon us whether whoever whose within without would yet".split()
)


class Passages:
    """Passages with the highest BM25+ scores for a message.

    English function words of the message are ignored, and of ten passages or more also the words that occur in more
    than half of them. A message may have fewer than `k` passages, or none.

    Args:
        path: Folder or file: paragraphs of `.txt` and `.md` files, and the column `text` or `knowledge` of rows, such
            as those of a built `kn-conan`.
        k: Largest number of passages.

    Attributes:
        hash: Hash of the passages, for the identity of a result.

    Raises:
        InputError: There are no passages, or a file cannot be read.
    """

    def __init__(self, path: Path, *, k: int = 3) -> None:
        from bm25s.stopwords import STOPWORDS_EN_PLUS
        from rank_bm25 import BM25Plus

        texts: list[str] = []
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in (".txt", ".md"):
                texts += re.split(r"\n\s*\n", read_text(file))
            elif file.suffix in SUFFIXES:
                texts += [str(row[each]) for row in read_rows(file) for each in COLUMNS if row.get(each)]
        self._passages = [*dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts)))]
        if not self._passages:
            raise InputError(
                f"found no passages in {path}, expected .txt or .md files, or {', '.join(SUFFIXES)} with a column "
                f"{' or '.join(COLUMNS)}: give another folder or file"
            )
        words = [_words(text) for text in self._passages]
        self._index = BM25Plus(words)  # without negative weights for words that occur in most passages
        self._words = [frozenset(each) for each in words]
        counts = Counter(word for each in self._words for word in each)
        common = {word for word, n in counts.items() if len(words) >= ENOUGH and n > COMMON * len(words)}
        self._ignored, self._k = FURTHER.union(STOPWORDS_EN_PLUS, common), k
        self.hash = short_hash(str(k), *self._passages)
        self.find = cache(self._find)

    def _find(self, message: str) -> str | None:
        """Returns the passages for a message; None if no passage shares a content word with it."""
        words = [word for word in _words(message) if word not in self._ignored]
        scores = self._index.get_scores(words)
        sharing = [number for number, known in enumerate(self._words) if not known.isdisjoint(words)]
        best = sorted(sharing, key=lambda number: -scores[number])[: self._k]
        return "\n\n".join(self._passages[number] for number in best) or None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
