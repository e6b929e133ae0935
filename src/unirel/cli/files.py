"""Tables from files: what a file is, its first bytes say, not its name; nothing is ever unpickled."""

import csv
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow
from pyarrow import feather

from unirel.cli import BadInput
from unirel.cli.columns import with_points
from unirel.cli.options import File, listed, split_names, suggest

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
ADDRESS = re.compile(r"(delta|iceberg|duckdb):|[a-z][a-z0-9+.-]*://", re.IGNORECASE)
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


class FileTable(NamedTuple):
    table: Any  # pyarrow.Table
    format: str
    delimiter: str = ","
    decimal: str = "."


def shown_name(name: str, folder: bool = True) -> str:
    """A name as text, also if it is not UTF-8, without its folder if asked; an address without its secrets."""
    if ADDRESS.match(name):
        from unirel.data.addresses import without_secrets

        return without_secrets(name)
    return os.fsencode(name if folder else Path(name).name).decode("utf-8", "replace")


def read_table(file: File, columns: list[str] | None = None, as_text: bool = False) -> FileTable:
    """Read a file, or standard input for ``-``; only some columns if they are named, text as it is if wanted."""
    label = "standard input" if file.data == "-" else f"'{shown_name(file.data)}'"
    try:
        with _open(file.data, label) as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(0)
            limit = largest(size, file.any_size)
            stream = _decompressed(opened, limit, label)
            head = stream.read(_SAMPLE)
            stream.seek(0)
            kind = kind_of_file(head, shown_name(file.data), file.encoding, label)
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
    if not os.path.exists(name) and ADDRESS.match(name):
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
        check_size(content.tell(), limit, label)
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


def largest(size: int, any_size: bool) -> float:
    """Bytes that a file of a size may become."""
    return float("inf") if any_size else max(_EXPANDED, _TIMES * size)


def check_size(size: float, limit: float, label: str) -> None:
    if size > limit:
        about = f"{label} becomes larger than {limit / 2**20:,.0f} MB when it is decompressed"
        raise BadInput(f"{about}, far more than tables do; if it is one, pass --any-size")


def size_in_memory(source: Any, limit: float) -> int:
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


def kind_of_file(head: bytes, name: str, encoding: str, label: str) -> str:
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
        check_size(size_in_memory(stream, limit), limit, label)
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
