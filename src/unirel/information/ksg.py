"""The estimator of Kraskov, Stögbauer and Grassberger: continuous columns against continuous columns."""

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Block, Changes, Values
from unirel.information.geometry import Columns, Geometry, Rows
from unirel.kernels.add_one import add_one_to_line, side_by_side
from unirel.kernels.drop_one import drop_one_from_line
from unirel.kernels.plane import ksg_in_plane, make_strips, marginal_limits
from unirel.kernels.space import CHEBYSHEV, count_neighbors, find_neighbors
from unirel.kernels.special import mean_digamma
from unirel.work import Progress


class KSG:
    """I(a; b) and I(a; b | given) in the maximum norm, with closed balls where a distance ties (Mesner and Shalizi)."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._n_neighbors = min(geometry.n_neighbors, geometry.n_samples - 1)

    def in_plane(self, candidates: Block, fixed: int) -> Values:
        """I(candidate; fixed) of every candidate."""
        geometry = self._geometry
        along = geometry.values[fixed]
        whole = make_strips(along, np.zeros(len(along), np.int32), 1, self._n_neighbors)
        along_order = np.argsort(along)

        def work(part: Rows) -> Values:
            columns = geometry.values[part]
            return ksg_in_plane(
                columns, np.argsort(columns, axis=1), along, along_order, whole,
                self._n_neighbors, geometry.far, geometry.tolerance, geometry.psi,
            )  # fmt: skip

        return geometry.each_part(work, candidates)

    def in_space(self, a: Block, b: Block, given: Block = ()) -> float:
        """I(a; b | given) of three blocks, I(a; b) if nothing is given."""
        geometry = self._geometry
        radius, joint = self._search([*a, *b, *given])
        limits = marginal_limits(radius, joint, self._n_neighbors, geometry.tolerance)
        open_ball = (joint == self._n_neighbors).astype(np.int32)

        def term(block: Block) -> float:
            return mean_digamma(self._count(block, limits) + open_ball, geometry.psi)

        whole = term(given) if len(given) else geometry.psi[geometry.n_samples]
        return float(mean_digamma(joint, geometry.psi) - term([*a, *given]) - term([*b, *given]) + whole)

    def changes(
        self, block: Columns, candidates: Columns | None, target: int, rows: Rows | None, progress: Progress | None
    ) -> Changes:
        """Changes of I(block; target) without each of its columns or, if there are candidates, with each of them."""
        geometry = self._geometry
        numbers = geometry.values[target]
        order = np.argsort(numbers, kind="stable")
        line, places = numbers[order], np.argsort(order)
        added = None if candidates is None else side_by_side(candidates)

        def work(part: Rows, sums: Values, squares: Values) -> float:
            rest = (
                numbers, line, places, part, self._n_neighbors, geometry.far, geometry.tolerance, geometry.psi, sums,
                squares,
            )  # fmt: skip
            return drop_one_from_line(block, *rest) if added is None else add_one_to_line(block, added, *rest)

        centers = np.arange(geometry.n_samples) if rows is None else rows
        n_columns = len(block) if candidates is None else len(candidates)
        return geometry.changes(work, n_columns, centers, float(geometry.psi[geometry.n_samples]), progress)

    def _search(self, block: Block) -> tuple[Values, NDArray[np.int32]]:
        """Distance of every row to its last neighbour in the joint space, and how many rows lie within it."""
        geometry = self._geometry
        columns, order, anchored = self._sorted(block)
        n_samples = geometry.n_samples
        starts = np.array([0, n_samples])
        radius = np.empty(n_samples)
        joint, everyone = np.empty(n_samples, np.int32), np.empty(n_samples, np.int32)

        def work(bounds: tuple[int, int]) -> None:
            distances = np.empty(n_samples, columns.dtype)
            find_neighbors(
                columns, starts, *bounds, anchored, self._n_neighbors, CHEBYSHEV, geometry.far, geometry.far,
                geometry.tolerance, distances, radius, joint, everyone,
            )  # fmt: skip

        geometry.each_range(work, n_samples)
        inverse = np.argsort(order)
        return radius[inverse], joint[inverse]

    def _count(self, block: Block, limits: Values) -> NDArray[np.int32]:
        """How many other rows lie within the limit of every row."""
        geometry = self._geometry
        columns, order, anchored = self._sorted(block)
        sorted_limits = limits[order]
        counts = np.empty(len(order), np.int32)

        def work(bounds: tuple[int, int]) -> None:
            distances = np.empty(len(order), columns.dtype)
            count_neighbors(columns, sorted_limits, *bounds, anchored, geometry.far, distances, counts)

        geometry.each_range(work, len(order))
        return counts[np.argsort(order)]

    def _sorted(self, block: Block) -> tuple[Columns, Rows, bool]:
        """The columns of a block in the order of an anchor, that order, and whether there is an anchor."""
        columns, anchored = self._geometry.anchor_first(block)
        order = np.argsort(self._geometry.values[columns[0]])
        return np.take(self._geometry.values[columns], order, axis=1), order, anchored
