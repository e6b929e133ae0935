"""Random forests for very many small questions: the trees of scikit-learn's, digit for digit, in a part of the time.

Growing a tree of few rows, scikit-learn spends most of its time on checking what it is given, and with many classes on
counting them; see `unirel.estimation.kernels.forest`. What is sorted once here serves all trees, and all subsets of the columns.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from unirel._runtime import pieces
from unirel.estimation.kernels.forest import add_tree

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

# Classes that the kernel can tell apart.
_MOST_CLASSES = 2**16
# What may be set in any way: the first two are known to us, the others change no tree.
_FREE = {"n_estimators", "random_state", "n_jobs", "verbose", "oob_score", "warm_start"}

# Values that are sorted at a time.
_BLOCK = 2**20
# With no more rows, making a random generator takes longer than growing a tree.
_FEW_ROWS = 2**13


def plain_forest(estimator: Any) -> tuple[int, int] | None:
    """Number of trees and seed, if nothing else matters to the estimator."""
    if type(estimator) is not RandomForestClassifier:
        return None
    usual, own = RandomForestClassifier().get_params(), estimator.get_params()
    n_trees, seed = own["n_estimators"], own["random_state"]
    # What is not valid is left to scikit-learn, which says so.
    valid = all(isinstance(number, int | np.integer) for number in (n_trees, seed)) and n_trees >= 1 and seed >= 0
    # By their words, since 1 leaf and a share of 1.0 are equal but not the same.
    plain = all(repr(own[name]) == repr(usual[name]) for name in usual.keys() - _FREE)
    return (int(n_trees), int(seed)) if valid and plain else None


def suits_trees(values: Values, n_classes: int) -> bool:
    """Whether trees can hold it: numbers of single precision, none of them missing, and not too many classes."""
    extremes = np.array([values.min(initial=0.0), values.max(initial=0.0)])  # NaN if there is one
    with np.errstate(over="ignore"):
        return bool(np.isfinite(extremes.astype(np.float32)).all()) and n_classes <= _MOST_CLASSES


class Trees:
    """Trees that are grown from some rows as ``RandomForestClassifier(n_trees, random_state=seed)`` grows them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        What to train on, finite.
    labels : ndarray of int
        Classes of the rows, numbered without gaps.
    n_trees, seed : int
        As `plain_forest` gives them.
    """

    def __init__(self, X: Values, labels: NDArray[Any], n_trees: int, seed: int) -> None:
        self._places, self._levels = np.empty(X.shape[::-1], np.int32), np.empty(X.shape[::-1], np.float32)
        for part in pieces(np.arange(X.shape[1]), _BLOCK // len(X)):
            self._places[part], self._levels[part] = _ranked(X[:, part].astype(np.float32))
        self._labels, self._n_classes = labels, int(labels.max()) + 1
        self._seeds = _seeds_of_trees(n_trees, seed)

    def shares(self, inputs: Values, columns: Rows | None = None) -> Iterator[Values]:
        """After each tree, the sum of the shares of the classes in all leaves so far, one row for each of the inputs.

        It is one array that is added to. Only some columns may be used, in this order; all if None.
        """
        columns = np.arange(len(self._places)) if columns is None else columns
        n_tried = max(1, int(np.sqrt(len(columns))))
        single = np.ascontiguousarray(inputs, dtype=np.float32)
        totals = np.zeros((len(inputs), self._n_classes))
        for seed in self._seeds:
            drawn, start = _draw(seed, len(self._labels))
            add_tree(self._places, self._levels, columns, self._labels, drawn, start, n_tried, single, totals)
            yield totals

    def probabilities(self, inputs: Values, columns: Rows | None = None) -> Values:
        """Of each class for each of the inputs."""
        *_, totals = self.shares(inputs, columns)
        return totals / len(self._seeds)


def _ranked(values: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """For each column, the place of each value among the distinct ones, and these."""
    columns = np.ascontiguousarray(values.T)
    order = np.argsort(columns, axis=1)
    levels = np.take_along_axis(columns, order, axis=1)
    new = np.zeros(columns.shape, np.int32)
    new[:, 1:] = levels[:, 1:] > levels[:, :-1]
    in_order = np.cumsum(new, axis=1, dtype=np.int32)
    # Each level takes its place; those that are equal write the same.
    np.put_along_axis(levels, in_order, levels.copy(), axis=1)
    places = np.empty_like(in_order)
    np.put_along_axis(places, order, in_order, axis=1)
    return places, levels


@lru_cache(maxsize=8)
def _seeds_of_trees(n_trees: int, seed: int) -> list[int]:
    forest = np.random.RandomState(seed)
    return [int(forest.randint(np.iinfo(np.int32).max)) for _ in range(n_trees)]


def _draw(seed: int, n_rows: int) -> tuple[NDArray[np.uint16], int]:
    """How often a tree draws each row, and where its random numbers begin; for few rows it is known from before."""
    return (_known_draw if n_rows <= _FEW_ROWS else _new_draw)(seed, n_rows)


def _new_draw(seed: int, n_rows: int) -> tuple[NDArray[np.uint16], int]:
    rows = np.random.RandomState(seed).randint(0, n_rows, n_rows)
    start = np.random.RandomState(seed).randint(0, np.iinfo(np.int32).max)
    return np.bincount(rows, minlength=n_rows).astype(np.uint16), int(start)


_known_draw = lru_cache(maxsize=256)(_new_draw)
