"""Contingency tables from bit sets: a level is the set of its rows, a cell the number of bits that two sets share.

It pays for columns of few levels: a word of 64 rows is counted in about a third of a nanosecond.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from unirel.data.jit import Integers, inner, kernel

# Words of a set that are counted at a time: those of the fixed side, 2 KiB for a level, stay in the nearest cache.
_WORDS = 256


class Sets(NamedTuple):
    """The bit sets of all columns; the last level of a column needs none."""

    words: Integers  # uint64, the sets of a column one after the other
    starts: Integers  # where those of each column begin
    n_sets: Integers  # how many each column has, its levels but one
    sizes: Integers  # how many rows are in each set, a row for each column


def _declare_count_bits(typing_context: Any, word: Any) -> Any:
    """The bits of a word that are set, by the instruction of the processor."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_count_bits = cast(Callable[[Any], Any], intrinsic(_declare_count_bits))


@kernel
def pack_sets(codes: Integers, places: Integers, columns: Integers, sets: Sets) -> None:
    """Write the sets of some columns, the codes of which are the rows ``codes[places[columns]]``, and their sizes."""
    # The inner loop has a fixed length and no branch, so that it becomes a few vector instructions: 0.15 ns per row and
    # level. Setting one bit after the other took 1 to 5 ns per row.
    n_rows = codes.shape[1]
    n_words = (n_rows + 63) // 64
    whole = n_rows // 64
    for column in columns:
        own = codes[places[column]]
        for level in range(sets.n_sets[column]):
            words = sets.words[sets.starts[column] + level * n_words :]
            for word in range(whole):
                rows = own[64 * word : 64 * word + 64]
                bits = np.uint64(0)
                for row in range(64):
                    bits |= np.uint64(rows[row] == level) << np.uint64(row)
                words[word] = bits
            # The last word is not full.
            if whole < n_words:
                bits = np.uint64(0)
                for row in range(64 * whole, n_rows):
                    bits |= np.uint64(own[row] == level) << np.uint64(row - 64 * whole)
                words[whole] = bits
            size = np.uint64(0)
            for word in range(n_words):
                size += _count_bits(words[word])
            sets.sizes[column, level] = size


@inner
def _count_shared(first: Integers, second: Integers) -> Any:
    """How many bits two stretches of words share."""
    shared = np.uint64(0)
    for word in range(first.shape[0]):
        shared += _count_bits(first[word] & second[word])
    return np.int64(shared)


@kernel
def count_tables_by_bits(
    sets: Sets, columns: Integers, rest: Integers, rest_sizes: Integers, starts: Integers, tables: Integers
) -> None:
    """Fill the tables of some columns, which begin at `starts` and are 0, as `count_tables` does."""
    # `rest` has a row of words for every level of the fixed side but the last. The last level of either side follows by
    # subtraction from how many rows every level has.
    n_known, n_words = rest.shape
    n_rest = n_known + 1
    for begin in range(0, n_words, _WORDS):
        end = min(n_words, begin + _WORDS)
        for place in range(columns.shape[0]):
            column = columns[place]
            for level in range(sets.n_sets[column]):
                words = sets.words[sets.starts[column] + level * n_words :]
                cells = tables[starts[place] + level * n_rest :]
                for other in range(n_known):
                    cells[other] += _count_shared(words[begin:end], rest[other, begin:end])
    # Margins: what all sets of a side leave over is its last level.
    for place in range(columns.shape[0]):
        n_sets = sets.n_sets[columns[place]]
        last = tables[starts[place] + n_sets * n_rest :]
        for other in range(n_rest):
            last[other] = rest_sizes[other]
        for level in range(n_sets):
            cells = tables[starts[place] + level * n_rest :]
            cells[n_known] = sets.sizes[columns[place], level]
            for other in range(n_known):
                cells[n_known] -= cells[other]
            for other in range(n_rest):
                last[other] -= cells[other]
