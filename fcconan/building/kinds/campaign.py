"""What an annotation campaign gave, from the files that `fcconan annotate tier` writes.

The recipe's sources say what was judged: `pairs` (with `votes`, and the texts in `hs` and `cn`), replies by `ratings`,
or replies two by two in `comparisons` (both with `replies`). Judgements and texts stand in files of their own. There
may be `labels`, the final verdicts of comparisons, and `grades`, what validators said of the median grades of replies.
"""

import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from fcconan.building.kinds.exhaustive import vote_agreement
from fcconan.building.recipes import Rater, Recipe
from fcconan.building.rows import (
    PERSON_AND_TOPIC,
    benchmark_tables,
    comparison_row,
    corpus_table,
    queries_table,
    rating_row,
)
from fcconan.building.tables import Built, Table
from fcconan.building.tiers import TIER_RULES, Judged, TierRule, agreement
from fcconan.building.upstream_csv import Rows, Upstream
from fcconan.data import (
    COMPARISON,
    LABELS,
    PAIR,
    RATING,
    REPLY,
    VERDICTS,
    VOTE,
    VOTE_LABELS,
    Columns,
    make_cn_id,
    make_hs_id,
)
from fcconan.errors import InputError
from fcconan.scoring import krippendorff_alpha

Row = dict[str, Any]
ABOUT_HS = ("hs_type", "hs_subtype")
ABOUT_CN = (*(name for name in PERSON_AND_TOPIC if name not in ABOUT_HS), "source_id")
LABEL = {name: name for name in LABELS} | {"": None}
VALID = {"0": False, "1": True}
BY = ("rater", "role", "round")  # of votes, ratings and comparisons
COLUMNS = {
    "hs": ("hs_id", "text", *ABOUT_HS),
    "cn": ("cn_id", "text", *ABOUT_CN),
    "pairs": ("pair_id", "label", "valid", "n_validators", "reason", "original_index"),
    "votes": ("pair_id", *BY, "label"),
    "replies": ("reply_id", "item_id", "hs_id", "hate_speech", "text", "system", "strategy", "references"),
    "ratings": ("reply_id", *BY, "aspect", "value", "explanation"),
    "comparisons": ("reply_a", "reply_b", *BY, "verdict", "reason", "shown_first"),
    "labels": ("reply_a", "reply_b", "verdict", "reason", "decided", "valid", "n_validators"),
    "grades": ("reply_id", "valid", "n_validators"),
}
JUDGED: Columns = {"n_votes": "int", "valid": "bool", "n_validators": "int"}
FINAL_VERDICT: Columns = {
    name: COMPARISON.kinds[name] for name in COMPARISON.kinds if not name.startswith(("rater", "score"))
} | {
    "decided": "string",  # how there came to be a verdict; where there is none, `reason` says why
    "agreement": "string",
    **JUDGED,
}
FINAL_GRADE: Columns = {"reply_id": "string", "aspect": "string", "value": "float", **JUDGED}
FURTHER = {"role": "string", "round": "string"}
SHOWN_FIRST = {"shown_first": "string"}  # of comparisons: which reply the rater saw first, `a` or `b`
LEFT_OUT = "left_out"  # the split of votes on pairs that no tier holds
DISTINCT = {"items": "item_id", "systems": "system"}  # facts: how many different ones there are among the replies
VERDICT_ON_A_SCALE = {"a": 0.0, "tie": 1.0, "b": 2.0}


def build(recipe: Recipe, files: dict[str, Path], *, tier_rule: str | None) -> Built:
    """Builds tiers, votes, corpus, queries and qrels of a campaign on pairs, or replies with ratings or comparisons.

    Args:
        recipe: The recipe.
        files: The files by source name.
        tier_rule: A key of `fcconan.building.tiers.TIER_RULES` where the recipe has tiers and no rule of its own.

    Raises:
        InputError: A file breaks a rule of the format.
    """
    upstream = Upstream(recipe, files)
    if "pairs" in recipe.sources:
        return _pairs(upstream, recipe.own_tier_rule or TIER_RULES[str(tier_rule)])
    if "ratings" in recipe.sources:
        return _ratings(upstream)
    return _comparisons(upstream)


def _read(upstream: Upstream, key: str, *texts: str) -> Rows:
    rows = upstream.read(key, text_columns=texts)
    rows.check_columns(COLUMNS[key], upstream.recipe.kind)
    return rows


def _texts(upstream: Upstream, key: str, about: tuple[str, ...]) -> dict[str, Row]:
    """Returns text and further columns by id."""
    rows = _read(upstream, key, "text")
    id_of = {"hs": make_hs_id, "cn": make_cn_id}[key]
    found: dict[str, Row] = {}
    for row in range(len(rows)):
        given, text = rows[f"{key}_id"][row], rows["text"][row]
        if id_of(text) != given:
            raise rows.fail(row, f"the text has the id {id_of(text)}, not {given}; it was changed: take the file anew")
        if given in found:
            raise rows.fail(row, f"{given} stands there already; remove one of the two rows")
        found[given] = {"text": text} | {
            name: rows.integer(name, row) if name == "age" else rows[name][row] or None
            for name in about
            if name in rows.columns
        }
    return found


def _pairs(upstream: Upstream, rule: TierRule) -> Built:
    hs, cn = _texts(upstream, "hs", ABOUT_HS), _texts(upstream, "cn", ABOUT_CN)
    judged = _read(upstream, "pairs")
    votes = _votes(_read(upstream, "votes"), set(judged["pair_id"]))
    pairs: list[Row] = []
    left_out: Counter[str] = Counter()
    for row, pair_id in enumerate(judged["pair_id"]):
        pair = _pair(judged, row, votes.get(pair_id, []), hs, cn, rule)
        if pair["label"] is None:
            left_out[judged["reason"][row]] += 1
        elif pair["tier"] is None:
            left_out["no_tier"] += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise InputError(
            f"{judged.name}: none of its {len(judged)} judged pairs is in a tier; adjudicate more, or loosen the rule"
        )
    members = {
        name: [pair for pair in pairs if rule.names.index(pair["tier"]) <= position]
        for position, name in enumerate(rule.names)
    }
    filled = {name: held for name, held in members.items() if held}  # `datasets` loads no empty file
    benchmark, aliases = benchmark_tables(filled, rule.names[-1])
    queries = {pair["hs_id"]: pair["hate_speech"] for pair in pairs}
    # Every CN belongs to the corpus, also one whose pairs were all left out: a smaller one flatters every system.
    benchmark[:2] = [corpus_table({key: text["text"] for key, text in cn.items()}), queries_table(queries)]
    columns = PAIR.kinds | {"n_validators": "int"}
    tables = [Table.from_rows(name, "test", columns, held, ("pair_id",)) for name, held in filled.items()]
    tables += benchmark
    inside = {pair["pair_id"] for pair in pairs}
    for split, wanted in (("test", True), (LEFT_OUT, False)):
        rows = [vote for pair in judged["pair_id"] if (pair in inside) == wanted for vote in votes[pair]]
        if rows:
            tables.append(Table.from_rows("votes", split, VOTE.kinds | FURTHER, rows, ("pair_id", "rater")))
    facts = {
        "hate_speech": len(queries),
        "counter_narratives": len(cn),
        "judged": len(judged),
        "left_out": left_out.total(),
        **{f"left_out_{reason}": count for reason, count in sorted(left_out.items())},
    }
    for name, held in members.items():
        facts[f"{name}_appropriate"] = sum(pair["label"] == "appropriate" for pair in held)
        facts[f"{name}_valid"] = sum(pair["valid"] for pair in held)
    notes = _notes(pairs, len(judged), len(hs) * len(cn), len(hs) - len(queries), left_out)
    if len(filled) < len(members):
        empty = ", ".join(name for name in members if name not in filled)
        notes.append(f"No pair is in these tiers, which have no config: {empty}.")
    if upstream.recipe.own_tier_rule is not None:
        conditions = "; ".join(f"`{tier.name}`: {tier.in_words()}" for tier in rule.complete)
        notes.append(f"Tiers, each within the next one: {conditions}. {rule.meaning}")
    return Built(tables, aliases, facts, vote_agreement([vote for given in votes.values() for vote in given]), notes)


def _votes(rows: Rows, pairs: set[str]) -> dict[str, list[Row]]:
    votes: dict[str, list[Row]] = {}
    for row, pair in enumerate(rows["pair_id"]):
        if pair not in pairs:
            raise rows.fail(row, f"a vote on {pair}, which is not among the pairs; the two files go together")
        label = rows.one_of("label", row, {name: name for name in VOTE_LABELS})
        votes.setdefault(pair, []).append({"pair_id": pair, "label": label} | {name: rows[name][row] for name in BY})
    return votes


def _pair(rows: Rows, row: int, votes: list[Row], hs: dict[str, Row], cn: dict[str, Row], rule: TierRule) -> Row:
    pair = rows["pair_id"][row]
    hs_id, _, cn_id = pair.partition(":")
    if hs_id not in hs or cn_id not in cn:
        raise rows.fail(row, f"{pair}: its texts are not among the HS and CNs; the files go together")
    if not votes:
        raise rows.fail(row, f"{pair} has no vote; the two files go together")
    label = rows.one_of("label", row, LABEL)
    if (label is None) != bool(rows["reason"][row]):
        raise rows.fail(row, f"{pair} needs a label, or a reason why it has none; fill in one of the two")
    valid = rows.one_of("valid", row, VALID)
    given = [vote["label"] for vote in votes]
    judged = Judged(given, str(label), valid, frozenset(vote["role"] for vote in votes))
    return {
        "pair_id": pair,
        "hs_id": hs_id,
        "cn_id": cn_id,
        "hate_speech": hs[hs_id]["text"],
        "counter_narrative": cn[cn_id]["text"],
        "label": label,
        "valid": valid,
        "n_votes": len(given),
        "agreement": agreement(given, str(label)),
        "tier": None if label is None else rule.best(judged),
        "n_validators": rows.integer("n_validators", row),
        "original_index": rows.integer("original_index", row),
        **{name: value for text in (hs[hs_id], cn[cn_id]) for name, value in text.items() if name != "text"},
    }


def _notes(pairs: list[Row], judged: int, possible: int, hs_without: int, left_out: Counter[str]) -> list[str]:
    notes = [f"{judged} of {possible} combinations of HS and CN are judged."]
    if judged < possible:
        notes = [notes[0][:-1] + "; the others are unjudged, not negative."]
    shown = [pair["valid"] for pair in pairs if pair["n_validators"]]
    notes.append(f"Validators were shown {len(shown)} of the {len(pairs)} labels, and confirmed {sum(shown)}.")
    if left_out:
        reasons = ", ".join(f"{count} `{reason}`" for reason, count in sorted(left_out.items()))
        notes.append(
            f"{left_out.total()} judged pairs are left out ({reasons}); the votes on them are the split `{LEFT_OUT}` "
            "of `votes` and count in the agreement."
        )
    if hs_without:
        notes.append(f"HS without a pair in any tier, which are no queries: {hs_without}. The corpus holds every CN.")
    return notes


def _replies(upstream: Upstream) -> tuple[Table, dict[str, Row]]:
    rows = _read(upstream, "replies", "hate_speech", "text")
    found = []
    for row in range(len(rows)):
        reply: Row = {name: rows[name][row] or None for name in COLUMNS["replies"]}
        if make_hs_id(reply["hate_speech"]) != reply["hs_id"]:
            raise rows.fail(row, f"the HS does not have the id {reply['hs_id']}; it was changed: take the file anew")
        try:
            reply["references"] = json.loads(rows["references"][row] or "[]")
        except ValueError as error:
            raise rows.fail(row, f"references are no JSON list ({error}); mend the row") from error
        found.append(reply)
    return Table.from_rows("replies", "test", REPLY.kinds, found, ("reply_id",)), {
        reply["reply_id"]: reply for reply in found
    }


def _ratings(upstream: Upstream) -> Built:
    table, replies = _replies(upstream)
    rows = _read(upstream, "ratings")
    ratings: list[Row] = []
    for row, reply in enumerate(rows["reply_id"]):
        if reply not in replies:
            raise rows.fail(row, f"a rating of {reply}, which is not among the replies; the two files go together")
        aspect = rows.one_of("aspect", row, {name: name for name in upstream.recipe.aspects})
        rater = Rater(name=rows["rater"][row], kind="human", source="ratings")
        explanation = rows["explanation"][row] or None
        rating = rating_row(
            reply, rater, aspect, upstream.recipe.aspects[aspect], rows.number("value", row), explanation
        )
        ratings.append(rating | {name: rows[name][row] for name in FURTHER})
    rated = Table.from_rows("ratings", "test", RATING.kinds | FURTHER, ratings, ("reply_id", "rater", "aspect"))
    agreed = []
    for aspect in upstream.recipe.aspects:
        values: dict[str, list[float]] = {}
        for rating in ratings:
            if rating["aspect"] == aspect and rating["value"] is not None:
                values.setdefault(rating["reply_id"], []).append(rating["value"])
        agreed.append(_alpha(f"ordinal, {aspect}", "replies", list(values.values()), "ordinal"))
    facts = _distinct(replies) | {"not_rated": sum(rating["reason"] == "not_rated" for rating in ratings)}
    built = Built([table, rated], facts=facts, agreement=agreed)
    if "grades" in upstream.recipe.sources:
        _add_grades(built, _read(upstream, "grades"), list(upstream.recipe.aspects), ratings)
    return built


def _add_grades(built: Built, rows: Rows, aspects: list[str], ratings: list[Row]) -> None:
    """Adds the median grades that validators were, or could be, shown."""
    given: dict[tuple[str, str], list[float]] = {}
    for rating in ratings:
        if rating["value"] is not None:
            given.setdefault((rating["reply_id"], rating["aspect"]), []).append(rating["value"])
    grades = []
    for row, reply in enumerate(rows["reply_id"]):
        for aspect in aspects:
            if (reply, aspect) not in given:
                raise rows.fail(row, f"{reply} has no rating of {aspect}; the two files go together")
            values = given[reply, aspect]
            said = {"reply_id": reply, "aspect": aspect, "value": median(values), "n_votes": len(values)}
            grades.append(said | _confirmed(rows, row))
    built.tables.append(Table.from_rows("grades", "test", FINAL_GRADE, grades, ("reply_id", "aspect")))
    _add_confirmed(built, "grades", [_confirmed(rows, row) for row in range(len(rows))])


def _confirmed(rows: Rows, row: int) -> Row:
    return {"valid": rows.one_of("valid", row, VALID), "n_validators": rows.integer("n_validators", row)}


def _add_confirmed(built: Built, what: str, final: list[Row]) -> None:
    shown = [row["valid"] for row in final if row["n_validators"]]
    built.facts["confirmed"] = sum(shown)
    built.notes.append(f"Validators judged {len(shown)} of the {len(final)} final {what}, and confirmed {sum(shown)}.")


def _comparisons(upstream: Upstream) -> Built:
    table, replies = _replies(upstream)
    rows = _read(upstream, "comparisons")
    further = FURTHER | SHOWN_FIRST
    compared: list[Row] = []
    for row in range(len(rows)):
        a, b = _ends(rows, row, replies)
        verdict = rows.one_of("verdict", row, {name: name for name in VERDICTS})
        given = None if verdict == "invalid" else verdict
        comparison = comparison_row(a, b, rows["rater"][row], "human", given, rows["reason"][row] or None)
        compared.append(comparison | {name: rows[name][row] for name in further})
    verdicts = Table.from_rows(
        "comparisons", "test", COMPARISON.kinds | further, compared, ("reply_a", "reply_b", "rater")
    )
    values: dict[tuple[str, str], list[float]] = {}
    for row_of in compared:
        if row_of["verdict"] != "invalid":
            key = (row_of["reply_a"], row_of["reply_b"])
            values.setdefault(key, []).append(VERDICT_ON_A_SCALE[row_of["verdict"]])
    agreed = [_alpha("nominal", "comparisons", list(values.values()), "nominal")]
    facts = _distinct(replies) | {"invalid": sum(row_of["verdict"] == "invalid" for row_of in compared)}
    built = Built([table, verdicts], facts=facts, agreement=agreed)
    if "labels" in upstream.recipe.sources:
        _add_labels(built, _read(upstream, "labels"), replies, compared)
    return built


def _ends(rows: Rows, row: int, replies: dict[str, Row]) -> tuple[Row, Row]:
    """Returns the two replies of a row."""
    ends = rows["reply_a"][row], rows["reply_b"][row]
    for reply in ends:
        if reply not in replies:
            raise rows.fail(row, f"a verdict on {reply}, which is not among the replies; the two files go together")
    a, b = (replies[reply] for reply in ends)
    if a["item_id"] != b["item_id"]:
        raise rows.fail(row, f"{ends[0]} and {ends[1]} answer different items; only replies to one are compared")
    return a, b


def _add_labels(built: Built, rows: Rows, replies: dict[str, Row], compared: list[Row]) -> None:
    """Adds the final verdicts."""
    votes: dict[tuple[str, str], list[str]] = {}
    for vote in compared:
        if vote["verdict"] != "invalid":
            votes.setdefault((vote["reply_a"], vote["reply_b"]), []).append(vote["verdict"])
    labels = []
    for row in range(len(rows)):
        a, b = _ends(rows, row, replies)
        verdict = rows.one_of("verdict", row, {name: name for name in VERDICTS})
        reason, decided = rows["reason"][row] or None, rows["decided"][row] or None
        if (reason is None, decided is None) != (verdict != "invalid", verdict == "invalid"):
            raise rows.fail(row, f"{verdict} needs `decided`, or `reason` if it is invalid; fill in one of the two")
        given = votes.get((a["reply_id"], b["reply_id"]), [])
        row_of = comparison_row(a, b, "", "", verdict, reason)
        label = {name: row_of[name] for name in FINAL_VERDICT.keys() & row_of.keys()}
        label |= {"decided": decided, "agreement": agreement(given, verdict) if given and decided else None}
        labels.append(label | {"n_votes": len(given)} | _confirmed(rows, row))
    built.tables.append(Table.from_rows("labels", "test", FINAL_VERDICT, labels, ("reply_a", "reply_b")))
    built.facts["labelled"] = sum(label["verdict"] != "invalid" for label in labels)
    _add_confirmed(built, "verdicts", [label for label in labels if label["decided"]])


def _distinct(replies: dict[str, Row]) -> dict[str, int]:
    return {name: len({reply[key] for reply in replies.values()}) for name, key in DISTINCT.items()}


def _alpha(what: str, things: str, units: list[list[float]], level: Any) -> str:
    """Returns what the card says about the agreement of raters."""
    value = krippendorff_alpha(units, level=level).value
    several = sum(len(unit) > 1 for unit in units)
    shown = "undefined" if value is None else f"{value:.3f}"
    return f"Krippendorff's alpha ({what}): {shown} ({several} {things} judged by two or more raters)"
