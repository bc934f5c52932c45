"""Auto-CSEval's calibration (Hengle et al., 2025, Algorithm 1): a search for evaluation steps that agree with people.

A model drafts steps from a few rated examples, different ones for each draft. The drafts with the highest correlation
with people are refined on the examples with the largest errors, and the best draft or refinement is the result. Details
that the paper leaves open, or that would bias the result, are decided as follows:

- The drafter sees examples of the drafting part only. Candidates are scored on the selection part. The best one and the
  task's own steps are scored once on the report part. No two parts have a common HS, or a common CN if HS with common
  CNs are in small groups; otherwise the result counts the common replies.
- Algorithm 1 samples misjudged examples. The text of the paper uses the three worst, as this module does.
- Candidates with too many missing ratings, or without a correlation, are not chosen. The others are compared by the
  correlation in the worst case, in which each missing rating is the end of the scale farthest from people's rating.
  Failures on difficult examples therefore cannot improve a candidate.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

import fcconan
from fcconan.data import short_hash
from fcconan.errors import InputError
from fcconan.judging.calibration.data import CalibrationParts, RatedExample, sample_across_grades
from fcconan.judging.calibration.drafting import (
    EDITS,
    SCHEMA,
    StepsReason,
    copies_example,
    draft_messages,
    parse_steps,
    refine_messages,
)
from fcconan.judging.calibration.scores import (
    CorrelationScore,
    ItemBootstrap,
    Undefined,
    score_difference,
    score_predictions,
)
from fcconan.judging.calibration.settings import Calibration, CalibrationSettings, EvaluationSteps, Log, signature
from fcconan.judging.rating import ModelJudge
from fcconan.judging.strategies import TEXTS, RatingPlan
from fcconan.judging.tasks import Aspect
from fcconan.models import PASSING_REASONS, ChatRequest, ChatResponse, FailureReason, Messages, Model, Sampling

Status = Literal["usable", "failed", "duplicate", "undefined", "too_many_missing"]
FailedReason = FailureReason | StepsReason


@dataclass
class StepsCandidate:
    """Candidate of the search, with its request and score; a record of the log.

    Attributes:
        candidate: Number of the candidate, from 1 in the order of the requests.
        phase: `draft` or `refine`.
        how: `draft`, or the kind of edit.
        round: Round of refinement; 0 for drafts.
        parent: Refined candidate; None for drafts.
        size: Number of examples in the request.
        trial: Number of the request among equal ones, from 1.
        temperature: Sampling temperature.
        shown: Item, people's rating and, for refinements, the rating by the parent's steps, of each example.
        prompt: 12 hexadecimal digits of a hash of the messages.
        status: `usable`, `failed` (no steps), `duplicate` (steps of an earlier candidate), `undefined` (no correlation)
            or `too_many_missing`.
        reason: Reason of the status.
        same_as: Earlier candidate with the same steps.
        steps: Evaluation steps.
        selection: Score on the selection part.
    """

    candidate: int
    phase: Literal["draft", "refine"]
    how: str
    round: int
    parent: int | None
    size: int
    trial: int
    temperature: float | None
    shown: list[list[str | float]]
    prompt: str = ""
    status: Status = "failed"
    reason: FailedReason | Undefined | None = None
    same_as: int | None = None
    steps: tuple[str, ...] = ()
    selection: CorrelationScore | None = None

    def record(self) -> dict[str, Any]:
        """Returns the record of the log, with the score in short form."""
        found = {"record": "candidate", **asdict(self)}
        if self.selection is not None:
            keys = ("value", "n", "n_missing", *(() if self.selection.worst is None else ("worst",)))
            found["selection"] = {key: found["selection"][key] for key in keys}
        return found


class StepsRater:
    """Judge with variable evaluation steps: a callable of the type `Rate`.

    Args:
        model: Model of the judge.
        plan: Task and sampling; its steps are replaced.
        aspect: Name of the calibrated aspect.

    Attributes:
        failed: Number of ratings so far that failed for a temporary reason; another run repeats them.
    """

    def __init__(self, model: Model, plan: RatingPlan, aspect: str) -> None:
        self._model, self._plan, self._aspect = model, plan, aspect
        self.failed = 0

    def __call__(self, steps: Sequence[str], examples: Sequence[RatedExample]) -> list[float | None]:
        """Returns the rating of each example by these steps; None if it failed."""
        judge = ModelJudge(self._model, replace(self._plan, steps={self._aspect: list(steps)}))
        rows = [
            {"reply_id": str(number), **{TEXTS[name]: text for name, text in each.variables.items()}}
            for number, each in enumerate(examples)
        ]
        values = [rows_of_one[0]["value"] for rows_of_one in judge.rate(rows)]
        self.failed += judge.failed
        return values


Rate = Callable[[Sequence[str], Sequence[RatedExample]], list[float | None]]
"""Function of evaluation steps (possibly none) and examples that returns a rating or None for each example."""

Predictions = list[float | None]
_Request = tuple[StepsCandidate, Messages, Sequence[RatedExample]]  # a request to the drafter, with its examples


def search_steps(
    aspect: Aspect,
    parts: CalibrationParts,
    *,
    rate: Rate,
    drafter: Model,
    log: Path,
    settings: CalibrationSettings | None = None,
    rater: str = "unnamed",
    progress: Callable[[str], None] = lambda line: None,
) -> Calibration:
    """Searches for evaluation steps of an aspect.

    The result depends on the arguments and the models' answers only. To resume an interrupted run, repeat it with
    models that store their answers; the log has the same bytes.

    Args:
        aspect: Aspect to calibrate; its own steps are the baseline.
        parts: Ratings by people.
        rate: Function that rates examples by evaluation steps.
        drafter: Model that writes the steps.
        log: JSON Lines file of settings, candidates, rounds and report; named `<log>.partial` until it is complete.
        settings: Settings of the search; default: `CalibrationSettings()`.
        rater: Name of the judge, for the signature.
        progress: Function that receives a line about each phase.

    Returns:
        The best steps with their scores and those of the task's own steps.

    Raises:
        InputError: Ratings are out of the scale, too few or constant, or no candidate is usable.
    """
    asked = settings or CalibrationSettings()
    asked.check(aspect, parts)
    signed = signature(aspect, parts, asked, rater=rater, drafter=drafter.name)
    with Log.at(log) as written:
        written.write(
            {
                "record": "settings",
                "fcconan": fcconan.__version__,
                "signature": signed,
                "aspect": aspect.name,
                "rater": rater,
                "drafter": {"name": drafter.name, "configuration": drafter.configuration},
                "parts": parts.summary(),
                "settings": asdict(asked),
            }
        )
        work = _Search(aspect, parts, rate, drafter, asked, written, progress)
        work.draft()
        for turn in range(1, asked.rounds + 1):
            work.refine(turn)
        result = work.report(work.pool()[0], signed)
        written.write(
            {
                "record": "report",
                "candidate": result.candidate,
                "steps": result.steps.steps,
                **{name: asdict(getattr(result, name)) for name in ("report", "baseline", "gain")},
                "tally": result.tally,
            }
        )
    return result


@dataclass
class _Search:
    """State of the search: the candidates, with their predictions on the drafting part."""

    aspect: Aspect
    parts: CalibrationParts
    rate: Rate
    drafter: Model
    settings: CalibrationSettings
    log: Log
    progress: Callable[[str], None]
    candidates: list[StepsCandidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._drafting, self._selection = self.parts.draft, self.parts.select
        self._by_steps: dict[tuple[str, ...], int] = {}
        self._predictions: dict[int, Predictions] = {}

    def draft(self) -> None:
        """Phase 1: drafts and scores steps for each size and trial, from different examples."""
        requests: list[_Request] = []
        for size in self.settings.sizes:
            for trial in range(1, self.settings.trials + 1):
                # Each draft has its own generator, so that it does not depend on other sizes and trials.
                generator = np.random.default_rng([self.settings.seed, size, trial])
                examples = sample_across_grades(self._drafting, size, generator)
                span = self.settings.temperatures
                made = StepsCandidate(
                    candidate=len(requests) + 1,
                    phase="draft",
                    how="draft",
                    round=0,
                    parent=None,
                    size=size,
                    trial=trial,
                    temperature=None if span is None else round(float(generator.uniform(*span)), 2),
                    shown=[[example.item, example.value] for example in examples],
                )
                requests.append((made, draft_messages(self.aspect, examples), examples))
        self._try(requests, "drafts")

    def refine(self, turn: int) -> None:
        """One round of phase 2: refines the best candidates on the examples with their largest errors."""
        best = self.pool()[: self.settings.keep]
        self.log.write({"record": "kept", "round": turn, "candidates": [each.candidate for each in best]})
        requests: list[_Request] = []
        for parent in best:
            self.progress(f"round {turn}: finding the errors of candidate {parent.candidate}")
            errors = self._errors(parent)
            if not errors:
                self.log.write({"record": "no_errors", "round": turn, "candidate": parent.candidate})
                continue
            for trial, edit in product(range(1, self.settings.refinements + 1), EDITS):
                made = StepsCandidate(
                    candidate=len(self.candidates) + len(requests) + 1,
                    phase="refine",
                    how=edit,
                    round=turn,
                    parent=parent.candidate,
                    size=len(errors),
                    trial=trial,
                    temperature=self.settings.temperatures and self.settings.temperatures[1],
                    shown=[[example.item, example.value, given] for example, given in errors],
                )
                messages = refine_messages(self.aspect, parent.steps, errors, edit)
                requests.append((made, messages, [example for example, _ in errors]))
        self._try(requests, f"refinements of round {turn}")

    def pool(self) -> list[StepsCandidate]:
        """Returns the usable candidates by descending score; ties are in the order of the requests.

        Raises:
            InputError: No candidate is usable.
        """
        able = [each for each in self.candidates if each.status == "usable"]
        if not able:
            why = Counter(f"{each.status}: {each.reason}" if each.reason else each.status for each in self.candidates)
            found = ", ".join(f"{number} {reason}" for reason, number in why.items())
            raise InputError(
                f"none of {len(self.candidates)} candidates for {self.aspect.name} is usable ({found}): see "
                f"{self.log.partial}, and use another drafter, other settings, or another judge"
            )
        return sorted(able, key=lambda each: -((each.selection and each.selection.worst_case) or 0.0))

    def report(self, best: StepsCandidate, signed: str) -> Calibration:
        """Scores the best candidate and the task's own steps on the report part, which is used only here."""
        examples, settings = self.parts.report, self.settings
        self.progress(f"report: candidate {best.candidate} and the task's own steps on {len(examples)} examples")
        human = [example.value for example in examples]
        chosen, baseline = (self.rate(steps, examples) for steps in (best.steps, tuple(self.aspect.steps)))
        bootstrap = ItemBootstrap(tuple(example.item for example in examples), settings.resamples, settings.seed)
        scored, usual = (
            score_predictions(settings.metric, given, human, scale=self.aspect.scale, bootstrap=bootstrap)
            for given in (chosen, baseline)
        )
        assert best.selection is not None
        return Calibration(
            EvaluationSteps(self.aspect.name, self.aspect.low, self.aspect.high, best.steps, signed),
            best.candidate,
            best.selection,
            scored,
            usual,
            score_difference(settings.metric, chosen, baseline, human, bootstrap),
            self.parts.summary(),
            settings,
            dict(sorted(Counter(f"{each.phase}: {each.status}" for each in self.candidates).items())),
            sum(each.reason in PASSING_REASONS for each in self.candidates),
        )

    def _try(self, requests: Sequence[_Request], what: str) -> None:
        """Sends requests to the drafter, scores the steps, and writes a record for each request."""
        self.progress(f"{what}: sending {len(requests)} requests to {self.drafter.name}")
        calls = [self._call(made, messages) for made, messages, _ in requests]
        replies = list(self.drafter.replies(calls)) if calls else []
        for number, ((made, messages, examples), reply) in enumerate(zip(requests, replies, strict=True), start=1):
            self.progress(f"{what}: scoring {number} of {len(requests)}")
            made.prompt = short_hash(json.dumps(messages))
            made.steps, made.reason = _read(reply, examples)
            if made.steps:
                self._score(made)
            self.candidates.append(made)
            self.log.write(made.record())

    def _call(self, made: StepsCandidate, messages: Messages) -> ChatRequest:
        sample = max(0, made.round - 1) * self.settings.refinements + made.trial - 1
        sampling = Sampling(
            temperature=made.temperature,
            max_tokens=self.settings.max_tokens,
            seed=self.settings.seed + sample,  # equal seeds could give equal answers
        )
        return ChatRequest(messages, sampling, schema=SCHEMA, sample=sample)

    def _score(self, made: StepsCandidate) -> None:
        """Rates the selection part by a candidate's steps, and sets its status."""
        first = self._by_steps.setdefault(made.steps, made.candidate)
        if first != made.candidate:
            made.status, made.same_as = "duplicate", first
            return
        predictions = self.rate(made.steps, self._selection)
        human = [example.value for example in self._selection]
        made.selection = found = score_predictions(self.settings.metric, predictions, human, scale=self.aspect.scale)
        if (len(human) - found.n_missing) / len(human) < self.settings.least_predicted:
            made.status = "too_many_missing"
        elif found.value is None:
            made.status, made.reason = "undefined", found.reason
        else:
            made.status = "usable"

    def _errors(self, parent: StepsCandidate) -> list[tuple[RatedExample, float]]:
        """Returns the drafting examples with the largest errors above 0, with the ratings by the candidate's steps."""
        if parent.candidate not in self._predictions:
            self._predictions[parent.candidate] = self.rate(parent.steps, self._drafting)
        rated = zip(self._drafting, self._predictions[parent.candidate], strict=True)
        wrong = [(example, given) for example, given in rated if given is not None and given != example.value]
        return sorted(wrong, key=lambda each: -abs(each[1] - each[0].value))[: self.settings.errors]


def _read(reply: ChatResponse, examples: Sequence[RatedExample]) -> tuple[tuple[str, ...], FailedReason | None]:
    """Returns the steps of an answer and None, or an empty tuple and the reason."""
    if reply.text is None:
        return (), reply.reason or "empty"
    steps, reason = parse_steps(reply.text)
    return ((), "copies_example") if copies_example(steps, examples) else (steps, reason)
