"""Tables whose rows stay where they are, in memory or in parts: what is known of columns, codes in files, samples."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unirel._runtime import pieces
from unirel.data import DISCRETE, Positions, Values
from unirel.data.encoding import empty_matrices, find_places, one_class, refuse_missing
from unirel.data.parts import ArrowRows, DaskRows, Part, Rows
from unirel.data.readers import DiscreteFeatures, Source, TargetType, is_dataset, kinds_asked, take_rows, target_kind
from unirel.data.scan import CodingPlan, Scan, Seen, Wanted, describe_columns, merge, scan_part, sketched_edges
from unirel.data.table import Table, check_inputs, warn_of_indexes
from unirel.data.values import sorted_levels
from unirel.data.weights import Sums, add_sums, draw_rows, repeat_rows, sum_weights

# Numbers of rows in files that are multiplied at a time, after which they leave memory.
_STRETCH = 2**23
# Values of some columns of all rows that are brought together.
_VALUES = 2**24


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    """The parts of a dataset or a collection; the target and the weights may be columns of it."""
    if isinstance(X, Rows):
        return X
    if y is None:
        raise ValueError("unirel requires y to be passed, but the target y is None")
    return (ArrowRows if is_dataset(X) else DaskRows.of_collection)(X, y, sample_weight)


def take_parted(X: Any, selector: Any) -> Any:
    """The selected columns of what is read in parts, not computed yet: of a dataset a scanner."""
    chosen = selector.get_support(indices=True)
    if not (is_dataset(X) or hasattr(X, "columns")):
        if X.shape[1] != selector.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {selector.n_features_in_} were seen in fit")
        return X[:, chosen]
    native = {str(name): name for name in (X.schema.names if is_dataset(X) else X.columns)}
    fitted = getattr(selector, "feature_names_in_", list(native))
    selected = [str(fitted[place]) for place in chosen.tolist()]
    for name in selected:
        if name not in native:
            raise ValueError(f"X has no column {name!r}, which was selected in fit")
    return X.scanner(columns=selected) if is_dataset(X) else X[[native[name] for name in selected]]


class PartedTable(Table):
    """Columns of features and a target whose rows are in several places; offers what estimators that count ask for."""

    is_parted = True

    def __init__(self, rows: Rows, discrete_features: DiscreteFeatures, target_type: TargetType) -> None:
        names = rows.names
        features = Source("X", names[:-1], (1, len(names) - 1), numbered=rows.numbered)
        asked = kinds_asked(discrete_features, [features])[0]
        weights = None
        if rows.weighted:
            weights = add_sums(rows.map(lambda part: sum_weights(np.asarray(part.weights, np.float64))))
        kinds = np.append(asked, target_kind(target_type)).astype(np.int8)
        wanted = Wanted(names, kinds, 0.0 if weights is None else weights.unit)
        scan: Scan = rows.add(partial(scan_part, wanted=wanted), partial(merge, wanted=wanted))
        n_samples = sum(scan.n_rows)
        if n_samples < 2:
            raise ValueError(f"X has {n_samples} sample(s) (shape=({n_samples}, {len(asked)})); at least 2 are needed")
        if scan.other_indexes:
            warn_of_indexes()
        columns, target = describe_columns(scan, wanted), scan.columns[-1]
        refuse_missing(target.n_missing, n_samples)
        labels = _labels(target) if columns.kinds[-1] == DISCRETE else None
        if labels is not None and len(labels) == 1:
            raise one_class(next(iter(target.levels or {})))
        check_inputs(columns, len(asked), asked)
        super().__init__(columns, labels, features, _Elsewhere())  # type: ignore[arg-type]
        self.weights = weights
        self.edges: dict[str, Values] = {}  # of the bins that were made
        self._rows, self._scan, self._wanted = rows, scan, wanted
        self._kept: dict[Any, tuple[CodingPlan, Rows]] = {}
        self._samples: dict[bytes, Table] = {}

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        seen = self._scan.columns[column]
        levels = seen.levels or {}
        sizes = [*map(levels.__getitem__, sorted_levels(levels)), seen.n_missing]
        return np.array(sizes if seen.n_missing else sizes[:-1], np.int64)

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
        """Rows of numbers in the place of columns, found from all values of each column.

        `encode` gets values and weights of every part and the columns they are of, and returns the rows of these
        columns for every part, as many as `heights` says.
        """
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

    def sample(self, columns: Positions, most: int | None, rng: np.random.Generator) -> Table:
        """A small table of some columns of some rows, brought here once, see `sample_table`."""
        state = None
        if self.weights is not None:  # Every row takes a random number, in the part where it is.
            state = rng.bit_generator.state
            rng.bit_generator.advance(self.n_samples)  # type: ignore[attr-defined]
        starts = np.cumsum([0, *self._scan.n_rows[:-1]])
        plan = self._plan({})
        unit = 1.0 if self.weights is None else self.weights.unit
        states = [(state, int(start), unit) for start in starts]
        sizes = self._sizes_of_parts(plan, None if state is None else states)
        drawn = draw_rows(sizes.sum(axis=0), most, rng, self.classes is not None)
        before = np.cumsum(sizes, axis=0) - sizes
        each = []
        for number, state_here in enumerate(states):
            ordinals = [
                np.sort(own[(own >= first) & (own < first + size)] - first)
                for own, first, size in zip(drawn, before[number].tolist(), sizes[number].tolist(), strict=True)
            ]
            each.append((state_here, ordinals) if any(map(len, ordinals)) else None)
        key = columns.tobytes() + np.concatenate(drawn).tobytes()
        if key not in self._samples:  # Another criterion asks for the same rows.
            take = partial(take_some, plan=plan, columns=np.append(columns, self.target))
            self._samples = {key: self.small(columns, np.concatenate(self._rows.map(take, each)))}
        return self._samples[key]

    def _plan(self, cuts: dict[int, Values]) -> CodingPlan:
        return CodingPlan.of(self._scan, self.columns, self._wanted, cuts)

    def _sizes_of_parts(self, plan: CodingPlan, states: list[Any] | None) -> NDArray[np.int64]:
        """How many rows each class has in every part, each as often as its weight says if there are weights."""
        if states is not None:
            find = partial(_rows_by_class, plan=plan, n_classes=1 if self.classes is None else len(self.classes))
            return np.array(self._rows.map(lambda *part: [len(rows) for rows in find(*part)], states), np.int64)
        if self.classes is None:
            return np.array(self._scan.n_rows, np.int64)[:, None]
        levels = sorted_levels(self._scan.columns[-1].levels or {})
        return np.array([[(own or {}).get(level, 0) for level in levels] for own in self._scan.targets], np.int64)


def take_some(part: Part, each: tuple[Any, list[Positions]], *, plan: CodingPlan, columns: Positions) -> Values:
    """Some rows of a part, given by their place in their class."""
    state, ordinals = each
    by_class = _rows_by_class(part, state, plan, len(ordinals))
    rows = np.sort(np.concatenate([own[places] for own, places in zip(by_class, ordinals, strict=True)]))
    few = Part(take_rows(part.X, rows), take_rows(part.y, rows), None, part.label)
    return plan.values_of(few, columns).T


def _rows_by_class(part: Part, state: Any, plan: CodingPlan, n_classes: int) -> list[Positions]:
    """Rows of every class; all rows in one class if the target has none."""
    codes, random_state = np.zeros(len(part.y)), state[0]
    if plan.kinds[-1] == DISCRETE:
        codes = plan.values_of(part, np.array([len(plan.kinds) - 1]))[0]
    rows = np.arange(len(codes))
    if random_state is not None:
        bits = np.random.PCG64(0)
        bits.state = random_state
        # Every row has a random number of its own, whichever part it is in.
        chances = np.random.Generator(bits.advance(state[1])).random(len(rows))
        rows = repeat_rows(np.asarray(part.weights, np.float64), state[2], chances)
    return [rows[codes[rows] == label] for label in range(n_classes)]


class _Elsewhere:
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            "X is in parts, on disk or on a cluster, but this needs all values in memory; "
            "count with mi_estimator='binned' and unique_relevance='both', or pass a sample of the rows"
        )


def _labels(target: Seen) -> NDArray[Any]:
    """Labels of the classes in the order of their codes, of the type they came in."""
    levels = sorted_levels(target.levels or {})
    if target.family == "boolean":
        return np.array(levels).astype(bool)
    if target.family == "number":
        return np.array(levels).astype(np.int64 if target.whole else np.float64)
    return np.array(levels, object)


class Scratch:
    """Memory-mapped arrays in the folder of temporary files; the system deletes them with the last array."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if size == 0:
            return np.empty(shape, dtype)
        try:
            # Its name, if it ever has one, is gone before anything is written: not even a kill leaves a file behind.
            with tempfile.TemporaryFile(prefix="unirel-scratch-") as file:
                _take_room(file.fileno(), size)
                self._maps.append(mmap.mmap(file.fileno(), size))
        except OSError as error:
            about = f"the folder of temporary files, {tempfile.gettempdir()!r}, cannot hold {size / 1e6:,.1f} MB"
            raise OSError(f"{about}: {error.strerror or error}; name another one in TMPDIR") from None
        return np.frombuffer(self._maps[-1], dtype).reshape(shape)

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        found = self.empty(array.shape, array.dtype)
        found[:] = array
        return found

    def release(self) -> None:
        """Take what was read or written out of the memory of this process; the system may still have it."""
        for one in self._maps:
            if hasattr(one, "madvise") and hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                one.madvise(mmap.MADV_DONTNEED)


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

    `layout` says how many levels, or rows of numbers, each column has. Matrices are in files already.
    """

    def __init__(
        self, layout: NDArray[Any], matrices: list[NDArray[Any]], weights: Values | None, files: Scratch
    ) -> None:
        self.layout, self.matrices, self.files = layout, matrices, files
        self.weights = None if weights is None else files.copy(weights)
        files.release()

    def __reduce__(self) -> Any:
        return self._copied, (self.layout, self.matrices, self.weights)

    @classmethod
    def _copied(cls, layout: NDArray[Any], matrices: list[NDArray[Any]], weights: Values | None) -> Self:
        files = Scratch()
        return cls(layout, [files.copy(matrix) for matrix in matrices], weights, files)


def weights_in_rows(part: Part, sums: Sums | None) -> Values | None:
    return None if sums is None else sums.in_rows(np.asarray(part.weights, np.float64))


class Coded(Stored):
    """Codes of the rows of a part, as `empty_matrices` makes room for them, and their weights."""

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, sums: Sums | None) -> Coded:
        files = Scratch()
        matrices = empty_matrices(plan.n_levels, len(part.y), files.empty)
        widths, places = find_places(plan.n_levels)
        for positions, codes in plan.codes_of(part):
            for width, matrix in enumerate(matrices):
                mine = widths[positions] == width
                matrix[places[positions[mine]]] = codes[mine]
        return cls(plan.n_levels, matrices, weights_in_rows(part, sums), files)


class RowsOfPart(Stored):
    """Rows of numbers that stand for columns, of the samples of a part; first the values of each column, then more."""

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, sums: Sums | None, heights: Positions) -> RowsOfPart:
        """The values of a part, numbers or codes, in the first row of each column."""
        columns, files = np.flatnonzero(heights), Scratch()
        rows = files.empty((int(heights.sum()), len(part.y)), np.float64)
        rows[(np.cumsum(heights) - heights)[columns]] = plan.values_of(part, columns)
        return cls(heights, [rows], weights_in_rows(part, sums), files)

    def take(self, columns: Positions) -> tuple[Values, Values | None]:
        return self.matrices[0][(np.cumsum(self.layout) - self.layout)[columns]], self.weights

    def put(self, columns: Positions, rows: Values) -> None:
        """Write the rows of some columns that follow each other."""
        first = int(self.layout[: columns[0]].sum())
        self.matrices[0][first : first + len(rows)] = rows

    def products(self, *, rows: Positions, others: Positions | slice) -> Values:
        return np.asarray(self._add(lambda stretch: stretch[rows] @ stretch[others].T))

    def lengths(self) -> Values:
        return np.asarray(self._add(lambda stretch: np.einsum("ij,ij->i", stretch, stretch)))

    def fourth_moment(self, *, rows: Positions) -> float:
        """The sum over samples of the square of the sum of squares of some rows."""
        return float(self._add(lambda stretch: ((stretch[rows] ** 2).sum(axis=0) ** 2).sum()))

    def _add(self, function: Callable[[Values], Any]) -> Any:
        """What a function finds in stretches of the samples, added up in their order."""
        n_rows, n_samples = self.matrices[0].shape
        step, found = max(1, _STRETCH // n_rows), []
        for start in range(0, max(n_samples, 1), step):
            found.append(function(self.matrices[0][:, start : start + step]))
            self.files.release()
        return sum(found)
