"""Partitions of Spark frames, which executors look at through batches of Arrow; what they find adds up here.

What is made of a partition is one file of bytes. It is persisted as rows of a frame, a piece of it in each, so that
Spark makes it again where an executor is lost. It also lies in the folder in which the executor keeps blocks, and is
mapped from there: bytes that went through Java in every step would take longer than counting.
"""

from __future__ import annotations

import mmap
import os
import pickle
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from threading import Thread
from typing import Any
from uuid import uuid4
from weakref import finalize

import numpy as np

from unirel._runtime import call_apart
from unirel.data import Positions
from unirel.data.chunks import Coded, RowsOfPart, Stored
from unirel.data.encoding import empty_matrices
from unirel.data.parts import Add, Function, Part, Rows, ask, selected_names

Batches = Iterator[Any]
Parts = Callable[[Batches], Iterator[tuple[int, Any]]]

# What tasks give: the number of a partition, the place of a piece or of a column, and bytes.
_CELLS = "part int, place int, data binary"
# Bytes of a piece of a file.
_PIECE = 2**18
# What files hold, by the number at their beginning.
_KINDS: list[type[Stored]] = [Coded, RowsOfPart]


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    given = [("y", y)] if sample_weight is None else [("y", y), ("sample_weight", sample_weight)]
    taken = [_name_of(X, one, parameter) for parameter, one in given]
    features = [name for name in X.columns if name not in taken]
    if not features:
        raise ValueError("X has 0 feature(s) beside the target while a minimum of 1 is required.")
    level = X.storageLevel
    names, is_cached = (*features, taken[0]), level.useMemory or level.useDisk
    # Under plain names: Spark asks for columns by name when it hands them out, and takes a dot for a field.
    columns = (f"{_quoted(name)} AS c{place}" for place, name in enumerate([*features, *taken]))
    return SparkRows(X.selectExpr(*columns), names, len(taken) > 1, is_cached)


def take_columns(X: Any, selector: Any) -> Any:
    """The selected columns, not computed yet."""
    return X.select(*map(_quoted, selected_names(selector, X.columns)))


def _quoted(name: str) -> str:
    """A name as Spark takes it if it has dots."""
    return f"`{name.replace('`', '``')}`"


def _name_of(X: Any, given: Any, parameter: str) -> str:
    """The name of a column that was given by it."""
    if not isinstance(given, str):
        raise TypeError(f"X is a Spark frame, but {parameter} is a {type(given).__name__}; name a column of X")
    if given not in X.columns:
        listed = ", ".join(map(repr, X.columns[:10]))
        raise ValueError(f"{parameter}={given!r} is no column of X; the columns are {listed}")
    return given


class SparkRows(Rows):
    """Partitions of a frame, or what was made of them, under a key; those without rows are no parts."""

    has_names = True

    def __init__(
        self,
        frame: Any,
        names: tuple[str, ...] = (),
        weighted: bool = False,
        is_cached: bool = False,
        key: str = "",
        sizes: dict[int, int] | None = None,
    ) -> None:
        super().__init__(None, names, weighted)
        self._frame, self._key, self._is_cached = frame, key, is_cached
        self._sizes: dict[int, int] = {} if sizes is None else sizes  # rows of every part, once one pass is over
        self._end: finalize[Any, Any] | None = None

    @property
    def _persisted(self) -> Any:
        """The frame, which Spark computes once: rows that were shuffled again could come in another order."""
        if not self._is_cached and (self._end is None or not self._end.alive):
            self._frame = self._frame.persist()
            self._end = finalize(self, _forget_apart, self._frame, self._key)
            self._end.atexit = False  # Spark may have ended before, and then has forgotten all.
        return self._frame

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        own = None if each is None else dict(zip(sorted(self._sizes), each, strict=True))
        look, frame = partial(_look, function=function, each=own), self._persisted
        if not self._key:
            read = partial(_read, names=self.names)
            return self._results(_collect(frame, partial(_ask, frame, partial(look, parts=read))), each is None)
        # Only the numbers of the partitions are sent where their files are, and the bytes where they are not.
        held, sent = partial(_held, key=self._key), partial(_sent, key=self._key)
        found = _collect(frame, lambda: self._numbers.mapPartitions(partial(look, parts=held)).collect())
        if missing := [part for part, data in found.items() if data is None]:
            wanted = frame.filter(frame["part"].isin(missing))
            found |= _collect(frame, partial(_ask, wanted, partial(look, parts=sent)))
        return self._results(found, each is None)

    @cached_property
    def _numbers(self) -> Any:
        """The numbers of the partitions as rows: less work for Spark than batches where there are so few."""
        return self._persisted.select("part").rdd

    def _results(self, found: dict[int, Any], is_all: bool) -> list[Any]:
        """What was found, by the number of the part; refuse parts that have changed."""
        results = [found[part] for part in sorted(found)]
        for result, _ in results:
            if isinstance(result, Exception):
                raise result
        sizes = {part: n_rows for part, (_, n_rows) in found.items()}
        if not sizes:
            raise ValueError("X has 0 sample(s): the frame has no rows; pass another one")
        self._sizes.update({} if self._sizes else sizes)
        if not sizes.items() <= self._sizes.items() or (is_all and len(sizes) < len(self._sizes)):
            raise ValueError("X has other rows than before; write it to files, or call X.checkpoint(), and pass that")
        return [result for result, _ in results]

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        return add(self.map(function))

    def keep(self, function: Function) -> Rows:
        key, read = uuid4().hex, partial(_read, names=self.names)
        return self._made(
            self._persisted.mapInArrow(partial(_make, parts=read, function=function, key=key), _CELLS), key
        )

    def _made(self, frame: Any, key: str) -> SparkRows:
        kept = SparkRows(frame, key=key, sizes=self._sizes)
        try:
            kept.map(_nothing)
        except BaseException:
            kept.close()
            raise
        return kept

    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> Rows:
        # Columns are brought together by one shuffle, each in one task, and go back by another.
        frame, key, columns = self._persisted, uuid4().hex, np.concatenate(blocks)
        taken = frame.mapInArrow(partial(_take, key=self._key, take=take, columns=columns), _CELLS)
        together = taken.repartition(len(self._sizes), "place").sortWithinPartitions("place", "part")
        encoded = together.mapInArrow(partial(_encode, encode=encode), _CELLS)
        before = frame.withColumn("place", -1 - frame["place"])  # below all columns
        both = before.union(encoded).repartition(len(self._sizes), "part").sortWithinPartitions("part", "place")
        return self._made(both.mapInArrow(partial(_put, put=put, key=key), _CELLS), key)

    def rest(self) -> None:
        self.close()

    def close(self) -> None:
        """Let Spark forget what it keeps, and delete files; a frame is persisted again if it is read again."""
        ended = self._end.detach() if self._end is not None else None
        self.__dict__.pop("_numbers", None)
        if ended is not None:
            _forget(*ended[2])


def _ask(frame: Any, look: Function) -> Any:
    return frame.mapInArrow(partial(_as_cells, look=look), _CELLS).select("part", "data").collect()


def _collect(frame: Any, job: Callable[[], Any]) -> dict[int, Any]:
    """What the tasks of a job find in parts; one that nobody waits for any more is cancelled."""
    from pyspark import inheritable_thread_target

    context, tag = frame.sparkSession.sparkContext, f"unirel-{uuid4().hex}"

    def run() -> Any:
        context.addJobTag(tag)
        return job()

    try:
        found = call_apart(inheritable_thread_target(run))
    except BaseException as error:
        context.cancelJobsWithTag(tag)
        if missing := re.search("No module named '[^']+'", str(error)):
            remedy = "let PYSPARK_PYTHON name one that has what unirel needs before the session starts"
            raise ImportError(f"the Python of Spark's workers says: {missing[0]}; {remedy}") from None
        raise
    return {part: pickle.loads(data) for part, data in found}


def _forget_apart(*arguments: Any) -> None:
    """In a thread of its own: a frame may be given up in the middle of another call of Java."""
    Thread(target=_forget, args=arguments, daemon=True).start()


def _forget(frame: Any, key: str) -> None:
    with suppress(Exception):  # Spark may have ended: then it has deleted all.
        if key:
            n_tasks = frame.sparkSession.sparkContext.defaultParallelism
            tasks = frame.sparkSession.range(0, n_tasks, 1, n_tasks)
            tasks.mapInArrow(partial(_remove, key=key), _CELLS).collect()
        frame.unpersist()


# What follows runs on executors.


def _look(
    rows: Iterator[Any], *, parts: Parts, function: Function, each: dict[int, Any] | None = None
) -> Iterator[tuple[int, bytes]]:
    """What a function finds in parts, and their rows; None for a part that is not here."""
    for number, part in parts(rows):
        if each is not None and each.get(number) is None:
            continue
        found: Any = None
        if part is not None:
            n_rows = part.matrices[0].shape[1] if isinstance(part, Stored) else len(part.y)
            try:  # What is wrong with values will be wrong again, so that Spark need not try.
                found = ask(part, *([] if each is None else [each[number]]), function=function), n_rows
            except (ValueError, TypeError) as error:
                found = error, n_rows
        yield number, pickle.dumps(found)


def _as_cells(batches: Batches, *, look: Function) -> Iterator[Any]:
    yield from (_cell(number, 0, data) for number, data in look(batches))


def _nothing(part: Stored) -> None:
    """What is asked of parts that only have to be made."""


def _cell(part: int, place: int, data: bytes) -> Any:
    import pyarrow as pa

    columns = [pa.array([part], pa.int32()), pa.array([place], pa.int32()), pa.array([data], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["part", "place", "data"])


def _read(batches: Batches, *, names: tuple[str, ...]) -> Iterator[tuple[int, Part]]:
    """All rows of a partition as one part."""
    import pyarrow as pa
    from pyspark import TaskContext

    some = [batch for batch in batches if batch.num_rows]
    if some:
        table, number = pa.Table.from_batches(some), TaskContext.get().partitionId()
        y, *weights = table.columns[len(names) - 1 :]
        own = np.asarray(weights[0], np.float64) if weights else None
        X = pa.Table.from_arrays(table.columns[: len(names) - 1], names[:-1])
        yield number, Part(X, y, own, f"partition {number}")


def _held(rows: Iterator[Any], *, key: str) -> Iterator[tuple[int, Stored | None]]:
    """Parts whose files are here; None where there is no file."""
    for number in dict.fromkeys(row.part for row in rows):
        yield number, _load(key, number) if os.path.exists(_path(key, number)) else None


def _sent(batches: Batches, *, key: str) -> Iterator[tuple[int, Stored]]:
    """Parts that come here, whose files are here from now on."""
    for number, cells in groupby(_cells(batches), itemgetter(0)):
        _write(key, number, (cell[2] for cell in cells))
        yield number, _load(key, number)


def _cells(batches: Batches) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        part, place, data = batch.columns
        for row in range(batch.num_rows):
            yield part[row].as_py(), place[row].as_py(), data[row].as_py()


def _make(batches: Batches, *, parts: Parts, function: Function, key: str) -> Iterator[Any]:
    for number, part in parts(batches):
        yield from _save(function(part), key, number)


def _take(batches: Batches, *, key: str, take: Function, columns: Positions) -> Iterator[Any]:
    """What is needed of every column of parts, each under its number."""
    for number, part in _sent(batches, key=key):
        for column in columns.tolist():
            yield _cell(number, column, pickle.dumps(take(part, np.array([column]))))


def _encode(batches: Batches, *, encode: Function) -> Iterator[Any]:
    """What is to be put into parts in the place of columns, all parts of each of which have come here."""
    for column, cells in groupby(_cells(batches), itemgetter(1)):
        parts, _, taken = zip(*cells, strict=True)
        for part, found in zip(parts, encode(list(map(pickle.loads, taken)), np.array([column])), strict=True):
            yield _cell(part, column, pickle.dumps(found))


def _put(batches: Batches, *, put: Function, key: str) -> Iterator[Any]:
    """Parts in which columns are changed; pieces of their files come first, the last one first."""
    for number, cells in groupby(_cells(batches), itemgetter(0)):
        pieces, part = list[bytes](), None
        for _, place, data in cells:
            if place < 0:
                pieces.append(data)
                continue
            if part is None:
                _write(key, number, reversed(pieces))
                part = _load(key, number)
            part = put(part, np.array([place]), pickle.loads(data))
        yield from _save(part, key, number)


def _remove(batches: Batches, *, key: str) -> Iterator[Any]:
    shutil.rmtree(os.path.dirname(_path(key, 0)), ignore_errors=True)
    yield from (batch for batch in batches if batch is None)  # Spark ends a worker that does not read all it gets.


def _path(key: str, number: int) -> str:
    """Where the file of a part is: among the blocks of the executor, which Spark deletes when it ends."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]
    return os.path.join(folder, f"unirel-{key}", str(number))


def _write(key: str, number: int, pieces: Iterable[Any]) -> None:
    path = _path(key, number)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor, new = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)
    os.replace(new, path)  # Another task never sees half of it.


def _save(part: Any, key: str, number: int) -> Iterator[Any]:
    """Write the file of a part, and give its pieces."""
    n_rows = part.matrices[0].shape[1]
    header = [_KINDS.index(type(part)), n_rows, part.weights is not None, len(part.layout), *part.layout.tolist()]
    # From wide to narrow numbers, so that all are where the processor wants them.
    weights = [] if part.weights is None else [part.weights]
    _write(key, number, [np.array(header, np.int64), *weights, *reversed(part.matrices)])
    part.release()
    with open(_path(key, number), "rb") as file:
        for place, data in enumerate(iter(partial(file.read, _PIECE), b"")):
            yield _cell(number, place, data)


def _load(key: str, number: int) -> Stored:
    """A part in its file."""
    with open(_path(key, number), "r+b") as file:  # Kernels are compiled for arrays that can be written to.
        memory = mmap.mmap(file.fileno(), 0)
    kind: int
    kind, n_rows, is_weighted, n_columns = np.frombuffer(memory, np.int64, 4).tolist()
    layout, start = np.frombuffer(memory, np.int64, n_columns, 32).copy(), 32 + 8 * n_columns
    shapes: list[Any] = [((int(layout.sum()), n_rows), np.float64)]
    if _KINDS[kind] is Coded:
        shapes = empty_matrices(layout, n_rows, lambda shape, dtype: (shape, dtype))
    arrays = []
    for shape, dtype in [((n_rows,), np.float64)] * is_weighted + shapes[::-1]:
        arrays.append(np.ndarray(shape, dtype, memory, start))
        start += arrays[-1].nbytes
    weights = arrays.pop(0) if is_weighted else None
    return _KINDS[kind](layout, arrays[::-1], weights)
