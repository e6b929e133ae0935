"""What unirel warns with, and the checks of parameters that several modules share."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any


class UnirelWarning(UserWarning):
    """A result is less than what was asked for, and the message says what to do about it."""


def check_choice(parameter: str, value: Any, allowed: Iterable[str | None]) -> None:
    """Refuse a value that is not one of a few names."""
    allowed = tuple(allowed)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, allowed))}")


def check_whole_number(parameter: str, value: Any, lowest: int, or_name: str = "") -> int:
    """Refuse what is not a whole number from `lowest` on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        other = f"{or_name!r} or " if or_name else ""
        raise ValueError(f"{parameter}={value!r} must be {other}a whole number from {lowest} on")
    return int(value)
