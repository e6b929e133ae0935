"""What is kept of a part of the rows: codes, or rows of numbers, in files without a name that go with the process."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unirel.data.levels import empty_matrices, find_places
from unirel.data.parts import Part
from unirel.data.plan import CodingPlan, encode_part, values_of_part
from unirel.data.readers import Positions

Values = NDArray[np.float64]

# Numbers that are multiplied at a time, after which they leave memory.
_STRETCH = 2**23


class Scratch:
    """Memory-mapped arrays in the folder of temporary files; the system deletes them with the last array."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in a file."""
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        try:
            # Its name, if it ever has one, is gone before anything is written: not even a kill leaves a file behind.
            with tempfile.TemporaryFile(prefix="unirel-scratch-") as file:
                _take_room(file.fileno(), size)
                self._maps.append(mmap.mmap(file.fileno(), size))
        except OSError as error:
            about = f"the folder of temporary files, {tempfile.gettempdir()!r}, cannot hold {size / 1e6:,.1f} MB"
            raise OSError(f"{about}: {error.strerror or error}; name another one in TMPDIR") from None
        return np.frombuffer(self._maps[-1], kind).reshape(shape)

    def release(self) -> None:
        """Take what was read or written out of the memory of this process; the system may still have it."""
        for one in self._maps:
            if hasattr(one, "madvise") and hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                one.madvise(mmap.MADV_DONTNEED)


def _take_room(file: int, size: int) -> None:
    """Make a file that large, and find out now whether the disk is full: writing to a mapped one would crash."""
    os.ftruncate(file, size)
    if not hasattr(os, "posix_fallocate"):  # not on every system
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a disk that cannot say
            raise


@dataclass(frozen=True)
class Coded:
    """Codes of the rows of a part, as `empty_matrices` makes room for them, and their weights.

    A copy for another process goes to files there.
    """

    n_levels: NDArray[np.int64]
    matrices: list[NDArray[Any]]
    weights: Values | None
    files: Scratch

    @classmethod
    def empty(cls, n_levels: NDArray[np.int64], n_rows: int, weighted: bool) -> Coded:
        """Room for some rows."""
        files = Scratch()
        weights = files.empty((n_rows,), np.float64) if weighted else None
        return cls(n_levels, empty_matrices(n_levels, n_rows, files.empty), weights, files)

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, in_rows: Callable[[Values], Values]) -> Coded:
        """The codes of a part; `in_rows` makes its weights numbers of rows."""
        coded = cls.empty(plan.n_levels, len(part.y), part.weights is not None)
        widths, places = find_places(plan.n_levels)
        for positions, codes in encode_part(part, plan):
            for width, matrix in enumerate(coded.matrices):
                mine = widths[positions] == width
                matrix[places[positions[mine]]] = codes[mine]
        if coded.weights is not None:
            coded.weights[:] = in_rows(np.asarray(part.weights, np.float64))
        coded.files.release()
        return coded

    def __reduce__(self) -> Any:
        return _copy_coded, (self.n_levels, self.matrices, self.weights)


def _copy_coded(n_levels: NDArray[np.int64], matrices: list[NDArray[Any]], weights: Values | None) -> Coded:
    copy = Coded.empty(n_levels, matrices[0].shape[1], weights is not None)
    for matrix, own in zip(copy.matrices, matrices, strict=True):
        matrix[:] = own
    if copy.weights is not None:
        copy.weights[:] = weights
    copy.files.release()
    return copy


@dataclass(frozen=True)
class RowsOfPart:
    """Rows of numbers that stand for columns, of the samples of a part; first the values of each column, then more."""

    heights: Positions  # how many rows each column has room for
    rows: Values
    weights: Values | None
    files: Scratch

    @classmethod
    def of(cls, part: Part, plan: CodingPlan, in_rows: Callable[[Values], Values], heights: Positions) -> RowsOfPart:
        """The values of a part, numbers or codes, in the first row of each column."""
        columns, n_rows = np.flatnonzero(heights), len(part.y)
        weights = None if part.weights is None else in_rows(np.asarray(part.weights, np.float64))
        values = values_of_part(part, plan, columns)
        files = Scratch()
        rows = files.empty((int(heights.sum()), n_rows), np.float64)
        rows[(np.cumsum(heights) - heights)[columns]] = values
        files.release()
        return cls(heights, rows, weights, files)

    def __reduce__(self) -> Any:
        return _copy_rows, (self.heights, self.rows, self.weights)

    def take(self, columns: Positions) -> tuple[Values, Values | None]:
        """Values of some columns and the weights."""
        return self.rows[(np.cumsum(self.heights) - self.heights)[columns]], self.weights

    def put(self, columns: Positions, rows: Values) -> None:
        """Write the rows of some columns that follow each other."""
        first = int(self.heights[: columns[0]].sum())
        self.rows[first : first + len(rows)] = rows

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


def _copy_rows(heights: Positions, rows: Values, weights: Values | None) -> RowsOfPart:
    files = Scratch()
    copy = files.empty(rows.shape, np.float64)
    copy[:] = rows
    files.release()
    return RowsOfPart(heights, copy, weights, files)
