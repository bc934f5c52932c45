"""Rating methods: the questions of a judge model about a reply, and how its answers are read."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from fcconan.data import read_yaml, short_hash
from fcconan.errors import InputError
from fcconan.judging.prompts import (
    FORMS,
    TEXTS,
    PromptTemplate,
    answer_line,
    aspect_variables,
    label_line,
    label_prompt,
    label_schema,
    load_prompt,
    prompt_variables,
    rating_prompt,
    rating_schema,
)
from fcconan.judging.tasks import Aspect, Task, load_rubric
from fcconan.models import ChatRequest, ChatResponse, EndpointModel, Model, Sampling, TokenAlternatives
from fcconan.parsing import AspectField, parse_label, parse_multi

UNREADABLE = "unreadable"
RatingMethod = Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"]
TOP_LOGPROBS = 20  # the largest number that endpoints accept
ENOUGH = 0.5  # smallest share of readable samples for a mean
EXCERPT = 500  # characters of an unreadable answer in `explanation`
# Variables of a prompt for one aspect.
OF_ASPECT = frozenset({"aspect", "question", "grades", "steps", "low", "high"})


class _Method(NamedTuple):
    """A rating method.

    Attributes:
        form: Form of the answer: `object`, or one of `FORMS`.
        tokens: Longest answer.
        grades: Whether the prompt describes each grade.
        steps: Whether the prompt has evaluation steps.
        shows: Text of the prompt in addition to the context of the task.
        samples: Usual number of samples.
        cites: Whether all aspects are asked together, with explanations that cite the texts.
    """

    form: str
    tokens: int = 64
    grades: bool = True
    steps: bool = False
    shows: str = "counter_narrative"
    samples: int = 1
    cites: bool = False


METHODS: Mapping[str, _Method] = {
    "direct": _Method("object", grades=False),
    "rubric": _Method("object"),
    "g-eval": _Method("number", 16, steps=True, samples=20),
    "auto-cseval": _Method("object", steps=True),
    "prometheus": _Method("result", 512, shows="reference"),
    "grounded": _Method("object", 1024, shows="background", cites=True),
}
EXPLAINED, OWN_PROMPT = 512, 1024  # tokens of answers with explanations


class Grade(NamedTuple):
    """Grade, mean of grades, or label; or the reason why there is none."""

    value: float | str | None
    reason: str | None = None
    explanation: str | None = None
    retained_mass: float | None = None


class Answer(NamedTuple):
    """Grades of an answer by aspect; `reason` is `unreadable` if it cannot be read on one of them."""

    grades: Mapping[str, Grade]
    reason: str | None


class Question(NamedTuple):
    """A question about each reply.

    Attributes:
        aspects: Its aspects; none if it is about a label.
        prompt: Prompt template.
        sampling: Sampling settings of the first sample.
        schema: JSON Schema of the answer; None for free text.
        parse: Parser of answers.
        line: Sentence that states the form of an answer.
        weighted: Whether grades are weighted by their probabilities.
    """

    aspects: tuple[Aspect, ...]
    prompt: PromptTemplate
    sampling: Sampling
    schema: Mapping[str, Any] | None
    parse: Callable[[str], Mapping[str, Any]]
    line: str
    weighted: bool = False


@dataclass(frozen=True)
class Call(ChatRequest):
    """A request with its question."""

    question: Any = None


class RatingPlan(NamedTuple):
    """How replies are rated.

    Attributes:
        task: The task, with the aspects that are rated.
        method: The rating method.
        questions: The questions about each reply.
        samples: Number of answers to each question.
        shown: Names of the texts in the prompt.
        label: The method with its unusual settings, as part of the names of raters.
        identity: Settings that change the ratings.
    """

    task: Task
    method: str
    questions: Sequence[Question]
    samples: int
    shown: Sequence[str]
    label: str
    identity: dict[str, Any]


def plan_rating(
    name: str,
    aspects: Sequence[str],
    method: RatingMethod,
    prompt: Path | None,
    steps: Sequence[Path],
    samples: int | None,
    given: Sampling,
) -> RatingPlan:
    """Returns how replies are rated, with the defaults of the method.

    Args:
        name: Name or file of the task.
        aspects: Names of its aspects; none for all.
        method: Method of rating.
        prompt: File with another prompt than that of the method.
        steps: Files of calibrated steps.
        samples: Number of answers to each question.
        given: Settings of sampling.

    Raises:
        InputError: Task, aspects, prompt or steps cannot be used.
    """
    task, how = load_rubric(name), METHODS[method]
    if task.unit == "comparison":
        raise InputError(f"the task {name} compares two replies: use `fcconan judge compare`")
    if aspects:
        task = task.model_copy(update={"aspects": [task.aspect(each) for each in dict.fromkeys(aspects)]})
    weighted = given.top_logprobs > 0
    if weighted and (
        method != "g-eval" or any(each.decimals or each.low < 0 or each.high > 9 for each in task.aspects)
    ):
        raise InputError("--logprobs needs --rating-method g-eval and whole grades of one digit: leave it out")
    usual = 1 if weighted else how.samples
    samples = samples or usual
    warmth = 1.0 if samples > 1 else 0.0
    sampling = replace(given, temperature=warmth if given.temperature is None else given.temperature)
    calibrated: dict[str, list[str]] = {}
    if method == "auto-cseval":
        if not steps:
            raise InputError("auto-cseval needs calibrated steps: give --steps FILE of `fcconan judge calibrate`")
        calibrated = dict(load_steps(path, task) for path in steps)
    own = None
    shown: Any = {"counter_narrative", how.shows, *(each.removesuffix("s") for each in task.context)}
    if prompt is not None:
        own = load_prompt(prompt, known={*TEXTS, *OF_ASPECT, "texts"}, needed=())
        if not own.variables & {"counter_narrative", "texts"}:
            raise InputError(f"{prompt} does not show the reply: put {{{{counter_narrative}}}} into it")
        shown = own.variables | (shown if "texts" in own.variables else set())

    def steps_of(aspect: Aspect) -> Sequence[str]:
        if not (how.steps if own is None else "steps" in own.variables):
            return ()
        found = calibrated.get(aspect.name) if method == "auto-cseval" else aspect.steps
        if not found:
            raise InputError(f"the aspect {aspect.name} has no steps for {method}: add them, or choose other aspects")
        return found

    together = how.cites if own is None else not own.variables & OF_ASPECT
    groups = [()] if task.labels else [(*task.aspects,)] if together else [(each,) for each in task.aspects]
    questions = [_question(task, group, how, own, steps_of, sampling) for group in groups]
    hashes = [each.prompt.hash for each in questions]
    unusual = {
        "logprobs": weighted,
        f"{samples}-samples": samples != usual,
        f"temperature-{sampling.temperature:g}": sampling.temperature != warmth,
        f"{given.max_tokens}-tokens": given.max_tokens is not None,
        f"seed-{given.seed}": given.seed != 0,
        f"prompt-{short_hash(*hashes)[:6]}": own is not None,
    }
    identity = {
        "task": f"{task.name}@{short_hash(task.model_dump_json(exclude={'words'}))}",
        "method": method,
        "prompts": short_hash(*hashes),
        "samples": samples,
        "temperature": sampling.temperature,
        "max_tokens": questions[0].sampling.max_tokens,
        "logprobs": weighted or None,
        "seed": given.seed,
    }
    label = "-".join([method, *(name for name, differs in unusual.items() if differs)])
    return RatingPlan(task, method, questions, samples, [each for each in TEXTS if each in shown], label, identity)


def load_steps(path: Path, task: Task) -> tuple[str, list[str]]:
    """Reads the steps of `judge calibrate`.

    Args:
        path: YAML file with the keys aspect, low, high and steps.
        task: The task, which has the aspect with this scale.

    Returns:
        Name of the aspect, and its steps.

    Raises:
        InputError: The file holds something else, or steps of another aspect or scale.
    """
    data = read_yaml(path)
    if lost := {"aspect", "low", "high", "steps"} - {*data}:
        raise InputError(f"{path} has no {', '.join(sorted(lost))}: give a file of `fcconan judge calibrate`")
    aspect = task.aspect(data["aspect"])
    if (aspect.low, aspect.high) != (data["low"], data["high"]):
        raise InputError(
            f"{path} is for grades from {data['low']} to {data['high']}, expected {aspect.low} to {aspect.high}: give "
            "steps of this task"
        )
    return aspect.name, [str(each) for each in data["steps"]]


def _question(
    task: Task,
    aspects: tuple[Aspect, ...],
    how: _Method,
    own: PromptTemplate | None,
    steps_of: Callable[[Aspect], Sequence[str]],
    sampling: Sampling,
) -> Question:
    """Returns the question about some aspects, or about the label."""
    form, tokens = how.form if len(aspects) == 1 else "object", how.tokens
    explained, steps = task.explain or how.cites, {each.name: steps_of(each) for each in aspects}
    schema = None
    if own is not None:
        tokens = OWN_PROMPT
        prompt = own.filled(aspect_variables(aspects[0], steps[aspects[0].name])) if aspects else own
    elif task.labels:
        prompt, schema = label_prompt(task, meanings=how.grades), label_schema(task)
    else:
        prompt = rating_prompt(task, aspects, form, grades=how.grades, steps=steps, explained=explained)
        if form == "object":
            schema, tokens = rating_schema(aspects, explained=explained), max(tokens, EXPLAINED * explained)
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=tokens)
    if task.labels:
        labels = [each.name for each in task.labels]
        return Question(
            (), prompt, sampling, schema, lambda text: {"label": parse_label(text, labels)}, label_line(task)
        )
    keys = {each.name: (*dict.fromkeys((each.name, each.title, *each.also)),) for each in aspects}
    fields = {each.name: AspectField(keys[each.name], each.scale, each.decimals) for each in aspects}
    parse: Callable[[str], Mapping[str, Any]] = partial(parse_multi, aspects=fields)
    if form != "object":
        ((name, field),) = fields.items()
        parse = lambda text: {name: FORMS[form][1](text, field)}  # noqa: E731
    line = answer_line(aspects, form, explained=explained)
    return Question(aspects, prompt, sampling, schema, parse, line, weighted=sampling.top_logprobs > 0)


def calls_of(plan: RatingPlan, texts: Mapping[str, str]) -> Iterator[Call]:
    """Yields the requests for one reply."""
    filled = prompt_variables(texts)
    for question in plan.questions:
        messages, sampling = question.prompt.render(filled), question.sampling
        variables = {**texts, "aspect": question.aspects[0].name if len(question.aspects) == 1 else ""}
        for sample in range(plan.samples):
            # With the same seed, an endpoint would return the same answer for all samples.
            seeded = (
                replace(sampling, seed=sampling.seed + sample) if sample and sampling.seed is not None else sampling
            )
            yield Call(messages, seeded, question.schema, sample, variables, question)


def read_answer(call: Call, response: ChatResponse) -> Answer:
    """Reads an answer: a value, or the beginning of the answer with a reason."""
    names = [each.name for each in call.question.aspects] or ["label"]
    if response.text is None:
        said = (response.cut or response.detail).strip()[:EXCERPT] or None
        return Answer(dict.fromkeys(names, Grade(None, response.reason, said)), None)
    found = {}
    for name, parsed in call.question.parse(response.text).items():
        if parsed.value is None:
            found[name] = Grade(None, parsed.reason, response.text.strip()[:EXCERPT])
        elif call.question.weighted:
            found[name] = _weighted(response, call.question.aspects[0], call.question.parse, parsed)
        else:
            found[name] = Grade(parsed.value, None, parsed.explanation)
    return Answer(found, UNREADABLE if any(each.reason == UNREADABLE for each in found.values()) else None)


def _weighted(response: ChatResponse, aspect: Aspect, parse: Callable[[str], Mapping[str, Any]], read: Any) -> Grade:
    """Returns the mean of the grades, weighted by their probabilities at the token of the grade (G-Eval, eq. 1).

    Only whole grades of the scale count; their total probability is the retained mass.
    """
    other = aspect.low if read.value != aspect.low else aspect.high
    token = _token_of_grade(response, f"{read.value:g}", str(other), lambda text: parse(text)[aspect.name].value)
    written = {} if token is None else token.logprobs
    grades = {str(grade): grade for grade in aspect.grades}
    mass = [(grades[key.strip()], math.exp(min(logp, 0.0))) for key, logp in written.items() if key.strip() in grades]
    retained = sum(share for _, share in mass)
    if not retained:
        return Grade(None, "no_logprobs", str(response.text).strip()[:EXCERPT])
    value = sum(grade * share for grade, share in mass) / retained
    return Grade(value, None, read.explanation, min(retained, 1.0))


def _token_of_grade(
    response: ChatResponse, grade: str, other: str, parse: Callable[[str], float | None]
) -> TokenAlternatives | None:
    """Finds the token of a grade: replacing it with another grade changes the parsed answer accordingly."""
    words, tokens = str(response.text).strip(), response.logprobs or ()
    whole = "".join(token.token for token in tokens)
    head, tail = whole.lstrip(), whole.rstrip()
    # Thinking may precede the answer, or a stop string or end mark may follow it.
    places = {len(whole) - len(head)} if head.startswith(words) else set()
    places |= {len(tail) - len(words)} if tail.endswith(words) else set()
    if len(places) != 1:
        return None
    (begin,) = places
    last, end, stop = None, 0, begin + len(words)
    for token in tokens:
        position, end = end, end + len(token.token)
        if token.token.strip() == grade and begin < end and position < stop:
            found = parse(whole[begin:position] + token.token.replace(grade, other) + whole[end:stop])
            if found == float(other):
                return token
            if found is None:  # the grade occurs twice, and the two now differ: the later one counts
                last = token
    return last


def merge_answers(first: Answer, second: Answer) -> Answer:
    """Returns the grades of a first answer, and those of a second one where the first has none."""
    grades = {name: each if each.value is not None else second.grades[name] for name, each in first.grades.items()}
    return Answer(grades, second.reason)


def combine(samples: Sequence[Grade]) -> Grade:
    """Returns the mean of grades, or the label of more than half of the samples."""
    there, lost = ([each for each in samples if (each.value is None) == is_lost] for is_lost in (False, True))
    if not there or len(there) < ENOUGH * len(samples):
        reason = Counter(each.reason for each in lost).most_common(1)[0][0]
        said = next(each.explanation for each in lost if each.reason == reason)
        return Grade(None, "too_few_samples" if there else reason, said)
    if not isinstance(there[0].value, str):
        masses = [each.retained_mass for each in there if each.retained_mass is not None]
        values = [float(each.value or 0) for each in there]
        return there[0]._replace(value=fmean(values), retained_mass=fmean(masses) if masses else None)
    counts = Counter(str(each.value) for each in there).most_common()
    if 2 * counts[0][1] > len(samples):
        return next(each for each in there if each.value == counts[0][0])
    return Grade(None, "no_majority", ", ".join(f"{label} {n}" for label, n in counts))


def ask(
    model: Model,
    calls: Sequence[Any],
    read: Callable[[Any, ChatResponse], Any],
    form: Callable[[Any], str],
    merge: Callable[[Any, Any], Any] = lambda first, second: second,
    *,
    again: bool = True,
) -> tuple[list[Any], int]:
    """Asks a model, and asks once more, in the same conversation, where an answer cannot be read.

    Args:
        model: The model; only those of endpoints are asked again.
        calls: The requests.
        read: Reads an answer: something with a `reason`, which is `unreadable` if the answer cannot be read.
        form: Sentence that states the form of the answer to a request, and nothing else.
        merge: Function of both results of `read` that returns one.
        again: Whether to ask again.

    Returns:
        The result of `read` for each request; and the number of further requests.
    """
    answers = list(model.replies(calls))
    found = [read(call, answer) for call, answer in zip(calls, answers, strict=True)]
    if not again or not isinstance(model, EndpointModel):
        return found, 0
    places = [place for place, each in enumerate(found) if each.reason == UNREADABLE]
    further = [
        replace(
            calls[place],
            messages=[
                *calls[place].messages,
                {"role": "assistant", "content": answers[place].text or ""},
                {"role": "user", "content": form(calls[place])},
            ],
        )
        for place in places
    ]
    for place, call, answer in zip(places, further, model.replies(further), strict=True):
        found[place] = merge(found[place], read(call, answer))
    return found, len(places)
