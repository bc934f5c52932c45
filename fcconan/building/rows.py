"""Rows that several kinds of datasets share: pairs, benchmark tables and judgements."""

from typing import Any

from fcconan.building.recipes import Aspect, Rater
from fcconan.building.tables import Table
from fcconan.building.upstream_csv import Rows
from fcconan.data import QRELS, TEXT_BY_ID, make_cn_id, make_hs_id, make_pair_id

EDUCATION = {
    "": None,
    "Less than high school": "below_high_school",
    "High school": "high_school",
    "Some university without degree": "some_university",
    "Bachelor": "bachelor",
    "Master": "master",
    "PhD": "phd",
}


PERSON_AND_TOPIC = ("hs_type", "hs_subtype", "cn_type", "gender", "age", "education")


def ids_of(hate_speech: str, counter_narrative: str) -> dict[str, str]:
    """Returns the three ids of a pair and its two texts, as columns."""
    hs, cn = make_hs_id(hate_speech), make_cn_id(counter_narrative)
    return {
        "pair_id": make_pair_id(hs, cn),
        "hs_id": hs,
        "cn_id": cn,
        "hate_speech": hate_speech,
        "counter_narrative": counter_narrative,
    }


def person_and_topic(rows: Rows, row: int) -> dict[str, Any]:
    """Returns CONAN's columns about topic and author as the contract names them, for the columns that the file has."""
    found: dict[str, Any] = {}
    for name in ("hs_type", "hs_subtype", "cn_type", "gender"):
        if name in rows.columns:
            found[name] = "; ".join(part.strip() for part in rows[name][row].split(",") if part.strip()) or None
    if "age" in rows.columns:
        found["age"] = rows.integer("age", row)
    if "education" in rows.columns:
        found["education"] = rows.one_of("education", row, EDUCATION)
    return found


def check_labels(rows: Rows, pair_ids: list[str], labels: list[str]) -> None:
    """Checks that no pair stands in a file twice.

    Raises:
        InputError: One does; the message says whether the labels differ.
    """
    first: dict[str, int] = {}
    for row, pair in enumerate(pair_ids):
        if pair in first:
            other = first[pair]
            same = labels[other] == labels[row]
            raise rows.fail(
                row,
                f"the pair of line {rows.lines[other]} again, with "
                + (
                    "the same label; remove one of the two rows"
                    if same
                    else f"another label ({labels[other]} there, {labels[row]} here); decide which one holds"
                ),
            )
        first[pair] = row


def corpus_table(texts: dict[str, str]) -> Table:
    """Returns the retrieval corpus from texts by id, in the order of the texts."""
    return _texts_table("corpus", texts)


def queries_table(texts: dict[str, str]) -> Table:
    """Returns the queries from texts by id, in the order of the texts."""
    return _texts_table("queries", texts)


def _texts_table(config: str, texts: dict[str, str]) -> Table:
    ordered = sorted(texts.items(), key=lambda pair: pair[1])
    return Table(
        config,
        "test",
        TEXT_BY_ID.kinds,
        {"_id": [i for i, _ in ordered], "text": [t for _, t in ordered]},
        ("_id",),
    )


def qrels_table(config: str, pairs: list[dict[str, Any]]) -> Table:
    """Returns the relevance judgements of labelled pairs: 1 for appropriate, 0 for judged and not appropriate."""
    data = {
        "query-id": [pair["hs_id"] for pair in pairs],
        "corpus-id": [pair["cn_id"] for pair in pairs],
        "score": [int(pair["label"] == "appropriate") for pair in pairs],
    }
    return Table(config, "test", QRELS.kinds, data, ("query-id", "corpus-id"))


def benchmark_tables(
    pairs_by_tier: dict[str, list[dict[str, Any]]], broadest: str
) -> tuple[list[Table], dict[str, str]]:
    """Returns corpus, queries and qrels in the layout of BEIR and MTEB, and the config aliases of the tiers.

    Args:
        pairs_by_tier: The labelled pairs of every tier.
        broadest: The tier that `corpus`, `queries` and `qrels` without a prefix stand for.
    """
    everything = pairs_by_tier[broadest]
    tables = [
        corpus_table({pair["cn_id"]: pair["counter_narrative"] for pair in everything}),
        queries_table({pair["hs_id"]: pair["hate_speech"] for pair in everything}),
        qrels_table("qrels", everything),
    ]
    tables += [qrels_table(f"{tier}-qrels", pairs) for tier, pairs in pairs_by_tier.items() if tier != broadest]
    aliases = {f"{broadest}-qrels": "qrels"}
    for tier in pairs_by_tier:
        aliases |= {f"{tier}-corpus": "corpus", f"{tier}-queries": "queries"}
    return tables, aliases


FAILED_PARSE = -1.0


def rating_row(
    reply: str,
    rater: Rater,
    aspect_name: str,
    aspect: Aspect,
    value: float | None,
    explanation: str | None = None,
) -> dict[str, Any]:
    """Returns one rating as columns.

    Args:
        reply: The id of the reply.
        rater: Who rated it.
        aspect_name: What was rated.
        aspect: The aspect's scale, which the rater may have one of its own for.
        value: The upstream value; None where the cell is empty, and -1 for a model's unreadable output.
        explanation: The raw output behind the value, if there is one.
    """
    scale = rater.scale(aspect)
    reason = missing_reason(scale, value, rater.kind)
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


def missing_reason(aspect: Aspect, value: float | None, rater_kind: str) -> str | None:
    """Returns why a value is no rating (`not_rated`, `parse_failed`, `out_of_scale`), or None where it is one."""
    if value is None:
        return "not_rated"
    if aspect.low is None or aspect.high is None:
        return None
    if rater_kind == "model" and value == FAILED_PARSE:
        return "parse_failed"
    return None if aspect.low <= value <= aspect.high else "out_of_scale"


def comparison_row(
    a: dict[str, Any], b: dict[str, Any], rater: str, kind: str, verdict: str | None, reason: str | None = None
) -> dict[str, Any]:
    """Returns one verdict between two replies to one item as columns.

    Args:
        a: The first reply.
        b: The second reply.
        rater: Who compared them.
        kind: `human` or `model`.
        verdict: `a`, `b` or `tie`; None where there is none, which is `invalid`.
        reason: Why there is none.
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
