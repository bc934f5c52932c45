"""Types of arrays and rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Swaps = npt.NDArray[np.int8]  # 1 for a value that is swapped, else 0
Row = Mapping[str, Any]
Qrels = Mapping[str, Mapping[str, int]]  # query id -> corpus id -> relevance
