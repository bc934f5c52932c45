"""Exhaustively paired datasets (FC-CONAN): tiers, recomputed from votes, and a retrieval benchmark."""

import re
from typing import TYPE_CHECKING

from fcconan.building.rows import (
    Row,
    describe_coverage,
    pair_rows,
    tier_facts,
    tier_members,
    tier_tables,
    vote_agreement,
)
from fcconan.building.source_files import YES_OR_NO, SourceFiles, coded, numbers, wrong_row
from fcconan.building.tables import Built, Table
from fcconan.building.tiers import TIER_RULES, agreement
from fcconan.data import PAIR, TIERS, VOTE, Columns
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

LABEL = {"0": "not_appropriate", "1": "appropriate"}
VOTE_LABEL = {"": None, "0": "not_appropriate", "1": "not_sure", "2": "appropriate"}
INFERRED: Columns = {"inferred": "bool"}
VOTE_COLUMN = re.compile(r"vote_\d+")
TEXTS = ("hate_speech", "counter_narrative")


def build(upstream: SourceFiles) -> Built:
    """Builds the tiers, votes, corpus, queries, qrels and training pairs.

    Args:
        upstream: The recipe, its tier rule and its files: `bronze` and, optionally, the other tiers (compared with the
            recomputed ones), `pool`, `queries` and `train`.

    Raises:
        InputError: A file has an invalid format, or a recomputed tier differs from the released one (tier rule
            `released`).
    """
    recipe, tier_rule = upstream.recipe, str(upstream.tier_rule)
    pairs, votes = _pairs_and_votes(upstream.read("bronze", *TEXTS), tier_rule)
    members = tier_members(pairs, TIERS)
    released = {name: upstream.read(name, *TEXTS) for name in TIERS[:-1] if name in recipe.sources}
    _compare_with_release(released, members, tier_rule)
    hate_speech = {pair["hs_id"] for pair in pairs}
    counter_narratives = {pair["cn_id"] for pair in pairs}
    facts = {"hate_speech": len(hate_speech), "counter_narratives": len(counter_narratives)}
    notes = [describe_coverage(len(pairs), len(hate_speech) * len(counter_narratives))]
    if "pool" in recipe.sources:
        facts["pool"], note = _check_pool(upstream.read("pool", "counter_narrative"), pairs)
        notes.append(note)
    if "queries" in recipe.sources:
        queries = upstream.read("queries", "hate_speech")
        if {*queries["hate_speech"]} != {pair["hate_speech"] for pair in pairs}:
            raise InputError(f"{queries.attrs['name']} has other HS than the Bronze file: give files of one release")
    tables, aliases = tier_tables(members)
    if "train" in recipe.sources:
        train_tables, train_notes = _train(upstream.read("train", *TEXTS), pairs)
        tables += train_tables
        notes += train_notes
    tables.append(Table.from_rows("votes", "test", VOTE.kinds | INFERRED, votes, ("pair_id", "rater")))
    facts |= tier_facts(members)
    for name in TIERS:
        for count in (1, 2, 3):
            facts[f"{name}_{count}_annotators"] = sum(pair["n_votes"] == count for pair in members[name])
    return Built(tables, aliases, facts, vote_agreement(votes), notes)


def _pairs_and_votes(rows: "DataFrame", tier_rule: str) -> tuple[list[Row], list[Row]]:
    names = sorted(filter(VOTE_COLUMN.fullmatch, rows), key=lambda name: int(name.rpartition("_")[2]))
    labels, valid = coded(rows, "label", LABEL), coded(rows, "valid", YES_OR_NO)
    columns = [coded(rows, name, VOTE_LABEL) for name in names]
    slots = [[column[at] for column in columns if column[at]] for at in range(len(rows))]
    index = numbers(rows, "original_index", whole=True) if "original_index" in rows else [*range(len(rows))]
    pairs: list[Row] = []
    votes: list[Row] = []
    for at, pair in enumerate(pair_rows(rows)):
        given = slots[at]
        backed = given or [labels[at]]  # the vote of a single annotator is only released as the final label
        best = TIER_RULES[tier_rule].best(backed, labels[at], valid[at])
        if best is None:
            raise InputError(
                f"tier rule {tier_rule!r} leaves pairs out, expected a tier for each: only campaigns leave pairs out"
            )
        judged = {"label": labels[at], "valid": valid[at], "n_votes": len(backed), "tier": best}
        pairs.append(pair | judged | {"agreement": agreement(backed, labels[at]), "original_index": index[at]})
        votes += [
            {"pair_id": pair["pair_id"], "rater": f"annotator-{slot}", "label": vote, "inferred": not given}
            for slot, vote in enumerate(backed, start=1)
        ]
    cast = {vote["label"] for vote in votes if not vote["inferred"]}
    if "appropriate" in labels and "not_sure" in cast and "appropriate" not in cast:
        raise InputError(
            f"{rows.attrs['name']} has the label 1 (yes) and no vote 2 (yes), expected votes 0 (no), 1 (not sure) and "
            "2 (yes): correct the votes"
        )
    order = {pair["pair_id"]: pair["original_index"] for pair in pairs}
    pairs.sort(key=lambda pair: pair["original_index"])
    votes.sort(key=lambda vote: (order[vote["pair_id"]], vote["rater"]))
    return pairs, votes


def _compare_with_release(released: dict[str, "DataFrame"], members: dict[str, list[Row]], tier_rule: str) -> None:
    """Checks that each released tier has exactly the recomputed pairs, with the labels of the broadest tier."""
    final = {pair["pair_id"]: (pair["label"], pair["valid"]) for pair in members["bronze"]}
    for name, rows in released.items():
        stated = zip(coded(rows, "label", LABEL), coded(rows, "valid", YES_OR_NO), strict=True)
        upstream = dict(zip((pair["pair_id"] for pair in pair_rows(rows)), stated, strict=True))
        if wrong := [pair for pair, values in upstream.items() if final.get(pair) != values]:
            raise InputError(f"{name}: pair {wrong[0]} has another label or validity than in the bronze file")
        recomputed = {pair["pair_id"] for pair in members[name]}
        if upstream.keys() != recomputed and (name != "diamond" or tier_rule == "released"):
            different = upstream.keys() ^ recomputed
            raise InputError(
                f"{name}: {len(upstream)} pairs upstream, {len(recomputed)} by the tier rule {tier_rule!r}, "
                f"{len(different)} differ (such as {min(different)}): correct the rule or the files"
            )


def _check_pool(pool: "DataFrame", pairs: list[Row]) -> tuple[int, str]:
    positive = {pair["counter_narrative"] for pair in pairs if pair["label"] == "appropriate"}
    if {*pool["counter_narrative"]} != positive:
        raise InputError(
            f"{pool.attrs['name']} has {len(pool)} CNs, expected the {len(positive)} CNs with a positive in Bronze"
        )
    everything = len({pair["cn_id"] for pair in pairs})
    return len(pool), (
        f"The paper's candidate pool is the {len(pool)} CNs that have at least one positive in Bronze; the corpus here "
        f"holds all {everything}. Leaving the others out inflates all scores."
    )


def _train(rows: "DataFrame", pairs: list[Row]) -> tuple[list[Table], list[str]]:
    """Returns the training pairs; those with a CN of the evaluation part are in a separate split."""
    evaluated = {pair["cn_id"] for pair in pairs}
    evaluated_hs = {pair["hs_id"] for pair in pairs}
    found = [pair | {"label": "appropriate", "original_index": at} for at, pair in enumerate(pair_rows(rows))]
    for at, pair in enumerate(found):
        if pair["hs_id"] in evaluated_hs:
            raise wrong_row(rows, at, "this HS is in the evaluation part, expected other HS: leave the row out")
    splits = {
        "train": [pair for pair in found if pair["cn_id"] not in evaluated],
        "shared_cn": [pair for pair in found if pair["cn_id"] in evaluated],
    }
    tables = [Table.from_rows("train", name, PAIR.kinds, held, ("pair_id",)) for name, held in splits.items() if held]
    if not splits["shared_cn"]:
        return tables, []
    shared = len({pair["cn_id"] for pair in splits["shared_cn"]})
    note = (
        f"Of the {len(rows)} released training pairs, {len(splits['shared_cn'])} have one of {shared} CNs that are "
        "also in the evaluation corpus. They are in the split `shared_cn`. Both splits together are the released file "
        "(order: `original_index`)."
    )
    return tables, [note]
