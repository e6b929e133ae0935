"""What numpy says in one line, but what takes the compiler seconds that way.

Assigning one slice to another compiles the text of the error for shapes that do not fit.
"""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel


@kernel
def copy_stretch(source: Floats, start: int, stop: int, target: Floats) -> None:
    """Do ``target[start:stop] = source[start:stop]``."""
    for place in range(start, stop):
        target[place] = source[place]


@kernel
def starts_of(sizes: Integers) -> Integers:
    """Where stretches of these sizes begin, one after the other, and where the last ends."""
    starts = np.zeros(sizes.shape[0] + 1, np.int64)
    for place in range(sizes.shape[0]):
        starts[place + 1] = starts[place] + sizes[place]
    return starts
