"""Checks the text around an answer: it may explain the answer, but not refuse, deny, correct or quote it.

Only sentences about the judgement are checked: sentences that contain an answer or name the grade, and sentences in the
first person. Statements about the reply (`it does not answer the claim`) are ignored. The checked sentences must be
explanations:

- In the first person, verbs of judging are allowed (`I rate`, `I find`); denials only of faults and of higher grades.
- A grade may be denied only in a comparison.
- Words that lead to an answer must introduce it as an answer.

Any other sentence about the judgement withdraws the answer.
"""

import re
from collections.abc import Callable, Collection, Sequence
from string import ascii_lowercase, ascii_uppercase

from fcconan.parsing import phrases as words
from fcconan.parsing.phrases import END, MARK, compile_pattern
from fcconan.parsing.refusals import find_refusal
from fcconan.parsing.results import Reason

# Length of another answer at the beginning of a text; 0 without one.
AnswerMatcher = Callable[[str], int]

_QUOTES = str.maketrans({**dict.fromkeys("’‘ʼ´", "'"), **dict.fromkeys("“”„«»", '"')})
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # of the same length, unlike `lower`
_FIRST_LETTER = re.compile(r"[^\W\d_]")
# A quotation after introductory words is not a statement of the judge.
_QUOTED = re.compile(
    rf"""(?:(?<=[\w,:(] )|(?<=\())(?:"[^"\n{MARK}]{{0,400}}"|'(?:[^'\n{MARK}]|(?<=\w)'(?=\w)){{1,400}}'(?!\w))|"""
    rf"""(?<![^\n{MARK} ])"[^"\n{MARK}]{{0,400}}"(?= [a-z])|(?<= )"[^"\n{MARK}]*$""",
    re.MULTILINE,
)
_NEAR = 240  # characters before and after an answer that may belong to its sentence
_LONGEST_ANSWER = 80
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# `one` is mostly a pronoun. A noun after the number, as in `2 claims`, shows that it is not a grade.
_OTHER_GRADE = re.compile(
    rf"""[\s:="'`*_(-]{{0,6}}(?:(?:an?|as|the|of|only|just)\s){{0,3}}["'`*_(]{{0,3}}"""
    rf"""(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?(?![\d%])|{"|".join(word for word in _NUMBER_WORDS if word != "one")})"""
    r"""(?:\s?/\s?\d{1,3})?(?:\sstars?|\spoints?|\sout of \w{1,5})?["'`*_)]{0,3}(?=\W*$|\s?\n|[.!?](?:\s|$)|[,;:)]"""
    r"""|\s(?:\(|[-–—]\s|(?:because|since|as|for|at|instead|now|then|from|on|and not|not|is|would|seems|"""
    r"""overall)\b))"""
)
# Fields that invalidate a grade next to them, and fields with statements of the judge.
_ERRORS = re.compile(r"\b(?:errors?|refus\w+|declin\w+|reject\w+|abstain\w*|skip\w*|blocked|invalid|not rated)\b")
_VALID = re.compile(
    r"\b(?:valid|applicable|answered|success|evaluated|assessed|(?:rat|gradea?|scor|evalu|assess)able|can \w+)\b"
)
_NOTHING = frozenset({"", "null", "none", "false", "no", "0"})
_SPOKEN = frozenset(
    {"explanation", "reason", "reasoning", "rationale", "justification", "feedback", "note", "notes", "comment"}
    | {"comments", "remark", "remarks", "caveat", "disclaimer", "status", "correction", "analysis"}
)
_NUMBERED = re.compile(rf"^[\W_]{{0,6}}\d{{1,2}}[.)] (?=[\W_]{{0,3}}(?:[^\W\d_]|{MARK}))")
# One or two words on a line of their own, such as `Pass`, are not an explanation, unless they deny a quality.
_FRAGMENT = re.compile(
    r"\W{0,4}\n[^\w\"#:]{0,6}(?!(?:[Nn]o|[Nn]ot|[Nn]ever)\b)(?:/s|(?:[A-Z]|"
    r"(?<=[(\[<^])\w)[\w'/]{2,})(?: [\w']+)?[^\w\":]*"
)
_MARKUP = re.compile(r"<\|[^|>\n]{1,40}\|>|</?s>")  # end marks of some models
# A line without a colon before an answer may be a heading or a note.
_UNENDED = re.compile(
    rf"{words.UNREAL}|{words.SPOKEN}|(?<!\w)(?:is|be|are|like|as|format|not|never|schema|output|answer with)\W*$"
)
_TOKEN = re.compile(
    r"(?:in )?the (?:requested|required) (?:json )?format|\bas requested(?=\W*$|:)", re.IGNORECASE | re.MULTILINE
)
_LONGEST = 600  # characters of a sentence that are checked
_SENTENCE = re.compile(rf"(?<!\be\.g)(?<!\bi\.e)(?<=[.!?;])\s+|\n+|{MARK}")
_CLAUSE = re.compile(
    rf"[,:;—–()]|(?<=\w )that(?! {words.ANSWER})(?!\w)|(?<!\w)(?:because|since|which|who|(?<!help )but|although|"
    rf"though|while)(?!\w)"
)
_PRONOUN = re.compile(r"(?<!\w)(?:i|we|me|us)(?!\w)(?! ?[/:.]\w)")
_VERB = re.compile(rf"{words.AUXILIARY} (?:(?P<views>{words.VIEWS})|(?P<judges>{words.JUDGES}))(?!\w)")
# Reported speech of the texts is not a statement of the judge.
_REPORTED = re.compile(
    rf"(?<!\w)(?:{words.REPLY}|assistant|first|second)(?: \w+){{0,2}} {words.SAYS}[:,]?(?! (?:me|"
    rf"us)\b)(?:(?!\b(?:but|and (?:i|we))\b|—|;)[^\n]){{0,400}}"
)
_SAME_LINE = re.compile(r"""[)\]}"'`*_]{0,6}(?:[,;:./|=<>→⇒—– -]{0,6})""")
_LIST_ITEM = re.compile(r"\d{1,2}[.)]\s+\w")
_NEXT_LINE = re.compile(r"\W{0,6}\n(?P<grade>[\W_]{0,4}\d(?:\.\d+)?(?: ?/ ?\d+)?[*_\"'` ]{0,4})(?:\n|$)")


def find_objection(around: str, differs: AnswerMatcher, *, inline: bool = True) -> Reason | None:
    """Finds the reason why a text withdraws its answers.

    Args:
        around: Text with `MARK` instead of each answer.
        differs: Function that finds another answer at the beginning of a text in lower case with straight quotation
            marks.
        inline: Whether an answer may occur anywhere in a sentence; otherwise only introductory words, such as
            `my rating is`, may precede it.

    Returns:
        `refusal`, `contradicted`, or None.
    """
    if not any(
        character.isalpha() or character in "?<>~/" or (character.isdigit() and MARK in around) for character in around
    ):
        return None
    cased = _plain(around)
    text = cased.translate(_LOWER)
    sentences = [_REPORTED.sub(" ", piece[:_LONGEST]) for piece in _SENTENCE.split(text)]
    if any(_refused(sentence) for sentence in sentences):
        return "refusal"
    for mark in re.finditer(MARK, text):
        before, after = text[max(0, mark.start() - _NEAR) : mark.start()], text[mark.end() : mark.end() + _NEAR]
        if _is_withdrawn(before, after, cased[mark.end() : mark.end() + _NEAR], differs, inline):
            return "contradicted"
    return next(filter(None, (_taken_back(sentence, differs) for sentence in sentences)), None)


def _refused(sentence: str) -> bool:
    """Returns whether a sentence is an explicit refusal."""
    if re.match(rf"\W*{words.SORRY}", sentence) or re.search(rf"(?<!\w)(?:i'm|i am) {words.SORRY}", sentence):
        return True
    compared = " i " in f" {sentence} " and compile_pattern(words.COMPARED).search(sentence)
    return not compared and compile_pattern(words.REFUSED).search(sentence) is not None


def _taken_back(sentence: str, differs: AnswerMatcher) -> Reason | None:
    """Returns the reason if a sentence refuses, denies or corrects the answer."""
    corrected = compile_pattern(words.CORRECTION).search(sentence) is not None
    if not compile_pattern(words.ABOUT).search(sentence):
        return "contradicted" if corrected or _other_answer(sentence, differs) else None
    if corrected or _other_answer(sentence, differs):
        return "contradicted"
    if reason := _first_person(sentence):
        return reason
    for clause in _CLAUSE.split(sentence):
        if compile_pattern(words.THIS).match(clause):
            return "contradicted"
        subject = compile_pattern(words.SUBJECT).search(clause)
        if subject is None:
            continue
        if compile_pattern(words.UNREAL).search(clause, subject.start()) or clause[subject.start() :].startswith(
            "that's how"
        ):
            return "contradicted"
        if clause.endswith(" not") or compile_pattern(words.COMPARED).search(clause):
            continue
        predicate = compile_pattern(words.PREDICATE).match(clause, subject.end())
        denied = clause[: subject.end()] + (predicate[0] if predicate else "")
        if predicate is None or compile_pattern(words.NOT).search(denied):
            return "contradicted"
    return None


def _first_person(sentence: str) -> Reason | None:
    """Returns the reason if a sentence in the first person is other than an explanation of the judgement."""
    if re.search(r"(?<!\w)your?\b", sentence) and not compile_pattern(words.YOU).search(sentence):
        return "refusal"
    for clause in _CLAUSE.split(sentence):
        compared = compile_pattern(words.COMPARED).search(clause) is not None
        for pronoun in _PRONOUN.finditer(clause):
            if pronoun[0] in ("me", "us"):
                if not compile_pattern(words.ME).search(clause) and not compile_pattern(words.LET_ME).search(sentence):
                    return "refusal" if compile_pattern(words.NOT).search(clause) else "contradicted"
                continue
            said = clause[pronoun.end() :]
            if not said.strip():
                continue  # the text is truncated
            verb = _VERB.match(said)
            if verb is not None and compile_pattern(words.UNREAL).search(said) and not compared:
                return "contradicted"
            if verb is not None and verb["judges"] and (compared or not compile_pattern(words.NOT).search(said)):
                continue
            if verb is not None and verb["views"]:
                continue
            if re.match(rf"{words.AUXILIARY} ?{words.CORRECTS}\b", said):
                return "contradicted"
            return "refusal"
    if re.search(r"(?<!\w)my\b", sentence) and not compile_pattern(words.MY).search(sentence):
        return "refusal"
    return None


def _other_answer(sentence: str, differs: AnswerMatcher) -> bool:
    """Returns whether a sentence states another answer, other than for comparison."""
    firmly = compile_pattern(words.NO_MORE_THAN).search(sentence) is not None
    sentence = re.sub(r"^\W*(?:but|however)\W+", "", sentence)
    for slot in compile_pattern(words.SLOT).finditer(sentence):
        answer = differs(sentence[slot.end() : slot.end() + _LONGEST_ANSWER])
        rest = sentence[: slot.end()] + "\n" + sentence[slot.end() + answer :]
        if answer and (firmly or not compile_pattern(words.CONTRAST).search(rest)):
            return True
    return False


def find_field_objection(fields: Sequence[tuple[str, str]], differs: AnswerMatcher) -> Reason | None:
    """Finds the reason why fields next to an answer invalidate it, such as `"error": "refused"`.

    Args:
        fields: Normalized name and content of each field.
        differs: Function that finds another answer at the beginning of a text.
    """
    for name, content in fields:
        empty = content.strip().lower() in _NOTHING
        if (_ERRORS.search(name) and not empty) or (_VALID.search(name) and empty and content.strip()):
            return "refusal"
        if name in _SPOKEN and (reason := find_objection(content, differs)):
            return reason
    return None


def match_other_grade(scale: tuple[float, float], value: float) -> AnswerMatcher:
    """Returns a function that finds another grade of the scale at the beginning of a text."""

    def differs(text: str) -> int:
        match = _OTHER_GRADE.match(text)
        if match is None:
            return 0
        word = match["number"]
        number = float(_NUMBER_WORDS.index(word) if word in _NUMBER_WORDS else word)
        return match.end() if scale[0] <= number <= scale[1] and number != value else 0

    return differs


def match_other_choice(names: Collection[str]) -> AnswerMatcher:
    """Returns a function that finds one of some normalized names, followed by an end or a stop, at the beginning."""
    either = "|".join(r"[\s_-]{1,3}".join(map(re.escape, name.split())) for name in names)
    pattern = re.compile(
        rf"""[\s:="'`*_(\[-]{{0,6}}(?:(?:the |option |reply |response |assistant ){{0,2}})"""
        rf"""["'`*_(\[]{{0,3}}(?:{either})(?!\w)(?:{END}|,? actually| wins| is (?:\w+ )?(?:the )?(?:winner|"""
        rf"""better|stronger|best)\b)"""
    )
    return lambda text: match.end() if names and (match := pattern.match(text)) else 0


def is_judge_refusal(text: str) -> bool:
    """Returns whether a text without an answer is a refusal: anywhere in English, else in the first sentences."""
    plain = _plain(text).translate(_LOWER)
    if any(_refused(_REPORTED.sub(" ", piece[:_LONGEST])) for piece in _SENTENCE.split(plain)):
        return True
    declined = find_refusal(plain[:2000])
    return declined is not None and declined.kind != "endorsement"


def _plain(text: str) -> str:
    """Normalizes quotation marks and blanks of a text, and removes quotations."""
    lines = (_NUMBERED.sub("", " ".join(line.split())) for line in text.translate(_QUOTES).splitlines())
    return _QUOTED.sub('""', _TOKEN.sub("answer", _MARKUP.sub("", "\n".join(filter(None, lines)))))


def _is_withdrawn(before: str, after: str, cased: str, differs: AnswerMatcher, inline: bool) -> bool:
    """Returns whether the words directly before or after an answer withdraw it."""
    clause = _clause(before)
    if compile_pattern(words.QUOTING_LINE).search(before):
        return True
    own_line = "\n" in before[len(before.rstrip(" \n\"'`*_([{")) :] and not clause.endswith((":", "=", ">", "→"))
    if clause and (_UNENDED.search(clause) is not None if own_line else _leads_elsewhere(clause, inline)):
        return True
    if (
        compile_pattern(words.AFTER).match(after)
        or compile_pattern(words.THIS).match(after)
        or _continues_oddly(after, cased)
    ):
        return True
    if _FRAGMENT.fullmatch(cased):
        return True
    next_line = _NEXT_LINE.match(after)
    if next_line is not None and differs(next_line["grade"]):
        return True
    begin = _SAME_LINE.match(after)
    rest = after[begin.end() :] if begin else after
    return not rest.startswith("\n") and not _LIST_ITEM.match(rest) and differs(rest) > 0


def _leads_elsewhere(clause: str, inline: bool) -> bool:
    if compile_pattern(words.SPOKEN).search(clause):
        return True
    if re.search(r"(?<!\w)(?:so|thus|therefore|hence|no)\W*$", clause):
        return False
    of_text = compile_pattern(words.LEAD_OF_TEXT).match(clause) is not None and clause.rstrip().endswith(":")
    if of_text and not compile_pattern(words.UNREAL).search(clause):
        return False
    last = re.split(r", (?=i\b|my )|, (?!i\b)(?=\w)|\b(?:but|so|therefore|thus)\b", clause)[-1]
    denied = compile_pattern(words.LEAD_DENIED).search(last if inline else clause) or compile_pattern(words.NOT).search(
        last
    )
    return denied is not None or not (inline or compile_pattern(words.LEAD).search(clause))


def _continues_oddly(after: str, cased: str) -> bool:
    """Returns whether the sentence of an answer continues with anything but a reason; a capital starts a new one."""
    word = _FIRST_LETTER.search(cased[:20])
    gap = after[: word.start()] if word else ""
    if word is None or word[0].isupper() or any(c.isdigit() or c in ',;:(–—-=>→*/&"' for c in gap):
        return False
    if "\n" in gap and not compile_pattern(words.GOES_ON).match(after):
        return False
    return compile_pattern(words.EXPLAINS).match(after) is None


def _clause(before: str) -> str:
    """Returns the part of a sentence before an answer; empty after a full stop."""
    text = before.rstrip(" \n\"'`*_([{")
    if text.endswith(("!", "?")) or (text.endswith(".") and not text.endswith(("e.g.", "i.e."))):
        return ""
    line = text.rsplit("\n", 1)[-1]
    # Another field, or another answer on a line of its own, is not a sentence.
    if re.search(r"""['"]\s*:|^[^:\n]{1,60}[:=]\W{0,4}\d""", line):
        return ""
    return re.split(r"[!?;]\s|(?<!e\.g)(?<!i\.e)\.\s", line)[-1]
