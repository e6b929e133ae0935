"""Any data frame or array in, one `Table` of numbers out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from unirel.errors import UnirelWarning
from unirel.kinds import FEATURE, TARGET, Rule, decide_kind
from unirel.options import Kind, Kinds, ReadingOptions, complete, documented
from unirel.reading import Raw, Source, find_column, kinds_given, open_all

__all__ = ["Column", "Kind", "Kinds", "Table"]

# Columns are scaled together in blocks of about so many values, few enough to stay in the cache.
_BLOCK = 2**15


@dataclass(frozen=True)
class Column:
    """What is known about one column.

    Attributes
    ----------
    name : str
        Its name in the frame, or ``x0``, ``x1``, ... for an array.
    kind : {"continuous", "discrete", "ignored"}
        How estimators treat it.
    reason : str
        Why it has this kind, such as ``"3 distinct values in 62 rows"``.
    n_levels : int
        Levels of a discrete column, one of them for missing values if there are any; otherwise 0.
    n_missing : int
        Missing values; 0 for an ignored column, whose values are not looked at.
    """

    name: str
    kind: Kind
    reason: str
    n_levels: int
    n_missing: int


@dataclass(frozen=True, eq=False)
class Table:
    """Columns as rows of one array, encoded so that one rule gives every difference.

    Attributes
    ----------
    values : ndarray of shape (n_columns, n_samples)
        Features, then the columns conditioned on, then the target, C-contiguous; float32 or float64.
    columns : tuple of Column
        One for each row of `values`.
    n_features : int
        Features, ignored ones included, so that positions are those of the input.
    classes : ndarray or None
        Labels of a discrete target in the order of its codes; None for a continuous one.
    far : float
        A power of two, larger than the difference of any two continuous values.
    unit : float
        What one standard deviation is worth: 1 for scaled columns, otherwise the root mean square of those of the
        continuous features.

    Notes
    -----
    A continuous value is stored as it is (scaled), a missing one as ``4 * far``, a level as its code times
    ``2 * far``, an ignored column as zeros. So two entries of a row differ by ``|a - b|`` if that is less than `far`,
    and otherwise mismatch, whatever the kind of the column.

    Examples
    --------
    >>> from unirel.table import Table
    >>> table = Table.from_data([[0.5, "red"], [1.5, "blue"], [2.5, "red"]], ["no", "yes", "no"])
    >>> [column.kind for column in table.columns]
    ['continuous', 'discrete', 'discrete']
    >>> table.codes(1)
    array([1, 0, 1], dtype=int32)
    """

    values: NDArray[np.floating[Any]]
    columns: tuple[Column, ...]
    n_features: int
    classes: NDArray[Any] | None
    far: float
    unit: float

    @property
    def n_samples(self) -> int:
        """Number of rows of the input."""
        return int(self.values.shape[1])

    @property
    def spacing(self) -> float:
        """Distance between the stored codes of two neighbouring levels."""
        return 2 * self.far

    @property
    def target(self) -> int:
        """Index of the target, the last row of `values`."""
        return len(self.columns) - 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, ignored ones included."""
        return tuple(column.name for column in self.columns[: self.n_features])

    @cached_property
    def features(self) -> NDArray[np.intp]:
        """Indices of the features that are not ignored."""
        return np.flatnonzero(~self._ignored[: self.n_features])

    @cached_property
    def given(self) -> NDArray[np.intp]:
        """Indices of the columns conditioned on that are not ignored."""
        return self.n_features + np.flatnonzero(~self._ignored[self.n_features : self.target])

    @cached_property
    def discrete(self) -> NDArray[np.bool_]:
        """Whether each row of `values` is discrete."""
        return np.array([column.kind == "discrete" for column in self.columns])

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Whether each row of `values` is continuous."""
        return np.array([column.kind == "continuous" for column in self.columns])

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each discrete column, one of them for missing values if there are any; 0 for the others."""
        return np.array([column.n_levels for column in self.columns], np.int64)

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each row of `values`, continuous or discrete, has missing values."""
        return np.array([column.n_missing > 0 for column in self.columns])

    @cached_property
    def _ignored(self) -> NDArray[np.bool_]:
        return np.array([column.kind == "ignored" for column in self.columns])

    def codes(self, column: int) -> NDArray[np.int32]:
        """Level codes of a discrete row of `values`."""
        if self.columns[column].kind != "discrete":
            about = self.columns[column]
            raise ValueError(f"column {about.name!r} is {about.kind}; only a discrete column has codes")
        codes: NDArray[np.int32] = (self.values[column] / self.spacing).astype(np.int32)
        return codes

    def code_block(self, columns: Sequence[int] | NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Codes of discrete columns, one row each, in the narrowest type, and how many levels each has."""
        chosen = np.asarray(columns, np.intp)
        for column in chosen[~self.discrete[chosen]].tolist():
            self.codes(column)  # which says why there are none
        n_levels = self.n_levels[chosen]
        most = n_levels.max(initial=0)
        dtype = np.uint8 if most <= 2**8 else np.uint16 if most <= 2**16 else np.int32
        return (self.values[chosen] / self.spacing).astype(dtype), n_levels

    def continuous_block(self, columns: Sequence[int] | NDArray[np.intp]) -> NDArray[np.float64]:
        """Numbers of continuous columns, one row each, NaN where they are missing."""
        numbers = self.values[np.asarray(columns, np.intp)].astype(np.float64)
        numbers[numbers >= self.far] = np.nan
        return numbers

    def positions(self, columns: Any) -> list[int]:
        """Positions of features given by name or position, one or many; a negative position counts from the end."""
        named = [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else columns
        return [find_column(column, self.names) for column in named]

    def with_probes(self, random_state: int | None) -> Table:
        """The table with a shuffled copy of every feature behind the features.

        A shuffled copy tells nothing about the target but is distributed like the original.
        """
        rng = np.random.default_rng(random_state)
        probes = np.stack([rng.permutation(column) for column in self.values[: self.n_features]])
        names = [replace(column, name=f"{column.name} (shuffled)") for column in self.columns[: self.n_features]]
        values = np.concatenate([self.values[: self.n_features], probes, self.values[self.n_features :]])
        columns = (*self.columns[: self.n_features], *names, *self.columns[self.n_features :])
        return replace(self, values=values, columns=columns)

    @classmethod
    @documented(ReadingOptions)
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        conditional_on: Any = None,
        **options: Unpack[ReadingOptions],
    ) -> Table:
        """Read a table and a target.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            numpy array, list of rows, pandas, polars or pyarrow frame; one column may be a series.
        y : array or series of shape (n_samples,)
            The target, without missing values.
        conditional_on : like `X`, optional
            Columns to condition on.
        {options}

        Returns
        -------
        Table
        """
        chosen = complete(ReadingOptions, options, "Table.from_data")
        sources = open_all(X, conditional_on, y)
        inputs = _read_inputs(sources[:-1], chosen["kinds"])
        _check_inputs(inputs, sources[0].shape[1], chosen["missing"])
        kind = chosen["target_kind"]
        target = _read_target(sources[-1], None if kind == "auto" else kind)
        dtype = _common_dtype(inputs[: sources[0].shape[1]])
        return _assemble([*inputs, target], sources[0].shape[1], chosen["scale"], dtype)


class _Entry(NamedTuple):
    """A column that is described, with its values unless it is ignored."""

    column: Column
    raw: Raw | None


def _read_inputs(sources: Sequence[Source], kinds: Kinds | None) -> list[_Entry]:
    """Read and describe features and conditions, and warn of those left out."""
    entries, left_out = [], []
    for source, asked in zip(sources, kinds_given(kinds, sources), strict=True):
        for position, (name, kind) in enumerate(zip(source.names, asked, strict=True)):
            if kind == "ignored":
                entries.append(_Entry(Column(name, kind, "given by kinds", 0, 0), None))
                continue
            entries.append(_describe(name, source.read(position), kind, "kinds", FEATURE))
            if entries[-1].raw is None:
                left_out.append(entries[-1].column)
    if left_out:
        listed = ", ".join(f"{column.name!r} ({column.reason})" for column in left_out)
        remedy = f"to use a column all the same, pass kinds={{{left_out[0].name!r}: 'discrete'}}"
        warnings.warn(f"ignored {listed}; {remedy}", UnirelWarning, stacklevel=3)
    return entries


def _describe(name: str, raw: Raw, given: Kind | None, giver: str, rule: Rule) -> _Entry:
    """Decide the kind of a column, unless it is given."""
    if given is None:
        kind, reason = decide_kind(raw, rule)
    else:
        kind, reason = given, f"given by {giver}"
    if kind == "ignored":
        return _Entry(Column(name, kind, reason, 0, 0), None)
    if kind == "continuous" and raw.values.dtype.kind not in "biuf":
        given_by = f"{giver}={given!r}" if giver == "target_kind" else f"{giver} gives {raw.label} {given!r}"
        raise ValueError(f"{given_by}, but {name!r} holds no numbers; make it 'discrete' or convert it")
    n_levels = raw.coding[0].size + (raw.n_missing > 0) if kind == "discrete" else 0
    return _Entry(Column(name, kind, reason, n_levels, raw.n_missing), raw)


def _check_inputs(entries: Sequence[_Entry], n_features: int, missing: str) -> None:
    """Refuse a table without features and, if asked to, missing values."""
    if all(entry.raw is None for entry in entries[:n_features]):
        raise ValueError(f"no feature is left: all {n_features} columns of X are ignored; give one of them a kind")
    incomplete = [entry.column for entry in entries if entry.column.n_missing]
    if missing == "error" and incomplete:
        listed = ", ".join(f"{column.name!r} ({column.n_missing})" for column in incomplete)
        raise ValueError(f"missing='error', but there are missing values (NaN) in {listed}; fill or drop them")


def _read_target(source: Source, kind: Kind | None) -> _Entry:
    """Read the target, which must be complete and vary."""
    raw = source.read(0)
    if raw.n_missing == raw.values.size:
        raise ValueError(f"y has no value at all: all {raw.n_missing} are missing (NaN); choose another target")
    if raw.n_missing:
        values = "value" if raw.n_missing == 1 else "values"
        raise ValueError(f"y has {raw.n_missing} missing {values} (NaN); drop those rows from X and y")
    entry = _describe(source.names[0], raw, kind, "target_kind", TARGET)
    if raw.coding[0].size == 1:
        only = raw.coding[0].tolist()[0]
        raise ValueError(f"y has one class only: every value is {only!r}; choose a target that varies")
    return entry


def _common_dtype(entries: Sequence[_Entry]) -> type[np.floating[Any]]:
    """Single precision if all numeric features have it, else double."""
    raws = [entry.raw for entry in entries if entry.raw is not None]
    dtypes = {raw.values.dtype for raw in raws if raw.family == "number" and raw.present.size}
    return np.float32 if dtypes == {np.dtype(np.float32)} else np.float64


def _assemble(entries: Sequence[_Entry], n_features: int, scale: str | None, dtype: type[np.floating[Any]]) -> Table:
    """Scale continuous columns, encode discrete ones, and put them far apart."""
    columns = tuple(entry.column for entry in entries)
    values = np.zeros((len(entries), entries[-1].raw.values.size if entries[-1].raw else 0), dtype=dtype)
    raws = {position: raw for position, (_, raw) in enumerate(entries) if raw is not None}
    with np.errstate(over="ignore", invalid="ignore"):  # What overflows is caught below, by name.
        _write_continuous(values, {i: raw for i, raw in raws.items() if columns[i].kind == "continuous"}, scale)
    far = _find_far(values, entries)
    unit = _find_unit(values[:n_features], columns) if scale is None else 1.0
    for position, raw in raws.items():
        if columns[position].kind == "discrete":
            values[position] = raw.coding[1] * (2 * far)
        elif raw.n_missing:
            values[position, raw.missing] = 4 * far
    classes = raws[len(columns) - 1].coding[0] if columns[-1].kind == "discrete" else None
    return Table(values, columns, n_features, classes, far, unit)


def _write_continuous(values: NDArray[np.floating[Any]], raws: Mapping[int, Raw], scale: str | None) -> None:
    """Write scaled columns, with NaN for what is missing; many at once if they are complete."""
    deviations = np.ones((len(values), 1))
    complete = [position for position, raw in raws.items() if not raw.n_missing]
    step = max(1, _BLOCK // values.shape[1])
    for block in (complete[start : start + step] for start in range(0, len(complete), step)):
        values[block], deviations[block] = _scaled([raws[position].values for position in block], scale)
    for position in raws.keys() - complete:
        present = ~raws[position].missing
        values[position] = np.nan
        if present.any():
            values[position, present], deviations[position] = _scaled([raws[position].present], scale)
    for position in np.flatnonzero(~np.isfinite(deviations)).tolist():
        largest = np.abs(raws[position].present.astype(np.float64)).max()
        about = f"{raws[position].label} overflows when it is scaled (largest value {largest:.3g})"
        raise ValueError(f"{about}; divide it by a constant")


def _scaled(columns: Sequence[NDArray[Any]], scale: str | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scaled columns as rows, and what they were divided by, which is not finite for one that overflows."""
    rows = np.array(columns, dtype=np.float64)
    if scale is None:
        return rows, np.ones((len(rows), 1))
    if scale == "rank":
        rows = np.array([average_ranks(row) for row in rows])
    lowest, highest = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    largest = np.maximum(-lowest, highest)
    rows /= np.where(largest < 1e-100, largest, 1)  # Squares of tiny values vanish, but units must not matter.
    rows -= rows.sum(axis=1, keepdims=True) / rows.shape[1]
    # Rounding would give a constant column a tiny deviation, and dividing by it would make noise.
    rows[(lowest == highest)[:, 0]] = 0
    deviations = np.sqrt((rows * rows).sum(axis=1, keepdims=True) / rows.shape[1])
    deviations[deviations == 0] = 1
    rows /= deviations
    return rows, deviations


def average_ranks(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share their mean rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = np.cumsum(counts) - (counts - 1) / 2
    return ranks[codes]


def _find_far(values: NDArray[np.floating[Any]], entries: Sequence[_Entry]) -> float:
    """Least power of two, from 2 on, above twice the largest continuous value."""
    n_levels = max(entry.column.n_levels for entry in entries)
    # Estimators sum squares of differences over columns, and those must stay finite too.
    limit = np.sqrt(np.finfo(values.dtype).max) / (4 * max(4, n_levels, len(entries)))
    # These two pass over missing values without a word; a column that has no other stays NaN.
    largest = np.fmax(np.fmax.reduce(values, axis=1), -np.fmin.reduce(values, axis=1)).astype(np.float64)
    largest[[entry.column.kind != "continuous" for entry in entries]] = np.nan
    for position in np.flatnonzero(largest >= limit).tolist():
        label = f"column {entries[position].column.name!r}" if position < len(entries) - 1 else "y"
        about = f"{label} overflows (largest value {largest[position]:.3g})"
        raise ValueError(f"{about}; divide it by a constant")
    return max(2.0, float(np.ldexp(1.0, np.frexp(2 * np.fmax.reduce(largest, initial=0.0))[1])))


def _find_unit(features: NDArray[np.floating[Any]], columns: Sequence[Column]) -> float:
    """Root mean square of the standard deviations of the continuous features that vary."""
    variances = []
    for row, column in zip(features, columns, strict=False):
        if column.kind == "continuous" and column.n_missing < row.size:
            present = row[~np.isnan(row)].astype(np.float64)
            if present.min() < present.max():
                variances.append(present.var())
    # Columns of tiny values may have a variance that vanishes; a unit of 0 would make categories equal.
    mean = float(np.mean(variances)) if variances else 0.0
    return mean**0.5 if mean > 0 else 1.0
