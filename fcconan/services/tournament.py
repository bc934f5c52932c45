"""Rankings of systems by comparisons of their replies."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from fcconan.data import Table
from fcconan.errors import InputError
from fcconan.services.configuration import option
from fcconan.services.options import Bootstrap, WideRowSelection
from fcconan.services.results import Result
from fcconan.services.row_tables import SOURCES, Source, open_descriptions, open_rows, population, replies_argument

LARGEST_PRECISION = 1e9


class RankOptions(WideRowSelection, Bootstrap):
    """Which verdicts count, and what is computed of them."""

    rater: tuple[str, ...] = option((), help="Use only the verdicts of this rater; repeat it for several.")
    majority: bool = option(False, help="Use one verdict for each pair of replies: that of more than half the raters.")
    baseline: str | None = option(
        None, help="Test all other systems against this system instead of all pairs.", metavar="SYSTEM"
    )
    between_raters: Literal["share", "bradley_terry"] | None = option(
        None, help="Score of systems that is correlated between raters.", rare=True
    )
    length_control: bool = option(
        False, help="Add strengths at equal length of replies; needs the texts of the replies.", rare=True
    )
    regularisation: float = option(
        0.01, help="Precision of the prior of the strengths.", rare=True, gt=0, le=LARGEST_PRECISION
    )


@dataclass(frozen=True, repr=False)
class RankResult(Result):
    """A ranking of systems, best first, with tests of their differences."""

    table: ClassVar[str] = "systems"
    signatures: ClassVar[tuple[str, ...]] = ("signature", "tests_signature")


def rank(
    comparisons: Annotated[Source, SOURCES],
    options: RankOptions = RankOptions(),
    *,
    replies: Annotated[Source | None, replies_argument("Replies with their texts, for --length-control.")] = None,
) -> RankResult:
    """Ranks systems by verdicts on pairs of their replies, and tests their differences.

    Args:
        comparisons: Rows of comparisons: files, folders, names, data frames, datasets or mappings.
        options: The configuration.
        replies: Rows of the compared replies, for `length_control`; by default those of the same dataset.

    Raises:
        InputError: A source cannot be read, no verdict is readable, or options do not fit together.

    Examples:
        >>> won = [{"item_id": f"hs{n}", "system_a": "A", "system_b": "B", "verdict": "a"} for n in range(3)]
        >>> result = rank(won, RankOptions(resamples=0))
        >>> result.to_frame()[["name", "points", "wins"]].values.tolist()
        [['A', 3.0, 3], ['B', 0.0, 0]]
    """
    from fcconan.scoring import compare_raters, disagreement, rank_systems, read_verdicts

    if replies is not None and not options.length_control:
        raise InputError("--replies is for --length-control: give both, or leave --replies out")
    if options.between_raters is not None and options.majority:
        raise InputError("--between-raters compares raters, and --majority makes one of them: leave one out")
    about = open_descriptions(replies, options)
    table = open_rows("comparisons", comparisons, options, raters=options.rater, replies=about)
    verdicts = read_verdicts(table)
    lengths = _lengths(about or table.replies()) if options.length_control else None
    if options.between_raters is not None and len(verdicts.raters) < 2:
        raise InputError(f"there is one rater, {verdicts.raters[0]}: leave --between-raters out")
    result = rank_systems(
        verdicts,
        population=population(table, about) + (";majority" if options.majority else ""),
        majority=options.majority,
        lengths=lengths,
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


def _lengths(replies: Table | None) -> dict[str, float]:
    """Returns the number of words of each reply."""
    rows = replies or ()
    known = {str(row["reply_id"]): float(len(row["text"].split())) for row in rows if isinstance(row.get("text"), str)}
    if not known:
        raise InputError("--length-control needs the texts of the replies: give a file or dataset with --replies")
    return known
