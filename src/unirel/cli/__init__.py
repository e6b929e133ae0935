"""The command line: `unirel`. Each command parses, calls the library and prints; every error is one line and a code."""

import csv
import errno
import gc
import io
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any

from unirel._runtime import COMPILING
from unirel._version import __version__
from unirel.documents import write_document
from unirel.errors import UnirelWarning, printable

if TYPE_CHECKING:
    from unirel.cli.options import Data, Printing
    from unirel.cli.sources import Input


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2  # wrong usage or bad input
    INTERRUPTED = 130  # Ctrl-C


class BadInput(Exception):
    """What was asked for or handed over cannot be used; the message is one line and says why."""


# Ctrl-C as it was heard: an import that compiled code asks for forgets it, or makes another error of it.
heard: list[int] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    code = None
    if arguments is None:
        gc.set_threshold(100_000)  # imports make as many objects, which all stay: to look for others takes a sixth
    with _hearing_interrupts(is_program=arguments is None):
        try:
            code = _run(sys.argv[1:] if arguments is None else list(arguments))
        except KeyboardInterrupt:
            pass
        except Exception:
            if not heard:
                raise
    if code is None:
        print("unirel: interrupted before there was anything to print", file=sys.stderr)
    elif heard and code != Exit.INTERRUPTED:
        print("unirel: interrupted", file=sys.stderr)
    return Exit.INTERRUPTED if heard or code is None else code


@contextmanager
def _hearing_interrupts(is_program: bool) -> Iterator[None]:
    """Note Ctrl-C before it is raised; a program whose result is there cannot be interrupted any more."""
    heard.clear()
    if threading.current_thread() is not threading.main_thread():  # no other thread hears signals
        yield
        return

    def interrupt(number: int, _: Any) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    def report(unraisable: Any) -> None:
        if not heard:  # raised where nobody can catch it, such as while a module is being imported
            told(unraisable)

    before, told = signal.signal(signal.SIGINT, interrupt), sys.unraisablehook
    sys.unraisablehook = report
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if is_program else before)
        if not is_program:
            sys.unraisablehook = told


def _run(given: list[str]) -> int:
    """Run a command and return its exit code; Ctrl-C before there is a result is raised."""
    _prepare_streams()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what concerns the data is said by the commands
            code = make_command().main(args=given, prog_name="unirel", standalone_mode=False, obj=given)
            if sys.stdout is not None:
                sys.stdout.flush()
        if code == Exit.INTERRUPTED and not isinstance(code, Exit):  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        return int(code) if isinstance(code, int) else Exit.OK
    except (BrokenPipeError, SystemExit):  # as in `unirel ... | head`; the last is what typer makes of it
        _close_output()
        return Exit.OK
    except Exception as error:
        if heard or type(error).__name__ == "Abort":
            raise KeyboardInterrupt from None
        return _explain(error)


def make_command() -> Any:
    """The program with all of its commands, as click knows it."""
    try:  # takes a second, in which Ctrl-C may come
        import typer

        from unirel.cli import drift, measures, pairs, select
    except ModuleNotFoundError as error:
        if (error.name or "unirel").startswith("unirel"):
            raise
        raise ImportError(f"the command line needs {error.name}; install it with: pip install 'unirel[cli]'") from None
    app = typer.Typer(
        name="unirel",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            print(f"unirel {__version__}")
            raise typer.Exit

    version = typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")

    @app.callback()
    def unirel(version: Annotated[bool, version] = False) -> None:
        """Select features by mutual information, with extra weight for what only one feature tells.

        Start with: unirel select data.csv --target COLUMN
        """

    commands: tuple[Any, ...] = (
        *(select.select, select.report, measures.explain, measures.relevance, measures.redundancy),
        *(pairs.interactions, drift.drift, measures.compare, select.apply, measures.datasets),
    )
    for command in commands:
        app.command(epilog=command.examples)(command)
    return typer.main.get_command(app)


def _prepare_streams() -> None:
    """Let nothing that is printed fail for its characters, or because nobody has opened a stream."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is not None and hasattr(stream, "reconfigure") and number:
            stream.reconfigure(errors="backslashreplace")
        elif stream is None:
            # A file that is opened later must not get the number of a stream.
            with suppress(OSError):
                if (opened := os.open(os.devnull, os.O_RDWR)) != number:
                    os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


def _close_output() -> None:
    """Nobody reads on: what is left in the buffer must go somewhere when the interpreter ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Any) -> Exit:
    if os.environ.get("UNIREL_TRACEBACK"):
        raise error
    if hasattr(error, "format_message"):  # wrong usage, found by the parser
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
        else:
            context = getattr(error, "ctx", None)
            say(error.format_message() + (f" (see: {context.command_path} --help)" if context else ""))
        return Exit.USAGE
    with suppress(OSError):
        if sys.stdout is not None:
            sys.stdout.flush()
    if isinstance(error, MemoryError):
        say("out of memory; use fewer rows or columns, or --drop some")
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        say(str(error.strerror))
        _close_output()
    elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        say(f"the name of a file, {error.filename!r}, is too long")
        return Exit.USAGE
    elif isinstance(error, BadInput | ValueError | TypeError | ImportError | OSError):
        say(str(error))
    else:
        say(f"failed: {type(error).__name__}: {error} (UNIREL_TRACEBACK=1 shows where)")
    return Exit.USAGE if isinstance(error, BadInput | ValueError | TypeError) else Exit.FAILED


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
    "stability|budget"
)
_PHRASES: tuple[tuple[str, Any], ...] = (
    (
        r"to use a column all the same, pass discrete_features=\{'(.*?)': True\}",
        r"to use it all the same: --discrete '\1'",
    ),
    (r"to leave a column out, pass exclude=\['(.*?)'\]", r"to leave a column out: --drop '\1'"),
    (
        r"pass groups=\{(.*)\}",
        lambda found: "pass " + re.sub(r"(['\"])(.*?)\1: \1(.*?)\1,?", r"--group '\2=\3'", found[1]),
    ),
    (r"but for ('[^']*') they are numbers(?!:)", r"but for \1 they are numbers: --missing \1"),
    (r"say what it is with discrete_features=", "use it all the same with --discrete or --continuous"),
    (r"^only X1 has", "only the first file has"),
    (r"^only X2 has", "only the second file has"),
    (r"^X1 and X2 share", "the two files share"),
    (r"^groups has (.*?)(; with permute='within' fewer will do)?$", r"--row-groups has \1"),
    (r"; drop those rows from X and y", "; --drop-missing-target drops those rows"),
    (
        rf"\b({'|'.join(_FLAGS)}|{_SAME})=(?:['\"](\w+)['\"])?",
        lambda found: f"{_FLAGS.get(found[1], '--' + found[1].replace('_', '-'))} {found[2] or ''}",
    ),
)
_LONGEST = 600
# A stretch without blanks that is longer is cut, so that what is said behind it can be read.
_LONG_WORD = re.compile(r"(\S{100})\S{151,}(\S{40})")
_NO_BREAK = "\N{NO-BREAK SPACE}"
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
            raise OSError("standard output is closed, so there is no place for the result")
        self.printing, self.verbose = printing, not printing.quiet
        self.notes: list[str] = []
        if self.verbose:
            COMPILING.announce()

    def open(self, data: "Data", *, in_parts: bool = False, several: bool = False) -> "Input":
        """Read the data; a command says whether it can do with parts of the rows, not read yet, or several targets."""
        from unirel.cli.sources import open_data  # here: pyarrow takes long to import

        return open_data(data, self, in_parts, several)

    def note(self, text: str) -> None:
        """Say what the reader of the result should know, and keep it for the report."""
        self.notes.append(one_line(text))
        self.tell(self.notes[-1])

    def tell(self, text: str) -> None:
        if self.verbose:
            say(text)

    def end(self, complete: bool, printed: str) -> Exit:
        """The exit code; if the work was interrupted, it is said what was `printed`."""
        if complete:
            return Exit.OK
        self.tell(f"interrupted; {printed}")
        return Exit.INTERRUPTED

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
        rows: Sequence[Mapping[str, Any]],
        words: Sequence[str],
        headers: Sequence[str] = (),
        shown: Sequence[Sequence[Any]] | None = None,
        then: str = "",
        n_first: int | None = None,
    ) -> None:
        """Print a document as JSON, or columns of rows as CSV, or for people these and paragraphs."""
        # People may see other headers, and other rows: those that are `shown`, which from `n_first` on stand apart.
        # `then` is a command to go on with.
        cells = [[row[name] for name in columns] for row in rows]
        if self.printing.json:
            _write(write_document(kind, content, plain=not _has_all_characters()))
        elif self.printing.csv:
            _write(_to_csv([columns, *cells]))
        else:
            print_table(headers or columns, cells if shown is None else shown, n_first)
            width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100
            for paragraph in filter(None, words):
                kept = re.sub(r"(?<=\d) (?=%|nats)", _NO_BREAK, printable(paragraph))  # a number with its unit
                filled = textwrap.fill(kept, width, break_on_hyphens=False, break_long_words=False)
                _write(f"\n{filled.replace(_NO_BREAK, ' ')}\n")
            if then:
                _write(f"\nNext: {printable(then)}\n")


def print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], n_first: int | None = None) -> None:
    """Print a table, with colours on a terminal; numbers stand to the right, rows after the first under a line."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    terminal = sys.stdout.isatty()
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header, column in zip(headers, zip(*rows, strict=True) if rows else [()] * len(headers), strict=True):
        numeric = all(isinstance(value, int | float | None) for value in column)
        grid.add_column(header, justify="right" if numeric else "left", overflow="fold", no_wrap=not terminal)
    for place, row in enumerate(rows):
        later = n_first is not None and place >= n_first
        grid.add_row(*(Text(_cell(value)) for value in row), style="dim" if later else None)
        if place + 1 == n_first:
            grid.add_section()
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


def as_number(text: str) -> int | float | str:
    """A number if it is one; what else it can be, the library knows."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
