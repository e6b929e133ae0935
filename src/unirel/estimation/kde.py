"""Mutual information from kernel densities of normal scores."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from unirel._runtime import map_tasks, pieces
from unirel.estimation.base import Columns, Values
from unirel.estimation.blocks import BlockInformation, Side, joint_codes

# Bandwidths that are tried, each narrower than the last one by the root of two; the second is that of Scott's rule.
_N_WIDTHS = 8
# Kernels of that many pairs of rows are kept at a time.
_PAIRS = 2**19


class KDE(BlockInformation):
    """Densities at each row from Gaussian kernels around all other rows.

    With k(i, j) the product of the kernels of all columns of a block, which is 0 where levels differ,

        I(A; B) = mean over rows i of log( (N - 1) sum_j k_A k_B / (sum_j k_A sum_j k_B) ),     j other than i.

    The columns are normal scores, which changes no information, so that tails and edges do no harm. One bandwidth
    serves all of them: that of eight, from 1.4 to 1/8 times Scott's, that gives the joint density the highest
    likelihood, each row left out of its own density. Rows whose levels no other row has are left out. What the kernels
    blur is lost, so the estimate is too low where columns are many. Time grows with the square of the number of rows.
    """

    name = "kde"

    def estimate_blocks(self, a: Side, b: Side) -> float:
        n_samples, n_columns = self.table.n_samples, len(a.scores) + len(b.scores)
        widths = n_samples ** (-1 / (n_columns + 4)) * 2 ** (0.5 - np.arange(_N_WIDTHS) / 2)
        rows = pieces(np.arange(n_samples), _PAIRS // n_samples)
        found = map_tasks(lambda some: _sums((a, b), some, widths[0]), rows, self.n_jobs)
        sums = np.concatenate(found, axis=2)
        sums = sums[:, :, sums[2, 0] > 0]  # rows that have company
        if not sums.size:
            return 0.0
        in_a, in_b, joint = np.log(np.maximum(sums, np.finfo(float).tiny))
        best = np.argmax(joint.mean(axis=1) - n_columns * np.log(widths))
        return float((joint - in_a - in_b)[best].mean() + np.log(n_samples - 1))


def _sums(sides: tuple[Side, Side], rows: Columns, widest: float) -> Values:
    """Kernels around all other rows, summed up at some rows: of either side and of both, for every bandwidth."""
    kernels = [_kernels(side, rows, widest) for side in sides]
    sums = np.empty((3, _N_WIDTHS, len(rows)))
    for width in range(_N_WIDTHS):
        sums[0, width], sums[1, width] = (kernel.sum(axis=1) for kernel in kernels)
        sums[2, width] = np.einsum("ij,ij->i", *kernels)
        for kernel in kernels:
            np.square(kernel, out=kernel)  # that of the next bandwidth
    return sums


def _kernels(side: Side, rows: Columns, width: float) -> NDArray[np.float64]:
    """Kernels of all rows at some rows, 0 for a row itself and where levels differ."""
    points, codes = side.scores.T, joint_codes(side.levels, side.scores.shape[1])
    kernels = np.exp(cdist(points[rows], points, "sqeuclidean") / (-2 * width**2))
    kernels[codes[rows, None] != codes] = 0.0
    kernels[np.arange(len(rows)), rows] = 0.0
    return np.asarray(kernels)
