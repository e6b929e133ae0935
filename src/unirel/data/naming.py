"""Columns that a caller names: by their names, positions, patterns and types."""

import difflib
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

# Families of values as a caller names them; dates, times and durations are all datetime.
TYPE_OF = {"number": "number", "boolean": "bool", "text": "string", "category": "category"}
TYPES = (*TYPE_OF.values(), "datetime")
_PREFIX = "dtype:"


def is_type(column: Any) -> bool:
    return isinstance(column, str) and column.startswith(_PREFIX)


def is_pattern(column: Any, names: Sequence[str]) -> bool:
    """Whether it stands for all columns of a form or type; a column that has this very name is meant itself."""
    return (
        isinstance(column, str) and (is_type(column) or any(mark in column for mark in "*?[")) and column not in names
    )


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Names of a form, such as ``lab_*``, in the order of the table."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        fixed = pattern.strip("*?")
        # Only what stands at the same end of a name is like what is fixed.
        ends = {
            name[-len(fixed) :] if pattern.startswith("*") else name[: len(fixed)]: name for name in reversed(names)
        }
        raise ValueError(f"no column is like {pattern!r}; {_suggest(fixed, names, ends)}")
    return found


def expand(columns: Any, names: Sequence[str], type_of: Callable[[int], str]) -> list[Any]:
    """The same list with the positions or names that its patterns and types stand for in their places."""
    expanded: list[Any] = []
    for column in listed(columns):
        if not is_pattern(column, names):
            expanded.append(column)
        elif is_type(column):
            expanded += _of_type(column, names, type_of)
        else:
            expanded += matching(column, names)
    return expanded


def _of_type(column: str, names: Sequence[str], type_of: Callable[[int], str]) -> list[str]:
    """Names of the columns of a type; there may be none, as what is left out need not be there."""
    wanted = column.removeprefix(_PREFIX)
    if wanted not in TYPES:
        known = ", ".join(repr(_PREFIX + one) for one in TYPES)
        raise ValueError(f"{column!r} is no column, and no type of columns; the types are {known}")
    return [name for position, name in enumerate(names) if type_of(position) == wanted]


def listed(columns: Any) -> list[Any]:
    """One column or many as a list."""
    return [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else list(columns)


def find_columns(columns: Any, names: Sequence[str], numbered: Mapping[int, int]) -> list[int]:
    """Positions of columns given by name or position, one or many; a negative position counts from the end."""
    # A whole number that is the name of a column (`numbered`) means that column, and a position only where no column
    # has that name. Names and positions in one list, or a position that is also the text of another name, are refused.
    asked, known = listed(columns), {name: position for position, name in enumerate(names)}
    found = [_find_column(column, known, names, numbered) for column in asked]
    whole = [column for column in asked if not isinstance(column, str)]
    as_names = [column for column in whole if int(column) in numbered]
    if as_names and len(as_names) < len(whole):
        other = next(column for column in whole if int(column) not in numbered)
        about = f"column {as_names[0]} is a name and column {other} a position"
        raise ValueError(f"{about}; a list of whole numbers must be all names or all positions")
    return found


def _find_column(column: Any, known: Mapping[str, int], names: Sequence[str], numbered: Mapping[int, int]) -> int:
    if isinstance(column, str):
        if column not in known:
            raise ValueError(unknown_column(column, names))
        return known[column]
    if not isinstance(column, numbers.Integral) or isinstance(column, bool):
        raise TypeError(f"column {column!r} is neither a name nor a position")
    place = int(column)
    if place in numbered:
        return numbered[place]
    if not -len(names) <= place < len(names):
        raise ValueError(f"column {column} is out of range: X has {len(names)} columns (0 to {len(names) - 1})")
    position = place % len(names)
    if known.get(str(place), position) != position:
        about = f"column {place} is ambiguous: {str(place)!r} is a name, but {names[position]!r} is at position {place}"
        raise ValueError(f"{about}; pass one of these names")
    return position


def unknown_column(column: str, known: Sequence[str]) -> str:
    return f"there is no column {column!r}; {_suggest(column, known)}"


def _suggest(column: str, known: Sequence[str], meant: Mapping[str, str] | None = None) -> str:
    """What a name may have been meant to be; `meant` are the names that it is compared by, if not by themselves."""
    named = dict.fromkeys(known) if meant is None else meant
    close = difflib.get_close_matches(column, named) if len(named) <= 10_000 else []  # It takes a second for more.
    close = [(meant or {}).get(one, one) for one in close]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"the columns are {', '.join(map(repr, known[:10]))}{', ...' * (len(known) > 10)}"
