"""What a command says beside its result: one line each, on standard error, in the words of the command line."""

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from unirel._runtime import COMPILING
from unirel.errors import UnirelWarning
from unirel.options import SelectorOptions, options_of

_LONGEST = 600
# A stretch without blanks that is longer is cut, so that what is said behind it can be read.
_LONG_WORD = re.compile(r"(\S{100})\S{151,}(\S{40})")


class Messages:
    """Where messages go: standard error, unless they are to be left out.

    Parameters
    ----------
    quiet : bool
        Leave out everything but errors.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self.notes: list[str] = []
        if not quiet:
            COMPILING.announce()

    def note(self, text: str) -> None:
        """Say what the reader of the result should know, and keep it for the report."""
        line = one_line(text)
        self.notes.append(line)
        self.tell(line)

    def tell(self, text: str) -> None:
        """Say something that does not concern the result."""
        if not self._quiet:
            _say(text)

    @contextmanager
    def catching_warnings(self) -> Iterator[None]:
        """Turn warnings of the library into notes, said when the work is done."""
        with warnings.catch_warnings(record=True) as caught:
            _hear_only_ours()
            try:
                yield
            finally:
                for text in dict.fromkeys(str(warning.message) for warning in caught):
                    self.note(text)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Say what the library warns of in one line; warnings of other packages are about code, not about data."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UnirelWarning):
            _say(str(message))

    with warnings.catch_warnings():
        _hear_only_ours()
        warnings.showwarning = show
        yield


def _hear_only_ours() -> None:
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UnirelWarning)


def say_error(text: str) -> None:
    """Say why a command ends without a result."""
    sys.stdout.flush()
    _say(text)


def _say(text: str) -> None:
    print(f"unirel: {one_line(text)}", file=sys.stderr)


def one_line(text: str) -> str:
    """A message as one printable line, in the words of the command line."""
    text = _LONG_WORD.sub(r"\1...\2", re.sub(r"\s+", " ", text))
    line = in_flags(printable(text.strip()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def in_flags(text: str) -> str:
    """A text with flags where the library names its options."""
    for pattern, words in _words():
        text = re.sub(pattern, words, text)
    return text.strip()


@cache
def _words() -> list[tuple[str, str]]:
    words = [
        (
            r"to use a column all the same, pass kinds=\{'(.*?)': '(\w+)'\}",
            r"to use a column all the same: --kinds '\1=\2'",
        ),
        (r"to leave a column out, pass kinds=\{'(.*?)': 'ignored'\}", r"to leave a column out: --drop '\1'"),
        (r"; drop those rows from X and y", "; --drop-missing-target drops those rows"),
        (r"\bmethod='reference'", "--unique-relevance reference"),
        (r"\baccuracy='(\w+)'", r"--accuracy \1"),
        (r"\bstability=(\d+)", r"--stability \1"),
        (r"\bn_permutations=", "--permutations "),
    ]
    for name, option in options_of(SelectorOptions).items():
        if option.flags:
            words.append((rf"\b{name}=['\"]({'|'.join(option.choices) or '(?!)'})['\"]", rf"{option.flags[0]} \1"))
            words.append((rf"\b{name}=", f"{option.flags[0]} "))
    return words


def printable(text: str) -> str:
    """A text without characters that could steer a terminal or turn the direction of reading."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def listed(names: Sequence[str], most: int = 5, *, quotes: bool = True) -> str:
    """Names, in quotes if wanted, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr if quotes else str, names[:most])) + more
