"""Rows that several kinds of datasets share: pairs, benchmark tables and judgements."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fcconan.building.recipes import Aspect, Rater
from fcconan.building.tables import Table, grouped
from fcconan.building.upstream_csv import Record, Rows
from fcconan.data import PAIR, QRELS, TEXT_BY_ID, Columns, make_cn_id, make_hs_id, make_pair_id
from fcconan.scoring import krippendorff_alpha

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


PERSON_AND_TOPIC = ("hs_type", "hs_subtype", "cn_type", "gender", "age", "education")


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


def pair_row(record: Record) -> Row:
    """Returns ids, texts and source id of an upstream pair, and CONAN's columns about topic and author, as columns.

    Columns that the file does not have are left out; the source id is then the number of the row.
    """
    found = ids_of(record["hate_speech"], record["counter_narrative"])
    for name in ("hs_type", "hs_subtype", "cn_type", "gender"):
        if name in record:
            found[name] = "; ".join(part.strip() for part in record[name].split(",") if part.strip()) or None
    if "age" in record:
        found["age"] = record.integer("age")
    if "education" in record:
        found["education"] = record.one_of("education", EDUCATION)
    found["source_id"] = record["source_id"] if "source_id" in record else str(record.at)
    return found


def check_labels(rows: Rows, pairs: Sequence[Row]) -> None:
    """Checks that no pair occurs twice in a file.

    Args:
        rows: The rows of the file.
        pairs: The pair of each row.

    Raises:
        InputError: One does; the message says whether the labels differ.
    """
    first: dict[str, int] = {}
    for record, pair in zip(rows, pairs, strict=True):
        other = first.setdefault(pair["pair_id"], record.at)
        if other != record.at:
            there, here = pairs[other]["label"], pair["label"]
            advice = "the same label; remove one of the two rows"
            if there != here:
                advice = f"another label ({there} there, {here} here); decide which one holds"
            raise record.fail(f"the pair of line {rows.lines[other]} again, with {advice}")


def alpha_in_words(about: str, units: Iterable[Sequence[float]], level: Any, units_in_words: str) -> str:
    """Returns Krippendorff's alpha as cards show it.

    Args:
        about: The level and the ratings, after the name of the coefficient.
        units: The values of every unit.
        level: As in `krippendorff_alpha`.
        units_in_words: What a unit with two or more values is.
    """
    alpha = krippendorff_alpha(list(units), level=level)
    value = "undefined" if alpha.value is None else f"{alpha.value:.3f}"
    return f"Krippendorff's alpha {about}: {value} ({alpha.n_units} {units_in_words})"


def vote_agreement(votes: Iterable[Row]) -> list[str]:
    """Returns the agreement of votes for the card; a pair with one vote, such as an inferred one, does not count."""
    scale = {"not_appropriate": 0.0, "not_sure": 1.0, "appropriate": 2.0}
    units = grouped((vote["pair_id"], scale[vote["label"]]) for vote in votes).values()
    return [
        alpha_in_words(f"({level}) of the votes", units, level, "pairs with two or more votes")
        for level in ("nominal", "ordinal")
    ]


def judged_note(judged: int, possible: int) -> str:
    """Returns how many of the possible pairs are judged, for the card."""
    unjudged = "; the others are unjudged, not negative" if judged < possible else ""
    return f"{judged} of {possible} combinations of HS and CN are judged{unjudged}."


def texts_table(config: str, texts: Mapping[str, str]) -> Table:
    """Returns a retrieval corpus, or queries, from texts by id, in the order of the texts."""
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
    """Returns the pairs of every tier, those of better tiers included.

    Args:
        pairs: The pairs, each with its best tier.
        tiers: The tiers, the best first.
    """
    position = {name: number for number, name in enumerate(tiers)}
    return {name: [pair for pair in pairs if position[pair["tier"]] <= position[name]] for name in tiers}


def tier_tables(
    members: Mapping[str, Sequence[Row]], columns: Columns = PAIR.kinds, *, corpus: Mapping[str, str] | None = None
) -> tuple[list[Table], dict[str, str]]:
    """Returns the tables of the tiers, and corpus, queries and qrels in the layout of BEIR and MTEB.

    Args:
        members: The labelled pairs of every tier, the best tier first; `corpus`, `queries` and `qrels` without a prefix
            are those of the last one.
        columns: The columns of the pairs.
        corpus: The texts of the corpus by id; by default those of the pairs.

    Returns:
        The tables, and the config aliases of the tiers.
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
        facts[f"{name}_valid"] = sum(pair["valid"] for pair in held)
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
        reply: The id of the reply.
        rater: Who rated it.
        aspect_name: What was rated.
        aspect: The aspect's scale, which the rater may have one of its own for.
        value: The upstream value; None where the cell is empty, and -1 for a model's unreadable output.
        explanation: The raw output behind the value, if there is one.
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
    """Returns why a value is not a rating (`not_rated`, `parse_failed`, `out_of_scale`), or None where it is one."""
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
