"""Folds of training pairs that share no text, and batches without false negatives.

In multiple negatives ranking, each CN of a batch is a negative of all HS except its own. Batches without repeated texts
are therefore not sufficient. If an HS has the CNs a and b, a batch may contain its pair with a, and b as a CN or hard
negative of another pair.
"""

from collections import defaultdict
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


def make_batches(
    pairs: Sequence[TrainingPair],
    negatives: Sequence[Sequence[str]],
    batch_size: int,
    *,
    seed: int,
) -> list[list[int]]:
    """Splits pairs into batches without false negatives and without repeated CNs.

    A CN of a batch is never a known positive of the HS of another pair in it. Pairs are assigned in random order to the
    smallest permissible batch; without one, a new batch is created. There are at least as many batches as the largest
    number of CNs of an HS.

    Args:
        pairs: The distinct training pairs.
        negatives: Hard negatives of each pair.
        batch_size: Maximum number of pairs in a batch.
        seed: Seed of the order of pairs.

    Returns:
        Indices into `pairs` for each batch; each index occurs once.
    """
    positives: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        positives[pair.hate_speech].add(pair.counter_narrative)
    generator = np.random.default_rng(seed)
    batches: list[list[int]] = [[] for _ in range(-(-len(pairs) // batch_size))]
    batch_cns: list[set[str]] = [set() for _ in batches]
    batch_positives: list[set[str]] = [set() for _ in batches]
    for index in map(int, generator.permutation(len(pairs))):
        own_positives = positives[pairs[index].hate_speech]
        new_cns = {pairs[index].counter_narrative, *negatives[index]}
        for batch in sorted(range(len(batches)), key=lambda one: len(batches[one])):
            has_room = len(batches[batch]) < batch_size
            if (
                has_room
                and batch_cns[batch].isdisjoint(own_positives | new_cns)
                and batch_positives[batch].isdisjoint(new_cns)
            ):
                break
        else:
            batch = len(batches)
            batches.append([])
            batch_cns.append(set())
            batch_positives.append(set())
        batches[batch].append(index)
        batch_cns[batch] |= new_cns
        batch_positives[batch] |= own_positives
    return batches
