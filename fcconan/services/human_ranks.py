"""Rankings of replies by models and metrics against the ranks that people gave."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.scoring import RatedReplies


def score_rankings(
    rated: "RatedReplies",
    aspect: str,
    *,
    people: Sequence[str] | None = None,
    raters: Sequence[str] = (),
    population: str,
    **bootstrap: Any,
) -> dict[str, Any]:
    """Scores the order in which raters put the replies to an item, under both protocols.

    Args:
        rated: All ratings.
        aspect: The aspect with the ranks of people.
        people: Raters who represent people; None for all people.
        raters: Models and metrics; none for all.
        population: The data, for the signature.
        bootstrap: `resamples`, `confidence` and `seed`.

    Raises:
        InputError: People did not rate the aspect, the items are not known, or there is no model or metric.
    """
    import numpy as np

    from fcconan.scoring import HUMAN, PAPER, SOUND, means, one_score, ranking_scores, ranking_signature

    humans, given = rated.people(aspect, people)
    if not humans:
        found = ", ".join(rated.aspects(names=people)) or "nothing"
        raise InputError(f"found no ranks of people in {aspect!r}: people rated {found}")
    if not rated.knows_items:
        raise InputError("--ranks needs the items of the replies: give a file or dataset of them with --replies")
    # Where people are named, rows need not state who is a person.
    excluded = humans if people is not None else {*humans, *rated.raters((HUMAN,))}
    judges = list(raters) or [name for name in rated.raters() if name not in excluded]
    if not judges:
        raise InputError(f"there are no models or metrics: known raters are {', '.join(rated.raters())}")
    scores = np.stack([one_score(rated, name) for name in judges])
    rows = [
        asdict(row)
        for protocol in (SOUND, PAPER)
        for row in ranking_scores(
            judges,
            scores,
            means(given, axis=0),
            rated.items,
            annotators=given if len(humans) > 1 else None,
            protocol=protocol,
            **bootstrap,
        )
    ]
    notes = [
        "Protocol sound: the best reply has the highest gain. Protocol paper: the rank is the gain, as in Table 2 of "
        "CSEval, so that a judge who orders everything wrongly scores 1."
    ]
    if len(counts := sorted({row["n_groups"] for row in rows})) > 1:
        common = max(row["n_groups_common"] for row in rows)
        notes.append(
            f"Judges score all replies of {counts[0]} to {counts[-1]} items: compare them on the {common} that are "
            "common to all who score any; they stand in that order."
        )
    signature = ranking_signature(population=population, raters=humans, aspect=aspect, **bootstrap)
    return {"signature": signature, "notes": notes, "rows": [], "ndcg": rows}
