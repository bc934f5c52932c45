"""Leaderboards of systems by ratings of their replies."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from fcconan.services.configuration import option
from fcconan.services.options import Bootstrap, WideRowSelection
from fcconan.services.results import Result
from fcconan.services.row_tables import (
    SOURCES,
    Source,
    open_descriptions,
    open_rows,
    population,
    rated_replies,
    replies_argument,
)

if TYPE_CHECKING:
    from fcconan.scoring import RatedReplies


class LeaderboardOptions(WideRowSelection, Bootstrap):
    """Which ratings count, and which differences are tested."""

    rater: tuple[str, ...] = option(
        (), help="A rater, or people for the mean of all people; repeat it for several. Default: all."
    )
    aspect: tuple[str, ...] = option((), help="An aspect; repeat it for several. Default: all with a scale.")
    primary_aspect: str | None = option(
        None,
        help="Aspect of the primary tests; default: the unified score, or the first aspect of a rater.",
        rare=True,
        metavar="ASPECT",
        renamed=("--primary",),
    )
    baseline: str | None = option(
        None, help="Test all other systems against this system instead of all pairs.", metavar="SYSTEM"
    )
    human: tuple[str, ...] = option((), help="Rater of --wide-column who is a person; repeat it.", rare=True)


@dataclass(frozen=True, repr=False)
class LeaderboardResult(Result):
    """Mean ratings of systems by rater and aspect, with tests of their differences.

    Attributes:
        main_raters: The raters that were named; by default people, or the first rater.
    """

    main_raters: Sequence[str]
    signatures: ClassVar[tuple[str, ...]] = ("signature", "tests_signature")

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
        options: The configuration.
        replies: Rows that describe the rated replies; by default those of the same dataset, or columns of the ratings.

    Raises:
        InputError: A source cannot be read, or a rater, aspect or baseline is not in the ratings.

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
        compare_rated,
        leaderboard as rank_by_ratings,
        leaderboard_signature,
        left_out,
        sign_flip_signature,
        system_test_notes,
    )

    about = open_descriptions(replies, options)
    table = open_rows("ratings", ratings, options, people=options.human, replies=about)
    rated = rated_replies(table, about)
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
    notes = _notes(rated, {} if aspects else left_out(rated, found))  # who chose aspects knows which are left out
    notes += system_test_notes(tests, families)
    if tests and not rated.knows_items:
        notes.append("Not all rows say the items of the replies, by which systems are compared: --replies names them.")
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
    first = [row.rater for row in found[:1] if row.rater_kind != "metric"]
    return LeaderboardResult(result, options.rater or first or [row.rater for row in found])


def _notes(rated: "RatedReplies", left_out: dict[str, list[str]]) -> list[str]:
    """Returns sentences about ratings that do not count.

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
    return notes
