"""What nearest neighbours predict without each feature, exactly, though they are never fitted again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from unirel._runtime import pieces

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

# Powers of the differences that a metric of scikit-learn sums; "minkowski" has its own.
_POWERS = {"euclidean": 2, "l2": 2, "manhattan": 1, "l1": 1, "cityblock": 1}
# Distances that differ by less than this share are a tie that rounding has broken.
_TIE = 1e-9
# What is left of a distance after subtracting nearly all of it is noise below this share,
_NOISE = 1e-13
# and a feature that outweighs all others that many times is not subtracted: the others are summed anew.
_DOMINANT = 100
# Distances held at a time by a thread.
_BLOCK = 2**17


def plain_neighbors(estimator: Any) -> tuple[int, int] | None:
    """Number of neighbours and power of the differences, if nothing else matters to the estimator."""
    if type(estimator) not in (KNeighborsClassifier, KNeighborsRegressor):
        return None
    metric, n_neighbors = estimator.metric, estimator.n_neighbors
    power = estimator.p if metric == "minkowski" else _POWERS.get(metric)
    # What is not valid is left to scikit-learn, which says so.
    valid = isinstance(n_neighbors, int | np.integer) and n_neighbors >= 1
    plain = estimator.weights in ("uniform", None) and estimator.metric_params is None
    return (int(n_neighbors), int(power)) if valid and plain and power in (1, 2) else None


class NeighborVotes:
    """Nearest neighbours by distances that are sums over columns, so that a feature can be subtracted.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_numbers)
        What distances are measured in.
    columns_of : sequence of ndarray
        Columns of the matrix that belong to each feature.
    outcomes : ndarray of shape (n_samples, n_outcomes)
        What is averaged over neighbours.
    n_neighbors, power : int
        As `plain_neighbors` gives them.
    """

    def __init__(
        self, matrix: Values, columns_of: Sequence[Rows], outcomes: Values, n_neighbors: int, power: int
    ) -> None:
        self._columns = np.ascontiguousarray(matrix.T)
        self._columns_of, self._outcomes = columns_of, outcomes
        self._n_neighbors, self._power = n_neighbors, power
        peaks = np.ptp(self._columns, axis=1) ** power
        self._dominant = [peaks[own].sum() > _DOMINANT * np.delete(peaks, own).sum() for own in columns_of]

    def votes(self, train: Rows, test: Rows) -> Iterator[Values]:
        """Predictions for the test rows without each feature, one after the other.

        Without a feature distances only shrink. So the neighbours then are among the rows that are, without it, no
        farther than the last neighbour is with it: a few, found by one comparison.
        """
        left, right = self._columns[:, test], self._columns[:, train]
        n_nearest = min(self._n_neighbors, len(train))
        whole = _distances(left, right, self._power)
        noise = whole * _NOISE
        limit = np.partition(whole, n_nearest - 1)[:, n_nearest - 1, None] * (1 + _TIE) + noise
        for own, dominant in zip(self._columns_of, self._dominant, strict=True):
            if dominant:
                rest = _distances(np.delete(left, own, axis=0), np.delete(right, own, axis=0), self._power)
            else:
                rest = _distances(left[own], right[own], self._power)
                np.subtract(whole, rest, out=rest)
            near = np.flatnonzero(rest <= limit)
            row, other = np.divmod(near, len(train))
            distances = rest.ravel()[near]
            if not dominant:
                distances[distances <= noise.ravel()[near]] = 0
            yield _vote(distances, row, self._outcomes[train[other]], n_nearest)


def split_rows(rows: Rows, n_others: int) -> list[Rows]:
    """Parts of the rows with a bounded number of distances to others."""
    return pieces(rows, max(8, _BLOCK // n_others))


def _distances(left: Values, right: Values, power: int) -> Values:
    """Sums of powers of differences of all pairs of points, given as columns."""
    total: Values | None = None
    for one, other in zip(left, right, strict=True):
        difference = np.subtract.outer(one, other)
        difference = np.square(difference, out=difference) if power == 2 else np.abs(difference, out=difference)
        total = difference if total is None else np.add(total, difference, out=total)
    return np.zeros((left.shape[1], right.shape[1])) if total is None else total


def _vote(distances: Values, row: Rows, outcomes: Values, n_nearest: int) -> Values:
    """Mean outcome of the nearest candidates of each row; those that tie for the last places share them.

    Candidates are given one after the other, `row` by row, at least `n_nearest` for each.
    """
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    last = distances[np.lexsort((distances, row))][starts + n_nearest - 1][row]
    nearer = distances < last * (1 - _TIE)
    tied = ~nearer & (distances <= last * (1 + _TIE))
    free = n_nearest - np.bincount(row, nearer)
    weights = nearer + tied * (free / np.bincount(row, tied))[row]
    votes: Values = np.add.reduceat(weights[:, None] * outcomes, starts) / n_nearest
    return votes
