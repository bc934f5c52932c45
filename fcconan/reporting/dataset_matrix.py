"""The matrix of HS and CNs of an exhaustively paired dataset as a drawing: what is judged, and what is appropriate."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcconan.data import TIERS
from fcconan.reporting.dataset_figures import APPROPRIATE, tiers_of
from fcconan.reporting.dataset_folders import Source
from fcconan.reporting.elements import markup
from fcconan.reporting.tables import Table

if TYPE_CHECKING:
    from markupsafe import Markup

SIDE = 7  # of a cell, in units of the drawing
LARGEST = 40_000  # cells
EXHAUSTIVE = 0.2  # of all cells must be judged, or the drawing is empty


@dataclass(frozen=True)
class Matrix:
    """The matrix.

    Attributes:
        hs_ids: The HS, those with the most appropriate CNs first.
        cn_ids: The CNs, those that are appropriate most often first.
        drawing: The elements.
        table: The same by HS, for those who do not see it.
    """

    hs_ids: Sequence[str]
    cn_ids: Sequence[str]
    drawing: "Markup"
    table: Table


def matrix_of(sources: Sequence[Source]) -> Matrix | None:
    """Returns the matrix of the broadest tier; None where there are no tiers, or where few of its cells are judged."""
    tiers = tiers_of(sources)
    if not tiers:
        return None
    source = list(tiers.values())[-1]
    rows = list(zip(*(source.values(name) for name in ("hs_id", "cn_id", "label", "tier")), strict=True))
    good_hs = Counter(hs for hs, _, label, _ in rows if label == APPROPRIATE)
    good_cn = Counter(cn for _, cn, label, _ in rows if label == APPROPRIATE)
    hs_ids = sorted({hs for hs, *_ in rows}, key=lambda name: (-good_hs[name], name))
    cn_ids = sorted({cn for _, cn, *_ in rows}, key=lambda name: (-good_cn[name], name))
    cells = len(hs_ids) * len(cn_ids)
    if cells > LARGEST or len(rows) < EXHAUSTIVE * cells:
        return None
    line = {name: place for place, name in enumerate(hs_ids)}
    column = {name: place for place, name in enumerate(cn_ids)}
    paths: dict[tuple[str, bool], list[str]] = {}
    for hs, cn, label, tier in rows:
        # A line of no length with square caps is a square: the shortest way to draw one.
        x, y = SIDE * column[cn] + SIDE / 2, SIDE * line[hs] + SIDE / 2
        paths.setdefault((tier, label == APPROPRIATE), []).append(f"M{x:g} {y:g}h0")
    there = [tier for tier in TIERS if any(tier == key[0] for key in paths)]
    drawn = [
        (tier, good, "".join(paths[tier, good])) for tier in there for good in (False, True) if (tier, good) in paths
    ]
    drawing = markup(
        "dataset_matrix.html.jinja",
        width=SIDE * len(cn_ids),
        height=SIDE * len(hs_ids),
        paths=drawn,
        tiers=there,
        n_hs=len(hs_ids),
        n_cn=len(cn_ids),
    )
    return Matrix(hs_ids, cn_ids, drawing, _by_hs(rows, hs_ids, there))


def _by_hs(rows: Sequence[tuple[str, str, str, str]], hs_ids: Sequence[str], tiers: Sequence[str]) -> Table:
    """Returns how many pairs of every HS are appropriate, of how many judged, in every partition."""
    judged: Counter[tuple[str, str]] = Counter()
    good: Counter[tuple[str, str]] = Counter()
    for hs, _, label, tier in rows:
        for broader in tiers[tiers.index(tier) :]:  # a pair of a tier is in all broader ones
            judged[hs, broader] += 1
            good[hs, broader] += label == APPROPRIATE
    cells = [[hs, *(f"{good[hs, tier]} of {judged[hs, tier]}" for tier in tiers)] for hs in hs_ids]
    return Table("The matrix by HS: appropriate of judged CNs", ["HS", *tiers], cells)
