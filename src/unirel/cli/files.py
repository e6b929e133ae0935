"""Tables from files: what a file is, its first bytes say, not its name; nothing is ever unpickled."""

import codecs
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from unirel.cli.exits import BadInput
from unirel.cli.options import DATA, flag

_DELIMITERS = (",", ";", "\t", "|")
# Enough for the names of some hundred thousand columns.
_SAMPLE = 2**21
# A field can be no longer than a block.
_BLOCK = 2**24
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
# A compressed file may become this large, or this many times as large as it is: tables do by about ten times, and a
# few megabytes made to fill the memory by a thousand.
_EXPANDED, _TIMES = 2**28, 100
_FORMATS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
_REFUSED = {
    b"PK\x03\x04": "a zip archive or a workbook",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a numpy file",
    b"%PDF": "a PDF file",
}
# Around names they are not meant; other characters that Python counts among blanks may be.
_BLANKS = " \t\r\n\u00a0"
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"]

_FOUND = "found if not given"
DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A CSV, TSV, Parquet or Arrow file, compressed or not; - for standard input; a pattern in quotes for "
        "Parquet or Arrow files that are read in parts; or the name of a dataset.",
    ),
]


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written; None is found out."""

    delimiter: Annotated[str | None, flag(DATA, f"Field separator; {_FOUND}.", "--delimiter", metavar="CHAR")] = None
    encoding: Annotated[str | None, flag(DATA, f"Encoding of text; {_FOUND}.", "--encoding", metavar="NAME")] = None
    decimal: Annotated[str | None, flag(DATA, f"Decimal mark, . or , ; {_FOUND}.", "--decimal", metavar="CHAR")] = None
    any_size: Annotated[bool, flag(DATA, "Read a compressed file however large it becomes.", "--any-size")] = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.separator) != 1:
            raise BadInput(f"--delimiter {self.delimiter!r} must be one character, or \\t for a tab")
        if self.decimal not in (None, ".", ","):
            raise BadInput(f"--decimal {self.decimal!r} must be . or ,")
        if self.encoding is not None:
            try:
                b"a".decode(self.encoding, "replace")  # some of what codecs know, such as base64, is no text
            except (LookupError, UnicodeError):
                raise BadInput(
                    f"--encoding {self.encoding!r} is not known as an encoding of text; try utf-8, cp1252 or utf-16"
                ) from None

    @property
    def separator(self) -> str:
        """The delimiter, a tab if it is spelt out; empty if it is not given."""
        return (self.delimiter or "").replace("\\t", "\t")


class MissingColumns(BadInput):
    """Columns that were asked for by name are not in the file."""


@dataclass
class FileTable:
    """A table as it was read, and how."""

    table: Any  # pyarrow.Table
    format: str
    delimiter: str = ","
    encoding: str = "utf-8"
    notes: list[str] = field(default_factory=list)


def read_table(source: str, text: TextFormat, columns: Sequence[str] | None = None, as_text: bool = False) -> FileTable:
    """Read a file, or standard input for ``-``; only some columns if they are named."""
    import pyarrow as pa

    label = "standard input" if source == "-" else f"'{source}'"
    try:
        opened = _opener(source, label, text.any_size)
        head = _head(opened)
        kind = _kind(head, "" if source == "-" else Path(source).name, label)
        if kind == "text":
            return _read_text(opened, head, text, label, columns, as_text)
        return FileTable(_read_binary(kind, opened, columns), kind)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise BadInput(f"{label} cannot be read: {getattr(error, 'strerror', None) or _shorten(error)}") from None


def open_dataset(pattern: str) -> Any:
    """The Parquet or Arrow files of a pattern, none of which is read yet; they are known by their first bytes."""
    from glob import glob

    import pyarrow as pa
    import pyarrow.dataset as ds

    files = sorted(glob(pattern, recursive=True))
    if not files:
        raise BadInput(f"there is no file '{pattern}'")
    kinds = {file: _kind(_first_bytes(file), Path(file).name, f"'{file}'") for file in files}
    first = kinds[files[0]]
    other = next((file for file, kind in kinds.items() if kind not in ("parquet", "arrow") or kind != first), None)
    if other is not None:
        raise BadInput(f"'{other}' is {kinds[other]}; files that are read in parts must all be Parquet or all be Arrow")
    try:
        return ds.dataset(files, format="parquet" if first == "parquet" else "ipc")
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"'{files[0]}' cannot be read: {_shorten(error)}") from None


def _first_bytes(file: str) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(64)


def _opener(source: str, label: str, any_size: bool) -> Callable[[], Any]:
    """A function that opens the source from its start, decompressed."""
    import pyarrow as pa

    content = sys.stdin.buffer.read() if source == "-" else b""
    if source != "-" and not Path(source).is_file():
        raise BadInput(f"{label} is a folder; name a file" if Path(source).is_dir() else f"there is no file {label}")

    def plain() -> Any:
        return pa.BufferReader(content) if source == "-" else pa.OSFile(source)

    start = plain().read(8)
    for magic, compression in _COMPRESSED.items():
        if start.startswith(magic):
            size = len(content) if source == "-" else Path(source).stat().st_size
            limit = math.inf if any_size else max(_EXPANDED, _TIMES * size)
            expanded = _expand(pa.CompressedInputStream(plain(), compression), limit, label)
            return lambda: pa.BufferReader(expanded)
    return plain


def _expand(stream: Any, limit: float, label: str) -> Any:
    """All that a stream holds, unless that is far more than a table of that size would hold."""
    import pyarrow as pa

    content = pa.BufferOutputStream()
    while part := stream.read(_BLOCK):
        content.write(part)
        if content.tell() > limit:
            about = f"{label} becomes larger than {limit / 2**20:,.0f} MB when it is decompressed"
            raise BadInput(f"{about}, far more than tables do; if it is one, pass --any-size")
    return content.getvalue()


def _head(opened: Callable[[], Any]) -> bytes:
    stream, parts, size = opened(), [], 0
    while size < _SAMPLE and (part := stream.read(_SAMPLE - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _kind(head: bytes, name: str, label: str) -> str:
    """Format of a file by its first bytes; refuse what is no table."""
    if not head.strip():
        raise BadInput(f"{label} is empty")
    suffixes = Path(name.lower()).suffixes
    promised = next((SUFFIXES[suffix] for suffix in reversed(suffixes) if suffix in SUFFIXES), None)
    for magic, kind in _FORMATS.items():
        if head.startswith(magic):
            return kind
    if head[0] == 0x80 and head[1:2] and head[1] <= 5:
        raise BadInput(f"{label} is a pickle, which can run any code when it is read; save the table as CSV or Parquet")
    for magic, what in _REFUSED.items():
        if head.startswith(magic):
            raise BadInput(f"{label} is {what}; save the table as CSV or Parquet")
    if promised is not None:
        raise BadInput(f"{label} is no {promised.capitalize()} file, whatever its name says")
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{label} is neither text nor Parquet nor Arrow, it holds binary data")
    return "text"


def _read_binary(kind: str, opened: Callable[[], Any], columns: Sequence[str] | None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = opened()
    if not stream.seekable():
        stream = pa.BufferReader(stream.read())
    if kind == "parquet":
        file = pq.ParquetFile(stream)
        return file.read(columns=None if columns is None else _present(columns, file.schema_arrow.names))
    if kind == "arrow stream":
        table = pa.ipc.open_stream(stream).read_all()
    else:
        from pyarrow import feather

        table = feather.read_table(stream)
    return table if columns is None else table.select(_present(columns, table.column_names))


def _present(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns asked for; an error names all that are missing, with what they may be called."""
    import difflib

    missing = [column for column in columns if column not in names]
    if missing:
        close = difflib.get_close_matches(missing[0], names, n=1)
        hint = f"; did you mean {close[0]!r} for {missing[0]!r}?" if close else ""
        word = "column" if len(missing) == 1 else "columns"
        raise MissingColumns(f"missing {word} {', '.join(map(repr, missing[:20]))}{hint}")
    return list(columns)


def _read_text(
    opened: Callable[[], Any],
    head: bytes,
    text: TextFormat,
    label: str,
    columns: Sequence[str] | None,
    as_text: bool,
) -> FileTable:
    """Read CSV, in the encoding that fits."""
    import pyarrow as pa

    known = text.encoding or ("utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None)
    for encoding in [known] if known else ["utf-8", "cp1252", "latin-1"]:
        delimiter = text.separator or find_delimiter(head.decode(encoding, "replace"))
        try:
            names = _header(head, encoding, delimiter, label)
            table = _parse_csv(opened(), delimiter, encoding, text.decimal, names, columns, as_text)
        except UnicodeError as problem:
            if known:
                raise BadInput(
                    f"{label} cannot be decoded as {known}: {_shorten(problem)}; choose with --encoding"
                ) from None
            continue
        except pa.ArrowInvalid as problem:
            if not known and not _decodes(opened(), encoding):
                continue
            raise BadInput(f"{label} is no well-formed text table: {_explain(problem)}") from None
        guessed = not known and encoding != "utf-8"
        notes = [f"{label} is not UTF-8, read as {encoding}; choose with --encoding"] if guessed else []
        return FileTable(table, "text", delimiter, encoding, notes)
    raise BadInput(f"{label} cannot be decoded; choose with --encoding")


def _decodes(stream: Any, encoding: str) -> bool:
    """Whether all of a file is text in this encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while part := stream.read(_BLOCK):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def find_delimiter(sample: str) -> str:
    """The separator that cuts the first lines into equally many fields, more than one."""
    unquoted = re.sub(r'"(?:[^"]|"")*"', "", sample.lstrip("\ufeff"))
    # Tables know three ends of lines; Python's splitlines knows ten.
    lines = [line for line in re.split(r"\r\n|\r|\n", unquoted, maxsplit=51)[:50] if line.strip(" ")]
    complete = lines[:-1] if len(lines) > 1 else lines  # the sample may end within a line
    best, delimiter = (0.0, 0), ","
    for candidate in _DELIMITERS:
        counts = [line.count(candidate) for line in complete]
        if counts and counts[0]:
            fit = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
            if fit > best:
                best, delimiter = fit, candidate
    return delimiter


def _header(head: bytes, encoding: str, delimiter: str, label: str) -> list[str]:
    """Names of the columns; those without one are called by their position."""
    import csv
    import io

    sample = codecs.getincrementaldecoder(encoding)("strict").decode(head).lstrip("\ufeff")
    try:
        first = next((row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row), [])
    except csv.Error as problem:
        raise BadInput(f"{label} is no well-formed text table: {_shorten(problem)}") from None
    names = [name.strip(_BLANKS) for name in first]
    return [name or _free_name(f"column {position}", names) for position, name in enumerate(names, start=1)]


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _parse_csv(
    stream: Any,
    delimiter: str,
    encoding: str,
    decimal: str | None,
    names: Sequence[str],
    columns: Sequence[str] | None,
    as_text: bool,
) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    check_names(names)
    if columns is not None:
        _present(columns, names)
    convert = csv.ConvertOptions(
        null_values=_MISSING,
        strings_can_be_null=not as_text,
        decimal_point=decimal or ".",
        include_columns=None if columns is None else list(columns),
        column_types=dict.fromkeys(names, pa.string()) if as_text else None,
    )
    # The header was read above and is passed over: pyarrow would not cut blanks or name what has no name.
    read = csv.ReadOptions(encoding=encoding, block_size=_BLOCK, column_names=list(names), skip_rows_after_names=1)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    return csv.read_csv(stream, read_options=read, parse_options=parse, convert_options=convert)


def check_names(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if repeated:
        raise BadInput(f"duplicate column names: {', '.join(map(repr, repeated[:10]))}; rename or remove them")


def _explain(problem: Exception) -> str:
    text = str(problem)
    if "straddles" in text:
        return f"a field is longer than {_BLOCK // 2**20} MB, or a quote is never closed"
    return _shorten(problem)


def _shorten(problem: Exception | None) -> str:
    """The beginning of a message; those of parsers may quote a whole row."""
    text = re.sub(r"\s+", " ", str(problem)).strip()
    return text if len(text) <= 160 else text[:157] + "..."
