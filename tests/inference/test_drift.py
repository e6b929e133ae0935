"""Two tables compared: information by its formula, p-values that are uniform, and changes that are planted."""

from collections import Counter
from math import log

import numpy as np
import pandas as pd
import pytest

from unirel import Plugin, relevance
from unirel.inference.drift import _moments, compare_relevance


def information(table):
    """Information and the variance of its pointwise terms, as the formulas have them."""
    rows = [(a, b) for a, line in enumerate(table) for b, n in enumerate(line) for _ in range(n)]
    n, of_a, of_b, both = len(rows), Counter(a for a, _ in rows), Counter(b for _, b in rows), Counter(rows)
    terms = [log(both[row] * n / (of_a[row[0]] * of_b[row[1]])) for row in rows]
    return np.mean(terms), np.var(terms) / n


def test_moments_equal_their_formulas():
    tables = np.random.default_rng(0).integers(0, 9, (20, 3, 4))
    tables[:, 0, 0] += 1
    means, variances = _moments(tables)
    assert np.transpose([means, variances]) == pytest.approx(
        np.array([information(table.tolist()) for table in tables])
    )


def test_relevance_is_that_of_each_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (500, 4)), columns=list("abcd")).astype(str)
    y = (X["a"] == "1") ^ (rng.random(500) < 0.1)
    found = compare_relevance(X[:300], y[:300], X[300:], y[300:])
    assert found.before == pytest.approx(relevance(X[:300], y[:300], mi_estimator=Plugin()))
    assert found.after == pytest.approx(relevance(X[300:], y[300:], mi_estimator=Plugin()))
    assert found.change == pytest.approx(found.after - found.before)


def test_what_has_changed_is_found():
    rng = np.random.default_rng(0)
    old, new = (pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde")) for n in (900, 500))
    found = compare_relevance(old, old["a"] + old["b"] > 0, new[list("edcba")], new["a"] + new["c"] > 0)
    assert found.significant().tolist() == [False, True, True, False, False]
    assert found.change[1] < 0 < found.change[2]
    assert repr(found) == "RelevanceChange(1 gained and 1 lost of 5 features, at 0.05)"


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_level_where_nothing_has_changed(shift):
    rejected = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        parts = [rng.normal(size=(n, 2)) for n in (300, 150)]
        targets = [part[:, 0] + rng.normal(size=len(part)) > 0 for part in parts]
        found = compare_relevance(parts[0], targets[0], parts[1] + shift, targets[1], n_permutations=199)
        rejected.append(found.p_value <= 0.05)
    assert np.mean(rejected, axis=0) == pytest.approx([0.05, 0.05], abs=0.045)


def test_other_columns_are_named():
    old, new = pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pd.DataFrame({"a": [1, 2], "c": [3, 4]})
    with pytest.raises(ValueError, match="only one of X1 and X2 has column 'b'"):
        compare_relevance(old, [0, 1], new, [0, 1])
    with pytest.raises(ValueError, match=r"X1 has shape \(2, 2\), X2 \(2, 3\)"):
        compare_relevance(np.ones((2, 2)), [0, 1], np.ones((2, 3)), [0, 1])
