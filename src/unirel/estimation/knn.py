"""Mutual information from nearest neighbours: Ross for labels, KSG for continuous pairs, counts for the rest."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel._runtime import Progress, map_tasks
from unirel.errors import check_choice, check_whole_number, warn
from unirel.estimation.base import Block, Changes, Columns, Information, Values
from unirel.estimation.binned import CORRECTIONS, Binned, Correction
from unirel.estimation.ross import Geometry, Ross, Rows, differential_entropy

if TYPE_CHECKING:
    from unirel.estimation.ksg import KSG, WithinClasses

# With fewer candidates it does not pay to put all rows in the order of their distance from every row.
_FEW = 8
# More rows than fit anywhere, fewer than compiled code can count.
_MOST_ROWS = 10**15
# Neighbours that unique relevance given a reference set is estimated with.
REFERENCE_NEIGHBORS = 10
Metric = Literal["auto", "chebyshev", "manhattan", "euclidean"]
METRICS = ("auto", "chebyshev", "manhattan", "euclidean")
Scale = Literal["standard", "rank"] | None


class KNN(Information):
    """Nearest-neighbour estimates; where distances tie, their mean over all ways to break the ties: nothing is random.

    Parameters
    ----------
    n_neighbors : int
        Neighbours that span a ball: more of them mean less variance and more bias.
    metric : {"auto", "chebyshev", "manhattan", "euclidean"}
        Distance in a block of columns when the other side is discrete; "auto" counts an all-discrete block, otherwise
        it is chebyshev for one or two columns and for continuous columns without missing values, manhattan for others.
    scale : {"standard", "rank", None}
        Divide continuous columns by their standard deviation, or use their ranks, or leave them alone.
    correction : {"chance", "miller-madow", None}
        For what is counted, as in `Binned`.
    """

    name = "knn"

    def __init__(
        self,
        n_neighbors: int = 3,
        metric: Metric = "auto",
        scale: Scale = "standard",
        correction: Correction = "chance",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.scale = scale
        self.correction = correction

    def check_parameters(self) -> None:
        check_whole_number("n_neighbors", self.n_neighbors, 1, highest=_MOST_ROWS)
        check_choice("metric", self.metric, METRICS)
        check_choice("scale", self.scale, ("standard", "rank", None))
        check_choice("correction", self.correction, CORRECTIONS)

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        self.table = table = self.table.scaled(self.scale)
        self._geometry = Geometry(table, self.n_neighbors, self.n_jobs)
        self._known_before: dict[tuple[str, tuple[int, ...]], float] = {}
        if table.discrete[table.target]:
            self._check_classes()
        elif self.n_neighbors >= table.n_samples:
            n_others = table.n_samples - 1
            warn(f"n_neighbors={self.n_neighbors} is more than the {n_others} other rows; {n_others} are used")

    def mutual_information(self, a: Block, b: Block) -> float:
        a, b = self._varying(a), self._varying(b)
        if not (a and b):
            return 0.0
        single = len(a) == 1 and len(b) == 1
        if self.table.discrete[[*a, *b]].all() and (single or self.metric == "auto"):
            return self._counts.mutual_information(a, b)
        for block, other in ((a, b), (b, a)):
            if len(other) == 1 and self.table.discrete[other[0]]:
                return self._against_labels(block, other[0], self.metric_of(block))
        return float(self._ksg.in_plane(a, b[0])[0]) if single else self._ksg.in_space(a, b)

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given): a difference of two estimates for a discrete b, the conditional KSG form otherwise."""
        a, b, given = self._varying(a), self._varying(b), self._varying(given)
        if not given:
            return self.mutual_information(a, b)
        if not (a and b):
            return 0.0
        if self.metric == "auto" and self.table.discrete[[*a, *b, *given]].all():
            return self._counts.conditional(a, b, given)
        if len(b) == 1 and self.table.discrete[b[0]]:
            metric = self.metric_of([*a, *given])
            return self._against_labels([*a, *given], b[0], metric) - self._against_labels(given, b[0], metric)
        return self._ksg.in_space(a, b, given)

    def counts(self, columns: Block) -> bool:
        """Whether information between these columns is counted: with a metric of its own that of no block is."""
        return super().counts(columns) and (self.metric == "auto" or len(self._varying(columns)) <= 2)

    def pairwise(self, candidates: Block, column: int) -> Values:
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros(len(candidates))
        varying = self._geometry.varies[candidates] & self._geometry.varies[column]
        discrete = self.table.discrete[candidates]
        for chosen in (varying & discrete, varying & ~discrete):
            if chosen.any():
                information[chosen] = self._pairwise_of_a_kind(candidates[chosen], column)
        return information

    def joint(self, candidates: Block, selected: Block) -> Values:
        candidates, selected = np.asarray(candidates, np.intp), self._varying(selected)
        if not selected:
            return self.relevance(candidates)
        information = np.empty(len(candidates))
        varying = self._geometry.varies[candidates]
        if not varying.all():
            information[~varying] = self.mutual_information(selected, [self.table.target])
        counted = np.zeros(len(candidates), bool)
        if self.metric == "auto" and self.table.discrete[[*selected, self.table.target]].all():
            counted = varying & self.table.discrete[candidates]
            information[counted] = self._counts.joint(candidates[counted], selected)
        plain = self._geometry.plain[candidates]
        for chosen in (varying & plain & ~counted, varying & ~plain & ~counted):
            if chosen.any():
                metric = self.metric_of([candidates[chosen][0], *selected])
                information[chosen] = self._joint_in_metric(candidates[chosen], selected, metric)
        return information

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        candidates, given = np.asarray(candidates, np.intp), self._varying(given)
        if not given:
            return self.relevance(candidates)
        if not self.table.discrete[self.table.target]:
            return super().conditional_relevance(candidates, given)
        before = np.array([self._before(int(candidate), given) for candidate in candidates])
        return np.where(self._geometry.varies[candidates], self.joint(candidates, given) - before, 0.0)

    def permuted(self, candidates: Block, given: Block, orders: NDArray[np.intp]) -> Values:
        """I(candidate; target | given) with the rows of the target in other orders; labels need one sort."""
        target = self.table.target
        if self._varying(given) or not self.table.discrete[target]:
            return super().permuted(candidates, given, orders)
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros((len(orders), len(candidates)))
        varying = self._geometry.varies[candidates] & self._geometry.varies[target]
        discrete = self.table.discrete[candidates]
        if (chosen := varying & discrete).any():
            information[:, chosen] = self._counts.permuted(candidates[chosen], [], orders)
        if (chosen := varying & ~discrete).any():
            information[:, chosen] = self._target_labels.permuted_on_line(candidates[chosen], orders)
        return information

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate, for class labels the mean of I within the classes."""
        if not self.table.discrete[self.table.target]:
            return super().pairwise_given_target(candidates, column)
        candidates = np.asarray(candidates, np.intp)
        information = np.empty(len(candidates))
        discrete = self.table.discrete[candidates]
        counted = self.table.discrete[candidates] & self.table.discrete[column]
        if counted.any():
            information[counted] = self._counts.pairwise_given_target(candidates[counted], column)
        for chosen in (~counted & discrete, ~discrete):
            if chosen.any():
                information[chosen] = self._within_classes.pairwise(candidates[chosen], column)
        return information

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        if not self.table.discrete[[*candidates, *selected, self.table.target]].all():
            return super().joint_entropy(candidates, selected)
        return self._counts.joint_entropy(candidates, selected)

    def without_each(self, block: Block, rows: Rows | None = None, progress: Progress | None = None) -> Changes:
        varying = self._geometry.varies[np.asarray(block, np.intp)]
        columns = np.asarray(block, np.intp)[varying]
        if len(columns) < 3:  # a single column that is left may have to be counted
            return super().without_each(block)
        changes = self._changes(columns, None, self.metric_of(columns), rows, progress)
        return _spread(changes, varying)

    def with_each(
        self, block: Block, candidates: Block, rows: Rows | None = None, progress: Progress | None = None
    ) -> Changes:
        block, candidates = self._varying(block), np.asarray(candidates, np.intp)
        varying = self._geometry.varies[candidates]
        if not block or not varying.any():
            return super().with_each(block, candidates)
        metric = self.metric_of([*block, *candidates[varying]])
        changes = self._changes(block, candidates[varying], metric, rows, progress)
        if len(block) == 1 and self.table.discrete[[block[0], self.table.target]].all():
            # A single discrete column by itself is counted, whatever the metric.
            counted = self.mutual_information(block, [self.table.target])
            changes = Changes(counted, changes.change + changes.before - counted, changes.error)
        return _spread(changes, varying)

    def for_reference(self) -> KNN:
        """The neighbours that go with a small reference set, in the metric and scale of these."""
        metric: Metric = "euclidean" if self.metric == "auto" else self.metric
        return KNN(REFERENCE_NEIGHBORS, metric, self.scale, self.correction)

    def given_reference(
        self, members: Columns, others: Columns, rows: Rows | None = None, progress: Progress | None = None
    ) -> Changes:
        """Unique relevance of the members of a reference set given the others of it, then of other columns given it."""
        within = self.without_each(members, rows)
        if len(others) == 0:
            return within._replace(change=-within.change)
        added = self.with_each(members, others, rows, progress)
        change, error = np.append(-within.change, added.change), np.append(within.error, added.error)
        return Changes(within.before, change, error)

    def nested(self, order: Block) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().nested(order)
        columns = np.asarray(order, np.intp)
        varying = np.logical_or.accumulate(self._geometry.varies[columns])
        information = self._target_labels.nested(self.table.values[columns], self.metric_of(self._varying(order)))
        return np.where(varying, information, 0.0)

    def subsets(self, always: Block, columns: Block, subsets: NDArray[np.intp], floor: float = -np.inf) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().subsets(always, columns, subsets, floor)
        always, columns = np.asarray(always, np.intp), np.asarray(columns, np.intp)
        metric = self.metric_of(self._varying([*always, *columns]))
        values = self.table.values
        information = self._target_labels.subsets(values[always], values[columns], subsets, floor, metric)
        varying = self._geometry.varies[columns][subsets].any(axis=1) | self._geometry.varies[always].any()
        return np.where(varying, information, 0.0)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of levels, that of Kozachenko and Leonenko of a density; missing values mix both."""
        if self.table.discrete[column]:
            return self._counts.entropy(column)
        values = self.table.values[column]
        present = np.sort(values[values < self.table.far].astype(np.float64))
        if len(present) < 2 or present[0] == present[-1]:
            return -np.inf
        share = len(present) / len(values)
        n_neighbors = min(self.n_neighbors, len(present) - 1)
        density = differential_entropy(present, n_neighbors, self._geometry.tolerance, self._geometry.psi)
        return float(share * density - sum(part * np.log(part) for part in (share, 1 - share) if part > 0))

    def metric_of(self, block: Block) -> str:
        """The metric in which a block is measured against labels; on a single column all of them agree."""
        if len(block) == 1:
            return "chebyshev"
        if self.metric != "auto":
            return self.metric
        return "chebyshev" if len(block) <= 2 or self._geometry.plain[list(block)].all() else "manhattan"

    def in_metric_of(self, block: Block) -> KNN:
        """The same estimator with the metric of this block for every block, so that estimates compare."""
        metric = cast(Metric, self.metric_of(self._varying(block)))
        return KNN(self.n_neighbors, metric, self.scale, self.correction).on(self.table, n_jobs=self.n_jobs)

    def _varying(self, block: Block) -> list[int]:
        """The columns of a block that are not constant; a constant one must not even change the metric."""
        return [int(column) for column in block if self._geometry.varies[column]]

    def by_chance(self, candidates: Block, column: int) -> Values:
        candidates, found = np.asarray(candidates, np.intp), np.zeros(len(candidates))
        counted = self.table.discrete[candidates] & self.table.discrete[column]
        if counted.any():
            found[counted] = self._counts.by_chance(candidates[counted], column)
        return found

    @cached_property
    def _counts(self) -> Binned:
        return Binned(correction=self.correction).bind(self.table, n_jobs=self.n_jobs)

    @cached_property
    def _ksg(self) -> KSG:
        from unirel.estimation.ksg import KSG

        return KSG(self._geometry)

    @cached_property
    def _within_classes(self) -> WithinClasses:
        from unirel.estimation.ksg import WithinClasses

        return WithinClasses(self.table, self._geometry)

    @cached_property
    def _target_labels(self) -> Ross:
        return Ross(self._geometry, self.table.codes(self.table.target))

    def _labels(self, column: int) -> Ross:
        """Estimator of what blocks tell about a discrete column; the target's is kept."""
        return self._target_labels if column == self.table.target else Ross(self._geometry, self.table.codes(column))

    def _against_labels(self, block: list[int], column: int, metric: str) -> float:
        labels = self._labels(column)
        if len(block) == 1 and (metric == "chebyshev" or not self.table.has_missing[block[0]]):
            return float(labels.on_line(block)[0])
        if len(block) == 2 and metric == "chebyshev":
            return float(labels.in_plane(block[:1], block[1])[0])
        return labels.in_space(block, metric)

    def _pairwise_of_a_kind(self, candidates: NDArray[np.intp], column: int) -> Values:
        """Candidates that are all discrete, or all continuous, against one column."""
        of_candidates, of_column = self.table.discrete[candidates[0]], self.table.discrete[column]
        if of_candidates and of_column:
            return self._counts.pairwise(candidates, column)
        if of_column:
            return self._labels(column).on_line(candidates)
        if of_candidates:
            parts = map_tasks(lambda one: self._labels(one).on_line([column]), candidates.tolist(), self.n_jobs)
            return np.concatenate(parts)
        return self._ksg.in_plane(candidates, column)

    def _before(self, candidate: int, given: list[int]) -> float:
        """I(given; target) as it compares with I(candidate, given; target)."""
        target = self.table.target
        counted = self.metric == "auto" and self.table.discrete[[candidate, *given, target]].all()
        metric = "" if counted else self.metric_of([candidate, *given])
        key = metric, tuple(given)
        if key not in self._known_before:
            known = self._counts.mutual_information(given, [target]) if counted else None
            self._known_before[key] = self._against_labels(given, target, metric) if known is None else known
        return self._known_before[key]

    def _joint_in_metric(self, candidates: NDArray[np.intp], selected: list[int], metric: str) -> Values:
        if len(selected) == 1 and self.table.discrete[self.table.target] and metric == "chebyshev":
            return self._target_labels.in_plane(candidates, selected[0])
        if len(candidates) < _FEW:
            return super().joint(candidates, selected)
        changes = self._changes(selected, candidates, metric)
        return changes.before + changes.change

    def _changes(
        self, block: Block, candidates: Block | None, metric: str,
        rows: Rows | None = None, progress: Progress | None = None,
    ) -> Changes:  # fmt: skip
        """Changes of a block without each of its columns or, if there are candidates, with each of them."""
        values, target = self.table.values, self.table.target
        columns = values[list(block)]
        added = None if candidates is None else values[list(candidates)]
        if self.table.discrete[target]:
            return self._target_labels.changes(columns, added, metric, rows, progress)
        return self._ksg.changes(columns, added, target, rows, progress)

    def _check_classes(self) -> None:
        """Refuse a target without company in any class, and warn of classes smaller than a ball."""
        sizes = self.table.class_sizes
        if sizes.max() == 1:
            raise ValueError("y has a single sample in every class; pass target_kind='continuous' or another target")
        small = np.flatnonzero(sizes <= self.n_neighbors)
        if len(small) == 0 or self.table.classes is None:
            return
        labels = self.table.classes.tolist()
        listed = ", ".join(f"{labels[code]!r} ({sizes[code]})" for code in small[:5])
        warn(
            f"classes of y with at most n_neighbors={self.n_neighbors} samples: {listed}{', ...' * (len(small) > 5)}. "
            "Fewer neighbours are used there, and a class of one sample is left out; lower n_neighbors or merge some.",
            stacklevel=2,
        )


def _spread(changes: Changes, chosen: NDArray[np.bool_]) -> Changes:
    """Changes of the chosen columns among all; the others, which are constant, change nothing."""
    change, error = np.zeros(len(chosen)), np.zeros(len(chosen))
    change[chosen], error[chosen] = changes.change, changes.error
    return Changes(changes.before, change, error)
