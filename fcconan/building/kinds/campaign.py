"""Datasets from annotation campaigns, built from the files of `fcconan annotate release`, and the demo.

The sources of the recipe depend on the judged units: `pairs` with `votes` and the texts in `hs` and `cn`; `replies`
with `ratings`, `comparisons` or both; and the sources of `pairs` of the recipe, such as training pairs. Judgements and
texts are in separate files. Optional sources are `labels`, the final verdicts of comparisons, and `grades`, the
validation of median ratings of replies.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median

from fcconan.building.kinds.pairs import pairs_tables
from fcconan.building.recipes import Rater
from fcconan.building.rows import (
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
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built, Table, group_values
from fcconan.building.tiers import TIER_RULES, agreement
from fcconan.data import COMPARISON, PAIR, RATING, REPLY, VOTE, Columns
from fcconan.errors import InputError

ABOUT_HS = ("hs_type", "hs_subtype")
ABOUT_CN = ("cn_type", "gender", "age", "education", "source_id")
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
FURTHER = {"role": "string", "round": "string", "shown_first": "string", "n_validators": "int"}
LEFT_OUT = "left_out"  # split of votes on pairs without a tier
VERDICT_ON_A_SCALE = {"a": 0.0, "tie": 1.0, "b": 2.0}


def build(upstream: SourceFiles) -> Built:
    """Builds the dataset of a campaign.

    Args:
        upstream: The recipe and its files.

    Returns:
        Tiers, votes, corpus, queries and qrels for pairs; replies with ratings or comparisons; further pairs.

    Raises:
        InputError: A file has an invalid format, or no pair is in a tier.
    """
    sources = upstream.recipe.sources
    built = Built([])
    if "pairs" in sources:
        _add_pairs(upstream, built)
    if "replies" in sources:
        replies = upstream.rows("replies", REPLY.kinds)
        built.tables.append(Table.from_rows("replies", "test", REPLY.kinds, replies, ("reply_id",)))
        for name, key in (("items", "item_id"), ("systems", "system")):
            built.facts[name] = len({reply[key] for reply in replies})
        if "ratings" in sources:
            _add_ratings(upstream, built)
        if "comparisons" in sources:
            _add_comparisons(upstream, {reply["reply_id"]: reply for reply in replies}, built)
    further, notes = pairs_tables(upstream)
    built.tables += further
    built.notes += notes
    return built


def _with_further(columns: Columns, rows: Sequence[Row]) -> Columns:
    """Returns columns with the further ones that the file of the rows has."""
    return columns | {name: kind for name, kind in FURTHER.items() if rows and name in rows[0]}


def _add_pairs(upstream: SourceFiles, built: Built) -> None:
    recipe = upstream.recipe
    rule = recipe.own_tier_rule or TIER_RULES[str(upstream.tier_rule)]
    hs, cn = (
        {row.pop(f"{key}_id"): row for row in upstream.rows(key, PAIR.kinds | {"text": "text"})} for key in ("hs", "cn")
    )
    judged = upstream.rows("pairs", PAIR.kinds | FURTHER | {"reason": "string"})
    cast = upstream.rows("votes", VOTE.kinds | FURTHER)
    votes = group_values((vote["pair_id"], vote) for vote in cast)
    pairs: list[Row] = []
    left_out: Counter[str] = Counter()
    for place, row in enumerate(judged):
        reason, label = row.pop("reason", None), row["label"]
        given = votes[row["pair_id"]]
        labels = [vote["label"] for vote in given]
        roles = {vote.get("role", "annotator") for vote in given}
        tier = rule.best(labels, label, row["valid"], roles) if label else None
        if tier is None:
            left_out[reason or "no_tier"] += 1
            continue
        hs_id, _, cn_id = row["pair_id"].partition(":")
        texts = {"hate_speech": hs[hs_id]["text"], "counter_narrative": cn[cn_id]["text"]}
        about = {name: value for text in (hs[hs_id], cn[cn_id]) for name, value in text.items() if name != "text"}
        votes_on = {"n_votes": len(labels), "agreement": agreement(labels, label), "tier": tier}
        ids = {"hs_id": hs_id, "cn_id": cn_id, "original_index": place}
        pairs.append({**ids, **texts, **about, **row, **votes_on})
    if not pairs:
        raise InputError(
            f"none of the {len(judged)} judged pairs of {recipe.name} is in a tier: adjudicate more, or loosen the rule"
        )
    members = tier_members(pairs, rule.names)
    filled = {name: held for name, held in members.items() if held}  # `datasets` cannot load empty files
    # The corpus has all CNs, also those without a pair in a tier: a smaller corpus inflates all scores.
    corpus = {key: text["text"] for key, text in cn.items()}
    tables, built.aliases = tier_tables(filled, _with_further(PAIR.kinds, judged), corpus=corpus)
    inside = {pair["pair_id"] for pair in pairs}
    for split, wanted in (("test", True), (LEFT_OUT, False)):
        rows = [vote for row in judged if (row["pair_id"] in inside) == wanted for vote in votes[row["pair_id"]]]
        if rows:
            columns = _with_further(VOTE.kinds, rows)
            tables.append(Table.from_rows("votes", split, columns, rows, ("pair_id", "rater")))
    built.tables += tables
    built.agreement += vote_agreement(chain(*votes.values()))
    queries = {pair["hs_id"] for pair in pairs}
    built.facts |= {
        "hate_speech": len(queries),
        "counter_narratives": len(cn),
        "judged": len(judged),
        "left_out": left_out.total(),
        **{f"left_out_{reason}": count for reason, count in sorted(left_out.items())},
        **tier_facts(members),
    }
    seen = [pair["valid"] for pair in pairs if pair["valid"] is not None]
    built.notes += [
        describe_coverage(len(judged), len(hs) * len(cn)),
        f"Validators were shown {len(seen)} of the {len(pairs)} labels, and confirmed {sum(seen)}.",
    ]
    if left_out:
        reasons = ", ".join(f"{count} `{reason}`" for reason, count in sorted(left_out.items()))
        built.notes.append(
            f"{left_out.total()} judged pairs are left out ({reasons}); the votes on them are the split `{LEFT_OUT}` "
            "of `votes` and count in the agreement."
        )
    if without := len(hs) - len(queries):
        built.notes.append(
            f"HS without a pair in any tier, left out of the queries: {without}. The corpus holds every CN."
        )
    if len(filled) < len(members):
        empty = ", ".join(name for name in members if name not in filled)
        built.notes.append(f"No pair is in these tiers, which have no config: {empty}.")
    if recipe.own_tier_rule is not None:
        conditions = "; ".join(f"`{tier.name}`: {tier.in_words()}" for tier in rule.complete)
        built.notes.append(f"Tiers, each a subset of the next: {conditions}. {rule.meaning}")


def _add_ratings(upstream: SourceFiles, built: Built) -> None:
    aspects = upstream.recipe.aspects
    ratings = []
    for row in upstream.rows("ratings", RATING.kinds | FURTHER):
        if row["aspect"] not in aspects:
            raise InputError(f"ratings of {row['aspect']!r}, expected {', '.join(aspects)}: add it to `aspects`")
        rater = Rater(name=row["rater"], kind=row.get("rater_kind", "human"), source="ratings")
        about = row["aspect"], aspects[row["aspect"]]
        ratings.append(row | rating_row(row["reply_id"], rater, *about, row["value"], row.get("explanation")))
    columns = _with_further(RATING.kinds, ratings)
    built.tables.append(Table.from_rows("ratings", "test", columns, ratings, ("reply_id", "rater", "aspect")))
    by_people = [row for row in ratings if row["value"] is not None and row["rater_kind"] == "human"]
    given: dict[str, dict[str, list[float]]] = {
        name: group_values((row["reply_id"], row["value"]) for row in by_people if row["aspect"] == name)
        for name in aspects
    }
    built.agreement += [
        describe_alpha(f"(ordinal, {name})", units.values(), "ordinal", "replies judged by two or more raters")
        for name, units in given.items()
    ]
    built.facts["not_rated"] = sum(rating["reason"] == "not_rated" for rating in ratings)
    if "grades" in upstream.recipe.sources:
        grades = upstream.rows("grades", FINAL_GRADE)
        medians = [
            row | {"aspect": aspect, "value": median(values[row["reply_id"]]), "n_votes": len(values[row["reply_id"]])}
            for row in grades
            for aspect, values in given.items()
        ]
        built.tables.append(Table.from_rows("grades", "test", FINAL_GRADE, medians, ("reply_id", "aspect")))
        _add_confirmed(built, "grades", grades)


def _add_confirmed(built: Built, noun: str, final: Sequence[Row]) -> None:
    seen = [row["valid"] for row in final if row["valid"] is not None]
    built.facts["confirmed"] = sum(seen)
    built.notes.append(f"Validators judged {len(seen)} of the {len(final)} final {noun}, and confirmed {sum(seen)}.")


def _add_comparisons(upstream: SourceFiles, replies: Mapping[str, Row], built: Built) -> None:
    compared = [
        row
        | comparison_row(
            replies[row["reply_a"]],
            replies[row["reply_b"]],
            row["rater"],
            row.get("rater_kind", "human"),
            row["verdict"],
            row["reason"],
        )
        for row in upstream.rows("comparisons", COMPARISON.kinds | FURTHER)
    ]
    columns, key = _with_further(COMPARISON.kinds, compared), ("reply_a", "reply_b", "rater")
    built.tables.append(Table.from_rows("comparisons", "test", columns, compared, key))
    counted = [row for row in compared if row["verdict"] in VERDICT_ON_A_SCALE and row["rater_kind"] == "human"]
    votes = group_values(((row["reply_a"], row["reply_b"]), row["verdict"]) for row in counted)
    units = [[VERDICT_ON_A_SCALE[verdict] for verdict in given] for given in votes.values()]
    built.agreement.append(describe_alpha("(nominal)", units, "nominal", "comparisons judged by two or more raters"))
    built.facts["invalid"] = sum(row["verdict"] == "invalid" for row in compared)
    if "labels" not in upstream.recipe.sources:
        return
    labels = []
    for row in upstream.rows("labels", FINAL_VERDICT):
        given = votes.get((row["reply_a"], row["reply_b"]), [])
        a, b = replies[row["reply_a"]], replies[row["reply_b"]]
        final = comparison_row(a, b, "", "", row["verdict"], row["reason"]) | row | {"n_votes": len(given)}
        final["agreement"] = agreement(given, row["verdict"]) if given and row["decided"] else None
        labels.append({name: final[name] for name in FINAL_VERDICT})
    built.tables.append(Table.from_rows("labels", "test", FINAL_VERDICT, labels, ("reply_a", "reply_b")))
    built.facts["labelled"] = sum(label["verdict"] != "invalid" for label in labels)
    _add_confirmed(built, "verdicts", [label for label in labels if label["decided"]])
