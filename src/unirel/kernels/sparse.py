"""Counting cells of sparse columns: what is zero is never looked at."""

import numpy as np

from unirel.kernels._jit import Floats, Integers, kernel


@kernel
def count_sparse(
    starts: Integers,
    rows: Integers,
    codes: Integers,
    zero_codes: Integers,
    rest: Integers,
    weights: Floats,
    tables: Floats,
) -> None:
    """Add to ``tables[column, level, cell]`` the weights of the rows with that level of a column and cell of `rest`.

    The entries of a column are a stretch of `rows` and `codes`; every other row has its zero code. `rest` is the joint
    code of the other side. Weights and tables are of one type: whole numbers (ones) or floats.
    """
    n_cells = tables.shape[2]
    # What all rows have in each cell of `rest`: their weight, and how many they are.
    weight_in, rows_in = np.zeros(n_cells, tables.dtype), np.zeros(n_cells, np.int64)
    for row in range(rest.shape[0]):
        weight_in[rest[row]] += weights[row]
        rows_in[rest[row]] += 1
    weight_left, rows_left = np.empty(n_cells, tables.dtype), np.empty(n_cells, np.int64)
    for column in range(tables.shape[0]):
        for cell in range(n_cells):
            weight_left[cell], rows_left[cell] = weight_in[cell], rows_in[cell]
        for place in range(starts[column], starts[column + 1]):
            cell, weight = rest[rows[place]], weights[rows[place]]
            tables[column, codes[place], cell] += weight
            weight_left[cell] -= weight
            rows_left[cell] -= 1
        for cell in range(n_cells):
            if rows_left[cell] > 0:  # Otherwise rounding could leave a tiny weight of no row.
                tables[column, zero_codes[column], cell] += weight_left[cell]
