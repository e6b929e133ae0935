"""Bins: edges against slow twins, codes against ranks, and edges that are applied to new rows."""

import math
from collections import Counter

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import read

from unirel.data.table import Table
from unirel.estimation import binned, counting
from unirel.estimation.binned import Binned, bin_edges

numbers = st.one_of(st.integers(-5, 5).map(float), st.floats(-100, 100, width=32))
columns = st.lists(st.one_of(numbers, st.just(math.nan)), min_size=2, max_size=60).filter(
    lambda values: not all(map(math.isnan, values))
)


def width_twin(values, n_bins):
    """The bin of a value: how many of the edges between bins of equal width it reaches."""
    low, high = min(values), max(values)
    edges = [low + (high - low) * (edge / n_bins) for edge in range(1, n_bins)]
    return [sum(value >= edge for edge in edges) for value in values]


def entropy(labels):
    counts = Counter(labels).values()
    return -sum(n / len(labels) * math.log2(n / len(labels)) for n in counts)


def description_twin(values, labels):
    """Edges by the rule of Fayyad and Irani, in bits, written as in their paper."""
    pairs = sorted(zip(values, labels, strict=True))
    n = len(pairs)
    cuts = [cut for cut in range(1, n) if pairs[cut - 1][0] < pairs[cut][0]]
    if not cuts:
        return []
    whole = [label for _, label in pairs]
    inside = [(cut * entropy(whole[:cut]) + (n - cut) * entropy(whole[cut:])) / n for cut in cuts]
    cut = next(cut for cut, value in zip(cuts, inside, strict=True) if value <= min(inside) + 1e-12)
    gain = entropy(whole) - min(inside)
    k, k1, k2 = (len(set(part)) for part in (whole, whole[:cut], whole[cut:]))
    delta = math.log2(3**k - 2) - (k * entropy(whole) - k1 * entropy(whole[:cut]) - k2 * entropy(whole[cut:]))
    if gain <= (math.log2(n - 1) + delta) / n + 1e-12:
        return []
    parts = (pairs[:cut], pairs[cut:])
    below, above = (description_twin(*map(list, zip(*part, strict=True))) for part in parts)
    return [*below, pairs[cut][0], *above]


@given(columns, st.integers(2, 9))
def test_equal_frequency(values, n_bins):
    edges = bin_edges(values, n_bins)
    present = [value for value in values if not math.isnan(value)]
    twin = reference.binned(read(np.array(present), "continuous", scale=None), n_bins).values
    assert len(edges) == n_bins - 1
    assert_array_equal(np.searchsorted(edges, present, side="right"), twin.astype(int))


@given(columns, st.integers(2, 9))
def test_equal_width(values, n_bins):
    present = [value for value in values if not math.isnan(value)]
    edges = bin_edges(values, n_bins, "uniform")
    assert_array_equal(np.searchsorted(edges, present, side="right"), width_twin(present, n_bins))


@given(st.integers(0, 2**32 - 1), st.integers(2, 120), st.integers(1, 4), st.sampled_from([0, 0.3, 2.0]))
def test_minimum_description_length(seed, n_rows, n_classes, strength):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, size=n_rows)
    values = np.round(rng.normal(size=n_rows) + strength * labels, 1)
    assert_allclose(bin_edges(values, 5, "mdl", labels=labels), description_twin(values.tolist(), labels.tolist()))


def test_minimum_description_length_finds_the_steps():
    values = np.arange(300.0)
    labels = np.array(["low", "high", "low"])[(values >= 100).astype(int) + (values >= 220)]
    assert_array_equal(bin_edges(values, 2, "mdl", labels=labels), [100, 220])
    assert_array_equal(bin_edges(values, 2, "mdl", labels=np.arange(300) % 2), [])


def test_many_classes_do_not_overflow():
    labels = np.repeat(np.arange(1000), 2)
    assert np.isfinite(bin_edges(np.arange(2000.0), 2, "mdl", labels=labels)).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["quantile", "uniform", "mdl"]), st.integers(2, 6))
def test_whole_weights_are_repeated_rows(seed, strategy, n_bins):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=40)
    values = np.round(rng.normal(size=40) + labels, 1)
    weights = rng.integers(0, 4, size=40)
    weights[:2] = 1
    again = np.repeat(np.arange(40), weights)
    weighted = bin_edges(values, n_bins, strategy, labels=labels, sample_weight=weights)
    assert_array_equal(weighted, bin_edges(values[again], n_bins, strategy, labels=labels[again]))


def test_edges_apply_to_new_rows():
    edges = bin_edges([1, 2, 2, 3, 7, 9], 3)
    assert_array_equal(edges, [2, 7])
    assert_array_equal(np.searchsorted(edges, [-10, 1.9, 2, 6.9, 7, 1e9], side="right"), [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strategy": "mdl"}, "strategy='mdl' needs labels="),
        ({"strategy": "kmeans"}, "strategy='kmeans' is not one of 'quantile', 'uniform', 'mdl'"),
        ({"n_bins": 1}, "n_bins=1 must be a whole number from 2 on"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        bin_edges([1.0, 2.0], **({"n_bins": 2} | arguments))


# In the estimator


def make_table(rng, dtype=np.float64, missing=0.2):
    labels = rng.integers(0, 3, size=400)
    X = rng.normal(size=(400, 6)).astype(dtype) + labels[:, None].astype(dtype)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(400) < missing, 2] = np.nan
    X[:, 3] = 7
    return Table.from_data(X, labels, discrete_features=False, target_type="discrete"), X, labels


@pytest.mark.parametrize("few", [0, 2**17], ids=["compiled", "numpy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("strategy", ["quantile", "uniform", "mdl"])
def test_codes_are_bins_of_every_column(strategy, dtype, few, rng, monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK", 900)
    monkeypatch.setattr(binned, "_BLOCK", 900)
    monkeypatch.setattr("unirel.data.jit.FEW_VALUES", few)
    table, _, labels = make_table(rng, dtype)
    information = Binned(5, strategy).on(table)
    for column in range(6):
        values = table.values[column]
        present = values < table.far
        edges = bin_edges(values[present], 5, strategy, labels=labels[present])
        expected = np.where(present, np.searchsorted(edges, values, side="right"), len(edges) + 1)
        assert_array_equal(information.levels(column), expected)
        assert information._codes.n_levels[column] == len(edges) + 1 + (not present.all())
    assert information.relevance([0])[0] > 0.2


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "mdl"])
@pytest.mark.parametrize("edges", [[0.5], [], np.linspace(-2, 4, 11)])
def test_edges_that_are_given_are_those_used(strategy, edges, rng):
    table, X, _ = make_table(rng)
    information, others = Binned(5, strategy, edges={2: edges}).on(table), Binned(5, strategy).on(table)
    expected = np.where(np.isnan(X[:, 2]), len(edges) + 1, np.searchsorted(edges, X[:, 2], side="right"))
    assert_array_equal(information.levels(2), expected)
    candidates = np.arange(6)
    found, plain = (one.joint(candidates, [0]) for one in (information, others))
    assert_array_equal(np.delete(found, 2), np.delete(plain, 2))
    assert_array_equal(np.delete(information._codes.n_levels, 2), np.delete(others._codes.n_levels, 2))


@pytest.mark.parametrize("strategy", ["quantile", "mdl"])
def test_threads_change_nothing(strategy, rng, monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK", 900)
    monkeypatch.setattr(binned, "_BLOCK", 900)
    table = make_table(rng)[0]
    one, more = (Binned(strategy=strategy).on(table, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.joint(range(6), [0]), more.joint(range(6), [0]))


def test_description_length_needs_labels(rng):
    table = Table.from_data(rng.normal(size=(60, 2)), rng.normal(size=60))
    with pytest.raises(ValueError, match=r"strategy='mdl' needs class labels as target; pass strategy='quantile'"):
        Binned(strategy="mdl").on(table)


def test_missing_values_only(rng):
    X = np.column_stack([np.full(50, np.nan), rng.normal(size=50)])
    table = Table.from_data(X, np.arange(50) % 2, discrete_features=False)
    for strategy in ("quantile", "uniform", "mdl"):
        information = Binned(strategy=strategy).on(table)
        assert len(set(information.levels(0).tolist())) == 1
        assert information.relevance([0])[0] == 0


@pytest.mark.parametrize(("n_rows", "n_bins"), [(20, 3), (200, 4), (2_000, 7), (200_000, 20)])
def test_numbers_are_cut_by_the_number_of_rows_and_class_labels_ask_for_eight(n_rows, n_bins):
    X, y = np.arange(2.0 * n_rows).reshape(n_rows, 2), np.arange(n_rows, dtype=float)
    assert Binned().on(Table.from_data(X, y, target_type="continuous")).n_bins_ == n_bins
    assert Binned().on(Table.from_data(X, np.arange(n_rows) % 3, target_type="discrete")).n_bins_ == 8
    assert Binned(n_bins=5).on(Table.from_data(X, y, target_type="continuous")).n_bins_ == 5


def test_edges_that_are_no_numbers_are_named(rng):
    table = Table.from_data(rng.normal(size=(40, 2)), np.arange(40) % 2)
    with pytest.raises(ValueError, match="edges of column 1 hold NaN; pass numbers, or infinity"):
        Binned(edges={1: [0.0, math.nan]}).on(table)
    assert Binned(edges={1: [-math.inf, 0.0, math.inf]}).on(table).relevance([1]).shape == (1,)
