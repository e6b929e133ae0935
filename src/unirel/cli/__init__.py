"""The command line: `unirel`. Each command parses, calls the library and prints; every error is one line and a code."""

import errno
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Annotated, Any


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2  # wrong usage or bad input
    INTERRUPTED = 130  # Ctrl-C


class BadInput(Exception):
    """What was asked for or handed over cannot be used; the message is one line and says why."""


class Failed(Exception):
    """What was asked for is fine but could not be done."""


class Stopped(Exception):
    """Carries what the parser would handle in its own way: Ctrl-C, and a reader of the output who has seen enough."""


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
        if code == Exit.INTERRUPTED and not isinstance(code, Exit):  # while flags were read, as typer says it
            raise KeyboardInterrupt
        return int(code) if isinstance(code, int) else Exit.OK
    except (Stopped, BrokenPipeError, SystemExit) as stopped:  # the last is what typer makes of a broken pipe
        if isinstance(stopped.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        _close_output()  # as in `unirel ... | head`
        return Exit.OK
    except Exception as error:
        if heard or type(error).__name__ == "Abort":
            raise KeyboardInterrupt from None
        return _explain(error)


def make_command() -> Any:
    """The program with all of its commands, as click knows it."""
    try:  # takes a second, in which Ctrl-C may come
        import typer

        from unirel.cli import measures, select
    except ModuleNotFoundError as error:
        if (error.name or "unirel").startswith("unirel"):
            raise
        raise Failed(f"the command line needs {error.name}; install it with: pip install 'unirel[cli]'") from None
    app = typer.Typer(
        name="unirel",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            from unirel import __version__

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
        *(measures.compare, select.apply, measures.datasets),
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
    from unirel.cli.output import say

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
