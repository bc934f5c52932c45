"""`correlate`: models and metrics against people's ratings or ranks."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fcconan.data import UNKNOWN, RowSource, as_names, cell_text, check_names, read_rated
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
from fcconan.latex import Paper
from fcconan.report import forest
from fcconan.result import Pivot, Result
from fcconan.scoring.correlation.analysis import Scores, correlations, differences
from fcconan.scoring.correlation.levels import LEVELS, POOLED
from fcconan.scoring.correlation.ndcg import ranking_scores
from fcconan.scoring.intervals import few_items
from fcconan.scoring.system_means import PEOPLE, checked, series_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

WHOLE_REPLY = ("score", "quality", "")  # aspects of a metric that rates the reply as a whole
Level = Literal["pooled", "per_item", "per_system", "system_means"]
Coefficient = Literal[
    "pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy", "pairwise_accuracy_calibrated"
]


def correlate(
    *sources: RowSource,
    replies: RowSource | None = None,
    human: tuple[str, ...] = (),
    rater: tuple[str, ...] = (),
    aspect: tuple[str, ...] = (),
    level: tuple[Level, ...] = (),
    coefficient: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall_b"),
    tests: bool = False,
    ranks: str | None = None,
    include_dependent: bool = False,
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Correlate metrics and judges with people.

    People's ratings of a reply are averaged. A metric that rates aspects which people did not rate, such as `score`, is
    compared with every aspect. Levels are different quantities: `pooled` takes all replies, `per_item` and `per_system`
    average the coefficients within items or systems, and `system_means` compares the mean values of systems. Intervals
    resample the items with all their replies. Pairwise accuracy counts a pair of replies as right if both order it the
    same way or both tie it; calibrated, differences of the metric up to the best threshold count as ties (Deutsch et
    al., 2023). `chance` is the expected value of randomly permuted values, `ceiling` the mean value of one person
    against the mean of the others.

    Ratings have the columns of `fcconan.rank`. Levels of systems need systems, and `per_item` needs items.

    Args:
        sources: Files, dataset folders, or names of datasets with ratings.
        replies: The rated replies, for ratings without item and system.
        human: Raters who represent people; default: those of rater_kind human.
        rater: Models and metrics; default: all.
        aspect: Aspects that people rated; default: all.
        level: Levels; default: all that the columns allow.
        coefficient: Coefficients.
        tests: Test differences between all pairs of metrics by random swaps of items; a family is all pairs of one
            aspect, level and coefficient. The calibrated accuracy has no tests.
        ranks: Aspect with people's ranks of the replies to an item, 1 for the best: compute NDCG of each metric's
            unified score instead of correlations.
        include_dependent: Count replies that people did not rate independently of a judge (`independent` is false in
            the replies, as for 401 of CSEval's test split).
        rows: Which rows are read.
        bootstrap: Resamples, and swaps.

    Returns:
        `correlations`: one row for each metric, aspect, level and coefficient, with `value`, `low`, `high`, `chance`,
        `ceiling`, `n` (replies), `n_groups` (groups, or systems, behind the value) and `n_missing`. `missing`: ratings
        without a value by reason. With `tests` also `differences` of pairs `a` and `b`, with `p` and `p_adjusted`. With
        `ranks` only `ndcg`: `protocol` is `sound` (the best reply has the highest gain) or `paper` (the rank is the
        gain, as in Table 2 of CSEval, so that a judge who orders everything wrongly scores 1), and `value_common` and
        `chance_common` are means over the items that all metrics score completely.

    Raises:
        InputError: A source cannot be read, a name is unknown, or no metric rated replies that people rated.

    Examples:
        >>> grades = {("anna", "human"): (1, 2, 4, 5), ("judge", "model"): (2, 1, 4, 5)}
        >>> rated = [
        ...     {"reply_id": f"r{n}", "rater": rater, "rater_kind": kind, "aspect": "tone", "value": value}
        ...     for (rater, kind), values in grades.items() for n, value in enumerate(values)
        ... ]
        >>> found = correlate(rated, coefficient=("spearman",), bootstrap=Bootstrap(resamples=0)).to_frame()
        >>> found[["metric", "aspect", "level", "value"]].round(3).values.tolist()
        [['judge', 'tone', 'pooled', 0.8]]
    """
    human, rater, aspect, level, coefficient = map(as_names, (human, rater, aspect, level, coefficient))
    table, _, name, described = read_rated("ratings", sources, replies, rows)
    identity: dict[str, Any] = {"data": name, "replies": described}
    check_names("rater", (*human, *rater), table["rater"].unique())
    if human:
        kinds = table["rater_kind"].mask(table["rater_kind"] == "human") if "rater_kind" in table else None
        table = table.assign(rater_kind=kinds).fillna({"rater_kind": "model"})
        table.loc[table["rater"].isin(human), "rater_kind"] = "human"
    notes = table.attrs.get("notes", [])
    n_dependent = 0
    if "independent" in table and not include_dependent:
        counted = ~table["independent"].map(cell_text).str.lower().isin(["false", "0"])  # also as text, of CSV
        n_dependent = table["reply_id"][~counted].nunique()
        table = table[counted]
    ratings, _ = checked(table, needs_systems=False)
    chosen = {"human": human, "raters": rater, "aspects": aspect}
    identity |= {key: ",".join(given) or None for key, given in chosen.items()}
    identity["include_dependent"] = include_dependent or None
    sampled = vars(bootstrap) if bootstrap.resamples else {"resamples": 0}
    if ranks is not None:
        found = _ranks(ratings, ranks, rater, bootstrap)
        identity |= {"metric": "ndcg", "ranks": ranks, **sampled}
        return Result("correlate", {"ndcg": found}, identity, intervals={"ndcg": "value"})
    scores = scores_of(ratings, rater, aspect)
    known = {"per_item": len(np.unique(scores.item)) < len(scores.item), POOLED: True}
    levels: tuple[str, ...] = level or tuple(each for each in LEVELS if known.get(each, (scores.system >= 0).any()))
    names = [metric for metric, _ in scores.metrics]
    notes = [note for note in notes if any(f"`{each}`" in note for each in (*names, "rater"))]
    if n_dependent:
        notes.append(
            f"{n_dependent} replies are left out, because people did not rate them independently of a judge: "
            "--include-dependent counts them."
        )
    if unknown := int((scores.system < 0).sum()) % len(scores.system):
        notes.append(f"{unknown} of {len(scores.system)} replies are of no known system: no level of systems has them.")
    # Threads of BLAS wait for each other longer than they multiply these small matrices.
    with threadpool_limits(1, user_api="blas"):
        tables = {"correlations": correlations(scores, levels, coefficient, bootstrap)}
        if tests:
            tables["differences"] = differences(scores, levels, coefficient, bootstrap)
    if not tables["correlations"]["n"].any() and not tables["correlations"]["reason"].ne("no_rows").any():
        raise InputError(
            f"no reply_id of {', '.join(dict.fromkeys(names))} occurs in people's ratings: give ratings of the same "
            "replies, and write the same reply_id into all files"
        )
    lost = ratings[ratings["value"].isna() & ratings["rater"].ne(PEOPLE)]
    lost = lost[
        [
            aspect in scores.aspects if person else metric_of(rater, aspect, scores.aspects) in scores.metrics
            for rater, aspect, person in zip(lost["rater"], lost["aspect"], lost["of_people"], strict=True)
        ]
    ]
    counted = lost.reindex(columns=["rater", "aspect", "reason"]).astype(object).fillna({"reason": "no_value"})
    tables["missing"] = counted.value_counts(sort=False).rename("n").reset_index()
    identity |= {"levels": ",".join(levels), "coefficients": ",".join(coefficient), "tests": tests or None, **sampled}
    first = tables["correlations"]
    first = first[first["coefficient"] == coefficient[0]]
    first = first.assign(label=first["metric"] + ", " + first["aspect"])
    printed: dict[str, list[str]] = {"level": [levels[0]], "coefficient": [coefficient[0]]}
    of = f"{coefficient[0]} with people, {levels[0]}".replace("_", " ").capitalize()
    caption = f"{of}, on {name.partition('@')[0]}"
    return Result(
        "correlate",
        tables,
        identity,
        [*notes, *few_items(len(np.unique(scores.item)), bootstrap)],
        intervals={"correlations": "value", "differences": "difference"},
        pivots={"correlations": Pivot(("level", "aspect", "metric"), ("coefficient",))},
        plots={
            each: partial(forest, first[first["level"] == each], label="label", values=coefficient[0])
            for each in levels
        },
        choice=("level", levels[0]),
        paper=Paper("correlations", "metric", "aspect", printed, caption),
    )


def scores_of(ratings: "DataFrame", raters: tuple[str, ...] = (), aspects: tuple[str, ...] = ()) -> Scores:
    """Returns the values of models and metrics with the mean of people's ratings.

    Args:
        ratings: Ratings that `checked` returned.
        raters: Models and metrics; none for all but people.
        aspects: Aspects that people rated; none for all.

    Raises:
        InputError: There are no ratings by people, or none by models or metrics.
    """
    import pandas as pd

    by_people = ratings[ratings["rater"] == PEOPLE]
    known = [*by_people["aspect"].unique()]
    chosen = list(check_names("aspect", aspects, known) or known)
    if not chosen:
        raise InputError("found no rating by people, expected some: name those who represent people with --human")
    series: dict[tuple[str, str], Series] = {
        key: own.set_index("reply_id")["value"]
        for key, own in ratings[ratings["rater"] != PEOPLE].groupby(["rater", "aspect"], sort=False)
    }
    people = {*ratings["rater"][ratings["of_people"]]} - {PEOPLE}
    judges = {rater for rater, aspect in series if aspect in known}
    others = [
        (rater, aspect)
        for rater, aspect in series
        if rater not in people
        and (not raters or rater in raters)
        and (aspect in chosen or (rater not in judges and aspect not in known))
    ]
    if not others:
        raise InputError(
            f"found ratings of {', '.join(chosen)} by people only, expected some by models or metrics: name people "
            "with --human, or write a column rater_kind"
        )
    about = ratings.drop_duplicates("reply_id").set_index("reply_id")[["item_id", "system"]]
    item = np.unique(about["item_id"].to_numpy(dtype=str), return_inverse=True)[1].reshape(-1)
    systems = pd.Series(np.unique(about["system"].to_numpy(dtype=str), return_inverse=True)[1], about.index)
    empty = np.full(len(about), np.nan)
    theirs = {aspect: own.set_index("reply_id")["value"] for aspect, own in by_people.groupby("aspect")}
    named = [series.get((rater, aspect)) for rater in sorted(people) for aspect in chosen]
    of_people = [empty if own is None else own.reindex(about.index).to_numpy(dtype=float) for own in named]
    return Scores(
        [metric_of(rater, aspect, chosen) for rater, aspect in others],
        np.stack([series[key].reindex(about.index).to_numpy(dtype=float) for key in others]),
        chosen,
        np.stack([theirs[aspect].reindex(about.index).to_numpy(dtype=float) for aspect in chosen]),
        item,
        systems.mask(about["system"] == UNKNOWN, -1).to_numpy(),
        np.reshape(of_people, (len(people), len(chosen), len(about))),
    )


def metric_of(rater: str, aspect: str, aspects: Sequence[str]) -> tuple[str, str | None]:
    """Returns the name of a metric, with its aspect if it has several such as precision, and the aspect that it rates.

    Args:
        rater: The rater.
        aspect: The rated aspect.
        aspects: Aspects that people rated.
    """
    name = rater if aspect in (*aspects, *WHOLE_REPLY) else f"{rater}:{aspect}"
    return name, aspect if aspect in aspects else None


def _ranks(ratings: "DataFrame", aspect: str, raters: tuple[str, ...], bootstrap: Bootstrap) -> "DataFrame":
    """Returns the NDCG of the order of replies by the unified score of each metric."""
    by_people = ratings[ratings["of_people"]]
    check_names("aspect of people's ranks", [aspect], by_people["aspect"].unique())
    judges = raters or [*ratings["rater"][~ratings["of_people"]].unique()]
    about = ratings.drop_duplicates("reply_id").set_index("reply_id")
    item = np.unique(about["item_id"].to_numpy(dtype=str), return_inverse=True)[1].reshape(-1)
    if not judges or len(np.unique(item)) == len(item):
        raise InputError(
            f"found {len(judges)} metrics and one reply to each item, expected ratings by models or metrics of several "
            "replies to an item: name items with --replies, and people with --human"
        )
    scores = []
    for judge in judges:
        own = ratings[ratings["rater"] == judge]
        scaled = own["aspect"][own["low"].notna()].unique()
        aspects = [*(scaled if len(scaled) else own["aspect"].unique())]
        if len(aspects) > 1 and not len(scaled):
            raise InputError(
                f"{judge} rated {', '.join(aspects)}, expected aspects with a scale, or one: add columns low and high"
            )
        _, _, is_better, values = series_of(ratings, judge, aspects, only=True)[0]
        scores.append(values.reindex(about.index).to_numpy() * (1 if is_better else -1))
    ranked = by_people[by_people["aspect"] == aspect].pivot(index="rater", columns="reply_id", values="value")
    people = ranked.reindex(columns=about.index)
    mean = people.loc[PEOPLE].to_numpy()
    return ranking_scores(judges, np.stack(scores), mean, item, people.drop(PEOPLE).to_numpy(), bootstrap)
