"""Select features from some rows and score the first n of them: the one loop of that kind."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unirel.data.readers import take_columns, take_rows
from unirel.data.table import Table
from unirel.errors import check_beta, quietly
from unirel.estimation.base import Columns, Values
from unirel.results import Selection, SelectionPath
from unirel.search.greedy import select
from unirel.search.settings import SearchSettings

Score = TypeVar("Score")
Order = Columns | Sequence[int]
# Means of the same scores in another order differ by less than this.
_ROUNDING = 1e-12


def select_rows(
    X: Any,
    y: Any,
    rows: Columns,
    table: Table,
    betas: Sequence[float],
    settings: SearchSettings,
) -> SelectionPath:
    """Select features from some rows of `X` and `y`, of which `table` is the whole.

    What there is to warn of, a selection from all rows says once.
    """
    positions = {name: table.positions(getattr(settings, name)) for name in ("include", "exclude")}
    with quietly():
        part = Table.from_data(take_rows(X, rows), take_rows(y, rows), **table.decided_types(X))
        path = select(part, [settings.criterion], betas, replace(settings, **positions))  # type: ignore[arg-type]
    stop_if_interrupted(path)
    return path


def stop_if_interrupted(selections: Iterable[Selection]) -> None:
    """Pass Ctrl-C on that a search has kept to itself: nobody wants the score of half a selection."""
    if any(selection.interrupted for selection in selections):
        raise KeyboardInterrupt


class KnownScores(Generic[Score]):
    """Scores of the first features of orders, each found once.

    Columns are scored in the order of the table, so the same features have the same score whichever came first.
    """

    def __init__(self) -> None:
        self._scores: dict[bytes, Score] = {}

    def missing(self, asked: Iterable[tuple[Order, Sequence[int]]]) -> list[Columns]:
        """Sets of columns without a score, each once, of orders and how many of their first features are wanted."""
        sets = [_first(order, size) for order, sizes in asked for size in sizes]
        return list({one.tobytes(): one for one in sets if one.tobytes() not in self._scores}.values())

    def add(self, columns: Columns, score: Score) -> None:
        """Keep a score."""
        self._scores[columns.tobytes()] = score

    def of(self, order: Order, sizes: Sequence[int]) -> list[Score]:
        """Scores of the first features of an order, for each size."""
        return [self._scores[_first(order, size).tobytes()] for size in sizes]


def _first(order: Order, size: int) -> Columns:
    return np.sort(np.asarray(order[:size], np.intp))


def score_prefixes(orders: Sequence[Columns], sizes: Sequence[int], score: Callable[[Columns], float]) -> Values:
    """Scores of the first features of each order, for each of the ascending sizes; NaN where an order is shorter."""
    reached = [[size for size in sizes if size <= len(order)] for order in orders]
    known = KnownScores[float]()
    for columns in known.missing(zip(orders, reached, strict=True)):
        known.add(columns, score(columns))
    scores = np.full((len(orders), len(sizes)), np.nan)
    for row, order, few in zip(scores, orders, reached, strict=True):
        row[: len(few)] = known.of(order, few)
    return scores


@dataclass(frozen=True)
class Trial:
    """What is tried in every fold."""

    estimator: Any
    scorer: Any
    table: Table
    betas: list[float]
    sizes: list[int]
    settings: SearchSettings
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]

    def score(self, X: Any, y: Any, labels: NDArray[Any], train: Any, test: Any) -> Values:
        """Scores of one fold, of shape (n_betas, n_sizes); NaN where too few features were selected."""
        train, test = _row_numbers(train), _row_numbers(test)
        path = select_rows(X, y, train, self.table, self.betas, self.settings)
        orders = [selection.order for selection in path]
        return score_prefixes(orders, self.sizes, lambda columns: self._score(X, labels, columns, train, test))

    def _score(self, X: Any, labels: NDArray[Any], columns: Columns, train: Columns, test: Columns) -> float:
        chosen = take_columns(X, columns)
        fit_params, score_params = _of_rows(self.fit_params, labels, train), _of_rows(self.score_params, labels, test)
        fitted = clone(self.estimator).fit(take_rows(chosen, train), labels[train], **fit_params)
        return float(self.scorer(fitted, take_rows(chosen, test), labels[test], **score_params))


def _row_numbers(rows: Any) -> Columns:
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype == bool else array.astype(np.intp)


def _of_rows(params: Mapping[str, Any], labels: NDArray[Any], rows: Columns) -> dict[str, Any]:
    """Metadata of some rows; what is not given by row stays as it is."""
    by_row = {name for name, value in params.items() if _length(value) == len(labels)}
    return {name: take_rows(value, rows) if name in by_row else value for name, value in params.items()}


def _length(value: Any) -> int | None:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, str) else None


def check_betas(betas: Any) -> list[float]:
    """Weights to try in ascending order, 0 among them."""
    given = [betas] if isinstance(betas, Real) else list(betas)
    return sorted({0.0, *(check_beta(beta, "betas") for beta in given)})


def results_of(betas: list[float], sizes: list[int], scores: Values) -> dict[str, NDArray[Any]]:
    """One entry for each beta and number of features."""
    flat = scores.reshape(len(scores), -1)
    return {
        "beta": np.repeat(betas, len(sizes)),
        "n_features": np.tile(sizes, len(betas)),
        "mean_test_score": flat.mean(axis=0),
        "std_test_score": flat.std(axis=0),
        **{f"split{number}_test_score": fold for number, fold in enumerate(flat)},
    }


def choose(results: Mapping[str, NDArray[Any]], scores: Values, one_standard_error: bool) -> int:
    """Position of the fewest features, then of the smallest beta, among the best scores."""
    means = results["mean_test_score"]
    if np.isnan(means).all():
        raise TimeoutError("no number of features was reached in every fold; give more with max_seconds=")
    best = int(np.nanargmax(means))
    slack = _ROUNDING
    if one_standard_error and len(scores) > 1:
        slack += scores.reshape(len(scores), -1)[:, best].std(ddof=1) / len(scores) ** 0.5
    good = np.flatnonzero(means >= means[best] - slack)
    return int(good[np.lexsort((results["beta"][good], results["n_features"][good]))[0]])
