"""Rows of several kinds of datasets: pairs, benchmark tables and judgements."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fcconan.building.recipes import Aspect, Rater
from fcconan.building.source_files import coded, numbers
from fcconan.building.tables import Table, group_values
from fcconan.data import PAIR, QRELS, TEXT_BY_ID, Columns, make_cn_id, make_hs_id, make_pair_id
from fcconan.groups import Bootstrap
from fcconan.scoring import measure_agreement

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Any]
EDUCATION = {
    "": None,
    "Less than high school": "below_high_school",
    "High school": "high_school",
    "Some university without degree": "some_university",
    "Bachelor": "bachelor",
    "Master": "master",
    "PhD": "phd",
}


def ids_of(hate_speech: str, counter_narrative: str) -> Row:
    """Returns the three ids of a pair and its two texts, as columns."""
    hs, cn = make_hs_id(hate_speech), make_cn_id(counter_narrative)
    return {
        "pair_id": make_pair_id(hs, cn),
        "hs_id": hs,
        "cn_id": cn,
        "hate_speech": hate_speech,
        "counter_narrative": counter_narrative,
    }


def pair_rows(rows: "DataFrame") -> list[Row]:
    """Returns ids and texts of pairs, source id, and CONAN's columns about topic and author.

    Columns that the file lacks are left out. Without a source id, the number of the row takes its place.
    """
    found: dict[str, list[Any]] = {
        name: ["; ".join(part.strip() for part in cell.split(",") if part.strip()) or None for cell in rows[name]]
        for name in ("hs_type", "hs_subtype", "cn_type", "gender")
        if name in rows
    }
    if "age" in rows:
        found["age"] = numbers(rows, "age", whole=True)
    if "education" in rows:
        found["education"] = coded(rows, "education", EDUCATION)
    found["source_id"] = [*rows.get("source_id", map(str, range(len(rows))))]
    texts = zip(rows["hate_speech"], rows["counter_narrative"], strict=True)
    return [
        ids_of(*pair) | dict(zip(found, values, strict=True))
        for pair, values in zip(texts, zip(*found.values(), strict=True), strict=True)
    ]


def describe_alpha(about: str, units: Iterable[Sequence[float]], level: Any, units_in_words: str) -> str:
    """Returns a line with Krippendorff's alpha for a card.

    Args:
        about: Level of measurement and kind of ratings, in words.
        units: Values of each unit.
        level: `nominal`, `ordinal` or `interval`.
        units_in_words: Noun for units with two or more values.
    """
    values: Any = [*zip_longest(*units, fillvalue=float("nan"))] or [[]]
    row = measure_agreement(values, coefficients=[f"krippendorff_{level}"], bootstrap=Bootstrap(resamples=0)).iloc[0]
    return f"Krippendorff's alpha {about}: {row.value:.3f} ({row.n} {units_in_words})".replace(" nan ", " undefined ")


def vote_agreement(votes: Iterable[Row]) -> list[str]:
    """Returns the agreement of votes for the card. Pairs with one vote, such as inferred ones, do not count."""
    scale = {"not_appropriate": 0.0, "not_sure": 1.0, "appropriate": 2.0}
    units = group_values((vote["pair_id"], scale[vote["label"]]) for vote in votes).values()
    return [
        describe_alpha(f"({level}) of the votes", units, level, "pairs with two or more votes")
        for level in ("nominal", "ordinal")
    ]


def describe_coverage(judged: int, possible: int) -> str:
    """Returns a sentence with the number of judged pairs among all combinations, for the card."""
    unjudged = "; the others are unjudged, not negative" if judged < possible else ""
    return f"{judged} of {possible} combinations of HS and CN are judged{unjudged}."


def texts_table(config: str, texts: Mapping[str, str]) -> Table:
    """Returns a corpus or queries from texts by id, in the order of the texts."""
    ordered = sorted(texts.items(), key=lambda pair: pair[1])
    data = {"_id": [key for key, _ in ordered], "text": [text for _, text in ordered]}
    return Table(config, "test", TEXT_BY_ID.kinds, data, ("_id",))


def qrels_table(config: str, pairs: Sequence[Row]) -> Table:
    """Returns the relevance judgements of labelled pairs: 1 for appropriate, 0 for judged and not appropriate."""
    data = {
        "query-id": [pair["hs_id"] for pair in pairs],
        "corpus-id": [pair["cn_id"] for pair in pairs],
        "score": [int(pair["label"] == "appropriate") for pair in pairs],
    }
    return Table(config, "test", QRELS.kinds, data, ("query-id", "corpus-id"))


def tier_members(pairs: Iterable[Row], tiers: Sequence[str]) -> dict[str, list[Row]]:
    """Returns the pairs of each tier, including those of better tiers.

    Args:
        pairs: The pairs, each with its best tier.
        tiers: Names of the tiers, the best first.
    """
    position = {name: number for number, name in enumerate(tiers)}
    return {name: [pair for pair in pairs if position[pair["tier"]] <= position[name]] for name in tiers}


def tier_tables(
    members: Mapping[str, Sequence[Row]], columns: Columns = PAIR.kinds, *, corpus: Mapping[str, str] | None = None
) -> tuple[list[Table], dict[str, str]]:
    """Returns the tables of the tiers, and corpus, queries and qrels in the layout of BEIR and MTEB.

    Args:
        members: Labelled pairs of each tier, the best tier first. `corpus`, `queries` and `qrels` without a prefix are
            those of the last tier.
        columns: Columns of the pairs.
        corpus: Texts of the corpus by id; by default those of the pairs.

    Returns:
        The tables, and the aliases of configs.
    """
    *better, broadest = members
    everything = members[broadest]
    corpus = corpus or {pair["cn_id"]: pair["counter_narrative"] for pair in everything}
    tables = [Table.from_rows(name, "test", columns, list(held), ("pair_id",)) for name, held in members.items()]
    tables += [
        texts_table("corpus", corpus),
        texts_table("queries", {pair["hs_id"]: pair["hate_speech"] for pair in everything}),
        qrels_table("qrels", everything),
        *(qrels_table(f"{tier}-qrels", members[tier]) for tier in better),
    ]
    aliases = {f"{broadest}-qrels": "qrels"}
    for tier in members:
        aliases |= {f"{tier}-corpus": "corpus", f"{tier}-queries": "queries"}
    return tables, aliases


def tier_facts(members: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Returns the number of appropriate and of confirmed pairs in every tier."""
    facts = {}
    for name, held in members.items():
        facts[f"{name}_appropriate"] = sum(pair["label"] == "appropriate" for pair in held)
        facts[f"{name}_valid"] = sum(pair["valid"] is True for pair in held)
    return facts


FAILED_PARSE = -1.0


def rating_row(
    reply: str,
    rater: Rater,
    aspect_name: str,
    aspect: Aspect,
    value: float | None,
    explanation: str | None = None,
) -> Row:
    """Returns one rating as columns.

    Args:
        reply: Id of the reply.
        rater: The rater.
        aspect_name: Name of the aspect.
        aspect: Scale of the aspect, unless the rater has a separate one.
        value: Value in the source file; None for an empty cell, -1 for an unreadable output of a model.
        explanation: Raw output of the model, if any.
    """
    scale = rater.scale(aspect)
    reason = _missing_reason(scale, value, rater.kind)
    return {
        "reply_id": reply,
        "rater": rater.name,
        "rater_kind": rater.kind,
        "aspect": aspect_name,
        "value": None if reason else value,
        "low": scale.low,
        "high": scale.high,
        "higher_is_better": scale.higher_is_better,
        "reason": reason,
        "explanation": explanation,
    }


def _missing_reason(aspect: Aspect, value: float | None, rater_kind: str) -> str | None:
    """Returns the reason of a missing rating (`not_rated`, `parse_failed`, `out_of_scale`), or None for a rating."""
    if value is None:
        return "not_rated"
    if aspect.low is None or aspect.high is None:
        return None
    if rater_kind == "model" and value == FAILED_PARSE:
        return "parse_failed"
    return None if aspect.low <= value <= aspect.high else "out_of_scale"


def comparison_row(
    a: Mapping[str, Any], b: Mapping[str, Any], rater: str, kind: str, verdict: str | None, reason: str | None = None
) -> Row:
    """Returns one verdict between two replies to one item as columns.

    Args:
        a: First reply.
        b: Second reply.
        rater: Name of the rater.
        kind: `human` or `model`.
        verdict: `a`, `b` or `tie`; None for an invalid verdict.
        reason: Reason of an invalid verdict.
    """
    return {
        "item_id": a["item_id"],
        "system_a": a["system"],
        "system_b": b["system"],
        "reply_a": a["reply_id"],
        "reply_b": b["reply_id"],
        "rater": rater,
        "rater_kind": kind,
        "verdict": verdict or "invalid",
        "reason": reason,
    }
