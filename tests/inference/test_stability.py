"""How stable a selection is: the index against its formula, and what must be seen in planted tables."""

import json
import threading
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import RFE, SelectKBest, chi2, f_classif
from sklearn.linear_model import LogisticRegression

from unirel import Binned, BURSelector, selection_stability
from unirel.inference.stability import draw_rows, find_exchangeable, nogueira_index

QUICK = BURSelector("mim", 3, beta=0)


def make_table(rng, n_rows):
    """Two features that matter, an exact copy of the first, and noise."""
    X = rng.standard_normal((n_rows, 8))
    X[:, 5] = X[:, 1]
    return X, X[:, 1] + X[:, 3] > 0


@pytest.fixture
def table(rng):
    return make_table(rng, 200)


def plain_index(selected):
    """One less the mean variance of the columns, divided by that of a selection by chance."""
    n_rows, n_features = selected.shape
    variances = [n_rows / (n_rows - 1) * np.mean(column) * (1 - np.mean(column)) for column in selected.T]
    mean_size = np.mean([sum(row) for row in selected])
    return 1 - np.mean(variances) / (mean_size / n_features * (1 - mean_size / n_features))


def plain_error(selected):
    """The root of 4 / M^2 times the sum of squares of what every row contributes, less its mean."""
    n_rows, n_features = selected.shape
    frequency = selected.mean(axis=0)
    mean_size, index = frequency.sum(), plain_index(selected)
    parts = []
    for row in selected:
        size = row.sum()
        part = np.mean(row * frequency) - size * mean_size / n_features**2
        part += index / 2 * (2 * size * mean_size / n_features**2 - size / n_features - mean_size / n_features + 1)
        parts.append(part / (mean_size / n_features * (1 - mean_size / n_features)))
    return np.sqrt(4 / n_rows**2 * sum((part - np.mean(parts)) ** 2 for part in parts))


@pytest.mark.parametrize("seed", range(10))
def test_index_and_error_equal_their_formulas(seed):
    rng = np.random.default_rng(seed)
    selected = rng.random((rng.integers(2, 30), rng.integers(2, 12))) < rng.random()
    selected[0, 0], selected[1, 1] = True, False
    assert_allclose(nogueira_index(selected), (plain_index(selected), plain_error(selected)), atol=1e-12)


def test_index_of_equal_selections_is_1_and_of_chance_about_0(rng):
    assert nogueira_index(np.tile([True, False, True], (10, 1))) == (1, 0)
    chance = np.array([rng.permutation(20) < 5 for _ in range(400)])
    assert abs(nogueira_index(chance)[0]) < 0.02
    assert np.isnan(nogueira_index(np.ones((4, 3), bool))).all()
    assert np.isnan(nogueira_index(np.zeros((4, 3), bool))).all()


def test_interval_covers_the_index_of_many_subsamples(rng):
    chances = np.linspace(0.05, 0.95, 15)
    truth = nogueira_index(rng.random((20_000, 15)) < chances)[0]
    covered = 0
    for _ in range(200):
        index, error = nogueira_index(rng.random((50, 15)) < chances)
        covered += abs(index - truth) <= 1.96 * error
    assert 0.88 <= covered / 200 <= 0.99


def test_frequency_and_rank_are_those_of_single_fits(table):
    X, y = table
    result = selection_stability(X, y, selector=BURSelector("jmi", 3, beta=0), n_subsamples=6, random_state=3)
    orders = []
    for number in range(6):
        rows = draw_rows(200, y.astype(int), 0.5, (3, number))
        orders.append(BURSelector("jmi", 3, beta=0).fit(X[rows], y[rows]).order_.tolist())
    for feature in range(8):
        places = [order.index(feature) + 1 for order in orders if feature in order]
        assert result.frequency[feature] == len(places) / 6
        assert_allclose(result.mean_rank[feature], np.mean(places) if places else np.nan)
    assert_allclose(result.index, plain_index(result.selected))


def test_rows_are_drawn_without_replacement_and_by_class():
    labels = np.repeat([0, 1, 2], [60, 30, 1])
    rows = draw_rows(91, labels, 0.5, (0, 0))
    assert len(set(rows.tolist())) == len(rows)
    assert np.bincount(labels[rows]).tolist() == [30, 15, 1]
    assert len(draw_rows(91, None, 0.3, (0, 0))) == 27
    assert not np.array_equal(rows, draw_rows(91, labels, 0.5, (0, 1)))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_exact_copies_are_exchangeable(rng, kind):
    X, y = make_table(rng, 200)
    frame = kind(X) if kind is np.asarray else pd.DataFrame(X, columns=list("abcdefgh"))
    result = selection_stability(frame, y, selector=BURSelector("jmim", 2, beta=0), n_subsamples=10)
    assert result.exchangeable == ((1, 5, 1.0, 0.0),)
    assert result.frequency[[1, 5]].tolist() == [1, 0]  # of equal columns the left one wins


def test_near_copies_are_exchangeable(rng):
    x = rng.standard_normal(300)
    near = x[:, None] + 0.5 * rng.standard_normal((300, 2))
    X = np.column_stack([rng.standard_normal((300, 4)), near])
    result = selection_stability(X, x > 0, selector=BURSelector("mim", 1, beta=0), n_subsamples=30)
    (pair,) = result.exchangeable
    assert pair[:2] == (4, 5)
    assert pair.either == 1


def overlap_chance(one, other):
    """Chance that as few rows have both, if each has as many as it has, in any rows."""
    n, a, b = len(one), int(one.sum()), int(other.sum())
    ways = [comb(a, both) * comb(n - a, b - both) for both in range(int((one & other).sum()) + 1) if both <= b]
    return sum(ways) / comb(n, b)


def test_exchangeable_pairs_equal_their_definition(rng):
    selected = rng.random((40, 6)) < 0.4
    selected[:, 5] = ~selected[:, 2]
    expected = {
        pair
        for pair in combinations(range(6), 2)
        if (either := selected[:, pair].any(axis=1).mean()) >= 0.5
        and selected[:, pair].all(axis=1).mean() <= 0.1 * either
        and overlap_chance(*selected[:, pair].T) <= 0.05 / 15  # among 15 pairs
    }
    assert (2, 5) in expected
    assert {pair[:2] for pair in find_exchangeable(selected)} == expected


def test_noise_that_competes_for_places_is_not_exchangeable(rng):
    selected = np.zeros((50, 20), bool)
    for row in selected:
        row[rng.choice(20, 8, replace=False)] = True
    assert find_exchangeable(selected) == ()


@pytest.mark.parametrize("selector", [SelectKBest(k=3), RFE(LogisticRegression(), n_features_to_select=3)], ids=str)
def test_selectors_of_scikit_learn(table, selector):
    result = selection_stability(*table, selector=selector, n_subsamples=5)
    assert result.selected.sum() == 15
    assert np.isnan(result.mean_rank).all() == isinstance(selector, SelectKBest)


def test_threads_change_nothing(table):
    one, two = (selection_stability(*table, selector=QUICK, n_subsamples=9, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.selected, two.selected)
    assert_array_equal(one.mean_rank, two.mean_rank)


def test_as_many_threads_as_are_asked_for(table):
    meeting = threading.Barrier(6, timeout=20)

    class Waiting(SelectKBest):
        def fit(self, X, y):
            meeting.wait()  # for five others, or it fails
            return super().fit(X, y)

    result = selection_stability(*table, selector=Waiting(k=3), n_subsamples=6, n_jobs=6)
    assert result.selected.sum() == 18


def test_kinds_of_columns_are_those_of_the_selector_or_of_all_rows(table, monkeypatch):
    """Nothing is decided anew from the rows of a subsample: not what is asked for, and not what is left open."""
    X, y = (values[:60] for values in table)
    X = pd.DataFrame(X, columns=list("abcdefgh")).assign(b=lambda frame: np.digitize(frame["b"], [-1, 0, 1]))
    X["c"] = np.arange(60) % 10 * 1.5  # six rows for each value are enough to call it discrete, three are not
    fitted = []
    fit = BURSelector.fit
    monkeypatch.setattr(BURSelector, "fit", lambda self, *given: fitted.append(fit(self, *given)) or self)
    selector = BURSelector("mim", 3, beta=0, discrete_features={"b": False}, target_type="continuous")
    selection_stability(X, y.astype(float), selector=selector, n_subsamples=4)
    whole = fit(selector, X, y.astype(float))
    assert [whole.columns_[place].kind for place in (1, 2, -1)] == ["continuous", "discrete", "continuous"]
    for one in fitted:
        assert [column.kind for column in one.columns_] == [column.kind for column in whole.columns_]


def test_rows_are_drawn_by_class_only_if_the_target_is_one(table):
    X, y = table
    sizes = []

    class Counting(BURSelector):
        def fit(self, X, y):
            sizes.append(int(np.sum(y)))
            return super().fit(X, y)

    for target_type in ("discrete", "continuous"):
        selector = Counting("mim", 2, beta=0, target_type=target_type)
        selection_stability(X, y.astype(int), selector=selector, n_subsamples=6)
    assert len(set(sizes[:6])) == 1
    assert len(set(sizes[6:])) > 1


# The journal


def test_a_journal_goes_on_where_it_was_stopped(table, tmp_path, monkeypatch):
    whole = selection_stability(*table, selector=QUICK, n_subsamples=9)
    fit, fitted = BURSelector.fit, []

    def interrupted(self, *given):
        if len(fitted) == 4:
            raise KeyboardInterrupt
        fitted.append(1)
        return fit(self, *given)

    monkeypatch.setattr(BURSelector, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        selection_stability(*table, selector=QUICK, n_subsamples=9, journal=tmp_path / "j")
    with (tmp_path / "j").open("a") as file:
        file.write('{"subsample": 4, "sel')  # it was stopped within a line
    fitted.clear()
    monkeypatch.setattr(BURSelector, "fit", lambda self, *given: fitted.append(1) or fit(self, *given))
    again = selection_stability(*table, selector=QUICK, n_subsamples=9, journal=tmp_path / "j")
    assert len(fitted) == 5
    assert_array_equal(again.selected, whole.selected)
    assert_array_equal(again.mean_rank, whole.mean_rank)
    fitted.clear()
    selection_stability(*table, selector=QUICK, n_subsamples=10, journal=tmp_path / "j", n_jobs=2)
    assert len(fitted) == 1


def test_a_journal_is_of_one_table_fraction_and_seed(table, tmp_path):
    X, y = table
    asked = {"selector": QUICK, "n_subsamples": 3, "journal": tmp_path / "j"}
    selection_stability(X, y, **asked)
    other = X.copy()
    other[0, 0] += 1
    for given, more in (
        ((other, y), {}),
        ((X, ~y), {}),
        ((X, y), {"random_state": 1}),
        ((X, y), {"sample_fraction": 0.4}),
    ):
        with pytest.raises(ValueError, match="is of another selector, table, fraction or seed"):
            selection_stability(*given, **asked, **more)
    (tmp_path / "other").write_text("not a journal\n")
    with pytest.raises(ValueError, match="is no journal of unirel"):
        selection_stability(X, y, **(asked | {"journal": tmp_path / "other"}))


def long_values(last):
    """Values whose text is shortened to the same one, whatever the last but one is."""
    values = np.zeros(2000)
    values[1000] = last
    return values


PAIRS = {
    "arrays": [BURSelector("mim", 3, unique_relevance=long_values(value)) for value in (0.0, 1.0)],
    "objects within": [BURSelector("mim", 3, beta=0, mi_estimator=Binned(n_bins)) for n_bins in (3, 4)],
    "functions": [SelectKBest(score, k=3) for score in (f_classif, chi2)],
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_journal_is_of_one_selector(rng, tmp_path, pair):
    X = np.abs(rng.standard_normal((60, 2000 if hasattr(pair[0], "unique_relevance") and pair[0].beta else 8)))
    y = X[:, 0] > 0.6
    selection_stability(X, y, selector=pair[0], n_subsamples=2, journal=tmp_path / "j")
    selection_stability(X, y, selector=clone(pair[0]), n_subsamples=2, journal=tmp_path / "j")
    with pytest.raises(ValueError, match="is of another selector"):
        selection_stability(X, y, selector=pair[1], n_subsamples=2, journal=tmp_path / "j")


def test_what_cannot_be_told_from_others_has_no_journal(table, tmp_path):
    selector = SelectKBest(lambda X, y: np.arange(8.0), k=3)
    assert selection_stability(*table, selector=selector, n_subsamples=2).selected.sum() == 6
    with pytest.raises(ValueError, match=r"cannot be told from others .*named function instead of a lambda"):
        selection_stability(*table, selector=selector, n_subsamples=2, journal=tmp_path / "j")


def test_threads_do_not_make_another_selector(table, tmp_path):
    for n_jobs in (1, 2):
        selector = clone(QUICK).set_params(n_jobs=n_jobs)
        selection_stability(*table, selector=selector, n_subsamples=2, journal=tmp_path / "j")


# What comes out


def test_what_comes_out(table):
    result = selection_stability(*table, selector=QUICK, n_subsamples=6)
    frame = result.to_frame()
    assert list(frame.columns) == ["feature", "name", "frequency", "mean_rank"]
    assert frame["frequency"].tolist() == sorted(result.frequency, reverse=True)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["n_subsamples"] == 6
    assert repr(result).startswith("Stability(stability ")


def test_the_figure_shows_the_most_frequent_features_first(table):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    result = selection_stability(*table, selector=QUICK, n_subsamples=6)
    display = result.plot()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [result.names[feature] for feature in result.order if result.frequency[feature] > 0]
    assert result.in_numbers == display.ax_.get_title()
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subsamples": 1}, "n_subsamples=1"),
        ({"sample_fraction": 1}, "sample_fraction=1"),
        ({"confidence_level": 95}, "confidence_level=95"),
    ],
)
def test_wrong_options_are_named(table, options, message):
    with pytest.raises(ValueError, match=message):
        selection_stability(*table, selector=QUICK, **options)
    with pytest.raises(TypeError, match="has no get_support"):
        selection_stability(*table, selector=LogisticRegression())


def test_a_real_table():
    X, y = load_breast_cancer(return_X_y=True)
    result = selection_stability(X, y, selector=BURSelector(n_features_to_select=5, beta=0))
    assert 0.3 < result.interval[0] < result.index < result.interval[1] <= 1.1
