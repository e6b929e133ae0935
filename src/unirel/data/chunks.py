"""A table whose rows stay where they are: what is known of its columns, and a sample of its rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from unirel.data.columns import DISCRETE, DiscreteFeatures, TargetType, kinds_asked, take_rows, target_kind
from unirel.data.encoding import Columns, Facts, one_class, refuse_missing
from unirel.data.levels import sorted_levels
from unirel.data.parts import Kept, Part, Rows
from unirel.data.plan import CodingPlan, find_facts, sketched_edges, values_of_part
from unirel.data.readers import Positions, Source
from unirel.data.scan import Scan, Seen, Wanted, merge, scan_part
from unirel.data.scratch import Coded, RowsOfPart
from unirel.data.table import Table, check_inputs, warn_of_indexes
from unirel.data.weights import Sums, add_sums, in_rows, repeat_rows, sum_weights

Values = NDArray[np.float64]

# Values of some columns of all rows that are brought together.
_VALUES = 2**24


class PartedTable(Table):
    """Columns of features and a target whose rows are in several places; offers what estimators that count ask for."""

    is_parted = True

    def __init__(self, rows: Rows, scan: Scan, wanted: Wanted, facts: Facts, weights: Sums | None) -> None:
        columns = Columns(wanted.names, facts, sum(scan.n_rows))
        classes = _labels(scan.columns[-1]) if facts.kinds[-1] == DISCRETE else None
        super().__init__(columns, len(wanted.names) - 1, classes, _Elsewhere(), numbered=rows.numbered)  # type: ignore[arg-type]
        self.weights = weights
        self.edges: dict[str, Values] = {}  # of the bins that were made
        self._rows, self._scan, self._wanted = rows, scan, wanted
        self._kept: dict[Any, tuple[CodingPlan, Kept]] = {}
        self._samples: dict[bytes, Table] = {}

    @classmethod
    def read(
        cls, rows: Rows, *, discrete_features: DiscreteFeatures = "auto", target_type: TargetType = "auto"
    ) -> PartedTable:
        """Look at all parts for the first time."""
        names = rows.names
        source = Source("X", names[:-1], (1, len(names) - 1), numbered=rows.numbered)
        asked = kinds_asked(discrete_features, [source])[0]
        weights = add_sums(rows.map(_sums_of_weights)) if rows.weighted else None
        kinds = np.append(asked, target_kind(target_type)).astype(np.int8)
        wanted = Wanted(names, kinds, 0.0 if weights is None else weights.unit)
        scan = rows.add(partial(scan_part, wanted=wanted), partial(merge, wanted=wanted))
        n_samples = sum(scan.n_rows)
        if n_samples < 2:
            raise ValueError(f"X has {n_samples} sample(s) (shape=({n_samples}, {len(asked)})); at least 2 are needed")
        if scan.other_indexes:
            warn_of_indexes()
        facts, target = find_facts(scan, wanted), scan.columns[-1]
        refuse_missing(target.n_missing, n_samples)
        if facts.kinds[-1] == DISCRETE and len(target.levels or {}) == 1:
            raise one_class(next(iter(target.levels or {})))
        check_inputs(Columns(names, facts, n_samples), len(asked), asked)
        return cls(rows, scan, wanted, facts, weights)

    def level_sizes(self, column: int) -> NDArray[np.int64]:
        """How many rows each level of a discrete column has."""
        seen = self._scan.columns[column]
        levels = seen.levels or {}
        sizes = [levels[level] for level in sorted_levels(levels)]
        return np.array([*sizes, *([seen.n_missing] if seen.n_missing else [])], np.int64)

    def encode(self, n_bins: int, binning: str, given: dict[int, Values]) -> tuple[CodingPlan, Kept]:
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
            plan = self._plan(cuts)
            self._kept = {key: (plan, self._rows.keep(partial(Coded.of, plan=plan, in_rows=self._in_rows)))}
        return self._kept[key]

    def encode_rows(self, encode: Callable[..., list[Values]], heights: Positions) -> Kept:
        """Rows of numbers in the place of columns, found from all values of each column.

        `encode` gets values and weights of every part and the columns they are of, and returns the rows of these
        columns for every part, as many as `heights` says.
        """
        plan = self._plan({})
        values = self._rows.keep(partial(RowsOfPart.of, plan=plan, in_rows=self._in_rows, heights=heights))
        columns, size = np.flatnonzero(heights), max(1, _VALUES // self.n_samples)
        blocks = [columns[start : start + size] for start in range(0, len(columns), size)]
        kept = values.exchange(RowsOfPart.take, encode, RowsOfPart.put, blocks)
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
        plan = self._plan({})
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
            self._samples = {key: self.small(columns, np.concatenate(self._rows.map(take, each)))}
        return self._samples[key]

    def _plan(self, cuts: dict[int, Values]) -> CodingPlan:
        return CodingPlan.of(self._scan, self.columns.facts, self._wanted, cuts)

    @property
    def _in_rows(self) -> Callable[[Values], Values]:
        """What makes weights of a part numbers of rows of the whole table."""
        row, largest = (1.0, 0.0) if self.weights is None else (self.weights.row, self.weights.largest)
        return partial(in_rows, row=row, largest=largest, n_samples=self.n_samples)

    def _sizes_of_parts(self, plan: CodingPlan, states: list[Any] | None) -> NDArray[np.int64]:
        """How many rows each class has in every part, each as often as its weight says if there are weights."""
        if states is not None:
            n_classes = 1 if self.classes is None else len(self.classes)
            return np.array(self._rows.map(partial(class_sizes, plan=plan, n_classes=n_classes), states))
        if self.classes is None:
            return np.array(self._scan.n_rows, np.int64)[:, None]
        levels = sorted_levels(self._scan.columns[-1].levels or {})
        return np.array([[(own or {}).get(level, 0) for level in levels] for own in self._scan.targets], np.int64)


def _sums_of_weights(part: Part) -> Sums:
    return sum_weights(np.asarray(part.weights, np.float64))


def class_sizes(part: Part, state: Any, *, plan: CodingPlan, n_classes: int) -> NDArray[np.int64]:
    """How many rows of a part each class has, each as often as its weight says."""
    return np.array([len(rows) for rows in _rows_by_class(part, state, plan, n_classes)], np.int64)


def take_some(part: Part, each: tuple[Any, list[Positions]], *, plan: CodingPlan, columns: Positions) -> Values:
    """Some rows of a part, given by their place in their class."""
    state, ordinals = each
    by_class = _rows_by_class(part, state, plan, len(ordinals))
    rows = np.sort(np.concatenate([own[places] for own, places in zip(by_class, ordinals, strict=True)]))
    few = Part(take_rows(part.X, rows), take_rows(part.y, rows), None, part.label)
    return values_of_part(few, plan, columns).T


def _rows_by_class(part: Part, state: Any, plan: CodingPlan, n_classes: int) -> list[Positions]:
    """Rows of every class; all rows in one class if the target has none."""
    codes, random_state = np.zeros(len(part.y)), state[0]
    if plan.kinds[-1] == DISCRETE:
        codes = values_of_part(part, plan, np.array([len(plan.kinds) - 1]))[0]
    rows = np.arange(len(codes))
    if random_state is not None:
        bits = np.random.PCG64(0)
        bits.state = random_state
        # Every row has a random number of its own, whichever part it is in.
        chances = np.random.Generator(bits.advance(state[1])).random(len(rows))
        rows = repeat_rows(np.asarray(part.weights, np.float64), state[2], chances)
    return [rows[codes[rows] == label] for label in range(n_classes)]


class _Elsewhere:
    """Columns of a table that are not here."""

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
