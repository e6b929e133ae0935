"""Mutual information from nearest neighbours: Ross for labels, KSG for continuous pairs, counts for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from unirel._runtime import check_choice, check_whole_number, map_tasks, warn
from unirel.estimation.base import Block, Changes, Information, Values
from unirel.estimation.binned import CORRECTIONS, Binned, Correction
from unirel.estimation.neighbors import KSG, METRICS, Geometry, Mask, Ross, Rows

# With fewer candidates it does not pay to put all rows in the order of their distance from every row.
_FEW = 8
# More rows than fit anywhere, fewer than compiled code can count.
_MOST_ROWS = 10**15
Metric = Literal["auto", "chebyshev", "manhattan", "euclidean"]
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
        check_choice("metric", self.metric, ("auto", *METRICS))
        check_choice("scale", self.scale, ("standard", "rank", None))
        check_choice("correction", self.correction, CORRECTIONS)

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        self.table = table = self.table.scaled(self.scale)
        self._geometry = Geometry(table, self.n_neighbors, self.n_jobs)
        if table.discrete[table.target]:
            self._check_classes()
        elif self.n_neighbors >= table.n_samples:
            n_others = table.n_samples - 1
            warn(f"n_neighbors={self.n_neighbors} is more than the {n_others} other rows; {n_others} are used")

    def mutual_information(self, a: Block, b: Block) -> float:
        return self.conditional(a, b, [])

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given): a difference of two estimates for a discrete b, the conditional KSG form otherwise."""
        a, b, given = self._varying(a), self._varying(b), self._varying(given)
        if not (a and b):
            return 0.0
        single = len(a) == len(b) == 1 and not given
        if self.table.discrete[[*a, *b, *given]].all() and (single or self.metric == "auto"):
            return self._counts.conditional(a, b, given)
        if not given and not self._are_labels(b) and self._are_labels(a):
            a, b = b, a
        if self._are_labels(b):
            metric = self.metric_of([*a, *given])
            joint = self._against_labels([*a, *given], b[0], metric)
            return joint - self._against_labels(given, b[0], metric) if given else joint
        return float(self._ksg.in_plane(a, b[0])[0]) if single else self._ksg.in_space(a, b, given)

    def counts(self, columns: Block) -> bool:
        """Whether information between these columns is counted: with a metric of its own that of no block is."""
        return super().counts(columns) and (self.metric == "auto" or len(self._varying(columns)) <= 2)

    def pairwise(self, candidates: Block, column: int) -> Values:
        is_discrete = self.table.discrete[column]

        def of_levels(some: Rows) -> Values:
            if is_discrete:
                return self._counts.pairwise(some, column)
            return np.concatenate(
                map_tasks(lambda one: self._labels(one).on_line([column]), some.tolist(), self.n_jobs)
            )

        def of_numbers(some: Rows) -> Values:
            return self._labels(column).on_line(some) if is_discrete else self._ksg.in_plane(some, column)

        return self._by_kind(candidates, column, of_levels, of_numbers)

    def permuted(self, candidates: Block, given: Block, orders: Rows) -> Values:
        """I(candidate; target | given) with the rows of the target in other orders; labels need one sort."""
        target = self.table.target
        if self._varying(given) or not self.table.discrete[target]:
            return super().permuted(candidates, given, orders)
        return self._by_kind(
            candidates,
            target,
            lambda some: self._counts.permuted(some, [], orders),
            lambda some: self._labels(target).permuted_on_line(some, orders),
            (len(orders),),
        )

    def by_chance(self, candidates: Block, column: int) -> Values:
        def of_levels(some: Rows) -> Values:
            return self._counts.by_chance(some, column) if self.table.discrete[column] else np.zeros(len(some))

        return self._by_kind(candidates, column, of_levels, lambda some: np.zeros(len(some)))

    def joint(self, candidates: Block, selected: Block) -> Values:
        candidates, selected = np.asarray(candidates, np.intp), self._varying(selected)
        if not selected:
            return self.relevance(candidates)
        information = np.empty(len(candidates))
        constant = ~self._geometry.varies[candidates]
        if constant.any():
            information[constant] = self.mutual_information(selected, [self.table.target])
        for chosen, metric in self._in_metrics(candidates, selected):
            information[chosen] = self._joint_in_metric(candidates[chosen], selected, metric)
        return information

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        candidates, given = np.asarray(candidates, np.intp), self._varying(given)
        if not given:
            return self.relevance(candidates)
        if not self.table.discrete[self.table.target]:
            return super().conditional_relevance(candidates, given)
        joint, information = self.joint(candidates, given), np.zeros(len(candidates))
        for chosen, metric in self._in_metrics(candidates, given):
            information[chosen] = joint[chosen] - self._against_labels(given, self.table.target, metric)
        return information

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate, for class labels the mean of I within the classes.

        A difference of estimates by the chain rule would have the errors of four estimates in different spaces, which
        do not cancel. A class of a single row tells nothing.
        """
        if not self.table.discrete[self.table.target]:
            return super().pairwise_given_target(candidates, column)
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros(len(candidates))
        counted = self.table.discrete[candidates] & self.table.discrete[column]
        if counted.any():
            information[counted] = self._counts.pairwise_given_target(candidates[counted], column)
        for share, of_class in self._classes:
            information[~counted] += share * of_class.pairwise(candidates[~counted], column)
        return information

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        if not self.table.discrete[[*candidates, *selected, self.table.target]].all():
            return super().joint_entropy(candidates, selected)
        return self._counts.joint_entropy(candidates, selected)

    def without_each(self, block: Block, rows: Rows | None = None) -> Changes:
        columns = np.asarray(block, np.intp)
        varying = self._geometry.varies[columns]
        if varying.sum() < 3:  # a single column that is left may have to be counted
            return super().without_each(block)
        return self._changes(columns[varying], None, self.metric_of(columns[varying]), rows).among(varying)

    def with_each(self, block: Block, candidates: Block, rows: Rows | None = None) -> Changes:
        block, candidates = self._varying(block), np.asarray(candidates, np.intp)
        varying = self._geometry.varies[candidates]
        if not block or not varying.any():
            return super().with_each(block, candidates)
        metric = self.metric_of([*block, *candidates[varying]])
        changes = self._changes(block, candidates[varying], metric, rows)
        if self._are_labels(block) and self.table.discrete[self.table.target]:
            # A single discrete column by itself is counted, whatever the metric.
            counted = self.mutual_information(block, [self.table.target])
            changes = Changes(counted, changes.change + changes.before - counted, changes.error)
        return changes.among(varying)

    def nested(self, order: Block) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().nested(order)
        columns = np.asarray(order, np.intp)
        varying = np.logical_or.accumulate(self._geometry.varies[columns])
        information = self._labels(self.table.target).nested(columns, self.metric_of(self._varying(order)))
        return np.where(varying, information, 0.0)

    def subsets(self, always: Block, columns: Block, subsets: Rows, floor: float = -np.inf) -> Values:
        if not self.table.discrete[self.table.target]:
            return super().subsets(always, columns, subsets, floor)
        always, columns = np.asarray(always, np.intp), np.asarray(columns, np.intp)
        metric = self.metric_of(self._varying([*always, *columns]))
        information = self._labels(self.table.target).subsets(always, columns, subsets, floor, metric)
        varying = self._geometry.varies[columns][subsets].any(axis=1) | self._geometry.varies[always].any()
        return np.where(varying, information, 0.0)

    def entropy(self, column: int) -> float:
        """Plug-in entropy of levels, that of Kozachenko and Leonenko of a density; missing values mix both."""
        return self._counts.entropy(column) if self.table.discrete[column] else self._ksg.entropy(column)

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

    def _are_labels(self, block: Block) -> bool:
        return len(block) == 1 and bool(self.table.discrete[block[0]])

    @cached_property
    def _counts(self) -> Binned:
        return Binned(correction=self.correction).bind(self.table, n_jobs=self.n_jobs)

    @cached_property
    def _ksg(self) -> KSG:
        return KSG(self._geometry)

    @cached_property
    def _target_labels(self) -> Ross:
        return Ross(self._geometry, self.table.target)

    @cached_property
    def _classes(self) -> list[tuple[float, KNN]]:
        """The share of every class of at least two rows, and the same estimator for its rows in the same scale."""
        labels, found = self.table.codes(self.table.target), []
        for rows in (np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)):
            if len(rows) > 1:
                of_class = KNN(**self.get_params())
                of_class.table, of_class.n_jobs = self.table, self.n_jobs
                of_class._geometry = Geometry(self.table, self.n_neighbors, self.n_jobs, rows)
                found.append((len(rows) / self.table.n_samples, of_class))
        return found

    def _labels(self, column: int) -> Ross:
        """Estimator of what blocks tell about a discrete column; the target's is kept."""
        return self._target_labels if column == self.table.target else Ross(self._geometry, column)

    def _by_kind(
        self,
        candidates: Block,
        column: int,
        of_levels: Callable[[Rows], Values],
        of_numbers: Callable[[Rows], Values],
        shape: tuple[int, ...] = (),
    ) -> Values:
        """Estimates of discrete and of continuous candidates, along the last axis; 0 beside what is constant."""
        candidates = np.asarray(candidates, np.intp)
        information = np.zeros((*shape, len(candidates)))
        varying = self._geometry.varies[candidates] & self._geometry.varies[column]
        discrete = self.table.discrete[candidates]
        for chosen, estimate in ((varying & discrete, of_levels), (varying & ~discrete, of_numbers)):
            if chosen.any():
                information[..., chosen] = estimate(candidates[chosen])
        return information

    def _in_metrics(self, candidates: Rows, selected: list[int]) -> Iterator[tuple[Mask, str]]:
        """Candidates that vary and the metric they have beside selected columns; none, "", where all are counted."""
        varying, plain = self._geometry.varies[candidates], self._geometry.plain[candidates]
        counts = self.metric == "auto" and self.table.discrete[[*selected, self.table.target]].all()
        counted = varying & self.table.discrete[candidates] & counts
        for chosen in (counted, varying & plain & ~counted, varying & ~plain & ~counted):
            if chosen.any():
                yield chosen, "" if chosen is counted else self.metric_of([candidates[chosen][0], *selected])

    def _against_labels(self, block: list[int], column: int, metric: str) -> float:
        if not metric:
            return self._counts.mutual_information(block, [column])
        labels = self._labels(column)
        if labels.n_samples == 0:
            return 0.0
        if len(block) == 1 and (metric == "chebyshev" or not self.table.has_missing[block[0]]):
            return float(labels.on_line(block)[0])
        if len(block) == 2 and metric == "chebyshev":
            return float(labels.in_plane(block[:1], block[1])[0])
        return labels.in_space(block, metric)

    def _joint_in_metric(self, candidates: Rows, selected: list[int], metric: str) -> Values:
        if not metric:
            return self._counts.joint(candidates, selected)
        if len(selected) == 1 and self.table.discrete[self.table.target] and metric == "chebyshev":
            return self._labels(self.table.target).in_plane(candidates, selected[0])
        if len(candidates) < _FEW:
            return super().joint(candidates, selected)
        changes = self._changes(selected, candidates, metric)
        return changes.before + changes.change

    def _changes(self, block: Block, candidates: Block | None, metric: str, rows: Rows | None = None) -> Changes:
        """Changes of a block without each of its columns or, if there are candidates, with each of them."""
        if self.table.discrete[self.table.target]:
            return self._labels(self.table.target).changes(block, candidates, metric, rows)
        return self._ksg.changes(block, candidates, self.table.target, rows)

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
            "Fewer neighbours are used there, and a class of one sample is left out; lower n_neighbors or merge some."
        )
