"""Comparison of two replies by a model in both orders.

If both orders agree, they give the verdict. If they disagree, it is a tie (or invalid, by choice). If one of them is
unreadable, it is invalid by default, because the other order alone would reintroduce position bias.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from fcconan.building import comparison_row
from fcconan.data import COMPARED, normalise, short_hash
from fcconan.judging.comparison.pairs import ReplyPair, Row
from fcconan.judging.comparison.protocols import ComparisonQuestion, QuestionReason
from fcconan.judging.streams import match_answers
from fcconan.models import ChatRequest, ChatResponse, FailureReason, Model
from fcconan.parsing import ParsedComparison, Reason as ParseReason, Verdict

Side = Literal["a", "b"]
SWAPPED: dict[Verdict, Verdict] = {"a": "b", "b": "a", "tie": "tie"}

Orders = Literal["both", "ab", "seeded"]
Disagreement = Literal["tie", "invalid"]
OneOrder = Literal["invalid", "take"]
Reason = Literal[
    ParseReason,
    FailureReason,
    QuestionReason,
    "no_hate_speech",
    "empty_reply",  # one of the two replies has no text
    "orders_disagree",
]
_Outcome = tuple[Verdict | Literal["invalid"], Reason | None]
_DISAGREEMENTS: dict[Disagreement, _Outcome] = {"tie": ("tie", None), "invalid": ("invalid", "orders_disagree")}

COMPARISON_COLUMNS = COMPARED.kinds


class ComparisonProtocol(Protocol):
    """Interface of comparison formats: prompts and parsers; see `fcconan.judging.comparison.protocols`.

    Attributes:
        name: Name of the format.
        configuration: All settings that change the questions, as JSON-serializable values.
    """

    name: str
    configuration: dict[str, Any]

    def question(self, a: Row, b: Row) -> ComparisonQuestion:
        """Returns the calls for two replies."""
        ...

    def read(self, text: str) -> ParsedComparison:
        """Parses an answer; `a` is the reply shown first."""
        ...


@dataclass
class _PreparedPair:
    """Pair with its calls, and the reply that each call shows first."""

    pair: ReplyPair
    question: ComparisonQuestion
    shown_first: tuple[Side, ...] = ()
    identical: bool = False
    reason: Reason | None = None

    @property
    def calls(self) -> list[ChatRequest]:
        calls = (self.question.ab if side == "a" else self.question.ba for side in self.shown_first)
        return [call for call in calls if call is not None]


def compare_pairs(
    model: Model,
    pairs: Iterable[ReplyPair],
    *,
    protocol: ComparisonProtocol,
    orders: Orders = "both",
    disagreement: Disagreement = "tie",
    one_order: OneOrder = "invalid",
    seed: int = 0,
    rater: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields the comparison of each pair, in order; pairs are read as needed.

    Each comparison is a row with the columns `COMPARISON_COLUMNS`:

    - `score_a` and `score_b`: mean scores over the orders; None if the verdict is invalid or the judge gives no scores.
      They do not decide: if the orders disagree, replies with different mean scores are tied.
    - `reason`: reason of an invalid verdict; if both orders failed, that of the first.
    - `verdict_ab`, `verdict_ba`: verdicts with reply a and with reply b shown first, in terms of `system_a` and
      `system_b`. `reason_ab`, `reason_ba`: reasons of missing ones.
    - `flipped`: whether the two orders gave different verdicts; None without two verdicts.
    - `identical`: whether both replies are the same text, a tie without a request.

    Both orders of a pair are requested in succession, reply a first. Equal texts (except for white space) are a tie. A
    message or reply without text makes the verdict invalid. Neither needs a request.

    Args:
        model: Model that judges.
        pairs: Pairs of `all_pairs` or `budgeted_pairs`.
        protocol: Format of the comparison.
        orders: `both`; `ab`, which shows reply a first; or `seeded`, which chooses the reply shown first at random. The
            choice depends on the seed and the two reply ids only.
        disagreement: Verdict if the two orders differ, also by a tie and a preference.
        one_order: Verdict if one of two orders is unreadable: `invalid`, or `take` that of the other order.
        seed: Seed of `seeded` orders.
        rater: Name of the judge in the rows; default: name of the model.

    Raises:
        InputError: The model is not usable, or the numbers of its answers and of the calls differ.
    """
    asked = (_prepare(pair, protocol, orders, seed) for pair in pairs)
    for each, replies in match_answers(model.name, model.replies, ((each, each.calls) for each in asked)):
        read = {
            side: _parse_answer(answer, side, protocol) for side, answer in zip(each.shown_first, replies, strict=True)
        }
        verdict, reason = _verdict(each, list(read.values()), disagreement, one_order)
        yield _row(each, read, verdict, reason, rater or model.name)


def comparison_calls(pair: ReplyPair, protocol: ComparisonProtocol) -> list[ChatRequest]:
    """Returns the calls for a pair in both orders; none if it cannot be compared or needs no model."""
    return _prepare(pair, protocol, "both", 0).calls


def _prepare(pair: ReplyPair, protocol: ComparisonProtocol, orders: Orders, seed: int) -> _PreparedPair:
    nothing = ComparisonQuestion(None, None)
    if not normalise(pair.a["hate_speech"] or ""):
        return _PreparedPair(pair, nothing, reason="no_hate_speech")
    texts = [normalise(reply["text"] or "") for reply in (pair.a, pair.b)]
    if not all(texts):
        return _PreparedPair(pair, nothing, reason="empty_reply")
    if texts[0] == texts[1]:
        return _PreparedPair(pair, nothing, identical=True)
    question = protocol.question(pair.a, pair.b)
    if question.reason is not None:
        return _PreparedPair(pair, question, reason=question.reason)
    return _PreparedPair(pair, question, _SHOWN_FIRST[orders](pair, seed))


def _draw_first(pair: ReplyPair, seed: int) -> Side:
    key = int(short_hash(pair.a["reply_id"], pair.b["reply_id"]), 16)
    return "b" if np.random.default_rng([seed, key]).integers(2) else "a"


_SHOWN_FIRST: dict[Orders, Callable[[ReplyPair, int], tuple[Side, ...]]] = {
    "both": lambda pair, seed: ("a", "b"),
    "ab": lambda pair, seed: ("a",),
    "seeded": lambda pair, seed: (_draw_first(pair, seed),),
}


def _verdict(
    asked: _PreparedPair, read: "Sequence[_ParsedAnswer]", disagreement: Disagreement, one_order: OneOrder
) -> _Outcome:
    if asked.identical:
        return "tie", None
    verdicts = [each.verdict for each in read if each.verdict]
    reason = asked.reason or next((each.reason for each in read if each.reason), None)
    if not verdicts or (reason and one_order == "invalid"):
        return "invalid", reason
    if len(set(verdicts)) == 1:
        return verdicts[0], None
    return _DISAGREEMENTS[disagreement]


def _row(
    asked: _PreparedPair, read: "Mapping[Side, _ParsedAnswer]", verdict: str, reason: Reason | None, rater: str
) -> dict[str, Any]:
    scored = [each for each in read.values() if each.verdict] if verdict != "invalid" else []
    ab, ba = read.get("a", _ParsedAnswer()), read.get("b", _ParsedAnswer())
    row = {
        **comparison_row(asked.pair.a, asked.pair.b, rater, "model", verdict, reason),
        "score_a": _mean([each.score_a for each in scored]),
        "score_b": _mean([each.score_b for each in scored]),
        "verdict_ab": ab.verdict,
        "verdict_ba": ba.verdict,
        "reason_ab": ab.reason,
        "reason_ba": ba.reason,
        "flipped": ab.verdict != ba.verdict if ab.verdict and ba.verdict else None,
        "identical": asked.identical,
    }
    return {name: row[name] for name in COMPARISON_COLUMNS}


@dataclass(frozen=True)
class _ParsedAnswer:
    """Parsed answer, in terms of reply a and reply b."""

    verdict: Verdict | None = None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


def _parse_answer(answer: ChatResponse, shown_first: Side, protocol: ComparisonProtocol) -> _ParsedAnswer:
    if answer.reason is not None or answer.text is None:
        return _ParsedAnswer(reason=answer.reason or "empty")
    parsed = protocol.read(answer.text)
    if parsed.value is None:
        return _ParsedAnswer(reason=parsed.reason)
    if shown_first == "a":
        return _ParsedAnswer(parsed.value, None, parsed.score_a, parsed.score_b)
    return _ParsedAnswer(SWAPPED[parsed.value], None, parsed.score_b, parsed.score_a)


def _mean(scores: list[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None
