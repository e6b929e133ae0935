"""Pairs that only work together: synergy against its formula, designs with known pairs, and noise."""

from collections import Counter
from itertools import combinations
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from unirel import Binned, Plugin, UnirelWarning, interactions, relevance
from unirel._runtime import Deadline, _deadline
from unirel.data.table import Table
from unirel.inference.interactions import _information, _standard_error, _synergy, _Tests

SUBSETS = [(0, 1, 2), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]


def information(x, y):
    """Mutual information of two lists of labels, as the formula has it."""
    n, of_x, of_y, of_both = len(x), Counter(x), Counter(y), Counter(zip(x, y, strict=True))
    return sum(m / n * log(m * n / (of_x[a] * of_y[b])) for (a, b), m in of_both.items())


def synergy(a, b, y):
    return information(list(zip(a, b, strict=True)), y) - information(a, y) - information(b, y)


def make_levels(seed, n=300):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {name: rng.integers(0, n_levels, n) for name, n_levels in zip("abcde", (2, 3, 2, 4, 2), strict=True)}
    )
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), X["a"] ^ X["c"])
    return X.astype(str), y


@pytest.mark.parametrize("seed", range(3))
def test_synergy_equals_its_formula_less_the_mean_of_permutations(seed):
    X, y = make_levels(seed)
    found = interactions(X, y, max_pairs=10)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(y)) for _ in range(50)]
    columns = {name: X[name].tolist() for name in X}
    for (first, second), value in zip(found.pairs, found.synergy, strict=True):
        a, b = columns[first], columns[second]
        chance = [synergy(a, b, y[order].tolist()) for order in orders]
        assert value == pytest.approx(synergy(a, b, y.tolist()) - np.mean(chance), abs=5 * np.std(chance) / 50**0.5)
    assert sorted(map(sorted, found.pairs)) == sorted(map(sorted, combinations("abcde", 2)))
    assert found.n_pairs == 10
    assert set(found.pairs[0]) == {"a", "c"}
    expected = relevance(X[list(found.pairs[0])], y, mi_estimator=Plugin())
    assert found.relevance[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", [(2, 3, 2), (4, 4, 4), (1, 3, 2)])
def test_parts_of_a_test_equal_their_formulas(shape):
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 6, (5, *shape))
    tables[:, 0, 0, 0] += 1
    for table, value in zip(tables, _synergy(tables), strict=True):
        a, b, y = (np.repeat(index.ravel(), table.ravel()).tolist() for index in np.indices(shape))
        assert value == pytest.approx(synergy(a, b, y), abs=1e-12)
        assert _information(table.sum(axis=1)) == pytest.approx(information(a, y), abs=1e-12)
        rows, n = list(zip(a, b, y, strict=True)), len(y)
        counts = {places: Counter(tuple(row[i] for i in places) for row in rows) for places in SUBSETS}

        def share(places, row, counts=counts, n=n):
            return counts[places][tuple(row[i] for i in places)] / n

        signs = {places: (-1) ** (len(places) + 1) for places in SUBSETS}
        terms = [sum(signs[one] * log(share(one, row)) for one in SUBSETS) for row in rows]
        variance = max(0.0, np.var(terms) - np.prod(np.array(shape) - 1) / n)
        assert _standard_error(table) == pytest.approx((variance / n) ** 0.5)


def test_drawn_tables_are_as_likely_as_permuted_ones():
    X, y = make_levels(0)
    table = Table.from_data(X, y)
    counts = Binned(4, correction=None).on(table)
    sides = [counts.levels(column).astype(int) for column in (1, 3, table.target)]
    pairs = (sides[0] * 4 + sides[1]) * 2
    observed = np.bincount(pairs + sides[2], minlength=24).reshape(3, 4, 2)
    drawn, moved = (
        _synergy(_Tests(counts, weights, 0, np.random.default_rng(0))._permuted(pairs, observed, 2000))
        for weights in (None, np.ones(len(y)))
    )
    assert kstest(drawn, moved).pvalue > 0.01


def exclusive_or(X):
    return (X[:, 0] > 0) ^ (X[:, 1] > 0)


def checkerboard(X):
    return (np.floor(X[:, 0] * 1.5) + np.floor(X[:, 1] * 1.5)) % 2


def product(X):
    return X[:, 0] * X[:, 1]


def slanted(X):
    """A checkerboard whose fields do not end where bins do."""
    return (np.floor(X[:, 0] * 1.1 + 0.3) + np.floor(X[:, 1] * 1.3)) % 2


def noisy_labels(X):
    return np.where(np.random.default_rng(5).random(len(X)) < 0.3, 1 - exclusive_or(X), exclusive_or(X))


@pytest.mark.parametrize("design", [exclusive_or, checkerboard, product, slanted, noisy_labels])
def test_a_pair_is_found_first_among_columns_of_noise(design):
    X = np.random.default_rng(1).normal(size=(2000, 302))
    found = interactions(X, design(X), max_pairs=5)
    assert set(found.pairs[0]) == {"x0", "x1"}
    assert found.significant().tolist() == [True] + [False] * 4
    assert found.only_together().tolist() == found.significant().tolist()
    assert found.n_pairs == 302 * 301 / 2


def assert_nothing_is_claimed(seed, n_samples, n_features):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    y = rng.normal(size=n_samples) if seed % 2 else rng.integers(0, 3, n_samples)
    assert not interactions(X, y).significant().any()


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_claimed_on_noise(seed):
    assert_nothing_is_claimed(seed, 400, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_claimed_on_much_noise(seed):
    assert_nothing_is_claimed(100 + seed, 2000, 300)


@pytest.mark.slow
def test_p_values_where_one_column_is_relevant_are_not_too_small():
    p_values = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 5))
        found = interactions(X, X[:, 0] + 0.5 * rng.normal(size=300) > 0, max_pairs=10)
        p_values += found.p_value.tolist()
    assert np.mean(np.array(p_values) <= 0.01) < 0.015
    assert np.mean(np.array(p_values) <= 0.05) < 0.06


def test_features_that_tell_the_same_have_no_synergy():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=1000)
    X = signal[:, None] + 0.3 * rng.normal(size=(1000, 6))
    found = interactions(X, signal + 0.3 * rng.normal(size=1000) > 0)
    assert not found.significant().any()
    assert found.synergy.max() < 0


def test_summands_have_synergy_but_not_only_together():
    X = np.random.default_rng(0).normal(size=(2000, 4))
    found = interactions(X, X[:, 0] + X[:, 1] > 0)
    assert found.significant().tolist() == [True] + [False] * 5
    assert not found.only_together().any()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_gaps_and_numbers(library):
    rng = np.random.default_rng(0)
    sign, size = rng.choice(["low", "high"], 800), rng.normal(size=800)
    y = np.where(sign == "high", size, -size) + 0.1 * rng.normal(size=800)
    frame = pytest.importorskip(library).DataFrame(
        {"sign": sign, "size": size, "many": rng.choice(list("abcdefgh"), 800)}
    )
    frame = frame.to_pandas() if library == "polars" else frame
    frame.loc[::7, "size"] = np.nan
    frame = pytest.importorskip("polars").from_pandas(frame) if library == "polars" else frame
    found = interactions(frame, y)
    assert found.pairs[0] == ("sign", "size")
    assert found.significant().tolist() == [True, False, False]


def test_a_column_of_very_many_levels_is_left_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("ab"), (3000, 3)), columns=list("xyz"))
    X["many"] = rng.integers(0, 1400, 3000).astype(str)
    found = interactions(X, X["x"] == X["y"])
    assert found.n_pairs == 3
    with pytest.raises(ValueError, match="no pair to look at among the 3 columns"):
        interactions(np.ones((40, 3)), np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"no pair to look at among the 1 columns that are used; pass at least two"):
        interactions(X[["x"]], X["x"] == X["y"])


def test_weights_count_as_rows():
    X, y = make_levels(0)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = interactions(X, y, sample_weight=weights, n_permutations=50, max_pairs=10)
    repeated = interactions(X.iloc[rows], y[rows], n_permutations=50, max_pairs=10)
    values = [dict(zip(map(frozenset, one.pairs), one.synergy, strict=True)) for one in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    assert weighted.pairs[0] == repeated.pairs[0]


def test_threads_and_order_of_columns_do_not_matter():
    X, y = make_levels(1)
    one, two = (interactions(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.to_dict() == two.to_dict()
    turned = interactions(X[list("edcba")], y)
    assert {frozenset(pair) for pair in turned.pairs[:1]} == {frozenset(pair) for pair in one.pairs[:1]}
    assert turned.synergy[0] == pytest.approx(one.synergy[0])


def stop_at(place):
    def stop(done, total):
        if done == place:
            raise KeyboardInterrupt

    return stop


def test_ctrl_c_leaves_what_was_found(monkeypatch):
    monkeypatch.setattr("unirel.inference.interactions.progress_of", lambda *_: stop_at(2))
    X = np.random.default_rng(0).normal(size=(300, 6))
    with pytest.warns(UnirelWarning, match="only 9 pairs were looked at"):
        found = interactions(X, X[:, 0] * X[:, 1] > 0)
    assert not found.complete
    assert found.pairs[0] == ("x0", "x1")
    assert repr(found) == "Interactions(1 of 9 pairs significant at 0.05, complete=False)"


def test_no_time_leaves_what_was_found(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 6))
    with pytest.raises(TimeoutError, match="give more with max_seconds="):
        interactions(X, X[:, 0] > 0, max_seconds=0)

    def be_late(done, total):
        _deadline.set(Deadline(0.0))

    monkeypatch.setattr("unirel.inference.interactions.progress_of", lambda *_: be_late)
    with pytest.warns(UnirelWarning, match=r"only 5 pairs .* give more with max_seconds="):
        assert interactions(X, X[:, 0] * X[:, 1] > 0, max_seconds=60).n_pairs == 5


def test_only_pairs_with_some_columns():
    X = np.random.default_rng(0).normal(size=(300, 6))
    found = interactions(X, X[:, 0] * X[:, 1] > 0, columns=["x4", 2])
    assert found.n_pairs == 9
    assert all({"x2", "x4"} & set(pair) for pair in found.pairs)


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        ({"max_pairs": 0}, "max_pairs=0"),
        ({"n_permutations": 5}, "n_permutations=5"),
        ({"random_state": "a"}, "random_state='a' must be a whole number"),
        ({"max_seconds": -1}, "max_seconds=-1 must be None or a number from 0 on"),
        ({"columns": ["z"]}, "there is no column 'z'"),
    ],
)
def test_wrong_values_are_named(wrong, about):
    with pytest.raises(ValueError, match=about):
        interactions(np.eye(4), [0, 1, 0, 1], **wrong)


def test_as_a_frame():
    X, y = make_levels(0)
    found = interactions(X, y, max_pairs=3)
    frame = found.to_frame()
    assert frame["first"].tolist() == [pair[0] for pair in found.pairs]
    assert frame["synergy"].tolist() == found.synergy.tolist()
    assert repr(found) == "Interactions(1 of 10 pairs significant at 0.05)"
    assert found.to_dict()["pairs"][0]["second_relevance"] == found.relevance[0, 1]
    assert found.to_dict()["n_pairs"] == 10
