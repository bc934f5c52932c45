"""The six kinds of row, and the column types of everything else a dataset folder holds.

A column type is one of the names in `DTYPES`. `text` and `texts` are strings that upstream may not let us
redistribute; a labels-only folder has no column of these two types.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

Columns = dict[str, str]

LABELS = ("not_appropriate", "appropriate")
VOTE_LABELS = ("not_appropriate", "not_sure", "appropriate")
AGREEMENTS = ("single", "unanimous", "majority", "adjudicated")
TIERS = ("diamond", "gold", "silver", "bronze")
VERDICTS = ("a", "b", "tie", "invalid")
RATER_KINDS = ("human", "model", "metric")
# What a column of this name may hold; missing is always allowed. Labels are `VOTE_LABELS` in votes, `LABELS` elsewhere.
ALLOWED = {
    "agreement": AGREEMENTS,
    "tier": TIERS,
    "verdict": VERDICTS,
    "rater_kind": RATER_KINDS,
}

RESTRICTED_TYPES = frozenset({"text", "texts"})
DTYPES = {
    "string": "string",
    "text": "string",
    "strings": "string",
    "texts": "string",
    "int": "int32",
    "float": "float64",
    "bool": "bool",
}
LIST_TYPES = frozenset({"strings", "texts"})

PAIR: Columns = {
    "pair_id": "string",
    "hs_id": "string",
    "cn_id": "string",
    "hate_speech": "text",
    "counter_narrative": "text",
    "label": "string",
    "valid": "bool",
    "n_votes": "int",
    "agreement": "string",
    "tier": "string",
    "hs_type": "string",
    "hs_subtype": "string",
    "cn_type": "string",
    "age": "int",
    "gender": "string",
    "education": "string",
    "source_id": "string",
    "original_index": "int",
}
VOTE: Columns = {"pair_id": "string", "rater": "string", "label": "string"}
REPLY: Columns = {
    "reply_id": "string",
    "item_id": "string",
    "hs_id": "string",
    "hate_speech": "text",
    "text": "text",
    "system": "string",
    "strategy": "string",
    "references": "texts",
}
RATING: Columns = {
    "reply_id": "string",
    "rater": "string",
    "rater_kind": "string",
    "aspect": "string",
    "value": "float",
    "low": "float",
    "high": "float",
    "higher_is_better": "bool",
    "reason": "string",
    "explanation": "text",
}
COMPARISON: Columns = {
    "item_id": "string",
    "system_a": "string",
    "system_b": "string",
    "reply_a": "string",
    "reply_b": "string",
    "rater": "string",
    "rater_kind": "string",
    "verdict": "string",
    "score_a": "float",
    "score_b": "float",
    "reason": "string",
}
RANKING: Columns = {
    "query_id": "string",
    "corpus_id": "string",
    "rank": "int",
    "score": "float",
    "system": "string",
}
TEXT_BY_ID: Columns = {"_id": "string", "text": "text"}
QRELS: Columns = {"query-id": "string", "corpus-id": "string", "score": "int"}


def feature_specification(columns: Columns) -> dict[str, Any]:
    """Returns the columns as `datasets` writes features into parquet metadata."""
    specification: dict[str, Any] = {}
    for name, kind in columns.items():
        value = {"dtype": DTYPES[kind], "_type": "Value"}
        specification[name] = {"feature": value, "_type": "List"} if kind in LIST_TYPES else value
    return specification


def features(columns: Columns) -> "datasets.Features":
    """Returns the columns as `datasets.Features`.

    Args:
        columns: One of the constants of this module, or one of them with further columns.
    """
    import datasets

    return datasets.Features.from_dict(feature_specification(columns))


def without_text(columns: Columns) -> Columns:
    """Returns the columns that a labels-only folder keeps."""
    return {name: kind for name, kind in columns.items() if kind not in RESTRICTED_TYPES}
