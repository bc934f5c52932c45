"""Folds for cross-validation that share no HS and no CN."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair


def groups_of(pairs: Sequence[TrainingPair]) -> npt.NDArray[np.int64]:
    """Returns the group of every pair: the connected components of the graph of HS and CN texts; shape (pairs,)."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    hs = {text: index for index, text in enumerate(dict.fromkeys(pair.hate_speech for pair in pairs))}
    cn = {text: len(hs) + index for index, text in enumerate(dict.fromkeys(pair.counter_narrative for pair in pairs))}
    rows = [hs[pair.hate_speech] for pair in pairs]
    columns = [cn[pair.counter_narrative] for pair in pairs]
    size = len(hs) + len(cn)
    graph = coo_matrix((np.ones(len(pairs)), (rows, columns)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    return np.asarray(component, dtype=np.int64)[rows]


def grouped_folds(pairs: Sequence[TrainingPair], n_folds: int, *, seed: int) -> npt.NDArray[np.int64]:
    """Assigns pairs to folds of about equal size so that no HS and no CN is in two folds.

    Args:
        pairs: The training pairs.
        n_folds: How many folds, at least 2.
        seed: Decides the order of groups of equal size.

    Returns:
        The fold of every pair, 0 to n_folds - 1; shape (pairs,).

    Raises:
        InputError: There are fewer groups than folds.
    """
    if n_folds < 2:
        raise InputError(f"{n_folds} folds were asked for: cross-validation needs 2 or more")
    group = groups_of(pairs) if pairs else np.zeros(0, dtype=np.int64)
    sizes = np.bincount(group)
    if np.count_nonzero(sizes) < n_folds:
        raise InputError(
            f"the training pairs fall into {np.count_nonzero(sizes)} groups that share no HS and no CN, fewer than the "
            f"{n_folds} folds: give more pairs, or fewer folds"
        )
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    load = np.zeros(n_folds, dtype=np.int64)
    fold = np.zeros(len(sizes), dtype=np.int64)
    for index in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        if sizes[index]:
            fold[index] = load.argmin()
            load[fold[index]] += sizes[index]
    return fold[group]
