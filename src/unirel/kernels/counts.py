"""Counting cells of discrete columns."""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel


@kernel
def _count_cells(first: Integers, second: Integers, n_second: int, table: Integers) -> None:
    """Count the rows of every cell ``first * n_second + second`` in one pass, into row 0 of `table`.

    `table` has four rows that are filled in turn and added up at the end: neighbouring rows of the data often hit the
    same cell, and the processor would wait for one addition before it could start the next.
    """
    n_samples = first.shape[0]
    table[:] = 0
    whole = n_samples - n_samples % 4
    for row in range(0, whole, 4):
        table[0, np.int64(first[row]) * n_second + second[row]] += 1
        table[1, np.int64(first[row + 1]) * n_second + second[row + 1]] += 1
        table[2, np.int64(first[row + 2]) * n_second + second[row + 2]] += 1
        table[3, np.int64(first[row + 3]) * n_second + second[row + 3]] += 1
    for row in range(whole, n_samples):
        table[0, np.int64(first[row]) * n_second + second[row]] += 1
    for cell in range(table.shape[1]):
        table[0, cell] += table[1, cell] + table[2, cell] + table[3, cell]


@kernel
def joint_information(
    codes: Integers, n_levels: int, rest: Integers, n_fixed: int, n_other: int, weights: Floats
) -> tuple[float, Integers]:
    """Plug-in I(column, fixed; other) of coded columns, ``rest`` being ``fixed * n_other + other``.

    `weights[n]` is n log n. Also returns how many joint levels are in use: of column and fixed, of other, of all three.
    """
    n_samples = codes.shape[0]
    n_rest = n_fixed * n_other
    table = np.empty((4, n_levels * n_rest), np.int32)
    _count_cells(codes, rest, n_rest, table)
    used = np.zeros(3, np.int64)
    margin = np.zeros(n_other, np.int64)
    total = weights[n_samples]
    for cell in range(n_levels * n_fixed):
        in_cell = 0
        for level in range(n_other):
            count = table[0, cell * n_other + level]
            total += weights[count]
            in_cell += count
            margin[level] += count
            used[2] += count > 0
        total -= weights[in_cell]
        used[0] += in_cell > 0
    for level in range(n_other):
        total -= weights[margin[level]]
        used[1] += margin[level] > 0
    return total / n_samples, used
