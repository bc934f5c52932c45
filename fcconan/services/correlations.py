"""Correlations of models and metrics with people's ratings or ranks."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

from fcconan.data import Table
from fcconan.errors import InputError
from fcconan.scoring import ScoreTable
from fcconan.services.configuration import option
from fcconan.services.correlation_notes import (
    check_shared_replies,
    is_known,
    notes_of_datasets,
    notes_on_metadata,
    notes_on_pairs,
)
from fcconan.services.options import Bootstrap, WideRowSelection
from fcconan.services.results import Result
from fcconan.services.rows import (
    SOURCES,
    Source,
    open_descriptions,
    open_rows,
    population,
    rated_replies,
    replies_argument,
)

if TYPE_CHECKING:
    from fcconan.scoring import Correlation, Ratings


def score_rankings(
    rated: "Ratings",
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

    from fcconan.scoring import HUMAN, PAPER, SOUND, means, ranking_scores, ranking_signature, single_score

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
    scores = np.stack([single_score(rated, name) for name in judges])
    notes = check_shared_replies(rated, humans, judges, [aspect])
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
    notes.append(
        "Protocol sound: the best reply has the highest gain. Protocol paper: the rank is the gain, as in Table 2 of "
        "CSEval, so that a judge who orders everything wrongly scores 1."
    )
    if len(counts := sorted({row["n_groups"] for row in rows})) > 1:
        common = max(row["n_groups_common"] for row in rows)
        notes.append(
            f"Judges score all replies of {counts[0]} to {counts[-1]} items: compare them on their {common} common "
            "items, by which the rows are sorted."
        )
    signature = ranking_signature(population=population, raters=humans, aspect=aspect, **bootstrap)
    return {"signature": signature, "notes": notes, "rows": [], "ndcg": rows}


SWAPS = 10_000  # of permutation tests where there is no bootstrap


class CorrelateOptions(WideRowSelection, Bootstrap):
    """Options of `correlate`: raters, aspects, levels, coefficients and tests."""

    human: tuple[str, ...] = option((), help="Raters who represent people; default: all people.")
    rater: tuple[str, ...] = option((), help="Models and metrics to correlate with people; default: all.")
    aspect: tuple[str, ...] = option((), help="Aspects to correlate; default: all that people rated.")
    level: tuple[Literal["pooled", "per_item", "per_system", "system_means"], ...] = option(
        (), help="Levels of correlation (docs/scores.md); default: all."
    )
    coefficient: tuple[
        Literal["pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy", "pairwise_accuracy_calibrated"],
        ...,
    ] = option((), help="Coefficients of correlation; default: pearson, spearman and kendall_b.")
    tests: Literal["reply", "item"] | None = option(
        None, help="Permutation test of differences between raters, by reply or item."
    )
    ranks: str | None = option(
        None,
        help="Compute NDCG against people's ranks in this aspect instead of correlations.",
        rare=True,
        metavar="ASPECT",
    )
    stability: bool = option(False, help="Add the variation of coefficients over random samples.", rare=True)


class CorrelateResult(Result):
    """Coefficients of each rater by aspect and level; with `ranks`, the NDCG of each rater."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """Returns the correlations, or the values of NDCG."""
        rows: Sequence[dict[str, Any]] = self.data.get("ndcg", self.data["rows"])
        return rows


@overload
def correlate(
    ratings: ScoreTable,
    *,
    levels: Sequence[str] = ...,
    coefficients: Sequence[str] = ...,
    resamples: int = ...,
    seed: int = ...,
    confidence: float = ...,
) -> "list[Correlation]": ...


@overload
def correlate(ratings: Source, options: CorrelateOptions = ..., *, replies: Source | None = ...) -> CorrelateResult: ...


def correlate(
    ratings: Annotated[ScoreTable | Source, SOURCES],
    options: CorrelateOptions = CorrelateOptions(),
    *,
    replies: Annotated[
        Source | None, replies_argument("Rated replies, which give items and systems.", rare=True)
    ] = None,
    **arguments: Any,
) -> "CorrelateResult | list[Correlation]":
    """Correlates models and metrics with people's ratings, pooled, per item and per system.

    Args:
        ratings: Rows of ratings: files, folders, names, data frames, datasets or mappings. A `ScoreTable` is
            correlated by `fcconan.scoring.correlate`, whose list of rows is returned.
        options: The options.
        replies: Rows that describe the rated replies; by default those of the same dataset, or columns of the ratings.
        arguments: Keyword arguments of `fcconan.scoring.correlate` (`levels`, `coefficients`, `resamples`, `seed` and
            `confidence`), for a `ScoreTable` only.

    Returns:
        The correlations. The main table has one row for each `metric` (model or metric), `aspect`, `level` and
        `coefficient`, with `value`, the interval `low` and `high`, the value of random ratings (`chance`), that of one
        person (`ceiling`), the number of ratings `n`, and for a missing value the `reason`.

    Raises:
        InputError: A source cannot be read, people or other raters are missing, options do not fit together, or a
            learned rater rated replies that it learned from.
        TypeError: Keyword arguments are of the other form.

    Examples:
        >>> grades = {("anna", "human"): (1, 2, 4, 5), ("judge", "model"): (2, 1, 4, 5)}
        >>> rated = [
        ...     {"reply_id": f"r{n}", "rater": rater, "rater_kind": kind, "aspect": "tone", "value": value}
        ...     for (rater, kind), values in grades.items() for n, value in enumerate(values)
        ... ]
        >>> options = CorrelateOptions(level=("pooled",), coefficient=("spearman",), resamples=0)
        >>> correlate(rated, options).to_frame()[["metric", "aspect", "value"]].round(3).values.tolist()
        [['judge', 'tone', 0.8]]
    """
    from fcconan.scoring import CALIBRATED, DEFAULT_COEFFICIENTS, correlate as correlate_table

    if isinstance(ratings, ScoreTable):
        if replies is not None or options != CorrelateOptions():
            raise TypeError("a ScoreTable takes keyword arguments in place of options and replies")
        return correlate_table(ratings, **arguments)
    if arguments:
        raise TypeError(f"{', '.join(arguments)}: give CorrelateOptions; only a ScoreTable takes keyword arguments")
    levels = list(dict.fromkeys(options.level))
    coefficients = tuple(dict.fromkeys(options.coefficient or DEFAULT_COEFFICIENTS))
    if options.tests is not None and CALIBRATED in coefficients:
        raise InputError(f"--tests compares no {CALIBRATED}, whose thresholds differ: choose another --coefficient")
    about = open_descriptions(replies, options)
    read = open_rows("ratings", ratings, options, people=options.human, replies=about)
    rated = rated_replies(read, about, cross_fitted=True)
    data = population(about, read)
    if options.ranks is None:
        return CorrelateResult(_correlations(read, rated, options, levels, coefficients, data))
    others = ("aspect", "level", "coefficient", "tests", "stability")
    options.refuse(*others, why="--ranks goes with --human and --rater only")
    result = score_rankings(
        rated, options.ranks, people=options.human or None, raters=options.rater, population=data, **options.bootstrap
    )
    return CorrelateResult(result)


def _correlations(
    read: Table,
    rated: "Ratings",
    options: CorrelateOptions,
    levels: Sequence[str],
    coefficients: Sequence[str],
    data: str,
) -> dict[str, Any]:
    """Returns the result without ranks; no levels are all that the replies allow."""
    from fcconan.scoring import (
        HUMAN,
        LEVELS,
        correlate as correlate_table,
        correlation_signature,
        stability,
    )

    people = options.human or None
    table = rated.table(people=people, aspects=options.aspect or None, metrics=options.rater or None)
    humans = people or rated.raters((HUMAN,))
    others = [name for name in options.rater or rated.raters() if name not in humans]
    # A metric with several values is named `rater:aspect` in the table.
    judges = [name for name in others if any(each == name or each.startswith(f"{name}:") for each in table.metrics)]
    unshared = check_shared_replies(rated, humans, judges, table.aspects)
    levels = levels or [each for each in LEVELS if is_known(each, rated)]
    rows = correlate_table(table, levels=levels, coefficients=coefficients, **options.bootstrap)
    notes = [*notes_on_metadata(levels, rated), *unshared, *notes_on_pairs(rows), *notes_of_datasets(read, judges)]
    result: dict[str, Any] = {
        "signature": correlation_signature(table, population=data, **options.bootstrap),
        "notes": notes,
        "rows": [asdict(row) for row in rows],
        "missing": rated.missing_in(table, people),
    }
    if options.tests is not None:
        drawn = {"swaps": options.resamples or SWAPS, "seed": options.seed}
        tested, notes = _tests(options.tests, table, levels, coefficients, data, drawn)
        result |= tested
        result["notes"] += notes
    if options.stability:
        result["stability"] = [asdict(row) for row in stability(table, coefficients=coefficients)]
        if not any(row["n_trials"] for row in result["stability"]):
            result["notes"].append("There are fewer than 100 rows: too few for the samples of --stability.")
    return result


def _tests(
    tests: str, table: ScoreTable, levels: Sequence[str], coefficients: Sequence[str], data: str, drawn: dict[str, int]
) -> tuple[dict[str, Any], list[str]]:
    """Compares models and metrics, and returns the part of the result about this, and notes."""
    from fcconan.scoring import floor_notes, permutation_families, permutation_signature, permutation_tests

    found = permutation_tests(table, levels=levels, coefficients=coefficients, unit=tests, **drawn)
    families = permutation_families(found, swaps=drawn["swaps"])
    signature = permutation_signature(table, families, population=data, unit=tests, **drawn)
    if not found:
        raise InputError("--tests compares models and metrics, and there is one for each aspect: leave it out")
    tested = {
        "tests": [asdict(row) | {"family": row.family} for row in found],
        "families": [family.to_json() for family in families],
        "tests_signature": signature,
    }
    return tested, floor_notes(families, "--resamples")
