"""Any table in, one `Table` out. Here are the words that its modules share."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Kind = Literal["continuous", "discrete", "ignored"]
Kinds = NDArray[np.int8]
Codes = NDArray[np.integer[Any]]
Positions = NDArray[np.intp]
Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Kinds as they stand in arrays; a kind that nobody has given is unknown.
KINDS: tuple[Kind, ...] = get_args(Kind)
CONTINUOUS, DISCRETE, IGNORED, UNKNOWN = range(4)
