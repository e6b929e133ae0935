"""The command line: `unirel`. Each command parses, calls the library and prints."""

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
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
    heard = []

    def interrupt(*_: Any) -> None:
        heard.append(True)
        raise KeyboardInterrupt

    with suppress(ValueError):  # only the main thread of a program hears signals
        before = signal.signal(signal.SIGINT, interrupt)
    try:
        code = _run(arguments)
    except KeyboardInterrupt:
        code = None
    except Exception:
        if not heard:  # imports that compiled code asks for make another error of Ctrl-C, or none at all
            raise
        code = None
    with suppress(ValueError, UnboundLocalError):
        signal.signal(signal.SIGINT, signal.SIG_IGN if arguments is None else before)
    if code is None or (heard and code != Exit.INTERRUPTED):
        print("unirel: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from unirel.cli.app import run  # takes a second, in which Ctrl-C may come
    except ModuleNotFoundError as error:
        if (error.name or "unirel").startswith("unirel"):
            raise
        print(
            f"unirel: the command line needs {error.name}; install it with: pip install 'unirel[cli]'", file=sys.stderr
        )
        return Exit.FAILED
    return run(arguments)
