"""Contingency tables of a table in parts: each part is counted where it is, and the tables are added up."""

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unirel.data.chunks import Coded, PartedTable
from unirel.data.parts import Rows
from unirel.estimation.base import Columns, Values
from unirel.estimation.codes import CodeMatrix, Codes, Counts, Cuts, Joint, joint_of

# Margins of tables that were counted, which are kept.
_MOST_KNOWN = 64


def open_parts(table: PartedTable, cuts: Cuts, n_jobs: int | None) -> tuple["PartCodes", float]:
    """The codes of a table in parts, made where the parts are, and the weight of all rows."""
    if cuts.strategy == "mdl" and table.continuous.any():
        raise ValueError("strategy='mdl' looks at all values in order, but X is in parts; pass 'quantile' or 'uniform'")
    plan, kept = table.encode(*cuts)
    codes = PartCodes(plan.n_levels, kept, table.n_samples, n_jobs)
    return codes, float(table.n_samples if table.weights is None else kept.add(lambda part: part.weights.sum(), sum))


class PartCodes(CodeMatrix):
    """Codes in several places; only tables come here. `n_jobs` threads count parts that are in this process."""

    cells_at_once = 2**22  # of tables that travel together, and that every thread has

    def __init__(self, n_levels: NDArray[np.int64], kept: Rows, n_samples: int, n_jobs: int | None) -> None:
        self.n_levels, self.n_samples, self._kept, self._n_jobs = n_levels, n_samples, kept, n_jobs
        self._known: dict[tuple[int, ...], Counts] = {}

    def columns_at_once(self, n_candidates: int) -> int:
        """All of them: a step is one question to wherever the parts are."""
        return n_candidates

    def prepare(self, columns: Columns, rest: Joint | None = None) -> None:
        """Nothing: the codes were made when they were kept."""

    def codes(self, column: int) -> Codes:
        """Codes of one column, of all rows: a byte for each of them comes here."""
        return _join(self._kept.map(lambda part: _matrix(part).codes(column)))

    def tables(self, candidates: Columns, rest: Joint) -> tuple[Counts, Columns]:
        sizes = self.n_levels[candidates] * rest.n_levels
        starts = np.cumsum(sizes) - sizes
        if rest.columns is None:  # Joint levels that were numbered anew are known here only.
            weights = self.row_weights()
            cells = (self.codes(one).astype(np.int64) * rest.n_levels + rest.codes for one in candidates.tolist())
            found = np.concatenate([np.bincount(own, weights, n) for own, n in zip(cells, sizes, strict=True)])
            return self._narrow(found), starts
        count = partial(count_part, candidates=candidates, columns=rest.columns)
        tables = self._kept.add(count, add_tables, self._n_jobs)
        first = tables[: sizes[0]]
        self._remember(rest.columns, first.reshape(-1, rest.n_levels).sum(axis=0))
        return self._narrow(tables), starts

    def counts(self, joint: Joint) -> Counts:
        if joint.columns is None:
            return np.bincount(joint.codes, self.row_weights(), joint.n_levels)
        for columns, known in self._known.items():
            n_own = len(joint.columns)
            if columns[:n_own] == joint.columns:
                return np.asarray(known.reshape(joint.n_levels, -1).sum(axis=1))
            if columns[len(columns) - n_own :] == joint.columns:
                return np.asarray(known.reshape(-1, joint.n_levels).sum(axis=0))
        count = partial(count_levels_of_part, columns=joint.columns)
        counts = self._kept.add(count, add_tables, self._n_jobs)
        self._remember(joint.columns, counts)
        return counts  # type: ignore[no-any-return]

    def row_weights(self) -> Values | None:
        weights = _join(self._kept.map(weights_of))
        return None if weights.dtype == np.bool_ else weights

    def weighted(self, weights: Values) -> Self:
        """Refuse other weights: they would have to go where the rows are."""
        raise ValueError(f"rows in parts keep their own weights, {len(weights)} others were given; read X into memory")

    def _narrow(self, tables: Counts) -> Counts:
        """Whole numbers in the type that tables in memory have, for which kernels are compiled."""
        return tables.astype(np.int32) if tables.dtype.kind == "i" and self.n_samples < 2**31 else tables

    def _remember(self, columns: tuple[int, ...], counts: Counts) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[columns] = counts


def weights_of(part: Coded) -> NDArray[Any]:
    """Weights of a part; true for every row if there are none."""
    return np.ones(part.matrices[0].shape[1], bool) if part.weights is None else part.weights


def count_part(part: Coded, *, candidates: Columns, columns: tuple[int, ...]) -> Counts:
    """Tables of candidates against some columns, in one part."""
    matrix = _matrix(part)
    rest = joint_of(matrix, columns, 2**32)
    matrix.prepare(candidates, rest)
    return matrix.tables(candidates, rest)[0]


def count_levels_of_part(part: Coded, *, columns: tuple[int, ...]) -> Counts:
    """How many rows of a part, or which weight, each joint level of some columns has."""
    joint = joint_of(_matrix(part), columns, 2**32)
    counts = np.bincount(joint.codes, part.weights, joint.n_levels)
    return counts if part.weights is None else counts.astype(np.float64)  # of no rows it would be whole numbers


def add_tables(tables: list[Counts]) -> Counts:
    """Tables of several parts as those of all of them; whole numbers in a type that all rows fit into."""
    total = tables[0].astype(np.float64 if tables[0].dtype.kind == "f" else np.int64)
    for table in tables[1:]:
        total += table
    return total


def _matrix(part: Coded) -> CodeMatrix:
    return CodeMatrix(part.layout, part.matrices, part.weights)


def _join(parts: list[Any]) -> NDArray[Any]:
    return np.concatenate([part for part in parts if len(part)] or parts[:1])
