"""A few rows of a large table, drawn by a seed: the same ones wherever the rows are."""

import numpy as np
from numpy.typing import NDArray

from unirel.data.chunks import PartedTable
from unirel.data.readers import Positions
from unirel.data.table import Table
from unirel.data.weights import Weights, add_sums, repeat_rows, sum_weights

# Rows that every class keeps if it has them: a row and the ten neighbours that unique relevance asks for.
_FEWEST = 11


def sample_table(
    table: Table,
    columns: Positions,
    most: int | None,
    rng: np.random.Generator,
    sample_weight: Weights | None = None,
) -> Table:
    """A small table of some columns of some rows: of each class its share, but enough for a ball if it has them."""
    if not isinstance(table, PartedTable):
        return table.take(columns, choose_by_class(table, _repeat(table.n_samples, sample_weight, rng), most, rng))
    state = None
    if table.weights is not None:  # Every row takes a random number, in the part where it is.
        state = rng.bit_generator.state
        rng.bit_generator.advance(table.n_samples)  # type: ignore[attr-defined]
    return table.sample(columns, lambda sizes: _draw(sizes, most, rng, table.classes is not None), state)


def _draw(sizes: NDArray[np.int64], most: int | None, rng: np.random.Generator, by_class: bool) -> list[Positions]:
    """Which rows of each class are taken, from how many it has."""
    total = int(sizes.sum())
    if most is None or most >= total:
        return [np.arange(size) for size in sizes.tolist()]
    if not by_class:
        return [rng.choice(total, most, replace=False)]
    wanted = [min(size, max(_FEWEST, round(size * most / total))) for size in sizes.tolist()]
    return [rng.choice(size, own, replace=False) for size, own in zip(sizes.tolist(), wanted, strict=True)]


def _repeat(n_samples: int, sample_weight: Weights | None, rng: np.random.Generator) -> Positions:
    """All rows, each as often as its weight says."""
    if sample_weight is None:
        return np.arange(n_samples)
    weights = np.asarray(sample_weight, np.float64)
    return repeat_rows(weights, add_sums([sum_weights(weights)]).unit, rng.random(n_samples))


def choose_by_class(table: Table, rows: Positions, most: int | None, rng: np.random.Generator) -> Positions:
    """Some of the rows in ascending order: of each class its share, but enough for a ball if it has them."""
    if most is None or most >= len(rows):
        return rows
    by_class = table.classes is not None
    codes = table.codes(table.target)[rows] if by_class else np.zeros(len(rows), np.int32)
    drawn = _draw(np.bincount(codes), most, rng, by_class)
    return np.sort(np.concatenate([rows[codes == label][own] for label, own in enumerate(drawn)]))
