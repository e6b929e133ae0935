"""The command line: `unirel`. Each command parses, calls the library and prints."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    FAILED = 1
    USAGE = 2  # wrong usage or bad input
    INTERRUPTED = 130  # Ctrl-C


class BadInput(Exception):
    """What was asked for or handed over cannot be used; the message is one line and says why."""


class Failed(Exception):
    """What was asked for is fine but could not be done."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    heard: list[int] = []

    def interrupt(number: int, _: Any) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    with _handling_interrupts(interrupt, is_program=arguments is None):
        try:
            code = _run(arguments)
        except KeyboardInterrupt:
            print("unirel: interrupted before there was anything to print", file=sys.stderr)
            return Exit.INTERRUPTED
        except Exception:
            if not heard:  # an import that compiled code asks for makes another error of Ctrl-C
                raise
            code = Exit.FAILED
    if heard and code != Exit.INTERRUPTED:  # or it forgets it
        print("unirel: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    return code


@contextmanager
def _handling_interrupts(interrupt: Callable[[int, Any], None], is_program: bool) -> Iterator[None]:
    """Have Ctrl-C call a function; a program whose result is there cannot be interrupted any more."""
    if threading.current_thread() is not threading.main_thread():  # no other thread hears signals
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if is_program else before)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from unirel.cli.app import run  # takes a second, in which Ctrl-C may come
    except ModuleNotFoundError as error:
        if (error.name or "unirel").startswith("unirel"):
            raise
        needed = f"the command line needs {error.name}; install it with: pip install 'unirel[cli]'"
        print(f"unirel: {needed}", file=sys.stderr)
        return Exit.FAILED
    return run(arguments)
