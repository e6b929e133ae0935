"""Datasets of Arrow and whatever gives streams of it, whose batches are read in this process, one after the other.

What may not give the same rows in the same order a second time is read once, and written to a file without a name as
the first look goes over it; the other looks read that file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from weakref import finalize

import narwhals.stable.v2 as nw
import numpy as np

from unirel._runtime import warn
from unirel.data.naming import find_columns
from unirel.data.parts import Part, Rows, no_room, selected_names

# Values of a dataset that are read at a time.
_BATCH = 2**23


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    return ArrowRows(dataset_of(X), y, sample_weight)


def take_columns(X: Any, selector: Any) -> Any:
    """The selected columns, not read yet: a scanner of a dataset, a reader of a stream."""
    dataset = dataset_of(X)
    names = selected_names(selector, dataset.schema.names)
    return dataset.reader(names) if isinstance(dataset, Stream) else dataset.scanner(columns=names)


def dataset_of(X: Any) -> Any:
    """A dataset, or a stream that is asked like one."""
    X = nw.to_native(X, pass_through=True)
    if hasattr(type(X), "to_pyarrow_dataset"):  # a Delta table, whose files need not have all columns
        dataset = X.to_pyarrow_dataset()
        once = {"batch_readahead": 1, "fragment_readahead": 1}
        return Stream(lambda columns, n: dataset.scanner(columns, batch_size=n, **once).to_reader(), dataset.schema)
    if hasattr(X, "get_fragments"):
        return X
    if callable(X):
        return Stream(lambda *_: _reader_of(X()))
    if not hasattr(type(X), "collect_schema"):
        return Stream(lambda _, n_rows: _reader_of(X, n_rows), read_once=True)
    if not hasattr(X, "collect_batches"):
        raise TypeError(f"this {type(X).__name__} gives no batches; install a newer polars, or pass X.collect()")
    empty = X.collect_schema().to_frame().to_arrow()
    return Stream(lambda *given: _collect(X, *given), empty.schema, read_once=True)


def _reader_of(X: Any, n_rows: int = 2**16) -> Any:
    """A reader of the batches of anything that streams Arrow, about so many rows at a time if it can be told."""
    import pyarrow as pa

    X = X.scan() if hasattr(type(X), "scan") else X  # a table of Iceberg
    for method, given in (
        ("to_arrow_reader", [n_rows]),
        ("fetch_record_batch", [n_rows]),
        ("to_arrow_batch_reader", []),
    ):
        if hasattr(type(X), method):  # Older ones would have all rows in memory first if they were asked for a stream.
            return getattr(X, method)(*given)
    return X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)


def _collect(frame: Any, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Some columns of a lazy frame of polars, collected in batches."""
    for batch in frame.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True, lazy=True):
        yield from batch.to_arrow().to_batches()


class Stream:
    """What gives a reader of the same rows whenever it is asked for one, or only once: then they are kept in a file."""

    def __init__(self, open_reader: Callable[..., Any], schema: Any = None, read_once: bool = False) -> None:
        import pyarrow as pa

        self._open, self._read_once = open_reader, read_once
        self._first: Any = None
        if schema is None:  # The first reader is asked for its columns.
            self._first = open_reader([], 2**16)
            schema = self._first.schema
        self.schema = pa.schema([field.with_type(_plain_type(field.type)) for field in schema])
        self._file: Any = None  # of the rows
        self._n_rows = -1  # not known yet

    def reader(self, columns: Sequence[str]) -> Any:
        """A reader of some columns."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, self._read(schema, 2**16))

    def _read(self, schema: Any, n_rows: int) -> Iterator[Any]:
        """Batches as the source gives them, of types that are known well."""
        source, self._first = self._first or self._open(schema.names, n_rows), None
        yield from (_plain(batch, schema) for batch in source)

    def get_fragments(self) -> list[Stream]:
        return [self]

    def to_batches(self, columns: list[str], batch_size: int, **_: Any) -> Iterator[Any]:
        """All rows in the order in which they come, or came the first time."""
        n_rows = 0
        for batch in self._kept() if self._file else self._new(columns, batch_size):
            n_rows += batch.num_rows
            yield from (batch.slice(start, batch_size) for start in range(0, batch.num_rows, batch_size))
        if self._n_rows not in (-1, n_rows):
            raise ValueError(f"X gave {self._n_rows} rows, then {n_rows}; give the same whenever they are asked for")
        self._n_rows = n_rows

    def _new(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Batches as they come, which are written to a file if they do not come again."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        if not self._read_once:
            yield from self._read(schema, n_rows)
            return
        about = f"X is read once, and kept meanwhile in the folder of temporary files, {tempfile.gettempdir()!r}"
        warn(f"{about}; name another one in TMPDIR")
        file = tempfile.TemporaryFile(prefix="unirel-scratch-")  # Not even a kill leaves it behind.
        finalize(self, file.close)
        writer = pa.ipc.new_stream(pa.PythonFile(file, "w"), schema)
        for batch in self._read(schema, n_rows):
            try:
                writer.write_batch(batch)
                file.flush()
            except OSError as error:
                raise no_room(file.tell() + batch.nbytes, error) from None
            yield batch
        self._file = file

    def _kept(self) -> Iterator[Any]:
        import pyarrow as pa

        self._file.seek(0)
        yield from pa.ipc.open_stream(pa.PythonFile(self._file, "r"))


def _plain_type(kind: Any) -> Any:
    """The type that has the same values and is older than views, which few functions know."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    return pa.large_string() if str(kind) == "string_view" else kind


def _plain(batch: Any, schema: Any) -> Any:
    import pyarrow as pa

    def change(column: Any, kind: Any) -> Any:
        if column.type == kind:
            return column
        if pa.types.is_dictionary(column.type):
            levels = change(column.dictionary, kind.value_type)
            return pa.DictionaryArray.from_arrays(column.indices, levels, ordered=kind.ordered)
        return column.cast(kind)

    return pa.record_batch([change(batch.column(field.name), field.type) for field in schema], schema=schema)


class ArrowRows(Rows):
    """Batches of a dataset or a stream of Arrow; target and weights are columns of it, by name, or arrays."""

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
        self.has_names = True

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
            raise ValueError("X has 0 sample(s): there are no rows; pass other files, or another query")
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
            if "KeyboardInterrupt" in str(error):  # in a source written in Python
                raise KeyboardInterrupt from None
            if isinstance(fragment, Stream):  # which has no name, and whose engine says what is wrong
                raise
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
