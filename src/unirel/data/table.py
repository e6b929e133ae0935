"""Any data frame or array in, one `Table` of numbers out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.coding import Codes, Columns, DenseColumns, Facts
from unirel.data.reading import (
    CONTINUOUS,
    DISCRETE,
    IGNORED,
    KINDS,
    UNKNOWN,
    DiscreteFeatures,
    Positions,
    Source,
    TargetType,
    find_column,
    is_frame,
    kinds_asked,
    open_all,
)
from unirel.data.sparse import SparseBlock, SparseColumns, SparseNumbers
from unirel.errors import UnirelWarning, check_choice

# Columns are scaled together in blocks of about this many values, few enough to stay in the cache.
_BLOCK = 2**15
# Numbers below this can be squared and added up.
_SAFE = 1e100
# Squares of numbers below this vanish, or lose digits.
_TINY = 1e-150


class Table:
    """Columns of features, of conditions and of a target, whatever they were read from.

    What counting needs (kinds, levels, codes) is known when a table is read. The matrix `values` that neighbours are
    searched in is made when it is first asked for, from the input, which must not be changed before.

    Attributes
    ----------
    columns : Columns
        A sequence of `Column`: features, then the columns conditioned on, then the target.
    n_samples : int
        Number of rows of the input.
    n_features : int
        Features, ignored ones included, so that positions are those of the input.
    classes : ndarray or None
        Labels of a discrete target in the order of its codes; None for a continuous one.

    Notes
    -----
    Counting estimators ask for blocks of columns: `code_block` for the codes of discrete columns, `continuous_block`
    for the numbers of continuous ones. A table read from a sparse matrix (`is_sparse`) has its features in
    `sparse_block` and `sparse_numbers` too, which take memory for stored entries only; it has no `values`.

    In `values` a continuous value is stored as it is (scaled), a missing one as ``4 * far``, a level as its code times
    ``2 * far``, an ignored column as zeros. So two entries of a row differ by ``|a - b|`` if that is less than `far`,
    and otherwise mismatch, whatever the kind of the column.

    Examples
    --------
    >>> from unirel.data.table import Table
    >>> table = Table.from_data([[0.5, "red"], [1.5, "blue"], [2.5, "red"]], ["no", "yes", "no"])
    >>> [column.kind for column in table.columns]
    ['continuous', 'discrete', 'discrete']
    >>> table.codes(1)
    array([1, 0, 1], dtype=int32)
    >>> table.code_block([1, 2])
    (array([[1, 0, 1],
           [0, 1, 0]], dtype=uint8), array([2, 2]))
    """

    is_parted = False  # whether the rows are elsewhere, in several parts

    def __init__(
        self,
        columns: Columns,
        n_features: int,
        classes: NDArray[Any] | None,
        contents: _Contents | _Moved,
    ) -> None:
        self.columns = columns
        self.n_samples = columns.n_samples
        self.n_features = n_features
        self.classes = classes
        self._contents = contents

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """All columns as rows of one array, C-contiguous, float32 or float64."""
        return self._contents.scaled.values

    @property
    def far(self) -> float:
        """A power of two, larger than the difference of any two continuous values."""
        return self._contents.scaled.far

    @property
    def unit(self) -> float:
        """What one standard deviation is worth.

        1 for scaled columns, otherwise the root mean square of those of the continuous features.
        """
        return self._contents.scaled.unit

    @property
    def target(self) -> int:
        """Position of the target, the last column."""
        return len(self.columns) - 1

    @property
    def is_sparse(self) -> bool:
        """Whether the features were read from a sparse matrix."""
        return self._contents.sparse is not None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, ignored ones included."""
        return self.columns.names[: self.n_features]

    @cached_property
    def features(self) -> Positions:
        """Positions of the features that are not ignored."""
        return np.flatnonzero(self.columns.facts.kinds[: self.n_features] != IGNORED)

    @cached_property
    def given(self) -> Positions:
        """Positions of the columns conditioned on that are not ignored."""
        return self.n_features + np.flatnonzero(self.columns.facts.kinds[self.n_features : self.target] != IGNORED)

    @cached_property
    def discrete(self) -> NDArray[np.bool_]:
        """Whether each column is discrete."""
        return np.asarray(self.columns.facts.kinds == DISCRETE)

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Whether each column is continuous."""
        return np.asarray(self.columns.facts.kinds == CONTINUOUS)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each discrete column, one of them for missing values if there are any; 0 for the others."""
        return self.columns.n_levels

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each column, continuous or discrete, has missing values."""
        return self.columns.facts.n_missing > 0

    def codes(self, column: int) -> NDArray[np.int32]:
        """Level codes of a discrete column."""
        codes: NDArray[np.int32] = self.code_block([column])[0][0].astype(np.int32)
        return codes

    def code_block(self, columns: Sequence[int] | Positions) -> tuple[Codes, NDArray[np.int64]]:
        """Codes of discrete columns, one row each, and how many levels each has.

        The codes are of the narrowest type that holds them: uint8, uint16 or int32. A missing value has the last
        code. Do not write to them: they may be the table's own. Of a sparse table ask for few columns.
        """
        chosen = self._of_kind(columns, DISCRETE)
        return self._contents.codes_of(chosen), self.n_levels[chosen]

    def continuous_block(self, columns: Sequence[int] | Positions) -> NDArray[np.float64]:
        """Numbers of continuous columns as they were given, one row each, NaN where they are missing."""
        return self._contents.numbers_of(self._of_kind(columns, CONTINUOUS))

    def line_block(self, columns: Sequence[int] | Positions) -> NDArray[np.floating[Any]]:
        """Columns to be looked at one by one: rows of `values`, but standardised numbers with the digits of the input.

        A single column needs no scale, and without one its ties are exactly those of the input. Only powers of two are
        divided by, so that differences stay below `far`.
        """
        chosen = np.asarray(columns, np.intp)
        values = self.values[chosen]
        numeric = self.continuous[chosen]
        if self._contents.scale != "standard" or values.dtype != np.float64 or not numeric.any():
            return values
        numbers = self._contents.numbers_of(chosen[numeric])
        missing = np.isnan(numbers)
        numbers[missing] = 0
        largest = np.maximum(-numbers.min(axis=1, keepdims=True), numbers.max(axis=1, keepdims=True))
        numbers = np.ldexp(numbers, -np.frexp(largest)[1])
        numbers[missing] = 4 * self.far
        values[numeric] = numbers
        return values

    def sparse_block(self, columns: Sequence[int] | Positions) -> SparseBlock:
        """Stored entries of discrete features of a sparse table, and their codes."""
        return self._contents.sparse_block(self._of_kind(columns, DISCRETE))

    def sparse_numbers(self, columns: Sequence[int] | Positions) -> SparseNumbers:
        """Stored entries of continuous features of a sparse table."""
        return self._contents.sparse_numbers(self._of_kind(columns, CONTINUOUS))

    def one_per_feature(self, values: Any, columns: Positions | None = None) -> NDArray[np.float64]:
        """Values of some features, those in use if it is not said which, spread over all features; NaN for others."""
        result = np.full(self.n_features, np.nan)
        result[self.features if columns is None else columns] = values
        return result

    def positions(self, columns: Any) -> list[int]:
        """Positions of features given by name or position, one or many; a negative position counts from the end."""
        named = [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else columns
        return [find_column(column, self.names) for column in named]

    def decided_types(self, X: Any) -> dict[str, Any]:
        """Parameters that read rows of `X`, of which this is the table, with the same kinds of columns."""
        types = {"discrete": True, "continuous": False, "ignored": None}
        columns = enumerate(self.columns[: self.n_features])
        # Columns of an array have names that it does not know.
        known = {column.name if is_frame(X) else place: types[column.kind] for place, column in columns}
        return {"discrete_features": known, "target_type": self.columns[self.target].kind}

    def renamed(self, names: Sequence[str]) -> Table:
        """The table with other names for its features."""
        columns = Columns([tuple(names), self.columns.names[self.n_features :]], self.columns.facts, self.n_samples)
        return Table(columns, self.n_features, self.classes, self._contents)

    def moved(self, columns: Sequence[int] | Positions, order: Positions) -> Table:
        """The table with the rows of some columns in another order, a permutation; all others stay where they are."""
        contents = _Moved(self._contents, columns, order)
        return Table(self.columns, self.n_features, self.classes, contents)

    def take(self, columns: Positions, rows: Positions) -> Table:
        """A small table of its own: some columns of some rows, and the target."""
        chosen = np.append(columns, self.target)
        values = np.zeros((len(rows), len(chosen)))
        discrete, continuous = self.discrete[chosen], self.continuous[chosen]
        # A few columns at a time, since those of all rows have to be taken.
        for places in np.array_split(np.arange(len(chosen)), max(1, len(chosen) * self.n_samples // 2**22)):
            codes, numbers = places[discrete[places]], places[continuous[places]]
            if len(codes):
                values[:, codes] = self.code_block(chosen[codes])[0][:, rows].T
            if len(numbers):
                values[:, numbers] = self.continuous_block(chosen[numbers])[:, rows].T
        return self.small(columns, values)

    def small(self, columns: Positions, values: NDArray[np.float64]) -> Table:
        """A table of some rows: codes and numbers of some columns and, last, of the target."""
        target_type: Any = KINDS[self.columns.facts.kinds[self.target]]
        small = Table.from_data(
            values[:, :-1], values[:, -1], discrete_features=self.discrete[columns], target_type=target_type
        )
        return small.scaled(self._contents.scale)

    def scaled(self, scale: str | None) -> Table:
        """The table with its numbers in another scale: "standard", "rank" or None for as they are."""
        if scale == self._contents.scale:
            return self
        return Table(self.columns, self.n_features, self.classes, self._contents.in_scale(scale))

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        """How many rows each level of a discrete column has."""
        return np.bincount(self.codes(column))

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        """How many rows each class of a discrete target has."""
        return self.level_sizes(self.target)

    def close(self) -> None:
        """Give back what is kept elsewhere: nothing, if the table is in memory."""

    def _of_kind(self, columns: Sequence[int] | Positions, kind: int) -> Positions:
        """Columns as an array of positions, all of one kind."""
        chosen = np.asarray(columns, np.intp)
        for column in chosen[self.columns.facts.kinds[chosen] != kind].tolist():
            about = self.columns[column]
            has = "codes" if kind == DISCRETE else "numbers"
            raise ValueError(f"column {about.name!r} is {about.kind}; only a {KINDS[kind]} column has {has}")
        return chosen

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        conditional_on: Any = None,
        discrete_features: DiscreteFeatures = "auto",
        target_type: TargetType = "auto",
    ) -> Table:
        """Read a table and a target.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            numpy array, list of rows, pandas, polars or pyarrow frame, or sparse matrix; one column may be a series.
        y : array or series of shape (n_samples,)
            The target, without missing values.
        conditional_on : like `X`, optional
            Columns to condition on.
        discrete_features : "auto", bool, mask, list of names or positions, or mapping from columns to bool
            Which columns are discrete; "auto" decides from their types and values. A list names the discrete ones, all
            others are continuous; of a mapping the others are decided from the data.
        target_type : {"auto", "discrete", "continuous"}
            Whether the target is a class label; "auto" decides from its type and values.

        Returns
        -------
        Table
        """
        check_choice("target_type", target_type, ("auto", "discrete", "continuous"))
        sources = open_all(X, conditional_on, y)
        n_samples, n_features = sources[0].shape
        asked = kinds_asked(discrete_features, sources[:-1])
        contents = _Contents(sources, asked, "standard")
        names = [source.names for source in sources]
        inputs = Columns(names, contents.facts(), n_samples)
        _warn_of_times(inputs, contents.since)
        _warn_of_indexes(X, y)
        check_inputs(inputs, n_features, np.concatenate(asked))
        kind = target_type
        classes = contents.read_target(UNKNOWN if kind == "auto" else KINDS.index(kind))
        return cls(Columns(names, contents.facts(), n_samples), n_features, classes, contents)


def check_inputs(inputs: Columns, n_features: int, asked: NDArray[np.int8]) -> None:
    """Name what is ignored; refuse a table without features."""
    _warn_of_ignored(inputs, asked)
    if (inputs.facts.kinds[:n_features] == IGNORED).all():
        raise ValueError(f"no feature is left: all {n_features} columns of X are ignored; give one of them a kind")


def _warn_of_ignored(inputs: Columns, asked: NDArray[np.int8]) -> None:
    """Name the columns that are ignored although nobody asked for it."""
    ignored = inputs.facts.kinds[: len(asked)] == IGNORED
    left_out = [inputs[position] for position in np.flatnonzero(ignored & (asked == UNKNOWN)).tolist()]
    if left_out:
        listed = ", ".join(f"{column.name!r} ({column.reason})" for column in left_out)
        remedy = f"to use a column all the same, pass discrete_features={{{left_out[0].name!r}: True}}"
        warnings.warn(f"ignored {listed}; {remedy}", UnirelWarning, stacklevel=4)


def _warn_of_times(inputs: Columns, since: Mapping[int, str]) -> None:
    """Name the columns of dates, times and durations, and say what became of them."""
    if since:
        listed = ", ".join(f"{inputs[position].name!r} as {words}" for position, words in since.items())
        remedy = f"to leave a column out, pass exclude=[{inputs[min(since)].name!r}]"
        warnings.warn(f"read {listed}; {remedy}", UnirelWarning, stacklevel=3)


def _warn_of_indexes(X: Any, y: Any) -> None:
    """Say that rows are matched by position, where pandas would match them otherwise."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(y, "index", None)
    if hasattr(ours, "equals") and hasattr(theirs, "equals") and len(X) == len(y) and not ours.equals(theirs):
        warnings.warn(
            "X and y have different indexes; their rows are matched by position. If that is not meant, pass "
            "y.loc[X.index]",
            UnirelWarning,
            stacklevel=3,
        )


class _Scaled(NamedTuple):
    """All columns as numbers between which differences mean something, see `Table`."""

    values: NDArray[np.floating[Any]]
    far: float
    unit: float


class _Contents:
    """Features, conditions and target; features of a sparse matrix are kept apart.

    Parameters
    ----------
    sources : sequence of Source
        Features, conditions if there are any, and the target, which is not read yet.
    asked : sequence of ndarray
        Kinds asked for, one array for each source but the target.
    scale : {"standard", "rank", None}
        How numbers are scaled.
    """

    def __init__(self, sources: Sequence[Source], asked: Sequence[NDArray[np.int8]], scale: str | None) -> None:
        n_samples, self._n_features = sources[0].shape
        n_columns = sum(source.shape[1] for source in sources)
        is_sparse = sources[0].sparse is not None
        self.sparse: SparseColumns | None = SparseColumns(sources[0], asked[0]) if is_sparse else None
        self._first = 0 if self.sparse is None else self._n_features  # the position of the first dense column
        self._dense = DenseColumns(n_columns - self._first, n_samples)
        self._sources, self.scale = sources, scale
        start = -self._first
        for source, kinds in zip(sources[:-1], asked, strict=True):
            if source.sparse is None:
                self._dense.read(source, start, kinds)
            start += source.shape[1]

    def in_scale(self, scale: str | None) -> _Contents:
        """The same columns with numbers in another scale."""
        twin = copy(self)
        twin.scale = scale
        twin.__dict__.pop("scaled", None)
        return twin

    def read_target(self, kind: int) -> NDArray[Any] | None:
        """Read the target; return the labels of its classes if it has any."""
        classes = self._dense.read_target(self._sources[-1], kind)
        self._check_overflow()
        return classes

    @property
    def since(self) -> dict[int, str]:
        """What the numbers of dates, times and durations are, by position, where nobody has given their kind."""
        return {self._first + column: words for column, words in self._dense.since.items()}

    def facts(self) -> Facts:
        """What is known about all columns."""
        return self._dense.facts if self.sparse is None else Facts.join([self.sparse.facts, self._dense.facts])

    def codes_of(self, columns: Positions) -> Codes:
        """Codes of discrete columns, one row each; do not write to them."""
        if self.sparse is None:
            return self._dense.codes_of(columns)
        return self._gather(columns, self.sparse.codes_of, self._dense.codes_of)

    def numbers_of(self, columns: Positions) -> NDArray[np.float64]:
        """Numbers of continuous columns, one row each, NaN where they are missing."""
        if self.sparse is None:
            return self._dense.numbers_of(columns)
        return self._gather(columns, self.sparse.numbers_of, self._dense.numbers_of)

    def sparse_block(self, columns: Positions) -> SparseBlock:
        """Entries of discrete sparse columns and their codes."""
        return self._of_sparse(columns).block(columns)

    def sparse_numbers(self, columns: Positions) -> SparseNumbers:
        """Entries of continuous sparse columns."""
        return self._of_sparse(columns).numbers(columns)

    def _of_sparse(self, columns: Positions) -> SparseColumns:
        if self.sparse is None or (columns >= self._first).any():
            raise ValueError("only features of a sparse table are stored as entries; ask for code_block")
        return self.sparse

    def _gather(self, columns: Positions, sparse: Callable[..., Any], dense: Callable[..., Any]) -> NDArray[Any]:
        inside = columns < self._first
        parts = sparse(columns[inside]), dense(columns[~inside] - self._first)
        rows = np.empty((len(columns), parts[1].shape[1]), np.result_type(*parts))
        rows[inside], rows[~inside] = parts
        return rows

    @cached_property
    def _dtype(self) -> np.dtype[Any]:
        """Single precision if all numeric features have it, else double."""
        dense, part = self._dense, slice(self._n_features - self._first)
        present = dense.facts.n_missing[part] < dense.codes.shape[1]
        numeric = dense.numeric[part] & present & (dense.facts.kinds[part] != IGNORED)
        return np.dtype(np.float32 if numeric.any() and dense.single[part][numeric].all() else np.float64)

    @cached_property
    def scaled(self) -> _Scaled:
        """All columns as rows of one matrix, see `Table`."""
        if self.sparse is not None:
            remedy = "pass X.toarray(), or count with estimator='binned' or 'plugin'"
            raise TypeError(f"X is sparse, but neighbours are searched among all values; {remedy}")
        dense, kinds, has_gaps = self._dense, self._dense.facts.kinds, self._dense.facts.n_missing > 0
        values = np.zeros(dense.codes.shape, self._dtype)
        variances = np.full(len(values), np.nan)
        largest = 0.0
        for columns in dense.sections(np.flatnonzero((kinds == CONTINUOUS) & ~has_gaps)):
            rows = dense.numbers_of(columns)
            step = max(1, _BLOCK // rows.shape[1])
            for block in (slice(start, start + step) for start in range(0, len(rows), step)):
                variances[columns[block]] = _scale_rows(rows[block], self.scale)
            values[columns] = rows
            largest = max(largest, rows.max(), -rows.min())
        gaps = np.flatnonzero((kinds == CONTINUOUS) & has_gaps)
        for columns in dense.sections(gaps):
            for column, row in zip(columns.tolist(), dense.numbers_of(columns), strict=True):
                present = row[np.newaxis, ~np.isnan(row)]
                if present.size:
                    variances[column] = _scale_rows(present, self.scale)[0]
                    largest = max(largest, present.max(), -present.min())
                row[~np.isnan(row)] = present[0]
                values[column] = row
        # The least power of two, from 2 on, above twice the largest continuous value.
        far = max(2.0, float(np.ldexp(1.0, np.frexp(2 * float(self._dtype.type(largest)))[1])))
        for column in gaps.tolist():
            values[column, np.isnan(values[column])] = 4 * far
        for columns in dense.sections(np.flatnonzero(kinds == DISCRETE)):
            values[columns] = dense.codes_of(columns) * (2 * far)
        return _Scaled(values, far, _find_unit(variances[: self._n_features]) if self.scale is None else 1.0)

    def _check_overflow(self) -> None:
        """Refuse columns whose scaled values, or squares of their differences, would not be finite or would vanish."""
        largest = self._dense.largest
        if self.scale == "standard":
            for column in np.flatnonzero(largest >= _SAFE).tolist():
                row = self._dense.numbers_of(np.array([column]))
                if not np.isfinite(_standardise(row[:, ~np.isnan(row[0])])).all():
                    about = f"{self._label(column)} overflows when it is scaled (largest value {largest[column]:.3g})"
                    raise ValueError(f"{about}; divide it by a constant")
        if self.scale is None:
            facts = self.facts()
            n_levels = int((facts.n_values + (facts.n_missing > 0))[facts.kinds == DISCRETE].max(initial=0))
            # Estimators sum squares of differences over columns, and those must stay finite too.
            limit = np.sqrt(np.finfo(self._dtype).max) / (4 * max(4, n_levels, len(facts.kinds)))
            with np.errstate(over="ignore"):
                largest = largest.astype(self._dtype).astype(np.float64)
            for column in np.flatnonzero(largest >= limit).tolist():
                about = f"{self._label(column)} overflows (largest value {largest[column]:.3g})"
                raise ValueError(f"{about}; divide it by a constant")
            for column in np.flatnonzero((largest > 0) & (largest < _TINY)).tolist():
                about = f"{self._label(column)} vanishes when it is squared (largest value {largest[column]:.3g})"
                raise ValueError(f"{about}; multiply it by a constant, or leave scale='standard'")

    def _label(self, column: int) -> str:
        """What an error calls a dense column."""
        position = column + self._first
        for source in self._sources:
            if position < source.shape[1]:
                break
            position -= source.shape[1]
        return source.label(position)


class _Moved:
    """Contents in which the rows of some columns are moved together, when they are asked for.

    Parameters
    ----------
    contents : _Contents or _Moved
        What is moved.
    columns : sequence of int
        Columns whose rows are moved.
    order : ndarray of int
        The row that comes first, second and so on.
    """

    def __init__(self, contents: _Contents | _Moved, columns: Sequence[int] | Positions, order: Positions) -> None:
        self.sparse: SparseColumns | None = contents.sparse
        self.scale: str | None = contents.scale
        self._contents = contents
        self._columns, self._order = np.asarray(columns, np.intp), order
        self._places = np.argsort(order)

    def codes_of(self, columns: Positions) -> Codes:
        """Codes of discrete columns, one row each."""
        return self._move(self._contents.codes_of(columns), columns)

    def numbers_of(self, columns: Positions) -> NDArray[np.float64]:
        """Numbers of continuous columns, one row each, NaN where they are missing."""
        return self._move(self._contents.numbers_of(columns), columns)

    def sparse_block(self, columns: Positions) -> SparseBlock:
        """Entries of discrete sparse columns and their codes."""
        block = self._contents.sparse_block(columns)
        return block._replace(rows=self._move_entries(block.starts, block.rows, columns))

    def sparse_numbers(self, columns: Positions) -> SparseNumbers:
        """Entries of continuous sparse columns."""
        block = self._contents.sparse_numbers(columns)
        return block._replace(rows=self._move_entries(block.starts, block.rows, columns))

    @cached_property
    def scaled(self) -> _Scaled:
        """All columns as rows of one matrix, see `Table`."""
        values, far, unit = self._contents.scaled
        return _Scaled(self._move(values, np.arange(len(values))), far, unit)

    def in_scale(self, scale: str | None) -> _Moved:
        """The same columns with numbers in another scale."""
        return _Moved(self._contents.in_scale(scale), self._columns, self._order)

    def _move(self, rows: NDArray[Any], columns: Positions) -> NDArray[Any]:
        rows = rows.copy()  # The contents' own rows must stay as they are.
        moved = np.isin(columns, self._columns)
        rows[moved] = rows[moved][:, self._order]
        return rows

    def _move_entries(
        self, starts: NDArray[np.int64], rows: NDArray[np.integer[Any]], columns: Positions
    ) -> NDArray[np.integer[Any]]:
        rows = rows.copy()
        for place in np.flatnonzero(np.isin(columns, self._columns)).tolist():
            entries = slice(starts[place], starts[place + 1])
            rows[entries] = self._places[rows[entries]]
        return rows


def _scale_rows(rows: NDArray[np.float64], scale: str | None) -> NDArray[np.float64]:
    """Scale rows without missing values in place; return the variances of those that are left alone and vary."""
    if scale is None:
        ordered = np.sort(rows, axis=1)
        return np.asarray(np.where(ordered[:, 0] < ordered[:, -1], ordered.var(axis=1), np.nan))
    if scale == "rank":
        for row in rows:
            row[:] = average_ranks(row)
    _standardise(rows)
    return np.full(len(rows), np.nan)


def _standardise(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shift rows in place by their medians and divide them by their deviations; not finite for an overflow.

    A median is a value of the row, so that the values around it are shifted without rounding, and equal differences
    stay equal however far away others are: subtracting a mean that one huge value has carried off would tear them
    apart. Sums are taken over sorted values, so the order of the samples cannot show.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.maximum(-rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True))
        # Squares of tiny values vanish, but units must not matter; a power of two changes no digit.
        rows /= np.where(largest < 1e-100, np.ldexp(1.0, np.frexp(largest)[1]), 1)
        ordered = np.sort(rows, axis=1)
        middle = ordered[:, [(rows.shape[1] - 1) // 2]]
        rows -= middle
        ordered -= middle
        ordered -= ordered.sum(axis=1, keepdims=True) / rows.shape[1]
        deviations = np.sqrt((ordered * ordered).sum(axis=1, keepdims=True) / rows.shape[1])
        deviations[~rows.any(axis=1)] = 1
        rows /= deviations
    return np.asarray(deviations)


def _find_unit(variances: NDArray[np.float64]) -> float:
    """Root mean square of the standard deviations of the continuous features that vary."""
    known = variances[~np.isnan(variances)]
    # Columns of tiny values may have a variance that vanishes; a unit of 0 would make categories equal.
    mean = float(np.mean(known)) if len(known) else 0.0
    return mean**0.5 if mean > 0 else 1.0


def average_ranks(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share their mean rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = np.cumsum(counts) - (counts - 1) / 2
    return ranks[codes]
