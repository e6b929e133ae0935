"""Columns that a caller names: references to them, the kinds asked for, and taking columns and rows of any data."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unirel.data.readers import Positions, Source, as_array, as_narwhals, is_frame, is_lazy, is_sparse
from unirel.errors import check_choice

Kind = Literal["continuous", "discrete", "ignored"]
TargetType = Literal["auto", "discrete", "continuous"]
DiscreteFeatures = bool | Literal["auto"] | Sequence[Any] | NDArray[Any] | Mapping[Any, bool | None]
Kinds = NDArray[np.int8]

# Kinds as they stand in arrays; a kind that nobody has given is unknown.
KINDS: tuple[Kind, ...] = get_args(Kind)
CONTINUOUS, DISCRETE, IGNORED, UNKNOWN = range(4)


def find_columns(columns: Any, names: Sequence[str], numbered: Mapping[int, int]) -> list[int]:
    """Positions of columns given by name or position, one or many; a negative position counts from the end.

    A whole number that is the name of a column (`numbered`) means that column, and a position only where no column has
    that name. Names and positions in one list, or a position that is also the text of another name, are refused.
    """
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        columns = [columns]
    asked, known = list(columns), {name: position for position, name in enumerate(names)}
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
    """What to say of a name that no column has."""
    close = difflib.get_close_matches(column, known) if len(known) <= 10_000 else []  # It takes a second for more.
    if close:
        return f"there is no column {column!r}; did you mean {' or '.join(map(repr, close))}?"
    listed = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
    return f"there is no column {column!r}; the columns are {listed}"


def target_kind(target_type: str) -> int:
    """The kind of the target that is asked for."""
    check_choice("target_type", target_type, get_args(TargetType))
    return UNKNOWN if target_type == "auto" else KINDS.index(target_type)


def kinds_asked(discrete_features: DiscreteFeatures, sources: Sequence[Source]) -> list[Kinds]:
    """Kinds asked for of the columns of each source, features first; conditions can be named like features."""
    given = discrete_features
    if isinstance(given, str) and given == "auto":
        return [np.full(source.shape[1], UNKNOWN, np.int8) for source in sources]
    if isinstance(given, bool | np.bool_):
        return [np.full(source.shape[1], DISCRETE if given else CONTINUOUS, np.int8) for source in sources]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(
            f"discrete_features={given!r} is none of 'auto', True, False, a mask, a list of columns and a mapping"
        )
    asked = [np.full(source.shape[1], UNKNOWN, np.int8) for source in sources]
    if isinstance(given, Mapping):
        for column, discrete in given.items():
            if not (discrete is None or isinstance(discrete, bool | np.bool_)):
                about = f"discrete_features gives column {column!r} {discrete!r}"
                raise ValueError(f"{about}; pass True for discrete, False for continuous, None to leave it out")
        kinds = [IGNORED if one is None else DISCRETE if one else CONTINUOUS for one in given.values()]
        _ask(asked, sources, list(given), kinds)
        return asked
    asked[0][:] = CONTINUOUS
    columns = list(given)
    if columns and all(isinstance(one, bool | np.bool_) for one in columns):
        if len(columns) != len(asked[0]):
            about = f"discrete_features is a mask of {len(columns)}, but X has {len(asked[0])} columns"
            raise ValueError(f"{about}; give one entry for each")
        asked[0][np.array(columns)] = DISCRETE
    else:
        _ask(asked, sources, columns, [DISCRETE] * len(columns))
    return asked


def _ask(asked: list[Kinds], sources: Sequence[Source], columns: list[Any], kinds: list[int]) -> None:
    """Note the kinds of columns, wherever those names are; positions are those of features."""
    conditions = {
        name: (number, position)
        for number, source in enumerate(sources[1:], start=1)
        for position, name in enumerate(source.names)
    }
    features = set(sources[0].names)
    for column, kind in zip(columns, kinds, strict=True):
        if isinstance(column, str) and column in conditions:
            number, position = conditions[column]
            asked[number][position] = kind
    mine = [
        place
        for place, one in enumerate(columns)
        if not isinstance(one, str) or one in features or one not in conditions
    ]
    try:
        found = find_columns([columns[place] for place in mine], sources[0].names, sources[0].numbered)
    except (TypeError, ValueError) as error:
        raise type(error)(f"discrete_features: {error}") from None
    for place, position in zip(mine, found, strict=True):
        asked[0][position] = kinds[place]


def take_named(data: Any, names: Sequence[str], library: str | None = None) -> Any:
    """Columns of a frame by their names, as `take_columns` gives them; of a lazy frame no others are collected."""
    lazy = is_lazy(data)
    if not lazy and not is_frame(data):
        raise TypeError(f"X is {type(data).__name__} and has no names of columns; pass a frame, or by_name=False")
    known = list(map(str, data.collect_schema().names() if lazy else as_narwhals(data, "X").columns))
    positions = {name: position for position, name in enumerate(known)}
    missing = [name for name in names if name not in positions]
    if missing:
        raise ValueError(f"X lacks what was selected: {unknown_column(missing[0], known)}")
    if lazy:
        return take_columns(data.select(list(names)).collect(), np.arange(len(names)), library)
    return take_columns(data, np.array([positions[name] for name in names], np.intp), library)


def take_columns(data: Any, columns: Positions, library: str | None = None) -> Any:
    """Columns at some positions, as a frame of the same library or of pandas if that is asked for, or as an array."""
    if is_sparse(data):
        return data.tocsc()[:, columns].asformat(data.format)
    frame = as_narwhals(data, "X")
    if not isinstance(frame, nw.DataFrame):
        return data[:, columns]
    chosen = frame[:, columns.tolist()]
    if library == "pandas" and not chosen.implementation.is_pandas():
        values = {column.name: column.to_numpy() for column in chosen.iter_columns()}
        chosen = nw.from_dict(values, backend="pandas")
    return chosen.to_native()


def take_rows(data: Any, rows: Positions) -> Any:
    """Rows at some positions of a frame, a series, an array, a sparse matrix or a list, in that order."""
    if is_sparse(data):
        return data.tocsr()[rows].asformat(data.format)
    table = as_narwhals(data, "X")
    if isinstance(table, nw.DataFrame | nw.Series):
        return table[rows.tolist()].to_native()
    return as_array(data, "X")[rows]
