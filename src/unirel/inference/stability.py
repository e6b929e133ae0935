"""How stable a selection is: the same selector on many parts of the rows."""

import json
import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.base import clone

from unirel._runtime import check_fraction, check_time, check_whole_number, map_tasks, progress_of
from unirel.data.readers import take_rows
from unirel.data.row_groups import firsts_of, group_numbers, is_same_within, take_groups
from unirel.data.table import Table
from unirel.results import ExchangeablePair, Stability
from unirel.search.greedy import SearchSettings

Mask = NDArray[np.bool_]
# A pair is exchangeable if one of the two is in at least this share of the subsamples, both in at most this share of
# those, and, unless they are copies, chance would put as few of any two features together at most that often.
_EITHER, _BOTH, _CHANCE = 0.5, 0.1, 0.05


def selection_stability(
    X: Any,
    y: Any,
    *,
    selector: Any,
    n_subsamples: int = 50,
    sample_fraction: float = 0.5,
    confidence_level: float = 0.95,
    random_state: int = 0,
    groups: Any = None,
    journal: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Stability:
    """Fit a selector to many parts of the rows, and count how often it selects each feature.

    Parameters
    ----------
    X, y : array or frame of shape (n_samples, n_features), array or series of shape (n_samples,)
        As in `BURSelector.fit`.
    selector : scikit-learn selector
        Anything with `fit` and `get_support`; a clone is fitted to every subsample. What kind a column is, a
        `BURSelector` decides once from all rows.
    n_subsamples, sample_fraction, random_state : int, float, int
        How many subsamples are drawn, which share of the rows each has, without replacement, of class labels that share
        of each class; and their seed.
    confidence_level : float
        Of the interval of the index.
    groups : array of shape (n_samples,) or RowGroups, optional
        Whose each row is, if rows belong together: whole groups are drawn, of class labels that share of the groups of
        each class if no group has two. A `BURSelector` is given them too.
    journal : path, optional
        A file that keeps what is done, so that a run that was stopped is resumed, and more subsamples can be added.
    n_jobs, verbose : int, optional, and bool
        Threads, as in `relevance`, and whether to show progress on standard error.

    Notes
    -----
    The index of Nogueira, Sechidis and Brown (2018), from the share p of the M subsamples that select each feature, and
    the mean share q of the features that is selected, is ``1 - M / (M - 1) * mean(p * (1 - p)) / (q * (1 - q))``: 1 if
    every subsample gives the same features, 0 if they agree no better than features drawn by chance. It is corrected
    for how many are selected, so selections of different sizes compare. Its interval, from the same paper, says how it
    would vary with other subsamples of these rows, not with other rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, selection_stability
    >>> selector = BURSelector(n_features_to_select=2)
    >>> result = selection_stability(*load_iris(return_X_y=True), selector=selector, n_subsamples=20)
    >>> result.frequency
    array([0. , 0.1, 0.9, 1. ])
    >>> round(result.index, 2)
    0.81
    """
    check_whole_number("n_subsamples", n_subsamples, 2)
    check_whole_number("random_state", random_state, 0)
    check_fraction("sample_fraction", sample_fraction, "such as 0.5")
    check_fraction("confidence_level", confidence_level)
    if not hasattr(selector, "get_support"):
        raise TypeError(f"selector={selector!r} has no get_support; pass a selector of scikit-learn or unirel")
    if isinstance(selector, SearchSettings):  # which decides nothing about the columns anew for every subsample
        asked = selector.settings()
        types: dict[str, Any] = {"discrete_features": asked.discrete_features, "target_type": asked.target_type}
        table = Table.from_data(X, y, several=True, **types)
        selector = clone(selector).set_params(**table.decided_types(X))
    else:
        table = Table.from_data(X, y, several=True)
    labels = None if table.classes is None or table.n_targets > 1 else table.codes(table.target)
    drawn: dict[str, Any] = {"sample_fraction": sample_fraction, "random_state": random_state}
    codes = group_numbers(groups, table.n_samples)
    if codes is not None:
        drawn["groups"] = str(joblib.hash(codes))
    known = {} if journal is None else _resume(Path(journal), drawn | {"identity": _identity(selector, table)})
    missing = [number for number in range(n_subsamples) if number not in known]

    def fit(number: int) -> None:
        rows = draw_rows(table.n_samples, labels, sample_fraction, (random_state, number), codes)
        own = {} if codes is None or not isinstance(selector, SearchSettings) else {"groups": take_groups(groups, rows)}
        known[number] = _found(clone(selector).fit(take_rows(X, rows), take_rows(y, rows), **own))
        check_time()  # which would have cut the selection short
        if journal is not None:
            _append(Path(journal), {"subsample": number, **known[number]})

    map_tasks(fit, missing, n_jobs, progress_of(verbose, "fitting subsamples"))
    found = [known[number] for number in range(n_subsamples)]
    return _summarize(table, found, confidence_level, {"selector": repr(selector)} | drawn)


def _identity(selector: Any, table: Table) -> str:
    silent = {name: None for name in ("n_jobs", "verbose") if name in selector.get_params(deep=False)}
    try:
        described = joblib.hash([type(selector).__qualname__, clone(selector).set_params(**silent).get_params()])
    except Exception as error:  # whatever a parameter makes of being pickled
        about = f"selector={selector!r} has a parameter that cannot be told from others ({error}), as journal= needs"
        raise ValueError(f"{about}; pass a named function instead of a lambda, or no journal") from error
    content = [_content(table, column) for column in [*table.features.tolist(), *table.targets.tolist()]]
    return f"{described}-{joblib.hash(content)}"


def _resume(journal: Path, header: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What a journal knows; a new one is begun with a line that says what it is of, and half a line is cut off."""
    if not journal.exists() or journal.stat().st_size == 0:
        _append(journal, header)
        return {}
    text = journal.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
    except ValueError as error:
        raise ValueError(f"journal={str(journal)!r} is no journal of unirel; name another file") from error
    if not lines or lines[0] != header:
        raise ValueError(f"journal={str(journal)!r} is of another selector, table, fraction or seed; name another file")
    if whole != text:
        os.truncate(journal, len(whole.encode()))
    return {line.pop("subsample"): line for line in lines[1:]}


def _append(journal: Path, line: dict[str, Any]) -> None:
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def draw_rows(
    n_samples: int,
    labels: NDArray[Any] | None,
    share: float,
    seed: Sequence[int],
    codes: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """A share of the rows in ascending order, of class labels a share of each class, at least one row.

    Of rows that belong together by the codes of their groups it is a share of the groups.
    """
    if codes is not None:
        firsts = firsts_of(codes)
        of_groups = labels[firsts] if labels is not None and is_same_within(labels, codes) else None
        return np.flatnonzero(np.isin(codes, draw_rows(len(firsts), of_groups, share, seed)))
    rng = np.random.default_rng(seed)
    groups = [np.arange(n_samples)] if labels is None else [np.flatnonzero(labels == label) for label in set(labels)]
    chosen = [rng.choice(rows, max(1, round(share * len(rows))), replace=False) for rows in groups]
    return np.sort(np.concatenate(chosen))


def _found(selector: Any) -> dict[str, Any]:
    """Positions of the selected features, and ranks: places in the order of selection, or those of the selector."""
    if hasattr(selector, "order_"):
        ranks = {str(feature): float(place) for place, feature in enumerate(selector.order_, start=1)}
    else:
        ranks = {str(feature): float(rank) for feature, rank in enumerate(getattr(selector, "ranking_", ()))}
    return {"selected": np.flatnonzero(selector.get_support()).tolist(), "ranks": ranks}


def _summarize(table: Table, found: list[Any], confidence_level: float, settings: dict[str, Any]) -> Stability:
    selected = np.zeros((len(found), table.n_features), bool)
    ranks = np.full(selected.shape, np.nan)
    for number, record in enumerate(found):
        selected[number, record["selected"]] = True
        for feature, rank in record["ranks"].items():
            ranks[number, int(feature)] = rank
    index, error = nogueira_index(selected)
    reach = NormalDist().inv_cdf(0.5 + confidence_level / 2) * error
    return Stability(
        names=table.names,
        selected=selected,
        frequency=selected.mean(axis=0),
        mean_rank=np.ma.masked_invalid(ranks).mean(axis=0).filled(np.nan),
        index=index,
        interval=(index - reach, index + reach),
        confidence_level=confidence_level,
        exchangeable=find_exchangeable(selected, _copies(table, selected.mean(axis=0))),
        settings=settings,
    )


def find_exchangeable(selected: Mask, copies: Sequence[tuple[int, int]] = ()) -> tuple[ExchangeablePair, ...]:
    """Pairs of features, exact copies among them, of which one is often selected, but seldom both; most often first."""
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
    groups: dict[str, list[int]] = {}
    for feature in table.features.tolist():
        groups.setdefault(_content(table, feature), []).append(feature)
    pairs = (pair for group in groups.values() for pair in combinations(group, 2))
    return [(one, other) for one, other in pairs if max(frequency[one], frequency[other]) > 0]


def _content(table: Table, column: int) -> str:
    values = table.codes(column) if table.discrete[column] else table.continuous_block([column])
    return str(joblib.hash(values))


def stability(selections: Sequence[Sequence[int]], n_features: int) -> float:
    """How much selections from several splits agree, by the index of Nogueira, Sechidis and Brown (2018).

    1 if all select the same features, about 0 if they select at random, NaN with fewer than two selections or if each
    has nothing or everything.

    Parameters
    ----------
    selections, n_features : list of lists of int, and int
        Positions of the selected features, for each split, and how many features there are.

    Examples
    --------
    >>> from unirel.evaluation import stability
    >>> stability([[0, 1], [1, 0]], n_features=10)
    1.0
    """
    check_whole_number("n_features", n_features, 1)
    chosen = np.array([np.isin(np.arange(n_features), list(selection)) for selection in selections])
    return nogueira_index(chosen)[0] if len(chosen) > 1 else float("nan")


def nogueira_index(selected: Mask) -> tuple[float, float]:
    """The stability index of rows of a matrix that say which features are selected, and its standard error."""
    # Both are NaN where none, or all, of the features are always selected: then there is nothing to be stable about.
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
