"""Exhaustively paired datasets (FC-CONAN): tiers, recomputed from votes, and a retrieval benchmark."""

import re

from fcconan.building.rows import (
    PERSON_AND_TOPIC,
    Row,
    check_labels,
    describe_coverage,
    ids_of,
    pair_row,
    tier_facts,
    tier_members,
    tier_tables,
    vote_agreement,
)
from fcconan.building.source_files import SourceFiles, SourceRow, SourceRows
from fcconan.building.tables import Built, Table
from fcconan.building.tiers import agreement, tier
from fcconan.data import PAIR, TIERS, VOTE, Columns
from fcconan.errors import InputError

LABEL = {"0": "not_appropriate", "1": "appropriate"}
VOTE_LABEL = {"": None, "0": "not_appropriate", "1": "not_sure", "2": "appropriate"}
VALID = {"0": False, "1": True}
INFERRED: Columns = {"inferred": "bool"}
VOTE_COLUMN = re.compile(r"vote_\d+")
TEXTS = ("hate_speech", "counter_narrative")
COLUMNS = (*TEXTS, "label", "valid", "source_id", "original_index")


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
    bronze = upstream.read("bronze", text_columns=TEXTS)
    vote_columns = sorted(filter(VOTE_COLUMN.fullmatch, bronze.columns), key=lambda name: int(name.rpartition("_")[2]))
    bronze.check_columns((*COLUMNS, *PERSON_AND_TOPIC, *vote_columns), recipe.kind)
    pairs, votes = _pairs_and_votes(bronze, vote_columns, tier_rule)
    members = tier_members(pairs, TIERS)
    released = {name: upstream.read(name, text_columns=TEXTS) for name in TIERS[:-1] if name in recipe.sources}
    _compare_with_release(released, members, tier_rule)
    hate_speech = {pair["hs_id"] for pair in pairs}
    counter_narratives = {pair["cn_id"] for pair in pairs}
    facts = {"hate_speech": len(hate_speech), "counter_narratives": len(counter_narratives)}
    notes = [describe_coverage(len(pairs), len(hate_speech) * len(counter_narratives))]
    if "pool" in recipe.sources:
        facts["pool"], note = _check_pool(upstream.read("pool", text_columns=("counter_narrative",)), pairs)
        notes.append(note)
    if "queries" in recipe.sources:
        _check_queries(upstream.read("queries", text_columns=("hate_speech",)), pairs)
    tables, aliases = tier_tables(members)
    if "train" in recipe.sources:
        train_tables, train_notes = _train(upstream.read("train", text_columns=TEXTS), pairs, recipe.kind)
        tables += train_tables
        notes += train_notes
    tables.append(Table.from_rows("votes", "test", VOTE.kinds | INFERRED, votes, ("pair_id", "rater")))
    facts |= tier_facts(members)
    for name in TIERS:
        for count in (1, 2, 3):
            facts[f"{name}_{count}_annotators"] = sum(pair["n_votes"] == count for pair in members[name])
    return Built(tables, aliases, facts, vote_agreement(votes), notes)


def _pairs_and_votes(rows: SourceRows, vote_columns: list[str], tier_rule: str) -> tuple[list[Row], list[Row]]:
    pairs: list[Row] = []
    votes: list[Row] = []
    for record in rows:
        label = record.one_of("label", LABEL)
        valid = record.one_of("valid", VALID)
        slots = [record.one_of(name, VOTE_LABEL) for name in vote_columns]
        given = [vote for vote in slots if vote is not None]
        if slots[: len(given)] != given:
            raise record.fail("a vote is missing between two others; move the votes together")
        backed = given or [label]  # the vote of a single annotator is only released as the final label
        pair = pair_row(record) | {
            "label": label,
            "valid": valid,
            "n_votes": len(backed),
            "agreement": agreement(backed, label),
            "tier": tier(backed, label, valid, tier_rule),
            "original_index": _index(record),
        }
        pairs.append(pair)
        votes += [
            {"pair_id": pair["pair_id"], "rater": f"annotator-{slot}", "label": vote, "inferred": not given}
            for slot, vote in enumerate(backed, start=1)
        ]
    check_labels(rows, pairs)
    _check_vote_codes(rows, pairs, votes)
    order = {pair["pair_id"]: pair["original_index"] for pair in pairs}
    pairs.sort(key=lambda pair: pair["original_index"])
    votes.sort(key=lambda vote: (order[vote["pair_id"]], vote["rater"]))
    return pairs, votes


def _check_vote_codes(rows: SourceRows, pairs: list[Row], votes: list[Row]) -> None:
    """Refuses votes in the codes of labels: a yes would be read as `not_sure`."""
    positive = sum(pair["label"] == "appropriate" for pair in pairs)
    given = [vote["label"] for vote in votes if not vote["inferred"]]
    if positive and "not_sure" in given and "appropriate" not in given:
        raise InputError(
            f"{rows.name}: {positive} labels are 1 (yes), but no vote is 2 (yes); "
            "votes are 0 (no), 1 (not sure), 2 (yes)"
        )


def _index(record: SourceRow) -> int:
    """Returns the number of a pair in the source, or that of the row if the source has none."""
    if "original_index" not in record:
        return record.at
    index = record.integer("original_index")
    if index is None:
        raise record.fail("original_index is empty, expected a whole number; fill it in, or leave that column unmapped")
    return index


def _compare_with_release(released: dict[str, SourceRows], members: dict[str, list[Row]], tier_rule: str) -> None:
    """Checks that each released tier has exactly the recomputed pairs, with the labels of the broadest tier."""
    final = {pair["pair_id"]: (pair["label"], pair["valid"]) for pair in members["bronze"]}
    for name, rows in released.items():
        upstream: set[str] = set()
        for record in rows:
            pair = ids_of(record["hate_speech"], record["counter_narrative"])["pair_id"]
            if final.get(pair) != (record.one_of("label", LABEL), record.one_of("valid", VALID)):
                raise record.fail(f"pair {pair} has another label or validity in the bronze file, or is not there")
            upstream.add(pair)
        if name == "diamond" and tier_rule != "released":
            continue
        recomputed = {pair["pair_id"] for pair in members[name]}
        if upstream != recomputed:
            example = min(upstream ^ recomputed)
            raise InputError(
                f"{name}: {len(upstream)} pairs upstream, {len(recomputed)} by the tier rule {tier_rule!r}, "
                f"{len(upstream ^ recomputed)} differ (such as {example}); the rule or the files changed"
            )


def _check_pool(pool: SourceRows, pairs: list[Row]) -> tuple[int, str]:
    positive = {pair["counter_narrative"] for pair in pairs if pair["label"] == "appropriate"}
    if set(pool["counter_narrative"]) != positive:
        raise InputError(
            f"{pool.name}: the pool holds {len(pool)} CNs, expected the {len(positive)} CNs with a positive in Bronze"
        )
    everything = len({pair["cn_id"] for pair in pairs})
    return len(pool), (
        f"The paper's candidate pool is the {len(pool)} CNs that have at least one positive in Bronze; the corpus here "
        f"holds all {everything}. Leaving the others out inflates all scores."
    )


def _check_queries(queries: SourceRows, pairs: list[Row]) -> None:
    if set(queries["hate_speech"]) != {pair["hate_speech"] for pair in pairs}:
        raise InputError(f"{queries.name}: its HS are not those of the Bronze file")


def _train(rows: SourceRows, pairs: list[Row], kind: str) -> tuple[list[Table], list[str]]:
    """Returns the training pairs; those with a CN of the evaluation part are in a separate split."""
    rows.check_columns((*TEXTS, "source_id", *PERSON_AND_TOPIC), kind)
    evaluated = {pair["cn_id"] for pair in pairs}
    evaluated_hs = {pair["hs_id"] for pair in pairs}
    found = [pair_row(record) | {"label": "appropriate", "original_index": record.at} for record in rows]
    for record, pair in zip(rows, found, strict=True):
        if pair["hs_id"] in evaluated_hs:
            raise record.fail("this HS is in the evaluation part; training pairs must share no HS with it")
    check_labels(rows, found)
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
