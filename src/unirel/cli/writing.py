"""Files that commands write."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unirel.cli.exits import BadInput, Failed
from unirel.cli.files import SUFFIXES
from unirel.cli.formulas import CellWriter
from unirel.cli.interrupts import interrupts
from unirel.cli.messages import Messages
from unirel.data.atomic import atomic_path

_FORMATS = {".csv": "csv", ".tsv": "tsv", **SUFFIXES}


def check_path(path: Path) -> None:
    """Refuse early what cannot be written to."""
    if path.is_dir():
        raise BadInput(f"'{path}' is a folder; name a file")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder '{path.parent}' to write '{path.name}' to")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """`atomic_path`, with errors for whoever named the file."""
    check_path(path)
    interrupts.stop_if_pending()
    try:
        with atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        raise Failed(f"'{path}' cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def table_format(path: Path) -> str:
    """Format that the name of a file asks for."""
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise BadInput(f"'{path}' has no known ending; end it with {', '.join(_FORMATS)}")
    return kind


def write_table(path: Path, table: Any, messages: Messages, escape_formulas: bool = False) -> None:
    """Write a table in the format that the name of the file asks for."""
    import pyarrow.feather

    kind = table_format(path)
    with replacing(path) as temporary:
        if kind == "parquet":
            _write_parquet(table, temporary, path)
        elif kind == "arrow":
            pyarrow.feather.write_feather(table, str(temporary), compression="zstd")
        else:
            writer = _write_text_table(table, temporary, "," if kind == "csv" else "\t", escape_formulas)
            writer.tell(messages)


def _write_parquet(table: Any, path: Path, named: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        pyarrow.parquet.write_table(table, path)
    except pa.ArrowNotImplementedError as error:
        raise BadInput(f"'{named}' cannot hold what was selected: {error}; write .arrow or .csv") from None


def _write_text_table(table: Any, path: Path, delimiter: str, escape_formulas: bool) -> CellWriter:
    """Write text with quotes only where they are needed; pyarrow would put them around every text."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = CellWriter(stream, delimiter, escape_formulas)
        writer.write_row(table.column_names)
        for batch in table.to_batches(max_chunksize=10_000):
            writer.write_rows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return writer
