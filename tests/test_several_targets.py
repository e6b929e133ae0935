"""Several targets against plain twins: means over the targets of what public measures say about each of them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from unirel import (
    Binned,
    BURSelector,
    BURSelectorCV,
    Selection,
    conditional_relevance,
    redundancy_analysis,
    relevance,
    selection_path,
    selection_stability,
    unique_relevance,
)
from unirel.report import Report

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


def designed(seed, n=800, noise=6):
    """A feature that both targets need, one that each needs alone, and noise; the first target is a class."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3 + noise))).add_prefix("x")
    X = X.rename(columns={"x0": "of a", "x1": "of b", "x2": "shared"})
    a = np.where(X["of a"] + 1.3 * X["shared"] + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    b = X["of b"] + 1.3 * X["shared"] + 0.5 * rng.normal(size=n)
    return X, pd.DataFrame({"a": a, "b": b})


@pytest.fixture(scope="module")
def mixed():
    return designed(0, 400)


def entropy(y, n_bins):
    """The entropy of a class, or of the bins of a number."""
    shares = np.unique(y, return_counts=True)[1] / len(y)
    return np.log(n_bins) if y.dtype.kind == "f" else -(shares * np.log(shares)).sum()


def mean_share(values, Y, n_bins=4):
    """The formula: the mean over the targets of information divided by entropy."""
    return np.mean([value / entropy(Y[name].to_numpy(), n_bins) for value, name in zip(values, Y, strict=True)], axis=0)


@pytest.mark.parametrize("estimator", ["binned", "knn", "gaussian", Binned(strategy="uniform", correction=None)])
@pytest.mark.parametrize("clip", [True, False])
def test_relevance_has_a_column_for_each_target(mixed, estimator, clip):
    X, Y = mixed
    found = relevance(X, Y, mi_estimator=estimator, clip=clip)
    assert list(found.columns) == ["a", "b"]
    assert list(found.index) == list(X.columns)
    for name in Y:
        assert_array_equal(found[name], relevance(X, Y[name], mi_estimator=estimator, clip=clip))


def test_relevance_of_an_array_is_an_array(rng):
    X, Y = rng.normal(size=(100, 4)), rng.integers(0, 2, (100, 3))
    assert_array_equal(relevance(X, Y), np.column_stack([relevance(X, one) for one in Y.T]))


@pytest.mark.parametrize("estimator", [Binned(n_bins=4), "auto", "knn"])
def test_a_selection_has_the_relevance_of_each_target_and_its_mean_share(mixed, estimator):
    X, Y = mixed
    found = BURSelector("mim", beta=0, mi_estimator=estimator, n_features_to_select=5).fit(X, Y).selection_
    named = "binned" if estimator == "auto" else estimator
    each = np.column_stack([relevance(X, Y[name], mi_estimator=named) for name in Y])
    # Where the number of bins is not given, a number has as many as one that is explained alone.
    n_bins = 4 if isinstance(estimator, Binned) else round(400**0.25)
    assert_allclose(found.relevance_per_target, each, atol=1e-12)
    assert_allclose(found.relevance, mean_share(each.T, Y, n_bins), atol=1e-12)
    assert list(found.targets) == ["a", "b"]
    assert_allclose(list(found.targets.values()), [entropy(Y[name].to_numpy(), n_bins) for name in Y])
    assert_array_equal(found.order, np.argsort(-found.relevance, kind="stable")[:5])


def selected_by_twin(X, Y, criterion, n, estimator):
    """The greedy loop as it is written: of every target its own score, and the mean of their shares."""
    how = {"mi_estimator": estimator, "clip": False}
    alone = [np.array(relevance(X, Y[name], **how)) for name in Y]
    given = {
        (name, s): np.array(conditional_relevance(X, Y[name], [s], **how)) for name in Y for s in range(X.shape[1])
    }
    among = [np.array(relevance(X, X.iloc[:, s], **how)) for s in range(X.shape[1])]
    order, scores = [], []
    for _ in range(n):
        each = []
        for name, own in zip(Y, alone, strict=True):
            terms = [given[name, s] for s in order]
            if criterion == "cmim" and order:
                own = np.min(terms, axis=0)
            elif criterion == "jmi" and order:
                own = np.mean([term + own[s] for term, s in zip(terms, order, strict=True)], axis=0)
            elif criterion == "mrmr" and order:
                own = own - np.mean([among[s] for s in order], axis=0)
            each.append(own)
        score = mean_share(each, Y)
        score[order] = -np.inf
        order.append(int(np.argmax(score)))
        scores.append(score[order[-1]])
    return order, scores


@pytest.mark.parametrize("criterion", ["mim", "mrmr", "jmi", "cmim"])
@pytest.mark.parametrize(("correction", "tolerance"), [(None, 1e-10), ("chance", 1e-6)])  # a search looks chance up
def test_a_score_is_the_mean_of_the_scores_of_each_target(mixed, criterion, correction, tolerance):
    X, Y = mixed
    estimator = Binned(n_bins=4, correction=correction)
    selector = BURSelector(criterion, 6, beta=0, mi_estimator=estimator, keep_copies=True).fit(X, Y)
    order, scores = selected_by_twin(X, Y, criterion, 6, estimator)
    assert selector.order_.tolist() == order
    assert_allclose(selector.selection_scores_, scores, atol=tolerance)


@pytest.mark.parametrize("kind", ["reference", "ksg"])
def test_unique_relevance_is_a_mean_of_shares_too(mixed, kind):
    X, Y = mixed
    selector = BURSelector("mim", 4, unique_relevance=kind, mi_estimator=Binned(n_bins=4)).fit(X, Y)
    members = BURSelector("mim", 20, beta=0, mi_estimator=Binned(n_bins=4), keep_copies=True).fit(X, Y).order_
    more = {"reference": members.tolist()} if kind == "reference" else {}
    each = [np.array(unique_relevance(X, Y[name], method=kind, **more)) for name in Y]
    assert_allclose(selector.unique_relevance_, mean_share(each, Y), atol=1e-9)


def test_the_feature_that_all_targets_share_comes_first_and_nothing_but_the_causes_is_selected():
    exact = 0
    for seed in range(8):
        X, Y = designed(seed)
        found = BURSelector(n_features_to_select="auto").fit(X, Y).selection_
        assert found.selected_names[0] == "shared"
        assert set(found.selected_names) >= {"shared", "of a", "of b"}
        exact += len(found) == 3
    assert exact >= 6


def test_each_target_alone_misses_what_the_other_needs():
    X, Y = designed(3)
    assert "of b" not in BURSelector(n_features_to_select="auto").fit(X, Y["a"]).selection_.selected_names
    assert "of a" not in BURSelector(n_features_to_select="auto").fit(X, Y["b"]).selection_.selected_names


def test_of_noise_nothing_is_selected():
    empty = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(200, 8)), np.column_stack([rng.integers(0, 3, 200), rng.normal(size=200)])
        empty += len(BURSelector(n_features_to_select="auto").fit(X, Y).order_) == 0
    assert empty >= 8


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_a_target_that_is_there_twice_is_as_good_as_once(mixed, beta):
    X, Y = mixed
    once = BURSelector(n_features_to_select=5, beta=beta).fit(X, Y["b"]).selection_
    twice = BURSelector(n_features_to_select=5, beta=beta).fit(X, Y[["b", "b"]].set_axis(["b", "c"], axis=1)).selection_
    assert_array_equal(twice.order, once.order)
    assert twice.n_supported == once.n_supported
    assert_allclose(twice.scores * twice.targets["b"], once.scores, atol=1e-12)
    assert once.targets == {}
    assert once.relevance_per_target is None


def test_one_column_is_one_target(mixed):
    X, Y = mixed
    one = BURSelector().fit(X, Y["b"]).selection_
    with pytest.warns(DataConversionWarning):
        assert BURSelector().fit(X, Y[["b"]]).selection_.to_json() == one.to_json()


def test_the_order_of_the_targets_and_the_number_of_threads_do_not_matter(mixed):
    X, Y = mixed
    found = BURSelector(n_features_to_select=5).fit(X, Y).selection_
    other = BURSelector(n_features_to_select=5, n_jobs=2).fit(X, Y[["b", "a"]]).selection_
    assert_array_equal(found.order, other.order)
    assert_allclose(found.scores, other.scores, atol=1e-12)
    assert_array_equal(found.relevance_per_target, other.relevance_per_target[:, ::-1])


def test_frames_arrays_lists_and_sparse_tables_give_the_same(rng):
    Y = rng.integers(0, 2, (300, 2))
    X = np.where(rng.random((300, 12)) < 0.7, 0, rng.integers(1, 4, (300, 12))).astype(float)
    X[:, 4] += Y[:, 0] * Y[:, 1]
    expected = BURSelector(n_features_to_select=4, beta=0).fit(X, Y).selection_
    tables = [(pd.DataFrame(X), pd.DataFrame(Y)), (X.tolist(), Y.tolist()), (sparse.csr_array(X), Y)]
    tables += [(pl.DataFrame(X), pl.DataFrame(Y))]
    for features, targets in tables:
        found = BURSelector(n_features_to_select=4, beta=0).fit(features, targets).selection_
        assert_array_equal(found.order, expected.order)
        assert_array_equal(found.relevance_per_target, expected.relevance_per_target)
    assert list(expected.targets) == ["y0", "y1"]


def test_many_labels(rng):
    X = rng.normal(size=(200, 6))
    Y = (X[:, [0] * 20 + [1] * 20] + rng.normal(size=(200, 40)) > 0).astype(int)
    found = BURSelector(n_features_to_select="auto").fit(X, Y)
    assert set(found.order_[:2]) == {0, 1}
    assert len(found.order_) <= 3


def test_frames_and_files_have_every_target(mixed):
    X, Y = mixed
    found = BURSelector(n_features_to_select=3).fit(X, Y).selection_
    frame = found.to_frame()
    assert_array_equal(frame["relevance_a"], found.relevance_per_target[found.order, 0])
    assert found.to_dict()["targets"] == found.targets
    again = Selection.from_json(found.to_json())
    assert_array_equal(again.relevance_per_target, found.relevance_per_target)
    assert again.targets == found.targets
    assert again.to_json() == found.to_json()
    content = json.loads(found.to_json())
    del content["fields"]["targets"]["b"]
    with pytest.raises(ValueError, match="do not belong together"):
        Selection.from_json(json.dumps(content))


def test_selectors_with_models_of_several_outputs(mixed):
    X, Y = mixed
    labels = Y.assign(b=Y["b"] > 0, a=Y["a"] == "ill").astype(int)
    pipeline = make_pipeline(BURSelector(n_features_to_select=3), KNeighborsClassifier()).fit(X, labels)
    assert set(pipeline[:-1].get_feature_names_out()) == {"shared", "of a", "of b"}
    assert pipeline.predict(X).shape == labels.shape
    chosen = BURSelectorCV(KNeighborsClassifier(), betas=[0], max_features=5, cv=3, one_standard_error=True)
    assert set(chosen.fit(X, labels).selection_.selected_names) == {"shared", "of a", "of b"}
    numbers = np.column_stack([X["of a"] - X["shared"], X["of b"] + X["shared"]])
    forest = RandomForestRegressor(10, random_state=0)
    chosen = BURSelectorCV(forest, betas=[0], max_features=4, cv=3, one_standard_error=True).fit(X, numbers)
    assert set(chosen.selection_.selected_names) == {"shared", "of a", "of b"}


def test_tags_say_so():
    assert get_tags(BURSelector()).target_tags.multi_output
    assert get_tags(BURSelectorCV(KNeighborsClassifier())).target_tags.multi_output


def test_kinds_of_each_target(mixed):
    X, Y = mixed
    grades = pd.DataFrame({"a": (Y["a"] == "ill").astype(int), "grade": np.digitize(Y["b"], [-1, 0, 1])})
    taken = BURSelector(target_type=["discrete", "continuous"]).fit(X, grades)
    assert [column.kind for column in taken.columns_[-2:]] == ["discrete", "continuous"]
    with pytest.raises(ValueError, match="has 1 types, but there are 2 targets; give each of them one"):
        BURSelector(target_type=["discrete"]).fit(X, grades)


def test_paths_stability_and_weights(mixed):
    X, Y = mixed
    path = selection_path(X, Y, selector=BURSelector(n_features_to_select=3), criteria=["jmi"], betas=[0, 0.5])
    assert all(set(one.selected_names) == {"shared", "of a", "of b"} for one in path)
    found = selection_stability(X, Y, selector=BURSelector(n_features_to_select=3), n_subsamples=4)
    assert found.frequency[:3].min() == 1
    twice = BURSelector(n_features_to_select=4, beta=0).fit(X, Y, sample_weight=np.full(400, 2)).selection_
    rows = np.repeat(np.arange(400), 2)
    doubled = BURSelector(n_features_to_select=4, beta=0).fit(X.iloc[rows], Y.iloc[rows]).selection_
    assert_array_equal(twice.order, doubled.order)
    assert_allclose(twice.relevance_per_target, doubled.relevance_per_target, atol=1e-12)


@pytest.mark.parametrize("kind", ["both", "selected", "classifier", "values"])
def test_every_boost_takes_several_targets(mixed, kind):
    X, Y = mixed
    given = np.arange(X.shape[1], dtype=float) if kind == "values" else kind
    found = BURSelector(n_features_to_select=3, unique_relevance=given, beta=1.0 if kind == "values" else 0.3).fit(X, Y)
    if kind == "values":
        assert_array_equal(found.order_, [8, 7, 6])
    else:
        assert set(found.selection_.selected_names) == {"shared", "of a", "of b"}


def test_what_cannot_be_a_target_is_named(mixed):
    X, Y = mixed
    for change, message in {
        "constant": "column 'b' of y has one class only",
        "missing": r"column 'b' of y has 2 missing values \(NaN\); drop those rows from X and y",
    }.items():
        other = Y.assign(b=1.0 if change == "constant" else Y["b"].where(np.arange(len(Y)) > 1))
        with pytest.raises(ValueError, match=message):
            BURSelector().fit(X, other)
    with pytest.raises(ValueError, match=r"column 'b' of y has entropy 0.*leave it out of y"):
        BURSelector(mi_estimator=Binned(edges={"b": [100.0]})).fit(X, Y)


def test_what_takes_one_target_says_so(mixed):
    X, Y = mixed
    for refuse in (
        lambda: redundancy_analysis(X, Y),
        lambda: unique_relevance(X, Y),
        lambda: relevance(X, Y, per_class=True),
        lambda: relevance(X, Y, confidence_level=0.95),
    ):
        with pytest.raises(ValueError, match=r"shape is \(400, 2\); pass one target column"):
            refuse()
    with pytest.raises(ValueError, match="measured for one target, but y has 2; pass one column of y"):
        Report.from_data(X, Y, accuracy="knn")


def test_tables_in_parts_take_one_target(mixed):
    dask = pytest.importorskip("dask.dataframe")
    X, Y = mixed
    with pytest.raises(ValueError, match="y has 2 columns, but X is read in parts; pass one column of y"):
        BURSelector().fit(dask.from_pandas(X, npartitions=2), dask.from_pandas(Y, npartitions=2))


def test_the_page_says_which_targets_and_which_is_drawn(mixed):
    X, Y = mixed
    report = Report.from_data(X, Y, selector=BURSelector(n_features_to_select=3))
    assert report.test is None
    assert report.pairs is None
    assert report.accuracy is None
    assert "2 targets, 'a' (0.69 nats) and 'b'" in report.words
    assert "means over the targets" in report.words
    assert "one target, but y has 2" in report.no_accuracy
    page = report.to_html()
    assert "Of 2 targets the first, a, is drawn" in page
    assert "of the targets' entropies on average" in page.replace("&#39;", "'")
