"""Mutual information from counts: of levels, and of the bins that continuous columns are cut into."""

from copy import copy
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from unirel._runtime import check_choice, check_whole_number, map_tasks, pieces
from unirel.data.chunks import PartedTable
from unirel.data.kernels import find_edges
from unirel.estimation.base import Block, Columns, Information, Values
from unirel.estimation.codes import PartCodes, SparseCodes
from unirel.estimation.counting import STRATEGIES, Bins, Codes, Counted, Counts, Joint, Margins, Strategy
from unirel.estimation.kernels.bins import description_edges
from unirel.estimation.kernels.chance import Chance, expected_information
from unirel.estimation.kernels.counts import Lookup, known_n_log_n, sum_groups
from unirel.results import plain

# Edges that minimum description length may find: bins and a level for missing values fit into a byte. And numbers of
# a block of columns in which it looks for them at a time.
_MOST_EDGES, _BLOCK = 254, 2**18


class Binned(Counted):
    """Entropies of the empirical distribution, H(A) + H(B) - H(A, B), of levels and bins, less what that is by chance.

    Far cheaper than neighbours, and blind within a bin.

    Parameters
    ----------
    n_bins : int or "auto"
        Bins of every continuous column, missing values aside; "auto" is 8 for class labels, and for a continuous
        target, which is cut as well, the fourth root of n_samples, from 3 to 20.
    strategy : {"quantile", "uniform", "mdl"}
        Bins of equal frequency, of equal width, or of minimum description length, which looks at class labels and finds
        the number of bins itself.
    correction : {"chance", "miller-madow", None}
        "chance" takes off the mean over all orders of the rows (see `unirel.estimation.kernels.chance`), so that
        independent columns share 0 on average, however many levels they have; "miller-madow" adds (observed levels - 1)
        / (2 n_samples) to every entropy, which removes the first-order bias where all cells are filled well; None does
        neither.
    edges : mapping from columns to edges, optional
        Edges that are known, as `bin_edges` gives them, by name or position of their column.

    Notes
    -----
    A weight of 2 counts as two equal rows, one of 0 as none. Weights that are not all whole numbers, or add up to more
    than eight times the rows, stand for (sum w)^2 / sum w^2 rows.
    """

    name = "binned"
    takes_weights = True

    def mutual_information(self, a: Block, b: Block) -> float:
        blocks = self._block(a), self._block(b)
        value = self._entropy(blocks[0]) + self._entropy(blocks[1]) - self._entropy(self._combine(*blocks))
        if not self._by_chance:
            return value
        return value - expected_information(*(self._codes.counts(block) for block in blocks))

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given), less what chance gives within the levels of what is given."""
        if len(given) == 0:
            return self.mutual_information(a, b)
        one, other, fixed = (self._block(columns) for columns in (a, b, given))
        with_one, with_other = self._combine(fixed, one), self._combine(fixed, other)
        value = self._entropy(with_one) + self._entropy(with_other) - self._entropy(fixed)
        value -= self._entropy(self._combine(with_one, other))
        if not self._by_chance:
            return value
        return value - self._chance_within(one, other, fixed) / self._total

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(x; s | y) = I(x; s) + I(x; y | s) - I(x; y), so that criteria that are equal on paper are equal here."""
        margins = self._margins(candidates, [column], self.table.target, about_fixed=True)
        by_chance = margins.s_from_x_by_chance + margins.x_by_chance_within_s - margins.x_by_chance
        return margins.xy + margins.sy - margins.y - margins.xsy - by_chance

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        return self._margins(candidates, selected, self.table.target).xsy

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        return _conditional(self._margins(candidates, given, self.table.target))

    def relevance_per_class(self, candidates: Block) -> Values:
        """I(candidate; whether the target is this class), a row for each candidate and a column for each class."""
        columns, target = np.asarray(candidates, np.intp), self._block([self.table.target])
        found, classes = np.empty((len(columns), target.n_levels)), self._codes.counts(target)
        n_cells = self._codes.n_levels[columns] * target.n_levels
        few = np.flatnonzero(n_cells <= self._most_cells)
        for places in pieces(few, self._codes.cells_at_once // max(1, int(n_cells[few].max(initial=1)))):
            found[places] = self._all_classes(columns[places], target, classes)
        many, nothing = np.flatnonzero(n_cells > self._most_cells), self._block(())
        for own in range(target.n_levels) if len(many) else ():
            is_class = Joint(2, None, partial(np.equal, target.codes, own))
            found[many, own] = self.given_codes(columns[many], nothing, is_class)
        return found

    def bounded_per_class(self, information: Values, candidates: Block) -> Values:
        """Clip these to what is possible: not below 0, not above what there is to know about the candidate or class."""
        classes = self._codes.counts(self._block([self.table.target]))
        of_classes = [self._sum_n_log_n(np.array([size, self._total - size])) for size in classes.tolist()]
        most = np.minimum.outer(self.ceilings(candidates), self._entropies(np.array(of_classes)))
        return np.asarray(np.clip(information, 0.0, most))

    def _all_classes(self, candidates: Columns, target: Joint, classes: Counts) -> Values:
        """The same from one pass over the rows: tables of candidates and target have all cells that it takes."""
        self._codes.prepare(candidates, target)
        cells = self._codes.tables(candidates, target)[0].reshape(-1, target.n_levels)
        sizes, n_levels = cells.sum(axis=1, keepdims=True), self._codes.n_levels[candidates]
        others, begins = np.maximum(sizes - cells, 0), np.cumsum(n_levels) - n_levels
        of_level, of_pair = (np.add.reduceat(xlogy(one, one), begins) for one in (sizes, cells))
        of_pair += np.add.reduceat(xlogy(others, others), begins)
        used = [np.add.reduceat((one > 0).astype(np.float64), begins) for one in (sizes, cells, others)]
        self._ceilings[candidates] = self._entropies(of_level[:, 0])
        values = self._entropies(of_level, used[0]) - self._entropies(of_pair, used[1] + used[2])
        distinct, places = np.unique(sizes, return_inverse=True)
        for own, size in enumerate(classes.tolist()):
            pair = np.array([size, self._total - size])
            values[:, own] += self._entropy_of(pair)
            if self._by_chance:
                by_chance = Chance.about(pair).of(distinct)[places.ravel()]
                values[:, own] -= np.add.reduceat(by_chance, begins) / self._total
        return np.asarray(values)

    def given_codes(self, candidates: Columns, fixed: Joint, other: Joint, weights: Values | None = None) -> Values:
        """I(candidate; other | fixed) of every candidate, for codes that need not be columns of the table."""
        # Weights that belong to such codes, and not to the rows of the table, come with them.
        moved = copy(self)
        if weights is not None:
            moved._codes = self._codes.weighted(weights)
        return _conditional(moved._count(candidates, fixed, other))

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        """I(candidate; target | given) with the rows of the target in other orders; codes are made once."""
        if self.looks_at_target:
            return super().permuted(candidates, given, orders)
        candidates, fixed, other = np.asarray(candidates, np.intp), self._block(given), self._block([self.table.target])
        alone = copy(self)  # the orders are what is shared out among threads
        alone.n_jobs = 1

        def moved(order: Columns) -> Values:
            weights = None if self._weights is None else self._weights[order]
            in_order = Joint(other.n_levels, None, partial(np.take, other.codes, order))
            return alone.given_codes(candidates, fixed, in_order, weights)

        # The first one makes all codes that are missing, which is nothing that two threads could do.
        return np.array([moved(orders[0]), *map_tasks(moved, list(orders[1:]), self.n_jobs)])

    def counts(self, columns: Block) -> bool:
        return True

    def levels(self, column: int) -> Codes:
        return self._codes.codes(column)

    def entropy(self, column: int) -> float:
        return self._entropy(self._block([column]))

    def by_chance(self, candidates: Block, column: int) -> Values:
        return self._margins(candidates, None, column).x_by_chance

    def _entropy_of_levels(self, column: int) -> float:
        """Without correction. Of candidates it is known by now, from the tables of what is to be bounded."""
        return float(self._entropies(self._sum_n_log_n(self._codes.counts(self._block([column])))))

    def _known_edges(self) -> dict[int, Values]:
        table, found = self.table, {}
        if self.strategy == "mdl" and table.continuous.any():
            found = self._described_edges()
        for column, edges in (self.edges or {}).items():
            targets = table.columns.names[table.n_features :]
            ordered = np.sort(np.asarray(edges, np.float64))
            if np.isnan(ordered).any():
                raise ValueError(f"edges of column {column!r} hold NaN; pass numbers, or infinity")
            is_target = isinstance(column, str) and column in targets
            places = [table.n_features + targets.index(column)] if is_target else table.positions(column)
            found |= dict.fromkeys(places, ordered)
        return found

    def _described_edges(self) -> dict[int, Values]:
        """Edges of minimum description length of all continuous columns."""
        table = self.table
        if table.is_parted:
            about = "strategy='mdl' looks at all values in order, but X is in parts"
            raise ValueError(f"{about}; pass 'quantile' or 'uniform'")
        if not table.discrete[table.target]:
            raise ValueError("strategy='mdl' needs class labels as target; pass strategy='quantile' or 'uniform'")
        labels, continuous = table.codes(table.target), np.flatnonzero(table.continuous)

        def find(columns: Columns) -> list[Values]:
            return find_described(table.continuous_block(columns), labels, self._weights)

        found = map_tasks(find, pieces(continuous, _BLOCK // table.n_samples), self.n_jobs)
        return dict(zip(continuous.tolist(), chain.from_iterable(found), strict=True))

    def _open_codes(self, bins: Bins) -> None:
        if isinstance(self.table, PartedTable):
            self._codes = parts = PartCodes(self.table, bins, self.n_jobs)
            self._total = parts.total
        else:
            self._codes = SparseCodes(self.table, bins, self._weights)

    def _sums_in_groups(self, candidates: Columns, fixed: Joint, other: Joint, chance: Lookup) -> Values:
        sums = np.empty((len(candidates), 11))
        self._codes.prepare(candidates)
        weights = self._codes.weights
        weights = np.ones(self.table.n_samples) if weights is None else weights
        order = np.argsort(fixed.codes, kind="stable")
        order = order[weights[order] > 0]
        changes = np.flatnonzero(np.diff(fixed.codes[order])) + 1
        _ = other.codes  # made here, once, before threads ask for them
        groups = order, np.concatenate([[0], changes, [len(order)]])

        def count(place: int) -> None:
            alone = self._block(candidates[[place]])
            if alone.n_levels * other.n_levels <= self._most_cells:
                levels = alone.codes, alone.n_levels, groups, other.codes, other.n_levels
                sums[place] = sum_groups(*levels, weights, self._known, chance, fixed.codes)
            else:
                sums[place] = self._sums_of_many(alone, fixed, other)

        map_tasks(count, range(len(candidates)), self.n_jobs)
        return sums

    def _sums_of_many(self, alone: Joint, fixed: Joint, other: Joint) -> Values:
        """The same where even candidate and target have too many joint levels: only those in use are counted."""
        with_fixed = self._combine(alone, fixed)
        blocks = (alone, with_fixed, self._combine(alone, other), self._combine(with_fixed, other))
        counts = [self._codes.counts(joint) for joint in blocks]
        used = [np.count_nonzero(one) for one in counts]
        by_chance = np.zeros(3)
        if self._by_chance:
            about = [expected_information(counts[0], self._codes.counts(side)) for side in (other, fixed)]
            by_chance[:] = self._total * about[0], self._chance_within(alone, other, fixed), self._total * about[1]
        return np.array([*map(self._sum_n_log_n, counts), *by_chance, *used])

    def _chance_within(self, one: Joint, other: Joint, fixed: Joint) -> float:
        """What one block tells about another by chance within the levels of a fixed one, times all rows."""
        pairs = [self._codes.counts(self._combine(fixed, side)) for side in (other, one)]
        begins = [self._begins_within(fixed, *side) for side in zip((other, one), map(len, pairs), strict=True)]
        return float(Chance.within(pairs[0], begins[0]).of(pairs[1], begins[1]).sum())

    def _entropy(self, joint: Joint) -> float:
        return self._entropy_of(self._codes.counts(joint))


def classes_told(information: Information, columns: Columns) -> tuple[Any, ...]:
    """The class that each column tells most about, None for nothing; of three or more, and where one pass will do."""
    table = information.table
    cheap = isinstance(information, Binned) and not (information.looks_at_target or table.is_parted)
    if table.classes is None or len(table.classes) < 3 or not cheap or len(columns) == 0:
        return ()
    values = cast(Binned, information).relevance_per_class(columns)
    best = zip(values.argmax(axis=1), values.max(axis=1) > 0, strict=True)
    return tuple(plain(table.classes[place]) if told else None for place, told in best)


def _conditional(margins: Margins) -> Values:
    """I(x; y | s)."""
    return margins.xs + margins.sy - margins.s - margins.xsy - margins.x_by_chance_within_s


def bin_edges(
    values: ArrayLike,
    n_bins: int,
    strategy: Strategy = "quantile",
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Values:
    """Edges between the bins of some numbers, NaN left out, to be kept and applied to other values.

    They are in ascending order: the bin of a value is how many edges it reaches. Strategies are those of `Binned`;
    "mdl" needs class labels. An edge of "quantile" and "mdl" is the least of the values in the bins above it, infinite
    if there is none.

    >>> edges = bin_edges([1, 2, 2, 3, 7, 9], 3)
    >>> edges
    array([2., 7.])
    >>> np.searchsorted(edges, [0, 2, 8, 100], side="right")
    array([0, 1, 2, 2])
    """
    check_choice("strategy", strategy, STRATEGIES)
    check_whole_number("n_bins", n_bins, 2)
    numbers = np.asarray(values, np.float64)
    present = ~np.isnan(numbers)
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)[present]
    if strategy != "mdl":
        return np.asarray(find_edges(numbers[None, present], n_bins, strategy, weights)[0])
    if labels is None:
        raise ValueError("strategy='mdl' needs labels=, the class of every value; or pass strategy='quantile'")
    classes = np.unique(np.asarray(labels), return_inverse=True)[1][present]
    return find_described(numbers[None, present], classes, weights)[0]


def find_described(values: Values, labels: NDArray[np.integer], weights: Values | None) -> list[Values]:
    """Edges of minimum description length of every row."""
    weights = np.ones(values.shape[1]) if weights is None else weights
    rows = np.flatnonzero(weights)  # A row without weight is as good as not there.
    values, weights, labels = values[:, rows], weights[rows], labels[rows]
    order = np.argsort(values, axis=1, kind="stable")
    ordered, sizes = np.take_along_axis(values, order, axis=1), (~np.isnan(values)).sum(axis=1)
    edges, known = np.full((len(values), _MOST_EDGES), np.inf), known_n_log_n(min(int(weights.sum()) + 1, 2**16))
    n_classes = int(labels.max(initial=0)) + 1
    n_edges = description_edges(ordered, sizes, labels[order], weights[order], n_classes, known, edges)
    return [own[:n] for own, n in zip(edges, n_edges.tolist(), strict=True)]
