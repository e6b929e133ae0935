"""The code matrix: codes of all columns, and tables by bits, directly, and with weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from unirel.data.table import Table
from unirel.estimation import bits
from unirel.estimation import counting as module
from unirel.estimation.counting import Bins, Joint, TableCodes


def make_table(rng, n_rows, n_levels):
    codes = np.array([rng.integers(0, n, size=n_rows) for n in n_levels])
    for own, n in zip(codes, n_levels, strict=True):
        own[:n] = np.arange(n)[:n_rows]
    target = np.arange(n_rows) % 2
    return Table.from_data(codes.T, target, discrete_features=True, target_type="discrete"), codes


def make_rest(rng, n_rows, n_fixed, n_other):
    codes = rng.integers(0, n_fixed * n_other, size=n_rows).astype(np.uint32)
    return Joint(n_fixed * n_other, None, lambda: codes)


def matrix_of(table, weights=None, n_jobs=None):
    return TableCodes(table, Bins(table, 8, "quantile", {}, weights), weights, n_jobs)


def test_codes_are_those_of_the_table_in_the_narrowest_type(rng):
    n_levels = [2, 256, 257, 1, 65_536, 65_537]
    table, _ = make_table(rng, 66_000, n_levels)
    matrix = matrix_of(table)
    assert_array_equal(matrix.n_levels, [*n_levels, 2])
    for column, dtype in enumerate([np.uint8, np.uint8, np.uint16, np.uint8, np.uint16, np.uint32, np.uint8]):
        assert matrix.codes(column).dtype == dtype
        assert_array_equal(matrix.codes(column), table.codes(column))


def tables_one_by_one(matrix, candidates, rest):
    """Every table by itself, from numpy."""
    cells = [matrix.codes(one).astype(int) * rest.n_levels + rest.codes for one in candidates]
    sizes = matrix.n_levels[candidates] * rest.n_levels
    return np.concatenate([np.bincount(own, minlength=size) for own, size in zip(cells, sizes, strict=True)])


@pytest.fixture(scope="module")
def any_work_is_enough():
    """Small tables are counted by bits too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORK_FOR_BITS", 0)
        yield


@given(
    st.integers(0, 2**32 - 1),
    st.integers(10, 200),
    st.lists(st.sampled_from([1, 2, 3, 6, 7, 9, 300]), min_size=1, max_size=20),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_tables_whichever_way_they_are_counted(any_work_is_enough, seed, n_rows, n_levels, n_fixed, n_other):
    rng = np.random.default_rng(seed)
    table, _ = make_table(rng, n_rows, n_levels)
    matrix, rest = matrix_of(table), make_rest(rng, n_rows, n_fixed, n_other)
    candidates = rng.permutation(len(n_levels))
    matrix.prepare(candidates, rest)
    tables, starts = matrix.tables(candidates, rest)
    assert_array_equal(tables, tables_one_by_one(matrix, candidates, rest))
    assert_array_equal(np.diff([*starts, len(tables)]), matrix.n_levels[candidates] * rest.n_levels)
    ones = matrix_of(table, np.ones(n_rows))
    ones.prepare(candidates, rest)
    weighted, _ = ones.tables(candidates, rest)
    assert weighted.dtype == np.float64
    assert_array_equal(weighted, tables)


def test_few_levels_are_counted_by_bits_and_many_directly(rng, monkeypatch):
    monkeypatch.setattr(module, "_WORK_FOR_BITS", 10 * 300)
    table, _ = make_table(rng, 300, [2, 3, 9, 6, 7, 2, 2, 2, 2, 2])
    matrix, rest = matrix_of(table), make_rest(rng, 300, 3, 2)
    counted = []
    real = bits.count_tables_by_bits
    monkeypatch.setattr(
        bits,
        "count_tables_by_bits",
        lambda sets, columns, *rest: (counted.extend(columns.tolist()), real(sets, columns, *rest)),
    )
    matrix.prepare(np.arange(10), rest)
    matrix.tables(np.arange(10), rest)
    assert counted == [0, 1, 3, 5, 6, 7, 8, 9]
    counted.clear()
    wide = make_rest(rng, 300, 30, 1)  # 29 pairs of sets for 2 levels, 58 for 3, 145 for 6
    matrix.prepare(np.arange(10), wide)
    matrix.tables(np.arange(10), wide)
    assert counted == [0, 1, 5, 6, 7, 8, 9]
    counted.clear()
    matrix.tables(np.arange(9), rest)  # a column less is too little work for a second kernel
    assert counted == []


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_make_the_same_codes(n_jobs, rng, monkeypatch):
    monkeypatch.setattr(module, "_WORK_FOR_BITS", 0)
    monkeypatch.setattr(module, "_BLOCK", 1000)
    monkeypatch.setattr(bits, "_BLOCK", 1000)
    table, codes = make_table(rng, 500, [3] * 20 + [300] * 3)
    matrix, rest = matrix_of(table, n_jobs=n_jobs), make_rest(rng, 500, 2, 2)
    matrix.prepare(np.arange(23), rest)
    assert_array_equal([matrix.codes(column) for column in range(23)], codes)
    assert_array_equal(matrix.tables(np.arange(23), rest)[0], tables_one_by_one(matrix, np.arange(23), rest))
