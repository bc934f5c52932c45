"""`rank`: systems by ratings of their replies, or by verdicts on pairs of their replies."""

from functools import partial
from typing import Any, Literal

from fcconan.data import RowSource, as_names, read_rated
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
from fcconan.latex import Paper
from fcconan.report import forest
from fcconan.result import Pivot, Result
from fcconan.scoring.system_means import rank_ratings
from fcconan.scoring.verdicts import rank_verdicts


def rank(
    *sources: RowSource,
    kind: Literal["ratings", "comparisons"] | None = None,
    replies: RowSource | None = None,
    rater: tuple[str, ...] = (),
    aspect: tuple[str, ...] = (),
    majority: bool = False,
    baseline: tuple[str, ...] = (),
    predicted_by: str | None = None,
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Rank systems by ratings of their replies, or by verdicts on pairs of their replies.

    Ratings give the mean of every aspect and their unified score: the mean of all aspects, rescaled to 1 (worst) to 5
    (CSEval, equation 2). Verdicts give shares of points, a win being one and a tie half a point (Zubiaga et al., 2024,
    section 4.1), and Bradley-Terry strengths, which are fair where not all pairs of systems met equally often.
    Verdicts of one rater in both orders count once: as a tie if they disagree. Intervals resample the items with all
    their replies. Differences of systems are paired by the items that both answer; those of the first measure of the
    first rater (of verdicts: win rates) have tests, adjusted by step-down max-T.

    Ratings have the columns item_id, system, rater, aspect and value, or one column for each aspect; low, high,
    higher_is_better and rater_kind (human, model or metric) are optional. Verdicts have item_id, system_a, system_b,
    verdict (a, b, tie or invalid) and rater.

    Args:
        sources: Files, dataset folders, or names of datasets with ratings or comparisons.
        kind: Kind of rows of a dataset that has both; default: comparisons.
        replies: The rated replies, for ratings without item and system.
        rater: Raters that count, or people for the mean of all people; default: all.
        aspect: Aspects of ratings; default: those that people rated on a scale.
        majority: Use one verdict for each pair of replies: that of more than half the raters.
        baseline: Test all other systems against these systems only.
        predicted_by: Rater of all replies, where people rated some: add prediction-powered estimates.
        rows: Which rows are read.
        bootstrap: Resamples.

    Returns:
        `systems`: one row for each rater, aspect and system, best first, with `value`, `low`, `high`, `n` and
        `n_missing`. The aspects of verdicts are `strength` (log odds), `share` (percent of points), `wins`,
        `losses` and `ties`. `differences`: one row for each pair of systems, with `difference`, `low`, `high`, `p` and
        `p_adjusted`. Of verdicts also `matrix`, `agreement` and `raters`; of ratings `predicted`.

    Raises:
        InputError: A source cannot be read, or a rater, aspect or baseline is unknown.

    Examples:
        >>> won = [{"item_id": f"hs{n}", "system_a": "A", "system_b": "B", "verdict": "a"} for n in range(3)]
        >>> rank(won, bootstrap=Bootstrap(resamples=0)).to_frame()[["system", "aspect", "value"]].values.tolist()[2:5]
        [['A', 'share', 100.0], ['B', 'share', 0.0], ['A', 'wins', 3.0]]
    """
    rater, aspect, baseline = map(as_names, (rater, aspect, baseline))
    table, found, name, described = read_rated(kind or ("comparisons", "ratings"), sources, replies, rows)
    chosen = {"raters": rater, "aspects": aspect, "baseline": baseline}
    identity: dict[str, Any] = {"data": name, "kind": found}
    identity |= {key: ",".join(given) or None for key, given in chosen.items()}
    if found == "comparisons":
        if replies is not None or aspect or predicted_by:
            raise InputError(
                "found verdicts, expected ratings for --replies, --aspect and --predicted-by: leave them out"
            )
        tables, notes = rank_verdicts(table, rater, majority, baseline, bootstrap)
        identity["majority"] = majority or None
    else:
        if majority:
            raise InputError("found ratings, expected verdicts for --majority: leave it out")
        identity["replies"] = described
        tables, notes = rank_ratings(table, rater, aspect, baseline, predicted_by, bootstrap)
        identity["predicted_by"] = predicted_by
    identity |= vars(bootstrap) if bootstrap.resamples else {"resamples": 0}
    (of, measure), first = next(iter(tables["systems"].groupby(["rater", "aspect"], sort=False)))
    printed = {"rater": [of]} | ({"aspect": ["strength", "share"]} if found == "comparisons" else {})
    return Result(
        "rank",
        tables,
        identity,
        notes,
        intervals={"systems": "value", "differences": "difference", "predicted": "value"},
        pivots={"systems": Pivot(("rater", "system"), ("aspect",))},
        plots={f"{measure} by {of}": partial(forest, first, label="system", values=measure)},
        paper=Paper(
            "systems",
            "system",
            "aspect",
            printed,
            f"Scores by {of} on {name.partition('@')[0]}",
            baseline,
            {"share": "win_rate"},
        ),
    )
