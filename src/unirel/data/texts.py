"""Texts that are numbers or dates, but for marks of missing values: one rule for files and for frames."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.readers import Raw

# What people write where there is no value, blanks and capitals aside.
MARKS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "--", "."))
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_CODE = re.compile(r"[+-]?0\d")  # such as a postal code: no number begins so
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}")  # what a comma before three digits may mean
_DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})"
    r"(?:[T ] ?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})\d*)?)?(?: ?(Z|[+-]\d{2}:?\d{2}|[AaPp][Mm]))?)?",
    re.ASCII,
)
# Below this many different texts a column is no identifier, however few rows there are.
_IDENTIFIER_LEVELS = 20
# Texts that are looked at before all of them are.
_FIRST = 20
# Share of the texts that may be words where it is said that the others are numbers.
_FEW = 0.1
# Floats tell whole numbers apart up to this one.
_LARGEST = 2.0**53


def like_identifier(n_values: int, n_present: int) -> bool:
    return n_values > _IDENTIFIER_LEVELS and 2 * n_values > n_present


def is_mark(text: str) -> bool:
    """Whether a text says that there is no value, in a column of numbers or dates."""
    return text.strip().lower() in MARKS


class FoundTexts(NamedTuple):
    """Numbers or dates that the texts of a column are."""

    values: NDArray[np.float64] | NDArray[np.datetime64]  # of all rows, NaN or NaT where they are missing
    marks: dict[str, int]  # texts that stand for missing values, and in how many rows
    order: str = ""  # of day and month, where it had to be found

    def words(self) -> str:
        """What had to be found out, in brackets: the order of day and month, and which texts are missing values."""
        about = [self.order] if self.order else []
        if self.marks:
            listed = ", ".join(map(repr, list(self.marks)[:3])) + (", ..." if len(self.marks) > 3 else "")
            n_rows = sum(self.marks.values())
            about.append(f"{n_rows:,} missing value{'s' * (n_rows > 1)} written as {listed}")
        return f" ({'; '.join(about)})" if about else ""


def hint_of(levels: Sequence[str]) -> str:
    """Which few texts keep a column from being one of numbers; empty if there are none or many."""
    others = [text for text in levels if not is_mark(text) and not _NUMBER.fullmatch(text.strip())]
    if not 0 < len(others) <= len(levels) * _FEW:
        return ""
    return f", but for {', '.join(map(repr, others[:3]))}{', ...' if len(others) > 3 else ''} they are numbers"


def find_values(raw: Raw, asked: bool = False) -> FoundTexts | None:
    """Numbers or dates, if all texts but the marks are ones; None if the column is to stay as it is.

    Numbers without any mark stay texts, since somebody made them so, unless nearly all differ or it is `asked` for.
    """
    if not all(is_mark(text) or _may_be_value(text.strip()) for text in raw.present[:_FIRST].tolist()):
        return None
    present = raw.present.tolist()
    distinct = dict.fromkeys(present)
    marks = {text: 0 for text in distinct if is_mark(text)}
    texts = [text for text in distinct if text not in marks]
    if not texts:
        return None
    numbers = _read_numbers([text.strip() for text in texts])
    if numbers is not None and not marks and not asked and not like_identifier(len(texts), len(present)):
        return None
    dates, order = (None, "") if numbers is not None else _read_dates([text.strip() for text in texts])
    found = numbers if numbers is not None else dates
    if found is None:
        return None
    places = {text: place for place, text in enumerate(texts)} | dict.fromkeys(marks, len(texts))
    places_of_rows = np.full(raw.values.size, len(texts))
    places_of_rows[~raw.missing] = np.fromiter(map(places.__getitem__, present), np.intp, len(present))
    for text in present if marks else ():
        if text in marks:
            marks[text] += 1
    nothing = np.array([np.nan if numbers is not None else np.datetime64("NaT")], found.dtype)
    return FoundTexts(np.concatenate([found, nothing])[places_of_rows], marks, order)


def _may_be_value(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None or _DATE.fullmatch(text) is not None


def _read_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    if not all(_NUMBER.fullmatch(text) and not _CODE.match(text) for text in texts):
        return None
    if any("," in text for text in texts):
        # A decimal comma, if nothing speaks for a point or for thousands.
        if any("." in text for text in texts) or all(_THOUSANDS.fullmatch(text) for text in texts if "," in text):
            return None
        texts = [text.replace(",", ".") for text in texts]
    values = np.array(list(map(float, texts)))
    return values if np.abs(values).max() < _LARGEST else None


def _read_dates(texts: Iterable[str]) -> tuple[NDArray[np.datetime64] | None, str]:
    """Moments, and how day and month were told apart where the texts do not say it one by one."""
    matches = [_DATE.fullmatch(text) for text in texts]
    found = [match.groups() for match in matches if match is not None]
    # A year of three digits is none, and one of two stands last.
    if len(found) < len(matches) or not all(_has_year(first, last) for first, _, _, last, *_ in found):
        return None, ""
    shorter = [(int(one[0]), int(one[2]), one[1]) for one in found if len(one[0]) < 3]
    day_first, order = _find_order(shorter)
    try:
        return np.array([_moment(one, day_first) for one in found], "M8[us]"), order
    except (ValueError, OverflowError):  # such as the 30th of February
        return None, ""


def _has_year(first: str, last: str) -> bool:
    return (len(first) == 4 and len(last) <= 2) or (len(first) <= 2 and len(last) in (2, 4))


def _find_order(pairs: Sequence[tuple[int, int, str]]) -> tuple[bool, str]:
    """Whether the day stands before the month, by all dates of a column: none has a month above 12."""
    if not pairs:
        return False, ""
    firsts, seconds = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    if max(firsts) > 12 or all(mark == "." for _, _, mark in pairs):
        return True, "day first"
    if max(seconds) > 12:
        return False, "month first"
    # Nothing says it. The first days of months have one number in the place of the day.
    day_first = len(seconds) > 1 or len(firsts) == 1
    return day_first, f"{'day' if day_first else 'month'} first, as no value tells"


def _moment(groups: Sequence[str], day_first: bool) -> datetime:
    first, _, second, third, hour, minute, second_of_minute, fraction, suffix = groups
    if len(first) == 4:
        year, month, day = int(first), int(second), int(third)
    else:
        day, month = (int(first), int(second)) if day_first else (int(second), int(first))
        year = int(third)
        if len(third) == 2:  # as everywhere: 69 is 1969, 68 is 2068
            year += 1900 if year >= 69 else 2000
    suffix, hours = (suffix or "").lower(), int(hour or 0)
    if suffix in ("am", "pm"):
        if not 1 <= hours <= 12:
            raise ValueError(f"{hours} {suffix} is no time of the day")
        hours = hours % 12 + (12 if suffix == "pm" else 0)
    microseconds = int((fraction or "").ljust(6, "0"))
    moment = datetime(year, month, day, hours, int(minute or 0), int(second_of_minute or 0), microseconds)
    if suffix[:1] in ("+", "-"):
        away = timedelta(hours=int(suffix[1:3]), minutes=int(suffix[-2:]))
        zone = timezone(away if suffix[0] == "+" else -away)
        moment = moment.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    return moment
