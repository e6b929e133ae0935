"""Tables and sums of n log n, against a dictionary of counts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import from_python

from unirel.estimation.kernels import counts
from unirel.estimation.kernels.bitsets import Sets, count_tables_by_bits, pack_sets
from unirel.estimation.kernels.chance import Chance, joined
from unirel.estimation.kernels.counts import (
    NO_CHANCE,
    count_tables,
    known_n_log_n,
    sum_groups,
    sum_tables,
)

n_log_n = from_python(counts.n_log_n)

# Rows around whole words of 64, and beyond the words that are counted at a time
N_ROWS = [1, 2, 63, 64, 65, 128, 300, 64 * 256 + 5]


def table_of(codes, n_levels, rest, n_rest):
    """How often every pair of levels occurs."""
    table = np.zeros((n_levels, n_rest), np.int64)
    for cell, count in Counter(zip(codes.tolist(), rest.tolist(), strict=True)).items():
        table[cell] = count
    return table.ravel()


def draw(rng, n_rows, n_levels, n_rest, dtype=np.uint8):
    """Columns of these numbers of levels, not all of them in use, and what they are counted against."""
    codes = np.array([rng.integers(0, rng.integers(1, n + 1), size=n_rows) for n in n_levels], dtype)
    rest = rng.integers(0, n_rest, size=n_rows).astype(np.uint32)
    starts = np.cumsum([0, *(n * n_rest for n in n_levels)])
    expected = [table_of(own, n, rest, n_rest) for own, n in zip(codes, n_levels, strict=True)]
    return codes, rest, starts, np.concatenate(expected)


def sets_of(codes, n_levels):
    """Bit sets of all columns."""
    n_sets = np.asarray(n_levels) - 1
    starts = np.cumsum([0, *(n_sets * -(-codes.shape[1] // 64))])
    sets = Sets(np.empty(starts[-1], np.uint64), starts[:-1], n_sets, np.zeros((len(codes), max(n_levels)), np.int64))
    pack_sets(codes, np.arange(len(codes)), np.arange(len(codes)), sets)
    return sets


def count_by_bits(codes, n_levels, rest, n_rest, starts, tables):
    of_rest = sets_of(rest[None], [n_rest])
    sizes = np.r_[of_rest.sizes[0, : n_rest - 1], len(rest) - of_rest.sizes.sum()]
    words = of_rest.words.reshape(n_rest - 1, -1 if n_rest > 1 else -(-len(rest) // 64))
    columns = np.arange(len(codes))
    count_tables_by_bits(sets_of(codes, n_levels), columns, words, sizes, starts[:-1], tables)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("counter", [np.int32, np.int64])
@pytest.mark.parametrize("n_rows", N_ROWS)
def test_tables(n_rows, counter, dtype, rng):
    n_levels = [3, 1, 5, 2, 7, 4]
    codes, rest, starts, expected = draw(rng, n_rows, n_levels, 6, dtype)
    tables = np.zeros(len(expected), counter)
    count_tables(codes, np.arange(6), rest, 6, None, starts[:-1], tables)
    assert_array_equal(tables, expected)


@pytest.mark.parametrize("n_rest", [1, 2, 5, 30])
@pytest.mark.parametrize("n_rows", N_ROWS)
def test_bits_equal_direct_counting(n_rows, n_rest, rng):
    n_levels = [3, 1, 5, 2, 7, 4]
    codes, rest, starts, expected = draw(rng, n_rows, n_levels, n_rest)
    tables = np.zeros(len(expected), np.int32)
    count_by_bits(codes, n_levels, rest, n_rest, starts, tables)
    assert_array_equal(tables, expected)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.integers(1, 20),
)
def test_direct_counting_and_bits_are_equal(seed, n_rows, n_levels, n_rest):
    codes, rest, starts, expected = draw(np.random.default_rng(seed), n_rows, n_levels, n_rest)
    direct = np.zeros(len(expected), np.int32)
    count_tables(codes, np.arange(len(codes)), rest, n_rest, None, starts[:-1], direct)
    assert_array_equal(direct, expected)
    by_bits = np.zeros(len(expected), np.int64)
    count_by_bits(codes, n_levels, rest, n_rest, starts, by_bits)
    assert_array_equal(by_bits, expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_whole_weights_count_as_rows(seed, n_rows, n_levels):
    rng = np.random.default_rng(seed)
    codes, rest, starts, _ = draw(rng, n_rows, n_levels, 4)
    weights = rng.integers(0, 4, size=n_rows)
    weighted, repeated = np.zeros(starts[-1]), np.zeros(starts[-1], np.int32)
    places = np.arange(len(codes))
    count_tables(codes, places, rest, 4, weights.astype(float), starts[:-1], weighted)
    codes, rest = np.repeat(codes, weights, axis=1), np.repeat(rest, weights)
    count_tables(codes, places, rest, 4, None, starts[:-1], repeated)
    assert_array_equal(weighted, repeated)


def test_only_some_columns_are_counted_and_others_left_alone(rng):
    codes, rest, starts, expected = draw(rng, 500, [3, 4, 2, 5, 3], 3)
    places = np.array([4, 1])
    tables = np.full(len(expected), 7, np.int32)
    count_tables(codes, places, rest, 3, None, starts[places], tables)
    touched = np.zeros(len(expected), bool)
    for place in places:
        touched[starts[place] : starts[place + 1]] = True
    assert_array_equal(tables, np.where(touched, expected + 7, 7))


# Sums


def test_n_log_n():
    known = known_n_log_n(10)
    assert_allclose(known, [0, 0, *(n * math.log(n) for n in range(2, 10))], rtol=1e-15)
    for number in (0, 1, 2, 9, 10, 11, 1000, 0.5, 2.5, 1e6):
        expected = number * math.log(number) if number else 0
        assert n_log_n(number, known) == pytest.approx(expected, rel=1e-15)
        assert n_log_n(float(number), known) == n_log_n(number, known)
    assert known_n_log_n(0).shape == (0,)
    assert_array_equal(known_n_log_n(1), [0])


@pytest.mark.parametrize("is_known", [True, None])
@pytest.mark.parametrize("n_rows", [1, 5, 101])
@pytest.mark.parametrize(("n_levels", "n_fixed", "n_other"), [(3, 4, 2), (1, 1, 1), (5, 1, 3), (1, 7, 2), (6, 50, 1)])
def test_sums_of_margins(n_levels, n_fixed, n_other, n_rows, is_known, rng):
    codes, fixed, other = (rng.integers(0, size, size=(2, n_rows)) for size in (n_levels, n_fixed, n_other))
    rest = (fixed[0] * n_other + other[0]).astype(np.uint32)
    order = np.argsort(fixed[0], kind="stable")
    groups = order, np.r_[0, np.flatnonzero(np.diff(fixed[0][order])) + 1, n_rows]
    starts, tables = np.array([0, n_levels * n_fixed * n_other]), np.zeros(2 * n_levels * n_fixed * n_other, np.int32)
    count_tables(codes.astype(np.uint8), np.arange(2), rest, n_fixed * n_other, None, starts, tables)
    sums, in_use = np.empty((2, 2, 7))
    sizes, room, known = np.array([n_levels] * 2), np.empty(n_other, np.int32), known_n_log_n(n_rows + 1)
    about_y, about_s = (Chance.about(np.bincount(side).astype(float)) for side in (other[0], fixed[0]))
    pairs = np.bincount(rest, minlength=n_fixed * n_other).astype(float)
    within = Chance.within(pairs, np.arange(0, len(pairs) + 1, n_other))
    lookups = joined(about_y.lookup, within.lookup, about_s.lookup)
    sum_tables(tables, starts, sizes, n_fixed, room, known, lookups, sums, is_known)
    ones = np.minimum(np.arange(n_rows + 1.0), 1)
    sum_tables(tables, starts, sizes, n_fixed, room, ones, NO_CHANCE, in_use, is_known)
    for own, of_own, levels in zip(codes.tolist(), sums, in_use, strict=True):
        x, s, y = own, fixed[0].tolist(), other[0].tolist()
        margins = [Counter(zip(*block, strict=True)) for block in ((x,), (x, s), (x, y), (x, s, y))]
        expected = [sum(n * math.log(n) for n in counts.values()) for counts in margins]
        of_x = np.array([*margins[0].values()], float)
        of_xs = sorted((level, count) for (_, level), count in margins[1].items())
        levels_of_s, counts_of_s = np.array(of_xs).T
        expected += [
            about_y.of(of_x).sum(),
            within.of(counts_of_s, np.searchsorted(levels_of_s, np.arange(n_fixed + 1))).sum(),
        ]
        expected += [about_s.of(of_x).sum()]
        assert_allclose(of_own, expected, rtol=1e-13, atol=3e-6 * n_rows)  # within levels it is interpolated
        assert_allclose(of_own[[0, 1, 2, 3, 4, 6]], np.delete(expected, 5), rtol=1e-13, atol=1e-12)
        assert_array_equal(levels, [*map(len, margins), 0, 0, 0])
        of_groups = sum_groups(
            np.array(own), n_levels, groups, other[0], n_other, np.ones(n_rows), known, lookups, fixed[0]
        )
        assert_allclose(of_groups[:7], of_own, rtol=1e-13, atol=1e-13)
        assert_array_equal(of_groups[7:], [len(counts) for counts in margins])
