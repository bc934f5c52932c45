"""Agreement of raters on ratings, comparisons or votes."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fcconan.data import Table, detect_kind, open_table
from fcconan.errors import InputError
from fcconan.services.configuration import option
from fcconan.services.locations import dataset_folder
from fcconan.services.options import Bootstrap, WideRowSelection
from fcconan.services.results import Result
from fcconan.services.rows import (
    SOURCES,
    Source,
    listed,
    open_descriptions,
    open_rows,
    population,
    rated_replies,
    replies_argument,
)

if TYPE_CHECKING:
    from fcconan.scoring import Ratings, ReliabilityData

# Notes on tables without known items, where the bootstrap resamples single units.
UNKNOWN_ITEMS = {
    "reply": "The items of the replies are not known, so the bootstrap resamples single replies: intervals are too "
    "narrow if items have several replies. {cure}",
    "pair": "The ids of the pairs do not have the form HS:CN, so the bootstrap resamples single pairs: intervals are "
    "too narrow if messages have several pairs.",
}


class AgreeOptions(WideRowSelection, Bootstrap):
    """Options of `agree`: raters, aspects, coefficients, and the bootstrap."""

    aspect: tuple[str, ...] = option((), help="Aspects to compare; default: all.")
    rater: tuple[str, ...] = option((), help="Raters to compare; default: all people, or all raters if none is human.")
    coefficient: tuple[
        Literal[
            "raw",
            "cohen",
            "cohen_linear",
            "cohen_quadratic",
            "fleiss",
            "krippendorff_nominal",
            "krippendorff_ordinal",
            "krippendorff_interval",
        ],
        ...,
    ] = option((), help="Coefficients of agreement (docs/scores.md); default: all that fit the values.")
    scale: str | None = option(
        None, help="Scale of whole grades where rows have none, such as 1,5.", rare=True, metavar="LOW,HIGH"
    )
    kind: Literal["ratings", "comparisons", "votes"] | None = option(
        None, help="Kind of rows; default: the kind that the sources hold.", rare=True
    )
    pair_intervals: bool | None = option(
        None, help="Compute intervals for each pair of raters; default: for up to 10 raters.", rare=True
    )


class AgreeResult(Result):
    """Agreement of all raters and of each pair of raters. The main table has one row per aspect and coefficient."""

    @property
    def signature(self) -> str:
        """The signatures of all aspects, separated by spaces."""
        return " ".join(self.signature_lines())

    def signature_lines(self) -> list[str]:
        """Returns the distinct signatures of the aspects."""
        return list(dict.fromkeys(self.data["signature"].values()))


def agree(
    sources: Annotated[Source, SOURCES],
    options: AgreeOptions = AgreeOptions(),
    *,
    replies: Annotated[Source | None, replies_argument("Rated replies, with their items.", rare=True)] = None,
) -> AgreeResult:
    """Measures the agreement of raters: on ratings, on verdicts between replies, or on labels of pairs.

    Args:
        sources: Rows of ratings, comparisons or votes: files, folders, names, data frames, datasets or mappings.
        options: The options.
        replies: Rows of the rated replies; by default those of the same dataset, or columns of the ratings.

    Returns:
        The coefficients. The main table has one row for each aspect, coefficient and group of raters (`level` is
        `overall` or `pair`), with `value`, the interval `low` and `high`, the number of ratings `n`, their items
        `n_items` (None where these are unknown), and for a missing value the `reason`.

    Raises:
        InputError: A source cannot be read, there are fewer than two raters, or a coefficient does not fit the values.

    Examples:
        >>> votes = [
        ...     {"pair_id": f"hs{n}:cn{n}", "rater": rater, "label": label}
        ...     for rater, labels in {"anna": "yyyn", "ben": "yynn"}.items()
        ...     for n, label in enumerate({"y": "appropriate", "n": "not_appropriate"}[each] for each in labels)
        ... ]
        >>> found = agree(votes, AgreeOptions(resamples=0, coefficient=("raw",))).to_frame()
        >>> found[["level", "value", "n"]].values.tolist()
        [['overall', 0.75, 4], ['pair', 0.75, 4]]
    """
    from fcconan.scoring import agreement_signature, has_pair_intervals, measure_agreement, read_reliability_data

    sources = listed(sources)
    about = open_descriptions(replies, options)
    kind = options.kind or _kind(sources, options)
    opened = open_rows(kind, sources, options, replies=about)
    tables = read_reliability_data(
        kind,
        _judgements(opened, about),
        aspects=options.aspect or None,
        raters=options.rater or None,
        scale=None if options.scale is None else _scale(options.scale),
    )
    chosen = [f"raters={','.join(options.rater)}"] if options.rater else []
    data = "+".join([population(about, opened), *chosen])
    rows: list[dict[str, Any]] = []
    signatures = {}
    notes: dict[str, None] = {}
    for table in tables:
        by_pair = has_pair_intervals(len(table.raters), options.pair_intervals)
        measured = measure_agreement(
            table.values,
            table.domain,
            items=table.items,
            pair_intervals=by_pair,
            coefficients=_coefficients(options.coefficient, table),
            raters=table.raters,
            aspect=table.aspect,
            **options.bootstrap,
        )
        rows += measured if table.items is not None else [row | {"n_items": None} for row in measured]
        has_intervals = by_pair or len(table.raters) < 3  # two raters are all raters
        signatures[table.aspect or kind] = agreement_signature(
            table.domain,
            population=data,
            unit=table.unit,
            pair_intervals=has_intervals,
            scale_known=table.scale_known,
            **options.bootstrap,
        )
        found = _notes(table, about, resampled=options.resamples > 0, has_intervals=has_intervals)
        notes |= dict.fromkeys(found)
    return AgreeResult({"signature": signatures, "rows": rows, "notes": [*notes]})


def _kind(sources: list[Any], options: AgreeOptions) -> str:
    """Returns the kind of rows that the sources hold."""
    if tables := [each for each in sources if isinstance(each, Table)]:
        return tables[0].kind
    paths = [dataset_folder(each) for each in sources if isinstance(each, str | Path)]
    memory = [each for each in sources if not isinstance(each, str | PathLike)]
    columns = {name for each in memory for name in next(iter(open_table("rows", [each], split=options.split)))}
    return detect_kind(
        paths, columns=columns, split=options.split, rename=options.rename, wide=bool(options.wide_column)
    )


def _judgements(rows: Table, replies: Table | None) -> "Table | Ratings":
    if rows.kind == "ratings":
        return rated_replies(rows, replies)
    if replies is not None:
        raise InputError(f"{rows.kind} have items of their own: leave --replies out")
    return rows


def _coefficients(chosen: Sequence[str], table: "ReliabilityData") -> list[str]:
    """Returns the coefficients to compute."""
    found = list(dict.fromkeys(chosen or table.coefficients))
    for name in found:
        if not table.ordered and name.endswith(("linear", "quadratic", "ordinal", "interval")):
            raise InputError(
                f"{name} needs ordered values, and these values have no order: choose from "
                f"{', '.join(table.coefficients)}"
            )
    return found


def _scale(given: str) -> tuple[int, int]:
    low, comma, high = given.partition(",")
    try:
        ends = int(low), int(high)
    except ValueError:
        ends = (0, 0)
    if not comma or ends[0] >= ends[1]:
        raise InputError(f"--scale is {given!r}: give LOW,HIGH in whole grades, such as 1,5")
    return ends


def _notes(table: "ReliabilityData", replies: Table | None, *, resampled: bool, has_intervals: bool) -> list[str]:
    """Returns sentences about omitted raters, scales and intervals."""
    notes = []
    if table.left_out:
        notes.append(f"Only people are compared, not {_few(table.left_out)}: --rater selects raters.")
    if not table.scale_known:
        grades = _few([f"{grade:g}" for grade in table.domain])
        notes.append(
            f"{table.aspect}: the rows have no scale of whole grades, so the grades that occur ({grades}) are used as "
            "the scale; --scale sets one."
        )
    if resampled and table.unit in UNKNOWN_ITEMS:
        notes.append(UNKNOWN_ITEMS[table.unit].format(cure=_cure(replies)))
    if resampled and not has_intervals:
        notes.append(f"{len(table.raters)} raters: pairs have no intervals; --pair-intervals computes them.")
    return notes


def _cure(replies: Table | None) -> str:
    """Returns advice for replies of unknown items."""
    if replies is None:
        return "Give --replies, or a column item_id."
    files, columns = ", ".join(file.name for file in replies.files), next(iter(replies))
    if "item_id" in columns:
        return f"Some rows of {files or 'the replies'} have no item_id."
    return f"{files or 'The given replies'} has no column item_id and no column hate_speech: add one of them."


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:7], *(["..."] if len(names) > 7 else [])])
