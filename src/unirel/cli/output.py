"""What commands print and write: tables and words for people, JSON and CSV for programs, one-line messages, files."""

import csv
import io
import json
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirel._runtime import COMPILING, atomic_path
from unirel._version import __version__
from unirel.cli import BadInput, Failed
from unirel.errors import UnirelWarning, printable

if TYPE_CHECKING:
    from unirel.cli.options import Printing

_VERSION = 1  # of the JSON documents
# What the library calls its parameters in messages, and the flags that set them where these are called otherwise.
_FLAGS = {
    "n_features_to_select": "-k",
    "mi_estimator": "--estimator",
    "n_neighbors": "--neighbors",
    "max_samples": "--unique-samples",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_permutations": "--permutations",
}
_SAME = (
    "criterion|beta|unique_relevance|metric|target_type|include|exclude|max_candidates|max_seconds|alpha|accuracy|"
    "stability"
)
_PHRASES: tuple[tuple[str, Any], ...] = (
    (
        r"to use a column all the same, pass discrete_features=\{'(.*?)': True\}",
        r"to use it all the same: --discrete '\1'",
    ),
    (r"to leave a column out, pass exclude=\['(.*?)'\]", r"to leave a column out: --drop '\1'"),
    (r"say what it is with discrete_features=", "use it all the same with --discrete or --continuous"),
    (r"; drop those rows from X and y", "; --drop-missing-target drops those rows"),
    (
        rf"\b({'|'.join(_FLAGS)}|{_SAME})=(?:['\"](\w+)['\"])?",
        lambda found: f"{_FLAGS.get(found[1], '--' + found[1].replace('_', '-'))} {found[2] or ''}",
    ),
)
_LONGEST = 600
# A stretch without blanks that is longer is cut, so that what is said behind it can be read.
_LONG_WORD = re.compile(r"(\S{100})\S{151,}(\S{40})")
FULL, ELLIPSIS = "\N{FULL BLOCK}", "\N{HORIZONTAL ELLIPSIS}"
# For outputs that have no such characters.
_PLAIN = str.maketrans({FULL: "#", ELLIPSIS: "~", "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-", "±": "+/-", "²": "2"})


def say(text: str) -> None:
    print(f"unirel: {one_line(text)}", file=sys.stderr, flush=True)


def one_line(text: str) -> str:
    """A message as one printable line, in the words of the command line."""
    text = _LONG_WORD.sub(r"\1...\2", re.sub(r"\s+", " ", text))
    line = printable(text.strip())
    for pattern, words in _PHRASES:
        line = re.sub(pattern, words, line)
    line = line.strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


class Output:
    """Prints the result of a command in the way that was asked for, and messages unless only errors are wanted."""

    def __init__(self, printing: "Printing") -> None:
        if sys.stdout is None:
            raise Failed("standard output is closed, so there is no place for the result")
        self.printing, self.verbose = printing, not printing.quiet
        self.notes: list[str] = []
        if self.verbose:
            COMPILING.announce()

    def note(self, text: str) -> None:
        """Say what the reader of the result should know, and keep it for the report."""
        self.notes.append(one_line(text))
        self.tell(self.notes[-1])

    def tell(self, text: str) -> None:
        if self.verbose:
            say(text)

    @contextmanager
    def catching_warnings(self) -> Iterator[None]:
        """Turn warnings of the library into notes, said when the work is done; those of others are about code."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UnirelWarning)
            try:
                yield
            finally:
                for text in dict.fromkeys(str(warning.message) for warning in caught):
                    self.note(text)

    def show(
        self,
        kind: str,
        content: Mapping[str, Any],
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        words: Sequence[str],
        headers: Sequence[str] = (),
        shown: Sequence[Sequence[Any]] | None = None,
        then: str = "",
    ) -> None:
        """Print a document as JSON, or rows as CSV, or for people rows and paragraphs.

        People may see other headers, and other rows: those that are `shown`. `then` is a command to go on with.
        """
        if self.printing.as_json:
            _write(to_json(kind, content, plain=not _has_all_characters()))
        elif self.printing.as_csv:
            _write(_to_csv([columns, *rows]))
        else:
            print_table(headers or columns, rows if shown is None else shown)
            width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100
            for paragraph in filter(None, words):
                filled = textwrap.fill(printable(paragraph), width, break_on_hyphens=False, break_long_words=False)
                _write(f"\n{filled}\n")
            if then:
                _write(f"\nNext: {printable(then)}\n")


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
    if terminal and _has_all_characters():
        Console().print(grid)
        return
    # No terminal, no width to keep to: rows stay on one line for grep and less.
    text = io.StringIO()
    Console(file=text, width=10_000, color_system=None, force_terminal=False).print(grid)
    _write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def width_of_output() -> int:
    """Columns that a table may take: those of the terminal, or of a usual one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


def bar(value: float | None, largest: float, width: int = 10) -> str:
    """A bar of text, one mark at least for anything above 0."""
    if value is None or value <= 0 or largest <= 0:
        return ""
    return FULL * max(1, round(width * min(1.0, value / largest)))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def _to_csv(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV; on a terminal without characters that could steer it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([printable(cell) if isinstance(cell, str) and sys.stdout.isatty() else cell for cell in row])
    return text.getvalue()


def _has_all_characters() -> bool:
    return (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def _write(text: str) -> None:
    """Write to standard output; what it has no characters for becomes plain or, failing that, a code."""
    if not _has_all_characters():
        text = text.translate(_PLAIN)
        text = text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding)
    sys.stdout.write(text)


def to_json(kind: str, content: Mapping[str, Any], plain: bool = False) -> str:
    """A document of a kind for people and programs; the same every time."""
    head = {"schema": f"unirel/{kind}", "version": _VERSION, "unirel": __version__}
    return json.dumps({**head, **content}, indent=2, ensure_ascii=plain, allow_nan=False) + "\n"


def read_selected_names(path: str) -> list[str]:
    try:
        content = json.loads(Path(path).read_bytes())
        schema, version = content["schema"], content["version"]
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, LookupError, RecursionError):
        schema, version = None, None
    if schema != "unirel/selection":
        raise BadInput(f"'{path}' is no selection; write one with `unirel select --save`")
    if version != _VERSION:
        raise BadInput(f"'{path}' has version {version!r}, this program reads {_VERSION}; update unirel")
    try:
        names = [row["name"] for row in content["features"]]
    except (TypeError, LookupError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"'{path}' holds no selected features")
    return names


def check_path(path: Path, sources: Sequence[str] = (), force: bool = False) -> None:
    """Refuse early what cannot be written to, and to write over what is read, unless that is forced."""
    if path.is_dir():
        raise BadInput(f"'{path}' is a folder; name a file")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder '{path.parent}' to write '{path.name}' to")
    if not force and path.is_file() and any(Path(one).exists() and path.samefile(one) for one in sources):
        raise BadInput(f"'{path}' is the file that is read; name another one, or replace it with --force")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that replaces `path` once all has gone well, with errors for whoever named the file."""
    try:
        with atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        raise Failed(f"'{path}' cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
