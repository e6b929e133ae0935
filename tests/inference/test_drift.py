"""Two tables compared: information by its formula, p-values that are uniform, and changes that are planted."""

from collections import Counter
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from unirel import Plugin, UnirelWarning, compare_relevance, relevance
from unirel.inference.drift import _moments, _most_frequent


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
    for seed in range(80):
        rng = np.random.default_rng(seed)
        parts = [rng.normal(size=(n, 2)) for n in (300, 150)]
        targets = [part[:, 0] + rng.normal(size=len(part)) > 0 for part in parts]
        found = compare_relevance(parts[0], targets[0], parts[1] + shift, targets[1], n_permutations=199)
        rejected.append(found.p_value <= 0.05)
    assert np.mean(rejected, axis=0) == pytest.approx([0.05, 0.05], abs=0.06)


def test_columns_are_matched_by_name_and_others_are_named():
    rng = np.random.default_rng(0)
    old, new = (pd.DataFrame(rng.normal(size=(60, 2)), columns=names) for names in (["a", "b"], ["c", "a"]))
    targets = [np.arange(60) % 2] * 2
    with pytest.warns(UnirelWarning) as caught:
        found = compare_relevance(old, targets[0], new, targets[1])
    assert [str(one.message) for one in caught] == ["only X1 has 'b': not compared", "only X2 has 'c': not compared"]
    assert (found.names, found.only_before, found.only_after) == (("a",), ("b",), ("c",))
    assert found.to_dict()["only_after"] == ["c"]


def other_library(frame):
    return pytest.importorskip("polars").from_pandas(frame)


@pytest.mark.parametrize(
    "change", [other_library, lambda one: one.astype({"a": "category"}), lambda one: one[["b", "a"]]]
)
def test_frames_of_two_kinds_are_one_table(change):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("uvw"), 300), "b": rng.normal(size=300)})
    y = (frame["a"] == "u") ^ (rng.random(300) < 0.2)
    expected = compare_relevance(frame[:200], y[:200], frame[200:], y[200:])
    found = compare_relevance(frame[:200], y[:200], change(frame[200:]), y[200:].to_numpy())
    assert found.to_dict() == expected.to_dict()


def test_whole_numbers_and_fractions_are_numbers():
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"a": rng.integers(0, 1000, 200)})
    found = compare_relevance(old, old["a"] > 500, old.astype(float), (old["a"] > 500).astype(int).astype(bool))
    assert found.before == pytest.approx(found.after)
    assert found.p_value[0] > 0.9


def test_a_sparse_matrix_is_as_good_as_its_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 4)) * 1.0
    y = X[:, 0] > 0
    expected = compare_relevance(X[:200], y[:200], X[200:], ~y[200:])
    found = compare_relevance(csr_matrix(X[:200]), y[:200], csr_matrix(X[200:]), ~y[200:])
    assert found.to_dict() == expected.to_dict()


def test_a_shift_is_a_change_only_with_common_bins():
    rng = np.random.default_rng(0)
    old, new = (rng.normal(size=(n, 1)) for n in (900, 100))
    given = old, old[:, 0] > 0, new + 9, new[:, 0] > 0
    assert not compare_relevance(*given).significant().any()
    found = compare_relevance(*given, common_bins=True)
    assert found.after[0] == pytest.approx(0, abs=0.02)  # all of them are in the highest bin
    assert found.significant().all()


def test_missing_values_are_a_level():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 1)), rng.integers(0, 2, 600)
    gaps = np.where((y == 1)[:, None], np.nan, x)
    found = compare_relevance(x, y, gaps, y)
    assert found.significant().all()
    assert found.change[0] == pytest.approx(np.log(2), abs=0.03)


def test_one_change_among_many_columns_can_be_significant():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(2, 300, 150))
    found = compare_relevance(old, old[:, 7] > 0, new, rng.integers(0, 2, 300).astype(bool))
    assert found.settings["n_permutations"] == 3000
    assert np.flatnonzero(found.significant()).tolist() == [7]
    assert found.order[0] == 7


def test_rare_levels_are_taken_together():
    codes = np.repeat(np.arange(150), np.arange(150, 0, -1))
    merged = _most_frequent(codes)
    assert np.array_equal(merged, np.minimum(codes, 99))
    assert _most_frequent(codes % 100) is not None
    X = pd.DataFrame({"a": codes.astype(str)})
    assert compare_relevance(X, codes % 2, X, codes % 2).p_value[0] > 0.9


def test_ctrl_c_leaves_what_was_compared(monkeypatch):
    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("unirel.inference.drift.progress_of", lambda *_: stop)
    X, y = np.random.default_rng(0).normal(size=(100, 4)), np.arange(100) % 2
    found = compare_relevance(X, y, X, y)
    assert not found.complete
    assert np.isnan(found.adjusted).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("given", "about"),
    [
        ((np.ones((2, 2)), [0, 1], np.ones((2, 3)), [0, 1]), r"X1 has shape \(2, 2\), X2 \(2, 3\); pass the same"),
        (
            (pd.DataFrame({"a": [1, 2]}), [0, 1], np.ones((2, 1)), [0, 1]),
            "X1 is DataFrame, X2 ndarray; pass two frames",
        ),
        ((pd.DataFrame({"a": [1]}), [0], pd.DataFrame({"b": [1]}), [0]), "share no column: .*; rename"),
        ((np.ones((2, 1)), [0, 1], np.ones((2, 1)), [0, 1, 1]), "X2 has 2 rows, y2 has 3"),
        ((np.ones((2, 1)), [0, 1], np.ones((0, 1)), []), "X2 has 0 rows; there is nothing to compare"),
    ],
)
def test_wrong_tables_are_named(given, about):
    with pytest.raises((ValueError, TypeError), match=about):
        compare_relevance(*given)


def test_names_that_are_numbers():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    with pytest.warns(UnirelWarning, match="only X1 has '0'"):
        found = compare_relevance(pd.DataFrame(X), y, pd.DataFrame(X).drop(columns=0), y)
    assert found.names == ("1", "2")


def test_wrong_numbers_are_named():
    X, y = np.ones((4, 1)), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="n_permutations=0 must be a whole number"):
        compare_relevance(X, y, X, y, n_permutations=0)
    with pytest.raises(ValueError, match="random_state='a' must be a whole number"):
        compare_relevance(X, y, X, y, random_state="a")
