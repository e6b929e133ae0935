"""The application: its commands, and what turns every error into one line and an exit code."""

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from unirel._version import __version__
from unirel.cli import BadInput, Exit, Failed, compare, heard, measures, select
from unirel.cli.options import Printing, Stopped, with_flags
from unirel.cli.output import Output, say


@with_flags("unirel datasets", "unirel select breast_cancer")
def datasets(printing: Printing) -> int:
    """List the datasets that can be named instead of a file."""
    from unirel.data.datasets import describe

    found, columns = describe(), ("name", "n_samples", "n_features", "n_classes", "title")
    rows = [[dataset[name] for name in columns] for dataset in found]
    Output(printing).show("datasets", {"datasets": found}, columns, rows, ["They come with scikit-learn."])
    return Exit.OK


app = typer.Typer(
    name="unirel",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: tuple[Any, ...] = (
    *(select.select, select.report, measures.explain, measures.relevance, measures.redundancy),
    *(compare.compare, select.apply, datasets),
)
for _command in _COMMANDS:
    app.command(epilog=_command.examples)(_command)


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
    """Run the command line and return its exit code; Ctrl-C before there is a result is raised."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _prepare_streams()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what concerns the data is said by the commands
            code = typer.main.get_command(app).main(args=given, prog_name="unirel", standalone_mode=False, obj=given)
            if sys.stdout is not None:
                sys.stdout.flush()
        if code == Exit.INTERRUPTED and not isinstance(code, Exit):  # while flags were read, as typer says it
            raise KeyboardInterrupt
        return int(code) if isinstance(code, int) else Exit.OK
    except Stopped as stopped:
        if isinstance(stopped.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        _close_output()  # as in `unirel ... | head`
        return Exit.OK
    except (BrokenPipeError, SystemExit):  # the second is what typer makes of the first
        _close_output()
        return Exit.OK
    except Exception as error:
        if heard or type(error).__name__ == "Abort":
            raise KeyboardInterrupt from None
        return _explain(error)


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
    """Say what went wrong in one line."""
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
    elif isinstance(error, BadInput | ValueError | TypeError | Failed | ImportError | OSError):
        say(str(error))
    else:
        say(f"failed: {type(error).__name__}: {error} (UNIREL_TRACEBACK=1 shows where)")
    return Exit.USAGE if isinstance(error, BadInput | ValueError | TypeError) else Exit.FAILED
