"""One judgement as a row, a rating or a comparison: its value, and otherwise the reason why there is none."""

from typing import Any

from fcconan.building.recipes import Aspect, Rater

FAILED_PARSE = -1.0


def rating_row(
    reply: str,
    rater: Rater,
    aspect_name: str,
    aspect: Aspect,
    value: float | None,
    explanation: str | None = None,
) -> dict[str, Any]:
    """Returns one rating as columns.

    Args:
        reply: The id of the reply.
        rater: Who rated it.
        aspect_name: What was rated.
        aspect: The aspect's scale, which the rater may have one of its own for.
        value: The upstream value; None where the cell is empty, and -1 for a model's unreadable output.
        explanation: The raw output behind the value, if there is one.
    """
    scale = rater.scale(aspect)
    reason = missing_reason(scale, value, rater.kind)
    return {
        "reply_id": reply,
        "rater": rater.name,
        "rater_kind": rater.kind,
        "aspect": aspect_name,
        "value": None if reason else value,
        "low": scale.low,
        "high": scale.high,
        "higher_is_better": scale.higher_is_better,
        "reason": reason,
        "explanation": explanation,
    }


def missing_reason(aspect: Aspect, value: float | None, rater_kind: str) -> str | None:
    """Returns why a value is no rating (`not_rated`, `parse_failed`, `out_of_scale`), or None where it is one."""
    if value is None:
        return "not_rated"
    if aspect.low is None or aspect.high is None:
        return None
    if rater_kind == "model" and value == FAILED_PARSE:
        return "parse_failed"
    return None if aspect.low <= value <= aspect.high else "out_of_scale"


def comparison_row(
    a: dict[str, Any], b: dict[str, Any], rater: str, kind: str, verdict: str | None, reason: str | None = None
) -> dict[str, Any]:
    """Returns one verdict between two replies to one item as columns.

    Args:
        a: The first reply.
        b: The second reply.
        rater: Who compared them.
        kind: `human` or `model`.
        verdict: `a`, `b` or `tie`; None where there is none, which is `invalid`.
        reason: Why there is none.
    """
    return {
        "item_id": a["item_id"],
        "system_a": a["system"],
        "system_b": b["system"],
        "reply_a": a["reply_id"],
        "reply_b": b["reply_id"],
        "rater": rater,
        "rater_kind": kind,
        "verdict": verdict or "invalid",
        "reason": reason,
    }
