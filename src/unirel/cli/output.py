"""Results as they are printed: a table and words for people, JSON or CSV for programs."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from unirel.cli.documents import to_json
from unirel.cli.exits import BadInput
from unirel.cli.formulas import CellWriter
from unirel.cli.interrupts import interrupts
from unirel.cli.messages import Messages, printable
from unirel.cli.options import FIRST, OUTPUT, flag

Quiet = Annotated[bool, flag(OUTPUT, "No messages and no progress.", "--quiet", "-q")]
EscapeFormulas = Annotated[
    bool,
    flag(OUTPUT, "In CSV, write ' before names and texts that a spreadsheet would run.", "--escape-formulas"),
]


@dataclass(frozen=True)
class Printing:
    """How a result is printed, and whether anything is said beside it."""

    as_json: Annotated[bool, flag(FIRST, "Print JSON for programs.", "--json")] = False
    as_csv: Annotated[bool, flag(OUTPUT, "Print the table as CSV.", "--csv")] = False
    escape_formulas: EscapeFormulas = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise BadInput("--json and --csv are two ways to print; choose one")

    @cached_property
    def messages(self) -> Messages:
        """Where messages of the command go."""
        return Messages(self.quiet)

    def show(
        self,
        kind: str,
        content: Mapping[str, Any],
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        words: str | Sequence[str],
        headers: Sequence[str] = (),
        shown: Sequence[Sequence[Any]] | None = None,
        then: str = "",
    ) -> None:
        """Print a document of a kind as JSON, or rows as CSV, or for people rows and words.

        People may see other headers, and other rows: those that are `shown`. Words are a paragraph or several; `then`
        is a command to go on with, which stays on one line.
        """
        interrupts.stop_if_pending()
        if self.as_json:
            print(to_json(kind, content), end="")
        elif self.as_csv:
            writer = CellWriter(sys.stdout, escape=self.escape_formulas)
            writer.write_row(columns)
            writer.write_rows(rows)
            writer.tell(self.messages)
        else:
            print_table(headers or columns, rows if shown is None else shown)
            for paragraph in filter(None, [words] if isinstance(words, str) else words):
                print_paragraph(paragraph)
            if then:
                print(f"\nNext: {printable(then)}")


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, with colours on a terminal; numbers stand to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    terminal = sys.stdout.isatty()
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header, column in zip(headers, zip(*rows, strict=True) if rows else [()] * len(headers), strict=True):
        numeric = all(isinstance(value, int | float | None) for value in column)
        grid.add_column(header, justify="right" if numeric else "left", overflow="fold", no_wrap=not terminal)
    for row in rows:
        grid.add_row(*(Text(_cell(value)) for value in row))
    if terminal:
        Console().print(grid)
        return
    # No terminal, no width to keep to: rows stay on one line for grep and less.
    text = io.StringIO()
    Console(file=text, width=10_000, color_system=None, force_terminal=False).print(grid)
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))


def width_of_output() -> int:
    """Columns that a table may take: those of the terminal, or of a usual one."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


def shorten(name: str, longest: int) -> str:
    """A name that fits, with its beginning and its end."""
    name = printable(name)
    if len(name) <= longest:
        return name
    end = longest // 3
    return f"{name[: longest - end - 1]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"


def bar(value: float | None, largest: float, width: int = 10) -> str:
    """A bar of text, one mark at least for anything above 0."""
    if value is None or value <= 0 or largest <= 0:
        return ""
    return "\N{FULL BLOCK}" * max(1, round(width * min(1.0, value / largest)))


def _cell(value: Any) -> str:
    """A value as text, safe for a terminal."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def print_paragraph(text: str) -> None:
    """Print running text, wrapped on a terminal and elsewhere at a width that reads well."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100
    print("\n" + textwrap.fill(printable(text), width, break_on_hyphens=False, break_long_words=False))
