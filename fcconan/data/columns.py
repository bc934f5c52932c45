"""Names of columns in files: those of this package, and those of other projects."""

from collections.abc import Mapping
from typing import Any

from fcconan.data.schemas import COMPARISON, PAIR, RANKING, RATING, REPLY, VOTE

# The column of the judgement. A file with a column for each rater has the judgements in those columns instead.
JUDGEMENT = {"ratings": "value", "comparisons": "verdict", "votes": "label"}
# Required columns of each kind of row.
NEEDED = {
    "ratings": ("reply_id", "rater", "aspect", "value"),
    "comparisons": ("item_id", "system_a", "system_b", "verdict"),
    "votes": ("pair_id", "rater", "label"),
    "replies": ("text", "hate_speech"),
}
# Columns that can be mapped.
MAPPED_COLUMNS = tuple(
    dict.fromkeys(
        [
            *(name for schema in (RATING, COMPARISON, VOTE, REPLY) for name in schema.kinds),
            *("pair_id", "source_id", "background", "selection_probability"),
            *(name for schema in (PAIR, RANKING) for name in schema.kinds),
        ]
    )
)
# Names of text columns in files of other projects.
OTHER_NAMES = {
    "text": ("counter_narrative", "counter_speech", "counterspeech", "reply", "response"),
    "hate_speech": ("hatespeech", "hateSpeech", "HATE_SPEECH", "HS", "hs"),
    "references": ("reference",),
    "counter_narrative": (
        "counternarrative", "counter_speech", "counterspeech", "counterSpeech", "COUNTER_NARRATIVE", "CN", "cn",
    ),
}  # fmt: skip
TEXTS = ("text", "hate_speech", "references")  # text columns of replies
UNKNOWN = "unknown"  # the system of replies without one


def first_column(row: Mapping[str, Any], name: str) -> str | None:
    """Returns the first name of a text column that a row has, or None."""
    return next((each for each in (name, *OTHER_NAMES.get(name, ())) if each in row), None)
