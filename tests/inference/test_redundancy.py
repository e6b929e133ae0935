"""Redundancy analysis against exhaustive enumeration, constructed truths, interruption and bad input."""

import json
import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

import unirel
import unirel.inference.redundancy
from unirel import KNN, BURSelector, ClassifierLoss, Plugin, UnirelWarning, redundancy_analysis
from unirel.data.table import Table

METRICS = ["chebyshev", "manhattan", "euclidean"]
ROUNDING = 1e-12


def make_table(rng, n_rows, n_features, mixed):
    """Features of which some repeat others; mixed ones have ties, categories, missing values and one value only."""
    hidden = rng.normal(size=(3, n_rows))
    columns = [hidden[j % 3] + 0.7 * rng.normal(size=n_rows) for j in range(n_features)]
    y = (hidden[0] + hidden[1] * (hidden[2] > 0) > 0).astype(int)
    if mixed:
        columns[0] = np.round(columns[0])
        columns[1] = np.digitize(columns[1], [-0.5, 0.5])
        columns[2] = np.where(rng.random(n_rows) < 0.2, np.nan, columns[2])
        columns[3] = np.ones(n_rows)
        columns[4] = columns[5].copy()
    kinds = ["discrete" if mixed and j == 1 else "continuous" for j in range(n_features)]
    return np.column_stack(columns), y, kinds


def repeated(seed, noise, n_rows):
    """Twelve features that all repeat one another."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n_rows)
    return hidden[:, None] + noise * rng.normal(size=(n_rows, 12)), (hidden > 0).astype(int)


def by_neighbors(metric="auto", n_neighbors=3, kinds=(), **parameters):
    """A selector with neighbours, which the analysis takes over."""
    discrete = [place for place, kind in enumerate(kinds) if kind == "discrete"]
    return BURSelector(mi_estimator=KNN(n_neighbors, metric), discrete_features=discrete, **parameters)


class Slow:
    """The definitions, with every distance and every subset written down."""

    def __init__(self, X, y, kinds, metric, n_neighbors=3):
        columns = [reference.read(column, kind) for column, kind in zip(X.T, kinds, strict=True)]
        self.varies = [column.varies for column in columns]
        self.distances = [reference.distances([column], metric) for column in columns]
        self.combine = reference.COMBINE[metric].reduce
        self.labels, self.n_neighbors = y.tolist(), n_neighbors

    def information(self, block):
        if not any(self.varies[column] for column in block):
            return 0.0
        distance = self.combine([self.distances[column] for column in block])
        return reference.ross(distance, self.labels, self.n_neighbors)

    def analyse(self, order, tolerance):
        everything = range(len(self.distances))
        whole = self.information(everything)
        unique = {f for f in everything if whole - self.information([g for g in everything if g != f]) > ROUNDING}
        curve = [self.information(order[:size]) for size in range(1, len(order) + 1)]
        size = next(i for i, value in enumerate(curve) if value >= max(curve) - tolerance - ROUNDING) + 1
        saturated = order[:size]
        free = [f for f in saturated if f not in unique]
        best = None
        for n_kept in range(len(free) + 1):
            for kept in combinations(free, n_kept):
                left = self.information([f for f in saturated if f in unique or f in kept])
                enough = left >= curve[size - 1] - tolerance - ROUNDING
                if enough and (best is None or left > best[0] + ROUNDING):
                    best = left, [f for f in free if f not in kept]
            if best:
                return curve, saturated, [f for f in saturated if f in unique], best[1], best[0]
        raise AssertionError("nothing need be removed, so there is always a subset")


def check_against_twin(X, y, kinds, order, metric, tolerance, n_neighbors=3):
    selector = by_neighbors(metric, n_neighbors, kinds)
    result = redundancy_analysis(X, y, selector=selector, order=order, tolerance=tolerance)
    curve, saturated, unique, redundant, left = Slow(X, y, kinds, metric, n_neighbors).analyse(order, tolerance)
    assert_allclose(result.curve, curve, rtol=0, atol=1e-10)
    assert_array_equal(result.saturated, saturated)
    assert_array_equal(result.unique, unique)
    assert_array_equal(result.redundant, redundant)
    assert result.reduced_information == pytest.approx(left, abs=1e-10)
    assert result.exact
    assert result.complete
    return result


@pytest.mark.parametrize("tolerance", [0.0, 0.03])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_exhaustive_enumeration(seed, metric, mixed, tolerance):
    rng = np.random.default_rng(seed)
    X, y, kinds = make_table(rng, 40, 8, mixed)
    order = rng.permutation(8).tolist()
    check_against_twin(X, y, kinds, order, metric, tolerance)


@pytest.mark.parametrize(("seed", "noise", "n_free"), [(54, 1.0, 10), (10, 2.0, 9), (28, 2.0, 8)])
def test_equals_exhaustive_enumeration_of_many_features_where_removal_raises_the_estimate(seed, noise, n_free):
    X, y = repeated(seed, noise, 60)
    result = check_against_twin(X, y, ["continuous"] * 12, list(range(12)), "euclidean", 0.0)
    assert len(result.conditional) + len(result.redundant) == n_free
    assert result.reduced_information > result.joint_information + 0.01


def test_two_copies_one_is_redundant(rng):
    strong, weak = rng.normal(size=(2, 300))
    X, y = np.column_stack([strong, strong, weak]), 2 * strong + weak > 0
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        result = redundancy_analysis(X, y, order=order)
        if order == [2, 1, 0]:  # the copy comes last, after saturation
            assert_array_equal(result.saturated, [2, 1])
            assert result.rate == 0
        else:
            assert_array_equal(result.redundant, order[1:2])  # the first of two equals stays
            assert_array_equal(result.conditional, order[:1])
            assert result.rate == pytest.approx(1 / 3)
        assert_array_equal(result.unique, [2])


def test_noise_selected_early_is_redundant(rng):
    strong, noise, weak = rng.normal(size=(3, 300))
    result = redundancy_analysis(np.column_stack([strong, noise, weak]), 2 * strong + weak > 0, order=[1, 0, 2])
    assert_array_equal(result.redundant, [1])
    assert_array_equal(result.unique, [0, 2])
    assert result.reduced_information > result.joint_information


@pytest.mark.parametrize("metric", METRICS)
def test_a_unique_feature_is_never_redundant(metric, rng):
    X, y, kinds = make_table(rng, 60, 9, True)
    selector = by_neighbors(metric, kinds=kinds)
    result = redundancy_analysis(X, y, selector=selector, order=rng.permutation(9).tolist(), tolerance=0.5)
    assert not set(result.unique) & set(result.redundant)
    assert (result.unique_relevance[result.unique] > 0).all()
    assert (result.unique_relevance[result.redundant] <= ROUNDING).all()
    parts = np.concatenate([result.unique, result.conditional, result.redundant])
    assert_array_equal(np.sort(parts), np.sort(result.saturated))


def test_nothing_to_know(rng):
    """If no feature tells anything the empty set is as good, and everything can go."""
    X = np.column_stack([np.ones(30), np.full(30, 2.0)])
    result = redundancy_analysis(X, np.arange(30) % 2, order=[1, 0])
    assert_array_equal(result.saturated, [1])
    assert_array_equal(result.redundant, [1])
    assert (result.rate, result.joint_information, result.reduced_information) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_few_categorical_features_have_one_kind_of_estimate(n_features, rng):
    X = rng.integers(0, 3, size=(60, n_features))
    y = (X.sum(axis=1) + rng.integers(0, 2, size=60) > n_features).astype(int)
    kinds = ["discrete"] * n_features
    metric = "manhattan" if n_features > 2 else "chebyshev"
    order = list(range(n_features))
    automatic = redundancy_analysis(X, y, order=order, selector=BURSelector(discrete_features=True))
    assert_allclose(automatic.curve, check_against_twin(X, y, kinds, order, metric, 0.0).curve, rtol=0, atol=1e-12)


def test_order_is_found_like_a_selection(rng):
    X, y, _ = make_table(rng, 80, 6, False)
    selector = BURSelector("jmi", 4, beta=0.2, unique_relevance="reference", mi_estimator="knn")
    result = redundancy_analysis(X, y, max_features=4, selector=selector)
    assert_array_equal(result.order, selector.fit(X, y).order_)
    assert len(result.curve) == 4
    wanted = {"criterion": "jmi", "beta": 0.2, "unique_relevance": "reference"}
    assert {name: result.settings[name] for name in wanted} == wanted
    given = redundancy_analysis(X, y, order=result.order.tolist())
    assert_array_equal(given.redundant, result.redundant)


def test_without_a_selector_the_order_is_that_of_the_paper(rng):
    X, y, _ = make_table(rng, 80, 6, False)
    published = BURSelector("gsa", "all", beta=0.1, unique_relevance="reference", mi_estimator="knn")
    assert_array_equal(redundancy_analysis(X, y).order, published.fit(X, y).order_)


def test_thirty_features_are_looked_at_unless_more_are_asked_for(rng):
    X, y = rng.normal(size=(40, 33)), np.arange(40) % 2
    assert [len(redundancy_analysis(X, y, **more).order) for more in ({}, {"max_features": None})] == [30, 33]


def test_continuous_target(rng):
    X = rng.normal(size=(80, 4))
    X[:, 1] = X[:, 0]
    y = X[:, 0] + X[:, 2] + 0.1 * rng.normal(size=80)
    result = redundancy_analysis(X, y, order=[0, 1, 3, 2])
    assert_array_equal(result.unique, [2])
    assert_array_equal(result.redundant, [1, 3])
    assert_array_equal(result.conditional, [0])


def test_names_and_frames(frame, rng):
    strong, noise, weak = rng.normal(size=(3, 200))
    table = frame({"strong": strong, "noise": noise, "weak": weak})
    order = [0, 1, 2] if isinstance(table, np.ndarray) else ["strong", "noise", "weak"]
    result = redundancy_analysis(table, 2 * strong + weak > 0, order=order)
    assert_array_equal(result.redundant, [1])


@pytest.mark.parametrize("metric", METRICS)
def test_threads_do_not_show(metric, rng):
    X, y, kinds = make_table(rng, 300, 9, True)
    selectors = [by_neighbors(metric, kinds=kinds, n_jobs=n_jobs) for n_jobs in (1, 2)]
    one, two = (redundancy_analysis(X, y, order=range(9), selector=selector) for selector in selectors)
    assert np.array_equal(one.curve, two.curve)
    assert one.to_dict() == two.to_dict()


# The two estimates that share distances


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("metric", METRICS)
def test_nested_and_subsets_equal_single_estimates(metric, n_jobs, rng):
    X, y, kinds = make_table(rng, 150, 8, True)
    table = Table.from_data(np.delete(X, 1, axis=1), y, discrete_features=False)
    discrete = Table.from_data(X, y, discrete_features=[kind == "discrete" for kind in kinds])
    for some, first in ((table, 0), (discrete, 4)):  # a single discrete column alone would be counted
        information = KNN(metric=metric).on(some, n_jobs=n_jobs)
        order = np.roll(some.features, -first)

        def single(block, information=information, target=some.target):
            return information.mutual_information(block, [target])

        expected = [single(order[:size]) for size in range(1, len(order) + 1)]
        assert_allclose(information.nested(order), expected, rtol=0, atol=1e-10)
        subsets = np.array(list(combinations(range(len(order) - 1), 3)))
        values = information.subsets(order[:1], order[1:], subsets)
        expected = [single([order[0], *order[1:][subset]]) for subset in subsets]
        assert_allclose(values, expected, rtol=0, atol=1e-10)
        floor = float(np.median(values))
        bounded = information.subsets(order[:1], order[1:], subsets, floor)
        assert_array_equal(bounded, np.where(values >= floor, values, -np.inf))


def test_derived_nested_and_subsets(rng):
    """What an estimator without a quicker way does."""
    table = Table.from_data(rng.integers(0, 3, size=(50, 4)), rng.integers(0, 2, size=50), discrete_features=True)
    information = Plugin().on(table)
    target = [table.target]
    expected = [information.mutual_information(range(size), target) for size in (1, 2, 3, 4)]
    assert_allclose(information.nested([0, 1, 2, 3]), expected)
    assert_allclose(information.subsets([0], [1, 2, 3], np.array([[0, 1], [0, 2]])), [
        information.mutual_information([0, 1, 2], target), information.mutual_information([0, 1, 3], target)
    ])  # fmt: skip
    assert_allclose(information.subsets([], [1, 2], np.empty((1, 0), np.intp)), [0.0])


# Long searches


def hard_case():
    """Nine features without unique relevance, four of which are needed."""
    X, y = repeated(23, 2.0, 100)
    return X, y, {"order": range(12), "selector": by_neighbors("euclidean")}


def test_greedy_beyond_the_limit_is_a_lower_bound():
    X, y, options = hard_case()
    exact = redundancy_analysis(X, y, **options)
    with pytest.warns(UnirelWarning, match=r"max_exact=2: .* lower bound"):
        greedy = redundancy_analysis(X, y, max_exact=2, **options)
    assert exact.exact
    assert not greedy.exact
    assert greedy.complete
    assert len(greedy.redundant) <= len(exact.redundant)
    assert greedy.reduced_information >= greedy.joint_information - ROUNDING
    assert "exact=False" in repr(greedy)


@pytest.fixture
def watched(monkeypatch):
    """Lets a function look at the progress of the selection and of the search for subsets."""
    monkeypatch.setattr("unirel.inference.redundancy._SUBSETS_PER_ROUND", 64)

    def watch(progress):
        for module in ("inference.redundancy", "search.greedy"):
            monkeypatch.setattr(f"unirel.{module}.progress_of", lambda *_: progress)

    return watch


def test_progress_counts_subsets(watched):
    X, y, options = hard_case()
    steps = []
    watched(lambda *step: steps.append(step))
    redundancy_analysis(X, y, **options)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len({total for _, total in steps}) == 1
    assert steps[-1][0] == steps[-1][1]
    assert len(steps) > 3


@pytest.mark.parametrize("after", [1, 3, 6])
def test_interrupted_search_keeps_the_best(after, watched):
    X, y, options = hard_case()
    steps = []

    def interrupt(*step):
        steps.append(step)
        if len(steps) == after:
            raise KeyboardInterrupt

    watched(interrupt)
    result = redundancy_analysis(X, y, **options)
    assert len(steps) == after
    assert not result.complete
    assert not result.exact
    assert result.reduced_information >= result.joint_information - ROUNDING
    with pytest.warns(UnirelWarning):
        greedy = redundancy_analysis(X, y, max_exact=0, **options)
    assert len(result.redundant) >= len(greedy.redundant)
    assert "complete=False" in repr(result)


def test_interrupted_selection_is_analysed_as_far_as_it_went(watched):
    X, y, _ = hard_case()

    def interrupt(done, total):
        if done == 4:
            raise KeyboardInterrupt

    watched(interrupt)
    result = redundancy_analysis(X, y, selector=by_neighbors(criterion="mim", beta=0))
    assert len(result.order) == 4
    assert not result.complete
    assert not result.exact


# Time budgets


def test_no_time_at_all_is_no_interrupt(rng):
    X, y, _ = make_table(rng, 60, 6, False)
    with pytest.raises(TimeoutError, match="no feature was selected: the time budget of 0 s was used up"):
        redundancy_analysis(X, y, selector=BURSelector(max_seconds=0))


def test_a_selection_that_ran_out_of_time_is_analysed_as_far_as_it_went(rng, monkeypatch):
    X, y, _ = make_table(rng, 60, 6, False)
    steps, now, best = [], time.monotonic, unirel.search.steps._best
    monkeypatch.setattr(unirel.search.steps, "_best", lambda *given: (best(*given), steps.append(1))[0])
    # The budget ends with the third feature, within the second that is left to say something about it.
    begun = now()
    monkeypatch.setattr(time, "monotonic", lambda: begun + 100.5 * (len(steps) >= 3))
    result = redundancy_analysis(X, y, selector=by_neighbors(criterion="mim", beta=0, max_seconds=100))
    assert len(result.order) == len(result.curve) == 3
    assert not result.complete
    assert not result.exact


def test_a_search_of_subsets_that_runs_out_of_time_keeps_the_best(monkeypatch):
    X, y, options = hard_case()
    options["selector"].set_params(max_seconds=100)
    whole = redundancy_analysis(X, y, **options)
    assert whole.exact
    with pytest.warns(UnirelWarning):
        greedy = redundancy_analysis(X, y, max_exact=0, **options)
    calls, now = [], time.monotonic
    search = unirel.inference.redundancy._Search._try_all
    monkeypatch.setattr(
        unirel.inference.redundancy._Search, "_try_all", lambda *given: calls.append(1) or search(*given)
    )
    monkeypatch.setattr(time, "monotonic", lambda: now() + 1000 * len(calls))
    result = redundancy_analysis(X, y, **options)
    assert not result.complete
    assert not result.exact
    assert_array_equal(result.redundant, greedy.redundant)


# What comes out


def test_result_as_table_and_json(rng):
    strong, noise, weak = rng.normal(size=(3, 200))
    X = pd.DataFrame(
        {"strong": strong, "noise": noise, "weak": weak, "copy": strong, "id": [f"r{i}" for i in range(200)]}
    )
    with pytest.warns(UnirelWarning, match="ignored 'id'"):
        result = redundancy_analysis(X, 2 * strong + weak > 0, order=["noise", "strong", "weak", "copy"])
    frame = result.to_frame()
    assert list(frame.columns) == ["size", "feature", "name", "joint_information", "unique_relevance", "role"]
    assert frame["role"].tolist() == ["redundant", "conditional", "unique", "after saturation"]
    assert frame["name"].tolist() == ["noise", "strong", "weak", "copy"]
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert content["rate"] == result.rate == pytest.approx(1 / 3)
    assert content["redundant"] == [1]
    assert np.isnan(result.unique_relevance[4])
    assert repr(result) == "Redundancy(saturated=3 of 4, unique=1, conditional=1, redundant=1, rate=0.333)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": []}, "order is empty"),
        ({"order": [0, 1, 0]}, "order names 'x0' twice"),
        ({"order": [7]}, "7"),
        ({"order": ["age"]}, "age"),
        ({"tolerance": -0.1}, r"tolerance=-0.1 must be a number of nats from 0 on"),
        ({"tolerance": "none"}, "tolerance='none'"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"max_exact": -1}, "max_exact=-1 must be 'auto' or a whole number from 0 on"),
        ({"max_exact": 2.5}, "max_exact=2.5"),
        ({"max_features": 0}, "max_features=0"),
        ({"selector": BURSelector("best")}, "best"),
        ({"selector": BURSelector(beta=2)}, "beta=2 is out of range"),
        ({"selector": BURSelector(unique_relevance="none")}, "unique_relevance='none'"),
        ({"selector": by_neighbors("cosine")}, "metric='cosine'"),
        ({"selector": by_neighbors(n_neighbors=0)}, "n_neighbors=0"),
    ],
    ids=str,
)
def test_bad_input(options, message, rng):
    X, y, _ = make_table(rng, 30, 3, False)
    with pytest.raises((ValueError, KeyError, IndexError), match=message):
        redundancy_analysis(X, y, **options)


def test_an_ignored_column_cannot_be_in_the_order(rng):
    X, y, _ = make_table(rng, 30, 3, False)
    with pytest.raises(ValueError, match="'x0', which is ignored"):
        redundancy_analysis(X, y, order=[0], selector=BURSelector(discrete_features={0: None}))


def test_the_classifier_of_the_boost_can_be_chosen(rng, monkeypatch):
    X, y, _ = make_table(rng, 60, 4, False)
    asked = []

    def losses(self, table, *_):
        asked.append((self.estimator, self.cv))
        return np.linspace(0, 1, table.n_features)

    monkeypatch.setattr(ClassifierLoss, "losses", losses)
    selector = BURSelector("gsa", beta=0.1, unique_relevance=ClassifierLoss("knn", cv=3), mi_estimator="knn")
    result = redundancy_analysis(X, y, selector=selector)
    assert asked == [("knn", 3)]
    assert result.settings["unique_relevance"] == "ClassifierLoss(cv=3, estimator='knn')"
