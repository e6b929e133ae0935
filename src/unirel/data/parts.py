"""Rows in several places: what maps a function over the parts and adds up what it finds, whichever engine has them.

Datasets of Arrow are read in this process, one batch after the other; partitions of a Dask collection are looked at on
the workers that have them. A table in parts knows no more of an engine than `Rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial, reduce
from typing import Any, NamedTuple, cast

import numpy as np

from unirel._runtime import map_tasks, pieces
from unirel.data.naming import find_columns
from unirel.data.readers import numbered_names

Function = Callable[..., Any]
Add = Callable[[list[Any]], Any]

# Pieces into which the work on kept parts is cut.
_TASKS = 8
# Values of a dataset that are read at a time.
_BATCH = 2**23
# Results that are added up by one task of Dask.
_WIDTH = 8


class Part(NamedTuple):
    """Some rows as they were read: features, target, and weights if there are any."""

    X: Any
    y: Any
    weights: Any = None
    label: str = ""  # what an error calls it


class Rows:
    """Parts in a fixed order, as they are read or as something was made of them, here or somewhere else.

    In this process those that are read are looked at one after the other, and what was made of them is a list.
    """

    is_parted = True

    def __init__(
        self, parts: list[Any] | None, names: tuple[str, ...] = (), weighted: bool = False, numbered: Sequence[Any] = ()
    ) -> None:
        self._parts = parts  # None if they are read whenever they are looked at
        self.names = names  # features and, last, the target
        self.weighted, self.numbered = weighted, numbered_names(numbered)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts or ())

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order."""
        # With `each` it gets an entry of that as well, and a part whose entry is None is left out.
        look = self._task(partial(ask, function=function))
        if each is None:
            return self._finish([look(part) for part in self])
        return self._finish([look(part, own) for part, own in zip(self, each, strict=True) if own is not None])

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up in any order."""

        def total(parts: Iterable[Any]) -> Any:
            return reduce(lambda before, one: add([before, one]), (ask(part, function=function) for part in parts))

        known = self._parts
        groups: list[Any] = [self] if known is None else [known[n::_TASKS] for n in range(min(_TASKS, len(known)))]
        return add(map_tasks(total, groups, n_jobs))

    def keep(self, function: Function) -> Rows:
        """What a function makes of every part, kept where that is, in files that can be taken out of memory."""
        make = self._task(function)
        return self._kept([make(part) for part in self])

    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> Rows:
        """Change what was made of parts by what is found in all of them together, a block at a time."""
        # ``take(part, block)`` gives what is needed of a part, ``encode(taken, block)`` what is to be put into each
        # part, and ``put(part, block, piece)`` does so and returns the part.
        take, encode, put = map(self._task, (take, encode, put))
        changed = self._changeable()
        for block in blocks:
            found = encode([take(part, block) for part in self], block)
            changed = [put(part, block, found[place]) for place, part in enumerate(changed)]
        return self._kept(changed)

    @staticmethod
    def _task(function: Function) -> Function:
        """A function that is called where its arguments are: here and at once."""
        return function

    def _finish(self, tasks: list[Any]) -> list[Any]:
        return tasks

    def _kept(self, tasks: list[Any]) -> Rows:
        """What tasks have made, which stays where it is."""
        return Rows(tasks)

    def _changeable(self) -> list[Any]:
        """Parts that something can be put into."""
        return list(self)

    def close(self) -> None:
        """Give everything up: files are deleted with the last array, and workers forget what they keep."""
        self._parts = []


def ask(part: Any, *each: Any, function: Function) -> Any:
    """What a function finds in a part, which leaves memory then if it is in files."""
    found = function(part, *each)
    if not isinstance(part, Part):
        part.release()
    return found


class ArrowRows(Rows):
    """Batches of a dataset of Arrow; target and weights are columns of it, by name, or arrays."""

    def __init__(self, dataset: Any, y: Any, sample_weight: Any = None, without: Collection[str] = ()) -> None:
        names = list(dataset.schema.names)
        taken = [names[find_columns(one, names, {})[0]] for one in (y, sample_weight) if isinstance(one, str)]
        left_out = {*taken, *without}
        features = [name for name in names if name not in left_out]
        if not features:
            others = ", ".join(map(repr, taken))
            raise ValueError(f"X has 0 feature(s) beside {others} while a minimum of 1 is required.")
        self._dataset, self._y, self._weights = dataset, y, sample_weight
        self._features, self._used = features, [*features, *taken]
        target = y if isinstance(y, str) else str(getattr(y, "name", None) or "y")
        super().__init__(None, (*features, target), sample_weight is not None)

    def __iter__(self) -> Iterator[Part]:
        """All rows; batches of small row groups and files are joined."""
        size, start = max(1024, _BATCH // len(self.names)), 0
        waiting: list[Any] = []
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # Arrow does not give those of a filtered dataset.
            fragments = [self._dataset]
        for fragment in fragments:
            label = _label(fragment)
            for batch in self._batches(fragment, size):
                waiting.append(batch)
                n_rows = sum(one.num_rows for one in waiting)
                if n_rows >= size:
                    yield self._part(waiting, start, label)
                    start, waiting = start + n_rows, []
        if waiting:
            yield self._part(waiting, start, label)
            start += sum(one.num_rows for one in waiting)
        if start == 0:
            raise ValueError("X has 0 sample(s): the dataset has no rows; name other files")
        for name, given in (("y", self._y), ("sample_weight", self._weights)):
            if given is not None and not isinstance(given, str) and len(given) != start:
                raise ValueError(f"X has {start} rows, {name} has {len(given)}; they must describe the same samples")

    def read(self, fragment: Any) -> Part:
        return self._part(list(self._batches(fragment, _BATCH)), 0, _label(fragment))

    def _batches(self, fragment: Any, size: int) -> Iterator[Any]:
        import pyarrow as pa

        options = {"columns": self._used, "batch_size": size, "batch_readahead": 1, "fragment_readahead": 1}
        try:
            if hasattr(fragment, "physical_schema"):
                self._check_schema(fragment)
                options["schema"] = self._dataset.schema
            yield from (batch for batch in fragment.to_batches(**options) if batch.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise OSError(f"{_label(fragment)} cannot be read: {' '.join(str(error).split())[:160]}") from None

    def _check_schema(self, fragment: Any) -> None:
        found = {field.name: field.type for field in fragment.physical_schema}
        for field in self._dataset.schema:
            own, label = found.get(field.name), _label(fragment)
            if own is None:
                raise ValueError(f"the schema changes: {label} has no column {field.name!r}; give all files the same")
            if own != field.type:
                about = f"the schema changes: column {field.name!r} of {label}"
                raise ValueError(f"{about} is {own} instead of {field.type}; give it one type")

    def _part(self, batches: list[Any], start: int, label: str) -> Part:
        import pyarrow as pa

        schema = pa.schema([self._dataset.schema.field(name) for name in self._used])
        table = pa.Table.from_batches(batches, schema)
        y, weights = (
            table.column(given) if isinstance(given, str) else None if given is None else given[start:][: len(table)]
            for given in (self._y, self._weights)
        )
        return Part(
            table.select(self._features), y, None if weights is None else np.asarray(weights, np.float64), label
        )


def _label(fragment: Any) -> str:
    return f"'{getattr(fragment, 'path', 'a table in memory')}'"


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
        return cls(parts, (*names, target), sample_weight is not None, features or ())

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
