"""Scores of texts as rows: a rating of each reply, and a line for each metric and system."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcconan.data import about_reply
from fcconan.scoring.text.scores import TextScores

Row = Mapping[str, Any]
FIELDS = ("precision", "recall", "f")  # metrics that have them are one rater with as many aspects
WHOLE = "score"


def rating_rows(replies: Sequence[Row], scores: Mapping[str, TextScores]) -> Iterator[dict[str, Any]]:
    """Yields a rating for each reply and series; a series that has values of whole systems only has none.

    Args:
        replies: Rows with `reply_id`, `system`, and item and HS where they are known.
        scores: Series by name, with a value for each reply.
    """
    for name, series in scores.items():
        if "corpus_only" in series.reasons:
            continue
        rater, aspect = _rater(name)
        for row, value, reason in zip(replies, series.values.tolist(), series.reasons, strict=True):
            yield {
                "reply_id": row["reply_id"],
                "rater": rater,
                "rater_kind": "metric",
                "aspect": aspect,
                "value": None if reason else value,
                "higher_is_better": series.higher_is_better,
                "reason": reason,
                **about_reply(row),
                "system": row["system"],
            }


def summary_rows(system: str, scores: Mapping[str, TextScores], population: str) -> Iterator[dict[str, Any]]:
    """Yields the value of a system for each series, with counts of texts without a value.

    Args:
        system: Name of the system.
        scores: Series by name.
        population: The data, for signatures.
    """
    for name, series in scores.items():
        missing = Counter(reason for reason in series.reasons if reason is not None)
        yield {
            "metric": name,
            "system": system,
            "value": series.corpus.value,
            "reason": series.corpus.reason,
            "higher_is_better": series.higher_is_better,
            "n": len(series.values),
            "n_missing": series.n_missing,
            "n_truncated": series.n_truncated,
            "n_empty_references": series.n_empty_references,
            "missing": dict(sorted(missing.items())),
            "signature": f"{series.corpus.signature}|data:{population}",
            "signature_of_ratings": f"{series.signature}|data:{population}",
        }


def summary_signatures(row: Row) -> Iterator[str]:
    """Yields the signature of the ratings, where the value of the system is not their mean, and that of the value.

    Args:
        row: A row of `summary_rows`.
    """
    if row["signature"] not in (own := row["signature_of_ratings"], own.replace("|data:", "|corpus:mean|data:")):
        yield f"ratings:{own}"
    yield row["signature"]


def _rater(name: str) -> tuple[str, str]:
    """Returns rater and aspect of a series: `bertscore-recall` is the recall of bertscore."""
    rater, _, field = name.rpartition("-")
    return (rater, field) if rater and field in FIELDS else (name, WHOLE)
