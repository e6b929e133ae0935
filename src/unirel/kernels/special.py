"""The digamma function of whole numbers, as a table, and its mean over neighbour counts."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from unirel.kernels._jit import Floats, Integers, kernel


def digamma_table(largest: int) -> NDArray[np.float64]:
    """psi(0), psi(1), ..., psi(largest), with 0 in the place of the pole at 0."""
    table = np.zeros(largest + 1)
    table[1:] = digamma(np.arange(1, largest + 1))
    return table


@kernel
def class_digamma(sizes: Integers, psi: Floats) -> float:
    """Mean of psi of the size of the class over all rows."""
    total = 0.0
    n_samples = 0
    for size in sizes:
        total += size * psi[size]
        n_samples += size
    return total / n_samples


@kernel
def mean_digamma(counts: Integers, psi: Floats) -> float:
    """Mean of ``psi[counts]``, added up by count and not by row, so that the order of the rows cannot show."""
    largest = 0
    for count in counts:
        largest = max(largest, count)
    histogram = np.zeros(largest + 1, np.int64)
    for count in counts:
        histogram[count] += 1
    total = 0.0
    for count in range(1, largest + 1):
        total += histogram[count] * psi[count]
    return total / counts.shape[0]
