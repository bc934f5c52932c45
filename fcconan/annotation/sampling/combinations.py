"""FC-CONAN's sampling (section 3 of the paper) for any corpus: new combinations of its HS and CNs.

1. HS are sampled from the corpus. The CNs that the corpus pairs with them are the originals.
2. The nearest neighbours of the originals among all CNs, without the originals, are the candidates.
3. CNs are sampled from the candidates, and every HS is paired with every CN.

None of these pairs occurs in the corpus. This is checked independently of the sampling, by ids and by texts.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcconan.annotation.campaigns import Row, Unit
from fcconan.annotation.sampling.corpus import Corpus, spoken_pairs, words_of
from fcconan.building import group_values
from fcconan.data import make_pair_id
from fcconan.errors import InputError
from fcconan.retrieval import Ranking, Rankings, Retriever, rank_all

# Random streams: samples of one kind do not affect those of another.
DRAW_HS, DRAW_MEMBER, DRAW_CN = range(3)

# Descriptions of the counts in a report.
COUNT_DESCRIPTIONS = {
    "rows": "rows of the corpus",
    "rows_in_another_language": "left out: text_language is another language",
    "pairs_in_corpus": "different pairs of HS and CN",
    "hs_in_corpus": "different HS",
    "cns_in_corpus": "different CNs",
    "hs_given": "in the list",
    "hs_twice": "left out: equal to another one except for case or punctuation",
    "hs_sampled": "sampled at random, or given",
    "originals": "different CNs that the corpus pairs with them",
    "dropped_as_original": "left out: originals are not candidates",
    "dropped_as_existing": "left out: an original or pair of the corpus, except for case or punctuation",
    "hits": "nearest CNs of the originals",
    "neighbours": "different CNs among them",
    "dropped_as_alike": "left out: equal to another neighbour except for case or punctuation",
    "candidates": "remaining CNs: new to every sampled HS",
    "originals_without_neighbour": "originals none of whose neighbours is a candidate",
    "cns_given": "in the list",
    "cns_twice": "left out: equal to another one except for case or punctuation",
    "cns_sampled": "sampled at random from these, or all of them",
    "combinations": "every HS with every CN",
    "pairs": "pairs to judge: every sampled HS with every sampled CN, without pairs of the corpus",
    "pairs_existing_by_id": "of these: pairs of the corpus, found by their ids",
    "pairs_existing_by_text": "of these: pairs of the corpus, found by their words",
    "replies": "given",
    "systems": "authors of the replies",
    "items": "items that the replies answer",
    "empty": "left out: replies without a word",
    "same_text": "replies with the same text as another reply to the same item; each is judged",
    "without_background": "shown without background knowledge, as the replies have none",
    "without_references": "shown without a reference, as the replies have none",
    "possible": "pairs of replies of two systems to one item",
    "identical": "left out: both replies have the same text, which is a tie",
    "comparisons": "remaining pairs, or the requested number of them",
    "anchor": "gold questions: units with known answers, mixed into the sessions",
    "quiz": "units with known answers, in the qualification test",
}


@dataclass(frozen=True)
class CampaignContent:
    """The content of a new campaign.

    Attributes:
        units: Units to annotate.
        texts: Rows by file of the campaign's folder.
        made_from: Entry in the campaign's settings; `counts` is the report.
    """

    units: list[Unit]
    texts: dict[str, list[Row]]
    made_from: dict[str, Any]


@dataclass(frozen=True)
class Neighbours:
    """The search for neighbours.

    Attributes:
        retriever: Retriever that ranks CNs for a CN.
        k: Number of neighbours of each original.
        count_itself: Whether neighbours are counted as in FC-CONAN: the k nearest CNs include the CN itself and
            originals, which are then dropped. Otherwise the k nearest CNs that can be candidates.
    """

    retriever: Retriever
    k: int = 2
    count_itself: bool = False


def sample_pairs(
    corpus: Corpus,
    neighbours: Neighbours,
    *,
    n_hs: int | None,
    n_cns: int | None = None,
    among: Collection[str] | None = None,
    divisible_by: int = 1,
    seed: int = 0,
) -> CampaignContent:
    """Samples the units of a campaign on pairs from a corpus.

    The result does not depend on the order of the corpus. With the same lists, the HS and CNs of a smaller campaign are
    the
    first ones of a larger campaign.

    Args:
        corpus: The corpus.
        neighbours: Search for the CNs nearest to the originals.
        n_hs: Number of HS; None for all.
        n_cns: Number of CNs; None for the maximum.
        among: Ids of the HS to sample from; None for all.
        divisible_by: Divisor of the number of pairs, such as the number of annotators.
        seed: Seed of the samples.

    Raises:
        InputError: The corpus has fewer HS or candidates than requested, the number of pairs is not a multiple of the
            divisor, or the retriever fails.
    """
    hs = _draw_hs(corpus, n_hs, corpus.hs if among is None else among, seed)
    groups = {corpus.groups[key] for key in hs}
    originals = sorted({cn for key, cn in corpus.pairs if corpus.groups[key] in groups})
    found = _find(corpus, originals, neighbours)
    candidates = sorted(found.of)
    counts = {
        "rows": corpus.n_rows,
        "rows_in_another_language": corpus.n_other_language,
        "pairs_in_corpus": len(corpus.pairs),
        "hs_in_corpus": len(corpus.hs),
        "cns_in_corpus": len(corpus.cns),
        "hs_sampled": len(hs),
        "originals": len(originals),
        **found.counts,
    }
    how = f"the {neighbours.k} nearest of {len(originals)} originals give {len(candidates)} new ones"
    drawn = draw(candidates, None, seed, DRAW_CN)
    pairs = [len(hs) * size for size in range(1, len(drawn) + 1)]
    cns = drawn[: round_to_multiple(n_cns, pairs, divisible_by=divisible_by, how=how)]
    cn_rows = [{"cn_id": key, "text": corpus.cns[key], **corpus.about(key), **found.provenance(key)} for key in cns]
    texts = {"hs.jsonl": hs_rows(corpus, hs), "cn.jsonl": cn_rows}
    units = [Unit(make_pair_id(one, other), hs_id=one, cn_id=other) for one in hs for other in cns]
    counts |= {"cns_sampled": len(cns), "pairs": len(units), **check_disjoint(units, texts, corpus)}
    made_from = {
        "kind": "corpus",
        "hs": n_hs,
        "cns": n_cns,
        "divisible_by": divisible_by,
        "neighbours": neighbours.k,
        "neighbours_count_itself": neighbours.count_itself,
        "encoder": dict(
            getattr(
                getattr(neighbours.retriever, "encoder", None), "configuration", {"name": neighbours.retriever.name}
            )
        ),
        "counts": counts,
    }
    return CampaignContent(units, texts, made_from)


def hs_rows(corpus: Corpus, hs: Iterable[str]) -> list[Row]:
    """Returns the rows of HS, with metadata of the corpus."""
    return [{"hs_id": key, "text": corpus.hs[key], **corpus.about(key)} for key in hs]


def draw(items: Sequence[str], number: int | None, seed: int, stream: int) -> list[str]:
    """Returns items in random order; a smaller sample is the start of a larger one.

    Args:
        items: Population.
        number: Sample size; None for all.
        seed: Seed of the campaign.
        stream: Number of the random stream; streams of one seed are independent.
    """
    order = np.random.default_rng([seed, stream]).permutation(len(items))
    return [items[place] for place in order[: len(items) if number is None else number]]


def round_to_multiple(number: int | None, pairs: Sequence[int], *, divisible_by: int, how: str) -> int:
    """Returns the number of CNs for which the number of pairs is a multiple of a divisor.

    Args:
        number: Requested number; None for the largest possible.
        pairs: Number of pairs with the first CN, the first two CNs, and so on.
        divisible_by: Divisor of the number of pairs.
        how: Origin and number of the CNs, for messages.

    Raises:
        InputError: There are fewer CNs, or the number of pairs is not a multiple.
    """
    more = "raise --neighbours, or give more CNs with --cn-file"
    if not pairs:
        raise InputError(f"{how}, so there is nothing to judge: {more}")
    if number is not None and number > len(pairs):
        raise InputError(f"{number} CNs are requested, but {how}: give --cns {len(pairs)}, {more}")
    even = [size for size, total in enumerate(pairs, start=1) if total and total % divisible_by == 0]
    if not even:
        raise InputError(f"{how}, and no number of pairs is a multiple of {divisible_by}: change --divisible-by")
    if number is None:
        return even[-1]
    if number not in even:
        nearest = sorted(sorted(even, key=lambda size: abs(size - number))[:2])
        raise InputError(
            f"{number} CNs give {pairs[number - 1]} pairs, expected a multiple of {divisible_by}: give --cns "
            f"{' or '.join(map(str, nearest))}"
        )
    return number


def check_disjoint(units: Iterable[Unit], texts: dict[str, list[Row]], corpus: Corpus) -> dict[str, int]:
    """Checks, by ids and by words, that no unit is a pair of the corpus.

    Args:
        units: Units of the campaign.
        texts: Texts of the campaign, by file.
        corpus: The corpus.

    Returns:
        The numbers of such pairs, which are 0.

    Raises:
        RuntimeError: A unit is a pair of the corpus; this is a bug.
    """
    words = {row["hs_id"]: words_of(row["text"]) for row in texts["hs.jsonl"]}
    words |= {row["cn_id"]: words_of(row["text"]) for row in texts["cn.jsonl"]}
    ids = {make_pair_id(hs, cn) for hs, cn in corpus.pairs}
    spoken = spoken_pairs(corpus)
    by_id = by_text = 0
    for unit in units:
        by_id += unit.unit_id in ids
        by_text += (words[str(unit.hs_id)], words[str(unit.cn_id)]) in spoken
    if by_id or by_text:
        raise RuntimeError(f"{by_id} units are pairs of the corpus by id, {by_text} by text: please report this bug")
    return {"pairs_existing_by_id": by_id, "pairs_existing_by_text": by_text}


def _draw_hs(corpus: Corpus, number: int | None, among: Collection[str], seed: int) -> list[str]:
    if unknown := sorted(set(among) - corpus.hs.keys()):
        raise InputError(
            f"{len(unknown)} of {len(among)} HS are not in the corpus ({unknown[0]}): give HS of the corpus"
        )
    members = group_values((corpus.groups[key], key) for key in sorted(among))
    number = len(members) if number is None else number
    if number > len(members):
        texts = f" ({len(among)} texts, of which some are in one group)" if len(members) < len(among) else ""
        where = "list" if len(among) < len(corpus.hs) else "corpus"
        raise InputError(f"{number} HS are requested, but the {where} has {len(members)}{texts}: give a smaller --hs")
    firsts = {group[0]: group for group in members.values()}
    choose = np.random.default_rng([seed, DRAW_MEMBER])
    drawn = draw(sorted(firsts), number, seed, DRAW_HS)
    return [firsts[first][int(choose.integers(len(firsts[first])))] for first in drawn]


@dataclass
class _Found:
    """The neighbours of originals.

    Attributes:
        of: Candidate -> original -> similarity.
        counts: Counts for the report.
    """

    of: dict[str, dict[str, float]]
    counts: dict[str, int]

    def provenance(self, key: str) -> Row:
        """Returns the originals to which a candidate is a neighbour, and the highest similarity."""
        near = self.of[key]
        return {"neighbour_of": sorted(near), "similarity": round(max(near.values()), 4)}


def _find(corpus: Corpus, originals: Sequence[str], neighbours: Neighbours) -> _Found:
    spoken = {key: words_of(text) for key, text in corpus.cns.items()}
    known = {spoken[key] for key in originals}
    catalogue = {key: corpus.cns[key] for key in sorted(corpus.cns)}
    aside: dict[str, set[str]] = {"original": set(), "existing": set()}
    depth = neighbours.k
    if not neighbours.count_itself:
        aside["original"] = set(originals)
        aside["existing"] = {key for key in catalogue if spoken[key] in known} - aside["original"]
        catalogue = {key: text for key, text in catalogue.items() if spoken[key] not in known}
        depth += len(catalogue) - len({spoken[key] for key in catalogue})  # other spellings may rank higher
    asked = {key: corpus.cns[key] for key in originals}
    ranked = rank_all(neighbours.retriever, asked, catalogue, depth) if catalogue else Rankings()
    if ranked.failures:
        key, reason = next(iter(ranked.failures.items()))
        raise InputError(f"{neighbours.retriever.name} finds no neighbours of {key} ({reason}): choose another encoder")
    return _walk(ranked, originals, spoken, aside, neighbours.k)


def _walk(
    ranked: Rankings, originals: Sequence[str], spoken: dict[str, str], aside: dict[str, set[str]], k: int
) -> _Found:
    """Selects the neighbours that can be candidates, and counts the others."""
    ids, known = set(originals), {spoken[key] for key in originals}
    of: dict[str, dict[str, float]] = {}
    first: dict[str, str] = {}
    met: set[str] = set()
    alike: set[str] = set()
    hits = without = 0
    for original in originals:
        taken: set[str] = set()  # by words: two spellings are one neighbour
        kept = False
        for key, similarity in _similar(ranked.get(original, [])):
            taken.add(spoken[key])
            if len(taken) > k:
                break
            if key == original:
                continue
            hits += 1
            met.add(key)
            if spoken[key] in known:
                aside["original" if key in ids else "existing"].add(key)
                continue
            kept = True
            same = first.setdefault(spoken[key], key)
            alike |= {key} - {same}
            near = of.setdefault(same, {})
            near[original] = max(similarity, near.get(original, -math.inf))
        without += not kept
    counts = {
        "dropped_as_original": len(aside["original"]),
        "dropped_as_existing": len(aside["existing"]),
        "hits": hits,
        "neighbours": len(met),
        "dropped_as_alike": len(alike),
        "candidates": len(of),
        "originals_without_neighbour": without,
    }
    return _Found(of, counts)


def _similar(ranking: Ranking) -> Ranking:
    """Leaves out CNs that have nothing in common with the query, as their order is arbitrary."""
    return [(key, similarity) for key, similarity in ranking if similarity > 0]
