"""Options are declared once: everything else that lists them must follow."""

import inspect
import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import unirel
from unirel.criteria import CRITERIA
from unirel.options import (
    EstimationOptions,
    MeasureOptions,
    Option,
    ReadingOptions,
    SelectionOptions,
    SelectorOptions,
    complete,
    documented,
    is_default,
    options_of,
    part_of,
    settings_of,
)

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0


def test_the_selector_has_the_options_that_are_declared_with_the_same_defaults():
    parameters = inspect.signature(unirel.BURSelector).parameters
    declared = {name: option.default for name, option in options_of(SelectorOptions).items() if name != "progress"}
    assert {name: parameter.default for name, parameter in parameters.items()} == declared


@pytest.mark.parametrize("group", [ReadingOptions, EstimationOptions, SelectionOptions, SelectorOptions])
def test_defaults_pass_their_own_check(group):
    assert set(complete(group, {}, "a test")) == set(options_of(group))


@pytest.mark.parametrize("name", options_of(SelectorOptions))
def test_every_option_says_what_it_means(name):
    option = options_of(SelectorOptions)[name]
    assert isinstance(option, Option)
    assert option.kind
    assert option.meaning.endswith(".")


CALLS = {
    "mutual_information": lambda **options: unirel.mutual_information(X, Y, **options),
    "relevance": lambda **options: unirel.relevance(X, Y, **options),
    "conditional_relevance": lambda **options: unirel.conditional_relevance(X, Y, [0], **options),
    "irrelevance": lambda **options: unirel.irrelevance(X, Y, **options),
    "unique_relevance": lambda **options: unirel.unique_relevance(X, Y, **options),
    "selection_path": lambda **options: unirel.selection_path(X, Y, **options),
    "redundancy_analysis": lambda **options: unirel.redundancy_analysis(X, Y, **options),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_misspelt_option_is_an_error_that_names_the_nearest(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option scal=; did you mean scale=\?"):
        CALLS[name](scal=None)


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_value_is_named_with_what_is_allowed(name):
    with pytest.raises(ValueError, match="missing='drop' is not one of 'level', 'error'"):
        CALLS[name](missing="drop")


def test_an_option_that_is_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(TypeError, match="no option zzz=; there are kinds, target_kind"):
        complete(ReadingOptions, {"zzz": 1}, "read")


def test_docstrings_list_all_options():
    for function, group in ((unirel.selection_path, SelectionOptions), (unirel.relevance, MeasureOptions)):
        for name in options_of(group):
            assert f"\n{name} : " in inspect.getdoc(function)  # from 3.13 on Python takes the indentation away itself
    for name in set(options_of(SelectorOptions)) - {"progress"}:
        assert f"\n{name} : " in inspect.getdoc(unirel.BURSelector)


def test_a_docstring_that_was_stripped_stays_so():
    def function():
        pass

    assert documented(ReadingOptions)(function).__doc__ is None


def test_settings_are_plain_and_leave_out_what_decides_nothing():
    given = {"n_jobs": 2, "verbose": True, "unique_relevance": np.zeros(3), "kinds": {0: "discrete"}, "cv": object()}
    settings = settings_of({**complete(SelectorOptions, {}, "a test"), **given, "include": np.array([1, 2])})
    assert json.loads(json.dumps(settings)) == settings
    assert not {"n_jobs", "verbose", "progress"} & set(settings)
    assert settings["unique_relevance"] == "given values"
    assert settings["include"] == [1, 2]
    assert settings["kinds"] == {"0": "discrete"}


def test_defaults_are_recognised_in_settings():
    settings = settings_of(complete(SelectorOptions, {"n_neighbors": 7}, "a test"))
    assert [name for name, value in settings.items() if not is_default(name, value)] == ["n_neighbors"]


def test_a_part_of_options():
    whole = complete(SelectorOptions, {}, "a test")
    assert set(part_of(ReadingOptions, whole)) == {"kinds", "target_kind", "scale", "missing"}


def test_criteria_are_listed_where_a_user_looks():
    assert all(f'"{name}"' in options_of(SelectorOptions)["criterion"].kind for name in CRITERIA)


def test_cross_validation_takes_the_options_of_its_selector():
    inner = unirel.BURSelector("mim", estimator="binned", exclude=[0])
    selector = unirel.BURSelectorCV(GaussianNB(), inner, betas=[0], max_features=2, cv=2).fit(X, Y)
    assert selector.selection_.criterion == "mim"
    assert 0 not in selector.order_
    assert selector.get_params()["selector__estimator"] == "binned"
