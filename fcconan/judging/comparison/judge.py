"""Comparison of two replies by a model, in both orders, with hints of influence in the replies.

A verdict is what the orders agree on. Where they disagree it is a tie (or invalid, as wished), and where one of them
has no readable answer it is invalid: the other order alone would bring the preference for a position back in.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from fcconan.building import comparison_row
from fcconan.data import COMPARED, normalise, short_hash
from fcconan.judging.answer_checks import normalize_reply
from fcconan.judging.comparison.pairs import ReplyPair, Row
from fcconan.judging.comparison.protocols import ComparisonQuestion, QuestionReason
from fcconan.judging.streams import match_answers
from fcconan.models import Call, CallReason, Model, Reply
from fcconan.parsing import ParsedComparison, Reason as ParseReason, Verdict, parse_comparison

Side = Literal["a", "b"]
SWAPPED: dict[Verdict, Verdict] = {"a": "b", "b": "a", "tie": "tie"}

# What a reply may hold to tell a judge its verdict. The first two name a position, the last two speak for themselves.
_NAMED = {
    "marker": re.compile(r"\[\[\s*(?:(?P<a>a|1)|(?P<b>b|2)|(?P<tie>c|tie))\s*\]\]", re.IGNORECASE),
    "json_verdict": re.compile(
        r"""["'](?:better|verdict|winner|preferred)["']\s*:\s*["']?(?:(?P<a>a|1)|(?P<b>b|2)|(?P<tie>tie))\b""",
        re.IGNORECASE,
    ),
}
_OWN = {
    "prompt_marker": re.compile(r"^\s*\[/?(?:the\s+(?:start|end)\s+of\b|system\b|question\b|inst\b)", re.I | re.M),
    "instruction": re.compile(
        r"\b(?:ignore|disregard|forget)\b[^.!?\n]{0,40}\b(?:instructions?|prompt|rules|above)\b"
        r"|\b(?:choose|pick|prefer|rate|score|grade)\s+(?:this|my)\s+(?:reply|answer|response|text|one)\b",
        re.IGNORECASE,
    ),
}


def find_suspicious_phrase(text: str, verdict: Verdict, *, shown_as: Side) -> str | None:
    """Returns what in a reply may have told the judge its verdict: the same verdict in words, or an order to the judge.

    It is a hint to look at the verdict, and no proof: a reply may win on its merits. `marker`, `json_verdict` and
    `scores` name the verdict that was given; `prompt_marker` and `instruction` stand in a reply that won.

    Args:
        text: The reply.
        verdict: What the judge said, a being the reply shown first.
        shown_as: Where this reply was shown.
    """
    wanted = (verdict, "own") if verdict == shown_as else (verdict,)
    return next((kind for kind, what in _find_verdicts(text) if what in wanted), None)


@lru_cache(maxsize=4096)  # a reply is compared with many others
def _find_verdicts(text: str) -> tuple[tuple[str, str], ...]:
    """What a text tells a judge: the kind of hint, and the verdict that it names, or `own` for the text itself."""
    text = normalize_reply(text)
    found = [
        (kind, verdict)
        for kind, pattern in _NAMED.items()
        for match in pattern.finditer(text)
        for verdict, named in match.groupdict().items()
        if named is not None
    ]
    # What follows the scores in a reply is no judge's word on them.
    scores = parse_comparison(text.strip().partition("\n")[0]).value
    if scores is not None:
        found.append(("scores", scores))
    return (*found, *((kind, "own") for kind, pattern in _OWN.items() if pattern.search(text)))


def find_suspicious_reply(pair: ReplyPair, verdicts: Mapping[Side, Verdict | None]) -> str | None:
    """Returns the first suspicion, reply a before reply b, in the order in which the calls were made."""
    for shown_first, verdict in verdicts.items():
        if verdict is None:
            continue
        shown_verdict = verdict if shown_first == "a" else SWAPPED[verdict]
        for name, reply in (("a", pair.a), ("b", pair.b)):
            found = find_suspicious_phrase(reply["text"], shown_verdict, shown_as="a" if name == shown_first else "b")
            if found:
                return f"{name}:{found}"
    return None


Orders = Literal["both", "ab", "seeded"]
Disagreement = Literal["tie", "invalid"]
OneOrder = Literal["invalid", "take"]
Reason = Literal[
    ParseReason,
    CallReason,
    QuestionReason,
    "no_hate_speech",
    "empty_reply",  # one of the two replies has no text
    "orders_disagree",
]
_Outcome = tuple[Verdict | Literal["invalid"], Reason | None]
_DISAGREEMENTS: dict[Disagreement, _Outcome] = {"tie": ("tie", None), "invalid": ("invalid", "orders_disagree")}

COMPARISON_COLUMNS = COMPARED.kinds


class ComparisonProtocol(Protocol):
    """How a model is asked, and how its answer is read: see `fcconan.judging.comparison.protocols`.

    Attributes:
        name: Of the protocol.
        configuration: All that changes its questions, as JSON-able values.
    """

    name: str
    configuration: dict[str, Any]

    def question(self, a: Row, b: Row) -> ComparisonQuestion:
        """Returns the calls for two replies."""
        ...

    def read(self, text: str) -> ParsedComparison:
        """Reads an answer; its a is the reply that was shown first."""
        ...


@dataclass
class _PreparedPair:
    """A pair with its calls, and which reply each shows first."""

    pair: ReplyPair
    question: ComparisonQuestion
    shown_first: tuple[Side, ...] = ()
    identical: bool = False
    reason: Reason | None = None

    @property
    def calls(self) -> list[Call]:
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
    """Yields a verdict for every pair, in their order; pairs are read as the model asks for calls.

    A verdict is a row with the columns `COMPARISON_COLUMNS`:

    - `score_a` and `score_b` are means over the orders; they decide nothing, so that replies with different mean scores
      are tied where the orders disagree. None where the verdict is invalid or the judge gives no scores.
    - `reason` says why the verdict is invalid; of two failed orders, the reason of the first.
    - `verdict_ab` was given when reply a was shown first, `verdict_ba` when reply b was; its `a` still is the reply of
      `system_a`. `reason_ab` and `reason_ba` say why there is none although it was asked for.
    - `flipped`: whether the two orders gave different verdicts; None where there are not two.
    - `identical`: whether both replies are the same text, which is a tie without a request.
    - `shortened`, `words_cut_a`, `words_cut_b`: whether words of a reply were left out, and how many.
    - `suspicious`: the reply that holds what may have told the judge its verdict, and what: `b:json_verdict`.

    Both orders of a pair are asked one after the other, reply a first. Equal texts (but for white space) are a tie; a
    message or a reply without text makes the verdict invalid. Of neither the model is asked.

    Args:
        model: The judge.
        pairs: From `all_pairs` or `budgeted_pairs`.
        protocol: How it is asked and read.
        orders: `both`; `ab`, which shows reply a first; or `seeded`, which draws the reply shown first. A draw depends
            on the seed and the two reply ids only, not on the other pairs.
        disagreement: What the verdict is where the two orders differ, a tie against a preference included.
        one_order: `invalid`, or `take`: what the verdict is where one of two orders has no readable answer.
        seed: Of `seeded` orders.
        rater: The name of the judge in the rows; by default the model's.

    Raises:
        InputError: The model cannot be used at all, or gives another number of answers than it is asked for.
    """
    asked = (_prepare(pair, protocol, orders, seed) for pair in pairs)
    for each, replies in match_answers(model.name, model.replies, ((each, each.calls) for each in asked)):
        read = {
            side: _parse_answer(answer, side, protocol) for side, answer in zip(each.shown_first, replies, strict=True)
        }
        verdict, reason = _verdict(each, list(read.values()), disagreement, one_order)
        yield _row(each, read, verdict, reason, rater or model.name)


def comparison_calls(pair: ReplyPair, protocol: ComparisonProtocol) -> list[Call]:
    """Returns the calls about a pair in both orders; none if it cannot be compared, or needs no model."""
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
        "shortened": any(asked.question.words_cut),
        "words_cut_a": asked.question.words_cut[0],
        "words_cut_b": asked.question.words_cut[1],
        "suspicious": find_suspicious_reply(asked.pair, {side: each.verdict for side, each in read.items()}),
    }
    return {name: row[name] for name in COMPARISON_COLUMNS}


@dataclass(frozen=True)
class _ParsedAnswer:
    """One answer, in terms of reply a and reply b."""

    verdict: Verdict | None = None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


def _parse_answer(answer: Reply, shown_first: Side, protocol: ComparisonProtocol) -> _ParsedAnswer:
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
