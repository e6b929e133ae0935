"""Contingency tables of sparse columns: what is zero is never looked at."""

import numpy as np

from unirel.estimation.kernels._jit import Floats, Integers, kernel


@kernel
def count_sparse_tables(
    entries: tuple[Integers, Integers, Integers, Integers], places: Integers, rest: Integers, n_rest: int,
    part: tuple[int, int], weights: Floats, starts: Integers, tables: Floats,
) -> None:  # fmt: skip
    """Add some rows to the tables of the columns at `places`, which begin at `starts`.

    `entries` are where the entries of each column begin, their rows, their codes, and the code of all other rows of
    each column. The cells of a table are ``level * n_rest + rest``. `part` is the first row and the one behind the
    last. Weights are of the type of the tables, ones for a plain count.
    """
    first_entries, rows, codes, zero_codes = entries
    # Everything in each cell of the rest: its weight, and how many rows. What a column's entries leave is its zeros.
    weight_in, rows_in = np.zeros(n_rest, tables.dtype), np.zeros(n_rest, np.int64)
    for row in range(part[0], part[1]):
        weight_in[rest[row]] += weights[row]
        rows_in[rest[row]] += 1
    weight_left, rows_left = np.empty(n_rest, tables.dtype), np.empty(n_rest, np.int64)
    for place in range(places.shape[0]):
        column, start = places[place], starts[place]
        for level in range(n_rest):
            weight_left[level], rows_left[level] = weight_in[level], rows_in[level]
        for entry in range(first_entries[column], first_entries[column + 1]):
            row = rows[entry]
            if part[0] <= row < part[1]:
                cell = np.int64(rest[row])
                tables[start + np.int64(codes[entry]) * n_rest + cell] += weights[row]
                weight_left[cell] -= weights[row]
                rows_left[cell] -= 1
        zeros = start + np.int64(zero_codes[column]) * n_rest
        for level in range(n_rest):
            if rows_left[level] > 0:  # Otherwise rounding could leave a tiny weight of no row.
                tables[zeros + level] += weight_left[level]
