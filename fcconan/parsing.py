"""Reads the answer of a judge by one grammar: a value, or the reason for a missing one.

For each aspect, the first form that is present decides:

1. The paper's form: JudgeLM's two numbers on the first line, Prometheus' `[RESULT] 4`, `[[A]]` of MT-Bench.
2. A JSON object on lines of its own; a new sentence may follow on its last line.
3. A line with the name and the grade: `Relevance: 4`, `**Relevance score** - 4/5, on topic`, `relevance: 4, tone: 2`.
4. A grade or a label alone as the whole message; for one aspect only.

Text before `</think>` is dropped. Prose is not interpreted. Reasons for a missing value:

- `contradicted`: two values for one aspect, a second number after the grade, or another scale.
- `out_of_range`: a number off the scale, or between its grades.
- `refusal`: nothing is found, and the judge declines.
- `unreadable`: nothing is found, or a label that is not in the list.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import yaml

from fcconan.errors import InputError

Reason = Literal["contradicted", "out_of_range", "refusal", "unreadable"]
Verdict = Literal["a", "b", "tie"]


class Parsed(NamedTuple):
    """A grade or a label.

    Attributes:
        value: Grade on the scale, or label as spelled in the list; None without a readable one.
        reason: Reason for a missing value.
        explanation: Explanation in the JSON object, or Prometheus' feedback.
    """

    value: Any
    reason: Reason | None = None
    explanation: str | None = None


class ParsedComparison(NamedTuple):
    """A verdict between two replies.

    Attributes:
        value: `a`, `b` or `tie`; None without a readable verdict.
        reason: Reason for a missing verdict.
        score_a: Score of the first reply, in JudgeLM's form.
        score_b: Score of the second reply.
    """

    value: Verdict | None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


class AspectField(NamedTuple):
    """Names of an aspect in an answer, and its scale.

    Attributes:
        keys: Names. Case, blanks, underscores and hyphens are ignored.
        scale: Lowest and highest grade.
        decimals: Largest number of decimals of a grade.
    """

    keys: tuple[str, ...]
    scale: tuple[float, float]
    decimals: int = 0


_Reader = Callable[[Any, bool], Parsed | None]  # value of a field or text after a name, whether it is the whole message

_SCORE_KEYS = ("score", "rating", "grade")
_EXPLANATION_KEYS = ("explanation", "feedback", "reason", "reasoning", "rationale", "justification")
_NUMBER = r"\d+(?:\.\d+)?"
_GRADE = re.compile(
    rf"[\s\"']*([-−+]?{_NUMBER})(?:\s*\(?(?:/|(?:out\s+)?of\b)\s*({_NUMBER})\)?)?[\"']*(?=[\s.,;(–—-]|$)", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(r"[.!?]\s+(?=[^\W\d_])")
_BEFORE_OBJECT = re.compile(r"^[ \t`>]*(?:json\s{0,9})?(?=\{)", re.IGNORECASE | re.MULTILINE)
_AFTER_OBJECT = re.compile(r"[ \t`,]*(?:[ \t][^\W\d_a-z][^{\n]*|[ \t][(–—-][^{\n]*)?(?:\r?\n|\Z)")
_TWO_SCORES = re.compile(rf"\s*({_NUMBER})(?:[ \t]*,[ \t]*|[ \t]+)({_NUMBER})[ \t]*(?:\r?\n|\Z)")
_RESULT = re.compile(r"\[RESULT\][\s:]*([^\n]*)", re.IGNORECASE)
_BRACKETS = re.compile(r"\[\[(a|b|c|tie)\]\]")
_VERDICTS: dict[str, Verdict] = {"a": "a", "b": "b", "tie": "tie"}
_MARKS = str.maketrans("", "", "*`")
_DECLINES = re.compile(
    r"\b(?:i|we)(?:['’]m| am| are)? (?:cannot|can['’]t|won['’]t|will not|unable to|not able to|refuse to|decline to) "
    r"(?:rate|grade|judge|score|evaluate|assess|compare|provide (?:\w+ )?(?:rating|score|grade|judge?ment))\b",
    re.IGNORECASE,
)


def split_thinking(text: str) -> tuple[str, str] | None:
    """Splits an output at the last `</think>`.

    Returns:
        The texts before and after it, unchanged; None if the thinking does not end.
    """
    thought, end, answer = text.rpartition("</think>")
    return None if not end and text.lstrip().startswith("<think>") else (thought, answer)


def parse_rating(
    text: str,
    *,
    scale: tuple[float, float],
    key: str | None = None,
    decimals: int = 0,
    names: Collection[str] = (),
) -> Parsed:
    """Reads the grade of one aspect: `{"relevance": 4}`, `Score: 4`, `4/5`.

    Args:
        text: Raw output.
        scale: Lowest and highest grade.
        key: Name of the aspect. `score`, `rating` and `grade` are names of it as well.
        decimals: Largest number of decimals of a grade.
        names: Further names.

    Returns:
        The grade with its explanation, or the reason for a missing one.

    Raises:
        InputError: The output is not text.

    Examples:
        >>> parse_rating("Relevance: 4/5, on topic", scale=(1, 5), key="relevance").value
        4.0
    """
    keys = tuple(names) if key is None else (key, *names)
    return parse_multi(text, aspects={"": AspectField(keys, scale, decimals)})[""]


def parse_multi(text: str, *, aspects: Mapping[str, AspectField]) -> dict[str, Parsed]:
    """Reads a grade for each of several aspects; a missing grade does not affect the others.

    Args:
        text: Raw output.
        aspects: Names and scale of each aspect.

    Returns:
        A grade, or the reason for a missing one, for each name in `aspects`.

    Raises:
        InputError: The output is not text.

    Examples:
        >>> from fcconan.parsing import AspectField
        >>> fields = {name: AspectField((name,), (1, 5)) for name in ("relevance", "tone")}
        >>> found = parse_multi('{"relevance": 4, "tone": 9}', aspects=fields)
        >>> found["relevance"].value, found["tone"].reason
        (4.0, 'out_of_range')
    """
    found = {}
    for name, field in aspects.items():
        others = [key for other, of in aspects.items() if other != name for key in of.keys]
        more = () if others else _SCORE_KEYS
        found[name] = _read(text, field.keys, partial(_rating, field=field), more, others, field.scale)
    return found


def parse_prometheus(text: str, *, scale: tuple[float, float] = (1, 5), decimals: int = 0) -> Parsed:
    """Reads Prometheus' answer: feedback, then `[RESULT]` and the grade; without `[RESULT]` as `parse_rating`.

    Args:
        text: Raw output.
        scale: Lowest and highest grade; Prometheus' scale is 1 to 5.
        decimals: Largest number of decimals of a grade.

    Returns:
        The grade with the feedback as its explanation, or the reason for a missing one.

    Raises:
        InputError: The output is not text.
    """
    said, field = _answer(text), AspectField((), scale, decimals)
    marks = list(_RESULT.finditer(said))
    if not marks:
        return parse_rating(text, scale=scale, decimals=decimals)
    found = _agree(_rating(mark[1].strip(" ()*"), True, field=field) or _missing(said) for mark in marks)
    feedback = re.sub(r"^\s*(?:feedback\s*:)?\s*", "", said[: marks[0].start()], flags=re.IGNORECASE).strip()
    return found._replace(explanation=feedback or None) if found.value is not None else found


def parse_comparison(text: str) -> ParsedComparison:
    """Reads JudgeLM's verdict: two scores from 1 to 10 on the first line of the output, that of the first reply first.

    Args:
        text: Raw output.

    Returns:
        The verdict with both scores, or the reason for a missing one.

    Raises:
        InputError: The output is not text.

    Examples:
        >>> parse_comparison("8 3").value
        'a'
    """
    said = _answer(text)
    match = _TWO_SCORES.match(said)
    if match is None:
        return ParsedComparison(None, _missing(said).reason)
    first, second = float(match[1]), float(match[2])
    if not all(1 <= score <= 10 for score in (first, second)):
        return ParsedComparison(None, "out_of_range")
    return ParsedComparison("a" if first > second else "b" if second > first else "tie", None, first, second)


def parse_label(text: str, labels: Collection[str]) -> Parsed:
    """Reads a choice among labels: `{"label": "..."}`, a line `Label: ...`, or the label alone.

    Args:
        text: Raw output.
        labels: Allowed labels. Case is ignored; blanks, underscores and hyphens are equivalent.

    Returns:
        The label with its explanation, or the reason for a missing one.

    Raises:
        InputError: The output is not text.
    """
    return _read(text, ("label",), partial(_choice, choices={_plain(label): label for label in labels}))


def parse_verdict(text: str) -> ParsedComparison:
    """Reads a verdict without scores: `[[A]]`, `{"better": "a"}`, a line `Better: a`, or `A` alone; also B and tie.

    Args:
        text: Raw output. `[[C]]` is a tie, as in MT-Bench.

    Returns:
        The verdict, or the reason for a missing one.

    Raises:
        InputError: The output is not text.
    """
    if marks := _BRACKETS.findall(_answer(text).lower()):
        return ParsedComparison(*_agree(Parsed(_VERDICTS.get(mark, "tie")) for mark in marks)[:2])
    return ParsedComparison(*_read(text, ("better",), partial(_choice, choices=_VERDICTS))[:2])


def _answer(text: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"found {text!r:.80}, expected the text of an answer: leave out missing answers")
    parts = split_thinking(text)
    return "" if parts is None else parts[1].strip()


def _read(
    text: str,
    keys: Collection[str],
    read: _Reader,
    more: Collection[str] = (),
    others: Collection[str] = (),
    scale: tuple[float, float] = (0, 0),
) -> Parsed:
    """Reads the value of an aspect with the names `keys` and `more`; `others` are the names of other asked aspects."""
    said = _answer(text)
    objects, rest = _find_objects(said)
    names, found = {_plain(key) for key in keys}, []
    for each in objects:
        values = [value for name, value in each if _plain(name) in names]
        if not values and any(_plain(name) in more for name, _ in each):
            values = [each]
        if values and _names_other_scale(each, scale):
            return Parsed(None, "contradicted")
        explanation = None if others else _explanation(each)
        parsed = [read(value, False) or _missing(said) for value in values]
        found += [one._replace(explanation=one.explanation or explanation) for one in parsed]
    if found:
        return _agree(found)
    rest = rest.translate(_MARKS)
    for name, bracket, content in _find_lines(rest, (*keys, *more, *others)):
        if _plain(name) in {*names, *more} and (one := read(content, False)):
            found.append(Parsed(None, "contradicted") if bracket and not _is_scale(bracket, scale) else one)
    whole = None if found or others else read(said.translate(_MARKS).strip(), True)
    return _agree(found) if found else whole or _missing(said)


def _find_objects(text: str) -> tuple[list[Any], str]:
    """Finds the JSON objects on lines of their own, each as a tuple of pairs, and the other text."""
    decoder = json.JSONDecoder(object_pairs_hook=tuple, strict=False)
    found: list[Any] = []
    rest, position = "", 0
    for start in _BEFORE_OBJECT.finditer(text):
        if start.end() < position:
            continue
        try:
            content, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            break
        if _AFTER_OBJECT.match(text, end):
            found.append(content)
            rest += text[position : start.start()]
            position = end
    return found, rest + text[position:]


def _find_lines(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, str | None, str]]:
    """Yields name, bracket and text of each name at the beginning of a line, and after a comma on such a line."""
    either = "|".join(r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", name.strip()))) for name in names)
    pattern = re.compile(
        rf"(?:^[\s>#•\"'-]*+(?:\d+[.)]\s*+)?|[,;|]\s*+[\"']?)(?P<name>{either})[\"']?(?:\s++(?:score|rating|grade))?\s*+"
        r"(?P<bracket>[(\[][^()\[\]]*[)\]]\s*+)?[:=–—-]\s*+",
        re.IGNORECASE,
    )
    for line in text.splitlines():
        matches = list(pattern.finditer(line))
        if matches and matches[0].start() == 0:
            ends = [*(match.start() for match in matches[1:]), len(line)]
            for match, end in zip(matches, ends, strict=True):
                yield match["name"], match["bracket"], line[match.end() : end]


def _rating(content: Any, alone: bool, field: AspectField) -> Parsed | None:
    if isinstance(content, tuple):
        if _names_other_scale(content, field.scale):
            return Parsed(None, "contradicted")
        inner = [value for name, value in content if _plain(name) not in ("scale", *_EXPLANATION_KEYS)]
        found = [one for value in inner if not isinstance(value, tuple) and (one := _rating(value, False, field))]
        if len(found) > 1:
            return Parsed(None, "contradicted")
        return found[0]._replace(explanation=_explanation(content)) if found else None
    text = str(content) if isinstance(content, str | int | float) and not isinstance(content, bool) else ""
    match = _GRADE.match(text)
    if match is None or (alone and text[match.end() :].strip(" .\"'*`")):
        return None
    said_next = _NEXT_SENTENCE.split(text[match.end() :])[0]
    if re.search(r"\d", said_next) or float(match[2] or field.scale[1]) != field.scale[1]:
        return Parsed(None, "contradicted")
    value = float(match[1].replace("−", "-")) + 0.0  # -0.0 becomes 0.0
    on_scale = field.scale[0] <= value <= field.scale[1] and round(value, field.decimals) == value
    return Parsed(value) if on_scale else Parsed(None, "out_of_range")


def _choice(content: Any, alone: bool, choices: Mapping[str, str]) -> Parsed | None:
    label = choices.get(_plain(content)) if isinstance(content, str) else None
    return None if label is None else Parsed(label)


def _plain(name: str) -> str:
    """Returns a name in lower case, without blanks, underscores and hyphens between its words."""
    return re.sub(r"(?<=\w)[\s_-]+(?=\w)", "", name.strip("*`\"'. \t\r\n")).casefold()


def _is_scale(text: str, scale: tuple[float, float]) -> bool:
    bounds = [abs(bound) for bound in scale]
    return [float(number) for number in re.findall(_NUMBER, text)] in (bounds, bounds[1:])


def _names_other_scale(content: Iterable[tuple[str, Any]], scale: tuple[float, float]) -> bool:
    return any(_plain(name) == "scale" and not _is_scale(str(value), scale) for name, value in content)


def _explanation(content: Iterable[tuple[str, Any]]) -> str | None:
    texts = (value for name, value in content if _plain(name) in _EXPLANATION_KEYS and isinstance(value, str))
    text = next(texts, "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a file holds no surrogates
    return text.strip() or None


def _agree(found: Iterable[Parsed]) -> Parsed:
    """Returns the first of equal answers; different ones are contradicted."""
    first, *others = found
    return first if all(each[:2] == first[:2] for each in others) else Parsed(None, "contradicted")


def _missing(said: str) -> Parsed:
    return Parsed(None, "refusal" if is_refusal(said) or _DECLINES.search(said) else "unreadable")


Kind = Literal["request", "assistant", "endorsement"]
SENTENCES = 3
PATTERNS = Path(__file__).with_name("refusals.yaml")
_SENTENCE_END = re.compile(r"""(?<=[.!?…])["'»”]*\s+|\n+""")
# Quotation marks, list marks and a label such as `Reply:` may precede the first word.
_BEFORE_WORDS = re.compile(r"^[\W\d_]*(?:[\w-]+(?: [\w-]+)?:\s[\W_]*)?")
# They bound the search time: openings of a sentence, and characters of it.
_MOST_OPENINGS = 4
_LONGEST_HEAD = 300
_APOSTROPHES = str.maketrans("’‘ʼ´`", "'''''")


def is_refusal(text: str) -> bool:
    """Returns whether a reply declines to answer as an assistant; see `find_refusal`."""
    return find_refusal(text) is not None


def find_refusal(text: str) -> Kind | None:
    """Returns how a reply declines to answer as an assistant, by the first sentence in which it does.

    Args:
        text: Reply in English, Spanish, French, Italian, German, Portuguese or Basque. Only its first `SENTENCES`
            sentences are searched.

    Returns:
        `request`: declines the request. `assistant`: speaks as a machine and disclaims. `endorsement`: declines to
        approve of the message; a counter-argument often follows. None without a refusal. Only the beginnings of
        sentences are searched: a CN may reject the hate later.
    """
    pieces = (_BEFORE_WORDS.sub("", piece) for piece in _SENTENCE_END.split(text.translate(_APOSTROPHES)))
    sentences = (" ".join(piece.split()).rstrip(""".!?…"'»” """)[:_LONGEST_HEAD] for piece in pieces)
    for sentence in islice(filter(None, sentences), SENTENCES):
        for pattern in _refusals():
            if match := pattern.match(sentence):
                return cast("Kind", match.lastgroup)
    return None


@cache
def _refusals() -> list[re.Pattern[str]]:
    """Returns the pattern of each language, English first; the group that matches names the kind."""
    with PATTERNS.open(encoding="utf-8") as file:
        languages: dict[str, dict[str, str]] = yaml.safe_load(file)
    found = []
    for lists in languages.values():
        of = {name: f"(?:{'|'.join(lines.splitlines())})" for name, lines in lists.items()}
        lead = rf"(?:(?:{of['apologies']}|{of['openings']})\b[\s,;:—–-]*){{0,{_MOST_OPENINGS}}}"
        sorry = rf"{of['apologies']}\b[\s,;:—–-]*{lead}{of['cannot']}\s?{of['after_apology']}\b"
        request = rf"(?P<request>{of['cannot']}\s?{of['declined']}|{of['declining']}|{sorry})"
        endorsement = rf"(?P<endorsement>{of['cannot']}\s?{of['endorsed']})"
        pattern = rf"{lead}(?P<assistant>{of['assistant']})|{lead}(?:{request}|{endorsement})"
        found.append(re.compile(pattern, re.IGNORECASE))
    return found
