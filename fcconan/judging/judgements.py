"""Judgements: the parsed answers of a model to one question about one reply, over one or several samples."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fcconan.judging.prompts import Form
from fcconan.judging.strategies import RatingQuestion
from fcconan.judging.tasks import Aspect
from fcconan.models import ChatResponse, FailureReason, TokenAlternatives
from fcconan.parsing import AspectField, Parsed, Reason, parse_label, parse_multi, parse_prometheus, parse_rating

# Texts that a row lacks.
RowReason = Literal["empty_reply", "no_hate_speech", "no_reference", "no_background"]
# Fewer than half of the samples are readable; the grade has no log-probabilities; no label has more than half.
SamplesReason = Literal["too_few_samples", "no_logprobs", "no_majority"]
JudgementReason = Reason | FailureReason | RowReason | SamplesReason
# Smallest share of readable samples for a mean.
ENOUGH = 0.5
EXCERPT = 500  # characters of an unreadable answer in `explanation`
# End mark of truncated answers: with its digit, a number or a label that may be incomplete is unreadable.
_CUT = "~0~"


@dataclass(frozen=True)
class Judgement:
    """Judgement of one aspect over the samples of one question.

    Attributes:
        value: Grade, mean of grades, or label; None if missing.
        reason: Reason for a missing value.
        explanation: Explanation by the model; without a value, the beginning of its answer or of the endpoint's error.
        n_samples: Number of samples.
        n_read: Number of readable samples.
        retained_mass: Total probability of the scale's grades, if grades are weighted by their probabilities.
    """

    value: float | str | None
    reason: JudgementReason | None = None
    explanation: str | None = None
    n_samples: int = 0
    n_read: int = 0
    retained_mass: float | None = None


def read_answers(
    question: RatingQuestion, replies: Sequence[ChatResponse], labels: Sequence[str] = ()
) -> dict[str, Judgement]:
    """Parses the samples of one question.

    Args:
        question: The question.
        replies: Responses of the model, one for each sample.
        labels: Allowed labels, for a question with labels.

    Returns:
        The judgement of each aspect, or of `label`.
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


def _read_ratings(
    question: RatingQuestion, reply: ChatResponse, fields: Mapping[str, AspectField]
) -> dict[str, Judgement]:
    text = _readable(reply) if question.form == "object" else reply.text
    if text is None:
        return dict.fromkeys(fields, _failed(reply))
    return {name: _judgement(rating, reply, text) for name, rating in _parse(question, text, fields).items()}


def _parse(question: RatingQuestion, text: str, fields: Mapping[str, AspectField]) -> dict[str, Parsed]:
    if question.form == "object":
        return parse_multi(text, aspects=fields)
    ((name, field),) = fields.items()
    return {name: _PARSERS[question.form](text, field)}


_PARSERS: dict[Form, Callable[[str, AspectField], Parsed]] = {
    "result": lambda text, field: parse_prometheus(text, scale=field.scale, decimals=field.decimals),
    "number": lambda text, field: parse_rating(text, scale=field.scale, decimals=field.decimals, names=field.keys),
}


def _read_label(reply: ChatResponse, labels: Sequence[str]) -> Judgement:
    text = _readable(reply)
    return _failed(reply) if text is None else _judgement(parse_label(text, labels), reply, text)


def _readable(reply: ChatResponse) -> str | None:
    """Returns the text of a response; a mark follows a truncated one, so that only its complete parts are read."""
    if reply.reason == "truncated" and reply.cut is not None:
        return reply.cut + ("" if reply.cut.rstrip().endswith("}") else _CUT)
    return reply.text


def _judgement(parsed: Parsed, reply: ChatResponse, text: str) -> Judgement:
    if parsed.value is None:
        reason = parsed.reason if reply.reason is None else reply.reason
        return Judgement(None, reason, _beginning(text), 1)
    return Judgement(parsed.value, None, _without_mark(parsed.explanation), 1, 1)


def _failed(reply: ChatResponse) -> Judgement:
    return Judgement(None, reply.reason, _beginning(reply.cut or reply.detail), 1)


def _beginning(text: str) -> str | None:
    return text.removesuffix(_CUT).strip()[:EXCERPT] or None


def _without_mark(explanation: str | None) -> str | None:
    return explanation and (explanation.removesuffix(_CUT).strip() or None)


def _mean(samples: Sequence[Judgement]) -> Judgement:
    values = [float(sample.value) for sample in samples if sample.value is not None]
    if not values or len(values) < ENOUGH * len(samples):
        return _too_few(samples, len(values))
    explanation = next(sample.explanation for sample in samples if sample.value is not None)
    return Judgement(statistics.fmean(values), None, explanation, len(samples), len(values))


def _majority(samples: Sequence[Judgement], labels: Sequence[str]) -> Judgement:
    """Returns the label of more than half of the samples."""
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
    """Returns a missing judgement with the most frequent reason and its first explanation."""
    failed = [sample for sample in samples if sample.value is None]
    ((commonest, _),) = Counter(sample.reason for sample in failed).most_common(1)
    explanation = next(sample.explanation for sample in failed if sample.reason == commonest)
    return Judgement(None, "too_few_samples" if n_read else commonest, explanation, len(samples), n_read)


def _weighted(reply: ChatResponse, aspect: Aspect) -> Judgement:
    """Returns the mean of the grades, weighted by their probabilities at the token of the grade (G-Eval, eq. 1).

    Only whole grades of the scale count; their total probability is the retained mass.
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
    reply: ChatResponse, value: float | str, aspect: Aspect, names: tuple[str, ...]
) -> TokenAlternatives | None:
    """Finds the token of the grade: replacing it with another grade changes the parsed answer accordingly."""
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
            if found is None:  # the grade occurs twice, and the two now differ: the later one counts
                last = token
    return last


def _place(words: str, whole: str) -> int | None:
    """Returns the start of an answer in the text of all tokens; None if it is ambiguous.

    Thinking may precede the answer, or a stop string or end mark may follow it.
    """
    blanks = len(whole) - len(whole.lstrip())
    if whole.strip() == words:
        return blanks
    begins, ends = whole.startswith(words, blanks), whole.rstrip().endswith(words)
    if begins == ends:
        return None
    return blanks if begins else len(whole.rstrip()) - len(words)
