"""Auto-CSEval's calibration (Hengle et al., 2025, Algorithm 1): evaluation steps whose ratings follow people's best.

A model drafts steps from few examples that people rated, other ones for every draft; the drafts that correlate best
with people are kept; the model improves them on the examples that they misjudge most; the best of old and new is
returned. What the paper leaves open, or does in a way that flatters the result, is decided so:

- The drafter sees the drafting part only, misjudged examples included; candidates are scored on the selection part;
  the best one is scored once on the report part, beside the task's own steps. No two parts share an HS, nor a CN where
  HS that share CNs make small groups; where they do not, the result says how many replies of a part another one holds.
- Algorithm 1 samples among misjudged examples; the paper's text takes the three worst, and so does this.
- A missing rating is no number. A candidate with too many of them, or without a correlation, is never chosen. Of the
  others, the one is best whose correlation is highest in the worst case, with every missing rating as far from people's
  as the scale allows: steps that fail on hard examples gain nothing by it.
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
from fcconan.models import PASSING_REASONS, Call, CallReason, Messages, Model, Reply, Sampling

Status = Literal["usable", "failed", "duplicate", "undefined", "too_many_missing"]
FailedReason = CallReason | StepsReason


@dataclass
class StepsCandidate:
    """Evaluation steps, where they come from and how well they do: a record of the log.

    Attributes:
        candidate: Its number, from 1 in the order of the requests.
        phase: `draft` or `refine`.
        how: `draft`, or an edit.
        round: Of refinement; 0 for drafts.
        parent: The candidate that was refined.
        size: How many examples the drafter saw.
        trial: Which of the requests of this kind it is, from 1.
        temperature: At which it was sampled.
        shown: Item, people's rating and, for errors, the rating that the parent led to, of each example seen.
        prompt: 12 hexadecimal digits that change with the request's messages.
        status: `usable` may win; `failed` has no steps, `duplicate` those of an earlier candidate.
        reason: Why it may not win.
        same_as: The earlier candidate with the same steps.
        steps: The evaluation steps.
        selection: The score on the selection part.
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
        """Returns the record of the log, without what only report scores have."""
        found = {"record": "candidate", **asdict(self)}
        if self.selection is not None:
            keys = ("value", "n", "n_missing", *(() if self.selection.worst is None else ("worst",)))
            found["selection"] = {key: found["selection"][key] for key in keys}
        return found


class StepsRater:
    """A judge that is given other evaluation steps every time, as `fcconan.judging.calibration.search.Rate` asks for.

    Args:
        model: The judge.
        plan: What it is asked, but for the steps.
        aspect: The name of the aspect that is calibrated.

    Attributes:
        failed: Ratings that are missing for a passing reason so far; another run asks for them again.
    """

    def __init__(self, model: Model, plan: RatingPlan, aspect: str) -> None:
        self._model, self._plan, self._aspect = model, plan, aspect
        self.failed = 0

    def __call__(self, steps: Sequence[str], examples: Sequence[RatedExample]) -> list[float | None]:
        """Returns a rating of every example by these steps, None where there is none."""
        judge = ModelJudge(self._model, replace(self._plan, steps={self._aspect: list(steps)}))
        rows = [
            {"reply_id": str(number), **{TEXTS[name]: text for name, text in each.variables.items()}}
            for number, each in enumerate(examples)
        ]
        values = [rows_of_one[0]["value"] for rows_of_one in judge.rate(rows)]
        self.failed += judge.failed
        return values


Rate = Callable[[Sequence[str], Sequence[RatedExample]], list[float | None]]
"""Rates examples by evaluation steps, which may be none; one rating for each, None where there is none."""

Predictions = list[float | None]
_Request = tuple[
    StepsCandidate, Messages, Sequence[RatedExample]
]  # what the drafter is asked, and the examples that it sees


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
    """Finds evaluation steps for an aspect.

    Everything is decided by the arguments and the models' answers, so a run that was interrupted is resumed by running
    it again with models that keep their answers: the log is then the same to the byte.

    Args:
        aspect: What is rated; its own steps are the baseline.
        parts: People's ratings.
        rate: Runs the judge.
        drafter: Writes the steps.
        log: A file for one JSON record a line: the settings, every candidate, who was kept, the report. Until all is
            written it is called `<log>.partial`.
        settings: What is asked; by default `Settings()`.
        rater: The judge's name, for the signature.
        progress: Is told what is being done.

    Raises:
        InputError: Ratings do not fit the scale, there are too few or they are constant, or no candidate can be used.
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
    """A calibration under way: the candidates so far, with their predictions on what errors are taken from."""

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
        """Phase 1, and its scores: for every size and trial, steps from other examples."""
        requests: list[_Request] = []
        for size in self.settings.sizes:
            for trial in range(1, self.settings.trials + 1):
                # A generator of its own for every draft: another size or trial changes no draft but its own.
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
        """One round of phase 2: the best candidates are improved on the examples that they misjudge most."""
        best = self.pool()[: self.settings.keep]
        self.log.write({"record": "kept", "round": turn, "candidates": [each.candidate for each in best]})
        requests: list[_Request] = []
        for parent in best:
            self.progress(f"round {turn}: looking for what candidate {parent.candidate} misjudges")
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
        """The candidates that may be chosen, best first; of equal ones the earlier first.

        Raises:
            InputError: There is none.
        """
        able = [each for each in self.candidates if each.status == "usable"]
        if not able:
            why = Counter(f"{each.status}: {each.reason}" if each.reason else each.status for each in self.candidates)
            found = ", ".join(f"{number} {reason}" for reason, number in why.items())
            raise InputError(
                f"none of {len(self.candidates)} candidates for {self.aspect.name} can be used ({found}): see "
                f"{self.log.partial}, and try another drafter, other settings, or another judge"
            )
        return sorted(able, key=lambda each: -((each.selection and each.selection.worst_case) or 0.0))

    def report(self, best: StepsCandidate, signed: str) -> Calibration:
        """Scores the best candidate and the task's own steps on the report part: the only use of that part."""
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
        """Asks the drafter, scores what it wrote, and writes one record for each request."""
        self.progress(f"{what}: asking {self.drafter.name} for {len(requests)}")
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

    def _call(self, made: StepsCandidate, messages: Messages) -> Call:
        sample = max(0, made.round - 1) * self.settings.refinements + made.trial - 1
        sampling = Sampling(
            temperature=made.temperature,
            max_tokens=self.settings.max_tokens,
            seed=self.settings.seed + sample,  # an endpoint that heeds seeds would repeat itself otherwise
        )
        return Call(messages, sampling, schema=SCHEMA, sample=sample)

    def _score(self, made: StepsCandidate) -> None:
        """Rates the selection part by a candidate's steps, and decides whether it may be chosen."""
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
        """The drafting examples with the largest errors, with the candidate's rating; no perfect ones, ever."""
        if parent.candidate not in self._predictions:
            self._predictions[parent.candidate] = self.rate(parent.steps, self._drafting)
        rated = zip(self._drafting, self._predictions[parent.candidate], strict=True)
        wrong = [(example, given) for example, given in rated if given is not None and given != example.value]
        return sorted(wrong, key=lambda each: -abs(each[1] - each[0].value))[: self.settings.errors]


def _read(reply: Reply, examples: Sequence[RatedExample]) -> tuple[tuple[str, ...], FailedReason | None]:
    """Returns the steps of an answer; without any, the reason."""
    if reply.text is None:
        return (), reply.reason or "empty"
    steps, reason = parse_steps(reply.text)
    return ((), "copies_example") if copies_example(steps, examples) else (steps, reason)
