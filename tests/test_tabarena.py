"""The adapter for TabArena's feature-selection benchmark, with a base class that does what TabArena's does."""

import pickle
import sys
import types

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
from benchmarks import tabarena  # noqa: E402
from unirel import BURSelector  # noqa: E402


class AbstractFeatureSelector:
    """As far as a selector sees it: scores of features in, the largest `max_features` of them out."""

    def __init__(self, max_features, **options):
        self.max_features = max_features

    def fit_transform(self, X, y, problem_type=None, time_limit=None):
        self.problem_type = problem_type
        assert self.feature_scoring_method
        self.scores = self._fit_feature_scoring(X=X, y=y, time_limit=time_limit)
        return X[sorted(self.scores, key=self.scores.get, reverse=True)[: self.max_features]]


@pytest.fixture
def selector_class(monkeypatch):
    module = types.ModuleType(tabarena.BASE)
    module.AbstractFeatureSelector = AbstractFeatureSelector
    names = tabarena.BASE.split(".")
    for end in range(1, len(names)):
        monkeypatch.setitem(sys.modules, ".".join(names[:end]), types.ModuleType(".".join(names[:end])))
    monkeypatch.setitem(sys.modules, tabarena.BASE, module)
    yield tabarena.UnirelFeatureSelector
    vars(tabarena).pop("UnirelFeatureSelector")


@pytest.fixture
def table(rng):
    """Two columns and a category that matter, and seven that do not."""
    X = pd.DataFrame(rng.normal(size=(300, 9)), columns=[f"x{j}" for j in range(9)])
    X["kind"] = pd.Categorical(rng.choice(["a", "b", "c"], 300))
    y = 2.0 * X["x3"] + X["x5"] + X["kind"].map({"a": 0.0, "b": 2.0, "c": -2.0}).astype(float)
    return X, y


@pytest.mark.parametrize(("problem_type", "target_kind"), [("regression", "continuous"), ("multiclass", "discrete")])
def test_it_selects_what_the_default_does_in_its_order(selector_class, table, problem_type, target_kind):
    X, y = table[0], table[1].round().astype(int)
    selector = selector_class(max_features=4)
    found = selector.fit_transform(X, y, problem_type)
    direct, other = (
        BURSelector(n_features_to_select=4, target_type=kind).fit(X, y)
        for kind in (target_kind, "discrete" if target_kind == "continuous" else "continuous")
    )
    assert list(found) == [X.columns[j] for j in direct.order_]
    assert {"x3", "kind"} <= set(found)
    names = list(X)
    assert selector.scores == tabarena.scores_of(direct, names) != tabarena.scores_of(other, names)


def test_every_feature_has_a_score_of_its_own(selector_class, table):
    X, y = table
    selector = selector_class(max_features=3)
    selector.fit_transform(X, y)
    assert set(selector.scores) == set(X)
    assert len(set(selector.scores.values())) == X.shape[1]
    direct = BURSelector(n_features_to_select=3).fit(X, y)
    ranked = sorted(np.flatnonzero(~direct.support_), key=lambda j: -direct.relevance_[j])
    ranked_names = [X.columns[j] for j in (*direct.order_, *ranked)]
    assert sorted(X, key=lambda name: -selector.scores[name]) == ranked_names


def test_more_features_than_there_are_are_all_of_them(selector_class, table):
    X, y = table
    assert set(selector_class(max_features=50).fit_transform(X, y, "regression")) == set(X)


def test_time_limit_is_that_of_the_selection(selector_class, table, monkeypatch):
    X, y = table
    seen = []
    monkeypatch.setattr(BURSelector, "fit", lambda self, X, y: seen.append(self.max_seconds) or _out_of_time())
    assert selector_class(max_features=3)._fit_feature_scoring(X=X, y=y, time_limit=12) == {}
    assert seen == [12]


def _out_of_time():
    raise TimeoutError("no feature was selected")


def test_it_survives_a_pickle(selector_class):
    again = pickle.loads(pickle.dumps(selector_class(max_features=3)))
    assert type(again) is selector_class
    assert again.max_features == 3


def test_a_missing_library_is_said_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, tabarena.BASE.split(".")[0], None)
    with pytest.raises(ImportError, match=r"UnirelFeatureSelector needs tabarena.*install TabArena") as caught:
        _ = tabarena.UnirelFeatureSelector
    assert "\n" not in str(caught.value)


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tabarena.nonsense
