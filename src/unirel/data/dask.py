"""Partitions of Dask collections, which are looked at on the workers that have them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any, cast

import numpy as np

from unirel._runtime import pieces
from unirel.data.arrow import ArrowRows
from unirel.data.parts import Add, Function, Part, Rows, ask, selected_names

# Results that are added up by one task.
_WIDTH = 8


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    return DaskRows.of_collection(X, y, sample_weight)


def take_columns(X: Any, selector: Any) -> Any:
    """The selected columns, not computed yet."""
    if not hasattr(X, "columns"):
        if X.shape[1] != selector.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {selector.n_features_in_} were seen in fit")
        return X[:, selector.get_support(indices=True)]
    native = {str(name): name for name in X.columns}
    return X[[native[name] for name in selected_names(selector, list(native))]]


def connect(address: str) -> Any:
    """A client of a running cluster, which all that follows uses; it is closed when the process ends."""
    from distributed import Client

    return Client(address, timeout="10s")


def _waiting() -> AbstractContextManager[Any]:
    """Wait for tasks: a task that does so gives its thread to others meanwhile, or all threads could be waiting."""
    from distributed import get_worker, worker_client

    try:
        get_worker()
    except ValueError:  # This is no task.
        return nullcontext()
    return cast(AbstractContextManager[Any], worker_client())


class DaskRows(Rows):
    """Parts that Dask has or can compute, added up by a tree of tasks; one that is lost is made again."""

    @staticmethod
    def _task(function: Function) -> Function:
        from dask import delayed

        return cast(Function, delayed(function, pure=False, traverse=False))

    def _finish(self, tasks: list[Any]) -> list[Any]:
        from dask import compute

        with _waiting():
            return list(compute(*tasks))

    def _kept(self, tasks: list[Any]) -> DaskRows:
        from dask import persist

        with _waiting():
            return DaskRows(list(persist(*tasks)))

    def _changeable(self) -> list[Any]:
        return list(map(self._task(deepcopy), self))  # The parts themselves may be needed again.

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        look, join = self._task(partial(ask, function=function)), self._task(add)
        found = [look(part) for part in self]
        while len(found) > 1:
            found = [join(some) for some in pieces(found, _WIDTH)]
        return self._finish([join(found)])[0]

    @classmethod
    def of_collection(cls, X: Any, y: Any, sample_weight: Any) -> DaskRows:
        """The partitions of a frame or an array, and of a target and weights that are cut at the same rows."""
        frame, features = hasattr(X, "columns"), None
        if frame:  # A target or weights that are a column of it are no features.
            taken = [one if isinstance(one, str) else getattr(one, "name", None) for one in (y, sample_weight)]
            features = [name for name in X.columns if str(name) not in taken]
            if not features:
                raise ValueError("X has 0 feature(s) beside the target while a minimum of 1 is required.")
        elif X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension(s); pass a table of rows and columns")
        else:
            X = X.rechunk({1: -1})
        partitions = np.ravel(X.to_delayed()).tolist()
        targets = _partitions_of(y, "y", X, len(partitions))
        weights = _partitions_of(sample_weight, "sample_weight", X, len(partitions))
        threes, make = zip(partitions, targets, weights, strict=True), cls._task(_make_part)
        parts = [make(*three, features, f"partition {number}") for number, three in enumerate(threes)]
        names = map(str, features) if features is not None else (f"x{place}" for place in range(X.shape[1]))
        target = y if isinstance(y, str) else getattr(y, "name", None)
        target = target if frame and isinstance(target, str) else "y"
        rows = cls(parts, (*names, target), sample_weight is not None, features or ())
        rows.has_names = frame
        return rows

    @classmethod
    def of_files(cls, dataset: Any, y: str, without: Collection[str] = ()) -> DaskRows:
        """Row groups of the files of a dataset, which the workers read themselves."""
        rows = ArrowRows(dataset, y, without=without)
        read = cls._task(rows.read)
        fragments = [
            group
            for fragment in dataset.get_fragments()
            for group in (fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment])
        ]
        return cls([read(fragment) for fragment in fragments], rows.names)


def _partitions_of(data: Any, parameter: str, X: Any, n_partitions: int) -> list[Any]:
    """The partitions of a target or of weights; a name stands for a column of every partition of X."""
    if data is None or isinstance(data, str):
        if isinstance(data, str) and data not in map(str, getattr(X, "columns", ())):
            listed = ", ".join(map(repr, X.columns[:10]))
            raise ValueError(f"{parameter}={data!r} is no column of X; the columns are {listed}")
        return [data] * n_partitions
    if not hasattr(data, "to_delayed"):
        raise TypeError(f"X is a Dask collection, but {parameter} is a {type(data).__name__}; make it one too")
    if hasattr(data, "rechunk") and hasattr(X, "chunks") and data.chunks[0] != X.chunks[0]:
        data = data.rechunk({0: X.chunks[0]})
    found: list[Any] = np.ravel(data.to_delayed()).tolist()
    if len(found) != n_partitions:
        cut = f"X has {n_partitions} partitions, {parameter} has {len(found)}"
        raise ValueError(f"{cut}; cut them at the same rows, such as by taking both from one frame")
    return found


def _make_part(X: Any, y: Any, weights: Any, features: list[Any] | None, label: str) -> Part:
    """A part of a partition of every collection, or of columns of the first."""
    weights = X[weights] if isinstance(weights, str) else weights
    y = X[y] if isinstance(y, str) else y
    return Part(
        X if features is None else X[features], y, None if weights is None else np.asarray(weights, np.float64), label
    )
