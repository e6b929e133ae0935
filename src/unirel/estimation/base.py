"""What every estimator of mutual information offers, and what it derives from one required method."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unirel._runtime import Parameters, check_choice, check_jobs, quietly
from unirel.data.table import Table
from unirel.estimation import ESTIMATORS

Block = Sequence[int] | NDArray[np.intp]
Columns = NDArray[np.intp]
Values = NDArray[np.float64]


def find_estimator(mi_estimator: "str | Information", automatic: str = "knn") -> "Information":
    """An estimator as it is, or the one of a name with its defaults; `automatic` is what "auto" stands for."""
    if isinstance(mi_estimator, Information):
        return mi_estimator
    check_choice("mi_estimator", mi_estimator, ("auto", *ESTIMATORS))
    name = automatic if mi_estimator == "auto" else mi_estimator
    module = import_module(f"unirel.estimation.{name}")
    found: type[Information] = next(one for one in vars(module).values() if getattr(one, "name", None) == name)
    return found()


def make_information(
    table: Table,
    mi_estimator: "str | Information" = "auto",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> "Information":
    """An estimator, or the one of a name, on a table whose columns it can use."""
    automatic = "binned" if table.is_parted else "knn"  # Neighbours of rows that are elsewhere cannot be searched.
    return find_estimator(mi_estimator, automatic).on(table, sample_weight, n_jobs)


def n_log_n(counts: NDArray[np.integer]) -> Values:
    """N log n of whole numbers, 0 for 0."""
    return np.asarray(counts * np.log(np.maximum(counts, 1)))


def entropy_of(counts: NDArray[np.integer]) -> float:
    """Plug-in entropy of the levels of a column, from how often each occurs."""
    n_samples = counts.sum()
    return max(0.0, float(np.log(n_samples) - n_log_n(counts).sum() / n_samples))  # of one level it may round below


class Changes(NamedTuple):
    """How I(block; target) changes when the block does, one column at a time."""

    before: float  # I(block; target)
    change: Values  # what it becomes with or without each column, less what it was
    error: Values  # standard error of each change, NaN where the estimator has none

    def among(self, chosen: NDArray[np.bool_]) -> "Changes":
        """Changes of the chosen columns among all; the others, which are constant, change nothing."""
        change, error = np.zeros(len(chosen)), np.zeros(len(chosen))
        change[chosen], error[chosen] = self.change, self.error
        return Changes(self.before, change, error)


class Information(Parameters, ABC):
    """How much blocks of columns of one table tell about each other, in nats.

    Its parameters are those of `__init__`, as in scikit-learn; `on` gives a copy that knows a table. A block is a
    sequence of row indices of ``table.values``; ``table.target`` is the target's. Estimates are raw: they may be
    negative or exceed what is possible. `bounded` is the one place where that is mended.

    An estimator implements `mutual_information` and `entropy`. It overrides `pairwise`, `joint` or `conditional` for
    speed or accuracy only.
    """

    name: ClassVar[str]
    accepts: ClassVar[frozenset[str]] = frozenset({"continuous", "discrete"})
    takes_weights: ClassVar[bool] = False  # whether rows can have weights, as `sample_weight=`
    counts_levels: ClassVar[bool] = True  # whether information between columns that are all discrete is counted
    has_intervals: ClassVar[bool] = True  # whether its bias is small beside its scatter, which intervals are made of
    looks_at_target: bool = False  # whether what a column is taken for depends on the target
    compares_raw: bool = False  # whether estimates are compared as they are: where the mean of noise is 0

    table: Table
    n_jobs: int | None
    _weights: Values | None = None  # of every row, where they are taken
    _ceilings: Values  # entropies of the levels of columns, NaN where nobody has asked

    def on(self, table: Table, sample_weight: ArrayLike | None = None, n_jobs: int | None = None) -> Self:
        """A copy of the estimator for the columns of a table, which must be of kinds that it can use.

        Estimators that count take `sample_weight`, how many rows each row stands for.
        """
        check_jobs(n_jobs)
        self.check_parameters()
        self.check(table)
        if sample_weight is not None and not self.takes_weights:
            remedy = f"mi_estimator={self.name!r} has none; pass mi_estimator='binned'"
            raise ValueError(f"sample_weight needs counts, {remedy}")
        return self.bind(table, sample_weight, n_jobs)

    def bind(self, table: Table, sample_weight: ArrayLike | None = None, n_jobs: int | None = None) -> Self:
        """The same without a check, for those who will ask about columns of the right kind only."""
        bound = type(self)(**self.get_params(deep=False))
        bound.table, bound.n_jobs, bound._ceilings = table, n_jobs, np.full(len(table.columns), np.nan)
        bound._prepare(sample_weight)
        return bound

    def toward(self, table: Table) -> Self:
        """The same for another target of its table; an override shares what is known of the features."""
        return self.bind(table, self._weights, self.n_jobs)

    def check_parameters(self) -> None:
        """Refuse a parameter that is out of range."""

    def _prepare(self, sample_weight: ArrayLike | None) -> None:
        """Get ready to be asked about the table."""

    @abstractmethod
    def mutual_information(self, a: Block, b: Block) -> float:
        """I(a; b) of two blocks."""

    def conditional(self, a: Block, b: Block, given: Block) -> float:
        """I(a; b | given), by the chain rule I(a, given; b) - I(given; b)."""
        if len(given) == 0:
            return self.mutual_information(a, b)
        return self.mutual_information([*a, *given], b) - self.mutual_information(given, b)

    def pairwise(self, candidates: Block, column: int) -> Values:
        """I(candidate; column) of every candidate."""
        return np.array([self.mutual_information([candidate], [column]) for candidate in candidates])

    def relevance(self, candidates: Block) -> Values:
        """I(candidate; target) of every candidate."""
        return self.pairwise(candidates, self.table.target)

    def joint(self, candidates: Block, selected: Block) -> Values:
        """I(candidate, selected; target) of every candidate."""
        target = [self.table.target]
        return np.array([self.mutual_information([candidate, *selected], target) for candidate in candidates])

    def conditional_relevance(self, candidates: Block, given: Block) -> Values:
        """I(candidate; target | given) of every candidate."""
        return self._given(candidates, self.table.target, given)

    def permuted(self, candidates: Block, given: Block, orders: Columns) -> Values:
        """I(candidate; target | given) of every candidate, with the rows of the target in some other orders.

        A row of the result belongs to a row of `orders`. This makes the estimate anew for every order; an override
        shares what does not change.
        """
        return np.array([self._moved(order).estimate(candidates, given) for order in orders])

    def estimate(self, candidates: Block, given: Block) -> Values:
        """I(candidate; target | given) of every candidate, whether anything is given or not."""
        return self.conditional_relevance(candidates, given) if len(given) else self.relevance(candidates)

    def pairwise_given_target(self, candidates: Block, column: int) -> Values:
        """I(candidate; column | target) of every candidate."""
        return self._given(candidates, column, [self.table.target])

    def _given(self, candidates: Block, column: int, given: Block) -> Values:
        """I(candidate; column | given) of every candidate."""
        return np.array([self.conditional([candidate], [column], given) for candidate in candidates])

    def joint_entropy(self, candidates: Block, selected: Block) -> Values:
        """H(candidate, selected, target) of every candidate, all of them taken as discrete."""
        raise ValueError(
            f"normalised criteria such as 'disr' and 'njmim' need counts, mi_estimator={self.name!r} has none; "
            "pass mi_estimator='binned'"
        )

    def without_each(self, block: Block, rows: Columns | None = None) -> Changes:
        """How I(block; target) changes without each column of the block, seen from some of the rows if possible."""
        target = [self.table.target]
        before = self.mutual_information(block, target)
        rests = [[other for other in block if other != column] for column in block]
        change = np.array([self.mutual_information(rest, target) - before for rest in rests])
        return Changes(before, change, np.full(len(change), np.nan))

    def with_each(self, block: Block, candidates: Block, rows: Columns | None = None) -> Changes:
        """How I(block; target) changes with each candidate, seen from some of the rows if possible."""
        before = self.mutual_information(block, [self.table.target])
        change = self.joint(candidates, block) - before
        return Changes(before, change, np.full(len(change), np.nan))

    def nested(self, order: Block) -> Values:
        """I(first columns; target) of the first column of `order`, the first two, and so on."""
        return np.array([self.mutual_information(order[: n + 1], [self.table.target]) for n in range(len(order))])

    def subsets(self, always: Block, columns: Block, subsets: NDArray[np.intp], floor: float = -np.inf) -> Values:
        """I(always and some of the columns; target) for each of some subsets.

        A subset is a row of ascending positions in `columns`; what is known to be below `floor` may be -inf.
        """
        blocks = ([*always, *np.asarray(columns, np.intp)[subset]] for subset in subsets)
        return np.array([self.mutual_information(block, [self.table.target]) if block else 0.0 for block in blocks])

    @abstractmethod
    def entropy(self, column: int) -> float:
        """H(column); differential if the column is taken as continuous."""

    def bounded(self, information: float, a: Block, b: Block) -> float:
        """Clip an estimate of I(a; b) to what is possible: not below 0, not above the entropy of a discrete side."""
        return float(np.clip(information, 0.0, min(self._ceiling(a), self._ceiling(b))))

    def bounded_pairs(self, information: Values, candidates: Block, column: int) -> Values:
        """Clip estimates of I(candidate; column) likewise."""
        return np.clip(information, 0.0, np.minimum(self.ceilings(candidates), self.ceilings([column])))

    def by_chance(self, candidates: Block, column: int) -> Values:
        """What was taken off I(candidate; column) because chance gives as much."""
        return np.zeros(len(candidates))

    def ceilings(self, columns: Block) -> Values:
        """What each column can tell at most: the entropy of its levels, infinity for one taken as continuous."""
        columns = np.asarray(columns, np.intp)
        for column in columns[np.isnan(self._ceilings[columns])].tolist():
            self._ceilings[column] = self._entropy_of_levels(column)
        return self._ceilings[columns]

    def _entropy_of_levels(self, column: int) -> float:
        return entropy_of(self.table.level_sizes(column)) if self.table.discrete[column] else np.inf

    def counts(self, columns: Block) -> bool:
        """Whether information between these columns is counted."""
        return self.counts_levels and bool(self.table.discrete[list(columns)].all())

    def levels(self, column: int) -> NDArray[np.integer] | None:
        """Codes of a column that the estimator takes as discrete, None for one it takes as continuous."""
        return self.table.codes(column) if self.table.discrete[column] else None

    def _moved(self, order: Columns) -> Self:
        """The same estimator of a table in which the target stands in another order."""
        with quietly():  # of this table everything has been said
            weights = None if self._weights is None else self._weights[order]
            return self.bind(self.table.moved(order), weights, self.n_jobs)

    def _ceiling(self, block: Block) -> float:
        """The entropy of a block that is a single discrete column beside constant ones; nothing bounds the rest."""
        columns = [int(column) for column in block if self.table.n_levels[column] != 1]
        return float(self.ceilings(columns)[0]) if len(columns) == 1 else np.inf

    @classmethod
    def check(cls, table: Table) -> None:
        """Refuse columns of a kind that this estimator cannot use."""
        others = [getattr(table, kind) for kind in ("discrete", "continuous") if kind not in cls.accepts]
        refused = np.flatnonzero(np.any(others, axis=0))
        if len(refused):
            named = [table.columns[position] for position in refused[:5].tolist()]
            listed = ", ".join(repr(column.name) for column in named) + (", ..." if len(refused) > 5 else "")
            verb = "is" if len(refused) == 1 else "are"
            raise ValueError(
                f"mi_estimator={cls.name!r} needs {' or '.join(sorted(cls.accepts))} columns; {listed} {verb} "
                f"{named[0].kind}. Bin them (mi_estimator='binned') or use mi_estimator='knn'."
            )


class Memo:
    """An estimator that remembers, and clips what it gives, the same as `Information`, to what is possible.

    Where the mean of noise is 0, nothing is clipped: what tells less than chance comes after what tells more.
    """

    def __init__(self, information: Information) -> None:
        self.information = information
        self._known: dict[tuple[str, tuple[int, ...]], Values] = {}

    def relevance(self, candidates: Columns) -> Values:
        return self.pairwise(candidates, self.information.table.target)

    def known_relevance(self, candidates: Columns) -> Values:
        """I(candidate; target) as far as it has been asked for; NaN otherwise."""
        known = self._known.get(("pairwise", (self.information.table.target,)))
        return np.full(len(candidates), np.nan) if known is None else known[candidates]

    def pairwise(self, candidates: Columns, column: int) -> Values:
        return self._pairs_of(self.information.pairwise, "pairwise", candidates, column)

    def pairwise_given_target(self, candidates: Columns, column: int) -> Values:
        return self._pairs_of(self.information.pairwise_given_target, "given", candidates, column)

    def joint(self, candidates: Columns, selected: Columns) -> Values:
        # In one order only: in another the last bit may differ, and nothing may depend on who asked first.
        key = _as_set(selected)
        return self._recall("joint", key, candidates, lambda asked: self._joint(asked, np.array(key, np.intp)))

    def joint_entropy(self, candidates: Columns, selected: Columns) -> Values:
        key, ask = _as_set(selected), self.information.joint_entropy
        return self._recall("entropy", key, candidates, lambda asked: ask(asked, np.array(key, np.intp)))

    def joint_of_pairs(self, candidates: Columns, selected: Columns) -> Values:
        """The sum of I(candidate, s, t; target) over all pairs s, t of the selected.

        Sums are remembered, not single values, of which there are too many; each adds to that without the newest one.
        Those of another order may differ in the last bit, and no result may depend on what was asked before.
        """
        if len(selected) < 2:
            return np.zeros(len(candidates))
        order = tuple(map(int, selected))
        return self._recall("pairs", order, candidates, lambda asked: self._pairs(asked, selected))

    def _pairs_of(self, ask: Callable[[Columns, int], Values], kind: str, candidates: Columns, column: int) -> Values:
        def estimate(asked: Columns) -> Values:
            raw = ask(asked, column)
            return raw if self.information.compares_raw else self.information.bounded_pairs(raw, asked, column)

        return self._recall(kind, (column,), candidates, estimate)

    def _joint(self, candidates: Columns, selected: Columns) -> Values:
        raw, target = self.information.joint(candidates, selected), self.information.table.target
        return raw if self.information.compares_raw else np.clip(raw, 0.0, self.information.ceilings([target]))

    def _pairs(self, candidates: Columns, selected: Columns) -> Values:
        total = self.joint_of_pairs(candidates, selected[:-1])
        for earlier in selected[:-1]:
            total = total + self._joint(candidates, np.array([earlier, selected[-1]]))
        return total

    def _recall(
        self, kind: str, key: tuple[int, ...], candidates: Columns, estimate: Callable[[Columns], Values]
    ) -> Values:
        """What is known of the candidates, after estimating what is not."""
        if (kind, key) not in self._known:
            self._known[kind, key] = np.full(len(self.information.table.columns), np.nan)
        known = self._known[kind, key]
        values: Values = known[candidates]
        unknown = np.isnan(values)
        if unknown.any():
            asked = candidates[unknown]
            known[asked] = values[unknown] = estimate(asked)
        return values


def _as_set(columns: Columns) -> tuple[int, ...]:
    return tuple(sorted(map(int, columns)))
