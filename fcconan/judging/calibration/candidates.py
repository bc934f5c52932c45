"""Evaluation steps that a calibration tries: where they come from, and how well they do."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from fcconan.judging.calibration.drafting import StepsReason
from fcconan.judging.calibration.scores import Score, Undefined
from fcconan.models import CallReason

Status = Literal["usable", "failed", "duplicate", "undefined", "too_many_missing"]
FailedReason = CallReason | StepsReason
_NOT_SCORED = Score(None, None, 0, 0)


@dataclass
class Candidate:
    """Evaluation steps, where they come from and how well they do: a record of the log.

    Attributes:
        candidate: Its number, from 1 in the order of the requests.
        phase: `draft` or `refine`.
        how: `draft`, an edit, or `any_edit`.
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
    prompt: str
    status: Status = "failed"
    reason: FailedReason | Undefined | None = None
    same_as: int | None = None
    steps: tuple[str, ...] = ()
    selection: Score = _NOT_SCORED

    def record(self) -> dict[str, Any]:
        """Returns the record of the log, without what only report scores have."""
        fields = asdict(self)
        keys = ("value", "n", "n_missing", *(() if self.selection.worst is None else ("worst",)))
        fields["selection"] = None if self.selection is _NOT_SCORED else {key: fields["selection"][key] for key in keys}
        return {"record": "candidate", **fields}
