"""Types of arrays."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Swaps = npt.NDArray[np.int8]  # 1 for a value that is swapped, else 0
