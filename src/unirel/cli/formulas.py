"""Rows of CSV for people: a spreadsheet takes cells that begin with certain characters for formulas, and runs them."""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from unirel.cli.messages import Messages, listed

_STARTS = ("=", "+", "-", "@", "\t", "\r")
# Digits with marks between them, and the names of what is no number: nothing in them can be run.
_NUMBER = re.compile(r"[+-]?([\d.,' ]*\d[\d.,' ]*(e[+-]?\d+)?\s?%?|inf(inity)?|nan)", re.IGNORECASE)
_MOST_NAMED = 5


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text; a number with a sign, or a dash alone, is none."""
    return text.startswith(_STARTS) and len(text) > 1 and _NUMBER.fullmatch(text) is None


class CellWriter:
    """Writes rows of text as they are, and counts the cells that a spreadsheet would run.

    Parameters
    ----------
    stream : text stream
        Where to.
    delimiter : str
        What stands between cells.
    escape : bool
        Write ``'`` before cells that would run, so that they are shown.
    """

    def __init__(self, stream: TextIO, delimiter: str = ",", escape: bool = False) -> None:
        self._writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self._escape = escape
        self.n_formulas = 0
        self.examples: list[str] = []

    def write_row(self, row: Sequence[Any]) -> None:
        """Write one row."""
        self.write_rows([row])

    def write_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write some rows; only texts are looked at, numbers are what they are."""
        self._writer.writerows([self._cell(value) for value in row] for row in rows)

    def tell(self, messages: Messages) -> None:
        """Say which cells would run, if there are any."""
        if not self.n_formulas:
            return
        word = "cell begins" if self.n_formulas == 1 else "cells begin"
        about = f"{self.n_formulas:,} {word} like a formula of a spreadsheet, such as {listed(self.examples)}"
        done = "written with a ' before it" if self._escape else "--escape-formulas writes a ' before it"
        messages.tell(f"{about}; {done}")

    def _cell(self, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(_STARTS) or not is_formula(value):
            return value
        self.n_formulas += 1
        if len(self.examples) < _MOST_NAMED and value not in self.examples:
            self.examples.append(value)
        return f"'{value}" if self._escape else value
