"""A table whose rows stay where they are: what is known of its columns, and a sample of its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from unirel.data.coding import Columns, Facts, empty_matrices, find_places
from unirel.data.parts.plan import (
    CodingPlan,
    encode_part,
    find_facts,
    sketched_edges,
    sorted_levels,
    target_codes,
    values_of_part,
)
from unirel.data.parts.rows import Encode, RowPlan
from unirel.data.parts.scan import Part, Scan, Seen, Wanted, merge, scan_part
from unirel.data.parts.scratch import Scratch
from unirel.data.reading import DISCRETE, KINDS, UNKNOWN, Positions, Source, kinds_asked, take_rows
from unirel.data.table import Table, check_inputs
from unirel.data.weights import are_whole, in_rows, repeat_rows, unit_of_weights, weight_of_row

Values = NDArray[np.float64]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Coded:
    """Coded rows, in files that are mapped to memory: what was read leaves it again, and workers have room for more.

    A copy for another process goes to files there.

    Attributes
    ----------
    n_levels : ndarray of int64
        Levels of every column.
    matrices : list of ndarray
        Codes, as `empty_matrices` makes room for them.
    weights : ndarray or None
        Weight of every row.
    files : Scratch
        Where all of it is.
    """

    n_levels: NDArray[np.int64]
    matrices: list[NDArray[Any]]
    weights: Values | None
    files: Scratch

    @classmethod
    def empty(cls, n_levels: NDArray[np.int64], n_rows: int, weighted: bool, folder: Any) -> Coded:
        """Room for some rows."""
        files = Scratch(folder)
        weights = files.empty((n_rows,), np.float64) if weighted else None
        return cls(n_levels, empty_matrices(n_levels, n_rows, files.empty), weights, files)

    def write(self, start: int, part: Part, plan: CodingPlan, grid: Callable[[Values], Values]) -> None:
        """Code the rows of a part; the first of them is row `start` here."""
        rows = slice(start, start + len(part.y))
        widths, places = find_places(plan.n_levels)
        for positions, codes in encode_part(part, plan) if len(part.y) else []:
            for width, matrix in enumerate(self.matrices):
                mine = widths[positions] == width
                matrix[places[positions[mine]], rows] = codes[mine]
        if self.weights is not None:
            self.weights[rows] = grid(np.asarray(part.weights, np.float64))
        self.files.release()

    def __reduce__(self) -> Any:
        return _copy_coded, (self.n_levels, self.matrices, self.weights, self.files.folder)


def _copy_coded(
    n_levels: NDArray[np.int64], matrices: list[NDArray[Any]], weights: Values | None, folder: Any
) -> Coded:
    copy = Coded.empty(n_levels, matrices[0].shape[1], weights is not None, folder)
    for matrix, own in zip(copy.matrices, matrices, strict=True):
        matrix[:] = own
    if copy.weights is not None:
        copy.weights[:] = weights
    copy.files.release()
    return copy


class Kept(ABC):
    """Parts, `Coded` or `RowsOfPart`, that stay where they are."""

    local: Any = None  # all rows, where this process can reach them

    @abstractmethod
    def bring(self, function: Callable[[Any], Any]) -> list[Any]:
        """What a function finds in every part, in their order."""

    def ask(self, function: Callable[[Any], Any], add: Callable[[list[Any]], Any]) -> Any:
        """What a function finds in every part, added up in any order."""
        return add(self.bring(function))

    @abstractmethod
    def close(self) -> None:
        """Give back everything."""


class Parts(ABC):
    """Rows in several places, that are looked at in parts and coded where they are.

    Attributes
    ----------
    names : tuple of str
        Features and, last, the target.
    weighted : bool
        Whether rows have weights.
    """

    is_parted = True
    names: tuple[str, ...]
    weighted: bool

    @abstractmethod
    def look(self, function: Callable[..., Found], each: Sequence[Any] | None = None) -> list[Found]:
        """What a function finds in every part, in their order.

        With `each` it gets an entry of that as well, and a part whose entry is None is left out.
        """

    @abstractmethod
    def add(self, function: Callable[[Part], Found], add: Callable[[list[Found]], Found]) -> Found:
        """What a function finds in every part, added up."""

    @abstractmethod
    def keep(self, plan: CodingPlan, n_rows: Sequence[int], grid: Callable[[Values], Values], scratch: Any) -> Kept:
        """Code all parts and keep the codes."""

    @abstractmethod
    def keep_rows(self, plan: RowPlan, n_rows: Sequence[int], scratch: Any) -> Kept:
        """Turn columns into rows of numbers, from all values of a column at a time, and keep these in parts."""


class PartedTable(Table):
    """Columns of features and a target whose rows are in several places; offers what estimators that count ask for."""

    is_parted = True

    def __init__(self, parts: Parts, scan: Scan, wanted: Wanted, facts: Facts, scale: str | None) -> None:
        n_features = len(wanted.names) - 1
        columns = Columns([wanted.names], facts, sum(scan.n_rows))
        target = scan.columns[-1]
        classes = _labels(target) if facts.kinds[-1] == DISCRETE else None
        super().__init__(columns, n_features, classes, _Elsewhere(scale))  # type: ignore[arg-type]
        self.parts, self._scan, self._wanted = parts, scan, wanted
        self._kept: dict[Any, tuple[CodingPlan, Kept]] = {}
        self._samples: dict[bytes, Table] = {}
        self.edges: dict[str, Values] = {}  # of the bins that were made

    @classmethod
    def read(cls, parts: Parts, discrete_features: Any, target_type: str) -> PartedTable:
        """Look at all parts for the first time."""
        names = parts.names
        source = Source("X", names[:-1], (1, len(names) - 1))
        kind = target_type
        target = UNKNOWN if kind == "auto" else KINDS.index(kind)
        asked = kinds_asked(discrete_features, [source])[0]
        about = _about_weights(parts) if parts.weighted else None
        wanted = Wanted(names, np.append(asked, target).astype(np.int8), 0.0 if about is None else about.unit)
        scan = parts.add(partial(scan_part, wanted=wanted), partial(merge, wanted=wanted))
        n_samples = sum(scan.n_rows)
        if n_samples < 2:
            raise ValueError(f"X has {n_samples} sample(s) (shape=({n_samples}, {len(asked)})); at least 2 are needed")
        facts = find_facts(scan, wanted)
        _check_target(scan.columns[-1], n_samples, facts.kinds[-1] == DISCRETE)
        inputs = Columns([names[:-1]], facts.take(np.arange(len(asked))), n_samples)
        check_inputs(inputs, len(asked), asked)
        table = cls(parts, scan, wanted, facts, "standard")
        table.weights = about
        return table

    weights: Weights | None = None

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        """How many rows each level of a discrete column has."""
        seen = self._scan.columns[column]
        sizes = [(seen.levels or {})[level] for level in sorted_levels(seen.levels or {})]
        return np.array([*sizes, *([seen.n_missing] if seen.n_missing else [])], np.int64)

    @property
    def weights_in_rows(self) -> Callable[[Values], Values]:
        """What makes weights of a part numbers of rows of the whole table."""
        row, largest = (1.0, 0.0) if self.weights is None else (self.weights.row, self.weights.largest)
        return partial(in_rows, row=row, largest=largest, n_samples=self.n_samples)

    def encode(self, n_bins: int, binning: str, given: dict[int, Values], scratch: Any) -> tuple[CodingPlan, Kept]:
        """Code all parts, continuous columns in bins, unless that has been done."""
        key = (n_bins, binning, tuple((column, tuple(edges)) for column, edges in sorted(given.items())))
        if key not in self._kept:
            cuts = {
                column: given[column]
                if column in given
                else sketched_edges(self._scan.columns[column], n_bins, binning)
                for column in np.flatnonzero(self.continuous).tolist()
            }
            self.edges = {self.columns.names[column]: edges for column, edges in cuts.items()}
            plan = CodingPlan.of(self._scan, self.columns.facts, self._wanted, cuts)
            self._kept = {key: (plan, self.parts.keep(plan, self._scan.n_rows, self.weights_in_rows, scratch))}
        return self._kept[key]

    def encode_rows(self, make_encode: Callable[..., Encode], heights: Positions, scratch: Any) -> Kept:
        """Rows of numbers in the place of columns, see `RowPlan`."""
        plan = CodingPlan.of(self._scan, self.columns.facts, self._wanted, {})
        kept = self.parts.keep_rows(
            RowPlan(plan, self.weights_in_rows, make_encode, heights), self._scan.n_rows, scratch
        )
        self._kept["rows"] = plan, kept
        return kept

    def close(self) -> None:
        """Give back codes, wherever they are; they are made again if they are asked for."""
        for _, kept in self._kept.values():
            kept.close()
        self._kept = {}

    def sample(self, columns: Positions, draw: Callable[[NDArray[np.int64]], list[Positions]], state: Any) -> Table:
        """A small table of some columns of some rows, brought here once.

        `draw` gives, from how many rows each class has, which of them are wanted. `state` is that of the random numbers
        that rows are repeated by where they have weights, None where they have not.
        """
        starts = np.cumsum([0, *self._scan.n_rows[:-1]])
        plan = CodingPlan.of(self._scan, self.columns.facts, self._wanted, {})
        unit = 1.0 if self.weights is None else self.weights.unit
        states = [(state, int(start), unit) for start in starts]
        sizes = self._sizes_of_parts(plan, None if state is None else states)
        drawn, before = draw(sizes.sum(axis=0)), np.cumsum(sizes, axis=0) - sizes
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
            self._samples = {key: self.small(columns, np.concatenate(self.parts.look(take, each)))}
        return self._samples[key]

    def _sizes_of_parts(self, plan: CodingPlan, states: list[Any] | None) -> NDArray[np.int64]:
        """How many rows each class has in every part, each as often as its weight says if there are weights."""
        if states is not None:
            n_classes = 1 if self.classes is None else len(self.classes)
            return np.array(self.parts.look(partial(class_sizes, plan=plan, n_classes=n_classes), states))
        if self.classes is None:
            return np.array(self._scan.n_rows, np.int64)[:, None]
        levels = sorted_levels(self._scan.columns[-1].levels or {})
        return np.array([[(own or {}).get(level, 0) for level in levels] for own in self._scan.targets], np.int64)


class Weights(NamedTuple):
    """What is known of the weights of all rows."""

    total: float
    largest: float
    unit: float  # what counts as a row where rows are repeated
    row: float  # and where weights are counted


def _about_weights(parts: Parts) -> Weights:
    n_rows, total, squares, largest, whole, wrong = np.array(parts.look(_weights_of), np.float64).T
    if wrong.any() or not total.any():
        raise ValueError(
            "sample_weight has negative, missing or infinite values, or only zeros; pass numbers from 0 on"
        )
    most, whole = float(largest.max()), bool(whole.all())
    shares = float(total.sum() / most), float((squares * (largest / most) ** 2).sum())
    unit = unit_of_weights(float(total.sum()), int(n_rows.sum()), whole)
    return Weights(float(total.sum()), most, unit, weight_of_row(int(n_rows.sum()), most, *shares, whole))


def _weights_of(part: Part) -> tuple[float, ...]:
    weights = np.asarray(part.weights, np.float64)
    wrong = not (np.isfinite(weights).all() and (weights >= 0).all())
    largest = float(weights.max(initial=0.0))
    shares = weights / (largest or 1.0)
    return len(weights), weights.sum(), float(shares @ shares), largest, are_whole(weights), wrong


def class_sizes(part: Part, state: Any, *, plan: CodingPlan, n_classes: int) -> NDArray[np.int64]:
    """How many rows of a part each class has, each as often as its weight says."""
    return np.array([len(rows) for rows in _rows_by_class(part, state, plan, n_classes)], np.int64)


def take_some(part: Part, each: tuple[Any, list[Positions]], *, plan: CodingPlan, columns: Positions) -> Values:
    """Some rows of a part, given by their place in their class."""
    state, ordinals = each
    by_class = _rows_by_class(part, state, plan, len(ordinals))
    rows = np.sort(np.concatenate([own[places] for own, places in zip(by_class, ordinals, strict=True)]))
    few = Part(take_rows(part.X, rows), take_rows(part.y, rows), None, part.label)
    return values_of_part(few, plan, columns)


def _rows_by_class(part: Part, state: Any, plan: CodingPlan, n_classes: int) -> list[Positions]:
    """Rows of every class; all rows in one class if the target has none."""
    codes, random_state = np.zeros(len(part.y), np.uint8), state[0]
    if plan.kinds[-1] == DISCRETE and len(codes):
        codes = target_codes(part, plan)
    rows = np.arange(len(codes))
    if random_state is not None:
        bits = np.random.PCG64(0)
        bits.state = random_state
        # Every row has a random number of its own, whichever part it is in.
        chances = np.random.Generator(bits.advance(state[1])).random(len(rows))
        rows = repeat_rows(np.asarray(part.weights, np.float64), state[2], chances)
    return [rows[codes[rows] == label] for label in range(n_classes)]


class _Elsewhere:
    """Contents of a table that are not here."""

    sparse = None

    def __init__(self, scale: str | None) -> None:
        self.scale = scale

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(
            "X is in parts, on disk or on a cluster, but this needs all values in memory; "
            "count with estimator='binned' and unique_relevance='both', or pass a sample of the rows"
        )


def _labels(target: Seen) -> NDArray[Any]:
    """Labels of the classes in the order of their codes, of the type they came in."""
    levels = sorted_levels(target.levels or {})
    if target.family == "boolean":
        return np.array(levels).astype(bool)
    if target.family == "number":
        return np.array(levels).astype(np.int64 if target.whole else np.float64)
    return np.array(levels, object)


def _check_target(target: Seen, n_samples: int, discrete: bool) -> None:
    """Refuse a target with missing values or with one class."""
    if target.n_missing == n_samples:
        raise ValueError(f"y has no value at all: all {n_samples} are missing (NaN); choose another target")
    if target.n_missing:
        values = "value" if target.n_missing == 1 else "values"
        raise ValueError(f"y has {target.n_missing} missing {values} (NaN); drop those rows from X and y")
    if discrete and len(target.levels or {}) == 1:
        only = next(iter(target.levels or {}))
        raise ValueError(f"y has one class only: every value is {only!r}; choose a target that varies")
