"""Plot of the matrix of HS and CNs of an exhaustively paired dataset: judged pairs, and appropriate pairs."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from fcconan.data import TIERS
from fcconan.reporting.dataset_counts import APPROPRIATE, tiers_of
from fcconan.reporting.dataset_folders import Source
from fcconan.reporting.elements import markup
from fcconan.reporting.tables import DisplayTable

if TYPE_CHECKING:
    from markupsafe import Markup

SIDE = 7  # of a cell, in units of the drawing
LARGEST = 40_000  # cells
EXHAUSTIVE = 0.2  # of all cells must be judged, or the drawing is empty
Pairs = Sequence[tuple[str, str, str, str]]  # HS, CN, label, tier


def matrix_of(sources: Sequence[Source]) -> "tuple[Markup, DisplayTable] | None":
    """Returns the matrix of the broadest tier as a plot, and the same counts by HS as a table.

    HS and CNs with the most appropriate pairs come first. Without tiers, or with few judged cells, there is no plot.
    """
    tiers = tiers_of(sources)
    if not tiers:
        return None
    rows: Pairs = [*tiers.values()][-1].rows("hs_id", "cn_id", "label", "tier")
    hs_ids, cn_ids = _fullest_first(rows, 0), _fullest_first(rows, 1)
    cells = len(hs_ids) * len(cn_ids)
    if cells > LARGEST or len(rows) < EXHAUSTIVE * cells:
        return None
    line = {name: place for place, name in enumerate(hs_ids)}
    column = {name: place for place, name in enumerate(cn_ids)}
    paths = defaultdict[tuple[str, bool], list[str]](list)
    for hs, cn, label, tier in rows:
        # A line of no length with square caps is a square: the shortest way to draw one.
        x, y = SIDE * column[cn] + SIDE / 2, SIDE * line[hs] + SIDE / 2
        paths[tier, label == APPROPRIATE].append(f"M{x:g} {y:g}h0")
    there = [tier for tier in TIERS if any(tier == key[0] for key in paths)]
    drawing = markup(
        "dataset_matrix.html.jinja",
        width=SIDE * len(cn_ids),
        height=SIDE * len(hs_ids),
        paths=[(*key, "".join(paths[key])) for key in product(there, (False, True)) if key in paths],
        tiers=there,
        n_hs=len(hs_ids),
        n_cn=len(cn_ids),
    )
    return drawing, _by_hs(rows, hs_ids, there)


def _fullest_first(rows: Pairs, place: int) -> list[str]:
    good = Counter(row[place] for row in rows if row[2] == APPROPRIATE)
    return sorted({row[place] for row in rows}, key=lambda name: (-good[name], name))


def _by_hs(rows: Pairs, hs_ids: Sequence[str], tiers: Sequence[str]) -> DisplayTable:
    """Returns how many pairs of every HS are appropriate, of how many judged, in every partition."""
    judged: Counter[tuple[str, str]] = Counter()
    good: Counter[tuple[str, str]] = Counter()
    for hs, _, label, tier in rows:
        for broader in tiers[tiers.index(tier) :]:  # a pair of a tier is in all broader ones
            judged[hs, broader] += 1
            good[hs, broader] += label == APPROPRIATE
    cells = [[hs, *(f"{good[hs, tier]} of {judged[hs, tier]}" for tier in tiers)] for hs in hs_ids]
    return DisplayTable("The matrix by HS: appropriate of judged CNs", ["HS", *tiers], cells)
