"""Cleans columns of files as people write them: numbers with separators, dates, numbered rows."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from unirel.cli.messages import listed

# Rows from which on a column that counts them is taken for a number of the row.
_NUMBERED = 20
_POINT = re.compile(r"[+-]?(\d+|\d{1,3}([,' \u00a0\u202f]\d{3})+)(\.\d+)?([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' \u00a0\u202f]\d{3})+)(,\d+)?([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?"
)


@dataclass
class Cleaned:
    """A table whose columns the library can read, and what was done to get there."""

    table: Any  # pyarrow.Table
    ignored: dict[str, str] = field(default_factory=dict)  # name and reason
    notes: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)  # decimal mark of columns that held numbers as text


def clean(table: Any, keep: Collection[str], target: str) -> Cleaned:
    """Turn texts that are numbers into numbers, and take off dates that are not read and row numbers.

    `keep` names columns whose kind is given: nothing is taken off that was asked for.
    """
    import pyarrow as pa

    cleaned = Cleaned(table)
    for position, name in enumerate(table.column_names):
        column = cleaned.table.column(name)
        if pa.types.is_null(column.type):
            cleaned.table = cleaned.table.set_column(position, name, column.cast(pa.float64()))
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            _clean_text(cleaned, position, name, keep, target)
        elif name not in keep and name != target and _numbers_rows(column):
            cleaned.ignored[name] = "it numbers the rows"
    cleaned.ignored.pop(target, None)
    _tell(cleaned)
    cleaned.table = cleaned.table.drop_columns(list(cleaned.ignored))
    return cleaned


def _tell(cleaned: Cleaned) -> None:
    """One note for each reason, however many columns it concerns."""
    for reason, names in _by_value(cleaned.ignored):
        word = "column" if len(names) == 1 else "columns"
        cleaned.notes.append(f"ignored {word} {listed(names)} ({reason}); use --kinds or --drop")
    for mark, names in _by_value(cleaned.marks):
        how = "1,234.5 is 1234.5" if mark == "." else "1.234,5 is 1234.5"
        cleaned.notes.append(f"read {listed(names)} as numbers with separators ({how}); --kinds takes them as they are")


def _by_value(names: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Values, each once, and the names that have them."""
    return [(value, [name for name in names if names[name] == value]) for value in dict.fromkeys(names.values())]


def _clean_text(cleaned: Cleaned, position: int, name: str, keep: Collection[str], target: str) -> None:
    import pyarrow as pa

    column = cleaned.table.column(name)
    texts = column.unique().to_pylist()  # each once, however many rows there are
    if name not in keep and (mark := _decimal_mark(texts)):
        known = {text: None if text is None else _number(text, mark) for text in texts}
        numbers = [known[text] for text in column.to_pylist()]
        whole = all(number is None or number.is_integer() for number in numbers)
        kind = pa.int64() if whole and all(abs(number or 0) < 2**53 for number in numbers) else pa.float64()
        values = pa.array(numbers, pa.float64()).cast(kind)
        cleaned.table = cleaned.table.set_column(position, name, values)
        cleaned.marks[name] = mark
    elif name not in keep and name != target and _all_match(_DATE, texts):
        cleaned.ignored[name] = "dates in a form that is not read; write them as 2024-12-31"


def _decimal_mark(texts: list[str | None]) -> str | None:
    """The decimal mark of texts that are all numbers, None for other texts."""
    if _all_match(_POINT, texts) and not _some_start_with_zero(texts):
        return "."
    return "," if _all_match(_COMMA, texts) else None


def _some_start_with_zero(texts: list[str | None]) -> bool:
    """Whether a comma follows a zero, as in 0,123: then it cannot separate thousands."""
    return any(text is not None and "," in text and not _GROUPED.match(text.strip()) for text in texts)


def _all_match(pattern: re.Pattern[str], texts: list[str | None]) -> bool:
    present = [text for text in texts if text is not None]
    return bool(present) and all(pattern.fullmatch(text.strip()) for text in present)


def _number(text: str, mark: str) -> float:
    text = re.sub(r"['\s\u00a0\u202f]", "", text)
    return float(text.replace(",", "") if mark == "." else text.replace(".", "").replace(",", "."))


def _numbers_rows(column: Any) -> bool:
    """Whether whole numbers count the rows from 0 or 1 on."""
    import numpy as np
    import pyarrow as pa

    if len(column) < _NUMBERED or column.null_count or not pa.types.is_integer(column.type):
        return False
    first = column[0].as_py()
    if first not in (0, 1) or column[len(column) - 1].as_py() != first + len(column) - 1:
        return False
    return bool((np.diff(column.to_numpy()) == 1).all())
