"""What a command says beside its result: one line each, on standard error."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from unirel.errors import UnirelWarning

_LONGEST = 600
# What the library calls a parameter, and what the command line calls it.
_WORDS = (
    (
        r"to use a column all the same, pass kinds=\{'(.*?)': '(\w+)'\}",
        r"to use a column all the same: --kinds '\1=\2'",
    ),
    (r"\bn_features_to_select=", "-k "),
    (r"\bn_neighbors=", "--neighbors "),
    (r"\bmethod='reference'", "--unique-relevance reference"),
    (r"\bmetric='(\w+)'", r"--metric \1"),
    (r"\baccuracy='(\w+)'", r"--accuracy \1"),
    (r"; give it a kind with kinds=", "; give it a kind with --kinds"),
    (r"; drop those rows from X and y", "; --drop-missing-target drops those rows"),
)


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

    def note(self, text: str) -> None:
        """Say what the reader of the result should know, and keep it for the report."""
        line = one_line(text)
        self.notes.append(line)
        self.tell(line)

    def tell(self, text: str) -> None:
        """Say something that does not concern the result."""
        if not self._quiet:
            print(f"unirel: {one_line(text)}", file=sys.stderr)

    @contextmanager
    def catching_warnings(self) -> Iterator[None]:
        """Turn warnings of the library into notes; those of other packages are about code, not about data."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UnirelWarning)
            try:
                yield
            finally:
                for text in dict.fromkeys(str(warning.message) for warning in caught):
                    self.note(text)


def say_error(text: str) -> None:
    """Say why a command ends without a result."""
    sys.stdout.flush()
    print(f"unirel: {one_line(text)}", file=sys.stderr)


def one_line(text: str) -> str:
    """A message as one printable line, in the words of the command line."""
    line = printable(re.sub(r"\s+", " ", text).strip())
    for pattern, words in _WORDS:
        line = re.sub(pattern, words, line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def printable(text: str) -> str:
    """A text without characters that could steer a terminal or turn the direction of reading."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def listed(names: list[str], most: int = 5) -> str:
    """Names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
