"""What columns of a file are that its types do not say: numbers among texts, numbers of rows, and identifiers."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unirel.cli import BadInput, Output, as_number
from unirel.cli.options import find_names, listed, split_names

_WITH_COMMA = r"^\s*[+-]?\d*(,\d+)?([eE][+-]?\d+)?\s*$"
# Rows from which on a column is looked at: fewer numbers may well be all different.
_NUMBERED = 20
# Digits from which on whole numbers that are all different may be those of customers, and not of a measurement.
_LONG = 5


def with_numbers(table: Any, names: Collection[str], output: Output | None = None) -> Any:
    """The table; texts of the named columns that are numbers but for marks of missing values as these numbers."""
    from unirel.data.readers import Raw
    from unirel.data.texts import find_values

    for name in names:
        column = table.column(name)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        missing = column.is_null().to_numpy(zero_copy_only=False)
        found = find_values(Raw("text", column.to_numpy(zero_copy_only=False), missing))
        if found is not None and found.values.dtype.kind == "f":
            numbers = pa.array(found.values, from_pandas=True)
            if not pc.any(pc.not_equal(numbers, pc.round(numbers))).as_py():
                numbers = numbers.cast(pa.int64())
            table = table.set_column(table.column_names.index(name), name, numbers)
            if output is not None:
                output.note(f"read {name!r} as numbers{found.words()}")
    return table


def with_points(table: Any) -> Any:
    """Texts that are numbers with a decimal comma, with a point: that is how numbers are written to a file."""
    from unirel.data.texts import MARKS

    def written(column: Any) -> Any:
        marks = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(column)), pa.array(sorted(MARKS)))
        fits = pc.or_(pc.match_substring_regex(column, _WITH_COMMA), marks)
        return pc.replace_substring(column, ",", ".") if pc.all(fits).as_py() else column

    return table.from_arrays([written(column) for column in table.columns], table.column_names)


def leave_out_row_numbers(features: Any, asked: Collection[str], output: Output) -> dict[str, str]:
    """Columns that number the rows and why they are left out, unless they are asked for; name likely identifiers."""
    from unirel.data.readers import plain_values

    others = [name for name in features.column_names if name not in asked]
    whole = [name for name in others if _are_whole(features.column(name))]
    ignored = {name: "it numbers the rows" for name in whole if _numbers_rows(plain_values(features.column(name)))}
    if ignored:
        reason, name = next(iter(ignored.values())), next(iter(ignored))
        output.note(f"ignored {listed(list(ignored))}: {reason}; to use a column all the same: --discrete '{name}'")
    if likely := [name for name in whole if name not in ignored and _may_identify(plain_values(features.column(name)))]:
        about = f"{listed(likely)} may be an identifier, whole numbers that are all different, and is used as a feature"
        output.note(f"{about}; to leave it out: --drop '{likely[0]}'")
    return ignored


def _are_whole(column: Any) -> bool:
    return pa.types.is_integer(column.type) and len(column) >= _NUMBERED and not column.null_count


def _numbers_rows(values: Any) -> bool:
    first, last = int(values[0]), int(values[-1])  # not of their type, which may be of one byte
    return first in (0, 1) and last == first + len(values) - 1 and bool((np.diff(values) == 1).all())


def _may_identify(values: Any) -> bool:
    """Whether whole numbers, all different, are equally long and long, or those from 0 or 1 on in another order."""
    lowest, highest = int(values.min()), int(values.max())
    long = lowest >= 0 and len(str(lowest)) == len(str(highest)) >= _LONG
    counted = lowest in (0, 1) and highest == lowest + len(values) - 1
    return (long or counted) and len(np.unique(values)) == len(values)


def find_groups(values: Sequence[str] | None, names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of each group, as names and patterns."""
    found: dict[str, list[str]] = {}
    for value in values or ():
        name, mark, columns = value.partition("=")
        if not (name.strip() and mark and columns.strip()):
            raise BadInput(f"--group {value!r}: write NAME=COLUMNS, such as 'soil=Soil_*'")
        found.setdefault(name.strip(), []).extend(find_names([columns], names, "--group"))
    return found


def find_costs(values: Sequence[str] | None, budget: float | None, names: Sequence[str]) -> Any:
    """What columns and groups cost, if any of it was given."""
    from unirel import Costs

    prices: dict[str, float] = {}
    whole = [f"{name}={value.rpartition('=')[2]}" for value in values or () for name in names]
    for value in split_names(values, whole):  # a name may have commas itself
        columns, _, price = value.rpartition("=")
        number = as_number(price)
        if isinstance(number, str) or not columns:
            raise BadInput(f"--cost {value!r}: write COLUMN=NUMBER, such as mri=300")
        prices |= dict.fromkeys(find_names([columns], names, "--cost"), number)
    if budget is None:
        return prices or None
    return Costs(prices, budget=budget)
