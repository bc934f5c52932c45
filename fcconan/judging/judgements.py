"""What came of asking one question about one reply, once or several times."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fcconan.judging.prompts import Form
from fcconan.judging.strategies import RatingQuestion
from fcconan.judging.tasks import Aspect
from fcconan.models import CallReason, Reply, TokenAlternatives
from fcconan.parsing import (
    AspectField,
    ParsedLabel,
    ParsedRating,
    Reason,
    parse_label,
    parse_multi,
    parse_prometheus,
    parse_rating,
)

# What a row lacks; for a reply, words.
RowReason = Literal["empty_reply", "no_hate_speech", "no_reference", "no_background"]
# Of several samples: fewer than half could be read, the grade has no log-probabilities, no label has more than half.
SamplesReason = Literal["too_few_samples", "no_logprobs", "no_majority"]
JudgementReason = Reason | CallReason | RowReason | SamplesReason
# Fewer samples than this share say too little about the mean.
ENOUGH = 0.5
SAID = 500  # characters of an unreadable answer that are kept
# Put at the end of an answer that was cut: a number, a label or a line that may go on does not read with it.
_CUT = "~cut~"


@dataclass(frozen=True)
class Judgement:
    """What came of the samples of one question for one aspect.

    Attributes:
        value: A grade, the mean of grades, or a label; None where there is none.
        reason: Why there is none.
        explanation: The model's explanation; without a value, the beginning of what it said, or of what the endpoint
            said, for people to see what went wrong.
        n_samples: How often the question was asked.
        n_read: How many of the answers could be read.
        retained_mass: The probability that the grades of the scale share, where they are weighted by it.
    """

    value: float | str | None
    reason: JudgementReason | None = None
    explanation: str | None = None
    n_samples: int = 0
    n_read: int = 0
    retained_mass: float | None = None


def read_answers(
    question: RatingQuestion, replies: Sequence[Reply], labels: Sequence[str] = ()
) -> dict[str, Judgement]:
    """Reads the samples of one question.

    Args:
        question: What was asked.
        replies: The answers, one for each sample.
        labels: What could be chosen, where the question asks for a label.

    Returns:
        The outcome for each aspect, or for `label`.
    """
    if question.form == "label":
        return {"label": _majority([_read_label(reply, labels) for reply in replies], labels)}
    if question.weighted:
        (aspect,) = question.aspects
        return {aspect.name: _weighted(replies[0], aspect)}
    fields = {
        aspect.name: AspectField(answer_keys(aspect), aspect.scale, aspect.decimals) for aspect in question.aspects
    }
    samples = [_read_ratings(question, reply, fields) for reply in replies]
    return {name: _mean([sample[name] for sample in samples]) for name in fields}


def answer_keys(aspect: Aspect) -> tuple[str, ...]:
    """Returns the names under which a model may give the grade of an aspect."""
    return tuple(dict.fromkeys((aspect.name, aspect.title, *aspect.also)))


def _read_ratings(question: RatingQuestion, reply: Reply, fields: Mapping[str, AspectField]) -> dict[str, Judgement]:
    text, cut = _readable(reply) if question.form == "object" else (reply.text, False)
    if text is None:
        return dict.fromkeys(fields, _failed(reply))
    return {name: _judgement(rating, reply, text) for name, rating in _parse(question, text, fields, cut).items()}


def _parse(
    question: RatingQuestion, text: str, fields: Mapping[str, AspectField], cut: bool
) -> dict[str, ParsedRating]:
    if question.form == "object":
        return parse_multi(text, aspects=fields, cut=cut)
    ((name, field),) = fields.items()
    return {name: _PARSERS[question.form](text, field)}


_PARSERS: dict[Form, Callable[[str, AspectField], ParsedRating]] = {
    "result": lambda text, field: parse_prometheus(text, scale=field.scale, decimals=field.decimals),
    "number": lambda text, field: parse_rating(text, scale=field.scale, decimals=field.decimals, names=field.keys),
}


def _read_label(reply: Reply, labels: Sequence[str]) -> Judgement:
    text, cut = _readable(reply)
    return _failed(reply) if text is None else _judgement(parse_label(text, labels, cut=cut), reply, text)


def _readable(reply: Reply) -> tuple[str | None, bool]:
    """The words of a reply, and whether they were cut: of cut ones, only an object shows whether it is whole."""
    if reply.reason == "truncated" and reply.cut is not None:
        return reply.cut + _CUT, True
    return reply.text, False


def _judgement(parsed: ParsedRating | ParsedLabel, reply: Reply, text: str) -> Judgement:
    if parsed.value is None:
        reason = parsed.reason if reply.reason is None else reply.reason
        return Judgement(None, reason, _beginning(text), 1)
    return Judgement(parsed.value, None, _without_mark(parsed.explanation), 1, 1)


def _failed(reply: Reply) -> Judgement:
    return Judgement(None, reply.reason, _beginning(reply.cut or reply.detail), 1)


def _beginning(text: str) -> str | None:
    return text.removesuffix(_CUT).strip()[:SAID] or None


def _without_mark(explanation: str | None) -> str | None:
    return explanation and (explanation.removesuffix(_CUT).strip() or None)


def _mean(samples: Sequence[Judgement]) -> Judgement:
    values = [float(sample.value) for sample in samples if sample.value is not None]
    if not values or len(values) < ENOUGH * len(samples):
        return _too_few(samples, len(values))
    explanation = next(sample.explanation for sample in samples if sample.value is not None)
    return Judgement(statistics.fmean(values), None, explanation, len(samples), len(values))


def _majority(samples: Sequence[Judgement], labels: Sequence[str]) -> Judgement:
    """The label that more than half of the samples give."""
    found = Counter(str(sample.value) for sample in samples if sample.value is not None)
    n_read = found.total()
    for label in labels:
        if 2 * found[label] > len(samples):
            explanation = next(sample.explanation for sample in samples if sample.value == label)
            return Judgement(label, None, explanation, len(samples), n_read)
    if not n_read or n_read < ENOUGH * len(samples):
        return _too_few(samples, n_read)
    counts = ", ".join(f"{label} {found[label]}" for label in labels if found[label])
    return Judgement(None, "no_majority", counts, len(samples), n_read)


def _too_few(samples: Sequence[Judgement], n_read: int) -> Judgement:
    """Why there is no value: what most samples fail for, with the first of them."""
    failed = [sample for sample in samples if sample.value is None]
    ((commonest, _),) = Counter(sample.reason for sample in failed).most_common(1)
    explanation = next(sample.explanation for sample in failed if sample.reason == commonest)
    return Judgement(None, "too_few_samples" if n_read else commonest, explanation, len(samples), n_read)


def _weighted(reply: Reply, aspect: Aspect) -> Judgement:
    """The mean of the grades, weighted by the probability of each where the model writes its grade (G-Eval, eq. 1).

    Only whole grades of the scale count; what they share of all probability is the retained mass.
    """
    if reply.text is None:
        return _failed(reply)
    names = answer_keys(aspect)
    read = _judgement(parse_rating(reply.text, scale=aspect.scale, names=names), reply, reply.text)
    if read.value is None:
        return read
    missing = Judgement(None, "no_logprobs", _beginning(reply.text), 1)
    grades = {str(number): number for number in range(aspect.low, aspect.high + 1)}
    token = _token_of_grade(reply, read.value, aspect, names)
    if token is None:
        return missing
    mass = [
        (grades[written.strip()], math.exp(min(logprob, 0.0)))
        for written, logprob in token.logprobs.items()
        if written.strip() in grades
    ]
    retained = sum(share for _, share in mass)
    if retained == 0:
        return missing
    value = sum(number * share for number, share in mass) / retained
    return Judgement(value, None, read.explanation, 1, 1, min(retained, 1.0))


def _token_of_grade(
    reply: Reply, value: float | str, aspect: Aspect, names: tuple[str, ...]
) -> TokenAlternatives | None:
    """The token that is the grade: where another grade in its place would be read as another answer."""
    words, tokens = (reply.text or "").strip(), reply.logprobs or ()
    whole = "".join(token.token for token in tokens)
    begin = _place(words, whole)
    if begin is None:
        return None
    other = str(aspect.low if value != aspect.low else aspect.high)
    after, end = len(whole) - begin - len(words), 0
    last = None
    for token in tokens:
        position, end = end, end + len(token.token)
        written = token.token.strip()
        if written == f"{value:g}" and begin < end and position < len(whole) - after:
            changed = whole[:position] + token.token.replace(written, other) + whole[end:]
            answer = changed[begin : len(changed) - after]
            found = parse_rating(answer, scale=aspect.scale, names=names).value
            if found == float(other):
                return token
            if found is None:  # the grade occurs twice, and the two now contradict each other: the later one counts
                last = token
    return last


def _place(words: str, whole: str) -> int | None:
    """Where an answer begins in the text of all tokens; None where that is unknown.

    Thinking may precede it, and a stop string or a mark of the end may follow; which of both must be certain.
    """
    blanks = len(whole) - len(whole.lstrip())
    if whole.strip() == words:
        return blanks
    begins, ends = whole.startswith(words, blanks), whole.rstrip().endswith(words)
    if begins == ends:
        return None
    return blanks if begins else len(whole.rstrip()) - len(words)
