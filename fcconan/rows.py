"""The columns of rows as plain mappings; `fcconan.data.schemas` declares them."""

from fcconan.data import schemas
from fcconan.data.schemas import (
    AGREEMENTS,
    DTYPES,
    LABELS,
    LIST_TYPES,
    RATER_KINDS,
    RESTRICTED_TYPES,
    TIERS,
    VERDICTS,
    VOTE_LABELS,
    Columns,
    feature_specification,
    features,
    without_text,
)

__all__ = [
    "AGREEMENTS",
    "ALLOWED",
    "COMPARISON",
    "DTYPES",
    "LABELS",
    "LIST_TYPES",
    "PAIR",
    "QRELS",
    "RANKING",
    "RATER_KINDS",
    "RATING",
    "REPLY",
    "RESTRICTED_TYPES",
    "TEXT_BY_ID",
    "TIERS",
    "VERDICTS",
    "VOTE",
    "VOTE_LABELS",
    "Columns",
    "feature_specification",
    "features",
    "without_text",
]

# What a column of this name may hold; missing is always allowed. Labels are `VOTE_LABELS` in votes, `LABELS` elsewhere.
ALLOWED = {"agreement": AGREEMENTS, "tier": TIERS, "verdict": VERDICTS, "rater_kind": RATER_KINDS}

PAIR = schemas.PAIR.kinds
VOTE = schemas.VOTE.kinds
REPLY = schemas.REPLY.kinds
RATING = schemas.RATING.kinds
COMPARISON = schemas.COMPARISON.kinds
RANKING = schemas.RANKING.kinds
TEXT_BY_ID = schemas.TEXT_BY_ID.kinds
QRELS = schemas.QRELS.kinds
