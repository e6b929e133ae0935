"""How many of the selected features are unnecessary: the redundancy rate of a selection."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain, combinations, islice
from math import comb
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import READING_SECONDS, Deadline, OutOfTime, Progress, check_whole_number, progress_of, warn
from unirel.data.groups import grouped
from unirel.data.table import Table
from unirel.estimation.base import Columns, Information, Values
from unirel.estimation.knn import KNN
from unirel.inference import REDUNDANCY_FEATURES, REDUNDANCY_ORDER
from unirel.results import Redundancy
from unirel.search.boost import estimator_of
from unirel.search.greedy import SearchSettings, refuse_nothing, select, settings_of

# What rounding may change in an estimate.
_ROUNDING = 1e-12
# Largest number of features whose subsets are all looked at: for class labels, and for a continuous target, where
# subsets share no work.
_MAX_EXACT, _MAX_EXACT_CONTINUOUS = 22, 14
# Subsets between two reports of progress, and pairs of rows in all of them together.
_SUBSETS_PER_ROUND, _PAIRS_PER_ROUND = 2**16, 2**32


def redundancy_analysis(
    X: Any,
    y: Any,
    *,
    selector: Any = None,
    order: Sequence[int | str] | None = None,
    tolerance: float = 0.0,
    max_exact: int | Literal["auto"] = "auto",
    max_features: int | None = REDUNDANCY_FEATURES,
) -> Redundancy:
    """Split the features that are selected until I(S; y) saturates into unique, conditional and redundant ones.

    Parameters
    ----------
    X, y : array or frame of shape (n_samples, n_features), array or series of shape (n_samples,)
        As in `BURSelector.fit`.
    selector : BURSelector, optional
        How features are selected, but for their number, unless `order` is given. If it is None, by "gsa" from nearest
        neighbours with unique relevance given a reference set at a weight of 0.1.
    order : list of names or positions, optional
        The selection to analyse, first selected first.
    tolerance : float
        A loss of information up to this, in nats, counts as none: when a size is called saturated, and when features
        are called redundant.
    max_exact : int or "auto"
        Up to this many features without unique relevance all subsets are searched; beyond, features are added and
        removed one by one only, and the answer is marked as a lower bound. Every feature more doubles the time. "auto"
        is 22 for class labels and 14 for a continuous target.
    max_features : int, optional
        Features to select at most; all of them if None. Saturation is judged by the sizes up to this one.

    Returns
    -------
    Redundancy
        With `rate`, the share of redundant features. After Ctrl-C, or when the time of the selector is used up, it
        holds the best that was found, marked incomplete.

    Notes
    -----
    S_sat is the selection up to the first size at which I(S; y) is within `tolerance` of its largest value. A feature
    of S_sat is *unique* if its unique relevance, I(all features; y) - I(all others; y), is above 0. Of the rest, S_red
    is the largest part T with I(S_sat without T; y) >= I(S_sat; y) - tolerance; of several the one that leaves the most
    information; of those the one that keeps the features selected first. What is neither is *conditional*: it tells
    something that others also tell, but not all of them can go. The redundancy rate is the size of S_red over the size
    of S_sat. These are the words of Liu and Motani (2022), the paper of `unique_relevance`.

    All estimates are by neighbours, those of the selector's `mi_estimator` if it is a `KNN`, and in one metric; "auto"
    is chebyshev if all features are continuous without missing values, otherwise manhattan.

    Examples
    --------
    A feature, its copy, noise, and a feature that stands alone: the copy and the noise can go.

    >>> import numpy as np
    >>> from unirel import redundancy_analysis
    >>> rng = np.random.default_rng(0)
    >>> strong, noise, weak = rng.standard_normal((3, 400))
    >>> X = np.column_stack([strong, strong, noise, weak])
    >>> y = 2 * strong + weak > 0
    >>> result = redundancy_analysis(X, y, order=[0, 1, 2, 3])
    >>> result
    Redundancy(saturated=4 of 4, unique=1, conditional=1, redundant=2, rate=0.5)
    >>> result.unique, result.conditional, result.redundant
    (array([3]), array([0]), array([1, 2]))
    """
    settings = settings_of(selector) if selector is not None else SearchSettings(**REDUNDANCY_ORDER)
    deadline = Deadline.after(settings.max_seconds)
    with deadline.applied(READING_SECONDS):
        table = Table.from_data(X, y, discrete_features=settings.discrete_features, target_type=settings.target_type)
        table = grouped(table, settings.groups)
    if max_exact == "auto":
        max_exact = _MAX_EXACT_CONTINUOUS if table.classes is None else _MAX_EXACT
    check_whole_number("max_exact", max_exact, 0, or_name="auto")
    if not isinstance(tolerance, Real) or isinstance(tolerance, bool) or not 0 <= float(tolerance) < np.inf:
        raise ValueError(f"tolerance={tolerance!r} must be a number of nats from 0 on")
    neighbors = asked if isinstance(asked := estimator_of(settings), KNN) else KNN()
    information = neighbors.on(table, n_jobs=settings.n_jobs).in_metric_of(table.features)
    described: dict[str, Any] = {"metric": information.metric}
    complete_order = True
    if order is None:
        limit = len(table.features)
        if max_features is not None:
            limit = min(limit, check_whole_number("max_features", max_features, 1))
        wanted = copy(settings).set_params(n_features_to_select=limit)
        with deadline.applied():
            (selection,) = select(table, [settings.criterion], [settings.beta], wanted)
        refuse_nothing(selection)
        columns, complete_order = selection.order, selection.complete
        described |= selection.settings
    else:
        columns = _read_order(table, order)
    # Something must be said of a selection that has used up the time.
    with deadline.applied(READING_SECONDS):
        limits = float(tolerance), int(max_exact)
        return _split(information, columns, *limits, complete_order, described, settings.verbose)


def _split(
    information: KNN, order: Columns, tolerance: float, max_exact: int, complete: bool, settings: Any, verbose: bool
) -> Redundancy:
    """Split an order with an estimator that has one metric; only greedily if the order is not complete."""
    table = information.table
    unique = _unique_in_metric(information)
    curve = information.nested(order)
    size = int(np.argmax(curve >= curve.max() - tolerance - _ROUNDING)) + 1
    saturated = order[:size]
    is_unique = unique[saturated] > _ROUNDING
    # A constant column changes nothing, so it can always go, and the search is spared.
    candidates = saturated[~is_unique & _varying(table, saturated)]
    lowest = float(curve[size - 1]) - tolerance - _ROUNDING
    search = _Search(information, saturated[is_unique], candidates, lowest, candidates, float(curve[size - 1]))
    small = len(candidates) <= max_exact
    done = search.run(small and complete, progress_of(verbose, "searching subsets"))
    if not small:
        warn(
            f"{len(candidates)} of the {size} features up to saturation have no unique relevance, more than "
            f"max_exact={max_exact}: not all subsets were searched, and the redundancy rate is a lower bound. "
            "Raise max_exact (every feature more doubles the time) or tolerance."
        )
    is_kept = is_unique | np.isin(saturated, search.best)
    return Redundancy(
        order=order,
        curve=curve,
        saturated=saturated,
        unique=saturated[is_unique],
        conditional=saturated[is_kept & ~is_unique],
        redundant=saturated[~is_kept],
        reduced_information=search.left,
        unique_relevance=unique,
        names=table.names,
        tolerance=tolerance,
        exact=small and complete and done,
        complete=complete and done,
        settings=settings,
    )


def _unique_in_metric(information: Information) -> Values:
    """Raw unique relevance by an estimator with one metric for any block; 0 for constant features, NaN for ignored."""
    table = information.table
    unique = table.one_per_feature(0.0)
    varying = table.features[_varying(table, table.features)]
    if len(varying):
        whole = information.subsets(varying[:0], varying, np.arange(len(varying))[None])[0]
        unique[varying] = whole - _without_each_of(information, varying[:0], varying)
    return unique


def _without_each_of(information: Information, always: Columns, columns: Columns) -> Values:
    """I(always and columns; target) without each of the columns, none of which is constant."""
    block = np.concatenate([always, columns])
    if len(block) >= 3:
        changes = information.without_each(block)
        return np.asarray(changes.before + changes.change[len(always) :])
    # Of fewer, a single discrete column may be left, which would be counted; subsets never are.
    positions = np.arange(len(columns))
    rests = np.array([np.delete(positions, position) for position in positions], np.intp)
    return information.subsets(always, columns, rests.reshape(len(columns), -1))


def _varying(table: Table, columns: Columns) -> NDArray[np.bool_]:
    return np.asarray(np.ptp(table.values[columns], axis=1) > 0)


@dataclass
class _Search:
    """The search for the fewest candidates that are enough, together with the features that always stay."""

    information: Information
    always: Columns
    candidates: Columns
    lowest: float  # information that is enough
    best: Columns  # candidates that stay
    left: float  # what these tell

    def run(self, exact: bool, progress: Progress) -> bool:
        """Find the best; False if that was interrupted or took too long, and `best` is the best until then."""
        try:
            self._add_one_by_one()
            self._remove_one_by_one()
            if exact:
                self._try_all(progress)
        except (KeyboardInterrupt, OutOfTime):
            return False
        return True

    def _add_one_by_one(self) -> None:
        """Keep the candidate that tells the most beside those kept, of equals the first, until they tell enough."""
        kept, rest = self.candidates[:0], self.candidates
        while len(rest):
            always = np.concatenate([self.always, kept])
            joint = self.information.subsets(always, rest, np.arange(len(rest))[:, None])
            place = int(np.argmax(joint >= joint.max() - _ROUNDING))
            kept, rest = np.append(kept, rest[place]), np.delete(rest, place)
            if joint[place] >= self.lowest:
                return self._improve(kept, float(joint[place]))

    def _remove_one_by_one(self) -> None:
        """Remove, down to the last, the candidate that leaves the most information; of equals the latest."""
        kept = self.candidates
        while len(kept):
            left = _without_each_of(self.information, self.always, kept)
            place = int(np.flatnonzero(left >= left.max() - _ROUNDING)[-1])
            kept = np.delete(kept, place)
            if left[place] >= self.lowest:
                self._improve(kept, float(left[place]))

    def _improve(self, kept: Columns, information: float) -> None:
        """Take candidates that are fewer than the best until now, or as few and tell more."""
        if (len(kept), -information) < (len(self.best), -self.left):
            self.best, self.left = kept, information

    def _try_all(self, progress: Progress) -> None:
        """Look at all subsets, the smallest first, until some of one size are enough; the first of the best wins."""
        n_candidates = len(self.candidates)
        sizes = range(len(self.best) + 1)
        total = sum(comb(n_candidates, size) for size in sizes)
        pairs = self.information.table.n_samples**2
        step = max(64, min(_SUBSETS_PER_ROUND, _PAIRS_PER_ROUND // pairs))
        done = 0
        for size in sizes:
            found: tuple[Columns, float] | None = None
            for subsets in _all_subsets(n_candidates, size, step):
                left = self.information.subsets(self.always, self.candidates, subsets, self.lowest)
                place = int(np.argmax(left >= left.max() - _ROUNDING))
                enough = left[place] >= self.lowest
                if enough and (found is None or left[place] > found[1] + _ROUNDING):
                    found = self.candidates[subsets[place]], float(left[place])
                    self._improve(*found)
                done += len(subsets)
                progress(done, total)
            if found is not None:
                self.best, self.left = found
                break
        if done < total:
            progress(total, total)


def _all_subsets(n_columns: int, size: int, step: int) -> Iterator[Columns]:
    """All subsets of a size in lexicographic order, a number of them at a time."""
    subsets = combinations(range(n_columns), size)
    while part := list(islice(subsets, step)):
        yield np.fromiter(chain.from_iterable(part), np.intp, len(part) * size).reshape(len(part), size)


def _read_order(table: Table, order: Sequence[int | str]) -> Columns:
    """Positions of the columns of an order, each once and none ignored."""
    columns = table.positions(order)
    if not columns:
        raise ValueError("order is empty; name at least one feature, or pass None to have it found")
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise ValueError(f"order names {table.names[column]!r} twice; name every feature once")
        if column not in table.features:
            about = f"order names {table.names[column]!r}, which is ignored"
            raise ValueError(f"{about}; say what it is with discrete_features=")
    return np.array(columns, np.intp)
