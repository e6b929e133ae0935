"""Rows on a cluster: partitions of a Dask collection, looked at where they are; only what is found comes here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any, cast

import numpy as np

from unirel.data.arrow import ArrowRows
from unirel.data.parts import Add, Function, Kept, Part, Parts, Rows, ask
from unirel.data.readers import numbered_names

# Results that are added up by one task.
_WIDTH = 8


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


def _delayed(function: Function) -> Any:
    from dask import delayed

    return delayed(function, pure=False, traverse=False)


class DaskParts(Parts):
    """Parts that Dask has or can compute; one that is lost with its worker is made again."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order."""
        import dask

        look = _delayed(partial(ask, function=function))
        if each is None:
            tasks = [look(part) for part in self._parts]
        else:
            pairs = zip(self._parts, each, strict=True)
            tasks = [look(part, dask.delayed(own, traverse=False)) for part, own in pairs if own is not None]
        with _waiting():
            return list(dask.compute(*tasks))

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up by a tree of tasks."""
        look, join = _delayed(partial(ask, function=function)), _delayed(add)
        found = [look(part) for part in self._parts]
        while len(found) > 1:
            found = [join(found[start : start + _WIDTH]) for start in range(0, len(found), _WIDTH)]
        with _waiting():
            return join(found).compute()


def _persist(tasks: list[Any]) -> DaskKept:
    """Compute tasks, and leave the results on the workers."""
    from dask import persist

    with _waiting():
        return DaskKept(list(persist(*tasks)))


class DaskKept(DaskParts, Kept):
    """Parts that stay on the workers that made them."""

    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> DaskKept:
        """Bring a block of all parts together on a worker, and what comes out back to where the parts are."""
        take_one, encode_all = _delayed(take), _delayed(encode)
        change = _delayed(partial(_changed, put=put, blocks=list(blocks)))
        encoded = [encode_all([take_one(part, block) for part in self._parts], block) for block in blocks]
        return _persist([change(part, [own[n] for own in encoded]) for n, part in enumerate(self._parts)])

    def close(self) -> None:
        """Let the workers forget what they keep."""
        self._parts = []


class DaskRows(DaskParts, Rows):
    """Partitions of a collection, or row groups of files, not computed yet."""

    def __init__(self, parts: list[Any], names: tuple[str, ...], weighted: bool) -> None:
        super().__init__(parts)
        self.names, self.weighted = names, weighted

    def keep(self, function: Function) -> DaskKept:
        """What a function makes of every part; it stays on the worker that makes it."""
        return _persist([_delayed(function)(part) for part in self._parts])

    @classmethod
    def of_collection(cls, X: Any, y: Any, sample_weight: Any, taken: Collection[str]) -> DaskRows:
        """The partitions of a frame or an array, and of a target and weights that are cut at the same rows."""
        frame = hasattr(X, "columns")
        features = [name for name in X.columns if str(name) not in taken] if frame else None
        if frame and not features:
            raise ValueError("X has 0 feature(s) beside the target while a minimum of 1 is required.")
        X = X if frame else X.rechunk({1: -1})
        pieces = np.ravel(X.to_delayed()).tolist()
        sides = [_pieces_of(one, name, X, pieces) for one, name in ((y, "y"), (sample_weight, "sample_weight"))]
        make = _delayed(_make_part)
        parts = [
            make(*three, features, f"partition {number}")
            for number, three in enumerate(zip(pieces, *sides, strict=True))
        ]
        names = map(str, features) if features is not None else (f"x{place}" for place in range(X.shape[1]))
        target = y if isinstance(y, str) else getattr(y, "name", None)
        rows = cls(parts, (*names, target if frame and isinstance(target, str) else "y"), sample_weight is not None)
        rows.numbered = numbered_names(features or ())
        return rows

    @classmethod
    def of_files(
        cls, dataset: Any, y: str, sample_weight: str | None = None, without: Collection[str] = ()
    ) -> DaskRows:
        """Row groups of the files of a dataset, which the workers read themselves."""
        rows = ArrowRows(dataset, y, sample_weight, without)
        read = _delayed(rows.read)
        fragments = [
            group
            for fragment in dataset.get_fragments()
            for group in (fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment])
        ]
        return cls([read(fragment) for fragment in fragments], rows.names, rows.weighted)


def _changed(part: Any, pieces: list[Any], *, put: Function, blocks: list[Any]) -> Any:
    """A copy of a part with something put into it: the part itself may be needed again."""
    copy = deepcopy(part)
    for block, piece in zip(blocks, pieces, strict=True):
        put(copy, block, piece)
    copy.files.release()
    return copy


def _pieces_of(data: Any, parameter: str, X: Any, pieces: list[Any]) -> list[Any]:
    """The partitions of a target or of weights; a name stands for a column of every partition of X."""
    if data is None or isinstance(data, str):
        if isinstance(data, str) and data not in map(str, getattr(X, "columns", ())):
            raise ValueError(
                f"{parameter}={data!r} is no column of X; the columns are {', '.join(map(repr, X.columns[:10]))}"
            )
        return [data] * len(pieces)
    if not hasattr(data, "to_delayed"):
        raise TypeError(f"X is a Dask collection, but {parameter} is a {type(data).__name__}; make it one too")
    if hasattr(data, "rechunk") and hasattr(X, "chunks") and data.chunks[0] != X.chunks[0]:
        data = data.rechunk({0: X.chunks[0]})
    found: list[Any] = np.ravel(data.to_delayed()).tolist()
    if len(found) != len(pieces):
        cut = f"X has {len(pieces)} partitions, {parameter} has {len(found)}"
        raise ValueError(f"{cut}; cut them at the same rows, such as by taking both from one frame")
    return found


def _make_part(X: Any, y: Any, weights: Any, features: list[Any] | None, label: str) -> Part:
    """A part of a partition of every collection, or of columns of the first."""
    weights = X[weights] if isinstance(weights, str) else weights
    y = X[y] if isinstance(y, str) else y
    return Part(X if features is None else X[features], y, None if weights is None else np.asarray(weights), label)
