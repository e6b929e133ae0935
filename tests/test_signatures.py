"""What a user may pass: few parameters, all of them written out, the same ones everywhere."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

import unirel
from unirel import (
    KDE,
    KNN,
    MINE,
    Binned,
    Boost,
    BURSelector,
    BURSelectorCV,
    ClassifierLoss,
    Gaussian,
    Partition,
    Plugin,
)
from unirel._runtime import Parameters
from unirel.data.table import Table
from unirel.search.greedy import SearchSettings, described

PUBLIC = {name: getattr(unirel, name) for name, home in unirel._HOME.items() if home != "unirel"}  # that is a package
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
ESTIMATORS = {
    name: value
    for name, value in PUBLIC.items()
    if inspect.isclass(value) and issubclass(value, BaseEstimator | Parameters)
}


def parameters_of(function):
    return dict(inspect.signature(function).parameters)


def test_there_is_something_to_look_at():
    assert {"relevance", "relevance_test", "selection_path", "selection_stability"} <= set(FUNCTIONS)
    assert {"BURSelector", "BURSelectorCV", "KNN", "Binned", "Boost", "ClassifierLoss"} <= set(ESTIMATORS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_at_most_twelve_parameters_all_written_out(name):
    parameters = parameters_of(FUNCTIONS[name])
    assert len(parameters) <= (13 if name == "conditional_test" else 12)  # those of relevance_test, and what is given
    assert not [one for one in parameters.values() if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    described = FUNCTIONS[name].__doc__.split("Parameters\n")[1].split("Returns\n")[0]
    assert [one for one in parameters if not re.search(rf"\b{one}\b", described)] == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_at_most_eighteen_parameters_all_written_out(name):
    parameters = parameters_of(ESTIMATORS[name])
    assert len(parameters) <= 18
    assert not [one for one in parameters.values() if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


def test_the_settings_of_a_search_are_the_parameters_of_the_selector():
    given = {name: one.default for name, one in parameters_of(BURSelector).items()}
    assert given == {name: one.default for name, one in parameters_of(SearchSettings).items()}
    selector = BURSelector()
    assert selector.settings() is selector
    assert described(selector) == described(SearchSettings())
    assert set(described(selector)) == set(given) - {"n_jobs", "verbose"}
    described_there = BURSelector.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
    assert [one for one in given if not re.search(rf"\b{one}\b", described_there)] == []


# Objects with parameters of their own


OBJECTS = [
    KNN(5, "euclidean", "rank", None),
    Binned(4, "uniform", None, {"a": [0.0, 1.0]}),
    Plugin(None),
    Gaussian(0.1),
    Partition(),
    KDE(),
    MINE(),
    Boost("reference", 100),
    ClassifierLoss("knn", 3),
]


@pytest.mark.parametrize("one", OBJECTS, ids=lambda one: type(one).__name__)
def test_an_object_is_its_parameters(one):
    parameters = one.get_params()
    assert set(parameters_of(type(one))) <= set(parameters)
    twin = clone(one)
    assert twin is not one
    assert twin.get_params() == parameters
    assert repr(twin) == repr(one) == repr(type(one)(**parameters))
    plain = type(one)()
    assert plain.set_params(**parameters) is plain
    assert plain.get_params() == parameters
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        one.set_params(nonsense=1)


def test_what_an_object_is_asked_for_is_seen():
    assert repr(Binned()) == "Binned()"
    assert repr(KNN(n_neighbors=5)) == "KNN(n_neighbors=5)"
    assert repr(BURSelector(mi_estimator=Binned(n_bins=4))) == "BURSelector(mi_estimator=Binned(n_bins=4))"
    assert repr(BURSelector(unique_relevance=Boost("selected"))) == (
        "BURSelector(unique_relevance=Boost(kind='selected'))"
    )


def test_parameters_are_reached_from_outside():
    loss = ClassifierLoss(LogisticRegression())
    selector = BURSelectorCV(LogisticRegression(), BURSelector(mi_estimator=KNN(), unique_relevance=loss))
    selector.set_params(
        selector__mi_estimator__n_neighbors=7,
        selector__unique_relevance__cv=3,
        selector__unique_relevance__estimator__C=2,
    )
    assert selector.selector.mi_estimator.n_neighbors == 7
    assert (loss.cv, loss.estimator.C) == (3, 2)
    twin = clone(selector)
    assert twin.get_params()["selector__mi_estimator__n_neighbors"] == 7
    assert twin.selector.mi_estimator is not selector.selector.mi_estimator


def test_an_estimator_on_a_table_is_another_object(rng):
    """One object can be asked about many tables, in any order, and is not changed by any of them."""
    tables = [Table.from_data(X, X[:, 0] > 0) for X in rng.normal(size=(2, 50, 3))]
    neighbors = KNN(4)
    before = dict(vars(neighbors))
    first, second = (neighbors.on(table) for table in tables)
    assert vars(neighbors) == before
    assert first.get_params() == second.get_params() == neighbors.get_params()
    expected = [KNN(4).on(table).relevance(table.features) for table in tables]
    np.testing.assert_array_equal(second.relevance(tables[1].features), expected[1])
    np.testing.assert_array_equal(first.relevance(tables[0].features), expected[0])


# What is printed, set and cloned as by scikit-learn's own base class


class Theirs(BaseEstimator):
    def __init__(self, one=1, other="auto", inner=None):
        self.one, self.other, self.inner = one, other, inner


class Ours(Parameters):
    def __init__(self, one=1, other="auto", inner=None):
        self.one, self.other, self.inner = one, other, inner


def without_name(text):
    return text.replace("Theirs", "").replace("Ours", "")


@pytest.mark.parametrize("given", [{}, {"one": 2}, {"other": None, "one": 3.0}, {"other": "auto"}])
def test_parameters_are_those_of_scikit_learn(given):
    ours, theirs = Ours(**given, inner=Ours(one=5)), Theirs(**given, inner=Theirs(one=5))
    for deep in (False, True):
        mine, other = ours.get_params(deep=deep), theirs.get_params(deep=deep)
        assert mine.keys() == other.keys()
        assert {name: mine[name] for name in mine if name != "inner"} == {
            name: other[name] for name in other if name != "inner"
        }
    assert without_name(repr(ours)) == without_name(repr(theirs))
    for one in (ours, theirs):
        one.set_params(inner__other="changed", one=9)
        assert (one.one, one.inner.other, one.inner.one) == (9, "changed", 5)
    copy = clone(ours)
    assert copy is not ours
    assert copy.inner is not ours.inner
    assert repr(copy) == repr(ours)


def test_a_parameter_that_is_not_there_is_named_beside_those_that_are():
    with pytest.raises(ValueError, match="Invalid parameter 'two' of Ours; its parameters are 'one', 'other', 'inner'"):
        Ours().set_params(two=2)
    with pytest.raises(ValueError, match="Invalid parameter 'bins' of Binned"):
        BURSelector(mi_estimator=Binned()).set_params(mi_estimator__bins=2)


def test_a_new_inner_object_comes_before_its_parameters():
    assert Ours().set_params(inner__one=7, inner=Ours(one=6)).inner.one == 7
