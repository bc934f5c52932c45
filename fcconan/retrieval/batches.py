"""Batches for the loss of multiple negatives in which no known positive stands as a negative.

In that loss every CN of a batch, hard negatives among them, is a negative of every HS of the batch but the one it was
given for. That a batch holds no text twice is therefore not enough: of an HS with CNs a and b, one pair may bring a
while another pair, of another HS, brings b, as its own CN or as its hard negative.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fcconan.retrieval.systems import TrainingPair


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
