"""Public names say what they are for, with the sections of numpydoc; the linter asks nobody, as helpers need none."""

import inspect
from itertools import pairwise

import pytest

import unirel
from unirel import results
from unirel.criteria import CRITERIA, make_criterion

MODULES = (unirel, unirel.datasets, unirel.evaluation, unirel.plotting, unirel.report)
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if callable(getattr(module, name))
}
RESULTS = {
    f"unirel.{name}": one
    for name, one in vars(results).items()
    if inspect.isclass(one) and one.__module__ == results.__name__
}
FUNCTIONS = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one)}
# What estimators of information implement is told by their base.
WITH_MEMBERS = {
    name: one
    for name, one in (PUBLIC | RESULTS).items()
    if inspect.isclass(one) and one.__module__.startswith("unirel.") and not hasattr(one, "check_parameters")
}


def sections(thing):
    """The sections of a docstring, in their order."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    return [line for line, under in pairwise(lines) if line and under == "-" * len(line)]


def has_own_docstring(thing):
    """Whether it has one that is neither inherited nor made by `dataclass`."""
    written = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return bool(written) and not written.startswith(f"{thing.__name__}(")


def test_there_is_something_to_look_at():
    assert {"unirel.relevance", "unirel.evaluation.compare"} <= set(FUNCTIONS)
    assert {"unirel.BURSelector", "unirel.Selection", "unirel.report.Report"} <= set(WITH_MEMBERS)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_modules_say_what_they_are(module):
    assert module.__doc__


@pytest.mark.parametrize("name", PUBLIC | RESULTS)
def test_public_names_say_what_they_are_for(name):
    assert has_own_docstring((PUBLIC | RESULTS)[name])


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_say_what_they_score(name):
    assert has_own_docstring(type(make_criterion(name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_an_example_and_say_what_they_take(name):
    function = FUNCTIONS[name]
    wanted = ["Parameters", "Examples"] if len(inspect.signature(function).parameters) > 1 else ["Examples"]
    assert [one for one in sections(function) if one in wanted] == wanted


@pytest.mark.parametrize("name", [name for name in unirel.__all__ if hasattr(getattr(unirel, name), "get_params")])
def test_estimators_say_what_each_parameter_is(name):
    estimator = getattr(unirel, name)
    if inspect.signature(estimator).parameters:
        assert "Parameters" in sections(estimator)


@pytest.mark.parametrize("name", WITH_MEMBERS)
def test_public_methods_say_what_they_do(name):
    """The page of a class shows only those that do."""
    thing = WITH_MEMBERS[name]
    members = [member for member, value in inspect.getmembers(thing) if inspect.isroutine(value) or is_property(value)]
    ours = [member for member in members if not member.startswith("_") and is_ours(thing, member)]
    assert [member for member in ours if not inspect.getdoc(inspect.getattr_static(thing, member))] == []


def is_property(value):
    return isinstance(value, property)


def is_ours(thing, member):
    """Whether this package, and no library, has written it."""
    owner = next(base for base in thing.__mro__ if member in vars(base))
    return owner.__module__.startswith("unirel")
