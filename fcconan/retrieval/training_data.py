"""Folds and batches of training pairs that share no HS, no CN and no positive.

In that loss every CN of a batch, hard negatives among them, is a negative of every HS of the batch but the one it was
given for. That a batch holds no text twice is therefore not enough: of an HS with CNs a and b, one pair may bring a
while another pair, of another HS, brings b, as its own CN or as its hard negative.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fcconan.data import balanced_folds, connected_groups
from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair


def groups_of(pairs: Sequence[TrainingPair]) -> npt.NDArray[np.int64]:
    """Returns the group of every pair: the connected components of the graph of HS and CN texts; shape (pairs,)."""
    texts = ((("hs", pair.hate_speech), ("cn", pair.counter_narrative)) for pair in pairs)
    return np.array(connected_groups(texts), dtype=np.int64)


def places_of(texts: Iterable[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Returns the different texts in the order of their first occurrence, and the place of every text among them."""
    listed = list(texts)
    places = {text: place for place, text in enumerate(dict.fromkeys(listed))}
    return list(places), np.array([places[text] for text in listed], dtype=np.int64)


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
    group = groups_of(pairs)
    sizes = np.bincount(group)
    if np.count_nonzero(sizes) < n_folds:
        raise InputError(
            f"the training pairs fall into {np.count_nonzero(sizes)} groups that share no HS and no CN, fewer than the "
            f"{n_folds} folds: give more pairs, or fewer folds"
        )
    return balanced_folds(group.tolist(), n_folds, seed=seed)


def clean_batches(
    pairs: Sequence[TrainingPair],
    negatives: Sequence[Sequence[str]],
    batch_size: int,
    *,
    seed: int,
) -> list[list[int]]:
    """Puts every pair into one batch so that no CN of a batch is a known positive of the HS of another of its pairs.

    Nor is a CN twice in a batch. Pairs come in random order, each to the smallest batch that can take it; a pair that
    none can take opens a new one. So there are at least as many batches as the most answered HS has CNs.

    Args:
        pairs: The training pairs, all different.
        negatives: The hard negatives of every pair.
        batch_size: The largest batch.
        seed: Of the order of pairs.

    Returns:
        Indices into `pairs`, each once, by batch.
    """
    positives: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        positives[pair.hate_speech].add(pair.counter_narrative)
    generator = np.random.default_rng(seed)
    batches: list[list[int]] = [[] for _ in range(-(-len(pairs) // batch_size))]
    shown: list[set[str]] = [set() for _ in batches]
    known: list[set[str]] = [set() for _ in batches]
    for index in map(int, generator.permutation(len(pairs))):
        own = positives[pairs[index].hate_speech]
        brought = {pairs[index].counter_narrative, *negatives[index]}
        for place in sorted(range(len(batches)), key=lambda one: len(batches[one])):
            room = len(batches[place]) < batch_size
            if room and shown[place].isdisjoint(own | brought) and known[place].isdisjoint(brought):
                break
        else:
            place = len(batches)
            batches.append([])
            shown.append(set())
            known.append(set())
        batches[place].append(index)
        shown[place] |= brought
        known[place] |= own
    return batches
