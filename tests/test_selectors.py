"""Selectors keep the scikit-learn contract with any table, and cross-validation sees no test row."""

import pickle
import time

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_regression
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import unirel._runtime
import unirel.search.folds
import unirel.search.greedy
import unirel.selectors
from unirel import (
    KNN,
    Binned,
    Boost,
    BURSelector,
    BURSelectorCV,
    ClassifierLoss,
    UnirelWarning,
    relevance,
    selection_path,
)
from unirel.criteria import JMI
from unirel.data.table import Table

CHECKED = [
    BURSelector(),
    BURSelector("cmim", 0.5, mi_estimator=Binned(3, "uniform"), unique_relevance=Boost("selected", 100)),
    BURSelector("mrmr", unique_relevance=KNN(scale="rank")),
    BURSelector("jmim", unique_relevance=ClassifierLoss("knn", cv=2)),
    BURSelectorCV(GaussianNB(), BURSelector("mim"), cv=2, max_features=3),
    BURSelectorCV(DecisionTreeClassifier(max_depth=2, random_state=0), cv=2, betas=[0.3], max_features=2, step=2),
]


def unsupported(estimator):
    """Unique relevance by neighbours among all features, or by a classifier, knows no weights of rows."""
    if not isinstance(getattr(estimator, "unique_relevance", None), KNN | ClassifierLoss):
        return {}
    weights = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
    names = [*(f"check_sample_weights_{name}" for name in weights), "check_sample_weight_equivalence_on_dense_data"]
    return dict.fromkeys(names, "sample_weight does not go with this kind of unique relevance")


@parametrize_with_checks(CHECKED, expected_failed_checks=unsupported)
@pytest.mark.filterwarnings("ignore::unirel.UnirelWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3, :12].copy(), y[::3]


@pytest.fixture
def mixed(rng):
    """Columns of several types, a target that needs the text and the first number, and an identifier."""
    n = 150
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.standard_normal(n)
    noise = rng.standard_normal(n)
    weight = size + 0.3 * rng.standard_normal(n)
    weight[::7] = np.nan
    columns = {"noise": noise, "color": color.astype(object), "size": size, "weight": weight}
    columns["level"] = [None if i % 11 == 0 else "hi" if value > 0 else "lo" for i, value in enumerate(noise)]
    y = np.where((color == "red") ^ (size > 0), "yes", "no").astype(object)
    return columns, y


# What a fitted selector has


def test_attributes_are_those_of_the_selection(cancer):
    X, y = cancer
    selector = BURSelector("jmi", 4).fit(X, y)
    selection = selection_path(X, y, criteria="jmi", betas=0.5, selector=BURSelector(n_features_to_select=4)).selection(
        "jmi", 0.5
    )
    assert selector.order_.tolist() == selection.order.tolist() == selector.selection_.order.tolist()
    np.testing.assert_array_equal(selector.selection_scores_, selection.scores)
    np.testing.assert_array_equal(selector.relevance_, relevance(X, y, mi_estimator="binned"))
    np.testing.assert_array_equal(selector.unique_relevance_, selection.unique_relevance)
    assert sorted(selector.order_) == selector.get_support(indices=True).tolist()
    assert selector.n_features_in_ == X.shape[1]
    assert not hasattr(selector, "feature_names_in_")
    assert [column.name for column in selector.columns_] == [*(f"x{i}" for i in range(12)), "y"]
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])


def test_ranking_is_one_for_selected_features_then_by_relevance(cancer):
    X, y = cancer
    text = np.array([f"id{i}" for i in range(len(X))], dtype=object)
    X = np.column_stack([text, X[:, :6], X[:, 0], np.zeros(len(X))]).astype(object)
    selector = BURSelector(n_features_to_select=2, exclude=[1], discrete_features={0: None}).fit(X, y)
    assert (selector.ranking_[selector.order_] == 1).all()
    others = np.argsort(selector.ranking_)[2:]
    assert sorted(selector.ranking_[others]) == list(range(2, 9))
    assert others[-1] == 0
    assert (np.diff(selector.relevance_[others[:-1]]) <= 0).all()
    assert selector.ranking_[1] < selector.ranking_[7], "an excluded feature is ranked, ties by position"
    assert np.isnan(selector.relevance_[0])
    assert selector.columns_[0].kind == "ignored"


def test_no_boost_computes_no_unique_relevance(cancer, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("unique relevance was computed")

    monkeypatch.setattr(unirel.search.greedy, "find_blend", fail)
    selector = BURSelector(beta=0, n_features_to_select=3).fit(*cancer)
    assert selector.unique_relevance_ is None
    with pytest.raises(AssertionError, match="was computed"):
        BURSelector(beta=0.1, n_features_to_select=3).fit(*cancer)


@pytest.mark.parametrize("criterion", ["mim", "mrmr", "jmi", "jmim", "cmim", "gsa", JMI()])
def test_every_criterion(cancer, criterion):
    X, y = cancer
    assert len(BURSelector(criterion, 3).fit(X, y).order_) == 3


def test_values_of_unique_relevance_can_be_given(cancer):
    X, y = cancer
    selector = BURSelector(beta=1, n_features_to_select=3, unique_relevance=np.arange(12.0)).fit(X, y)
    assert selector.order_.tolist() == [11, 10, 9]
    assert clone(selector).fit(X, y).order_.tolist() == [11, 10, 9]


# How many features


@pytest.mark.parametrize(("wanted", "expected"), [(1, 1), (12, 12), (0.25, 3), (1.0, 12), (0.01, 1), (10, 10)])
def test_number_of_features(cancer, wanted, expected):
    selector = BURSelector("mim", wanted).fit(*cancer)
    assert selector.support_.sum() == len(selector.order_) == len(set(selector.order_)) == expected


def test_the_default_number_is_all_if_there_are_fewer(cancer):
    X, y = cancer
    assert BURSelector().fit(X[:, :4], y).support_.all()


@pytest.mark.parametrize("wanted", [5, 11])
def test_more_features_than_there_are_means_all_with_a_word(cancer, wanted):
    X, y = cancer
    with pytest.warns(
        UnirelWarning, match=f"n_features_to_select={wanted}, but there are 4 features: all are selected"
    ):
        assert BURSelector(n_features_to_select=wanted).fit(X[:, :4], y).support_.all()


def test_ignored_features_are_not_counted_as_features_there_are(cancer):
    X, y = cancer
    with pytest.warns(UnirelWarning, match="n_features_to_select=4, but there are 3 features: all are selected"):
        selector = BURSelector(n_features_to_select=4, discrete_features={0: None}).fit(X[:, :4], y)
    assert selector.support_.tolist() == [False, True, True, True]


def test_all_features_in_order(cancer):
    X, y = cancer
    assert sorted(BURSelector(n_features_to_select="all").fit(X[:, :12], y).order_) == list(range(12))


def test_the_name_of_a_criterion_in_capitals(cancer):
    X, y = cancer
    selector = BURSelector("mRMR", 3).fit(X, y)
    assert selector.selection_.criterion == "mrmr"
    assert selector.order_.tolist() == BURSelector("mrmr", 3).fit(X, y).order_.tolist()


@pytest.mark.parametrize("wanted", [0, -1, 1.5, 0.0, True, "many", None])
def test_a_number_that_cannot_be_is_refused(cancer, wanted):
    X, y = cancer
    with pytest.raises(ValueError, match=r"n_features_to_select=.* from 1 to 4"):
        BURSelector(n_features_to_select=wanted).fit(X[:, :4], y)


def test_auto_stops_where_nothing_is_added(rng):
    X = rng.standard_normal((200, 8))
    y = (X[:, 1] + X[:, 6] > 0).astype(int)
    selector = BURSelector(n_features_to_select="auto").fit(X, y)
    assert set(selector.order_) == {1, 6}
    assert "no other feature adds detectable information" in selector.selection_.reason


def test_included_features_come_first_and_excluded_ones_never(cancer):
    X, y = cancer
    selector = BURSelector(n_features_to_select=4, include=[11, 3], exclude=[7]).fit(X, y)
    assert selector.order_[:2].tolist() == [11, 3]
    rest = BURSelector(n_features_to_select=11, exclude=[7]).fit(X, y)
    assert not rest.support_[7]
    assert rest.support_.sum() == 11


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 1.5}, r"beta=1.5 is out of range; it must be from 0"),
        ({"criterion": "jmj"}, r"criterion='jmj' is not one of 'mim'"),
        ({"unique_relevance": "best"}, r"unique_relevance='best' is not one of"),
        ({"unique_relevance": [1.0, 2.0]}, r"unique_relevance has shape \(2,\), but there are 12 features"),
        ({"mi_estimator": "tree"}, r"mi_estimator='tree' is not one of"),
        ({"mi_estimator": KNN(n_neighbors=0)}, r"n_neighbors=0 must be"),
        ({"mi_estimator": Binned(strategy="width")}, r"strategy='width' is not one of"),
        ({"include": [0], "exclude": [0]}, r"'x0' is in include and in exclude"),
        ({"include": ["nosuch"]}, r"there is no column 'nosuch'"),
        ({"target_type": "class"}, r"target_type='class' is not one of"),
    ],
)
def test_wrong_parameters_are_named(cancer, parameters, message):
    with pytest.raises(ValueError, match=message):
        BURSelector(**parameters).fit(*cancer)


# Tables of any library


def test_any_table_gives_the_same_selection(frame, mixed):
    columns, y = mixed
    X = frame(columns)
    selector = BURSelector(n_features_to_select=2).fit(X, y)
    assert set(selector.order_) == {1, 2}
    chosen = selector.transform(X)
    assert type(chosen) is type(X)
    assert chosen.shape == (150, 2)
    if hasattr(X, "columns"):
        assert selector.feature_names_in_.tolist() == list(columns)
        assert selector.get_feature_names_out().tolist() == ["color", "size"]
        assert [str(chosen[name][3]) for name in ("color", "size")] == [str(X[name][3]) for name in ("color", "size")]
    else:
        np.testing.assert_array_equal(chosen, X[:, [1, 2]])


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_output_of_any_library(frame, mixed, output):
    library = pytest.importorskip(output)
    columns, y = mixed
    X = frame(columns)
    names = ["color", "size", "weight"] if hasattr(X, "columns") else ["x1", "x2", "x3"]
    selector = BURSelector(n_features_to_select=3, include=[3]).set_output(transform=output)
    for fitted in (selector, clone(selector), pickle.loads(pickle.dumps(selector))):
        chosen = fitted.fit_transform(X, y)
        assert isinstance(chosen, library.DataFrame)
        assert list(chosen.columns) == names
        assert chosen.shape == (150, 3)
        assert np.isnan(np.asarray(chosen[names[2]], dtype=float)[::7]).all()
    with sklearn.config_context(transform_output=output):
        assert isinstance(clone(selector).set_output(transform=output).fit_transform(X, y), library.DataFrame)
        assert isinstance(BURSelector(n_features_to_select=3).fit_transform(X, y), library.DataFrame)


def test_columns_keep_their_types_from_one_library_to_another(mixed):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns, y = mixed
    chosen = (
        BURSelector(n_features_to_select=2).set_output(transform="pandas").fit_transform(polars.DataFrame(columns), y)
    )
    assert pandas.api.types.is_float_dtype(chosen["size"])


def test_pandas_keeps_index_and_categories(mixed):
    pandas = pytest.importorskip("pandas")
    columns, y = mixed
    X = pandas.DataFrame(columns, index=np.arange(150)[::-1]).astype({"color": "category"})
    chosen = BURSelector(n_features_to_select=2).fit_transform(X, pandas.Series(y, index=X.index))
    pandas.testing.assert_frame_equal(chosen, X[["color", "size"]])


def test_a_list_keeps_numbers_beside_texts(mixed):
    columns, y = mixed
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    selector = BURSelector(n_features_to_select=2).fit(rows, list(y))
    assert set(selector.order_) == {1, 2}
    assert isinstance(selector.transform(rows)[0, 1], float)


@pytest.mark.parametrize("target_kind", ["auto", "continuous"])
def test_continuous_targets(target_kind):
    X, y = make_regression(150, 6, n_informative=2, coef=False, random_state=3)
    best = np.argmax([abs(np.corrcoef(column, y)[0, 1]) for column in X.T])
    selector = BURSelector(n_features_to_select=2, target_type=target_kind).fit(X, y)
    assert selector.columns_[-1].kind == "continuous"
    assert best in selector.order_


def test_order_of_rows_does_not_matter(cancer, rng):
    X, y = cancer
    rows = rng.permutation(len(X))
    one, other = (
        BURSelector(n_features_to_select=6).fit(X, y),
        BURSelector(n_features_to_select=6).fit(X[rows], y[rows]),
    )
    assert one.order_.tolist() == other.order_.tolist()
    np.testing.assert_allclose(one.selection_scores_, other.selection_scores_, rtol=1e-12)


def test_n_jobs_changes_nothing(cancer):
    one, two = (BURSelector(n_features_to_select=5, n_jobs=n_jobs).fit(*cancer) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.order_, two.order_)
    np.testing.assert_array_equal(one.selection_scores_, two.selection_scores_)


def test_tables_that_are_refused(cancer, mixed):
    X, y = cancer
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        BURSelector().fit(X[:, 0], y)
    selector = BURSelector().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 11 features, but BURSelector is expecting 12 features as input"):
        selector.transform(X[:, :11])
    with pytest.raises(ValueError, match="target y is None"):
        BURSelector().fit(X, None)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert BURSelector().fit(X, y[:, None]).order_.tolist() == selector.order_.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_by_name(mixed, library):
    """Reordered, with others between them, and without those that were not selected."""
    frames = pytest.importorskip(library)
    columns, y = mixed
    X = frames.DataFrame(columns)
    selector = BURSelector(n_features_to_select=2).fit(X, y)
    expected = selector.transform(X)
    names = list(expected.columns)
    other = frames.DataFrame({"new": y, **{name: columns[name] for name in reversed(names)}})
    assert selector.transform(other, by_name=True).equals(expected)
    with pytest.raises(ValueError, match=f"X lacks what was selected: there is no column '{names[0]}'"):
        selector.transform(other[names[1:]], by_name=True)
    with pytest.raises(TypeError, match="X is ndarray and has no names of columns"):
        selector.transform(np.ones((2, 5)), by_name=True)


def test_of_a_lazy_frame_only_the_selected_columns_are_collected(mixed, monkeypatch):
    polars = pytest.importorskip("polars")
    columns, y = mixed
    X = polars.DataFrame(columns)
    selector = BURSelector(n_features_to_select=2).fit(X.lazy(), y)
    assert selector.order_.tolist() == BURSelector(n_features_to_select=2).fit(X, y).order_.tolist()
    expected = selector.transform(X)
    collect, collected = polars.LazyFrame.collect, []

    def watched(frame, *arguments, **more):
        found = collect(frame, *arguments, **more)
        collected.extend([found.columns] * (found.height > 0))  # names are looked at without rows
        return found

    monkeypatch.setattr(polars.LazyFrame, "collect", watched)
    assert selector.transform(X.lazy()).equals(expected)
    assert collected == [expected.columns]
    assert selector.transform(X.lazy().select(expected.columns[::-1]), by_name=True).equals(expected)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        selector.transform(X.lazy().select(X.columns[::-1]))


def test_frames_are_checked_by_name(mixed):
    pandas = pytest.importorskip("pandas")
    columns, y = mixed
    X = pandas.DataFrame(columns)
    selector = BURSelector(n_features_to_select=2).fit(X, y)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        selector.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="yet now missing:\n- weight"):
        selector.transform(X.drop(columns="weight"))
    with pytest.raises(ValueError, match="duplicate column names: 'a'"):
        BURSelector().fit(X.set_axis(["a", "a", "b", "c", "d"], axis=1), y)
    with pytest.raises(ValueError, match="Expected a 2-dimensional container"):
        BURSelector().fit(X["size"], y)


def test_inverse_transform_fills_with_zeros(cancer):
    X, y = cancer
    X = X.copy()
    X[::5, 2] = np.nan
    selector = BURSelector(n_features_to_select=3, include=[2]).fit(X, y)
    back = selector.inverse_transform(selector.transform(X))
    np.testing.assert_array_equal(back, np.where(selector.support_, X, 0))
    with pytest.raises(ValueError, match="X has 12 columns, but 3 features were selected"):
        selector.inverse_transform(X)


# With other parts of scikit-learn


def test_in_a_pipeline_under_cross_validation(cancer):
    X, y = cancer
    pipeline = make_pipeline(BURSelector(n_features_to_select=3), GaussianNB())
    assert cross_val_score(pipeline, X, np.where(y, "benign", "malignant"), cv=3).mean() > 0.85


def test_grid_search_over_criterion_and_beta(cancer):
    X, y = cancer
    pipeline = make_pipeline(BURSelector(n_features_to_select=3), GaussianNB())
    grid = {"burselector__criterion": ["mim", "mrmr"], "burselector__beta": [0, 0.3]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_[0].support_.sum() == 3


def test_grid_search_over_parameters_of_the_estimator_of_information(cancer):
    X, y = cancer
    pipeline = Pipeline([("selector", BURSelector("mim", 2, mi_estimator=Binned())), ("model", GaussianNB())])
    grid = {"selector__mi_estimator__n_bins": [2, 7], "selector__mi_estimator__strategy": ["quantile", "uniform"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_params_
    again = Binned(best["selector__mi_estimator__n_bins"], best["selector__mi_estimator__strategy"])
    expected = BURSelector("mim", 2, mi_estimator=again).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_[0].selection_scores_, expected.selection_scores_)
    other = BURSelector("mim", 2, mi_estimator=Binned(19)).fit(X, y)
    assert not np.array_equal(other.selection_scores_, expected.selection_scores_)


def test_before_and_behind_a_column_transformer(mixed):
    pandas = pytest.importorskip("pandas")
    columns, y = mixed
    X = pandas.DataFrame(columns)
    encode = ColumnTransformer(
        [("text", OneHotEncoder(), make_column_selector(dtype_exclude="number"))], remainder="passthrough"
    )
    pipeline = make_pipeline(BURSelector(n_features_to_select=2), encode, DecisionTreeClassifier(random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    numbers = ColumnTransformer([("best", BURSelector(n_features_to_select=1), ["noise", "size", "weight"])])
    assert numbers.fit_transform(X, y).shape == (150, 1)
    assert numbers.get_feature_names_out().shape == (1,)


def test_clone_pickle_and_repr(cancer):
    X, y = cancer
    selector = BURSelector("mrmr", 3, beta=0.3).fit(X, y)
    assert not hasattr(clone(selector), "order_")
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
    assert again.selection_.selected_names == selector.selection_.selected_names
    assert repr(selector) == "BURSelector(beta=0.3, criterion='mrmr', n_features_to_select=3)"


def test_missing_values_pass_if_the_estimator_copes_with_them(planted):
    X, y = planted
    gaps = np.where(X > 2, np.nan, X)
    complete = cross_validated(betas=[0], max_features=2).fit(X, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        complete.transform(gaps)
    estimator = make_pipeline(FunctionTransformer(np.nan_to_num), GaussianNB())
    selector = BURSelectorCV(estimator, betas=[0], max_features=2, cv=2).fit(gaps, y)
    np.testing.assert_array_equal(selector.transform(gaps), gaps[:, selector.support_])


def test_tags():
    tags = get_tags(BURSelector())
    assert tags.target_tags.required
    assert tags.input_tags.allow_nan
    assert tags.input_tags.string
    assert not get_tags(BURSelectorCV(GaussianNB())).input_tags.allow_nan
    assert get_tags(BURSelectorCV(DecisionTreeClassifier())).input_tags.allow_nan


# Searches that end early


def test_no_time_at_all_is_an_error(cancer):
    with pytest.raises(TimeoutError, match="no feature was selected: the time budget of 0 s was used up"):
        BURSelector(max_seconds=0).fit(*cancer)


def test_a_search_that_runs_out_of_time_keeps_what_it_has(cancer, monkeypatch):
    X, y = cancer
    full = BURSelector("mrmr", 6, beta=0).fit(X, y)
    now, best, steps = time.monotonic, unirel.search.steps._best, []
    monkeypatch.setattr(unirel.search.steps, "_best", lambda *given: (best(*given), steps.append(1))[0])
    monkeypatch.setattr(time, "monotonic", lambda: now() + 1000 * (len(steps) >= 3))
    selector = BURSelector("mrmr", 6, beta=0, max_seconds=250)
    with pytest.warns(UnirelWarning, match=r"incomplete: the time budget of 250 s was used up; 3 of 6 features"):
        selector.fit(X, y)
    assert selector.order_.tolist() == full.order_[:3].tolist()
    assert not selector.selection_.complete
    assert selector.transform(X).shape[1] == 3


def interrupt_after(monkeypatch, n_steps):
    steps = iter(range(1000))
    best = unirel.search.steps._best

    def step(*arguments):
        if next(steps) >= n_steps:
            raise KeyboardInterrupt
        return best(*arguments)

    monkeypatch.setattr(unirel.search.steps, "_best", step)


def test_an_interrupted_search_keeps_what_it_has_and_goes_on_up(cancer, monkeypatch):
    X, y = cancer
    interrupt_after(monkeypatch, 2)
    selector = BURSelector(n_features_to_select=6)
    with pytest.raises(KeyboardInterrupt, match="2 features"):
        selector.fit(X, y)
    assert len(selector.order_) == 2
    assert not selector.selection_.complete
    assert selector.transform(X).shape == (len(X), 2)


def test_an_interrupt_ends_the_loop_around_a_selector(cancer, monkeypatch):
    interrupt_after(monkeypatch, 2)
    pipeline = make_pipeline(BURSelector(n_features_to_select=6, beta=0), GaussianNB())
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(pipeline, *cancer, cv=3)


def state_of(selector):
    return {name: value for name, value in vars(selector).items() if name.endswith("_")}


FAILURES = {
    "a wrong parameter": ({"beta": 2}, ValueError),
    "rows that do not fit": ({}, ValueError),
    "no time": ({"max_seconds": 0}, TimeoutError),
}


@pytest.mark.parametrize(("parameters", "error"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("cross_validates", [False, True])
def test_a_fit_that_fails_changes_nothing(cancer, parameters, error, cross_validates):
    X, y = cancer
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdefghijkl"))

    def fit(selector, X, y, **parameters):
        if cross_validates:
            selector = BURSelectorCV(GaussianNB(), selector, betas=[0], max_features=2, cv=2)
        inner = selector.selector if cross_validates else selector
        inner.set_params(**parameters)
        return selector, lambda: selector.fit(X, y)

    labels = y if parameters else y[:-1]
    selector, failing = fit(BURSelector(n_features_to_select=2), frame, labels, **parameters)
    with pytest.raises(error):
        failing()
    assert state_of(selector) == {}
    with pytest.raises(NotFittedError):
        selector.transform(frame)

    selector, fitting = fit(BURSelector(n_features_to_select=2), frame, y)
    fitting()
    before, chosen = state_of(selector), selector.transform(frame)
    (selector.selector if cross_validates else selector).set_params(**parameters)
    with pytest.raises(error):
        selector.fit(frame[list("lkjih")], labels)
    after = state_of(selector)
    assert before.keys() == after.keys()
    assert all(after[name] is before[name] for name in before)
    assert selector.transform(frame).equals(chosen)


def test_an_interrupt_before_the_first_feature_leaves_a_fitted_selector_alone(cancer, monkeypatch):
    X, y = cancer
    selector = BURSelector(n_features_to_select=3).fit(X, y)
    before = state_of(selector)
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X[:, :5], y)
    assert state_of(selector) == before


def test_an_interrupt_before_the_first_feature_goes_on(cancer, monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        BURSelector().fit(*cancer)


# Cross-validation


@pytest.fixture
def planted():
    return make_classification(
        160, 10, n_informative=3, n_redundant=3, n_clusters_per_class=1, flip_y=0, class_sep=1.5, random_state=0
    )


def cross_validated(inner=None, **parameters):
    selector = BURSelector(**(inner or {}))
    return BURSelectorCV(GaussianNB(), selector, **{"max_features": 5, "cv": 3, **parameters})


def test_results_of_cross_validation(planted):
    X, y = planted
    selector = cross_validated(betas=[0.3]).fit(X, y)
    results = selector.cv_results_
    assert results["beta"].tolist() == [0.0] * 5 + [0.3] * 5
    assert results["n_features"].tolist() == [1, 2, 3, 4, 5] * 2
    splits = np.array([results[f"split{number}_test_score"] for number in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    best = results["mean_test_score"].max()
    chosen = (results["beta"] == selector.best_beta_) & (results["n_features"] == selector.n_features_)
    assert results["mean_test_score"][chosen] == pytest.approx(best)
    equal = results["mean_test_score"] >= best - 1e-12
    assert selector.n_features_ == results["n_features"][equal].min()
    plain = BURSelector(n_features_to_select=selector.n_features_, beta=selector.best_beta_)
    assert selector.order_.tolist() == plain.fit(X, y).order_.tolist()
    assert selector.support_.sum() == selector.n_features_


def test_scores_are_those_of_a_pipeline(planted):
    X, y = planted
    selector = cross_validated(betas=[0.1], max_features=3, cv=KFold(3)).fit(X, y)
    results = selector.cv_results_
    for place in range(6):
        inner = BURSelector(
            n_features_to_select=int(results["n_features"][place]), beta=results["beta"][place], mi_estimator="binned"
        )
        expected = cross_val_score(make_pipeline(inner, GaussianNB()), X, y, cv=KFold(3))
        np.testing.assert_allclose([results[f"split{i}_test_score"][place] for i in range(3)], expected)


def test_one_path_per_fold(planted, monkeypatch):
    calls = []

    def counting(table, criteria, betas, settings, **more):
        calls.append((table.n_samples, list(betas), settings.n_features_to_select))
        return unirel.search.greedy.select(table, criteria, betas, settings, **more)

    for module in (unirel.search.folds, unirel.selectors):
        monkeypatch.setattr(module, "select", counting)
    selector = cross_validated(betas=(0.1, 0.5), cv=4).fit(*planted)
    assert calls == [(120, [0.0, 0.1, 0.5], 5)] * 4 + [(160, [selector.best_beta_], selector.n_features_)]


def test_equal_features_are_scored_once(planted):
    fits = []

    class Counting(GaussianNB):
        def fit(self, X, y):
            fits.append(X.shape[1])
            return super().fit(X, y)

    inner = BURSelector("mim", unique_relevance=np.zeros(10))
    BURSelectorCV(Counting(), inner, betas=[0.1, 0.2], max_features=4, cv=2).fit(*planted)
    assert sorted(fits) == [1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize(("step", "expected"), [(1, [1, 2, 3, 4, 5]), (2, [1, 3, 5]), (3, [2, 5]), (9, [5])])
def test_steps_go_down_from_the_most_features(planted, step, expected):
    selector = cross_validated(step=step, betas=0.0).fit(*planted)
    assert selector.cv_results_["n_features"].tolist() == expected


def test_never_more_features_than_there_are(planted):
    X, y = planted
    selector = cross_validated({"include": [9, 8], "exclude": [0, 1]}, max_features=30, betas=[0]).fit(X, y)
    assert selector.cv_results_["n_features"].tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert selector.order_[:2].tolist() == [9, 8]
    assert cross_validated({"include": 9}, betas=[0]).fit(X, y).order_[0] == 9  # one position needs no list


def test_one_standard_error_takes_no_more_features(planted):
    X, y = planted
    best = cross_validated(max_features=8, betas=(0.1, 0.3)).fit(X, y)
    sparing = cross_validated(max_features=8, betas=(0.1, 0.3), one_standard_error=True).fit(X, y)
    assert sparing.n_features_ <= best.n_features_
    results = best.cv_results_
    place = np.flatnonzero((results["beta"] == best.best_beta_) & (results["n_features"] == best.n_features_))[0]
    splits = np.array([results[f"split{number}_test_score"][place] for number in range(3)])
    least = splits.mean() - splits.std(ddof=1) / 3**0.5 - 1e-9
    assert sparing.n_features_ == results["n_features"][results["mean_test_score"] >= least].min()


@pytest.mark.parametrize(("one_standard_error", "expected"), [(False, (0.5, 2)), (True, (0.1, 1))])
def test_ties_go_to_fewer_features_then_to_the_smaller_beta(one_standard_error, expected):
    # Means, beta by number of features: 0.5 and 2 is best, beside its equal with 3 features.
    means = np.array([[0.60, 0.70, 0.80], [0.88, 0.88, 0.90], [0.88, 0.90, 0.70]])
    scores = np.stack([means - 0.05, means + 0.05, means])
    results = unirel.search.folds.results_of([0.0, 0.1, 0.5], [1, 2, 3], scores)
    place = unirel.search.folds.choose(results, scores, one_standard_error)
    assert (results["beta"][place], results["n_features"][place]) == expected


def test_selection_sees_training_rows_only(planted):
    """A column that equals the target in the test rows of every fold, and is noise elsewhere, must not be chosen."""
    X, y = planted
    rng = np.random.default_rng(0)
    seen = []

    class Recorder(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            seen.append(("fit", X))
            return self

        def predict(self, X):
            seen.append(("predict", X))
            return np.zeros(len(X), dtype=int)

    rows = np.arange(len(X))
    test = rows[::4]
    X = rng.standard_normal(X.shape)
    X[:, 3] += 2 * y
    X[test, 7] = 100 + 10 * y[test]
    X = np.column_stack([X, rows])
    split = [(np.setdiff1d(rows, test), test)]
    BURSelectorCV(Recorder(), BURSelector("jmi", include=["x10"]), cv=split, betas=[0], max_features=1).fit(X, y)
    assert set(seen[0][1][:, -1]) == set(split[0][0])
    assert set(seen[1][1][:, -1]) == set(test)
    seen.clear()
    BURSelectorCV(Recorder(), BURSelector("mim", exclude=[10]), cv=split, betas=[0], max_features=1).fit(X, y)
    np.testing.assert_array_equal(seen[0][1][:, 0], X[split[0][0], 3])
    everything = BURSelector("mim", 1, beta=0, exclude=[3, 10]).fit(X, y)
    assert everything.order_.tolist() == [7], "on all rows the planted column would win"


def test_folds_in_parallel_give_the_same(planted):
    X, y = planted
    one = cross_validated(max_features=3, betas=[0.1]).fit(X, y)
    two = cross_validated(max_features=3, betas=[0.1], n_jobs=2).fit(X, y)
    for name, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, two.cv_results_[name])
    assert one.order_.tolist() == two.order_.tolist()


def test_cross_validation_of_any_table(frame, mixed):
    columns, y = mixed
    X = frame(columns)
    numeric = FunctionTransformer(lambda X: np.asarray(X).astype(str))
    estimator = make_pipeline(numeric, OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    selector = BURSelectorCV(estimator, betas=[0.1], max_features=2, cv=2).fit(X, y)
    assert type(selector.transform(X)) is type(X)
    assert len(selector.order_) == selector.n_features_


def test_cross_validation_of_a_lazy_frame(planted):
    polars = pytest.importorskip("polars")
    X, y = planted
    frame = polars.DataFrame({f"c{place}": column for place, column in enumerate(X.T)})
    eager, lazy = (cross_validated(betas=[0], max_features=2).fit(table, y) for table in (frame, frame.lazy()))
    assert lazy.order_.tolist() == eager.order_.tolist()
    assert lazy.feature_names_in_.tolist() == frame.columns
    assert lazy.transform(frame.lazy()).equals(eager.transform(frame))


def test_rows_in_parts_cannot_be_split_into_folds(planted):
    array = pytest.importorskip("dask.array")
    X, y = planted
    with pytest.raises(TypeError, match="X is read in parts, whose rows cannot be split into folds"):
        cross_validated().fit(array.from_array(X, chunks=(80, 10)), y)


@pytest.mark.parametrize("wrap", [list, lambda y: pytest.importorskip("pandas").Series(y, dtype="category", name="t")])
def test_cross_validation_with_labels_of_any_kind(planted, wrap):
    X, y = planted
    labels = np.where(y, "yes", "no")
    assert cross_validated(betas=[0], max_features=2).fit(X, wrap(labels)).cv_results_["mean_test_score"].max() > 0.8


def test_cross_validation_with_a_continuous_target():
    X, y = make_regression(120, 6, n_informative=2, random_state=0)
    selector = BURSelectorCV(LinearRegression(), cv=3, max_features=4, scoring="neg_mean_squared_error").fit(X, y)
    assert selector.columns_[-1].kind == "continuous"
    assert selector.cv_results_["mean_test_score"].max() > -1
    assert selector.n_features_ == 2


def test_it_is_a_step_of_a_pipeline(planted):
    X, y = planted
    inner = cross_validated(betas=[0.1], max_features=3)
    pipeline = make_pipeline(inner.set_output(transform="pandas"), KNeighborsClassifier())
    assert cross_val_score(pipeline, X, y, cv=2).mean() > 0.8
    fitted = pipeline.fit(X, y)[0]
    again = pickle.loads(pickle.dumps(fitted))
    assert again.transform(X).equals(fitted.transform(X))
    assert repr(inner).startswith("BURSelectorCV(betas=[0.1], cv=3, estimator=GaussianNB()")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"betas": [0.1, 2]}, "betas=2 is out of range"),
        ({"betas": ["a"]}, "betas='a' is out of range"),
        ({"max_features": 0}, "max_features=0 must be a whole number from 1 on"),
        ({"step": 0}, "step=0 must be a whole number from 1 on"),
        ({"max_features": 1, "inner": {"include": [0, 1]}}, "include names 2 features, but max_features=1"),
    ],
)
def test_wrong_parameters_of_cross_validation_are_named(planted, parameters, message):
    with pytest.raises(ValueError, match=message):
        cross_validated(**parameters).fit(*planted)


def test_cross_validation_without_time_is_an_error(planted):
    with pytest.raises(TimeoutError, match="no number of features was reached in every fold"):
        cross_validated({"max_seconds": 0}).fit(*planted)


def test_an_interrupt_ends_cross_validation(planted, monkeypatch):
    interrupt_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        cross_validated(betas=[0]).fit(*planted)


def test_groups_go_to_the_splitter(planted):
    X, y = planted
    groups = np.arange(len(X)) % 4
    selector = cross_validated(betas=[0], max_features=2, cv=GroupKFold(4))
    assert len(selector.fit(X, y, groups=groups).cv_results_) == 8
    with pytest.raises(ValueError, match="fit got sample_weight, which is only passed on if metadata routing"):
        selector.fit(X, y, sample_weight=groups)


def test_metadata_is_routed(planted):
    X, y = planted
    seen = []

    class Weighted(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y)

    weights = np.arange(len(X), dtype=float)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        estimator = Weighted().set_fit_request(sample_weight=True)
        selector = BURSelectorCV(estimator, betas=[0], max_features=1, cv=GroupKFold(2), scoring=scorer)
        selector.fit(X, y, sample_weight=weights, groups=weights % 2)
        assert {tuple(given % 2) for given in seen} == {(0.0,) * 80, (1.0,) * 80}
        with pytest.raises(TypeError, match="unexpected argument"):
            selector.fit(X, y, nonsense=weights)


def test_progress_is_drawn_when_asked_for(planted, monkeypatch):
    drawn = []

    class Bar:
        def __init__(self, title, hint=""):
            self.title = title

        def __call__(self, done, total):
            drawn.append((self.title, done, total))

    monkeypatch.setattr(unirel._runtime, "ProgressBar", Bar)
    cross_validated(betas=[0], max_features=2, verbose=True).fit(*planted)
    assert drawn[:3] == [("cross-validating", done, 3) for done in (1, 2, 3)]
    assert drawn[-1][0] == "selecting"


def test_a_regressor_may_be_scored_on_a_short_table():
    X = load_iris().data
    selector = BURSelectorCV(KNeighborsRegressor(2), cv=2, max_features=2).fit(X[::5, :3], X[::5, 3])
    assert selector.n_features_ in (1, 2)


# Weights of rows and sparse tables


@pytest.mark.parametrize("parameters", [{}, {"beta": 0}, {"criterion": "jmi", "unique_relevance": "selected"}], ids=str)
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_whole_weights_are_repeated_rows(cancer, rng, parameters, target):
    X, labels = cancer
    y = labels if target == "classes" else X[:, 0] + X[:, 1]
    weights = rng.integers(0, 3, len(y))
    weighted = BURSelector(n_features_to_select=4, **parameters).fit(X, y, sample_weight=weights)
    repeated = BURSelector(n_features_to_select=4, **parameters).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert weighted.order_.tolist() == repeated.order_.tolist()
    np.testing.assert_allclose(weighted.selection_scores_, repeated.selection_scores_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["ksg", "classifier"])
def test_weights_that_cannot_be_used_are_refused(cancer, kind):
    X, y = cancer
    with pytest.raises(ValueError, match="sample_weight does not go with unique_relevance="):
        BURSelector(unique_relevance=kind).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_a_sparse_table_gives_what_the_dense_one_gives(rng, kind, target):
    dense = np.where(rng.random((150, 20)) < 0.2, rng.integers(1, 4, (150, 20)), 0).astype(float)
    dense[:, :5] *= rng.normal(size=(150, 5))
    total = dense[:, 0] + dense[:, 7] + 0.1 * rng.normal(size=150)
    y = total > 0 if target == "classes" else total
    X = getattr(scipy.sparse, kind)(dense)
    sparse, full = (BURSelector(n_features_to_select=4).fit(table, y) for table in (X, dense))
    assert sparse.order_.tolist() == full.order_.tolist()
    np.testing.assert_allclose(sparse.selection_scores_, full.selection_scores_, rtol=0, atol=1e-10)
    chosen = sparse.transform(X)
    assert scipy.sparse.issparse(chosen)
    np.testing.assert_array_equal(chosen.toarray(), full.transform(dense))
    np.testing.assert_array_equal(sparse.inverse_transform(chosen).toarray(), full.inverse_transform(chosen.toarray()))


def test_neighbours_refuse_a_sparse_table_in_one_line(rng):
    X = scipy.sparse.random(50, 5, 0.3, random_state=0, format="csr")
    with pytest.raises(TypeError, match=r"X is sparse.*X.toarray\(\)"):
        BURSelector(mi_estimator="knn").fit(X, np.arange(50) % 2)


# The sample of rows that unique relevance is estimated from


def test_a_sample_is_seeded_and_independent_of_threads(cancer):
    X, y = cancer
    orders = [
        BURSelector(random_state=seed, n_jobs=n_jobs, unique_relevance=Boost(max_samples=60))
        .fit(X, y)
        .unique_relevance_
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    ]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])


def test_a_sample_of_all_rows_changes_nothing(cancer):
    X, y = cancer
    whole, sampled = (BURSelector(unique_relevance=Boost(max_samples=most)).fit(X, y) for most in (None, len(y)))
    assert whole.order_.tolist() == sampled.order_.tolist()


def test_small_classes_lower_the_weight_of_unique_relevance():
    """Ten neighbours of the own class are asked for, so classes of six rows give half of the weight."""
    from unirel.search.boost import _credit

    X = np.random.default_rng(0).normal(size=(60, 3))
    assert _credit(Table.from_data(X, np.arange(60) % 10)) == pytest.approx(0.5)
    assert _credit(Table.from_data(X, np.arange(60) % 5)) == 1
    assert _credit(Table.from_data(X, X[:, 0])) == 1


def test_the_form_of_the_paper(cancer):
    X, y = cancer
    paper = BURSelector.paper(n_features_to_select=4).fit(X, y)
    path = selection_path(
        X,
        y,
        criteria="jmi",
        betas=0.1,
        selector=BURSelector(unique_relevance="ksg", n_features_to_select=4, mi_estimator="knn"),
    )
    assert paper.order_.tolist() == path.order("jmi", 0.1).tolist()
    assert BURSelector.paper("mim", beta=0.3).beta == 0.3
