"""The application: its commands, and what turns every error into one line and an exit code."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from unirel._version import __version__
from unirel.cli import apply, compare, datasets, explain, redundancy, relevance, report, select
from unirel.cli.exits import BadInput, Exit, Failed
from unirel.cli.interrupts import NOTHING, interrupts
from unirel.cli.messages import say_error, warnings_as_lines


class _Ended(Exception):
    """Carries what typer would handle in its own way: Ctrl-C, and a reader who has seen enough."""


def _guarded(command: Callable[..., int]) -> Callable[..., int]:
    @wraps(command)
    def guarded(*arguments: Any, **options: Any) -> int:
        try:
            code = command(*arguments, **options)
            sys.stdout.flush()
            return code
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise _Ended from error

    return guarded


app = typer.Typer(
    name="unirel",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (select, report, explain, relevance, redundancy, compare, apply, datasets):
    app.command(_module.__name__.rpartition(".")[2], epilog=_module.EXAMPLES)(_guarded(_module.command))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"unirel {__version__}")
        raise typer.Exit


@app.callback()
def _unirel(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Select features by mutual information, with extra weight for what only one feature tells.

    Start with: unirel select data.csv --target COLUMN
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = None if arguments is None else list(arguments)
    try:
        with warnings_as_lines():
            code = typer.main.get_command(app).main(args=given, prog_name="unirel", standalone_mode=False)
        if code == Exit.INTERRUPTED and not interrupts.answered:  # while flags were read
            return _interrupted()
        return int(code) if isinstance(code, int) else Exit.OK
    except _Ended as ended:
        if isinstance(ended.__cause__, KeyboardInterrupt):
            return _interrupted()
        # As in `unirel ... | head`: what is left in the buffer must go somewhere when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:
        # Somebody may have made another error of Ctrl-C.
        if interrupts.pending or type(error).__name__ == "Abort":
            return _interrupted()
        return _explain(error)


def _interrupted() -> Exit:
    interrupts.answer()
    say_error(NOTHING)
    return Exit.INTERRUPTED


def _explain(error: Exception) -> Exit:
    """Say what went wrong in one line."""
    if os.environ.get("UNIREL_TRACEBACK"):
        raise error
    if hasattr(error, "format_message"):  # wrong usage, found by the parser
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
        else:
            say_error(error.format_message() + (f" (see: {context.command_path} --help)" if context else ""))
        return Exit.USAGE
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        error = BadInput(f"the name of a file, {error.filename!r}, is too long")
    if isinstance(error, MemoryError):
        say_error("out of memory; use fewer rows or columns, or --drop some")
    elif isinstance(error, BadInput | ValueError | TypeError | Failed | ImportError | OSError):
        say_error(str(error))
    else:
        say_error(f"failed: {type(error).__name__}: {error} (UNIREL_TRACEBACK=1 shows where)")
    return Exit.USAGE if isinstance(error, BadInput | ValueError | TypeError) else Exit.FAILED
