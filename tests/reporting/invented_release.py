"""A made-up dataset folder: pairs in tiers with votes, rated and compared replies, and names that are markup."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fcconan.building.releases import write_manifest
from fcconan.building.tables import Table
from fcconan.data.schemas import COMPARISON, PAIR, RATING, REPLY, TEXT_BY_ID, TIERS, VOTE, Columns

MESSAGE = "The Quillish hide every map of the harbour."
ANSWER = "Anyone may copy the maps of the Quillish in the hall."
SCRIPT = "</script><script>window.evil = 3</script> the Ostrun & the harbour"
REPLY_TEXT = "The harbour office of the Dravene shows its maps to all."
TEXTS = (MESSAGE, ANSWER, SCRIPT, REPLY_TEXT)
EVIL_NAME = '"><img src=x onerror="window.evil = 4">'
HS, CN = ("hs-000000000001", "hs-000000000002"), ("cn-00000000000a", "cn-00000000000b", "cn-00000000000c")
# HS, CN, label, valid, agreement, best tier, votes for and against the label.
JUDGED = (
    (0, 0, "appropriate", True, "unanimous", "diamond", 2, 0),
    (0, 1, "not_appropriate", True, "adjudicated", "gold", 1, 1),
    (0, 2, "appropriate", True, "single", "silver", 1, 0),
    (1, 0, "not_appropriate", False, "single", "bronze", 1, 0),
    (1, 1, "appropriate", False, "majority", "bronze", 2, 1),
)
DECIDED = {name: COMPARISON.kinds[name] for name in ("item_id", "system_a", "system_b", "verdict")}
Rows = list[dict[str, Any]]


def _pairs() -> Rows:
    return [
        {
            "pair_id": f"{HS[hs]}:{CN[cn]}",
            "hs_id": HS[hs],
            "cn_id": CN[cn],
            "hate_speech": (MESSAGE, SCRIPT)[hs],
            "counter_narrative": ANSWER,
            "label": label,
            "valid": valid,
            "n_votes": backing + against,
            "agreement": agreement,
            "tier": tier,
            "hs_type": EVIL_NAME if hs else "maps",
        }
        for hs, cn, label, valid, agreement, tier, backing, against in JUDGED
    ]


def _votes() -> Rows:
    other = {"appropriate": "not_appropriate", "not_appropriate": "appropriate"}
    return [
        {
            "pair_id": f"{HS[hs]}:{CN[cn]}",
            "rater": f"rater-{place + 1}",
            "label": label if place < backing else other[label],
        }
        for hs, cn, label, _, _, _, backing, against in JUDGED
        for place in range(backing + against)
    ]


def _replies() -> Rows:
    shared = {"item_id": "it-1", "hs_id": HS[0], "hate_speech": MESSAGE, "references": [ANSWER]}
    return [
        {**shared, "reply_id": f"re-{place}", "system": system, "text": REPLY_TEXT}
        for place, system in enumerate(("alpha", EVIL_NAME))
    ]


def _ratings() -> Rows:
    shared = {"rater_kind": "human", "low": 1.0, "high": 5.0, "higher_is_better": True}
    return [
        {**shared, "reply_id": "re-0", "rater": "anna", "aspect": "relevance", "value": 10 / 3},
        {**shared, "reply_id": "re-0", "rater": "anna", "aspect": "tone", "reason": "out_of_scale"},
        {**shared, "reply_id": "re-0", "rater": EVIL_NAME, "aspect": "relevance", "value": 5.0},
        {**shared, "reply_id": "re-1", "rater": "anna", "aspect": "relevance", "value": 1.0, "explanation": SCRIPT},
    ]


def _comparisons() -> Rows:
    one = {"item_id": "it-1", "rater": "anna", "rater_kind": "human"}
    forth = {"system_a": "alpha", "system_b": EVIL_NAME, "reply_a": "re-0", "reply_b": "re-1"}
    back = {"system_a": EVIL_NAME, "system_b": "alpha", "reply_a": "re-1", "reply_b": "re-0"}
    return [
        {**one, **forth, "verdict": "a"},
        {**one, **back, "rater": "ben", "verdict": "a"},
        {**one, **back, "rater": "cleo", "verdict": "invalid", "reason": "empty"},
    ]


def write_release_folder(folder: Path, *, labels_only: bool = False, name: str = "invented") -> Path:
    """Writes the folder; alpha won anna's comparison and lost ben's."""
    pairs = _pairs()
    tables: list[tuple[str, Columns, Rows]] = [
        (tier, PAIR.kinds, [row for row in pairs if TIERS.index(row["tier"]) <= place])
        for place, tier in enumerate(TIERS)
    ]
    tables += [
        (
            "queries",
            TEXT_BY_ID.kinds,
            [{"_id": key, "text": text} for key, text in zip(HS, (MESSAGE, SCRIPT), strict=True)],
        ),
        ("votes", VOTE.kinds, _votes()),
        ("replies", REPLY.kinds, _replies()),
        ("ratings", RATING.kinds, _ratings()),
        ("comparisons", COMPARISON.kinds, _comparisons()),
        # What raters agreed on is of no rater.
        ("labels", DECIDED, [{"item_id": "it-1", "system_a": "alpha", "system_b": EVIL_NAME, "verdict": "tie"}]),
    ]
    counts, restricted = {}, {}
    for config, columns, rows in tables:
        table = Table.from_rows(config, "test", columns, rows, key=())
        bare = table.labels_only()
        counts[config] = {"test": len(table)}
        if left := [column for column in table.columns if column not in bare.columns]:
            restricted[config] = left
        (folder / config).mkdir(parents=True)
        pq.write_table((bare if labels_only else table).arrow(), folder / config / "test-00000-of-00001.parquet")
    manifest = {
        "format": 1,
        "name": name,
        "title": f"Invented & {EVIL_NAME}",
        "kind": "exhaustive",
        "synthetic": False,
        "redistributable": False,
        "labels_only": labels_only,
        "tier_rule": "released",
        "package": {"name": "fcconan", "version": "0.1.0"},
        "fingerprint": "0123456789ab",
        "versions": dict.fromkeys(counts, "1.0.0"),
        "counts": counts,
        "restricted_columns": restricted,
        "notes": [],
    }
    write_manifest(folder, manifest)
    return folder
