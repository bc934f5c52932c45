"""Sentences about missing replies and their reasons."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fcconan.services.model_results import WatchedModel, why_nothing

if TYPE_CHECKING:
    from fcconan.generation import GenerationPlan


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


def failures_of(name: str, result: Mapping[str, Any], watched: WatchedModel) -> tuple[str, ...]:
    """Returns the reason for which there is no reply at all, if that is so.

    Args:
        name: The system.
        result: Its counts.
        watched: Its model.
    """
    from fcconan.generation import NO_BACKGROUND, NO_CANDIDATES

    (counts,) = result["systems"]
    if counts["n"] or counts["missing"].keys() <= {NO_BACKGROUND, NO_CANDIDATES}:  # which the notes mention
        return ()
    return (why_nothing(f"{name} wrote nothing", counts["missing"], [watched], expected="words"),)
