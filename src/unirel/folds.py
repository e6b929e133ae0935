"""Select features in a fold and score the first n of them: the one loop of that kind."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unirel.criteria.base import Criterion
from unirel.errors import UnirelWarning
from unirel.information.base import Columns, Values
from unirel.options import ReadingOptions, SelectionOptions, part_of
from unirel.reading import is_frame, take_rows
from unirel.results import SelectionPath
from unirel.search import select
from unirel.table import Table


def select_rows(
    X: Any,
    y: Any,
    rows: Columns,
    table: Table,
    criterion: str | Criterion,
    betas: Sequence[float],
    options: SelectionOptions,
) -> SelectionPath:
    """Select features from some rows of `X` and `y`, of which `table` is the whole.

    What a column is, is one decision for all folds: that of the whole table. What there is to warn of, a selection
    from all rows says once. Ctrl-C goes on up, because nobody wants the score of half a selection.
    """
    features = enumerate(table.columns[: table.n_features])
    # Columns of an array have names that it does not know.
    kinds = {column.name if is_frame(X) else position: column.kind for position, column in features}
    reading: ReadingOptions = {**part_of(ReadingOptions, options), "kinds": kinds}
    reading["target_kind"] = table.columns[table.target].kind  # type: ignore[typeddict-item]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
        part = Table.from_data(take_rows(X, rows), take_rows(y, rows), **reading)
        path = select(part, [criterion], betas, options)
    if path.selections[-1].interrupted:
        raise KeyboardInterrupt
    return path


def score_prefixes(orders: Sequence[Columns], sizes: Sequence[int], score: Callable[[Columns], float]) -> Values:
    """Scores of the first features of each order, for each size; NaN where an order is shorter.

    Columns are scored in the order of the table, so the same features always have the same score, found once.
    """
    known: dict[bytes, float] = {}
    scores = np.full((len(orders), len(sizes)), np.nan)
    for row, order in zip(scores, orders, strict=True):
        for position, size in enumerate(sizes):
            if size <= len(order):
                columns = np.sort(order[:size])
                key = columns.tobytes()
                if key not in known:
                    known[key] = score(columns)
                row[position] = known[key]
    return scores
