"""Relevance for each class against a plain twin: the relevance of whether the target is that class."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, load_wine

from unirel import KNN, Binned, BURSelector, relevance, selection_path
from unirel.report import Report

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

ESTIMATORS = {
    "knn": KNN(),
    "binned": Binned(),
    "no correction": Binned(correction=None),
    "miller-madow": Binned(correction="miller-madow"),
    "uniform": Binned(n_bins=4, strategy="uniform"),
    "mdl": Binned(strategy="mdl"),
    "gaussian": "gaussian",
}


def twin(X, y, **options):
    """One estimate for each class, each with a target of its own."""
    return np.column_stack([relevance(X, np.asarray(y) == own, **options) for own in np.unique(y)])


@pytest.fixture
def mixed(rng):
    """Columns of all kinds with missing values, and four classes, one of them rare."""
    n = 240
    y = rng.choice(np.array(["a", "b", "c", "rare"], object), n, p=[0.4, 0.3, 0.25, 0.05])
    X = pd.DataFrame(
        {
            "normal": rng.normal(size=n) + (y == "b"),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) + 2 * (y == "c")),
            "text": np.where(rng.random(n) < 0.5, "same", y),
            "noise": rng.integers(0, 4, n),
            "constant": np.zeros(n),
            "text with gaps": np.where(rng.random(n) < 0.3, None, np.where(y == "rare", "x", "y")),
        }
    )
    return X, y


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("clip", [True, False])
def test_it_is_the_relevance_of_one_class_against_the_rest(mixed, name, clip):
    X, y = mixed
    options = {"mi_estimator": ESTIMATORS[name], "clip": clip}
    found = relevance(X, y, per_class=True, **options)
    assert_allclose(found, twin(X, y, **options), rtol=0, atol=1e-10)
    assert list(found.index) == list(X.columns)
    assert list(found.columns) == ["a", "b", "c", "rare"]


def test_clipping_matters_here(mixed):
    X, y = mixed
    raw = relevance(X, y, mi_estimator="binned", per_class=True, clip=False)
    assert raw.min(axis=None) < 0 <= relevance(X, y, mi_estimator="binned", per_class=True).min(axis=None)


def test_arrays_sparse_matrices_and_other_frames_give_arrays(rng):
    X, y = rng.poisson(0.4, (150, 12)).astype(float), rng.integers(0, 3, 150)
    X[:, 0] = y == 1
    expected = twin(X, y, mi_estimator="binned")
    for table in (X, sparse.csr_matrix(X), pl.DataFrame(X), X.tolist()):
        found = relevance(table, y, mi_estimator="binned", per_class=True)
        assert type(found) is np.ndarray
        assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert_array_equal(relevance(X, y, mi_estimator="binned", per_class=True, n_jobs=2), found)


def test_rows_in_parts_are_counted_in_one_pass(rng):
    X, y = rng.integers(0, 4, (150, 3)), rng.integers(0, 3, 150)
    columns = {f"c{place}": column for place, column in enumerate(X.T)}
    parts = ds.dataset([pa.table({**columns, "y": y}).slice(0, 70), pa.table({**columns, "y": y}).slice(70)])
    found = relevance(parts, "y", per_class=True)
    assert_allclose(found, twin(X, y, mi_estimator="binned"), rtol=0, atol=1e-12)


def test_a_column_of_very_many_levels_is_counted_too(rng):
    """Its table of all classes would have far more cells than there are rows."""
    y = rng.permutation(np.arange(600) % 200)
    X = np.column_stack([np.arange(600) // 2, rng.integers(0, 3, 600)])
    options = {"mi_estimator": "plugin", "discrete_features": True}
    assert 300 * 200 > 2**14
    found = relevance(X, y, per_class=True, target_type="discrete", **options)
    assert_allclose(found[:, :5], twin(X, y, **options)[:, :5], rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", ["knn", "binned"])
def test_of_two_classes_each_is_the_other_one_turned_round(rng, estimator):
    X = rng.normal(size=(80, 3))
    y = X[:, 0] > 0
    alone = relevance(X, y, mi_estimator=estimator)
    assert_array_equal(relevance(X, y, mi_estimator=estimator, per_class=True), np.column_stack([alone, alone]))


def test_ignored_columns_are_missing():
    X = pd.DataFrame({"id": [f"id {row}" for row in range(60)], "a": np.arange(60) % 3})
    found = relevance(X, X["a"], mi_estimator="binned", per_class=True)
    assert found.loc["id"].isna().all()
    assert (found.loc["a"] > 0.5).all()


def test_numbers_as_a_target_have_no_classes():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"per_class=True needs class labels, but y is continuous \(more than"):
        relevance(X, y, per_class=True)
    with pytest.raises(ValueError, match="confidence_level= and per_class=True do not go together"):
        relevance(X, y > 100, per_class=True, confidence_level=0.9)


# In a selection


def test_a_selection_says_for_which_class_each_feature_is(mixed):
    X, y = mixed
    selection = BURSelector(n_features_to_select="all").fit(X, y).selection_
    values = relevance(X, y, mi_estimator="binned", per_class=True, clip=False)
    best = {name: row.idxmax() if row.max() > 0 else None for name, row in values.iterrows()}
    assert selection.for_class == tuple(best[name] for name in selection.selected_names)
    assert {"b", "c", None} <= set(selection.for_class)
    assert [row["for_class"] for row in selection.to_dict()["features"]] == list(selection.for_class)
    assert selection.to_frame()["for_class"].tolist()[:2] == list(selection.for_class[:2])


def test_weights_count(mixed):
    X, y = mixed
    twice = np.concatenate([np.arange(len(y)), np.flatnonzero(y == "c")])
    weighted = BURSelector(n_features_to_select=3).fit(X, y, 1 + (y == "c")).selection_
    repeated = BURSelector(n_features_to_select=3).fit(X.iloc[twice], y[twice]).selection_
    assert weighted.selected_names == repeated.selected_names
    assert weighted.for_class == repeated.for_class != ()


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (load_diabetes(return_X_y=True), {}),  # no classes
        ((load_iris().data[:100], load_iris().target[:100]), {}),  # two
        (load_iris(return_X_y=True), {"mi_estimator": "knn"}),  # not from one pass
    ],
    ids=["numbers", "two classes", "neighbours"],
)
def test_where_it_is_not_cheap_or_says_nothing_it_is_left_out(data, options):
    selection = BURSelector(n_features_to_select=2, **options).fit(*data).selection_
    assert selection.for_class == ()
    assert "for_class" not in selection.to_frame()


def test_paths_and_pages_have_it():
    X, y = load_wine(return_X_y=True)
    path = selection_path(X, y, selector=BURSelector(n_features_to_select=2), criteria=["mim"], betas=[0, 0.5])
    assert len(path.to_frame()["for_class"]) == 4
    selection = BURSelector(n_features_to_select=2).fit(X, y).selection_
    rows = Report.from_data(X, y, selector=BURSelector(n_features_to_select=2), accuracy=None).to_dict()["features"]
    assert [row["class"] for row in rows[:3]] == [*map(str, selection.for_class), None]
