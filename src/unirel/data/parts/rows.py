"""Rows of numbers that stand for columns, made from all values of each column and kept in parts; sums over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.parts.plan import CodingPlan, values_of_part
from unirel.data.parts.scan import Part
from unirel.data.parts.scratch import Scratch
from unirel.data.reading import Positions

Values = NDArray[np.float64]
Encode = Callable[[int, Values], Values]  # a column and all of its values, numbers or codes, to at most `heights` rows

# Numbers that are multiplied at a time, after which they leave memory.
_STRETCH = 2**23


class RowPlan(NamedTuple):
    """How columns become rows."""

    plan: CodingPlan
    grid: Callable[[Values], Values]  # weights as numbers of rows of the table
    make_encode: Callable[[int, Values | None], Encode]  # from how many values a column has, and their weights
    heights: Positions  # how many rows each column has room for

    @property
    def columns(self) -> Positions:
        """Columns that have any rows."""
        return np.flatnonzero(self.heights)

    def take(self, part: Part, columns: Positions) -> tuple[Values, Values | None]:
        """Values of some columns of a part, a row for each of them, and the weights."""
        values = values_of_part(part, self.plan, columns).T if len(part.y) else np.zeros((len(columns), 0))
        return values, None if part.weights is None else self.grid(np.asarray(part.weights, np.float64))

    def firsts(self, columns: Positions) -> Positions:
        """The first row of each of some columns, where these follow each other."""
        return np.cumsum(self.heights[columns]) - self.heights[columns]

    def encode(
        self, rows: Values, columns: Positions, weights: Values | None, release: Callable[[], None] | None = None
    ) -> None:
        """Encode columns whose values stand in their first rows, one at a time, and give back memory after each."""
        encode = self.make_encode(rows.shape[1], weights)
        for column, first in zip(columns.tolist(), self.firsts(columns).tolist(), strict=True):
            found = encode(column, rows[first])
            rows[first : first + len(found)] = found
            rows[first + len(found) : first + self.heights[column]] = 0.0
            if release is not None:
                release()

    def encode_pieces(self, pieces: Sequence[tuple[Values, Values | None]], columns: Positions) -> list[Values]:
        """Encode columns of which all parts have been brought together; what comes out is cut as they were."""
        sizes = [values.shape[1] for values, _ in pieces]
        rows = np.zeros((self.heights[columns].sum(), sum(sizes)))
        rows[self.firsts(columns)] = np.concatenate([values for values, _ in pieces], axis=1)
        weights = [own for _, own in pieces if own is not None]
        self.encode(rows, columns, np.concatenate(weights) if weights else None)
        return np.split(rows, np.cumsum(sizes)[:-1], axis=1)


@dataclass(frozen=True)
class RowsOfPart:
    """Encoded rows of the samples of a part, in a file; a copy for another process goes to a file there."""

    number: int  # of the part
    rows: Values
    files: Scratch

    @classmethod
    def of(cls, number: int, blocks: Sequence[Values], scratch: Any) -> RowsOfPart:
        """Rows of blocks of columns, one after the other."""
        files = Scratch(scratch)
        rows = files.empty((sum(map(len, blocks)), blocks[0].shape[1]), np.float64)
        np.concatenate(blocks, out=rows)
        files.release()
        return cls(number, rows, files)

    def __reduce__(self) -> Any:
        return RowsOfPart.of, (self.number, [self.rows], self.files.folder)

    def products(self, *, rows: Positions, others: Positions | slice) -> Values:
        """Sums of products of some rows with others."""
        return np.asarray(self._add(lambda stretch: stretch[rows] @ stretch[others].T))

    def lengths(self) -> Values:
        """The sum of squares of every row."""
        return np.asarray(self._add(lambda stretch: np.einsum("ij,ij->i", stretch, stretch)))

    def fourth_moment(self, *, rows: Positions) -> float:
        """The sum over samples of the square of the sum of squares of some rows."""
        return float(self._add(lambda stretch: ((stretch[rows] ** 2).sum(axis=0) ** 2).sum()))

    def _add(self, function: Callable[[Values], Any]) -> Any:
        """What a function finds in stretches of the samples, added up in their order."""
        n_rows, n_samples = self.rows.shape
        step, found = max(1, _STRETCH // n_rows), []
        for start in range(0, max(n_samples, 1), step):
            found.append(function(self.rows[:, start : start + step]))
            self.files.release()
        return sum(found)
