"""Comparisons against a plain loop, on tables of every kind."""

import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold, chi2, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel import BURSelector, BURSelectorCV, UnirelWarning
from unirel.data.datasets import make_planted
from unirel.evaluation import Evaluation, compare, paired_difference
from unirel.inference.stability import stability
from unirel.predictors import PEERS, eliminate, order_of, prepare

WITHOUT_TIMES = ["dataset", "split", "selector", "model", "n_features", "validation_score", "test_score"]


def scores(evaluation):
    return [tuple(row[name] for name in WITHOUT_TIMES) for row in evaluation.rows]


def mixed(n_samples=150):
    """Numbers and categories with missing values, of which `size` and `colour` are relevant."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n_samples)
    colour = np.where(rng.random(n_samples) < 0.4, "x", np.array(["red", "green", "blue"])[y]).astype(object)
    frame = {"noise": rng.normal(size=n_samples), "size": y + rng.normal(size=n_samples), "colour": colour}
    frame = pd.DataFrame(frame | {"constant": 1, "more": rng.normal(size=n_samples)})
    frame.loc[::6, "size"] = np.nan
    frame.loc[::7, "colour"] = None
    return frame, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def evaluation():
    selectors = {"mim": "mim", "boosted": BURSelector("mim"), "f": SelectKBest(f_classif, k=2)}
    return compare(["wine", "iris"], selectors, ["knn", "svm"], n_features=[1, 2, 5], n_splits=3)


def test_every_combination_has_scores(evaluation):
    assert isinstance(evaluation, Evaluation)
    assert evaluation.complete
    assert len(set(scores(evaluation))) == len(evaluation.rows) == 2 * 3 * 3 * 2 * 3
    assert {row["n_features"] for row in evaluation.rows if row["dataset"] == "iris"} == {1, 2, 4}
    assert list(evaluation.to_frame().columns) == [*WITHOUT_TIMES, "seconds"]


def test_equals_a_plain_loop():
    X, y = load_wine(return_X_y=True)
    seen = []

    def first_columns(rows, labels, n_features):
        seen.append((rows, labels))
        return np.arange(n_features)

    evaluation = compare(("wine", X, y), {"first": first_columns}, ["knn"], n_features=3, n_splits=2)
    for split in range(2):
        rows, labels = seen[split]
        assert len(rows) == pytest.approx(0.6 * len(X), abs=1)
        assert np.ptp(np.bincount(labels) / np.bincount(y)) < 0.03  # stratified
        held_out = ~(X[:, None] == rows).all(axis=2).any(axis=1)
        for row in [row for row in evaluation.rows if row["split"] == split]:
            columns = list(range(row["n_features"]))
            model = make_pipeline(StandardScaler(), KNeighborsClassifier(5)).fit(rows[:, columns], labels)
            both = model.score(X[held_out][:, columns], y[held_out])
            assert_allclose((row["validation_score"] + row["test_score"]) / 2, both, atol=0.02)  # 35 and 36 rows


def test_the_number_of_features_is_chosen_by_validation(evaluation):
    frame = evaluation.to_frame()
    for outcome in evaluation.outcomes():
        names = ["dataset", "model", "selector", "split"]
        group = frame[(frame[names] == [outcome[name] for name in names]).all(axis=1)]
        best = group[group["validation_score"] == group["validation_score"].max()].iloc[0]
        assert outcome["n_features"] == best["n_features"] == len(outcome["features"])
        assert outcome["test_score"] == best["test_score"]
        assert outcome["area"] == pytest.approx(group["test_score"].mean())


def test_summary_differences_and_ranks(evaluation):
    outcomes = pd.DataFrame(evaluation.outcomes()).set_index(["dataset", "model", "selector"]).sort_index()
    for row in evaluation.to_dict()["summary"]:
        group = outcomes.loc[row["dataset"], row["model"], row["selector"]]
        assert row["test_score"] == pytest.approx(group["test_score"].mean())
        assert row["test_score_std"] == pytest.approx(group["test_score"].std())
        assert row["n_features"] == pytest.approx(group["n_features"].mean())
    differences = evaluation.differences("f", metric="area")
    assert set(differences["selector"]) == {"mim", "boosted"}
    row = differences.iloc[0]
    ours, base = (outcomes.loc["wine", "knn", name].sort_values("split")["area"] for name in ("mim", "f"))
    expected = paired_difference(ours, base, overlap=1 / 3)
    assert tuple(row[["mean", "low", "high"]]) == pytest.approx(expected[1:4])
    pairs = evaluation.differences({"boosted": "mim"})[["selector", "baseline"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["boosted", "mim"]]
    assert set(evaluation.differences()["baseline"]) == {"mim"}
    means = outcomes["test_score"].groupby(level=[0, 1, 2]).mean().unstack()
    ranks = (-means).rank(axis=1).groupby(level=1).mean().stack()
    for row in evaluation.to_dict()["average_ranks"]:
        assert row["average_rank"] == pytest.approx(ranks[row["model"], row["selector"]])
    json.dumps(evaluation.to_dict())
    with pytest.raises(ValueError, match="'none' is not one of 'mim', 'boosted', 'f'"):
        evaluation.differences("none")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_categories_and_missing_values(library):
    frame, y = mixed()
    selectors = {"default": BURSelector(), **{name: name for name in PEERS if name != "lightgbm"}}
    selectors["any"] = VarianceThreshold(1e-9)
    evaluation = compare(("mixed", library(frame), y), selectors, ["logistic", "knn"], n_features=2, n_splits=2)
    summary = evaluation.summary().set_index(["model", "selector"])
    assert (summary["test_score"] > 0.4).all()
    for row in evaluation.rows:
        if row["n_features"] == 2 and row["selector"] in ("default", "forest", "kbest"):
            assert set(row["features"]) == {1, 2}
        assert 3 not in row["features"]


def test_targets_of_numbers_have_regressors_and_r2():
    frame, _ = mixed()
    y = 2 * frame["noise"] + np.where(frame["colour"] == "red", 3, 0) + 0.1 * frame["more"]
    selectors = ["mim", *(name for name in PEERS if name != "lightgbm")]
    evaluation = compare(("numbers", frame, y), selectors, ["logistic", "rf"], n_features=3, n_splits=1)
    found = evaluation.summary().set_index("selector")["test_score"]
    assert (found > 0.9).all()  # linear peers too, which had codes of categories
    assert evaluation.scores == {"numbers": "R2"}
    own = compare(("numbers", frame, y), ["mim"], {"ridge": Ridge()}, n_splits=1, scoring="neg_mean_absolute_error")
    assert all(row["test_score"] < 0 for row in own.rows)


def test_lightgbm_if_it_is_installed(monkeypatch):
    monkeypatch.setattr("unirel.predictors.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="'lightgbm' needs lightgbm; install it with: pip install lightgbm"):
        compare("wine", ["mim", "lightgbm"], ["knn"])
    monkeypatch.undo()
    pytest.importorskip("lightgbm")
    assert compare("wine", ["lightgbm"], ["knn"], n_features=2, n_splits=1).complete


def test_features_are_prepared_by_the_training_rows():
    """Marks of rare levels were standardised: one of them weighed more than all numbers in a distance."""
    levels = np.repeat([0.0, 1, 2, 3, 4, 5], [40, 30, 20, 3, 2, 5])
    train = np.arange(95)  # the last level is not among them
    found = prepare(levels, True, train)
    assert set(np.unique(found)) == {0.0, 1.0}
    assert found.shape == (100, 4)  # three levels, and one of all that are rare or new
    assert (found.argmax(axis=1) == np.minimum(levels, 3)).all()
    numbers = np.array([1.0, 2, 3, np.nan, 100, np.nan])
    found = prepare(numbers, False, np.arange(4))
    assert found[:, 1].tolist() == [0, 0, 0, 1, 0, 1]
    assert_allclose(found[:, 0], (np.array([1, 2, 3, 2, 100, 2]) - 2) / np.sqrt(0.5))
    assert prepare(numbers[:3], False, np.arange(3)).shape == (3, 1)
    assert prepare(np.full(4, np.nan), False, np.arange(3)).tolist() == [[0, 1]] * 4


def test_linear_peers_see_categories():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 5, 300)
    X = pd.DataFrame(
        {"noise": rng.normal(size=300), "colour": np.array(list("abcde"))[colour], "z": rng.normal(size=300)}
    )
    y = np.isin(colour, [0, 2, 4])  # of which the codes have no slope
    for row in compare(("t", X, y), ["lasso", "rfe"], ["knn"], n_features=1, n_splits=2).rows:
        assert row["features"] == [1]
        assert row["test_score"] == 1.0


def evaluation_of(scores, score="accuracy"):
    """What is found if models of selectors have these scores in each split."""
    rows = tuple(
        {
            "dataset": "t",
            "split": split,
            "selector": name,
            "model": model,
            "n_features": 1,
            "features": [0],
            "seconds": 0,
        }
        | {"validation_score": value, "test_score": value + shift}
        for name, values in scores.items()
        for split, value in enumerate(values)
        for model, shift in (("knn", -0.1), ("svm", 0.1))
    )
    return Evaluation(rows, {"t": 1}, {"test_size": 0.2, "n_splits": 4, "random_state": 0}, True, {"t": score})


def test_the_verdict_is_a_sentence_with_its_interval():
    ours, other = [0.80, 0.82, 0.81, 0.83], [0.70, 0.72, 0.70, 0.72]
    found = evaluation_of({"BURSelector": ours, "kbest": other, "lasso": [0.1] * 4}).verdict()
    assert found.best_other == "kbest"
    assert found.difference == paired_difference(np.array(ours), np.array(other), overlap=1 / 3)
    low, high = 100 * found.difference.low, 100 * found.difference.high
    interval = f"(95 % interval {low:.1f} to {high:.1f}; knn and svm, 4 splits)"
    assert str(found) == f"BURSelector is ahead of kbest by 10.5 points of accuracy {interval}."
    behind = evaluation_of({"kbest": other, "BURSelector": ours}).verdict()
    assert str(behind) == f"kbest is behind BURSelector by 10.5 points of accuracy {interval}."
    same = evaluation_of({"a": [0.5, 0.6, 0.4], "b": [0.6, 0.4, 0.5]}, "R2").verdict()
    start = "a and b cannot be told apart: the difference is +0.000 in R2 (95 % interval -"
    assert str(same).startswith(start)
    assert "in a single split" in str(evaluation_of({"a": [0.5], "b": [0.6]}).verdict("b"))
    with pytest.raises(ValueError, match="no other selector"):
        evaluation_of({"a": [0.5]}).verdict()
    with pytest.raises(ValueError, match="'c' is not one of 'a', 'b'"):
        evaluation_of({"a": [0.5], "b": [0.6]}).verdict("c")


def test_types_of_columns_are_one_decision():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(120) % 3)
    codes = np.array([2, 0, 1])[y] + 10.0  # categories whose order says nothing
    X = np.column_stack([rng.normal(size=120), codes])
    options = {"models": ["logistic"], "n_features": 1, "n_splits": 2, "target_type": "continuous"}
    for discrete, best in ({1: True}, 1.0), (False, 0.5):
        rows = compare(("codes", X, y), ["mim"], discrete_features=discrete, **options).rows
        assert all(row["features"] == [1] for row in rows)
        assert all(row["test_score"] <= best + 1e-9 for row in rows)  # R2 of a line through three levels
        assert discrete is False or all(row["test_score"] > 0.99 for row in rows)


def test_a_rare_class_and_few_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.array(["a"] * 9 + ["b"] * 9 + ["rare"] * 2)
    assert len(compare(("few", X, y), ["mim"], ["knn"], n_features=2, n_splits=3).rows) == 6


def test_selectors_that_stop_keep_their_last_score():
    planted = make_planted(200, n_informative=1, n_copies=0, n_noise=5)
    X, y = planted.data, planted.target
    selectors = {"auto": BURSelector(n_features_to_select="auto"), "l1": SelectFromModel(Ridge(), max_features=1)}
    evaluation = compare(("planted", X, y), selectors, ["knn"], n_features=4, n_splits=1)
    for selector in selectors:
        rows = [row for row in evaluation.rows if row["selector"] == selector]
        last = len(rows[-1]["features"])
        assert last < 4
        assert {row["test_score"] for row in rows[last - 1 :]} == {rows[last - 1]["test_score"]}


def test_selectors_and_models_of_any_kind():
    X, y = load_wine(return_X_y=True)
    tuned = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.1, 1.0]}, cv=3)
    selectors = [BURSelectorCV(KNeighborsClassifier(), max_features=3, cv=3), SelectKBest(chi2, k=3)]
    evaluation = compare([("wine", X, y)], selectors, {"tuned": tuned}, n_features=[3], n_splits=1)
    assert [row["selector"] for row in evaluation.rows] == ["BURSelectorCV", "SelectKBest"]
    pipeline = make_pipeline(StandardScaler(), SelectFromModel(LogisticRegression(), max_features=2))
    assert len(order_of(pipeline.fit(X, y), 13)) == 2
    one_by_one = RFE(LogisticRegression(), n_features_to_select=1).fit(StandardScaler().fit_transform(X), y)
    assert eliminate(LogisticRegression(), X, y, 4, step=0).tolist() == np.argsort(one_by_one.ranking_)[:4].tolist()
    with pytest.raises(TypeError, match="StandardScaler tells no order"):
        order_of(StandardScaler().fit(X), 13)


def test_results_depend_on_the_seed_and_on_nothing_else(evaluation):
    def with_noise(X, y, n_features):
        return np.random.permutation(X.shape[1])[:n_features]  # noqa: NPY002

    options = {"n_features": [1, 2, 5], "n_splits": 2}
    alone = compare("wine", {"noise": with_noise, "mim": "mim"}, ["knn"], n_jobs=2, **options)
    before = [row for row in scores(evaluation) if row[0] == "wine" and row[1] < 2 and row[2:4] == ("mim", "knn")]
    assert [row for row in scores(alone) if row[2] == "mim"] == before
    again = compare("wine", {"noise": with_noise}, ["knn"], **options)
    assert scores(again) == [row for row in scores(alone) if row[2] == "noise"]
    other = compare("wine", {"noise": with_noise}, ["knn"], random_state=1, **options)
    assert scores(other) != scores(again)


def test_an_interrupt_returns_what_is_finished():
    calls = []

    def selector(X, y, n_features):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return [0]

    evaluation = compare("iris", {"mine": selector}, ["knn"], n_features=1, n_splits=5)
    assert not evaluation.complete
    assert [row["split"] for row in evaluation.rows] == [0, 1]


def test_warnings_are_passed_on_once():
    def selector(X, y, n_features):
        import warnings

        warnings.warn(f"it is {time.perf_counter()}", stacklevel=1)
        return [0]

    with pytest.warns(UnirelWarning, match="iris, mine: it is") as caught:
        compare("iris", {"mine": selector}, ["knn"], n_features=1, n_splits=3)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"selectors": ["best"]}, ValueError, "'best'"),
        ({"selectors": {}}, ValueError, "selectors is empty"),
        ({"selectors": {"one": BURSelector}}, TypeError, "selector 'one' is"),
        ({"selectors": {"one": lambda X, y, n: [0, 0]}}, ValueError, "each of 4 positions at most once"),
        ({"selectors": {"one": lambda X, y, n: []}}, ValueError, "at least one position"),
        ({"models": ["svn"]}, ValueError, "models='svn'"),
        ({"models": {"ridge": Ridge()}}, ValueError, "is no classifier"),
        ({"datasets": "none"}, ValueError, "there is no dataset 'none'"),
        ({"datasets": ["iris", "iris"]}, ValueError, "each with a name of its own"),
        ({"datasets": [7]}, TypeError, r"a name, \(name, X, y\) or \(name, X, y, groups\)"),
        ({"datasets": ("one", np.zeros((9, 2)), np.zeros(9))}, ValueError, "one class only"),
        ({"n_features": []}, ValueError, "n_features names no number"),
        ({"n_features": 0}, ValueError, "n_features"),
        ({"n_splits": 0}, ValueError, "n_splits=0"),
        ({"test_size": 0.5}, ValueError, "test_size=0.5"),
    ],
)
@pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")
def test_bad_input_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        compare(**{"datasets": "iris", "selectors": ["mim"], "models": ["knn"], "n_splits": 1, **change})


# Statistics


def test_stability_is_the_formula(rng):
    Z = rng.random((12, 9)) < 0.4
    p, k, d = Z.mean(axis=0), Z.sum(axis=1).mean(), 9
    expected = 1 - np.mean(12 / 11 * p * (1 - p)) / (k / d * (1 - k / d))
    assert stability([np.flatnonzero(row) for row in Z], 9) == pytest.approx(expected, rel=1e-12)
    assert stability([[3, 1], [1, 3], [1, 3]], 7) == 1
    assert stability([[0, 1], [2, 3]], 4) == pytest.approx(-1)
    assert np.isnan(stability([[0, 1]], 3))
    assert np.isnan(stability([[0, 1], [0, 1]], 2))


def test_differences_equal_scipy(rng):
    values, baseline = rng.random((2, 15))
    difference = paired_difference(values, baseline, confidence_level=0.9)
    interval = stats.ttest_rel(values, baseline).confidence_interval(0.9)
    assert difference.mean == pytest.approx(np.mean(values - baseline))
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.p_value == stats.wilcoxon(values, baseline).pvalue
    assert difference.wins + difference.ties + difference.losses == difference.n_splits == 15
    wide = paired_difference(values, baseline, confidence_level=0.9, overlap=1 / 3)
    assert wide.high - wide.mean == pytest.approx((difference.high - difference.mean) * np.sqrt((1 / 15 + 1 / 3) * 15))
    assert paired_difference([0.5, 0.7], [0.5, 0.7]) == (2, 0, 0, 0, 1, 0, 2, 0)
    assert np.isnan(paired_difference([0.5], [0.4]).low)
    with pytest.raises(ValueError, match="one value for each split"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="confidence_level=95"):
        paired_difference([1], [0], confidence_level=95)
