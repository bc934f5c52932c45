"""Rankings of systems: leaderboards by ratings, tournaments by comparisons."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from fcconan.errors import InputError
from fcconan.services.configuration import option
from fcconan.services.options import Baseline, Bootstrap, WideRowSelection
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
    from fcconan.scoring import Ratings


class LeaderboardOptions(WideRowSelection, Baseline, Bootstrap):
    """Options of `leaderboard`: raters, aspects, tests of differences, and the bootstrap."""

    rater: tuple[str, ...] = option(
        (), help="Raters whose ratings count, or people for the mean of all people; default: all."
    )
    aspect: tuple[str, ...] = option((), help="Aspects to show; default: all with a scale.")
    primary_aspect: str | None = option(
        None,
        help="Aspect of the primary tests; default: the unified score, or the first aspect of a rater.",
        rare=True,
        metavar="ASPECT",
    )
    human: tuple[str, ...] = option((), help="Raters of --wide-column who are people.", rare=True)
    predicted_by: str | None = option(
        None,
        help="Rater of all replies, where people rated few: add estimates by prediction-powered inference.",
        metavar="RATER",
    )
    separate: float | None = option(
        None, help="Difference of two systems to plan ratings for, in points; needs --predicted-by.", gt=0
    )


@dataclass(frozen=True, repr=False)
class LeaderboardResult(Result):
    """Mean ratings of systems by rater and aspect, with tests of their differences.

    Attributes:
        main_raters: The raters that were named; by default people, or the first rater.
    """

    main_raters: Sequence[str]

    @property
    def further_raters(self) -> list[str]:
        """All other raters."""
        found = dict.fromkeys(row["rater"] for row in self.rows())
        return [name for name in found if name not in self.main_raters]


def leaderboard(
    ratings: Annotated[Source, SOURCES],
    options: LeaderboardOptions = LeaderboardOptions(),
    *,
    replies: Annotated[Source | None, replies_argument("Rated replies, which give items and systems.")] = None,
) -> LeaderboardResult:
    """Ranks systems by the ratings of their replies, aspect by aspect and by one score of all, and tests differences.

    Args:
        ratings: Rows of ratings: files, folders, names, data frames, datasets or mappings.
        options: The options.
        replies: Rows of the rated replies; by default those of the same dataset, or columns of the ratings.

    Returns:
        The mean ratings. The main table has one row for each rater, aspect and system, best system first, with
        `value`, the interval `low` and `high`, and the number of ratings `n`. `data["comparisons"]` has the tests of
        differences.

    Raises:
        InputError: A source cannot be read; a rater, aspect or baseline is not in the ratings; or a learned rater in
            `predicted_by` rated its own training replies.

    Examples:
        >>> rated = [
        ...     {"reply_id": f"{system}{n}", "item_id": f"hs{n}", "system": system, "rater": "anna", "aspect": "tone",
        ...      "value": grade, "low": 1, "high": 5}
        ...     for n in range(2) for system, grade in (("A", 4), ("B", 2 + n))
        ... ]
        >>> leaderboard(rated, LeaderboardOptions(resamples=0)).to_frame()[["system", "value"]].values.tolist()
        [['A', 4.0], ['B', 2.5]]
    """
    from fcconan.scoring import (
        DRAWS,
        aspects_without_scale,
        compare_rated,
        leaderboard as rank_by_ratings,
        leaderboard_signature,
        powered_notes,
        powered_rows,
        powered_signature,
        separate_notes,
        sign_flip_signature,
        system_test_notes,
    )

    if options.separate is not None and options.predicted_by is None:
        raise InputError("--separate plans ratings with a judge: give --predicted-by RATER, or leave --separate out")
    about = open_descriptions(replies, options)
    table = open_rows("ratings", ratings, options, people=options.human, replies=about)
    rated = rated_replies(table, about, cross_fitted=options.predicted_by is not None)
    aspects, raters = options.aspect or None, options.rater or None
    found = rank_by_ratings(rated, aspects=aspects, raters=raters, **options.bootstrap)
    tests, families = compare_rated(
        rated,
        aspects=aspects,
        raters=raters,
        primary=options.primary_aspect,
        baseline=options.baseline,
        **options.bootstrap,
    )
    notes = _notes(rated, {} if aspects else aspects_without_scale(rated, found))
    notes += separate_notes(rated, aspects=aspects, raters=raters)
    notes += system_test_notes(tests, families)
    if tests and not rated.knows_items:
        notes.append("Some rows have no item, and systems are compared by item: give the items with --replies.")
    signature = leaderboard_signature(
        rated,
        population=population(about, table),
        aspects=list(dict.fromkeys(aspects or rated.scaled_aspects())),
        raters=raters,
        **options.bootstrap,
    )
    tests_signature = sign_flip_signature(
        signature,
        families,
        by=f"primary-{options.primary_aspect or 'default'}-and-exploratory-by-rater",
        draws=options.resamples or DRAWS,
        baseline=options.baseline,
    )
    result: dict[str, Any] = {
        "signature": signature,
        "notes": notes,
        "rows": [asdict(row) for row in found],
        "comparisons": [asdict(row) for row in tests],
        "families": [family.to_json() for family in families],
        "tests_signature": tests_signature,
    }
    if (judge := options.predicted_by) is not None:
        weighted = rated.probabilities is not None
        powered = powered_rows(
            rated,
            judge,
            aspects=aspects,
            baseline=options.baseline,
            confidence=options.confidence,
            separate=options.separate,
        )
        result["prediction_powered"] = {
            "predicted_by": judge,
            "confidence": options.confidence,
            "weighted": weighted,
            "separate": options.separate,
            "signature": powered_signature(signature, judge, baseline=options.baseline, weighted=weighted),
            "rows": [row.to_json() for row in powered],
        }
        notes += powered_notes(rated, judge, powered)
    first = [row.rater for row in found[:1] if row.rater_kind != "metric"]
    return LeaderboardResult(result, options.rater or first or [row.rater for row in found])


def _notes(rated: "Ratings", left_out: dict[str, list[str]]) -> list[str]:
    """Returns sentences about ratings that do not count, and about weights.

    Args:
        rated: All ratings.
        left_out: Rater -> aspects that the leaderboard leaves out.
    """
    from fcconan.scoring import HUMAN, UNKNOWN

    people = "people" if rated.raters((HUMAN,)) else "the raters"
    notes = [
        f"{name} also rated {', '.join(aspects)}, which {people} did not rate on a scale: --aspect shows it."
        for name, aspects in left_out.items()
    ]
    if unknown := rated.systems.count(UNKNOWN):
        notes.append(f"Replies of no known system: {unknown} of {len(rated.systems)}, left out.")
    if rated.probabilities is not None:
        notes.append(
            "The ratings have a selection_probability: the estimates of --predicted-by are weighted by it; the plain "
            "means and their tests are not."
        )
    return notes


class RankOptions(WideRowSelection, Baseline, Bootstrap):
    """Options of `rank`: raters, further analyses, and the bootstrap."""

    rater: tuple[str, ...] = option((), help="Raters whose verdicts count; default: all.")
    majority: bool = option(False, help="Use one verdict for each pair of replies: that of more than half the raters.")
    between_raters: Literal["share", "bradley_terry"] | None = option(
        None, help="Score of systems that is correlated between raters.", rare=True
    )
    regularisation: float = option(0.01, help="Precision of the prior of the strengths.", rare=True, gt=0)


class RankResult(Result):
    """A ranking of systems, best first, with tests of their differences."""

    table: ClassVar[str] = "systems"


def rank(
    comparisons: Annotated[Source, SOURCES],
    options: RankOptions = RankOptions(),
) -> RankResult:
    """Ranks systems by verdicts on pairs of their replies, and tests their differences.

    Args:
        comparisons: Rows of comparisons: files, folders, names, data frames, datasets or mappings.
        options: The options.

    Returns:
        The ranking. The main table has one row for each system, best first, with the columns `name`, `points`,
        `share` (percent of points) with `share_low` and `share_high`, `bradley_terry` (strength in log odds) with
        `low` and `high`, `wins`, `losses` and `ties`. `data["comparisons"]` has the tests of differences.

    Raises:
        InputError: A source cannot be read, no verdict is readable, or options do not fit together.

    Examples:
        >>> won = [{"item_id": f"hs{n}", "system_a": "A", "system_b": "B", "verdict": "a"} for n in range(3)]
        >>> result = rank(won, RankOptions(resamples=0))
        >>> result.to_frame()[["name", "points", "wins"]].values.tolist()
        [['A', 3.0, 3], ['B', 0.0, 0]]
    """
    from fcconan.scoring import compare_raters, disagreement, rank_systems, read_verdicts

    if options.majority:
        options.refuse("between_raters", why="it compares raters, and --majority makes one of them")
    table = open_rows("comparisons", comparisons, options, raters=options.rater)
    verdicts = read_verdicts(table)
    if options.between_raters is not None and len(verdicts.raters) < 2:
        raise InputError(f"there is one rater, {verdicts.raters[0]}: leave --between-raters out")
    result = rank_systems(
        verdicts,
        population=table.population + (";majority" if options.majority else ""),
        majority=options.majority,
        baseline=options.baseline,
        regularisation=options.regularisation,
        **options.bootstrap,
    )
    result["disagreement"] = disagreement(verdicts)
    if options.between_raters is not None:
        result["between_raters"] = compare_raters(
            verdicts, score=options.between_raters, regularisation=options.regularisation, **options.bootstrap
        )
    return RankResult(result)
