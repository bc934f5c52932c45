"""What a judge model is asked, by strategy: which questions, how often, and how its answers are read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from fcconan.errors import InputError
from fcconan.judging.prompts import (
    Form,
    PromptTemplate,
    format_grade,
    grade_lines,
    label_prompt,
    label_schema,
    load_prompt,
    numbered_lines,
    rating_prompt,
    rating_schema,
)
from fcconan.judging.tasks import Aspect, Task
from fcconan.models import Sampling

Strategy = Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
# What the texts of a row are called in prompts, and the column that holds each.
TEXTS = {
    "hate_speech": "hate_speech",
    "counter_narrative": "text",
    "reference": "references",
    "background": "background",
}
_FORMS: dict[Strategy, Form] = {
    "direct": "object",
    "rubric": "object",
    "g-eval": "number",
    "auto-cseval": "object",
    "prometheus": "result",
    "grounded": "object",
}
ASPECT_VARIABLES = ("aspect", "question", "grades", "steps", "low", "high")

# Enough for a grade; a model that goes on has not understood.
_SHORT, _EXPLAINED, _LONG = 64, 512, 1024
G_EVAL_SAMPLES = 20
# All that an endpoint may be asked for.
TOP_LOGPROBS = 20
# Grades that every tokeniser writes as one token.
_ONE_DIGIT = (0, 9)


@dataclass(frozen=True)
class RatingQuestion:
    """One prompt, asked about every reply.

    Attributes:
        aspects: What it asks to rate; empty for a task with labels.
        prompt: Its messages.
        sampling: How the model draws its words.
        form: How it answers: a JSON `object`, nothing but a `number`, feedback and `[RESULT]`, or a `label`.
        schema: JSON Schema of the answer.
        samples: How often it is asked.
        weighted: Whether the grade is the mean over the scale, weighted by the probability of each grade.
        cited: Whether explanations must cite the texts.
    """

    aspects: tuple[Aspect, ...]
    prompt: PromptTemplate
    sampling: Sampling
    form: Form
    schema: Mapping[str, Any] | None = None
    samples: int = 1
    weighted: bool = False
    cited: bool = False


@dataclass(frozen=True)
class RatingPlan:
    """Which questions a judge asks.

    Attributes:
        task: The task.
        strategy: `direct` names the scale only; `rubric` adds what every grade means; `g-eval` adds evaluation steps
            and takes the mean of samples, or weighs grades by their probability (Liu et al. 2023); `auto-cseval` takes
            calibrated steps (CSEval, Algorithm 1); `prometheus` compares with a reference and ends in `[RESULT]` (Kim
            et al. 2024); `grounded` gives background knowledge and wants explanations that cite.
        aspects: Names of the aspects to rate; None for all.
        prompt: A prompt file to use instead of the generated prompt. Its answers are read as those of the strategy:
            `g-eval` a grade alone, `prometheus` feedback and `[RESULT]`, the others a JSON object with a field for each
            aspect, or lines such as `Relevance: 4`.
        steps: Calibrated steps by aspect, for `auto-cseval`.
        samples: How often each question is asked; by default 20 for `g-eval` without log-probabilities, else 1.
        logprobs: Weight grades by log-probabilities; `g-eval` only.
        temperature: By default 0, and 1 where several samples are drawn.
        max_tokens: Of an answer; by default what the form needs.
        seed: Of sampling; None for endpoints that take none.
    """

    task: Task
    strategy: Strategy = "rubric"
    aspects: tuple[str, ...] | None = None
    prompt: Path | None = None
    steps: Mapping[str, Sequence[str]] | None = None
    samples: int | None = None
    logprobs: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = 0

    def questions(self) -> list[RatingQuestion]:
        """Returns the questions about one reply.

        Raises:
            InputError: The settings do not go together, or the prompt file cannot be used.
        """
        self._check()
        aspects = self._rated
        if self.prompt is not None:
            return self._own_prompt(self.prompt, aspects)
        if self.task.labels:
            prompt = label_prompt(self.task, meanings=self.strategy == "rubric")
            return [self._question((), prompt, _SHORT, label_schema(self.task))]
        explained = self.task.explain or self.strategy == "grounded"
        longest = {"object": _EXPLAINED if explained else _SHORT, "number": 16, "result": _EXPLAINED}[self._form]
        if self.strategy == "grounded":
            longest = _LONG
        asked = []
        for group in [aspects] if self.strategy == "grounded" else [(aspect,) for aspect in aspects]:
            has_steps = self.strategy in ("g-eval", "auto-cseval")
            steps = {aspect.name: self._steps(aspect) for aspect in group} if has_steps else {}
            grades = self.strategy != "direct"
            prompt = rating_prompt(self.task, group, self._form, grades=grades, steps=steps, explained=explained)
            schema = rating_schema(group, explained=explained) if self._form == "object" else None
            asked.append(self._question(group, prompt, longest, schema))
        return asked

    @property
    def _rated(self) -> tuple[Aspect, ...]:
        return tuple(self.task.aspect(name) for name in self.aspects) if self.aspects else tuple(self.task.aspects)

    @property
    def _form(self) -> Form:
        return "label" if self.task.labels else _FORMS[self.strategy]

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the texts that the judge is shown."""
        if self.prompt is not None:
            used = load_prompt(self.prompt, known=_KNOWN, needed=()).variables
            return tuple(name for name in TEXTS if name in used or ("texts" in used and name in self._shown()))
        return self._shown()

    def _shown(self) -> tuple[str, ...]:
        wanted = {"reference" if each == "references" else each for each in self.task.context} | {"counter_narrative"}
        # The task's own context is always shown: people saw it, and its rules may speak of it.
        if self.strategy == "prometheus":
            wanted.add("reference")
        if self.strategy == "grounded":
            wanted.add("background")
        return tuple(name for name in TEXTS if name in wanted)

    def _check(self) -> None:
        if self.task.unit == "comparison":
            raise InputError(f"the task {self.task.name} compares two replies: use `fcconan judge compare`")
        if self.task.labels and self.strategy not in ("direct", "rubric"):
            raise InputError(f"the task {self.task.name} has labels: judge it with --rating-method rubric or direct")
        if self.aspects and len(set(self.aspects)) < len(self.aspects):
            raise InputError(f"the aspects are {', '.join(self.aspects)}: name each once")
        self._check_sampling()
        if self.strategy != "auto-cseval" and self.steps:
            raise InputError(
                f"calibrated steps go with --rating-method auto-cseval, not with {self.strategy}: leave them out"
            )
        if self.strategy == "auto-cseval" and self.steps is None:
            raise InputError(
                "auto-cseval needs calibrated steps: give --steps FILE, which `fcconan judge calibrate` wrote"
            )

    def _check_sampling(self) -> None:
        if self.logprobs and (self.strategy != "g-eval" or self._samples > 1):
            raise InputError("log-probabilities go with --rating-method g-eval and one sample: leave the others out")
        if self._samples > 1 and self.temperature == 0:
            raise InputError(f"{self._samples} samples at temperature 0 are one answer: raise it, or ask once")
        for aspect in self._rated if self.logprobs else ():
            if aspect.decimals or not _ONE_DIGIT[0] <= aspect.low < aspect.high <= _ONE_DIGIT[1]:
                raise InputError(
                    f"log-probabilities weigh whole grades of one digit, and {aspect.name} has "
                    f"{format_grade(aspect.low, aspect)} to {format_grade(aspect.high, aspect)}: take samples instead"
                )

    @property
    def _samples(self) -> int:
        return self.samples or (G_EVAL_SAMPLES if self.strategy == "g-eval" and not self.logprobs else 1)

    def _question(
        self, aspects: tuple[Aspect, ...], prompt: PromptTemplate, longest: int, schema: Mapping[str, Any] | None = None
    ) -> RatingQuestion:
        temperature = self.temperature if self.temperature is not None else (1.0 if self._samples > 1 else 0.0)
        sampling = Sampling(
            temperature=temperature,
            max_tokens=longest if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            top_logprobs=TOP_LOGPROBS if self.logprobs else 0,
        )
        cited = self.strategy == "grounded"
        return RatingQuestion(aspects, prompt, sampling, self._form, schema, self._samples, self.logprobs, cited)

    def _steps(self, aspect: Aspect) -> Sequence[str]:
        if self.strategy != "auto-cseval":
            if not aspect.steps:
                raise InputError(
                    f"the aspect {aspect.name} has no `steps`, which g-eval needs: add them to its task.yaml"
                )
            return aspect.steps
        assert self.steps is not None
        if aspect.name not in self.steps:
            raise InputError(
                f"there are no calibrated steps for {aspect.name}, only for {', '.join(self.steps)}: calibrate it, or "
                "name the aspects with --aspect"
            )
        return self.steps[aspect.name]

    def _own_prompt(self, path: Path, aspects: tuple[Aspect, ...]) -> list[RatingQuestion]:
        prompt = load_prompt(path, known=_KNOWN, needed=())
        if not prompt.variables & {"counter_narrative", "texts"}:
            raise InputError(f"{path}: the prompt does not show the reply; put {{{{counter_narrative}}}} into it")
        if self.steps and "steps" not in prompt.variables:
            raise InputError(f"{path}: the prompt does not show the calibrated steps; put {{{{steps}}}} into it")
        if self.task.labels:
            return [self._question((), prompt, _LONG)]
        if not prompt.variables & set(ASPECT_VARIABLES):  # it does not ask aspect by aspect
            if self._form != "object" and len(aspects) > 1:
                raise InputError(
                    f"{path}: with {self.strategy} one grade is read, and the prompt is for {len(aspects)} aspects: "
                    "put {{aspect}} into it, or name one with --aspect"
                )
            return [self._question(aspects, prompt, _LONG)]
        asked = []
        for aspect in aspects:
            steps = self._steps(aspect) if "steps" in prompt.variables else ()
            values = {
                "aspect": aspect.title,
                "question": aspect.question,
                "grades": "\n".join(grade_lines(aspect)),
                "steps": "\n".join(numbered_lines(steps)),
                "low": str(aspect.low),
                "high": str(aspect.high),
            }
            asked.append(self._question((aspect,), prompt.filled(values), _LONG))
        return asked


_KNOWN = frozenset({*TEXTS, *ASPECT_VARIABLES, "texts"})


def prompt_variables(texts: Mapping[str, str]) -> dict[str, str]:
    """Returns what a prompt about these texts is filled with: each text, and all as one JSON object.

    In JSON, nothing that a text says can end it.
    """
    # As `indent=1` writes it, which takes ten times as long.
    lines = (f" {json.dumps(name)}: {json.dumps(text, ensure_ascii=False)}" for name, text in texts.items())
    return {**texts, "texts": "{\n" + ",\n".join(lines) + "\n}"}
