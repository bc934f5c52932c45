"""Rating methods: questions, samples and answer forms of a judge model."""

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
    prompt_variables as prompt_variables,
    rating_prompt,
    rating_schema,
)
from fcconan.judging.tasks import Aspect, Task
from fcconan.models import Sampling

Strategy = Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
# Variable of a prompt -> column of a reply.
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

# Lengths of a grade, a grade with an explanation, and explanations of several grades.
_SHORT, _EXPLAINED, _LONG = 64, 512, 1024
G_EVAL_SAMPLES = 20
# The largest number that endpoints accept.
TOP_LOGPROBS = 20
# Grades that are a single token for all tokenizers.
_ONE_DIGIT = (0, 9)


@dataclass(frozen=True)
class RatingQuestion:
    """Question about each reply: a prompt with its sampling and answer form.

    Attributes:
        aspects: Rated aspects; empty for a task with labels.
        prompt: Prompt template.
        sampling: Sampling settings.
        form: Form of the answer: a JSON `object`, a `number` alone, `result` (feedback, then `[RESULT]`) or a `label`.
        schema: JSON Schema of the answer; None for free text.
        samples: Number of samples.
        weighted: Whether the rating is the mean of the grades weighted by their probabilities.
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
    """Task, rating method and sampling of a judge.

    Attributes:
        task: The task.
        strategy: Rating method. `direct` describes the scale; `rubric` adds the meaning of each grade; `g-eval` adds
            evaluation steps and averages samples, or weights grades by their probability (Liu et al. 2023);
            `auto-cseval` uses calibrated steps (CSEval, Algorithm 1); `prometheus` shows a reference and requests
            feedback and `[RESULT]` (Kim et al. 2024); `grounded` shows background knowledge and requests explanations
            that cite.
        aspects: Names of the rated aspects; None for all.
        prompt: Prompt file instead of the generated prompt. Answers have the form of the rating method: `g-eval` a
            grade alone, `prometheus` feedback and `[RESULT]`, the others a JSON object with a field for each aspect,
            or lines such as `Relevance: 4`.
        steps: Aspect -> calibrated steps, for `auto-cseval`.
        samples: Samples of each question; default: 20 for `g-eval` without log-probabilities, otherwise 1.
        logprobs: Whether grades are weighted by their probabilities; `g-eval` only.
        temperature: Sampling temperature; default: 0, or 1 for several samples.
        max_tokens: Longest answer; default: as needed by the form of the answer.
        seed: Seed of sampling; None sends none.
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
        """Returns the questions about each reply.

        Raises:
            InputError: The settings contradict each other, or the prompt file is invalid.
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
        """Names of the texts in the prompt."""
        if self.prompt is not None:
            used = load_prompt(self.prompt, known=_KNOWN, needed=()).variables
            return tuple(name for name in TEXTS if name in used or ("texts" in used and name in self._shown()))
        return self._shown()

    def _shown(self) -> tuple[str, ...]:
        wanted = {"reference" if each == "references" else each for each in self.task.context} | {"counter_narrative"}
        # The context of the task is always included: people saw it, and the task's rules may mention it.
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
                f"calibrated steps require --rating-method auto-cseval, found {self.strategy}: leave them out"
            )
        if self.strategy == "auto-cseval" and self.steps is None:
            raise InputError(
                "auto-cseval needs calibrated steps: give --steps FILE, a file of `fcconan judge calibrate`"
            )

    def _check_sampling(self) -> None:
        if self.logprobs and (self.strategy != "g-eval" or self._samples > 1):
            raise InputError("log-probabilities require --rating-method g-eval and one sample: leave other options out")
        if self._samples > 1 and self.temperature == 0:
            raise InputError(
                f"{self._samples} samples at temperature 0 are equal: give a higher --temperature or one sample"
            )
        for aspect in self._rated if self.logprobs else ():
            if aspect.decimals or not _ONE_DIGIT[0] <= aspect.low < aspect.high <= _ONE_DIGIT[1]:
                raise InputError(
                    f"log-probabilities require whole grades of one digit, and {aspect.name} has "
                    f"{format_grade(aspect.low, aspect)} to {format_grade(aspect.high, aspect)}: use samples instead"
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
                    f"the aspect {aspect.name} has no `steps`, which g-eval requires: add them to its task.yaml"
                )
            return aspect.steps
        assert self.steps is not None
        if aspect.name not in self.steps:
            raise InputError(
                f"found calibrated steps for {', '.join(self.steps)}, but not for {aspect.name}: calibrate it, or "
                "choose aspects with --aspect"
            )
        return self.steps[aspect.name]

    def _own_prompt(self, path: Path, aspects: tuple[Aspect, ...]) -> list[RatingQuestion]:
        prompt = load_prompt(path, known=_KNOWN, needed=())
        if not prompt.variables & {"counter_narrative", "texts"}:
            raise InputError(f"{path}: the prompt lacks the reply; add {{{{counter_narrative}}}}")
        if self.steps and "steps" not in prompt.variables:
            raise InputError(f"{path}: the prompt lacks the calibrated steps; add {{{{steps}}}}")
        if self.task.labels:
            return [self._question((), prompt, _LONG)]
        if not prompt.variables & set(ASPECT_VARIABLES):  # one question for all aspects
            if self._form != "object" and len(aspects) > 1:
                raise InputError(
                    f"{path}: {self.strategy} reads one grade, and the prompt is for {len(aspects)} aspects: add "
                    "{{aspect}}, or choose one with --aspect"
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
