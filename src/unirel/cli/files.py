"""Tables from files: what a file is, its first bytes say, not its name; nothing is ever unpickled."""

import csv
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow
from pyarrow import feather

from unirel.cli import BadInput, Output
from unirel.cli.columns import leave_out_row_numbers, with_numbers, with_points
from unirel.cli.options import Data, File, find_names, listed, split_names, suggest

if TYPE_CHECKING:
    from unirel.data.table import Table
    from unirel.report import Origin

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
_ADDRESS = re.compile(r"(delta|iceberg|duckdb):|[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FORMATS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
_REFUSED = {b"PK\x03\x04": "zip or workbook", b"\x89HDF": "HDF5", b"\x93NUMPY": "numpy", b"%PDF": "PDF"}
# A compressed file may become this large, or this many times as large as it is: tables do by about ten times, and a
# few megabytes made to fill the memory by a thousand.
_EXPANDED, _TIMES = 2**28, 100
# Bytes of a value in memory, by the physical types of Parquet; of a text where it begins.
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 4}
# Bytes that are looked at; bytes of a block, which a row, and so a field, can be no longer than.
_SAMPLE, _BLOCK = 2**16, 2**24
_DELIMITERS = (",", ";", "\t", "|")
# Around names they are not meant; other characters that Python counts among blanks may be.
_BLANKS = " \t\r\n\u00a0"
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"]
# Names that people give to what they want to explain.
_TARGETS = {"target", "class", "label", "outcome", "y", "response", "result", "diagnosis", "species", "survived"}


@dataclass(frozen=True)
class Input:
    """Features and a target, where they come from, and the kinds of columns that were given."""

    X: Any  # pyarrow.Table, or parts of the rows
    y: Any
    origin: "Origin"
    names: Sequence[str]
    kinds: dict[str, Any]  # the parameters `discrete_features` and `target_type` of the library
    groups: Any = None  # labels of rows that belong together

    @property
    def about(self) -> dict[str, str]:
        return {"source": self.origin.source, "target": self.origin.target}

    def read(self) -> "Table":
        from unirel.data.table import open_table

        return open_table(self.X, self.y, **self.kinds, several=True)[0]


class FileTable(NamedTuple):
    table: Any  # pyarrow.Table
    format: str
    delimiter: str = ","
    decimal: str = "."


def open_data(data: Data, output: Output, in_parts: bool, several: bool) -> Input:
    name = data.data
    is_file = name == "-" or os.path.exists(name)
    if not is_file and _ADDRESS.match(name):
        X, y, origin = _open_address(data, output, in_parts)
    elif not is_file and any(mark in name for mark in "*?["):
        if not in_parts:
            raise BadInput(f"'{name}' names files that are read in parts, but this needs all rows; name one file")
        X, y, origin = _open_pattern(data)
    elif data.scheduler is not None:
        raise BadInput("--scheduler reads files in parts; pass a pattern in quotes, such as 'data/*.parquet'")
    elif not is_file and not any(mark in name for mark in "/\\."):
        X, y, origin = _open_dataset(data)
    else:
        X, y, origin = _open_file(data, output)
    from unirel.report import Origin

    if (n_targets := len(getattr(y, "column_names", [0]))) > 1 and not several:
        raise BadInput(f"--target names {n_targets} columns, but this explains one; name one of them")
    groups = origin.pop("groups", None)
    if data.row_groups is not None and groups is None:
        raise BadInput("--row-groups names a column of one file; pass a file")
    names = X.names[:-1] if isinstance(y, str) else X.column_names  # parts have the target as their last column
    kinds = {"discrete_features": data.discrete_features(names), "target_type": data.target_type}
    return Input(X, y, Origin(**origin), names, kinds, groups)


def _open_dataset(data: Data) -> tuple[Any, Any, dict[str, Any]]:
    from unirel.data.datasets import load

    name = data.data
    try:
        bunch = load(name)
    except ValueError as error:
        raise BadInput(f"there is no file '{name}', and {error}") from None
    if (asked := ", ".join(data.target or ["target"])) != "target":
        raise BadInput(f"--target: dataset '{name}' has one target, 'target', not {asked!r}")
    table = pa.table(list(bunch.data.T), list(bunch.feature_names))
    drop = find_names(data.drop, table.column_names, "--drop")
    lines = [f"from sklearn.datasets import load_{name}", f"X, y = load_{name}(return_X_y=True, as_frame=True)"]
    lines += [f"X = X.drop(columns={drop!r})"] if drop else []
    origin = {"source": name, "target": "target", "dropped": tuple(drop), "reading": tuple(lines)}
    return table.drop_columns(drop), bunch.target, origin


def _open_address(data: Data, output: Output, in_parts: bool) -> tuple[Any, Any, dict[str, Any]]:
    from unirel.data.addresses import is_in_parts, open_parts

    if not is_in_parts(data.data):
        return _open_file(data, output)
    shown = _as_text(data.data)
    if not in_parts:
        raise BadInput(f"'{shown}' is read in parts, but this needs all rows; name one file")
    source, lines = open_parts(data.data)
    return _open_parts(data, source, lines, shown)


def _open_pattern(data: Data) -> tuple[Any, str, dict[str, Any]]:
    """Files that are read in parts, here or on a cluster."""
    import pyarrow.dataset as ds

    files = sorted(glob(data.data, recursive=True))
    if not files:
        raise BadInput(f"there is no file '{data.data}'")
    kinds = [_kind(Path(file).open("rb").read(64), file, "utf-8", f"'{file}'") for file in files]
    for file, kind in zip(files, kinds, strict=True):
        if kind not in ("parquet", "arrow") or kind != kinds[0]:
            raise BadInput(f"'{file}' is {kind}; files that are read in parts must all be Parquet or all be Arrow")
    file = files[0]  # the schema is that of the first
    try:
        for file in files if kinds[0] == "parquet" else ():
            limit = _largest(os.path.getsize(file), data.any_size)
            _check_size(_size_in_memory(file, limit), limit, f"'{file}'")
        dataset = ds.dataset(files, format="parquet" if kinds[0] == "parquet" else "ipc")
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"'{file}' cannot be read: {error}") from None
    lines = ("import pyarrow.dataset as ds", "from glob import glob", f"ds.dataset(sorted(glob({data.data!r})))")
    return _open_parts(data, dataset, lines, _as_text(data.data))


def _open_parts(data: Data, source: Any, lines: tuple[str, ...], shown: str) -> tuple[Any, str, dict[str, Any]]:
    from unirel.data.arrow import ArrowRows, dataset_of
    from unirel.data.dask import DaskRows, connect

    dataset = dataset_of(source)
    (target, *others), drop = _check_columns(data, dataset.schema.names)
    if others:
        raise BadInput(f"--target names {1 + len(others)} columns, but files in parts can have one; name one of them")
    if data.drop_missing_target:
        raise BadInput("--drop-missing-target takes one file; leave out those rows when the files are written")
    if data.scheduler is None:
        parts: Any = ArrowRows(dataset, target, without=drop)
    else:
        try:
            connect(data.scheduler)
        except (OSError, ValueError, ImportError) as error:
            raise OSError(f"--scheduler {data.scheduler} cannot be reached: {error}") from None
        parts = DaskRows.of_files(dataset, target, without=drop)
    reading = (*lines[:-1], f"X, y = {lines[-1]}, {target!r}")
    origin = {"source": shown, "target": target, "dropped": tuple(drop), "reading": reading}
    return parts, target, origin


def _check_columns(data: Data, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The targets, and the columns to drop."""
    if not data.target:
        likely = next((name for name in names if _TARGETS & set(re.split(r"\W|_", name.lower()))), names[-1])
        known = f"it may be {likely!r}; the columns are {listed(names, 10)}"
        raise BadInput(f"name the column to explain with --target; {known}")
    targets, drop = find_names(data.target, names, "--target"), find_names(data.drop, names, "--drop")
    for target in targets:
        if target in drop:
            raise BadInput(f"--drop names the target {target!r}")
    return targets, drop


def _open_file(data: Data, output: Output) -> tuple[Any, Any, dict[str, Any]]:
    file = read_table(data)
    table, source = file.table, "standard input" if data.data == "-" else _as_text(data.data, folder=False)
    targets, drop = _check_columns(data, table.column_names)
    together = find_names(data.row_groups and [data.row_groups], table.column_names, "--row-groups")
    if len(together) > 1 or {*targets, *drop} & {*together}:
        raise BadInput(f"--row-groups {data.row_groups!r} must be one column beside the target that is not dropped")
    table, n_rows = with_numbers(table.drop_columns(drop), targets, output), table.num_rows
    if n_rows == 0:
        raise BadInput(f"'{source}' has names of columns but no rows")
    if data.drop_missing_target:
        for target in targets:
            table = table.filter(pc.invert(pc.is_null(table.column(target), nan_is_null=True)))
            if table.num_rows == 0:
                raise BadInput(f"the target {target!r} has no value at all")
        if table.num_rows < n_rows:
            output.note(f"left out {n_rows - table.num_rows} rows without a target")
    features = table.drop_columns([*targets, *together])
    ignored = leave_out_row_numbers(features, data.discrete_features(features.column_names), output)
    features = features.drop_columns(list(ignored))
    if features.num_columns == 0:
        raise BadInput(f"there is no column beside the target {listed(targets)} left")
    origin = {
        **{"source": source, "target": ", ".join(targets), "dropped": tuple(drop), "ignored": tuple(ignored.items())},
        "n_without_target": n_rows - table.num_rows,
        "reading": _snippet(data, file, targets, [*drop, *ignored, *together]),
    }
    if together:
        origin |= {"groups": table.column(together[0]).to_numpy()}
        origin["reading"] += (f"groups = data[{together[0]!r}]",)
    return features, table.select(targets) if len(targets) > 1 else table.column(targets[0]), origin


def _as_text(name: str, folder: bool = True) -> str:
    """A name as text, also if it is not UTF-8, without its folder if asked; an address without its secrets."""
    if _ADDRESS.match(name):
        from unirel.data.addresses import without_secrets

        return without_secrets(name)
    return os.fsencode(name if folder else Path(name).name).decode("utf-8", "replace")


def _snippet(data: Data, file: FileTable, targets: list[str], left_out: list[str]) -> tuple[str, ...]:
    """Lines of Python that read the same file."""
    arguments = [repr("data.csv" if data.data == "-" else _as_text(data.data, folder=False))]
    reader = {"parquet": "read_parquet", "text": "read_csv"}.get(file.format, "read_feather")
    if reader == "read_csv":
        dates = [one.name for one in file.table.schema if pa.types.is_date(one.type) or pa.types.is_timestamp(one.type)]
        given = {"sep": file.delimiter, "encoding": data.encoding, "decimal": file.decimal, "parse_dates": dates}
        given |= {"na_values": split_names(data.missing)}
        usual = {"sep": ",", "encoding": "utf-8", "decimal": ".", "parse_dates": [], "na_values": []}
        arguments += [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    lines = ["import pandas as pd", f"data = pd.{reader}({', '.join(arguments)})"]
    if data.drop_missing_target:
        lines.append(f"data = data.dropna(subset={targets!r})")
    chosen = targets if len(targets) > 1 else targets[0]
    return (*lines, f"X, y = data.drop(columns={[*targets, *left_out]!r}), data[{chosen!r}]")


def read_table(file: File, columns: list[str] | None = None, as_text: bool = False) -> FileTable:
    """Read a file, or standard input for ``-``; only some columns if they are named, text as it is if wanted."""
    label = "standard input" if file.data == "-" else f"'{_as_text(file.data)}'"
    try:
        with _open(file.data, label) as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(0)
            limit = _largest(size, file.any_size)
            stream = _decompressed(opened, limit, label)
            head = stream.read(_SAMPLE)
            stream.seek(0)
            kind = _kind(head, _as_text(file.data), file.encoding, label)
            if kind == "text":
                return _read_text(stream, head, file, label, columns, as_text)
            return FileTable(_read_binary(kind, _without_python(stream), columns, limit, label), kind)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise BadInput(f"{label} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open(name: str, label: str) -> Any:
    if name == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed, so there is nothing to read")
        return io.BytesIO(sys.stdin.buffer.read())
    if not os.path.exists(name) and _ADDRESS.match(name):
        from unirel.data.addresses import fetch

        return fetch(name)
    if not os.path.isfile(name):
        raise BadInput(f"{label} is a folder; name a file" if os.path.isdir(name) else f"there is no file {label}")
    return open(name, "rb")


def _decompressed(stream: Any, limit: float, label: str) -> Any:
    """The stream, or all that it holds in its compressed form, unless that is far more than tables hold."""
    compression = _by_start(stream.read(8), _COMPRESSED)
    stream.seek(0)
    if compression is None:
        return stream
    content, expanding = io.BytesIO(), pa.CompressedInputStream(pa.PythonFile(stream, "r"), compression)
    while content.write(expanding.read(_BLOCK)):
        _check_size(content.tell(), limit, label)
    content.seek(0)
    return content


def _without_python(stream: Any) -> Any:
    """The same for Arrow alone: a thread of it that asks for a stream of Python as the program ends would abort it."""
    try:
        return pa.OSFile(stream.name)
    except (AttributeError, UnicodeError):  # it is in memory, or its name is not UTF-8
        return pa.BufferReader(stream.read())


def _by_start(head: bytes, kinds: dict[bytes, str]) -> str | None:
    return next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)


def _largest(size: int, any_size: bool) -> float:
    """Bytes that a file of a size may become."""
    return float("inf") if any_size else max(_EXPANDED, _TIMES * size)


def _check_size(size: float, limit: float, label: str) -> None:
    if size > limit:
        about = f"{label} becomes larger than {limit / 2**20:,.0f} MB when it is decompressed"
        raise BadInput(f"{about}, far more than tables do; if it is one, pass --any-size")


def _size_in_memory(source: Any, limit: float) -> int:
    """Bytes that the values of a file take, or more than the limit: runs of equal values are stored as one."""
    # So are texts that are repeated. Where one of them might be so long that all are too many, they are counted as
    # places in their dictionaries, which take little memory.
    metadata = pq.ParquetFile(source).metadata
    size, long = 0, set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for place in range(group.num_columns):
            chunk = group.column(place)
            width = _WIDTHS.get(chunk.physical_type) or metadata.schema.column(place).length
            size += max(chunk.total_uncompressed_size, chunk.num_values * width)
            if chunk.physical_type == "BYTE_ARRAY" and chunk.num_values * chunk.total_uncompressed_size > limit:
                long.add(chunk.path_in_schema)
    if size <= limit and long:
        coded = pq.ParquetFile(source, read_dictionary=sorted(long))
        for group in range(metadata.num_row_groups):
            size += sum(map(_size_of_texts, coded.read_row_group(group, sorted(long)).columns))
    return size


def _size_of_texts(column: Any) -> int:
    size = 0
    for chunk in column.chunks:
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
            size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return size


def _kind(head: bytes, name: str, encoding: str, label: str) -> str:
    """Format of a file by its first bytes; refuse what is no table."""
    if not head.strip():
        raise BadInput(f"{label} is empty")
    if kind := _by_start(head, _FORMATS):
        return kind
    if refused := "pickle" if re.match(rb"\x80[\x00-\x05]", head) else _by_start(head, _REFUSED):
        raise BadInput(f"{label} is a {refused} file, which is not read; save the table as CSV or Parquet")
    if promised := next((SUFFIXES[part] for part in reversed(Path(name.lower()).suffixes) if part in SUFFIXES), None):
        raise BadInput(f"{label} is no {promised.capitalize()} file, whatever its name says")
    wide = encoding.lower().startswith(("utf-16", "utf-32"))
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and not wide:
        raise BadInput(f"{label} is UTF-16; read it with --encoding utf-16")
    if b"\x00" in head and not wide:
        raise BadInput(f"{label} is neither text nor Parquet nor Arrow, it holds binary data")
    return "text"


def _read_binary(kind: str, stream: Any, columns: list[str] | None, limit: float, label: str) -> Any:
    if kind == "parquet":
        _check_size(_size_in_memory(stream, limit), limit, label)
        file = pq.ParquetFile(stream)
        return file.read(columns=_wanted(columns, file.schema_arrow.names, label))
    table = pa.ipc.open_stream(stream).read_all() if kind == "arrow stream" else feather.read_table(stream)
    wanted = _wanted(columns, table.column_names, label)
    return table if wanted is None else table.select(wanted)


def _wanted(columns: list[str] | None, names: Sequence[str], label: str) -> list[str] | None:
    """The columns asked for, None for all, each of which must be there once."""
    times = Counter(names)
    if missing := [column for column in columns or () if column not in times]:
        hint = f"for {missing[0]!r}, {suggest(missing[0], names)}"
        raise BadInput(f"{label} lacks columns that were selected: {listed(missing, 20)}; {hint}")
    if repeated := [name for name in (times if columns is None else columns) if times[name] > 1]:
        raise BadInput(f"duplicate column names: {', '.join(map(repr, repeated[:10]))}; rename or remove them")
    return columns


def _read_text(stream: Any, head: bytes, file: File, label: str, columns: list[str] | None, as_text: bool) -> FileTable:
    sample = head.decode(file.encoding, "replace").lstrip("\ufeff")
    delimiter = file.separator or find_delimiter(sample)
    decimal = file.decimal or find_decimal(sample, delimiter)
    try:
        names = _header(stream, file.encoding, delimiter)
        read = arrow.ReadOptions(encoding=file.encoding, block_size=max(_BLOCK, stream.tell()))
        # The header has been read and is passed over: pyarrow would not cut blanks or name what has no name.
        read.column_names, read.skip_rows_after_names = names, 1
        stream.seek(0)
        convert = arrow.ConvertOptions(
            null_values=[*_MISSING, *split_names(file.missing)],
            strings_can_be_null=not as_text,
            decimal_point=decimal,
            include_columns=_wanted(columns, names, label),
            column_types=dict.fromkeys(names, pa.string()) if as_text else None,
        )
        parse = arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        table = arrow.read_csv(_without_python(stream), read, parse, convert)
    except (UnicodeError, pa.ArrowInvalid, csv.Error) as problem:
        if isinstance(problem, UnicodeError) or "UTF8" in str(problem):
            raise BadInput(f"{label} is not {file.encoding}; say what it is with --encoding, such as cp1252") from None
        long = "straddles" in str(problem) or "field larger" in str(problem)
        why = f"a row is longer than {_BLOCK // 2**20} MB, or a quote is never closed" if long else str(problem)[:160]
        raise BadInput(f"{label} is no well-formed text table: {why}") from None
    return FileTable(with_points(table) if as_text and decimal == "," else table, "text", delimiter, decimal)


def find_delimiter(sample: str) -> str:
    """The separator that cuts the first lines into equally many fields, more than one."""
    lines = _lines(re.sub(r'"(?:[^"]|"")*"', "", sample))

    def fit(delimiter: str) -> tuple[float, int]:
        counts = [line.count(delimiter) for line in lines] or [0]
        return counts.count(counts[0]) / len(counts) if counts[0] else 0.0, counts[0]

    return max(_DELIMITERS, key=fit)


def find_decimal(sample: str, delimiter: str) -> str:
    """A comma if that is no delimiter, and numbers of the first lines have one but none has a point."""
    cells = [cell.strip(' "') for line in _lines(sample)[1:] for cell in line.split(delimiter)]
    comma, point = (any(re.fullmatch(rf"[+-]?\d*{mark}\d+", cell) for cell in cells) for mark in (",", r"\."))
    return "," if delimiter != "," and comma and not point else "."


def _lines(sample: str) -> list[str]:
    """The first lines, without one that the sample cuts; tables know three ends of lines, Python's splitlines ten."""
    lines = [line for line in re.split(r"\r\n|\r|\n", sample, maxsplit=51)[:50] if line.strip(" ")]
    return lines[:-1] if len(lines) > 1 else lines


def _header(stream: Any, encoding: str, delimiter: str) -> list[str]:
    """Names of the columns; those without one are called by their position."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")
    limit = csv.field_size_limit(_BLOCK)
    try:
        first = next((row for row in csv.reader(text, delimiter=delimiter) if row), [])
    finally:
        csv.field_size_limit(limit)
        text.detach()
    names = [name.strip(_BLANKS) for name in first]
    taken = set(names)
    for position, name in enumerate(names):
        if not name:
            free = (f"column {position + 1}{'_' * n}" for n in count())
            names[position] = next(name for name in free if name not in taken)
            taken.add(names[position])
    return names
