"""Reliability data: ratings of the same units by several raters, the input of `fcconan.scoring.agreement`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.data import VOTE_LABELS, optional_id, required_id
from fcconan.errors import InputError
from fcconan.scoring.agreement import AGREEMENT_COEFFICIENTS, LARGEST_DOMAIN
from fcconan.scoring.arrays import Floats, Row
from fcconan.scoring.comparisons import CODES, NO_RATER, pair_items, read_verdicts, verdict_table
from fcconan.scoring.names import check_names
from fcconan.scoring.ratings import HUMAN, Ratings
from fcconan.scoring.reply_metadata import row_place

LARGEST_SCALE = 1_000_000  # all whole numbers of a scale are held in memory
NOMINAL_COEFFICIENTS: tuple[str, ...] = ("raw", "cohen", "fleiss", "krippendorff_nominal")


@dataclass(frozen=True)
class ReliabilityData:
    """Reliability data of one aspect.

    Attributes:
        aspect: The aspect; None for verdicts and labels.
        raters: Names of the raters.
        values: Ratings, shape (raters, units); nan is missing.
        domain: All values of the scale.
        coefficients: Coefficients that fit the scale.
        ordered: Whether the scale has an order, which weighted coefficients need.
        items: Item of each unit; None if unknown, so that each unit is an item of its own.
        unit: Unit of the bootstrap: `item`, or `reply` or `pair` if items are unknown.
        scale_known: Whether the domain is that of a known scale; otherwise it has the values that occur.
        left_out: Names of models that are left out, because by default only people are compared.
    """

    aspect: str | None
    raters: list[str]
    values: Floats
    domain: list[float]
    coefficients: tuple[str, ...]
    ordered: bool = True
    items: list[str] | None = None
    unit: str = "item"
    scale_known: bool = True
    left_out: tuple[str, ...] = ()


def read_reliability_data(
    kind: str,
    rows: Iterable[Row] | Ratings,
    *,
    aspects: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    scale: tuple[int, int] | None = None,
) -> list[ReliabilityData]:
    """Reads reliability data.

    Args:
        kind: `ratings`, `comparisons` or `votes`.
        rows: Rows of that kind. The item of a rated reply is that of the metadata, if all replies have one. The item of
            a labelled pair with an id `<HS id>:<CN id>` is its HS message.
        aspects: Aspects of ratings; None for all.
        raters: Names of raters. None for all people; with fewer than two people, for people and models; with fewer
            than two of these, for all raters.
        scale: Lowest and highest whole grade of ratings whose rows have no scale.

    Returns:
        Reliability data of each aspect; of verdicts and labels, a list of one.

    Raises:
        InputError: The rows are invalid, or there are no rows of these raters and aspects; or grades are outside the
            scale, or are too many different values.
    """
    if isinstance(rows, Ratings):
        return _ratings(rows, aspects, raters, scale)
    rows = list(rows)
    if kind == "ratings":
        return _ratings(Ratings(rows), aspects, raters, scale)
    if aspects:
        raise InputError(f"{kind} have no aspects: leave --aspect out")
    if scale is not None:
        raise InputError(f"{kind} have no grades: leave --scale out")
    models: dict[str, None] = {}
    whose = [
        optional_id(row, "rater", row_place(row, kind.removesuffix("s"), number)) or NO_RATER
        for number, row in enumerate(rows, start=1)
    ]
    if raters is None:
        people = dict.fromkeys(name for name, row in zip(whose, rows, strict=True) if row.get("rater_kind") == HUMAN)
        if len(people) > 1:
            raters = list(people)
            models = dict.fromkeys(name for name in whose if name not in people)
    chosen = rows if raters is None else _select_raters(rows, whose, raters)
    if kind == "comparisons":
        verdicts = read_verdicts(chosen)
        names, values = verdict_table(verdicts)
        domain = [*map(float, range(len(CODES)))]
        table = ReliabilityData(
            None, names, values, domain, NOMINAL_COEFFICIENTS, ordered=False, items=pair_items(verdicts)
        )
    else:
        table = _labels(chosen)
    return [replace(table, left_out=(*models,))]


def _select_raters(rows: Sequence[Row], whose: Sequence[str], raters: Sequence[str]) -> list[Row]:
    check_names("rater", raters, dict.fromkeys(whose))
    return [row for name, row in zip(whose, rows, strict=True) if name in raters]


def _ratings(
    rated: Ratings, aspects: Sequence[str] | None, raters: Sequence[str] | None, scale: tuple[int, int] | None
) -> list[ReliabilityData]:
    several = (names for kinds in ((HUMAN,), (HUMAN, "model")) if len(names := rated.raters(kinds)) > 1)
    names = list(check_names("rater", next(several, rated.raters()) if raters is None else raters, rated.raters()))
    found = rated.aspects(names=names)
    check_names(f"aspect of {', '.join(names)}", aspects or (), found)
    models = [name for name in rated.raters(("model",)) if raters is None and name not in names]
    tables = []
    items, unit = (rated.items, "item") if rated.knows_items else (None, "reply")
    for aspect in aspects or found:
        who, values = rated.people(aspect, names)
        domain, known = _find_domain(values, scale or rated.scale(aspect, who), aspect)
        left_out = tuple(name for name in models if aspect in rated.aspects(names=[name]))
        table = ReliabilityData(aspect, who, values, domain, AGREEMENT_COEFFICIENTS, items=items, unit=unit)
        tables.append(replace(table, scale_known=known, left_out=left_out))
    return tables


def _find_domain(values: Floats, scale: tuple[float, float] | None, aspect: str) -> tuple[list[float], bool]:
    """Returns the grades, and whether they are those of a scale: its whole grades if all values are whole numbers."""
    given = np.unique(values[np.isfinite(values)])
    if scale is not None and len(outside := given[(given < scale[0]) | (given > scale[1])]):
        raise InputError(
            f"{aspect} was rated {outside[0]:g}, expected {scale[0]:g} to {scale[1]:g}: give its own --scale, or "
            "correct the ratings"
        )
    if scale is not None and (given == np.round(given)).all() and scale[0] == round(scale[0]):
        if scale[1] - scale[0] >= LARGEST_SCALE:
            raise InputError(
                f"{aspect} has a scale from {scale[0]:g} to {scale[1]:g}, expected fewer than {LARGEST_SCALE} grades: "
                "correct the columns low and high, or give --scale"
            )
        return [float(grade) for grade in range(int(scale[0]), int(scale[1]) + 1)], True
    if len(given) > LARGEST_DOMAIN:
        raise InputError(
            f"{aspect} has {len(given)} different values, expected the grades of one person each, at most "
            f"{LARGEST_DOMAIN}: means of several people do not agree or disagree"
        )
    return [float(value) for value in given] or [0.0], False


def _labels(rows: Iterable[Row]) -> ReliabilityData:
    given: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows, start=1):
        place = row_place(row, "vote", number)
        pair, rater, label = (required_id(row, column, place) for column in ("pair_id", "rater", "label"))
        if given.setdefault((rater, pair), label) != label:
            raise InputError(
                f"{place}: {rater} labelled the pair {pair} {given[rater, pair]} before, and now {label}; remove one "
                "of them"
            )
    if not given:
        raise InputError("there are no votes: give rows with pair_id, rater and label")
    names = sorted({rater for rater, _ in given})
    pairs = {pair: place for place, pair in enumerate(dict.fromkeys(pair for _, pair in given))}
    known = set(given.values())
    ordered = known <= set(VOTE_LABELS)
    order = list(VOTE_LABELS) if ordered else sorted(known)
    values = np.full((len(names), len(pairs)), np.nan)
    for (rater, pair), label in given.items():
        values[names.index(rater), pairs[pair]] = order.index(label)
    parts = [pair.split(":") for pair in pairs]
    known_items = all(len(each) == 2 and all(each) for each in parts)
    items, unit = ([message for message, _ in parts], "item") if known_items else (None, "pair")
    domain = [*map(float, range(len(order)))]
    return ReliabilityData(None, names, values, domain, NOMINAL_COEFFICIENTS, ordered=ordered, items=items, unit=unit)
