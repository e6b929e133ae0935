"""Tables whose rows stay where they are, in memory or in parts: what is known of columns, codes in files, samples."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unirel._runtime import pieces, warn
from unirel.data import DISCRETE, Positions, Values
from unirel.data.encoding import check_inputs, check_target, empty_matrices, find_places
from unirel.data.parts import Part, Rows, no_room
from unirel.data.readers import DiscreteFeatures, Source, TargetType, engine_of, kinds_asked, take_rows
from unirel.data.scan import CodingPlan, Scan, Wanted, describe_columns, merge, scan_part, sketched_edges
from unirel.data.table import OTHER_INDEXES, Table
from unirel.data.weights import Sums, add_sums, sum_weights

# Numbers of rows in files that are multiplied at a time, after which they leave memory.
_STRETCH = 2**23
# Values of some columns of all rows that are brought together.
_VALUES = 2**24


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    """The parts of what an engine has; the target and the weights may be columns of it."""
    if isinstance(X, Rows):
        return X
    if y is None:
        raise ValueError("unirel requires y to be passed, but the target y is None")
    shape = getattr(y, "shape", ())  # which columns of some engines have as an expression
    if isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1:
        raise ValueError(
            f"y has {shape[1]} columns, but X is read in parts; pass one column of y, or a table in memory"
        )
    return cast(Rows, _engine(X).open_rows(X, y, sample_weight))


def take_parted(X: Any, selector: Any) -> Any:
    """The selected columns of what is read in parts, not computed yet."""
    return _engine(X).take_columns(X, selector)


def _engine(X: Any) -> Any:
    return import_module(f"unirel.data.{engine_of(X) or 'arrow'}")  # which lazy frames are collected by, batch by batch


class PartedTable(Table):
    """Columns of features and a target whose rows are in several places; offers what estimators that count ask for."""

    is_parted = True

    def __init__(self, rows: Rows, discrete_features: DiscreteFeatures, target_type: TargetType) -> None:
        names = rows.names
        features = Source("X", names[:-1], (1, len(names) - 1), numbered=rows.numbered)
        asked, of_target = kinds_asked(discrete_features, target_type, [features])
        weights = add_sums(rows.map(lambda part: sum_weights(part.weights))) if rows.weighted else None
        wanted = Wanted(names, np.append(asked, of_target), 0.0 if weights is None else weights.unit)
        scan: Scan = rows.add(partial(scan_part, wanted=wanted), partial(merge, wanted=wanted))
        n_samples = sum(scan.n_rows)
        if n_samples < 2:
            raise ValueError(f"X has {n_samples} sample(s) (shape=({n_samples}, {len(asked)})); at least 2 are needed")
        if scan.other_indexes:
            warn(OTHER_INDEXES)
        columns, labels = describe_columns(scan, wanted), None
        if columns.kinds[-1] == DISCRETE:
            target = scan.columns[-1]
            types = {"boolean": np.bool_, "number": np.int64 if target.whole else np.float64}
            labels = np.array(target.ordered, object).astype(types.get(target.family, object))
        check_target(scan.columns[-1].n_missing, n_samples, labels)
        check_inputs(columns, len(asked), asked)
        super().__init__(columns, [labels], features, _Elsewhere())  # type: ignore[arg-type]
        self.weights = weights
        self.edges: dict[str, Values] = {}  # of the bins that were made
        self._rows, self._scan, self._wanted = rows, scan, wanted
        self._kept: dict[Any, tuple[CodingPlan, Rows]] = {}
        self._samples: dict[bytes, Table] = {}

    def type_of(self, feature: int) -> str:
        raise ValueError("X is read in parts, whose types are not kept; name columns, or give a pattern of their names")

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        seen = self._scan.columns[column]
        sizes = [(seen.levels or {})[level] for level in seen.ordered]
        return np.array([*sizes, seen.n_missing] if seen.n_missing else sizes, np.int64)

    def encode(self, n_bins: int, binning: str, given: dict[int, Values]) -> tuple[CodingPlan, Rows]:
        """Code all parts, continuous columns in bins, unless that has been done."""
        key = (n_bins, binning, tuple((column, tuple(edges)) for column, edges in sorted(given.items())))
        if key not in self._kept:
            continuous, seen = np.flatnonzero(self.continuous).tolist(), self._scan.columns
            sketched = {column: sketched_edges(seen[column], n_bins, binning) for column in continuous}
            cuts = {column: given.get(column, edges) for column, edges in sketched.items()}
            self.edges = {self.columns.names[column]: edges for column, edges in cuts.items()}
            plan = self._plan(cuts)
            self._kept = {key: (plan, self._rows.keep(partial(Coded.of, plan=plan, sums=self.weights)))}
        return self._kept[key]

    def encode_rows(self, encode: Callable[..., list[Values]], heights: Positions) -> Rows:
        """Rows of numbers in the place of columns, found from all values of each column."""
        # `encode` gets values and weights of every part and the columns they are of, and returns the rows of these
        # columns for every part, as many as `heights` says.
        plan = self._plan({})
        values = self._rows.keep(partial(RowsOfPart.of, plan=plan, sums=self.weights, heights=heights))
        blocks = pieces(np.flatnonzero(heights), _VALUES // self.n_samples)
        kept = values.exchange(RowsOfPart.take, encode, RowsOfPart.put, blocks)
        self._kept["rows"] = plan, kept
        return kept

    def close(self) -> None:
        # They are made again if they are asked for.
        for _, kept in self._kept.values():
            kept.close()
        self._kept = {}
        self._rows.rest()

    def target_codes(self) -> NDArray[np.int32] | None:
        """From the codes that are kept, if there are any; otherwise the rows are read once more."""
        coded = [kept for key, (_, kept) in self._kept.items() if key != "rows"]
        find = partial(_target_of_part, plan=self._plan({}))
        return None if self.classes is None else np.concatenate((coded[0] if coded else self._rows).map(find))

    def row_weights(self) -> Values | None:
        return None if self.weights is None else np.concatenate(self._rows.map(lambda part: part.weights))

    def take_few(self, columns: Positions, rows: Positions) -> Table:
        """A small table of some columns of few rows in ascending order, brought here once."""
        key = columns.tobytes() + rows.tobytes()
        if key not in self._samples:  # Another criterion asks for the same rows.
            ends = np.cumsum(self._scan.n_rows)
            own = zip(np.split(rows, np.searchsorted(rows, ends[:-1])), ends - self._scan.n_rows, strict=True)
            each = [some - start if len(some) else None for some, start in own]
            find = partial(take_some, plan=self._plan({}), columns=np.append(columns, self.target))
            self._samples = {key: self.small(columns, np.concatenate(self._rows.map(find, each)))}
        return self._samples[key]

    def _plan(self, cuts: dict[int, Values]) -> CodingPlan:
        return CodingPlan.of(self._scan, self.columns, self._wanted, cuts)


def _target_of_part(part: Part | Coded, plan: CodingPlan) -> NDArray[np.int32]:
    codes: NDArray[Any]
    if isinstance(part, Coded):
        widths, places = find_places(part.layout)
        codes = part.matrices[widths[-1]][places[-1]]
    else:
        codes = plan.values_of(part, np.array([len(plan.kinds) - 1]))[0]
    return codes.astype(np.int32)


def take_some(part: Part, rows: Positions, *, plan: CodingPlan, columns: Positions) -> Values:
    few = Part(take_rows(part.X, rows), take_rows(part.y, rows), None, part.label)
    return plan.values_of(few, columns).T


class _Elsewhere:
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            "X is in parts, on disk or on a cluster, but this needs all values in memory; "
            "count with mi_estimator='binned' and unique_relevance='both', or pass a sample of the rows"
        )


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array in the folder of temporary files, mapped into memory; the system deletes it with the last view of it."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(shape, dtype)
    try:
        # Its name, if it ever has one, is gone before anything is written: not even a kill leaves a file behind.
        with tempfile.TemporaryFile(prefix="unirel-scratch-") as file:
            _take_room(file.fileno(), size)
            return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), size))
    except OSError as error:
        raise no_room(size, error) from None


def _take_room(file: int, size: int) -> None:
    """Make a file that large, and find out now whether the disk is full: writing to a mapped one would crash."""
    os.ftruncate(file, size)
    if hasattr(os, "posix_fallocate"):  # not on every system
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a disk that cannot say
                raise


class Stored:
    """What is kept of a part of the rows, in files; a copy for another process goes to files there.

    `layout` says how many levels, or rows of numbers, each column has.
    """

    def __init__(self, layout: NDArray[Any], matrices: list[NDArray[Any]], weights: Values | None) -> None:
        self.layout, self.matrices = layout, [_in_file(matrix) for matrix in matrices]
        self.weights = None if weights is None else _in_file(weights)
        self.release()

    def __reduce__(self) -> Any:
        return type(self), (self.layout, self.matrices, self.weights)

    def release(self) -> None:
        """Take what was read or written out of the memory of this process; the system may still have it."""
        for array in (*self.matrices, self.weights):
            base = None if array is None else array.base
            if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                base.madvise(mmap.MADV_DONTNEED)


def _in_file(array: NDArray[Any]) -> NDArray[Any]:
    if isinstance(array.base, mmap.mmap):
        return array
    copy = scratch(array.shape, array.dtype)
    copy[:] = array
    return copy


class Coded(Stored):
    """Codes of the rows of a part, as `empty_matrices` makes room for them, and their weights."""

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, sums: Sums | None) -> Coded:
        matrices = empty_matrices(plan.n_levels, len(part.y), scratch)
        widths, places = find_places(plan.n_levels)
        for column, codes in plan.codes_of(part):
            matrices[widths[column]][places[column]] = codes
        return cls(plan.n_levels, matrices, None if sums is None else sums.in_rows(part.weights))


class RowsOfPart(Stored):
    """Rows of numbers that stand for columns, of the samples of a part; first the values of each column, then more."""

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, sums: Sums | None, heights: Positions) -> RowsOfPart:
        """The values of a part, numbers or codes, in the first row of each column."""
        columns = np.flatnonzero(heights)
        rows = scratch((int(heights.sum()), len(part.y)), np.float64)
        rows[(np.cumsum(heights) - heights)[columns]] = plan.values_of(part, columns)
        return cls(heights, [rows], None if sums is None else sums.in_rows(part.weights))

    def take(self, columns: Positions) -> tuple[Values, Values | None]:
        return self.matrices[0][(np.cumsum(self.layout) - self.layout)[columns]], self.weights

    def put(self, columns: Positions, rows: Values) -> RowsOfPart:
        """Write the rows of some columns that follow each other."""
        first = int(self.layout[: columns[0]].sum())
        self.matrices[0][first : first + len(rows)] = rows
        self.release()
        return self

    def total(self, *, function: Callable[[Values], Any]) -> Any:
        """What a function finds in stretches of the samples, all rows of them, added up in their order."""
        n_rows, n_samples = self.matrices[0].shape
        step, found = max(1, _STRETCH // n_rows), []
        for start in range(0, max(n_samples, 1), step):
            found.append(function(self.matrices[0][:, start : start + step]))
            self.release()
        return sum(found)
