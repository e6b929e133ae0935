"""How a command ends: the exit codes, and the errors that lead to them."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    FAILED = 1  # it should have worked
    USAGE = 2  # usage or bad input
    INTERRUPTED = 130  # Ctrl-C


class BadInput(Exception):
    """What was asked for or handed over cannot be used; the message is one line and says why."""


class Failed(Exception):
    """What was asked for is fine but could not be done."""
