"""Exhaustively paired datasets (FC-CONAN): tiers recomputed from votes, and a retrieval benchmark."""

import re
from pathlib import Path
from typing import Any

from fcconan.building.recipes import Recipe
from fcconan.building.rows import PERSON_AND_TOPIC, benchmark_tables, check_labels, ids_of, person_and_topic
from fcconan.building.tables import Built, Table
from fcconan.building.tiers import agreement, tier
from fcconan.building.upstream_csv import Rows, Upstream
from fcconan.data import PAIR, TIERS, VOTE
from fcconan.errors import InputError
from fcconan.scoring import krippendorff_alpha

LABEL = {"0": "not_appropriate", "1": "appropriate"}
VOTE_LABEL = {"": None, "0": "not_appropriate", "1": "not_sure", "2": "appropriate"}
VALID = {"0": False, "1": True}
VOTE_COLUMN = re.compile(r"vote_\d+")
TEXTS = ("hate_speech", "counter_narrative")
COLUMNS = (*TEXTS, "label", "valid", "source_id", "original_index")
RANK = {name: position for position, name in enumerate(TIERS)}


def build(recipe: Recipe, files: dict[str, Path], *, tier_rule: str) -> Built:
    """Builds the tiers, votes, corpus, queries, qrels and training pairs.

    Args:
        recipe: The recipe.
        files: The upstream files by source name: `bronze`, and if the recipe names them, the other tiers (compared
            with the recomputed ones), `pool`, `queries` and `train`.
        tier_rule: A key of `fcconan.building.tiers.TIER_RULES`.

    Raises:
        InputError: A file breaks a rule of the format, or (tier rule `released`) a recomputed tier differs from the
            released one.
    """
    upstream = Upstream(recipe, files)
    bronze = upstream.read("bronze", text_columns=TEXTS)
    votes_read = [name for name in bronze.columns if VOTE_COLUMN.fullmatch(name)]
    bronze.check_columns((*COLUMNS, *PERSON_AND_TOPIC, *votes_read), recipe.kind)
    pairs, votes = _pairs_and_votes(bronze, tier_rule)
    members = {name: [pair for pair in pairs if RANK[pair["tier"]] <= RANK[name]] for name in TIERS}
    released = {name: upstream.read(name, text_columns=TEXTS) for name in TIERS[:-1] if name in recipe.sources}
    _compare_with_release(released, members, tier_rule)
    hate_speech = {pair["hs_id"] for pair in pairs}
    counter_narratives = {pair["cn_id"] for pair in pairs}
    facts = {"hate_speech": len(hate_speech), "counter_narratives": len(counter_narratives)}
    possible = len(hate_speech) * len(counter_narratives)
    notes = [f"{len(pairs)} of {possible} combinations of HS and CN are judged."]
    if len(pairs) < possible:
        notes = [notes[0][:-1] + "; the others are unjudged, not negative."]
    if "pool" in recipe.sources:
        facts["pool"], note = _check_pool(upstream.read("pool", text_columns=("counter_narrative",)), pairs)
        notes.append(note)
    if "queries" in recipe.sources:
        _check_queries(upstream.read("queries", text_columns=("hate_speech",)), pairs)
    train_tables: list[Table] = []
    if "train" in recipe.sources:
        train_tables, train_notes = _train(upstream.read("train", text_columns=TEXTS), pairs, recipe.kind)
        notes += train_notes
    benchmark, aliases = benchmark_tables(members, "bronze")

    tables = [Table.from_rows(name, "test", PAIR.kinds, members[name], ("pair_id",)) for name in TIERS]
    tables += [*benchmark, *train_tables]
    tables.append(Table.from_rows("votes", "test", VOTE.kinds | {"inferred": "bool"}, votes, ("pair_id", "rater")))
    for name in TIERS:
        facts[f"{name}_appropriate"] = sum(pair["label"] == "appropriate" for pair in members[name])
        facts[f"{name}_valid"] = sum(pair["valid"] for pair in members[name])
        for count in (1, 2, 3):
            facts[f"{name}_{count}_annotators"] = sum(pair["n_votes"] == count for pair in members[name])
    return Built(tables, aliases, facts, vote_agreement(votes), notes)


def _pairs_and_votes(rows: Rows, tier_rule: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    pairs: list[dict[str, Any]] = []
    votes: list[dict[str, Any]] = []
    vote_columns = [name for name in rows.columns if VOTE_COLUMN.fullmatch(name)]
    vote_columns.sort(key=lambda name: int(name.removeprefix("vote_")))
    for row in range(len(rows)):
        pair: dict[str, Any] = ids_of(rows["hate_speech"][row], rows["counter_narrative"][row])
        label = rows.one_of("label", row, LABEL)
        valid = rows.one_of("valid", row, VALID)
        slots = [VOTE_LABEL[rows.one_of(name, row, {key: key for key in VOTE_LABEL})] for name in vote_columns]
        given = [vote for vote in slots if vote is not None]
        if slots[: len(given)] != given:
            raise rows.fail(row, "a vote is missing between two others; move the votes together")
        backed = given or [label]  # a single annotator's vote was released as the final label only
        pair |= person_and_topic(rows, row)
        pair |= {
            "label": label,
            "valid": valid,
            "n_votes": len(backed),
            "agreement": agreement(backed, label),
            "tier": tier(backed, label, valid, tier_rule),
            "source_id": rows["source_id"][row] if "source_id" in rows.columns else str(row),
            "original_index": _index(rows, row),
        }
        pairs.append(pair)
        votes += [
            {"pair_id": pair["pair_id"], "rater": f"annotator-{slot}", "label": vote, "inferred": not given}
            for slot, vote in enumerate(backed, start=1)
        ]
    check_labels(rows, [pair["pair_id"] for pair in pairs], [pair["label"] for pair in pairs])
    order = {pair["pair_id"]: pair["original_index"] for pair in pairs}
    pairs.sort(key=lambda pair: pair["original_index"])
    votes.sort(key=lambda vote: (order[vote["pair_id"]], vote["rater"]))
    return pairs, votes


def _index(rows: Rows, row: int) -> int:
    """Returns upstream's number of a pair, or the row's where upstream has none."""
    if "original_index" not in rows.columns:
        return row
    index = rows.integer("original_index", row)
    if index is None:
        raise rows.fail(row, "original_index is empty, expected a whole number; fill it in, or map no such column")
    return index


def _compare_with_release(released: dict[str, Rows], members: dict[str, list[dict[str, Any]]], tier_rule: str) -> None:
    """Checks that every upstream tier holds just the recomputed pairs, with the labels of the broadest tier."""
    final = {pair["pair_id"]: (pair["label"], pair["valid"]) for pair in members["bronze"]}
    for name, rows in released.items():
        upstream: set[str] = set()
        for row in range(len(rows)):
            pair = ids_of(rows["hate_speech"][row], rows["counter_narrative"][row])["pair_id"]
            if final.get(pair) != (rows.one_of("label", row, LABEL), rows.one_of("valid", row, VALID)):
                raise rows.fail(row, f"pair {pair} has another label or validity in the bronze file, or is not there")
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


def _check_pool(pool: Rows, pairs: list[dict[str, Any]]) -> tuple[int, str]:
    positive = {pair["counter_narrative"] for pair in pairs if pair["label"] == "appropriate"}
    if set(pool["counter_narrative"]) != positive:
        raise InputError(
            f"{pool.name}: the pool holds {len(pool)} CNs, expected the {len(positive)} CNs with a positive in Bronze"
        )
    everything = len({pair["cn_id"] for pair in pairs})
    return len(pool), (
        f"The paper's candidate pool is the {len(pool)} CNs that have at least one positive in Bronze; the corpus here "
        f"holds all {everything}. Leaving the others out flatters every system."
    )


def _check_queries(queries: Rows, pairs: list[dict[str, Any]]) -> None:
    if set(queries["hate_speech"]) != {pair["hate_speech"] for pair in pairs}:
        raise InputError(f"{queries.name}: its HS are not those of the Bronze file")


def _train(rows: Rows, pairs: list[dict[str, Any]], kind: str) -> tuple[list[Table], list[str]]:
    """Returns the training pairs, those that share a CN with the evaluation part in a split of their own."""
    rows.check_columns((*TEXTS, "source_id", *PERSON_AND_TOPIC), kind)
    evaluated = {pair["cn_id"] for pair in pairs}
    evaluated_hs = {pair["hs_id"] for pair in pairs}
    splits: dict[str, list[dict[str, Any]]] = {"train": [], "shared_cn": []}
    pair_ids: list[str] = []
    for row in range(len(rows)):
        pair: dict[str, Any] = ids_of(rows["hate_speech"][row], rows["counter_narrative"][row])
        if pair["hs_id"] in evaluated_hs:
            raise rows.fail(row, "this HS is in the evaluation part; training pairs must share no HS with it")
        pair |= person_and_topic(rows, row)
        source_id = rows["source_id"][row] if "source_id" in rows.columns else str(row)
        pair |= {"label": "appropriate", "source_id": source_id, "original_index": row}
        splits["shared_cn" if pair["cn_id"] in evaluated else "train"].append(pair)
        pair_ids.append(pair["pair_id"])
    check_labels(rows, pair_ids, ["appropriate"] * len(rows))
    tables = [
        Table.from_rows("train", name, PAIR.kinds, found, ("pair_id",)) for name, found in splits.items() if found
    ]
    if not splits["shared_cn"]:
        return tables, []
    shared = len({pair["cn_id"] for pair in splits["shared_cn"]})
    note = (
        f"Of the {len(rows)} released training pairs, {len(splits['shared_cn'])} have one of {shared} CNs that are "
        "also in the evaluation corpus. They stand apart, in the split `shared_cn`; both splits together are the "
        "released file (order: `original_index`)."
    )
    return tables, [note]


def vote_agreement(votes: list[dict[str, Any]]) -> list[str]:
    """Returns what the card says about the agreement of votes; inferred ones do not count."""
    scale = {"not_appropriate": 0.0, "not_sure": 1.0, "appropriate": 2.0}
    by_pair: dict[str, dict[str, float]] = {}
    for vote in votes:
        if not vote.get("inferred"):
            by_pair.setdefault(vote["pair_id"], {})[vote["rater"]] = scale[vote["label"]]
    units = [list(values.values()) for values in by_pair.values()]
    lines = []
    for level in ("nominal", "ordinal"):
        value = krippendorff_alpha(units, level=level).value
        shown = "undefined" if value is None else f"{value:.3f}"
        lines.append(
            f"Krippendorff's alpha ({level}) of the votes: {shown} "
            f"({sum(len(unit) > 1 for unit in units)} pairs with two or more votes)"
        )
    return lines
