"""The command line: `unirel`. Each command parses, calls the library and prints."""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
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


# Ctrl-C as it was heard: an import that compiled code asks for forgets it, or makes another error of it.
heard: list[int] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    code = None
    with _hearing_interrupts(is_program=arguments is None):
        try:
            code = _run(arguments)
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
