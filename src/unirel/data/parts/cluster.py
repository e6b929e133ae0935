"""Parts of rows on a cluster: partitions of a Dask collection, coded where they are; only tables come here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np

from unirel.data.parts.plan import CodingPlan
from unirel.data.parts.rows import RowPlan, RowsOfPart
from unirel.data.parts.scan import Part
from unirel.data.parts.table import Coded, Found, Kept, Parts, Values

# Results that are added up by one task, and values that are brought together on a worker.
_WIDTH, _VALUES = 8, 2**24


def connect(address: str) -> Any:
    """A client of a running cluster, which all that follows uses; it is closed when the process ends."""
    from distributed import Client

    return Client(address, timeout="10s")


class DaskParts(Parts):
    """Partitions, not computed yet.

    Parameters
    ----------
    parts : list of delayed
        Each a `Part`.
    names : tuple of str
        Features and, last, the target.
    weighted : bool
        Whether rows have weights.
    """

    def __init__(self, parts: list[Any], names: tuple[str, ...], weighted: bool) -> None:
        self._parts, self.names, self.weighted = parts, names, weighted

    @classmethod
    def of_collection(cls, X: Any, y: Any, sample_weight: Any, taken: Collection[str]) -> DaskParts:
        """The partitions of a frame or an array, and of a target and weights that are cut at the same rows."""
        from dask import delayed

        frame = hasattr(X, "columns")
        features = [name for name in X.columns if str(name) not in taken] if frame else None
        if frame and not features:
            raise ValueError("X has 0 feature(s) beside the target while a minimum of 1 is required.")
        X = X if frame else X.rechunk({1: -1})
        pieces = np.ravel(X.to_delayed()).tolist()
        sides = [_pieces_of(one, name, X, pieces) for one, name in ((y, "y"), (sample_weight, "sample_weight"))]
        make = delayed(make_part, pure=False)
        parts = [
            make(*three, features, f"partition {number}")
            for number, three in enumerate(zip(pieces, *sides, strict=True))
        ]
        names = map(str, features) if features is not None else (f"x{place}" for place in range(X.shape[1]))
        target = y if isinstance(y, str) else getattr(y, "name", None)
        return cls(parts, (*names, target if frame and isinstance(target, str) else "y"), sample_weight is not None)

    @classmethod
    def of_files(
        cls, dataset: Any, y: str, sample_weight: str | None = None, without: Collection[str] = ()
    ) -> DaskParts:
        """Row groups of the files of a dataset, which the workers read themselves."""
        from dask import delayed

        from unirel.data.parts.files import FileParts

        names = FileParts(dataset, y, sample_weight, without).names
        read = delayed(read_group, pure=False)
        parts = []
        for fragment in dataset.get_fragments():
            groups = [group.id for group in fragment.row_groups] if hasattr(fragment, "row_groups") else [None]
            parts += [read(fragment.path, group, names, sample_weight) for group in groups]
        return cls(parts, names, sample_weight is not None)

    def look(self, function: Callable[..., Found], each: Sequence[Any] | None = None) -> list[Found]:
        """What a function finds in every part, in their order."""
        import dask

        ask = dask.delayed(function, pure=False, traverse=False)
        if each is None:
            return list(dask.compute(*(ask(part) for part in self._parts)))
        chosen = [(part, own) for part, own in zip(self._parts, each, strict=True) if own is not None]
        return list(dask.compute(*(ask(part, dask.delayed(own, traverse=False)) for part, own in chosen)))

    def add(self, function: Callable[[Part], Found], add: Callable[[list[Found]], Found]) -> Found:
        """What a function finds in every part, added up on the cluster."""
        found: Found = _add_up(function, add, self._parts).compute()
        return found

    def keep(
        self, plan: CodingPlan, n_rows: Sequence[int], grid: Callable[[Values], Values], scratch: Any
    ) -> KeptByDask:
        """Code all partitions; each stays on the worker that codes it."""
        import dask

        everywhere = dask.delayed(partial(code_part, plan=plan, grid=grid, scratch=scratch), pure=False, traverse=False)
        return KeptByDask(list(dask.persist(*(everywhere(part) for part in self._parts))))

    def keep_rows(self, plan: RowPlan, n_rows: Sequence[int], scratch: Any) -> KeptByDask:
        """Bring all parts of a few columns together on a worker, and what comes out back to where the parts are."""
        from dask import delayed, persist

        shared, size = delayed(plan, traverse=False), max(1, _VALUES // sum(n_rows))
        blocks = [plan.columns[start : start + size] for start in range(0, len(plan.columns), size)]
        take, encode, keep = (
            delayed(function, pure=False, traverse=False)
            for function in (RowPlan.take, RowPlan.encode_pieces, RowsOfPart.of)
        )
        encoded = [encode(shared, [take(shared, part, some) for part in self._parts], some) for some in blocks]
        numbers = range(len(self._parts))
        return KeptByDask(list(persist(*(keep(n, [block[n] for block in encoded], scratch) for n in numbers))))


class KeptByDask(Kept):
    """Partitions, coded or encoded, on workers; one that is lost with its worker is made again by Dask."""

    def __init__(self, parts: list[Any]) -> None:
        from distributed import futures_of

        self._parts = parts
        self._futures = [future for part in parts for future in futures_of(part)]  # none without a cluster
        self._groups: list[tuple[list[str], list[Any]]] = []
        self._looked = 0.0

    def ask(self, function: Callable[[Any], Any], add: Callable[[list[Any]], Any]) -> Any:
        """What a function finds in every partition, added up on the cluster.

        A task for each thread of a worker, however many partitions it has: tasks cost more than small tables do.
        """
        if not self._futures:
            return super().ask(function, add)
        import dask

        client, groups = self._futures[0].client, self._find_groups()
        keys = [f"ask-parts-{uuid4()}" for _ in groups]
        places = {key: workers for key, (workers, _) in zip(keys, groups, strict=True)}
        # Elsewhere only if that worker is gone.
        with dask.annotate(workers=places.get, allow_other_workers=True):
            found = client.map(partial(ask_parts, function=function, add=add), [own for _, own in groups], key=keys)
        while len(found) > _WIDTH:
            found = client.map(add, [found[at : at + _WIDTH] for at in range(0, len(found), _WIDTH)], pure=False)
        return add(client.gather(found))

    def bring(self, function: Callable[[Any], Any]) -> list[Any]:
        """What a function finds in every partition, in their order."""
        import dask

        ask = dask.delayed(partial(ask_part, function=function), pure=False, traverse=False)
        return list(dask.compute(*map(ask, self._parts)))

    def close(self) -> None:
        """Let the workers forget the codes."""
        self._parts, self._futures, self._groups = [], [], []

    def _find_groups(self) -> list[tuple[list[str], list[Any]]]:
        """Partitions in a group for each thread of the worker that has them, and that worker; alone if none has.

        It is looked up again after a second only: the question takes as long as a short step.
        """
        if self._groups and all(workers for workers, _ in self._groups) and monotonic() < self._looked + 1.0:
            return self._groups
        client = self._futures[0].client
        held: dict[tuple[str, ...], list[Any]] = {}
        places, n_threads = client.who_has(self._futures), client.nthreads()
        for future in self._futures:
            held.setdefault(tuple(places[future.key])[:1], []).append(future)
        self._groups, self._looked = [], monotonic()
        for workers, own in held.items():
            size = min(n_threads.get(workers[0], len(own)) if workers else len(own), len(own))
            self._groups += [(list(workers), own[at::size]) for at in range(size)]
        return self._groups


def ask_parts(parts: list[Any], *, function: Callable[[Any], Any], add: Callable[[list[Any]], Any]) -> Any:
    """What a function finds in some partitions, added up."""
    return add([ask_part(part, function=function) for part in parts])


def ask_part(part: Any, *, function: Callable[[Any], Any]) -> Any:
    """What a function finds in a partition, which leaves memory then."""
    found = function(part)
    part.files.release()
    return found


def _add_up(function: Callable[..., Any], add: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """A tree of tasks: one for each part, and one for every few results."""
    from dask import delayed

    ask, join = delayed(function, pure=False, traverse=False), delayed(add, pure=False, traverse=False)
    found = [ask(part) for part in parts]
    while len(found) > 1:
        found = [join(found[start : start + _WIDTH]) for start in range(0, len(found), _WIDTH)]
    return join(found)


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


def make_part(X: Any, y: Any, weights: Any, features: list[Any] | None, label: str) -> Part:
    """A part of a partition of every collection, or of columns of the first."""
    weights = X[weights] if isinstance(weights, str) else weights
    y = X[y] if isinstance(y, str) else y
    return Part(X if features is None else X[features], y, None if weights is None else np.asarray(weights), label)


def read_group(path: str, group: int | None, names: tuple[str, ...], weights: str | None) -> Part:
    """A row group of a Parquet file, or an Arrow file."""
    import pyarrow as pa
    from pyarrow import feather
    from pyarrow import parquet as pq

    label = f"'{path}'"
    columns = [*names, *([] if weights is None else [weights])]
    try:
        table = feather.read_table(path) if group is None else pq.ParquetFile(path).read_row_group(group)
        known = set(table.column_names)
        absent = [name for name in columns if name not in known]
        if absent:
            raise ValueError(f"the schema changes: {label} has no column {absent[0]!r}; give all files the same")
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"{label} cannot be read: {' '.join(str(error).split())[:160]}") from None
    own = None if weights is None else table.column(weights).to_numpy()
    return Part(table.select(list(names[:-1])), table.column(names[-1]), own, label)


def code_part(part: Part, *, plan: CodingPlan, grid: Callable[[Values], Values], scratch: Any) -> Coded:
    """The codes of a part, on the disk of its worker."""
    coded = Coded.empty(plan.n_levels, len(part.y), part.weights is not None, scratch)
    coded.write(0, part, plan, grid)
    return coded
