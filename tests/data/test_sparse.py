"""A sparse table says what the dense one says, and is never made dense."""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import rankdata

from unirel.data.readers import take_columns, take_rows
from unirel.data.table import Table
from unirel.estimation.codes import SparseCodes

FORMS = [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array]


@st.composite
def matrices(draw):
    """Numbers of which many are zero, with ties, and perhaps missing values."""
    dtype = np.dtype(draw(st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint8, np.uint64, bool])))
    n_samples, n_columns = draw(st.sampled_from([2, 9, 40, 130])), draw(st.integers(1, 6))
    seed, density = draw(st.integers(0, 2**32)), draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))
    n_levels = draw(st.sampled_from([1, 3, 9, 12, 60]))
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, n_levels + 1, (n_samples, n_columns)).astype(dtype)
    if dtype.kind in "fi" and draw(st.booleans()):
        dense -= n_levels // 2
    dense[rng.random(dense.shape) >= density] = 0
    if dtype.kind == "f" and draw(st.booleans()):
        dense[rng.random(dense.shape) < 0.1] = np.nan
    return dense


def target(n_samples):
    return np.arange(n_samples) % 2


def bins_of(values, n_bins):
    """Equal-frequency bins of a dense column, missing values in the last."""
    present = ~np.isnan(values)
    codes = np.full(len(values), n_bins)
    codes[present] = np.floor(n_bins * (rankdata(values[present]) - 0.5) / max(present.sum(), 1))
    return codes


def full(block, n_samples):
    """A sparse block as dense codes."""
    codes = np.repeat(block.zero_codes[:, np.newaxis], n_samples, axis=1)
    for column in range(len(codes)):
        entries = slice(block.starts[column], block.starts[column + 1])
        codes[column, block.rows[entries]] = block.codes[entries]
    return codes


@settings(max_examples=200, deadline=None)
@given(matrices(), st.sampled_from(FORMS), st.sampled_from(["auto", True, False, {0: True}, [0]]), st.data())
def test_equals_the_dense_table(dense, form, discrete, data):
    table = Table.from_data(form(dense), target(len(dense)), discrete_features=discrete)
    expected = Table.from_data(dense, target(len(dense)), discrete_features=discrete)
    assert table.is_sparse
    assert not expected.is_sparse
    assert table.columns == expected.columns
    np.testing.assert_array_equal(table.classes, expected.classes)
    chosen = data.draw(st.permutations(np.flatnonzero(expected.discrete[:-1]).tolist()))
    block = table.sparse_block(chosen)
    np.testing.assert_array_equal(full(block, len(dense)), expected.code_block(chosen)[0].reshape(-1, len(dense)))
    np.testing.assert_array_equal(block.n_levels, expected.n_levels[chosen])
    for some in (chosen, [*chosen, table.target]):
        np.testing.assert_array_equal(table.code_block(some)[0], expected.code_block(some)[0].reshape(-1, len(dense)))
    chosen = data.draw(st.permutations(np.flatnonzero(expected.continuous[:-1]).tolist()))
    numbers = expected.continuous_block(chosen)
    np.testing.assert_array_equal(table.continuous_block(chosen), numbers)
    bins = table.sparse_numbers(chosen).in_bins(5)
    np.testing.assert_array_equal(
        full(bins, len(dense)), np.reshape([bins_of(row, 5) for row in numbers], (-1, len(dense)))
    )
    np.testing.assert_array_equal(bins.n_levels, 5 + expected.has_missing[chosen])


class Rest(NamedTuple):
    codes: np.ndarray
    n_levels: int


class Frequency:
    """Bins of equal frequency, found from full columns or, if that is said, from entries."""

    def __init__(self, table, n_bins, by_entries):
        self._table, self._n_bins = table, n_bins
        self.equal_frequency = n_bins if by_entries else None

    @property
    def n_levels(self):
        return np.where(self._table.continuous, self._n_bins + self._table.has_missing, self._table.n_levels)

    def codes(self, columns, dtype):
        numbers = self._table.continuous_block(columns)
        return np.array([bins_of(row, self._n_bins) for row in numbers], dtype).reshape(-1, self._table.n_samples)


WEIGHTS = {
    "none": lambda rng, n_samples: None,
    "whole": lambda rng, n_samples: rng.integers(0, 5, n_samples).astype(float),
    "real": lambda rng, n_samples: rng.random(n_samples),
}


@settings(max_examples=150, deadline=None)
@given(matrices(), st.integers(1, 4), st.sampled_from(list(WEIGHTS)), st.booleans(), st.data())
def test_counts_equal_dense_counts(dense, n_rest, kind, by_entries, data):
    n_samples = len(dense)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights = WEIGHTS[kind](rng, n_samples)
    rest = Rest(rng.integers(0, n_rest, n_samples), n_rest)
    table = Table.from_data(sp.csr_array(dense), target(n_samples), conditional_on=dense[:, :1])
    bins = Frequency(table, 4, by_entries)
    counted = SparseCodes(table, bins, weights)
    candidates = np.array(data.draw(st.permutations(range(len(table.columns)))))
    counted.prepare(candidates)
    tables, starts = counted.tables(candidates, rest)
    for column, start in zip(candidates, starts, strict=True):
        codes = table.codes(column) if table.discrete[column] else bins.codes([column], int)[0]
        np.testing.assert_array_equal(counted.codes(column), codes)
        expected = np.zeros((counted.n_levels[column], n_rest))
        np.add.at(expected, (codes, rest.codes), 1 if weights is None else weights)
        own = slice(start, start + expected.size)
        if kind == "real":
            np.testing.assert_allclose(tables[own], expected.ravel(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(tables[own][expected.ravel() == 0], 0)
        else:
            np.testing.assert_array_equal(tables[own], expected.ravel())


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(float, (50, 3), elements=st.sampled_from([0.0, 0.0, 0.0, -1.5, 2.0, np.nan])), st.integers(2, 9))
def test_bins_with_ties(dense, n_bins):
    table = Table.from_data(sp.csc_array(dense), target(50), discrete_features=False)
    np.testing.assert_array_equal(
        full(table.sparse_numbers(range(3)).in_bins(n_bins), 50), [bins_of(row, n_bins) for row in dense.T]
    )


def test_stored_zeros_and_repeated_entries():
    rows, columns = np.array([0, 1, 1, 2, 5]), np.array([0, 0, 0, 0, 1])
    matrix = sp.coo_array((np.array([1.0, 2.0, 1.0, 0.0, 0.0]), (rows, columns)), shape=(6, 2)).tocsr(copy=False)
    raw = sp.csc_array((np.array([1.0, 2.0, 1.0, 0.0, 0.0]), rows, np.array([0, 4, 5])), shape=(6, 2))
    for form in (matrix, raw):
        before = form.nnz
        table = Table.from_data(form, target(6))
        expected = Table.from_data(form.toarray(), target(6))
        assert form.nnz == before, "the caller's matrix stays as it is"
        assert table.columns == expected.columns
        np.testing.assert_array_equal(table.continuous_block([0]), expected.continuous_block([0]))
        np.testing.assert_array_equal(table.codes(1), expected.codes(1))


def test_neighbours_need_a_dense_table():
    table = Table.from_data(sp.csr_array(np.eye(10)), target(10))
    for ask in ("values", "far", "unit"):
        with pytest.raises(
            TypeError, match=r"X is sparse, .*pass X\.toarray\(\), or .*mi_estimator='binned' or 'plugin'"
        ) as caught:
            getattr(table, ask)
        assert "\n" not in str(caught.value)


def test_refused():
    with pytest.raises(TypeError, match=r"y is sparse; only X can be: .*y\.toarray\(\)"):
        Table.from_data(np.eye(6), sp.csr_array(np.eye(6)[:, :1]))
    with pytest.raises(TypeError, match="conditional_on is sparse; only X can be"):
        Table.from_data(np.eye(6), target(6), conditional_on=sp.csr_array(np.eye(6)))
    with pytest.raises(TypeError, match="X is sparse and of type complex128; make it a matrix of numbers"):
        Table.from_data(sp.csr_array(np.eye(6) * 1j), target(6))
    line = sp.coo_array(np.arange(6))  # before scipy 1.13 this is a matrix of one row
    with pytest.raises(ValueError, match="X has 1 dimension" if line.ndim == 1 else "X has 1 rows, y has 6"):
        Table.from_data(line, target(6))
    infinite = sp.csr_array(np.where(np.eye(6) > 0, np.inf, 0))
    with pytest.raises(ValueError, match=r"column 'x0' contains infinity \(inf\)"):
        Table.from_data(infinite, target(6))
    with pytest.raises(ValueError, match="column 'x3' contains infinity"):
        Table.from_data(infinite, target(6), discrete_features=dict.fromkeys((0, 1, 2)))
    with pytest.raises(ValueError, match="only features of a sparse table"):
        Table.from_data(sp.csr_array(np.eye(6)), target(6)).sparse_block([6])


def test_conditions_beside_sparse_features():
    X, Z = np.eye(40)[:, :3], np.column_stack([np.arange(40.0), target(40)])
    table = Table.from_data(sp.csr_array(X), target(40), conditional_on=Z)
    expected = Table.from_data(X, target(40), conditional_on=Z)
    assert table.columns == expected.columns
    assert table.given.tolist() == [3, 4]
    np.testing.assert_array_equal(table.continuous_block([3]), [Z[:, 0]])
    np.testing.assert_array_equal(table.code_block([4, 0, 5])[0], expected.code_block([4, 0, 5])[0])


@pytest.mark.parametrize("form", FORMS)
def test_taking_rows_and_columns(form):
    dense = np.arange(12).reshape(4, 3)
    matrix = form(dense)
    for taken, expected in (
        (take_rows(matrix, np.array([3, 0])), dense[[3, 0]]),
        (take_columns(matrix, np.array([2, 1])), dense[:, [2, 1]]),
    ):
        assert taken.format == matrix.format
        np.testing.assert_array_equal(taken.toarray(), expected)


def test_nothing_dense_is_made():
    n_samples, n_columns = 2_000, 200_000  # 400 MB if each value took a byte
    rng = np.random.default_rng(0)
    entries = (np.repeat(np.arange(n_samples), 10), rng.integers(0, n_columns, 10 * n_samples))
    matrix = sp.csr_array((np.ones(10 * n_samples), entries), shape=(n_samples, n_columns))
    Table.from_data(matrix[:, :10], target(n_samples))  # compile
    tracemalloc.start()
    try:
        table = Table.from_data(matrix, target(n_samples))
        block = table.sparse_block(table.features)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(block.rows) == matrix.nnz
    assert peak < 50 * 2**20  # 13 MB of them are names
