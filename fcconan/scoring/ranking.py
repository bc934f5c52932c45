"""`rank`: systems by ratings of their replies, or by verdicts on pairs of their replies."""

from functools import partial
from typing import Any, Literal

from fcconan.data import RowSource, add_replies, read
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
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
    Intervals resample the items with all their replies. Differences of systems are paired by items; those of the
    primary measure (the first of the first rater) have tests, adjusted by step-down max-T.

    Args:
        sources: Files, dataset folders, or names of datasets with ratings or comparisons.
        kind: Kind of rows, for a dataset that has both; default: comparisons.
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
    table, name = read(kind or ("comparisons", "ratings"), *sources, rows=rows)
    identity: dict[str, Any] = {"data": name}
    if "verdict" in table:
        if replies is not None or aspect or predicted_by:
            raise InputError(
                "found verdicts, expected ratings for --replies, --aspect and --predicted-by: leave them out"
            )
        tables, notes = rank_verdicts(table, rater, majority, baseline, bootstrap)
        identity |= {"raters": ",".join(rater) or "all", "majority": majority, "ties": "half-win"}
    else:
        if majority:
            raise InputError("found ratings, expected verdicts for --majority: leave it out")
        if replies is not None:
            about, of = read("replies", replies, rows=Rows(rename=rows.rename))
            table, identity["replies"] = add_replies(table, about), of
        tables, notes = rank_ratings(table, rater, aspect, baseline, predicted_by, bootstrap)
        identity |= {"raters": ",".join(dict.fromkeys(tables["systems"]["rater"]))}
        identity |= {"aspects": ",".join(dict.fromkeys(tables["systems"]["aspect"])), "predicted_by": predicted_by}
    identity |= {"tests": "sign-flip", "baseline": ",".join(baseline) or "all-pairs", "resamples": bootstrap.resamples}
    identity |= {"unit": "item", "confidence": bootstrap.confidence, "seed": bootstrap.seed}
    pivots = {"systems": Pivot(("rater", "system"), "aspect")}
    systems = tables["systems"]
    first = systems[(systems["rater"] == systems["rater"][0]) & (systems["aspect"] == systems["aspect"][0])]
    title = f"{first['aspect'][0]} by {first['rater'][0]}"
    return Result("rank", tables, identity, notes, pivots, {title: partial(forest, first, label="system")})
