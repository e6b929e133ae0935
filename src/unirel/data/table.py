"""Any data frame or array in, one `Table` of numbers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_choice, pieces, warn
from unirel.data import CONTINUOUS, DISCRETE, IGNORED, KINDS, Codes, Kinds, Mask, Positions, Values
from unirel.data.encoding import Columns, DenseColumns, check_inputs
from unirel.data.naming import expand, find_columns, is_pattern, listed
from unirel.data.readers import DiscreteFeatures, Source, TargetType, is_frame, is_parted, kinds_asked, open_all
from unirel.data.sparse import SparseBlock, SparseColumns, SparseNumbers
from unirel.data.weights import Sums

Scale = Literal["standard", "rank"] | None

OTHER_INDEXES = "X and y have different indexes; their rows are matched by position. If not meant, pass y.loc[X.index]"
# Columns are scaled together in blocks of about this many values, few enough to stay in the cache.
_BLOCK = 2**15
# Numbers below this can be squared and added up; squares of numbers below the other vanish, or lose digits.
_SAFE, _TINY = 1e100, 1e-150


def open_table(
    X: Any,
    y: Any,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    sample_weight: Any = None,
    conditional_on: Any = None,
    several: bool = False,
) -> tuple[Table, Any]:
    """A table of anything that holds columns, and the weights; those of a table in parts stay with the parts."""
    if not is_parted(X, y) or conditional_on is not None:
        more: dict[str, Any] = {"discrete_features": discrete_features, "target_type": target_type, "several": several}
        return Table.from_data(X, y, conditional_on=conditional_on, **more), sample_weight
    from unirel.data.chunks import PartedTable, open_rows

    return PartedTable(open_rows(X, y, sample_weight), discrete_features, target_type), None


class Table:
    """Columns of features, of conditions and, last, of a target or several, whatever they were read from.

    What counting needs (kinds, levels, codes) is known when a table is read. The matrix `values` that neighbours are
    searched in is made when it is first asked for, from the input, which must not be changed before: a continuous value
    is stored as it is (scaled), a missing one as ``4 * far``, a level as its code times ``2 * far``, an ignored column
    as zeros. So two entries of a row differ by ``|a - b|`` if that is less than `far`, and otherwise mismatch, whatever
    the kind of the column. A table of a sparse matrix has no `values`; `sparse_block` and `sparse_numbers` take memory
    for stored entries only.

    >>> table = Table.from_data([[0.5, "red"], [1.5, "blue"], [2.5, "red"]], ["no", "yes", "no"])
    >>> [column.kind for column in table.columns]
    ['continuous', 'discrete', 'discrete']
    >>> table.code_block([1, 2])
    (array([[1, 0, 1],
           [0, 1, 0]], dtype=uint8), array([2, 2]))
    """

    is_parted = False  # whether the rows are elsewhere, in several parts
    members: Mapping[str, tuple[str, ...]] = {}  # of groups of columns, see `unirel.data.groups`
    weights: Sums | None = None  # of rows in parts, which keep their weights
    _scale: Scale = "standard"
    _order: Positions | None = None  # of the rows of the target, if it was moved
    _shared: Table | None = None  # the table of all targets, if this is that of one of several

    def __init__(
        self,
        columns: Columns,
        classes: Sequence[NDArray[Any] | None],
        features: Source,
        dense: DenseColumns,
        sparse: SparseColumns | None = None,
    ) -> None:
        self.columns = columns
        self.targets = np.arange(len(columns) - len(classes), len(columns))  # of which one is looked at
        self._labels, self.target, self.n_targets = classes, int(self.targets[0]), len(classes)
        self.classes = classes[0]  # labels of a discrete target in the order of its codes
        self.n_samples, self.n_features = columns.n_samples, features.shape[1]  # features that are ignored included
        self._source, self._dense = features, dense
        self._all = dense if sparse is None else sparse  # has the codes and numbers of all columns

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        conditional_on: Any = None,
        discrete_features: DiscreteFeatures = "auto",
        target_type: TargetType = "auto",
        feature_names: Sequence[str] | None = None,
        several: bool = False,
    ) -> Table:
        """Read features, columns to condition on, and a target without missing values, as `relevance` takes them."""
        sources = open_all(X, conditional_on, y, feature_names, several)
        if have_other_indexes(X, y):
            warn(OTHER_INDEXES)
        return cls._read(sources, kinds_asked(discrete_features, target_type, sources[:-1], sources[-1].shape[1]))

    def decided_types(self, X: Any) -> dict[str, Any]:
        """Parameters that read rows of `X`, of which this is the table, with the same kinds of columns."""
        types = {"discrete": True, "continuous": False, "ignored": None}
        of_targets: list[str] = [column.kind for column in self.columns[-self.n_targets :]]
        # Columns of an array have names that it does not know.
        named, columns = is_frame(X), enumerate(self.columns[: self.n_features])
        known = {column.name if named else place: types[column.kind] for place, column in columns}
        return {"discrete_features": known, "target_type": of_targets[0] if len(of_targets) == 1 else of_targets}

    @classmethod
    def _read(cls, sources: Sequence[Source], asked: Sequence[Kinds]) -> Table:
        features, names = sources[0], tuple(name for source in sources for name in source.names)
        columns, start = Columns(names, features.shape[0]), 0
        first = 0 if features.sparse is None else features.shape[1]  # of the dense columns, behind the sparse ones
        dense = DenseColumns(columns.behind(first), features.shape[1] - first)
        sparse = SparseColumns(features, asked[0], columns, dense) if first else None
        for source, kinds in zip(sources[:-1], asked[:-1], strict=True):
            if source.sparse is None:
                dense.read(source, start - first, kinds)
            start += source.shape[1]
        if dense.since:
            listed = ", ".join(f"{name!r} as {words}" for name, words in dense.since.items())
            warn(f"read {listed}; to leave a column out, pass exclude=[{next(iter(dense.since))!r}]")
        check_inputs(columns, features.shape[1], np.concatenate(asked[:-1]))
        classes = dense.read_targets(sources[-1], asked[-1])
        refuse_overflow(dense, "standard")
        return cls(columns, classes, features, dense, sparse)

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        return self._matrix.values

    @property
    def far(self) -> float:
        return self._matrix.far

    @property
    def unit(self) -> float:
        return self._matrix.unit

    def scaled(self, scale: Scale) -> Table:
        """The table with another scale of `values`: "standard", "rank" or None; everything else is shared."""
        check_choice("scale", scale, ("standard", "rank", None))
        if scale == self._scale:
            return self
        table = copy(self)
        table.__dict__.pop("_matrix", None)
        table._scale = scale
        if not self.is_parted:
            refuse_overflow(self._dense, scale)
        return table

    def each_target(self) -> list[Table]:
        """A table for each target, which share all columns."""
        if len(self.targets) == 1:
            return [self]
        tables = [copy(self) for _ in self.targets]
        for table, place, labels in zip(tables, self.targets.tolist(), self._labels, strict=True):
            table.targets, table.target, table.classes, table._shared = np.array([place]), place, labels, self
            table.__dict__.pop("class_sizes", None)
        return tables

    @property
    def is_sparse(self) -> bool:
        return isinstance(self._all, SparseColumns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, ignored ones included."""
        return self.columns.names[: self.n_features]

    @cached_property
    def features(self) -> Positions:
        """Positions of the features that are not ignored."""
        return np.flatnonzero(self.columns.kinds[: self.n_features] != IGNORED)

    @cached_property
    def given(self) -> Positions:
        """Positions of the columns conditioned on that are not ignored."""
        return self.n_features + np.flatnonzero(self.columns.kinds[self.n_features : -self.n_targets] != IGNORED)

    @cached_property
    def discrete(self) -> Mask:
        return np.asarray(self.columns.kinds == DISCRETE)

    @cached_property
    def continuous(self) -> Mask:
        return np.asarray(self.columns.kinds == CONTINUOUS)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        return self.columns.n_levels

    @cached_property
    def has_missing(self) -> Mask:
        return self.columns.n_missing > 0

    def positions(self, columns: Any) -> list[int]:
        """Positions of features given by name, position, pattern or type, one or many, as `unirel.data.naming` says."""
        return find_columns(expand(columns, self.names, self.type_of), self.names, self._source.numbered)

    def forced(self, include: Any, exclude: Any) -> tuple[list[int], list[int]]:
        """Positions of features to select first, and never: a name goes before a pattern, to exclude before to include.

        A pattern leaves out columns that are ignored.
        """
        if all(isinstance(one, list | tuple) and not one for one in (include, exclude)):
            return [], []
        first, never = (list(dict.fromkeys(self.positions(one))) for one in (include, exclude))
        named, refused = (
            set(self.positions([one for one in listed(columns) if not is_pattern(one, self.names)]))
            for columns in (include, exclude)
        )
        usable = set(self.features.tolist()).difference(never)
        first = [one for one in first if one in named or one in usable]
        return first, [one for one in never if one in refused or one not in named]

    def type_of(self, feature: int) -> str:
        """What a feature holds, one of `unirel.data.naming.TYPES`."""
        return self._source.type_of(feature)

    def codes(self, column: int) -> NDArray[np.int32]:
        return np.array(self.code_block([column])[0][0], np.int32)

    def target_codes(self) -> NDArray[np.int32] | None:
        return None if self.classes is None else self.codes(self.target)

    def code_block(self, columns: Sequence[int] | Positions) -> tuple[Codes, NDArray[np.int64]]:
        """Codes of discrete columns, one row each, and how many levels each has; a missing value has the last code."""
        # Do not write to them: they may be the table's own. Of a sparse table ask for few columns.
        chosen = self._of_kind(columns, DISCRETE)
        return self._in_order(self._all.codes_of(chosen), chosen), self.n_levels[chosen]

    def continuous_block(self, columns: Sequence[int] | Positions) -> Values:
        """Numbers of continuous columns as they were given, one row each, NaN where they are missing."""
        chosen = self._of_kind(columns, CONTINUOUS)
        return self._in_order(self._all.numbers_of(chosen), chosen)

    def line_block(self, columns: Sequence[int] | Positions) -> NDArray[np.floating[Any]]:
        """Columns to be looked at one by one: rows of `values`, but standardised numbers with the digits of the input.

        Only powers of two are divided by: ties are exactly those of the input, and differences stay below `far`.
        """
        chosen = np.asarray(columns, np.intp)
        values = self.values[chosen]
        numeric = self.continuous[chosen]
        if self._scale != "standard" or values.dtype != np.float64 or not numeric.any():
            return values
        numbers = self.continuous_block(chosen[numeric])
        missing = np.isnan(numbers)
        numbers[missing] = 0
        largest = np.maximum(-numbers.min(axis=1, keepdims=True), numbers.max(axis=1, keepdims=True))
        numbers = np.ldexp(numbers, -np.frexp(largest)[1])
        numbers[missing] = 4 * self.far
        values[numeric] = numbers
        return values

    def sparse_block(self, columns: Sequence[int] | Positions) -> SparseBlock:
        return cast(SparseColumns, self._all).block(self._of_kind(columns, DISCRETE))

    def sparse_numbers(self, columns: Sequence[int] | Positions) -> SparseNumbers:
        return cast(SparseColumns, self._all).numbers(self._of_kind(columns, CONTINUOUS))

    def one_per_feature(self, values: Any, columns: Positions | None = None) -> Values:
        """Values of some features, those in use if it is not said which, spread over all features; NaN for others."""
        result = np.full(self.n_features, np.nan)
        result[self.features if columns is None else columns] = values
        return result

    def moved(self, order: Positions) -> Table:
        """The table with the rows of its target in another order; some may be repeated in place of others."""
        table = copy(self)
        table.__dict__.pop("class_sizes", None)
        table._order = order if self._order is None else self._order[order]
        if "_matrix" in self.__dict__:  # scaled once for all orders
            values = self.values.copy()
            values[self.target] = values[self.target, order]
            table._matrix = self._matrix._replace(values=values)
        return table

    def take(self, columns: Positions, rows: Positions) -> Table:
        """A small table of its own: some columns of some rows, and the target."""
        chosen = np.append(columns, self.target)
        values = np.zeros((len(rows), len(chosen)))
        discrete, continuous = self.discrete[chosen], self.continuous[chosen]
        # A few columns at a time, since those of all rows have to be taken.
        for places in np.array_split(np.arange(len(chosen)), max(1, len(chosen) * self.n_samples // 2**22)):
            codes, numbers = places[discrete[places]], places[continuous[places]]
            values[:, codes] = self.code_block(chosen[codes])[0][:, rows].T
            values[:, numbers] = self.continuous_block(chosen[numbers])[:, rows].T
        return self.small(columns, values)

    def small(self, columns: Positions, values: Values) -> Table:
        """A table of some rows: codes and numbers of some columns and, last, of the target."""
        kinds = self.columns.kinds
        sources = open_all(values[:, :-1], None, values[:, -1])
        return Table._read(sources, [kinds[columns], kinds[[self.target]]]).scaled(self._scale)

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        return np.bincount(self.codes(column), minlength=self.n_levels[column])

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        return self.level_sizes(self.target)

    def close(self) -> None:
        """Give back what is kept elsewhere: nothing, if the table is in memory."""

    @cached_property
    def _matrix(self) -> Scaled:
        if self.is_sparse:
            remedy = "pass X.toarray(), or count with mi_estimator='binned' or 'plugin'"
            raise TypeError(f"X is sparse, but neighbours are searched among all values; {remedy}")
        if self._order is None and self._shared is not None and self._shared._scale == self._scale:
            return self._shared._matrix
        matrix = scale_columns(self._dense, self._scale)
        if self._order is not None:
            matrix.values[self.target] = matrix.values[self.target, self._order]
        return matrix

    def _in_order(self, rows: NDArray[Any], columns: Positions) -> NDArray[Any]:
        """Rows of columns, that of the target as it was moved."""
        moved = columns == self.target
        if self._order is not None and moved.any():
            rows = rows.copy()  # The table's own rows must stay as they are.
            rows[moved] = rows[moved][:, self._order]
        return rows

    def _of_kind(self, columns: Sequence[int] | Positions, kind: int) -> Positions:
        chosen = np.asarray(columns, np.intp)
        for column in chosen[self.columns.kinds[chosen] != kind].tolist():
            about = self.columns[column]
            has = "codes" if kind == DISCRETE else "numbers"
            raise ValueError(f"column {about.name!r} is {about.kind}; only a {KINDS[kind]} column has {has}")
        return chosen


def have_other_indexes(X: Any, y: Any) -> bool:
    """Whether pandas would match the rows of these in another way than by position."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(y, "index", None)
    known = hasattr(ours, "equals") and hasattr(theirs, "equals") and len(X) == len(y)
    return bool(known and not ours.equals(theirs))


class Scaled(NamedTuple):
    """All columns as rows of one matrix, see `Table`."""

    values: NDArray[np.floating[Any]]  # C-contiguous, float32 or float64
    far: float  # a power of two, larger than the difference of any two continuous values
    unit: float  # one standard deviation: without a scale the root mean square of those of the features


def scale_columns(dense: DenseColumns, scale: Scale) -> Scaled:
    kinds, has_gaps = dense.facts.kinds, dense.facts.n_missing > 0
    dtype = dense.precision
    values = np.zeros(dense.codes.shape, dtype)
    variances = np.full(len(values), np.nan)
    largest = 0.0
    for columns in dense.sections(np.flatnonzero((kinds == CONTINUOUS) & ~has_gaps)):
        rows = dense.numbers_of(columns)
        step = _BLOCK // rows.shape[1]
        for some, block in zip(pieces(columns, step), pieces(rows, step), strict=True):
            variances[some] = _scale_rows(block, scale)
        values[columns] = rows
        largest = max(largest, rows.max(), -rows.min())
    gaps = np.flatnonzero((kinds == CONTINUOUS) & has_gaps)
    for columns in dense.sections(gaps):
        for column, row in zip(columns.tolist(), dense.numbers_of(columns), strict=True):
            present = row[np.newaxis, ~np.isnan(row)]
            if present.size:
                variances[[column]] = _scale_rows(present, scale)
                largest = max(largest, present.max(), -present.min())
            row[~np.isnan(row)] = present[0]
            values[column] = row
    # The least power of two, from 2 on, above twice the largest continuous value.
    far = max(2.0, float(np.ldexp(1.0, np.frexp(2 * float(dtype.type(largest)))[1])))
    for column in gaps.tolist():
        values[column, np.isnan(values[column])] = 4 * far
    for columns in dense.sections(np.flatnonzero(kinds == DISCRETE)):
        values[columns] = dense.codes_of(columns) * (2 * far)
    known = variances[: dense.n_features][~np.isnan(variances[: dense.n_features])]
    # Columns of tiny values may have a variance that vanishes; a unit of 0 would make categories equal.
    mean = float(np.mean(known)) if len(known) else 0.0
    return Scaled(values, far, mean**0.5 if mean > 0 else 1.0)


def refuse_overflow(dense: DenseColumns, scale: Scale) -> None:
    """Refuse a column whose scaled values, or squares of their differences, would not be finite or would vanish."""
    largest, fault, remedy = dense.largest, "overflows", "divide it by a constant"
    faulty = np.zeros(len(largest), bool)
    if scale == "standard":
        fault = "overflows when it is scaled"
        for column in np.flatnonzero(largest >= _SAFE).tolist():
            row = dense.numbers_of(np.array([column]))
            faulty[column] = not np.isfinite(_standardise(row[:, ~np.isnan(row[0])])).all()
    elif scale is None:
        facts, dtype = dense.facts, dense.precision
        # Estimators sum squares of differences over columns, and those must stay finite too.
        limit = np.sqrt(np.finfo(dtype).max) / (4 * max(4, facts.n_levels.max(), len(facts)))
        with np.errstate(over="ignore"):
            largest = largest.astype(dtype).astype(np.float64)
        faulty = largest >= limit
        if not faulty.any():
            fault, remedy = "vanishes when it is squared", "multiply it by a constant, or leave scale='standard'"
            faulty = (largest > 0) & (largest < _TINY)
    for column in np.flatnonzero(faulty).tolist():
        label = "y" if column == len(largest) - 1 else f"column {dense.facts.names[column]!r}"
        raise ValueError(f"{label} {fault} (largest value {largest[column]:.3g}); {remedy}")


def _scale_rows(rows: Values, scale: Scale) -> Values | float:
    """Scale rows without missing values in place; return the variances of those that are left alone and vary."""
    if scale is None:
        ordered = np.sort(rows, axis=1)
        return np.asarray(np.where(ordered[:, 0] < ordered[:, -1], ordered.var(axis=1), np.nan))
    if scale == "rank":
        from scipy.stats import rankdata  # slow to import

        rows[:] = rankdata(rows, axis=1)
    _standardise(rows)
    return np.nan


def _standardise(rows: Values) -> Values:
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
