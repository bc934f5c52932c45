"""The values of the multi-aspect paper. The scores behind them are not released; only the training pairs are counted.

The remarks in `benchmarks/published/multi-aspect.yaml` describe the arithmetic between printed values.
"""

from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.values import Key, RecomputedValue


def recompute(data: Datasets) -> dict[Key, RecomputedValue]:
    """Counts the training pairs.

    Args:
        data: Datasets; `multi-aspect` is used.

    Raises:
        InputError: The dataset cannot be built.
    """
    return {("text 3", "training-pairs", "count"): RecomputedValue(len(data.rows("multi-aspect", "pairs", "train")))}
