"""Pairs that only work together: synergy against its formula, designs with known pairs, and noise."""

from collections import Counter
from itertools import combinations
from math import log

import numpy as np
import pandas as pd
import pytest

from unirel.inference.interactions import interactions


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
    found = interactions(X, y, max_pairs=10, n_permutations=50)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(y)) for _ in range(50)]
    columns = {name: X[name].tolist() for name in X}
    for (first, second), value in zip(found.pairs, found.synergy, strict=True):
        a, b = columns[first], columns[second]
        chance = np.mean([synergy(a, b, y[order].tolist()) for order in orders])
        assert value == pytest.approx(synergy(a, b, y.tolist()) - chance, abs=1e-12)
    assert sorted(map(sorted, found.pairs)) == sorted(map(sorted, combinations("abcde", 2)))
    assert found.n_pairs == 10
    assert set(found.pairs[0]) == {"a", "c"}
    assert found.relevance[0] == pytest.approx([information(columns[name], y.tolist()) for name in found.pairs[0]])


def exclusive_or(X):
    return (X[:, 0] > 0) ^ (X[:, 1] > 0)


def checkerboard(X):
    return (np.floor(X[:, 0] * 1.5) + np.floor(X[:, 1] * 1.5)) % 2


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.mark.parametrize("design", [exclusive_or, checkerboard, product])
def test_a_pair_is_found_first_among_columns_of_noise(design):
    X = np.random.default_rng(1).normal(size=(2000, 302))
    found = interactions(X, design(X))
    assert set(found.pairs[0]) == {"x0", "x1"}
    assert found.significant().tolist() == [True] + [False] * 19


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_claimed_on_noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 30))
    y = rng.normal(size=400) if seed % 2 else rng.integers(0, 3, 400)
    assert not interactions(X, y).significant().any()


def test_features_that_tell_the_same_have_no_synergy():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=1000)
    X = signal[:, None] + 0.3 * rng.normal(size=(1000, 6))
    found = interactions(X, signal + 0.3 * rng.normal(size=1000) > 0)
    assert not found.significant().any()
    assert found.synergy.max() < 0


def test_only_pairs_with_some_columns():
    X = np.random.default_rng(0).normal(size=(300, 6))
    found = interactions(X, X[:, 0] * X[:, 1] > 0, columns=["x4", 2])
    assert found.n_pairs == 9
    assert all({"x2", "x4"} & set(pair) for pair in found.pairs)


@pytest.mark.parametrize(
    ("wrong", "about"), [({"max_pairs": 0}, "max_pairs=0"), ({"n_permutations": 5}, "n_permutations=5")]
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
