"""Folds of training pairs that share no text."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fcconan.data import balanced_folds, connected_groups
from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair


def group_pairs(pairs: Sequence[TrainingPair]) -> npt.NDArray[np.int64]:
    """Returns the groups of pairs: the connected components of the graph of HS and CN texts.

    Args:
        pairs: The training pairs.

    Returns:
        Group of each pair; shape (pairs,).
    """
    texts = ((("hs", pair.hate_speech), ("cn", pair.counter_narrative)) for pair in pairs)
    return np.array(connected_groups(texts), dtype=np.int64)


def index_texts(texts: Iterable[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Returns the distinct texts in the order of their first occurrence, and the index of each text among them."""
    all_texts = list(texts)
    indices = {text: index for index, text in enumerate(dict.fromkeys(all_texts))}
    return list(indices), np.array([indices[text] for text in all_texts], dtype=np.int64)


def grouped_folds(pairs: Sequence[TrainingPair], n_folds: int, *, seed: int) -> npt.NDArray[np.int64]:
    """Assigns pairs to folds of about equal size so that no HS and no CN is in two folds.

    Args:
        pairs: The training pairs.
        n_folds: Number of folds, at least 2.
        seed: Seed of the order of groups with equal size.

    Returns:
        Fold of each pair, 0 to n_folds - 1; shape (pairs,).

    Raises:
        InputError: There are fewer groups than folds.
    """
    if n_folds < 2:
        raise InputError(f"the number of folds is {n_folds}: cross-validation needs 2 or more")
    group = group_pairs(pairs)
    sizes = np.bincount(group)
    if np.count_nonzero(sizes) < n_folds:
        raise InputError(
            f"the training pairs form {np.count_nonzero(sizes)} groups that share no HS and no CN, fewer than the "
            f"{n_folds} folds: give more pairs, or fewer folds"
        )
    return balanced_folds(group.tolist(), n_folds, seed=seed)
