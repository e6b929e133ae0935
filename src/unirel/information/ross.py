"""Ross's estimator: class labels against columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Block, Changes, Values
from unirel.information.geometry import METRICS, Columns, Geometry, Rows
from unirel.kernels.add_one import add_one_to_classes, side_by_side
from unirel.kernels.drop_one import drop_one_from_classes, drop_one_from_sum
from unirel.kernels.line import ross_on_line
from unirel.kernels.plane import make_strips, ross_in_plane
from unirel.kernels.space import find_neighbors
from unirel.kernels.special import mean_digamma
from unirel.kernels.subsets import add_nested_terms, add_subset_terms
from unirel.work import Progress, map_tasks

# Subsets a thread works on at a time, and pairs of rows in all of them together.
_SUBSETS_PER_TASK = 2**12
_PAIRS_PER_TASK = 2**28


class Ross:
    """I(columns; labels) by distances to the nearest neighbours of the same class, with ties counted.

    Rows whose class is theirs alone have no such neighbour and are left out.
    """

    def __init__(self, geometry: Geometry, codes: NDArray[np.int32]) -> None:
        counts = np.bincount(codes)
        kept = counts > 1
        labels = (np.cumsum(kept) - 1).astype(np.int32)[codes]
        self._rows = None if kept[codes].all() else np.flatnonzero(kept[codes])
        self.labels = labels if self._rows is None else labels[self._rows]
        self.sizes = counts[kept].astype(np.int64)
        self.n_samples = len(self.labels)
        self._geometry = geometry

    def on_line(self, candidates: Block) -> Values:
        """I(candidate; labels) of every candidate."""
        geometry = self._geometry
        if self.n_samples == 0:
            return np.zeros(len(candidates))

        def work(part: Rows) -> Values:
            columns = self._take(geometry.values[part])
            return ross_on_line(
                columns, np.argsort(columns, axis=1), self.labels, self.sizes,
                geometry.n_neighbors, geometry.far, geometry.tolerance, geometry.psi,
            )  # fmt: skip

        return geometry.each_part(work, candidates)

    def in_plane(self, candidates: Block, fixed: int) -> Values:
        """I(candidate, fixed; labels) of every candidate, in the maximum norm."""
        geometry = self._geometry
        if self.n_samples == 0:
            return np.zeros(len(candidates))
        along = self._take(geometry.values[fixed])
        own = make_strips(along, self.labels, len(self.sizes), geometry.n_neighbors)
        # A ball holds points of all classes, so the strips that count are wider than those that search.
        whole = make_strips(along, np.zeros_like(self.labels), 1, 4 * geometry.n_neighbors)

        def work(part: Rows) -> Values:
            columns = self._take(geometry.values[part])
            return ross_in_plane(
                columns, np.argsort(columns, axis=1), along, own, whole, self.sizes,
                geometry.n_neighbors, geometry.far, geometry.tolerance, geometry.psi,
            )  # fmt: skip

        return geometry.each_part(work, candidates)

    def in_space(self, block: Block, metric: str) -> float:
        """I(block; labels) in any metric."""
        geometry = self._geometry
        if self.n_samples == 0:
            return 0.0
        order, anchor = geometry.anchor_first(block)
        columns = self._take(geometry.values[order])
        columns = np.take(columns, np.lexsort((columns[0], self.labels)), axis=1)
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        radius = np.empty(self.n_samples)
        same, everyone = np.empty(self.n_samples, np.int32), np.empty(self.n_samples, np.int32)

        def work(bounds: tuple[int, int]) -> None:
            distances = np.empty(self.n_samples, columns.dtype if metric == "chebyshev" else np.float64)
            find_neighbors(
                columns, starts, *bounds, anchor, geometry.n_neighbors, METRICS[metric], geometry.far,
                geometry.mismatch(metric), geometry.tolerance, distances, radius, same, everyone,
            )  # fmt: skip

        geometry.each_range(work, self.n_samples)
        psi = geometry.psi
        return float(self._constant(np.arange(self.n_samples)) + mean_digamma(same, psi) - mean_digamma(everyone, psi))

    def changes(
        self,
        block: Columns,
        candidates: Columns | None,
        metric: str,
        rows: Rows | None,
        progress: Progress | None,
    ) -> Changes:
        """Changes of I(block; labels) without each of its columns or, if there are candidates, with each of them."""
        geometry = self._geometry
        block = self._take(block)
        added = None if candidates is None else side_by_side(self._take(candidates))
        mismatch = geometry.mismatch(metric)

        def work(part: Rows, sums: Values, squares: Values) -> float:
            classes = (self.labels, self.sizes, part, geometry.n_neighbors)
            rest = (geometry.tolerance, geometry.psi, sums, squares)
            if added is not None:
                return add_one_to_classes(block, added, *classes, METRICS[metric], geometry.far, mismatch, *rest)
            if metric == "chebyshev":
                return drop_one_from_classes(block, *classes, geometry.far, *rest)
            return drop_one_from_sum(block, *classes, metric == "euclidean", geometry.far, mismatch, *rest)

        centers = self._centers(rows)
        n_columns = len(block) if candidates is None else len(candidates)
        return geometry.changes(work, n_columns, centers, self._constant(centers), progress)

    def nested(self, columns: Columns, metric: str) -> Values:
        """I(first columns; labels) of the first column, the first two, and so on."""
        if self.n_samples == 0:
            return np.zeros(len(columns))
        columns, starts = self._by_class(columns)
        rest = self._measure(metric)
        sums: dict[int, Values] = {}

        def work(bounds: tuple[int, int]) -> None:
            first, last = bounds
            sums[first] = np.zeros(len(columns))
            add_nested_terms(columns, starts, first, last, *rest, sums[first])

        self._geometry.each_range(work, self.n_samples)
        return self._mean(np.sum([sums[first] for first in sorted(sums)], axis=0))

    def subsets(self, always: Columns, columns: Columns, subsets: Rows, floor: float, metric: str) -> Values:
        """I(always and subset; labels) of subsets of the columns, -inf for one that is known to be below `floor`."""
        if self.n_samples == 0:
            return np.zeros(len(subsets))
        (always, starts), (columns, _) = self._by_class(always), self._by_class(columns)
        rest = self._measure(metric)
        # The slack keeps what is below the floor by rounding only.
        lowest = (floor - 1e-9 - self._constant(np.arange(self.n_samples))) * self.n_samples

        def work(part: Rows) -> Values:
            sums = np.zeros(len(part))
            add_subset_terms(always, columns, starts, *rest, part, lowest, sums)
            return sums

        size = max(1, min(_SUBSETS_PER_TASK, _PAIRS_PER_TASK // self.n_samples**2))
        tasks = [subsets[start : start + size] for start in range(0, len(subsets), size)]
        parts = map_tasks(work, tasks, self._geometry.n_jobs)
        return self._mean(np.concatenate(parts)) if parts else np.empty(0)

    def _by_class(self, columns: Columns) -> tuple[Columns, Rows]:
        """Columns with the rows of a class side by side, and where each class starts."""
        order = np.argsort(self.labels, kind="stable")
        return np.take(self._take(columns), order, axis=-1), np.concatenate([[0], np.cumsum(self.sizes)])

    def _measure(self, metric: str) -> tuple[int, bool, bool, Any, Any, float, Values]:
        """What a kernel that adds up distances column by column needs to know."""
        geometry = self._geometry
        return (
            geometry.n_neighbors, metric == "chebyshev", metric == "euclidean", geometry.far,
            geometry.mismatch(metric), geometry.tolerance, geometry.psi,
        )  # fmt: skip

    def _mean(self, sums: Values) -> Values:
        """Estimates from sums of local terms."""
        return np.asarray(self._constant(np.arange(self.n_samples)) + sums / self.n_samples)

    def _constant(self, centers: Rows) -> float:
        """psi(N) - mean psi(N_i), the part that does not depend on the columns."""
        psi = self._geometry.psi
        counts = np.bincount(self.labels[centers], minlength=len(self.sizes))
        return float(psi[self.n_samples] - (counts * psi[self.sizes]).sum() / len(centers))

    def _centers(self, rows: Rows | None) -> Rows:
        """Places among the rows that are kept of some rows, or of all of them."""
        if rows is None:
            return np.arange(self.n_samples)
        kept = rows if self._rows is None else np.searchsorted(self._rows, np.intersect1d(rows, self._rows))
        if len(kept) == 0:
            raise ValueError(f"each of the {len(rows)} rows chosen as centres is alone in its class; raise max_queries")
        return kept

    def _take(self, columns: Columns) -> Columns:
        return columns if self._rows is None else np.take(columns, self._rows, axis=-1)
