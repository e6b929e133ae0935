"""What is boosted: the blend, its spread, and unique relevance of every kind as the search uses it."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from unirel import KNN, Boost, BURSelector, ClassifierLoss, selection_path, unique_relevance
from unirel.data.table import Table
from unirel.results import Cause
from unirel.search.boost import REFERENCE_SIZE, Blend, Sample, find_blend, find_kind, needs_reference
from unirel.search.greedy import SearchSettings

CLOSE = {"rtol": 0, "atol": 1e-12}


NOTHING = np.empty(0, np.intp)


def blend_of(table, kind, reference, **parameters):
    settings = SearchSettings(unique_relevance=kind, **parameters)
    return find_blend(table, find_kind(settings), reference, table.features, settings)


def stepwise_of(table):
    return Sample(table, table.features, 2000, SearchSettings())


@pytest.fixture
def data(rng):
    X = rng.normal(size=(80, 6))
    return X, X[:, :3].sum(axis=1) > 0


@pytest.fixture
def table(data):
    return Table.from_data(*data)


# The blend


@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("beta", [0.1, 0.5, 1])
def test_blend_equals_formula(rng, rescale, beta):
    scores, unique = rng.normal(size=5), rng.normal(size=9)
    candidates = np.array([8, 1, 3, 0, 5])
    ours = Blend(unique, rescale).blend(scores, candidates, NOTHING, beta)
    assert_allclose(ours, reference.blended(scores, unique[candidates], beta, rescale), **CLOSE)


def test_rescaled_values_have_the_spread_of_the_scores(rng):
    scores, unique = 1000 * rng.normal(size=20), 1e-6 * rng.normal(size=20)
    blended = Blend(unique, rescale=True).blend(scores, np.arange(20), NOTHING, 1.0)
    assert np.std(blended) == pytest.approx(np.std(scores))


def test_units_of_rescaled_values_do_not_matter(rng):
    scores, unique, all_of_them = rng.normal(size=20), rng.normal(size=20), np.arange(20)
    blended = Blend(unique, rescale=True).blend(scores, all_of_them, NOTHING, 0.3)
    assert_allclose(Blend(1e5 * unique, rescale=True).blend(scores, all_of_them, NOTHING, 0.3), blended, **CLOSE)


@pytest.mark.parametrize(
    ("scores", "unique"), [([1.0], [3.0]), ([1.0, 1.0], [3.0, 5.0]), ([1.0, 2.0], [3.0, 3.0]), ([0.0, 0.0], [0.0, 0.0])]
)
def test_without_a_spread_values_stay_as_they_are(scores, unique):
    blended = Blend(np.array(unique), rescale=True).blend(np.array(scores), np.arange(len(scores)), NOTHING, 0.5)
    assert_allclose(blended, np.mean([scores, unique], axis=0), **CLOSE)


@pytest.mark.parametrize("n", [3, 7])
@pytest.mark.parametrize("value", [0.1, 0.7])
def test_equal_values_have_no_spread_whatever_rounding_says(n, value):
    # The mean of n equal numbers may differ from them in its last bit, and numpy's deviation is then not 0.
    equal, different = np.full(n, value), np.linspace(0, 1, n)
    for scores, unique in ((equal, different), (different, equal)):
        blended = Blend(unique, rescale=True).blend(scores, np.arange(n), NOTHING, 0.5)
        assert_allclose(blended, (scores + unique) / 2, **CLOSE)


# The kinds


def test_reference_kind(data, table):
    boost = blend_of(table, "reference", [2, 0])
    assert boost.rescale
    assert_allclose(boost.values[:6], unique_relevance(*data, method="reference", reference=[2, 0]), **CLOSE)
    features = [reference.read(column, "continuous") for column in data[0].T]
    target = [reference.read(data[1], "discrete")]
    assert_allclose(boost.values[:6], reference.unique_beside_reference(features, target, [2, 0]), rtol=0, atol=1e-10)


def test_reference_kind_has_its_own_number_of_neighbours(data, table):
    boost = blend_of(table, "reference", [2, 0], mi_estimator=KNN(3, "manhattan"))
    expected = unique_relevance(*data, reference=[2, 0], method=KNN(n_neighbors=10, metric="manhattan"))
    assert_array_equal(boost.values[:6], expected)


def test_reference_size_of_the_design():
    assert REFERENCE_SIZE == 20


def test_ksg_kind_is_clipped(data, table):
    neighbors = KNN(4, "euclidean")
    expected = unique_relevance(*data, clip=False, method=neighbors)
    assert expected.min() < 0
    # By name those of the estimator of information, or neighbours of its own.
    for boost in (blend_of(table, "ksg", None, mi_estimator=neighbors), blend_of(table, neighbors, None)):
        assert not boost.rescale
        assert_array_equal(boost.values[:6], np.maximum(expected, 0))


def test_classifier_kind_is_stretched(data, table, monkeypatch):
    losses = np.array([0.3, 0.9, 0.5, 0.1, 0.1, 0.2])
    asked = []

    def losses_of(self, table, columns=None, n_jobs=None, progress=None):
        asked.append((self.estimator, self.cv, columns.tolist(), n_jobs))
        return losses

    monkeypatch.setattr(ClassifierLoss, "losses", losses_of)
    boost = blend_of(table, ClassifierLoss("rf", cv=3), None, n_jobs=2)
    assert asked == [("rf", 3, [0, 1, 2, 3, 4, 5], 2)]
    assert not boost.rescale
    assert_allclose(boost.values[:6], reference.stretched(losses), **CLOSE)


def test_a_classifier_is_trained_without_the_candidates_only(data):
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y):
            fits.append(X.shape[1])
            return super().fit(X, y)

    given = {"unique_relevance": ClassifierLoss(Counted(), cv=3), "mi_estimator": "knn"}
    selector = BURSelector("mim", 2, beta=0.5, max_candidates=3, **given).fit(*data)
    assert fits == [5] * 3 * 3  # folds, and candidates, each of them beside all others
    asked = np.sort(np.argsort(-selector.relevance_, kind="stable")[:3])
    whole = unique_relevance(*data, method=ClassifierLoss(LogisticRegression(), cv=3))
    found = selector.unique_relevance_
    assert np.flatnonzero(~np.isnan(found)).tolist() == asked.tolist()
    assert_allclose(found[asked], reference.stretched(whole[asked]), **CLOSE)


@pytest.mark.parametrize("kind", [[1, 2, 3, -4, 5, 0], (1, 2, 3, -4, 5, 0), np.array([1, 2, 3, -4, 5, 0])], ids=type)
def test_given_values_stay_as_they_are(table, kind):
    boost = blend_of(table, kind, None)
    assert not boost.rescale
    assert_array_equal(boost.values[:6], [1, 2, 3, -4, 5, 0])


def test_only_kinds_with_a_reference_need_an_unboosted_run():
    asked = ["reference", "both", Boost("reference", 100), "selected", "ksg", "classifier", np.zeros(3)]
    kinds = [find_kind(SearchSettings(unique_relevance=one)) for one in asked]
    assert [needs_reference(kind) for kind in kinds] == [True, True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("boost", "message"),
    [
        (Boost("most"), "kind='most' is not one of 'both', 'reference', 'selected'"),
        (Boost(max_samples=5), "max_samples=5 must be a whole number from 10 on"),
    ],
    ids=str,
)
def test_wrong_parameters_of_a_boost_are_named(data, boost, message):
    with pytest.raises(ValueError, match=message):
        BURSelector(unique_relevance=boost).fit(*data)


def test_ignored_columns_have_none(data):
    table = Table.from_data(*data, discrete_features={1: None})
    for kind, members in (("reference", [2, 0]), ("ksg", None)):
        values = blend_of(table, kind, members, mi_estimator=KNN(metric="euclidean")).values
        assert np.flatnonzero(np.isnan(values[:6])).tolist() == [1]
    given = blend_of(table, [1, np.nan, 3, 4, 5, 6], None).values
    assert_array_equal(given[[0, 2]], [1, 3])


# Given the selected features


@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_stepwise_equals_definition(data, target):
    X, y = data
    y = y if target == "discrete" else X[:, :3].sum(axis=1)
    features, values = [reference.read(column, "continuous") for column in X.T], [reference.read(y, target)]
    ours = stepwise_of(Table.from_data(X, y)).added(np.array([2, 0]), np.array([1, 4]))
    expected = reference.beside_selected(features, values, [2, 0])
    assert_allclose(ours, np.array(expected)[[1, 4]], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("kind", "beta"), [("selected", 0.2), ("both", 0.5)])
def test_blend_with_a_stepwise_term_equals_formula(rng, data, table, kind, beta):
    boost = blend_of(table, kind, [2, 0] if kind == "both" else None)
    candidates, selected, scores = np.array([1, 3, 4, 5]), np.array([2, 0]), rng.normal(size=4)
    later = boost.stepwise.added(selected, candidates)
    share = 0.4 if kind == "both" else 1.0
    terms = scores / scores.std() * (1 - beta) + later / later.std() * beta * share
    if kind == "both":
        before = boost.values[candidates]
        terms = terms + before / before.std() * beta * (1 - share)
    assert_allclose(boost.blend(scores, candidates, selected, beta), terms * scores.std(), rtol=0, atol=1e-12)


def test_beside_nothing_the_score_takes_the_place_of_the_stepwise_term(rng, table):
    scores, candidates = rng.normal(size=6), np.arange(6)
    assert_allclose(blend_of(table, "selected", None).blend(scores, candidates, NOTHING, 0.2), scores, **CLOSE)


def test_only_the_best_candidates_are_asked_about(rng):
    X = rng.normal(size=(30, 70))
    table = Table.from_data(X, X[:, 0] > 0)
    boost = blend_of(table, "selected", None)
    scores, candidates = rng.normal(size=69), np.arange(1, 70)
    blended = boost.blend(scores, candidates, np.array([0]), 0.3)
    assert_array_equal(np.flatnonzero(np.isfinite(blended)), np.sort(np.argsort(-scores)[:50]))


def test_beside_many_features_the_first_count(rng):
    X = rng.normal(size=(40, 30))
    stepwise = stepwise_of(Table.from_data(X, X[:, 0] > 0))
    order, candidates = np.arange(28), np.array([28, 29])
    assert_array_equal(stepwise.added(order[:26], candidates), stepwise.added(order[:24], candidates))
    assert not np.array_equal(stepwise.added(order[:23], candidates), stepwise.added(order[:24], candidates))


# What made a feature enter


def test_the_cause_is_the_term_without_which_another_would_enter(rng):
    X = rng.normal(size=(150, 12))
    X[:, 6:] = X[:, :6] + 0.3 * rng.normal(size=(150, 6))
    y = X[:, :4].sum(axis=1) > 0
    path = selection_path(
        X, y, criteria="jmi", betas=[0, 0.5], selector=BURSelector(n_features_to_select=8, include=[11])
    )
    plain, boosted = path.selection("jmi", 0), path.selection("jmi", 0.5)
    assert plain.causes == (Cause.INCLUDED, *[Cause.CRITERION] * 7)
    assert boosted.causes[0] is Cause.INCLUDED
    assert {Cause.REFERENCE, Cause.SELECTED} & set(boosted.causes)
    for place, cause in enumerate(boosted.causes[1:], start=1):
        # With the same features before it, the plain criterion takes it if and only if that is said.
        before = boosted.order[:place].tolist()
        again = selection_path(
            X, y, criteria="jmi", betas=0, selector=BURSelector(n_features_to_select=place + 1, include=before)
        )
        assert (again.order("jmi", 0)[-1] == boosted.order[place]) == (cause is Cause.CRITERION)


@pytest.mark.parametrize(
    ("kind", "possible"), [("reference", "reference"), ("selected", "selected"), ("ksg", "unique")]
)
def test_a_kind_of_boost_is_the_cause_only_where_it_is_used(rng, kind, possible):
    X = rng.normal(size=(120, 8))
    X[:, 4:] = X[:, :4] + 0.2 * rng.normal(size=(120, 4))
    path = selection_path(
        X, X[:, :3].sum(axis=1) > 0, criteria="jmi", betas=0.8, selector=BURSelector(unique_relevance=kind)
    )
    causes = set(path.selections[0].causes)
    assert causes <= {"criterion", possible}
    assert possible in causes
