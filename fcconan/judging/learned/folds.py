"""Folds of replies for cross-fitting.

folds = fold_numbers(table, by="group", folds=10, seed=0)   # shape (n,), 0 ... folds - 1
"""

from collections.abc import Hashable, Sequence
from typing import Literal

from fcconan.data import balanced_folds
from fcconan.errors import InputError
from fcconan.judging.learned.rated_texts import Ints, RatedTexts

FoldKey = Literal["group", "system", "round"]


def fold_numbers(table: RatedTexts, *, by: FoldKey = "group", folds: int = 10, seed: int = 0) -> Ints:
    """Returns the fold of each row of a table.

    Args:
        table: Rated texts.
        by: Unit of a fold: leakage group of HS (`group`), `system`, or `round` of annotation.
        folds: Number of folds; fewer systems or rounds than folds are a fold each.
        seed: Seed of the order of groups.

    Raises:
        InputError: There is only one group, system or round.
    """
    keys: Sequence[Hashable] = {"group": table.groups.tolist(), "system": table.systems, "round": table.rounds}[by]
    if by != "group" and len(set(keys)) < 2:
        raise InputError(
            f"--fold-by {by} needs two or more {by}s, found {keys[0] if keys else 'none'}: give rows with a column "
            f"{by}, or choose --fold-by group"
        )
    if folds < 2 or len(set(keys)) < 2:
        raise InputError(
            f"found {folds} folds and {len(set(keys))} groups of replies, expected two or more of both: give more "
            "rated replies, or other folds"
        )
    return balanced_folds(keys, folds, seed=seed)
