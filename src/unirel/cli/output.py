"""Results for people: a table with colours on a terminal, plain text everywhere else."""

import csv
import io
import sys
from collections.abc import Sequence
from typing import Any

from unirel.cli.messages import printable


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> None:
    """Print a table; numbers stand to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False, show_edge=False)
    for header, column in zip(headers, zip(*rows, strict=True) if rows else [()] * len(headers), strict=True):
        numeric = all(isinstance(value, int | float | None) for value in column)
        table.add_column(header, justify="right" if numeric else "left", overflow="fold", no_wrap=not terminal)
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    if terminal:
        Console().print(table)
        return
    # No terminal, no width to keep to: rows stay on one line for grep and less.
    console = Console(file=io.StringIO(), width=10_000, color_system=None, force_terminal=False)
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    print("\n".join(line.rstrip() for line in text.splitlines()))


def cell(value: Any) -> str:
    """A value as text, safe for a terminal."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def print_csv(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table as CSV with full precision."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)


def print_paragraph(text: str) -> None:
    """Print running text, wrapped on a terminal and elsewhere at a width that reads well."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100
    print("\n" + textwrap.fill(printable(text), width, break_on_hyphens=False, break_long_words=False))
