"""What unirel warns with, how a wrong value of a parameter is refused, and texts that are safe to show."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import currentframe
from numbers import Integral, Real
from typing import Any

_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


class UnirelWarning(UserWarning):
    """A result is less than what was asked for, and the message says what to do about it."""


def warn(message: str) -> None:
    """Issue a `UnirelWarning` that points at the call from outside the package, unless within `quietly`."""
    if _is_quiet.get():
        return
    frame, depth = currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "unirel":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, UnirelWarning, stacklevel=depth + 1)


@contextmanager
def quietly() -> Iterator[None]:
    """Let the work inside issue no `UnirelWarning`; in threads, where `warnings.catch_warnings` would not be safe."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def check_choice(parameter: str, value: Any, allowed: Iterable[str | None]) -> None:
    allowed = tuple(allowed)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, allowed))}")


def check_whole_number(
    parameter: str, value: Any, lowest: int, or_name: str = "", highest: float = float("inf")
) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not lowest <= int(value) <= highest:
        other = f"{or_name!r} or " if or_name else ""
        until = f"to {highest:,}" if isinstance(value, Integral) and int(value) > highest else "on"
        raise ValueError(f"{parameter}={value!r} must be {other}a whole number from {lowest} {until}")
    return int(value)


def check_fraction(parameter: str, value: Any, remedy: str = "such as 0.95") -> float:
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{parameter}={value!r} must be a number above 0 and below 1, {remedy}")
    return float(value)


def check_beta(value: Any, parameter: str = "beta") -> float:
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        remedy = "it must be from 0 (no boost) to 1 (unique relevance alone)"
        raise ValueError(f"{parameter}={value!r} is out of range; {remedy}")
    return float(value)


def printable(text: str) -> str:
    """A text without characters that steer a terminal or turn the direction of reading."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def shorten(name: str, longest: int) -> str:
    """A name that fits: its beginning and its end, which often tells it from others."""
    if len(name) <= longest:
        return name
    end = longest // 3
    return f"{name[: longest - end - 1]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"
