"""Groups of columns that are selected or left as one: a table in which each of them is one column of joint levels."""

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import warn
from unirel.data import CONTINUOUS, DISCRETE, IGNORED, Positions
from unirel.data.encoding import narrowest
from unirel.data.kernels import find_bins, find_edges
from unirel.data.naming import listed
from unirel.data.table import Table

# Rows that a joint level has on average, or it is too few to count; most bins of a number, of which there are fewer
# where that leaves enough rows.
_ROWS_PER_LEVEL, _MOST_BINS = 5, 8
# What the last part of a name may stand behind.
_MARKS = "_=:.- "


class Pinned(list[int]):
    """Positions of the columns of a group of a table; of some of its rows the levels may be filled less well."""


class GroupedTable(Table):
    """The same columns, but the first of each group is the group, under its name, and the others are ignored.

    So every position means what it does in the table, and whatever looks at columns looks at groups.
    """

    def __init__(self, table: Table, groups: Mapping[str, Any], lenient: bool = False) -> None:
        vars(self).update({name: value for name, value in vars(table).items() if name not in _FOUND_FROM_COLUMNS})
        self.single = table  # without groups
        self._places = _places_of(groups, table)
        names = table.columns.names
        self.level_names: dict[int, tuple[str, ...]] = {}  # of groups that are categories
        self.members = {name: tuple(names[one] for one in places) for name, places in self._places.items()}
        self.columns, self._dense = copy(table.columns), copy(table._dense)
        self._dense.facts, self._all = self.columns, self._dense
        for what in ("kinds", "n_values", "n_missing", "reasons"):
            setattr(self.columns, what, getattr(table.columns, what).copy())
        vars(self.columns).pop("n_levels", None)
        for what in ("codes", "numeric", "_wide"):
            setattr(self._dense, what, getattr(table._dense, what).copy())
        renamed = list(names)
        for name, places in self._places.items():
            renamed[places[0]] = name
            self._join(name, places, lenient or isinstance(groups[name], Pinned))
        self.columns.names = tuple(renamed)

    def _join(self, name: str, places: list[int], is_pinned: bool) -> None:
        codes, reason = join(self.single, name, np.array(places, np.intp), is_pinned)
        if are_exclusive(self.single, np.array(places, np.intp)):
            self.level_names[places[0]] = _names_of_levels(self.single, places, codes)
        first, facts, dense = places[0], self.columns, self._dense
        facts.kinds[places], facts.n_missing[places] = IGNORED, 0
        facts.reasons[places] = f"in the group {name!r}"
        facts.kinds[first], facts.n_values[first], facts.reasons[first] = DISCRETE, codes.max() + 1, reason
        dense.numeric[first] = False
        dense._wide.pop(first, None)
        narrow = codes.astype(narrowest(int(codes.max()) + 1))
        if narrow.dtype == np.uint8:
            dense.codes[first] = narrow
        else:
            dense._wide[first] = narrow

    @property
    def pinned(self) -> dict[str, Pinned]:
        """Its groups, for tables of some of its rows."""
        return {name: Pinned(places) for name, places in self._places.items()}

    @cached_property
    def apart(self) -> Table:
        """The same table, but groups that are no category are the columns that they consist of."""
        return grouped(self.single, {name: one for name, one in self.pinned.items() if one[0] in self.level_names})

    def block(self, feature: int) -> list[int]:
        """Positions in the table `apart` of the columns of a feature."""
        return [feature] if feature >= self.n_features or feature in self.level_names else self.members_of(feature)

    def positions(self, columns: Any) -> list[int]:
        """Positions of features: a group by its name, or by all of its columns."""
        named = [one for column in listed(columns) for one in self._names_of(column)]
        found = self.single.positions(named)
        for name, places in self._places.items():
            inside = set(places).intersection(found)
            if inside and len(inside) < len(places):
                about = f"column {self.single.names[min(inside)]!r} is in the group {name!r}"
                raise ValueError(f"{about}, which is selected or left as one; name {name!r}")
        first = {one: places[0] for places in self._places.values() for one in places}
        return list(dict.fromkeys(first.get(one, one) for one in found))

    def members_of(self, feature: int) -> list[int]:
        """Positions of the columns of a feature."""
        return self._places.get(self.names[feature], [feature])

    def decided_types(self, X: Any) -> dict[str, Any]:
        return self.single.decided_types(X)

    def _names_of(self, column: Any) -> list[Any]:
        return list(self.members.get(column, [column])) if isinstance(column, str) else [column]


def grouped(table: Table, groups: Any, lenient: bool = False) -> Table:
    """The table with its groups, if there are any and it has them not already; `lenient` if levels are not counted."""
    return GroupedTable(table, groups, lenient) if groups and not isinstance(table, GroupedTable) else table


def members_of(table: Table, feature: int) -> list[int]:
    return table.members_of(feature) if isinstance(table, GroupedTable) else [feature]


# What a table finds out about its columns once.
_FOUND_FROM_COLUMNS = ("names", "features", "given", "discrete", "continuous", "has_missing", "_matrix")


def _places_of(groups: Mapping[str, Any], table: Table) -> dict[str, list[int]]:
    """Positions of the columns of each group, in the order of the table; what cannot be is refused."""
    if table.is_parted or table.is_sparse:
        how = "is read in parts" if table.is_parted else "is sparse"
        remedy = "pass a table in memory" if table.is_parted else "pass X.toarray()"
        raise TypeError(f"groups need all values of their columns at once, but X {how}; {remedy}")
    found: dict[str, list[int]] = {}
    owners: dict[int, str] = {}
    for name, columns in groups.items():
        places = sorted(set(table.positions(columns)))
        if name in table.names:
            raise ValueError(f"groups has {name!r}, which is the name of a column; choose another name")
        if not places:
            raise ValueError(f"groups={{{name!r}: {columns!r}}} has no column; name some, or leave it out")
        for place in places:
            column = table.columns[place]
            if place in owners:
                both = f"{owners[place]!r} and {name!r}"
                raise ValueError(f"groups {both} share column {column.name!r}; leave it in one of them")
            if column.kind == "ignored":
                about = f"groups: column {column.name!r} of {name!r} is ignored ({column.reason})"
                raise ValueError(f"{about}; leave it out, or say what it is with discrete_features=")
            owners[place] = name
        found[name] = places
    return found


def check_groups(groups: Any) -> None:
    if groups is not None and not (isinstance(groups, Mapping) and all(isinstance(one, str) and one for one in groups)):
        example = "{'soil': ['Soil_1', 'Soil_2'], 'area': 'Area_*'}"
        raise ValueError(f"groups={groups!r} must be a mapping from names of groups to columns, such as {example}")


def join(table: Table, name: str, members: Positions, is_pinned: bool = False) -> tuple[NDArray[np.int64], str]:
    """The code of the joint level of some columns in every row, and what it is; refused if rows are too few."""
    if are_exclusive(table, members):
        codes = table.code_block(members)[0]
        places = np.where(codes.any(axis=0), codes.argmax(axis=0), len(members))  # none of them comes last
        return np.unique(places, return_inverse=True)[1], f"the one of {len(members)} columns that is 1"
    discrete = members[table.discrete[members]]
    levels = [row.astype(np.int64) for row in table.code_block(discrete)[0]]
    numbers = table.continuous_block(members[table.continuous[members]])
    for n_bins in range(_MOST_BINS, 1, -1) if len(numbers) else (0,):
        joint = _renumbered([*levels, *_in_bins(numbers, n_bins)])
        n_levels = int(joint.max()) + 1
        if n_levels * _ROWS_PER_LEVEL <= table.n_samples or (is_pinned and n_bins <= 2):
            cut = f", {'its number' if len(numbers) == 1 else 'numbers'} in {n_bins} bins" if len(numbers) else ""
            return joint, f"joint levels of {len(members)} columns{cut}"
    about = f"group {name!r} has {n_levels} joint levels in {table.n_samples} rows"
    remedy = "leave columns out of it, or select by BURSelector(beta=0, mi_estimator='gaussian'), which counts none"
    raise ValueError(f"{about}, too few rows to count each; {remedy}")


def are_exclusive(table: Table, members: Positions) -> bool:
    """Whether columns have two values each, of which no row has more than one of the higher ones: a category."""
    if (table.columns.kinds[members] == CONTINUOUS).any() or table.has_missing[members].any():
        return False
    if (table.n_levels[members] > 2).any():
        return False
    return int(table.code_block(members)[0].sum(axis=0, dtype=np.int64).max()) <= 1


def _names_of_levels(table: Table, members: list[int], codes: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of exclusive columns, without how all of them begin, in the order of the codes of their levels."""
    names = [table.names[one] for one in members]
    beginning = beginning_of(names[0])
    short = [
        name.removeprefix(beginning) if all(one.startswith(beginning) for one in names) else name for name in names
    ]
    on = table.code_block(np.array(members, np.intp))[0]
    present = [name for name, row in zip(short, on, strict=True) if row.any()]
    return (*present, "none")[: int(codes.max()) + 1]


def _in_bins(numbers: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    """Numbers as codes of bins of equal frequency; missing ones have the last."""
    codes = np.empty(numbers.shape, np.uint8)
    if len(numbers):
        find_bins(numbers, find_edges(numbers, n_bins, "quantile", None), np.full(len(numbers), n_bins), codes)
    return codes.astype(np.int64)


def _renumbered(codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Joint levels in use, numbered in the order of the first column, then of the second, and so on."""
    joint = np.zeros(len(codes[0]), np.int64)
    for row in codes:
        joint = np.unique(joint * (row.max() + 1) + row, return_inverse=True)[1]
    return joint


def find_one_hot(table: Table) -> dict[str, list[str]]:
    """Blocks of 0/1 columns of which every row has exactly one 1, and whose names begin alike, by how they begin."""
    if table.is_parted or table.is_sparse:
        return {}
    kinds = table.discrete & ~table.has_missing & (table.n_levels <= 2)
    beginnings: dict[str, list[int]] = {}
    for place in np.flatnonzero(kinds[: table.n_features]).tolist():
        beginnings.setdefault(beginning_of(table.names[place]), []).append(place)
    found = {}
    for beginning, places in beginnings.items():
        alike = [name for name in table.names if name.startswith(beginning)] if beginning else []
        if 1 < len(places) == len(alike) and beginning.rstrip(_MARKS) not in ("", *table.names):
            members = np.array(places, np.intp)
            n_ones = table.code_block(members)[0].sum(axis=0, dtype=np.int64)
            if n_ones.min() == n_ones.max() == 1:
                found[beginning] = alike
    return found


def offer_groups(table: Table, groups: Any) -> None:
    """Name columns that are one category, and the groups that would select each such block as one, unless some are."""
    found = {} if groups else find_one_hot(table)
    named = {beginning.rstrip(_MARKS): f"{beginning}*" for beginning in found if not set(beginning) & set("*?[")}
    if named:
        blocks = zip(named.values(), found.values(), strict=False)
        about = ", ".join(f"{pattern!r} ({len(columns)} columns)" for pattern, columns in blocks)
        warn(
            f"of {about} exactly one is 1 in every row, as of a category; to select each as one, pass groups={named!r}"
        )


def beginning_of(name: str) -> str:
    """A name without its last part, which stands behind a mark or is a number; empty if there is no such part."""
    for mark in _MARKS:
        head, separator, tail = name.rpartition(mark)
        if separator and head and tail:
            return head + separator
    return name.rstrip("0123456789") if name[-1:].isdigit() else ""
