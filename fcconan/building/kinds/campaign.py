"""Datasets from annotation campaigns, built from the files of `fcconan annotate tier`.

The sources of the recipe depend on the judged unit: `pairs` with `votes` and the texts in `hs` and `cn`; replies with
`ratings`; or replies with `comparisons`. Judgements and texts are in separate files. Optional sources are `labels`, the
final verdicts of comparisons, and `grades`, the validation of median ratings of replies.
"""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from statistics import median

from fcconan.building.recipes import Rater
from fcconan.building.rows import (
    PERSON_AND_TOPIC,
    Row,
    comparison_row,
    describe_alpha,
    describe_coverage,
    rating_row,
    tier_facts,
    tier_members,
    tier_tables,
    vote_agreement,
)
from fcconan.building.source_files import SourceFiles, SourceRow, SourceRows
from fcconan.building.tables import Built, Table, group_values
from fcconan.building.tiers import TIER_RULES, JudgedPair, TierRule, agreement
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

ABOUT_HS = ("hs_type", "hs_subtype")
ABOUT_CN = (*(name for name in PERSON_AND_TOPIC if name not in ABOUT_HS), "source_id")
LABEL = {name: name for name in LABELS} | {"": None}
VALID = {"0": False, "1": True, "": None}  # without a judgement of a validator
BY = ("rater", "role", "round")  # columns of votes, ratings and comparisons
CAMPAIGN_COLUMNS = {
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
    "decided": "string",  # method of the final verdict; missing if `reason` is given
    "agreement": "string",
    **JUDGED,
}
FINAL_GRADE: Columns = {"reply_id": "string", "aspect": "string", "value": "float", **JUDGED}
FURTHER = {"role": "string", "round": "string"}
SHOWN_FIRST = {"shown_first": "string"}  # column of comparisons
LEFT_OUT = "left_out"  # split of votes on pairs without a tier
DISTINCT = {"items": "item_id", "systems": "system"}  # facts: numbers of different values among the replies
VERDICT_ON_A_SCALE = {"a": 0.0, "tie": 1.0, "b": 2.0}


def build(upstream: SourceFiles) -> Built:
    """Builds the dataset of a campaign.

    Args:
        upstream: The recipe and its files.

    Returns:
        Tiers, votes, corpus, queries and qrels for pairs; otherwise replies with ratings or comparisons.

    Raises:
        InputError: A file has an invalid format.
    """
    recipe = upstream.recipe
    if "pairs" in recipe.sources:
        return _pairs(upstream, recipe.own_tier_rule or TIER_RULES[str(upstream.tier_rule)])
    if "ratings" in recipe.sources:
        return _ratings(upstream)
    return _comparisons(upstream)


def _read(upstream: SourceFiles, key: str, *texts: str) -> SourceRows:
    rows = upstream.read(key, text_columns=texts)
    rows.check_columns(CAMPAIGN_COLUMNS[key], upstream.recipe.kind)
    return rows


def _texts(upstream: SourceFiles, key: str, about: tuple[str, ...]) -> dict[str, Row]:
    """Returns text and further columns by id."""
    id_of = {"hs": make_hs_id, "cn": make_cn_id}[key]
    found: dict[str, Row] = {}
    for record in _read(upstream, key, "text"):
        given, text = record[f"{key}_id"], record["text"]
        if (actual := id_of(text)) != given:
            raise record.fail(f"the text has the id {actual}, not {given}; it was changed: download the file again")
        if given in found:
            raise record.fail(f"{given} occurs twice; remove one of the two rows")
        found[given] = {"text": text} | {
            name: record.integer(name) if name == "age" else record[name] or None for name in about if name in record
        }
    return found


def _pairs(upstream: SourceFiles, rule: TierRule) -> Built:
    hs, cn = _texts(upstream, "hs", ABOUT_HS), _texts(upstream, "cn", ABOUT_CN)
    judged = _read(upstream, "pairs")
    votes = _votes(_read(upstream, "votes"), set(judged["pair_id"]))
    pairs: list[Row] = []
    left_out: Counter[str] = Counter()
    for record in judged:
        pair = _pair(record, votes.get(record["pair_id"], []), hs, cn, rule)
        if pair["label"] is None:
            left_out[record["reason"]] += 1
        elif pair["tier"] is None:
            left_out["no_tier"] += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise InputError(
            f"{judged.name}: none of its {len(judged)} judged pairs is in a tier; adjudicate more, or loosen the rule"
        )
    members = tier_members(pairs, rule.names)
    filled = {name: held for name, held in members.items() if held}  # `datasets` cannot load empty files
    # The corpus has all CNs, also those without a pair in a tier: a smaller corpus inflates all scores.
    corpus = {key: text["text"] for key, text in cn.items()}
    tables, aliases = tier_tables(filled, PAIR.kinds | {"n_validators": "int"}, corpus=corpus)
    inside = {pair["pair_id"] for pair in pairs}
    for split, wanted in (("test", True), (LEFT_OUT, False)):
        rows = [vote for pair in judged["pair_id"] if (pair in inside) == wanted for vote in votes[pair]]
        if rows:
            tables.append(Table.from_rows("votes", split, VOTE.kinds | FURTHER, rows, ("pair_id", "rater")))
    queries = {pair["hs_id"] for pair in pairs}
    facts = {
        "hate_speech": len(queries),
        "counter_narratives": len(cn),
        "judged": len(judged),
        "left_out": left_out.total(),
        **{f"left_out_{reason}": count for reason, count in sorted(left_out.items())},
        **tier_facts(members),
    }
    notes = _notes(pairs, len(judged), len(hs) * len(cn), len(hs) - len(queries), left_out)
    if len(filled) < len(members):
        empty = ", ".join(name for name in members if name not in filled)
        notes.append(f"No pair is in these tiers, which have no config: {empty}.")
    if upstream.recipe.own_tier_rule is not None:
        conditions = "; ".join(f"`{tier.name}`: {tier.in_words()}" for tier in rule.complete)
        notes.append(f"Tiers, each a subset of the next: {conditions}. {rule.meaning}")
    return Built(tables, aliases, facts, vote_agreement(chain(*votes.values())), notes)


def _votes(rows: SourceRows, pairs: set[str]) -> dict[str, list[Row]]:
    votes = [
        {
            "pair_id": record.reference("pair_id", pairs),
            "label": record.word("label", VOTE_LABELS),
            **_further(record, BY),
        }
        for record in rows
    ]
    return group_values((vote["pair_id"], vote) for vote in votes)


def _further(record: SourceRow, names: Iterable[str]) -> dict[str, str]:
    return {name: record[name] for name in names}


def _pair(record: SourceRow, votes: list[Row], hs: dict[str, Row], cn: dict[str, Row], rule: TierRule) -> Row:
    pair = record["pair_id"]
    hs_id, _, cn_id = pair.partition(":")
    if hs_id not in hs or cn_id not in cn:
        raise record.fail(f"{pair}: its texts are not among the HS and CNs; the files go together")
    if not votes:
        raise record.fail(f"{pair} has no vote; the two files go together")
    label = record.one_of("label", LABEL)
    if (label is None) != bool(record["reason"]):
        raise record.fail(f"{pair} needs a label, or a reason why it has none; fill in one of the two")
    valid = record.one_of("valid", VALID)
    given = [vote["label"] for vote in votes]
    judged = JudgedPair(given, str(label), valid, frozenset(vote["role"] for vote in votes))
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
        "n_validators": record.integer("n_validators"),
        "original_index": record.integer("original_index"),
        **{name: value for text in (hs[hs_id], cn[cn_id]) for name, value in text.items() if name != "text"},
    }


def _notes(pairs: list[Row], judged: int, possible: int, hs_without: int, left_out: Counter[str]) -> list[str]:
    notes = [describe_coverage(judged, possible)]
    shown = [pair["valid"] for pair in pairs if pair["n_validators"]]
    notes.append(f"Validators were shown {len(shown)} of the {len(pairs)} labels, and confirmed {sum(shown)}.")
    if left_out:
        reasons = ", ".join(f"{count} `{reason}`" for reason, count in sorted(left_out.items()))
        notes.append(
            f"{left_out.total()} judged pairs are left out ({reasons}); the votes on them are the split `{LEFT_OUT}` "
            "of `votes` and count in the agreement."
        )
    if hs_without:
        notes.append(
            f"HS without a pair in any tier, left out of the queries: {hs_without}. The corpus holds every CN."
        )
    return notes


def _replies(upstream: SourceFiles) -> tuple[Table, dict[str, Row]]:
    found: dict[str, Row] = {}
    rows = []
    for record in _read(upstream, "replies", "hate_speech", "text"):
        reply: Row = {name: record[name] or None for name in CAMPAIGN_COLUMNS["replies"]}
        if make_hs_id(reply["hate_speech"]) != reply["hs_id"]:
            raise record.fail(f"the HS does not have the id {reply['hs_id']}; it was changed: download the file again")
        try:
            reply["references"] = json.loads(record["references"] or "[]")
        except ValueError as error:
            raise record.fail(f"references are not a JSON list ({error}); correct the row") from error
        rows.append(reply)
        found[reply["reply_id"]] = reply
    return Table.from_rows("replies", "test", REPLY.kinds, rows, ("reply_id",)), found


def _ratings(upstream: SourceFiles) -> Built:
    table, replies = _replies(upstream)
    aspects = upstream.recipe.aspects
    ratings: list[Row] = []
    for record in _read(upstream, "ratings"):
        aspect = record.word("aspect", aspects)
        rater = Rater(name=record["rater"], kind="human", source="ratings")
        reply, explanation = record.reference("reply_id", replies), record["explanation"] or None
        rating = rating_row(reply, rater, aspect, aspects[aspect], record.number("value"), explanation)
        ratings.append(rating | _further(record, FURTHER))
    rated = Table.from_rows("ratings", "test", RATING.kinds | FURTHER, ratings, ("reply_id", "rater", "aspect"))
    graded = [row for row in ratings if row["value"] is not None]
    given: dict[str, dict[str, list[float]]] = {
        name: group_values((row["reply_id"], row["value"]) for row in graded if row["aspect"] == name)
        for name in aspects
    }
    agreed = [
        describe_alpha(f"(ordinal, {name})", units.values(), "ordinal", "replies judged by two or more raters")
        for name, units in given.items()
    ]
    facts = _distinct(replies) | {"not_rated": sum(rating["reason"] == "not_rated" for rating in ratings)}
    built = Built([table, rated], facts=facts, agreement=agreed)
    if "grades" in upstream.recipe.sources:
        _add_grades(built, _read(upstream, "grades"), given)
    return built


def _add_grades(built: Built, rows: SourceRows, given: dict[str, dict[str, list[float]]]) -> None:
    """Adds the median ratings and their validation; `given` has the values by aspect and reply."""
    grades = []
    for record in rows:
        for aspect, values_of in given.items():
            reply = record["reply_id"]
            if reply not in values_of:
                raise record.fail(f"{reply} has no rating of {aspect}; the two files go together")
            values = values_of[reply]
            grade = {"reply_id": reply, "aspect": aspect, "value": median(values), "n_votes": len(values)}
            grades.append(grade | _confirmed(record))
    built.tables.append(Table.from_rows("grades", "test", FINAL_GRADE, grades, ("reply_id", "aspect")))
    _add_confirmed(built, "grades", [_confirmed(record) for record in rows])


def _confirmed(record: SourceRow) -> Row:
    return {"valid": record.one_of("valid", VALID), "n_validators": record.integer("n_validators")}


def _add_confirmed(built: Built, noun: str, final: list[Row]) -> None:
    shown = [row["valid"] for row in final if row["n_validators"]]
    built.facts["confirmed"] = sum(shown)
    built.notes.append(f"Validators judged {len(shown)} of the {len(final)} final {noun}, and confirmed {sum(shown)}.")


def _comparisons(upstream: SourceFiles) -> Built:
    table, replies = _replies(upstream)
    further = FURTHER | SHOWN_FIRST
    compared: list[Row] = []
    for record in _read(upstream, "comparisons"):
        verdict = record.word("verdict", VERDICTS)
        given = None if verdict == "invalid" else verdict
        ends = _ends(record, replies)
        comparison = comparison_row(*ends, record["rater"], "human", given, record["reason"] or None)
        compared.append(comparison | _further(record, further))
    key = ("reply_a", "reply_b", "rater")
    verdicts = Table.from_rows("comparisons", "test", COMPARISON.kinds | further, compared, key)
    votes = group_values(
        ((row["reply_a"], row["reply_b"]), row["verdict"]) for row in compared if row["verdict"] != "invalid"
    )
    units = [[VERDICT_ON_A_SCALE[verdict] for verdict in given] for given in votes.values()]
    agreed = [describe_alpha("(nominal)", units, "nominal", "comparisons judged by two or more raters")]
    facts = _distinct(replies) | {"invalid": sum(row["verdict"] == "invalid" for row in compared)}
    built = Built([table, verdicts], facts=facts, agreement=agreed)
    if "labels" in upstream.recipe.sources:
        _add_labels(built, _read(upstream, "labels"), replies, votes)
    return built


def _ends(record: SourceRow, replies: dict[str, Row]) -> tuple[Row, Row]:
    """Returns the two replies of a row."""
    a, b = (replies[record.reference(name, replies)] for name in ("reply_a", "reply_b"))
    if a["item_id"] != b["item_id"]:
        raise record.fail(
            f"{a['reply_id']} and {b['reply_id']} answer different items; only replies to one are compared"
        )
    return a, b


def _add_labels(
    built: Built, rows: SourceRows, replies: dict[str, Row], votes: dict[tuple[str, str], list[str]]
) -> None:
    """Adds the final verdicts; `votes` has the valid verdicts by the two replies."""
    labels = []
    for record in rows:
        a, b = _ends(record, replies)
        verdict = record.word("verdict", VERDICTS)
        reason, decided = record["reason"] or None, record["decided"] or None
        if (reason is None, decided is None) != (verdict != "invalid", verdict == "invalid"):
            raise record.fail(f"{verdict} needs `decided`, or `reason` if it is invalid; fill in one of the two")
        given = votes.get((a["reply_id"], b["reply_id"]), [])
        row = comparison_row(a, b, "", "", verdict, reason)
        label = {name: row[name] for name in FINAL_VERDICT.keys() & row.keys()}
        label |= {"decided": decided, "agreement": agreement(given, verdict) if given and decided else None}
        labels.append(label | {"n_votes": len(given)} | _confirmed(record))
    built.tables.append(Table.from_rows("labels", "test", FINAL_VERDICT, labels, ("reply_a", "reply_b")))
    built.facts["labelled"] = sum(label["verdict"] != "invalid" for label in labels)
    _add_confirmed(built, "verdicts", [label for label in labels if label["decided"]])


def _distinct(replies: dict[str, Row]) -> dict[str, int]:
    return {name: len({reply[key] for reply in replies.values()}) for name, key in DISTINCT.items()}
