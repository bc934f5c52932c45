"""Sentences about missing replies and their reasons."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcconan.services.model_results import WatchedModel, why_nothing
from fcconan.services.prompts import expected_answer

if TYPE_CHECKING:
    from fcconan.generation import BestOf, GenerationPlan


def notes_of(result: Mapping[str, Any], plan: "GenerationPlan | None" = None) -> list[str]:
    """Returns sentences about one system's replies that a reader should know.

    Args:
        result: The counts of one system.
        plan: The plan of a model's requests; None where there is no model.
    """
    from fcconan.generation import NO_BACKGROUND, NO_CANDIDATES

    (counts,) = result["systems"]
    of = f"of {counts['n'] + counts['n_missing']} messages"
    notes = []
    if without := counts["missing"].get(NO_BACKGROUND):
        reason = getattr(plan and plan.background, "nothing", "nothing was found")
        notes.append(f"{without} {of} have no background knowledge ({reason}): they have no reply.")
    if without := counts["missing"].get(NO_CANDIDATES):
        notes.append(f"{without} {of} have no reply: all CNs in the pool belong to near-duplicates of the message.")
    wanted = None if plan is None or plan.examples is None else plan.examples.configuration.get("k")
    if wanted is not None:
        fewer = sum(number for shown, number in counts["examples_shown"].items() if int(shown) < wanted)
        if fewer:
            notes.append(f"{fewer} {of} were shown fewer than {wanted} examples: the pool has no more for them.")
    return notes


def failures_of(
    name: str, result: Mapping[str, Any], watched: Sequence[WatchedModel], best: "BestOf | None"
) -> tuple[str, ...]:
    """Returns the reason for which there is no reply at all, and that for which no candidate was rated.

    Args:
        name: The system.
        result: Its counts.
        watched: Its model, and that of the judge if there is one.
        best: The selection by a judge, if there is one.
    """
    from fcconan.generation import NO_BACKGROUND, NO_CANDIDATES

    found = []
    (counts,) = result["systems"]
    if not counts["n"] and not counts["missing"].keys() <= {NO_BACKGROUND, NO_CANDIDATES}:  # which the notes mention
        found.append(why_nothing(f"{name} wrote nothing", counts["missing"], watched[:1], expected="words"))
    if best is not None and not best.judged and best.unjudged:
        expected = expected_answer(best.judge.plan.questions())
        event = f"{best.judge.name} rated nothing"
        found.append(why_nothing(event, best.missing, watched[1:], expected=expected))
    return tuple(found)
