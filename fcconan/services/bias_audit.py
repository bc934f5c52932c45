"""Audits of judges: their biases, from their ratings and comparisons."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fcconan.data import Table, cell_text, file_sha256, open_table, typed_row
from fcconan.errors import InputError
from fcconan.services.configuration import option
from fcconan.services.locations import dataset_folder
from fcconan.services.options import BOOTSTRAP, MOST_RESAMPLES, Bootstrap, PartSelection
from fcconan.services.results import Result
from fcconan.services.rows import Source, listed, names_of, rows_argument, wanted


class AuditOptions(PartSelection, Bootstrap):
    """Options of `audit`: a selection of rows, and the bootstrap."""

    resamples: int = option(
        10_000, help="Resamples of the bootstrap over HS.", group=BOOTSTRAP, ge=100, le=MOST_RESAMPLES
    )
    self_judge: dict[str, str] = option(
        {},
        help="Judge that uses the same model as a judged system.",
        metavar="RATER=SYSTEM",
    )


@dataclass(frozen=True, repr=False)
class AuditResult(Result):
    """Findings about judges; the main table has a row for each judge and check.

    Attributes:
        confidence: Confidence level of the intervals.
    """

    confidence: float


def audit(
    ratings: Annotated[Source | None, rows_argument("--ratings", "Ratings to audit.", many=True)] = None,
    options: AuditOptions = AuditOptions(),
    *,
    comparisons: Annotated[Source | None, rows_argument("--comparisons", "Comparisons to audit.", many=True)] = None,
    replies: Annotated[Source | None, rows_argument("--replies", "Replies that were judged.")] = None,
) -> AuditResult:
    """Looks for biases of judges: length, position, refusals, own replies, compression of the scale, failures.

    Args:
        ratings: Rows of ratings: files, folders, names, data frames, datasets or mappings.
        options: The options.
        comparisons: Rows of comparisons.
        replies: Rows of the judged replies, with their texts and systems.

    Returns:
        The findings. The main table has one row for each judge, check and aspect, with `value`, the interval `low` and
        `high`, the value of an unbiased judge (`baseline`), the number of judgements `n`, and for a missing value the
        `reason`.

    Raises:
        InputError: There is nothing to audit, or a source cannot be read.

    Examples:
        >>> rows = [{"reply_id": str(n), "rater": "m", "aspect": "tone", "value": 3, "low": 1, "high": 5}
        ...         for n in range(4)]
        >>> found = audit(rows, AuditOptions(resamples=100)).to_frame().set_index("check")
        >>> float(found.loc["modal_share", "value"])
        1.0
    """
    from fcconan.data import RATED
    from fcconan.judging import COMPARISON_COLUMNS, audit_judge

    if not _is_given(ratings) and not _is_given(comparisons):
        raise InputError("nothing to audit: give --ratings FILE or --comparisons FILE")
    rated, compared = _table("ratings", ratings, options), _table("comparisons", comparisons, options)
    judged = None
    if replies is not None:
        judged = open_table(
            "replies",
            listed(replies),
            split=options.split,
            part=options.subset,
            rename=options.rename,
            companions=[table for table in (rated, compared) if table is not None],
            locate=dataset_folder,
        )
    if judged is not None:  # a column that an option names may be in any of the files
        for table in filter(None, (rated, compared)):
            table.companions = [judged]
    found = audit_judge(
        replies=None if judged is None else list(judged),
        ratings=_rows(rated, RATED.kinds, options),
        comparisons=_rows(compared, COMPARISON_COLUMNS, options),
        own=options.self_judge or None,
        population=_population(options, rated, compared, judged),
        **options.bootstrap,
    )
    if not found["rows"]:
        given = ", ".join(names_of(each) for each in (ratings, comparisons) if _is_given(each) and each is not None)
        raise InputError(f"{given}: no rows, nothing to audit; give files that `fcconan judge` wrote")
    return AuditResult(found, options.confidence)


def _is_given(sources: Source | None) -> bool:
    return sources is not None and not (isinstance(sources, list | tuple) and not sources)


def _table(kind: str, sources: Source | None, options: AuditOptions) -> Table | None:
    """Opens files, parts of dataset folders, and rows in memory; None where none are given."""
    if sources is None or not _is_given(sources):
        return None
    places = [dataset_folder(each) if isinstance(each, str | Path) else each for each in listed(sources)]
    has_splits = any(not isinstance(place, Path) or place.is_dir() for place in places)
    return open_table(kind, places, split=options.split if has_splits else None, rename=options.rename)


def _rows(table: Table | None, columns: dict[str, str], options: AuditOptions) -> list[Any] | None:
    """Returns the wanted rows with typed cells; a filter may leave ratings only, or comparisons only."""
    if table is None:
        return None
    filters = wanted(options).items()
    wanted_rows = (row for row in table if all(cell_text(row.get(name)) in each for name, each in filters))
    return [typed_row(row, columns, row.place) for row in wanted_rows]


def _population(options: AuditOptions, *tables: Table | None) -> str:
    """Returns the files that are read, each with 12 digits of its sha256; of rows in memory, their digest."""
    given = [table for table in tables if table is not None]
    named = [f"{file.name}-{file_sha256(file)[:12]}" for table in given for file in table.files]
    named += [name for table in given if not table.files for name in table.names]
    chosen = sorted(f"{name}={'/'.join(sorted(each))}" for name, each in wanted(options).items())
    return "+".join([*named, *([f"({','.join(chosen)})"] if chosen else [])])
