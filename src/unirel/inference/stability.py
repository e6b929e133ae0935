"""How stable a selection is: the same selector on many parts of the rows."""

import hashlib
from collections.abc import Sequence
from itertools import combinations
from numbers import Real
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.base import clone

from unirel._runtime import check_time, map_tasks, progress_of
from unirel.data.reading import take_rows
from unirel.data.table import Table
from unirel.options import RunOptions, check_whole_number, complete, documented
from unirel.results import ExchangeablePair, Stability

# A pair is exchangeable if one of the two is in at least this share of the subsamples, both in at most this share of
# those, and, unless they are copies, chance would put as few of any two features together at most that often.
_EITHER, _BOTH, _CHANCE = 0.5, 0.1, 0.05
Record = dict[str, Any]


@documented(RunOptions)
def selection_stability(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_subsamples: int = 50,
    share: float = 0.5,
    level: float = 0.95,
    random_state: int = 0,
    **options: Unpack[RunOptions],
) -> Stability:
    """Fit a selector to many parts of the rows, and count how often it selects each feature.

    Parameters
    ----------
    selector : scikit-learn selector
        Anything with `fit` and `get_support`; a clone is fitted to every subsample.
    X : array or frame of shape (n_samples, n_features)
        The features.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    n_subsamples : int, default=50
        How many subsamples are drawn.
    share : float, default=0.5
        Which share of the rows each has, drawn without replacement; of class labels that share of each class.
    level : float, default=0.95
        Of the interval of the index.
    random_state : int, default=0
        Seed of the subsamples.
    {options}

    Returns
    -------
    Stability

    Notes
    -----
    The index is that of Nogueira et al., see `stability`: 1 if every subsample gives the same
    features, 0 if they agree no better than features drawn by chance. It is corrected for how many are selected, so
    selections of different sizes compare. Its interval, from the same paper, says how it would vary with other
    subsamples of these rows, not with other rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, selection_stability
    >>> result = selection_stability(BURSelector(n_features_to_select=2), *load_iris(return_X_y=True), n_subsamples=20)
    >>> result.frequency
    array([0. , 0.1, 0.9, 1. ])
    >>> round(result.index, 2)
    0.81
    """
    chosen = complete(RunOptions, options, "selection_stability")
    check_whole_number("n_subsamples", n_subsamples, 2)
    check_whole_number("random_state", random_state, 0)
    for parameter, value in (("share", share), ("level", level)):
        if not isinstance(value, Real) or not 0 < float(value) < 1:
            raise ValueError(f"{parameter}={value!r} must be a number above 0 and below 1")
    if not hasattr(selector, "get_support"):
        raise TypeError(f"selector={selector!r} has no get_support; pass a selector of scikit-learn or unirel")
    table = Table.from_data(X, y)
    labels = None if table.classes is None else table.codes(table.target)
    settings = {"selector": _described(selector), "share": share, "random_state": random_state}
    bar = progress_of(chosen, "fitting subsamples")

    def fit(number: int) -> Record:
        rows = draw_rows(table.n_samples, labels, share, (random_state, number))
        record = _fit(clone(selector), take_rows(X, rows), take_rows(y, rows))
        check_time()  # which would have cut the selection short
        return record

    found = map_tasks(fit, range(n_subsamples), chosen["n_jobs"], bar)
    return _summarize(table, found, level, settings)


def draw_rows(n_samples: int, labels: NDArray[Any] | None, share: float, seed: Sequence[int]) -> NDArray[np.intp]:
    """A share of the rows in ascending order, of class labels a share of each class, at least one row."""
    rng = np.random.default_rng(seed)
    groups = [np.arange(n_samples)] if labels is None else [np.flatnonzero(labels == label) for label in set(labels)]
    chosen = [rng.choice(rows, max(1, round(share * len(rows))), replace=False) for rows in groups]
    return np.sort(np.concatenate(chosen))


def _fit(selector: Any, X: Any, y: Any) -> Record:
    """Positions of the selected features, and ranks: places in the order of selection, or those of the selector."""
    selector.fit(X, y)
    selected = np.flatnonzero(selector.get_support()).tolist()
    if hasattr(selector, "order_"):
        places = {int(feature): place for place, feature in enumerate(selector.order_, start=1)}
        ranks = [places.get(feature) for feature in selected]
        return {"selected": selected, "ranks": dict(zip(map(str, selected), ranks, strict=True))}
    ranking = getattr(selector, "ranking_", None)
    return {
        "selected": selected,
        "ranks": {} if ranking is None else {str(feature): float(rank) for feature, rank in enumerate(ranking)},
    }


def _summarize(table: Table, found: Sequence[Record], level: float, settings: dict[str, Any]) -> Stability:
    selected = np.zeros((len(found), table.n_features), bool)
    ranks = np.full(selected.shape, np.nan)
    for number, record in enumerate(found):
        selected[number, record["selected"]] = True
        for feature, rank in record["ranks"].items():
            ranks[number, int(feature)] = rank
    known = ~np.isnan(ranks)
    n_known = known.sum(axis=0)
    sums = np.where(known, ranks, 0.0).sum(axis=0)
    index, error = nogueira_index(selected)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Stability(
        names=table.names,
        selected=selected,
        frequency=selected.mean(axis=0),
        mean_rank=np.where(n_known > 0, sums / np.maximum(n_known, 1), np.nan),
        index=index,
        interval=(index - reach, index + reach),
        level=level,
        exchangeable=find_exchangeable(selected, _copies(table, selected.mean(axis=0))),
        settings=settings,
    )


def find_exchangeable(
    selected: NDArray[np.bool_], copies: Sequence[tuple[int, int]] = ()
) -> tuple[ExchangeablePair, ...]:
    """Pairs of features of which one is often selected, but seldom both; most often first.

    Of exact copies a selector takes always the same one; they count all the same.
    """
    n_rows, sizes = len(selected), selected.sum(axis=0)
    candidates = sorted({*combinations(np.flatnonzero(sizes).tolist(), 2), *copies})
    chance = _CHANCE / max(len(candidates), 1)  # among many pairs some are seldom together by chance
    pairs = []
    for one, other in candidates:
        either = float((selected[:, one] | selected[:, other]).mean())
        both = float((selected[:, one] & selected[:, other]).mean())
        if either < _EITHER or both > _BOTH * either:
            continue
        if (one, other) in copies or hypergeom.cdf(both * n_rows, n_rows, sizes[one], sizes[other]) <= chance:
            pairs.append(ExchangeablePair(one, other, either, both))
    return tuple(sorted(pairs, key=lambda pair: -pair.either))


def _copies(table: Table, frequency: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of equal columns of which one is selected now and then."""
    groups: dict[bytes, list[int]] = {}
    for feature in table.features.tolist():
        groups.setdefault(_content(table, feature), []).append(feature)
    pairs = (pair for group in groups.values() for pair in combinations(group, 2))
    return [(one, other) for one, other in pairs if max(frequency[one], frequency[other]) > 0]


def _content(table: Table, column: int) -> bytes:
    """What tells a column from others."""
    place = np.array([column])
    block = table.code_block(place)[0] if table.discrete[column] else table.continuous_block(place)
    return hashlib.sha256(block.dtype.str.encode() + np.ascontiguousarray(block).tobytes()).digest()


def _described(selector: Any) -> str:
    """All parameters of a selector but those that change nothing about the result."""
    parameters = {name: value for name, value in selector.get_params().items() if name not in ("n_jobs", "verbose")}
    return f"{type(selector).__name__}({', '.join(f'{name}={value!r}' for name, value in sorted(parameters.items()))})"


def stability(selections: Sequence[Sequence[int]], n_features: int) -> float:
    """How much selections from several splits agree, by the index of Nogueira, Sechidis and Brown (2018).

    Parameters
    ----------
    selections : list of lists of int
        Positions of the selected features, for each split.
    n_features : int
        How many features there are.

    Returns
    -------
    float
        1 if all select the same features, about 0 if they select at random, NaN with fewer than two selections or if
        each has nothing or everything.

    Examples
    --------
    >>> from unirel.evaluation import stability
    >>> stability([[0, 1], [1, 0]], n_features=10)
    1.0
    """
    check_whole_number("n_features", n_features, 1)
    chosen = np.array([np.isin(np.arange(n_features), list(selection)) for selection in selections])
    return nogueira_index(chosen)[0] if len(chosen) > 1 else float("nan")


def nogueira_index(selected: NDArray[np.bool_]) -> tuple[float, float]:
    """The stability index of rows of a matrix that say which features are selected, and its standard error.

    Both are NaN where none, or all, of the features are always selected: then there is nothing to be stable about.
    """
    n_rows, n_features = selected.shape
    chosen = selected.astype(np.float64)
    frequency, sizes = chosen.mean(axis=0), chosen.sum(axis=1)
    mean_share = float(sizes.mean()) / n_features
    by_chance = mean_share * (1 - mean_share)
    if by_chance <= 0:
        return float("nan"), float("nan")
    index = 1 - n_rows / (n_rows - 1) * float((frequency * (1 - frequency)).mean()) / by_chance
    shares = sizes / n_features
    parts = chosen @ frequency / n_features - shares * mean_share
    parts += index / 2 * (2 * shares * mean_share - shares - mean_share + 1)
    parts /= by_chance
    return index, 2 / n_rows * float(((parts - parts.mean()) ** 2).sum()) ** 0.5
