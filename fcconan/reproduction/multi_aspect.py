"""The figures of the multi-aspect paper: the scores behind them are not released, but for the training pairs.

How the printed figures fit together is told by the remarks in `benchmarks/published/multi-aspect.yaml`.
"""

from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.values import Key, Value


def recompute(data: Datasets) -> dict[Key, Value]:
    """Counts the training pairs.

    Args:
        data: The datasets; it takes `multi-aspect`.

    Raises:
        InputError: The dataset cannot be built.
    """
    return {("text 3", "training-pairs", "count"): Value(len(data.rows("multi-aspect", "pairs", "train")))}
