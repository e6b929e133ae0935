"""Every criterion: its term, its fold, its score, and what the list promises."""

import importlib
import pkgutil

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose

import unirel.criteria
from unirel.criteria import CRITERIA, make_criterion
from unirel.criteria.base import Criterion
from unirel.criteria.jmi import JMI

any_criterion = pytest.mark.parametrize("name", CRITERIA)


class Known:
    """A source, and a twin of the estimates, with made-up values."""

    def __init__(self, n_columns=8):
        rng = np.random.default_rng(0)
        self._relevance = rng.random(n_columns)
        pairs = rng.random((2, n_columns, n_columns))
        self._pairwise, self._joint = pairs + pairs.transpose(0, 2, 1)

    def relevance(self, candidates):
        return self._relevance[candidates]

    def pairwise(self, candidates, column):
        return self._pairwise[candidates, column]

    def joint(self, candidates, selected):
        return self._joint[np.ix_(np.atleast_1d(candidates), np.atleast_1d(selected))].sum(axis=1)


class Twin(Known):
    def joint(self, x, selected):
        return float(super().joint(x, selected)[0])


FOLDS = {"mean": lambda terms: np.mean(terms, axis=0), "min": lambda terms: np.min(terms, axis=0)}
FOLDS |= {"sum": lambda terms: np.sum(terms, axis=0), "latest": lambda terms: terms[-1]}


@any_criterion
@pytest.mark.parametrize("selected", [[5], [5, 2], [1, 7, 3]])
def test_term_fold_and_score_make_the_formula(name, selected):
    source, criterion = Known(), make_criterion(name)
    candidates = np.setdiff1d(np.arange(8), selected)
    folded = np.zeros(len(candidates))
    if criterion.fold is not None:
        steps = [np.array(selected[: step + 1]) for step in range(len(selected))]
        folded = FOLDS[criterion.fold]([criterion.term(source, candidates, step) for step in steps])
    score = source.relevance(candidates) if criterion.fold is None else None
    ours = score if score is not None else criterion.score(source.relevance(candidates), folded)
    expected = [reference.CRITERIA[name](Twin(), x, selected) for x in candidates]
    assert_allclose(ours, expected, rtol=0, atol=1e-12)


@any_criterion
def test_every_criterion_has_a_formula_in_the_reference(name):
    assert name in reference.CRITERIA, f"write the formula of {name!r} into tests/reference.py and its CRITERIA"


@any_criterion
def test_made_by_name(name):
    criterion = make_criterion(name)
    assert isinstance(criterion, Criterion)
    assert type(criterion) is CRITERIA[name]
    assert criterion.name == name
    assert repr(criterion) == f"{type(criterion).__name__}()"


@any_criterion
def test_a_fold_is_one_of_four_or_none(name):
    assert CRITERIA[name].fold in {"sum", "mean", "min", "latest", None}


@any_criterion
def test_described(name):
    assert CRITERIA[name].__doc__.split(":")[0].strip()
    assert "nats" not in CRITERIA[name].__doc__


def test_every_file_is_in_the_list():
    files = {module.name for module in pkgutil.iter_modules(unirel.criteria.__path__)} - {"base"}
    assert files == set(CRITERIA)
    for name, criterion in CRITERIA.items():
        assert criterion.__module__ == importlib.import_module(f"unirel.criteria.{name}").__name__


def test_an_instance_stays_as_it_is():
    criterion = JMI()
    assert make_criterion(criterion) is criterion


@pytest.mark.parametrize("wrong", ["JMI", "", None, 3, JMI], ids=repr)
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"criterion=.* is not one of 'mim', 'mrmr', 'jmi', 'jmim', 'cmim', 'gsa'"):
        make_criterion(wrong)


def test_a_class_needs_a_name():
    with pytest.raises(TypeError, match="name"):
        type("Nameless", (Criterion,), {})
