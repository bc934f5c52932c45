"""Folds: which replies are held out together.

folds = fold_numbers(table, by="group", folds=10, seed=0)   # shape (n,), 0 ... folds - 1
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from fcconan.errors import InputError
from fcconan.judging.learned.rated_texts import Ints, RatedTexts

FoldKey = Literal["group", "system", "round"]


def balanced_folds(keys: Sequence[Hashable], folds: int, *, seed: int = 0) -> Ints:
    """Returns a fold for each row, with all rows of one key in one fold and folds of about equal size.

    The largest key comes first, and each goes into the smallest fold so far; keys of equal size are in random order.
    With fewer keys than folds, each key is a fold of its own.

    Args:
        keys: The key of each row; length n.
        folds: The number of folds.
        seed: Seed of the order.

    Raises:
        InputError: There are fewer than two folds or keys.

    >>> balanced_folds(["a", "b", "a", "a", "c"], 2).tolist()
    [0, 1, 0, 0, 1]
    """
    sizes = Counter(keys)
    if folds < 2 or len(sizes) < 2:
        raise InputError(
            f"cannot hold out {folds} folds of {len(sizes)} groups of replies: two folds and two groups are the least; "
            "give more rated replies, or other folds"
        )
    order = [list(sizes)[at] for at in np.random.default_rng(seed).permutation(len(sizes))]
    totals = np.zeros(min(folds, len(sizes)), dtype=np.int64)
    fold_of: dict[Hashable, int] = {}
    for key in sorted(order, key=lambda each: -sizes[each]):
        fold_of[key] = int(totals.argmin())
        totals[fold_of[key]] += sizes[key]
    return np.array([fold_of[key] for key in keys], dtype=np.int64)


def fold_numbers(table: RatedTexts, *, by: FoldKey = "group", folds: int = 10, seed: int = 0) -> Ints:
    """Returns the fold of each row of a table.

    Args:
        table: The rated texts.
        by: What is held out together: a leakage group of HS, a system, or a round of annotation.
        folds: The number of folds; systems or rounds in a smaller number are a fold each.
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
    return balanced_folds(keys, folds, seed=seed)
