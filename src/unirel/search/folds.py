"""Select features from some rows and score the first n of them: the one loop of that kind."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from unirel.data.reading import take_rows
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.estimation.base import Columns, Values
from unirel.results import Selection, SelectionPath
from unirel.search.greedy import select
from unirel.search.settings import SearchSettings

Score = TypeVar("Score")
Order = Columns | Sequence[int]


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
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
