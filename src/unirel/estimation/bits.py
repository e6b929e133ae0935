"""Contingency tables of columns with few levels, counted by bit sets."""

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks, pieces
from unirel.estimation.base import Columns
from unirel.estimation.kernels.bitsets import Sets, count_tables_by_bits, pack_sets

# Bit sets are made of columns with at most that many levels, and used while they share at most that many pairs of sets
# with what is fixed. Measured, ns per row and candidate by bits and by a direct table, with a target of 2 classes and
# a fixed column of as many levels as the candidates: 2 levels (3 pairs) 0.013 and 0.47, 3 (10) 0.05 and 0.48, 4 (21)
# 0.14 and 0.46, 5 (36) 0.23 and 0.46, 8 (105) 0.57 and 0.45 for 100,000 rows; for 800 rows 0.03 and 0.7, 0.10 and 1.1,
# 0.16 and 1.1, 0.53 and 1.1, 1.5 and 0.9. They cross at 60 to 90 pairs.
MOST_LEVELS, MOST_PAIRS = 6, 64
# Numbers of a block of columns that are packed at a time.
_BLOCK = 2**18


class BitSets:
    """The levels of columns as sets of rows, made when they are first asked for; those of many levels have none."""

    def __init__(self, codes: NDArray[np.uint8], places: Columns, n_levels: NDArray[np.int64]) -> None:
        self._codes, self._places, self._n_levels = codes, places, n_levels
        self._sets = _empty_sets(np.where(n_levels <= MOST_LEVELS, np.maximum(n_levels - 1, 0), 0), codes.shape[1])
        self._packed = np.zeros(len(n_levels), bool)

    def serve(self, columns: Columns, n_rest: int) -> NDArray[np.bool_]:
        """Which columns are counted by bits against a rest of so many levels."""
        n_levels = self._n_levels[columns]
        n_pairs = np.maximum(n_levels - 1, 1) * (n_rest - 1)
        return np.asarray((n_levels <= MOST_LEVELS) & (n_pairs <= MOST_PAIRS))

    def pack(self, columns: Columns, n_jobs: int | None) -> None:
        """Make the sets of some columns, unless they are there already."""
        missing = pieces(columns[~self._packed[columns]], _BLOCK // self._codes.shape[1])
        map_tasks(lambda some: pack_sets(self._codes, self._places, some, self._sets), missing, n_jobs)
        self._packed[columns] = True

    def count(self, columns: Columns, rest: Sets, starts: Columns, tables: NDArray[np.integer]) -> None:
        """Fill the tables of columns that have been packed, which begin at `starts` and are 0."""
        words = rest.words.reshape(rest.n_sets[0], -(-self._codes.shape[1] // 64))
        count_tables_by_bits(self._sets, columns, words, rest.sizes[0], starts, tables)


def sets_of(codes: NDArray[np.uint32], n_levels: int) -> Sets:
    """The sets of one column, few enough for a byte, and the sizes of all its levels."""
    zero, sets = np.zeros(1, np.intp), _empty_sets(np.array([n_levels - 1]), len(codes))
    pack_sets(codes[None].astype(np.uint8), zero, zero, sets)
    sets.sizes[0, -1] = len(codes) - sets.sizes.sum()
    return sets


def _empty_sets(n_sets: NDArray[np.int64], n_samples: int) -> Sets:
    """Room for the sets of each column, the last level of which needs none, and for the sizes of all levels."""
    ends = np.cumsum(n_sets * -(-n_samples // 64))
    sizes = np.zeros((len(n_sets), int(n_sets.max(initial=0)) + 1), np.int64)
    return Sets(np.empty(ends[-1], np.uint64), np.concatenate([[0], ends[:-1]]), n_sets, sizes)
