"""Losses without each feature against a plain loop that trains scikit-learn's models."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.predictors import ClassifierLoss, design_matrix, standardise

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
SMALL_FOREST = RandomForestClassifier(n_estimators=5, random_state=0)
CLASSIFIERS = {
    "rf": RandomForestClassifier(n_estimators=100, random_state=0),
    "knn": KNeighborsClassifier(n_neighbors=5),
    "svm": CalibratedClassifierCV(LinearSVC(dual=False), cv=FOLDS, ensemble=False),
    "logistic": LogisticRegression(max_iter=1000),
}
REGRESSORS = {
    "knn": KNeighborsRegressor(n_neighbors=5),
    "svm": LinearSVR(dual=False, loss="squared_epsilon_insensitive", epsilon=0.1),
    "logistic": Ridge(),
}
# Where any classifier will do, a small forest stands for a large one.
QUICK = [SMALL_FOREST, "knn", "svm", "logistic"]


def three_classes(rng, n_samples=60, n_features=3):
    """The first feature is most relevant, the last irrelevant."""
    y = np.arange(n_samples) % 3
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += 2 * y
    X[:, 1] += 0.5 * (y == 1)
    return X, np.array(["a", "b", "c"])[y]


def numbers(rng, n_samples=60):
    X = rng.normal(size=(n_samples, 2))
    return X, 2 * X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n_samples)


def mixed(rng, n_samples=80):
    """Columns of every kind, with missing values."""
    y = np.arange(n_samples) % 2
    size = rng.normal(size=n_samples) + y
    size[::7] = np.nan
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), size=n_samples)
    columns = {"size": size, "colour": colour, "flag": rng.random(n_samples) < 0.3 + 0.4 * y}
    return pd.DataFrame(columns | {"noise": rng.normal(size=n_samples)}), y


def scaled(estimator):
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), estimator)


def loss_of(probabilities, codes):
    return -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 0.5 / len(codes))).mean()


def refit_each(table, estimator, cv=FOLDS):
    """The definition: train without the feature, predict the held-out rows."""
    matrix, columns_of = design_matrix(table)
    codes = table.codes(table.target)
    rests = [np.delete(matrix, own, axis=1) for own in columns_of]
    return [
        loss_of(cross_val_predict(scaled(estimator), rest, codes, cv=cv, method="predict_proba"), codes)
        for rest in rests
    ]


@pytest.mark.parametrize(
    "name", [pytest.param("rf", marks=pytest.mark.slow), *(name for name in CLASSIFIERS if name != "rf")]
)
def test_equals_a_plain_loop(rng, name):
    table = Table.from_data(*three_classes(rng, n_features=2 if name == "rf" else 3))
    assert_allclose(ClassifierLoss(name).losses(table), refit_each(table, CLASSIFIERS[name]), rtol=1e-10)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_equal_a_plain_loop(rng, name):
    X, y = numbers(rng)
    y = (y - y.mean()) / y.std()
    folds = KFold(5, shuffle=True, random_state=0)
    residuals = [y - cross_val_predict(scaled(REGRESSORS[name]), X[:, [i]], y, cv=folds) for i in (1, 0)]
    losses = ClassifierLoss(name).losses(Table.from_data(X, 7 * y + 3))
    assert_allclose(losses, [0.5 * np.log(2 * np.pi * np.mean(r**2)) + 0.5 for r in residuals], rtol=1e-8)
    assert losses.argmax() == 0


def test_columns_of_every_kind(rng):
    table = Table.from_data(*mixed(rng))
    losses = ClassifierLoss("logistic").losses(table)
    # The mean of the training rows is imputed in both; only its deviation differs by the way of counting.
    assert_allclose(losses, refit_each(table, CLASSIFIERS["logistic"]), rtol=0.01)
    matrix, columns_of = design_matrix(table)
    train = next(FOLDS.split(matrix, table.codes(table.target)))[0]
    assert not np.isnan(standardise(matrix, train)).any()
    assert_allclose(standardise(matrix, train)[train][:, columns_of[3]].std(), 1)


def test_train_is_the_loss_on_the_same_rows(rng):
    table = Table.from_data(*three_classes(rng))
    matrix, codes = design_matrix(table)[0], table.codes(table.target)
    rests = [np.delete(matrix, feature, axis=1) for feature in range(3)]
    expected = [loss_of(scaled(KNeighborsClassifier()).fit(rest, codes).predict_proba(rest), codes) for rest in rests]
    assert_allclose(ClassifierLoss("knn", cv="train").losses(table), expected)


def test_a_classifier_without_probabilities_is_calibrated(rng):
    table = Table.from_data(*three_classes(rng, n_features=2))
    expected = refit_each(table, CalibratedClassifierCV(RidgeClassifier(), cv=FOLDS, ensemble=False))
    assert_allclose(ClassifierLoss(RidgeClassifier()).losses(table), expected, rtol=1e-10)


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_the_relevant_feature_is_missed_most(rng, name):
    X = rng.normal(size=(60, 4))
    losses = ClassifierLoss(name).losses(Table.from_data(X, X[:, 2] > 0))
    assert losses.argmax() == 2
    assert losses[2] > 2 * np.delete(losses, 2).max()


def test_a_copy_is_hardly_missed(rng):
    X, y = three_classes(rng)
    loss = ClassifierLoss()
    full = loss.losses(Table.from_data(np.c_[X, np.zeros(60)], y))[-1]
    lone = loss.losses(Table.from_data(X, y))[0]
    twice = loss.losses(Table.from_data(np.c_[X, X[:, 0]], y))
    assert_allclose(twice[0], twice[-1], rtol=1e-5)
    assert abs(twice[0] - full) < 0.05 * (lone - full)


def test_design_matrix(rng):
    frame, y = mixed(rng)
    matrix, columns_of = design_matrix(Table.from_data(frame.assign(same="x"), y))
    assert [len(own) for own in columns_of] == [2, 4, 1, 1, 0]
    missing = frame["size"].isna().to_numpy()
    assert_array_equal(np.isnan(matrix[:, 0]), missing)
    assert_array_equal(matrix[:, 1], missing)
    assert_array_equal(matrix[~missing, 0], frame["size"][~missing])
    assert_array_equal(matrix[:, 2:6].sum(axis=1), 1)
    assert_array_equal(matrix[:, 5], frame["colour"].isna())
    assert_array_equal(matrix[:, 6], frame["flag"])


def test_of_many_levels_the_most_frequent_have_columns(rng):
    levels = np.array([f"level {i % 150}" for i in range(400)])
    matrix, columns_of = design_matrix(Table.from_data(pd.DataFrame({"text": levels}), np.arange(400) % 2))
    assert len(columns_of[0]) == 100
    assert (matrix.sum(axis=0) == 3).all()  # the first hundred are there three times


def test_constant_features(rng):
    table = Table.from_data(np.ones((40, 2)), np.arange(40) % 2)
    assert_allclose(ClassifierLoss().losses(table), np.log(2))


def test_a_column_without_values_to_train_on():
    matrix = np.array([[np.nan, 1.0], [np.nan, 3.0], [5.0, 2.0]])
    assert_array_equal(standardise(matrix, np.array([0, 1])), [[0, -1], [0, 1], [0, 0]])


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_without_the_only_feature_frequencies_are_predicted(rng, name):
    y = np.array([0] * 20 + [1] * 30)
    losses = ClassifierLoss(name).losses(Table.from_data(rng.normal(size=(50, 1)), y))
    assert_allclose(losses, -0.4 * np.log(0.4) - 0.6 * np.log(0.6))
    table = Table.from_data(rng.normal(size=(50, 1)), rng.normal(size=50))
    if isinstance(name, str):
        assert_allclose(ClassifierLoss(name, cv="train").losses(table), 0.5 * np.log(2 * np.pi) + 0.5)


def test_some_columns(rng):
    table = Table.from_data(*three_classes(rng))
    some, every = ClassifierLoss().losses(table, np.array([2])), ClassifierLoss().losses(table)
    assert_array_equal(some, [np.nan, np.nan, every[2]])


def test_splitters(rng):
    table = Table.from_data(*three_classes(rng))
    folds = StratifiedKFold(3)
    losses = ClassifierLoss("knn", cv=folds).losses(table)
    assert_allclose(losses, refit_each(table, KNeighborsClassifier(), folds))
    splits = list(folds.split(np.zeros(60), table.codes(table.target)))
    assert_array_equal(ClassifierLoss("knn", cv=splits).losses(table), losses)
    assert np.isfinite(ClassifierLoss("knn", cv=ShuffleSplit(2, random_state=0)).losses(table)).all()


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_a_loss_is_finite_where_a_classifier_is_certain_and_wrong(rng, name):
    X = np.repeat([0.0, 1.0], 20)[:, None] + 1e-3 * rng.normal(size=(40, 1))
    y = np.repeat([0, 1], 20)
    y[0] = 1
    assert (ClassifierLoss(name).losses(Table.from_data(np.c_[X, X], y)) < np.log(2)).all()


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_small_classes(rng, name):
    X, _ = three_classes(rng, 40)
    table = Table.from_data(X, np.array(["rare"] * 3 + ["usual"] * 37))
    with pytest.warns(UnirelWarning, match="class 'rare' has 3 samples, so cv=5 is lowered to 3"):
        losses = ClassifierLoss(name).losses(table)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert_array_equal(losses, ClassifierLoss(name, cv=folds).losses(table))
    lone = Table.from_data(X, np.array(["lone"] + ["a", "b", "a"] * 13))
    with pytest.warns(UnirelWarning, match="class 'lone' has one sample"):
        losses = ClassifierLoss(name).losses(lone)
    assert (losses >= np.log(80) / 40 - 1e-12).all()  # the single row costs the whole floor
    assert np.isfinite(losses).all()


def test_few_rows(rng):
    table = Table.from_data(rng.normal(size=(4, 2)), rng.normal(size=4))
    with pytest.warns(UnirelWarning, match="y has 4 samples, so cv=5 is lowered to 4"):
        assert np.isfinite(ClassifierLoss("knn").losses(table)).all()
    table = Table.from_data(rng.normal(size=(4, 2)), list("abcd"))
    with pytest.raises(ValueError, match=r"^every class of y has one sample only; merge classes"):
        ClassifierLoss("knn").losses(table)
    assert np.isfinite(ClassifierLoss("knn", cv="train").losses(table)).all()


def test_a_perfect_regression_is_finite(rng):
    X = rng.normal(size=(40, 1))
    table = Table.from_data(np.c_[X, X], X[:, 0])
    losses = ClassifierLoss(KNeighborsRegressor(1), cv="train").losses(table)
    assert_allclose(losses, 0.5 * np.log(2 * np.pi * 1e-12) + 0.5)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads(rng, n_jobs):
    table = Table.from_data(*three_classes(rng))
    tree = DecisionTreeClassifier(random_state=0)
    losses = ClassifierLoss(tree).losses(table, n_jobs=n_jobs)
    assert_array_equal(losses, ClassifierLoss(tree).losses(table))
    assert not hasattr(tree, "tree_")


def test_it_is_an_estimator_of_scikit_learn():
    loss = ClassifierLoss(LogisticRegression(), cv=3)
    assert clone(loss).set_params(estimator__C=2.0).estimator.C == 2.0
    assert repr(ClassifierLoss("knn")) == "ClassifierLoss(estimator='knn')"


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ("forest", "^estimator='forest' is not one of 'logistic', 'rf', 'knn', 'svm'$"),
        (None, "^estimator=None is no object with fit .* one of 'logistic'"),
        (LogisticRegression, "^estimator=<class .*LogisticRegression'> is no object with fit"),
        (Ridge(), r"^estimator=Ridge\(\) is no classifier, but the target is discrete; pass a classifier"),
        (KMeans(), r"^estimator=KMeans\(\) is no classifier"),
    ],
)
def test_what_is_no_classifier(rng, estimator, message):
    with pytest.raises(ValueError, match=message):
        ClassifierLoss(estimator).losses(Table.from_data(*three_classes(rng)))


def test_a_classifier_for_numbers(rng):
    with pytest.raises(ValueError, match="is no regressor, but the target is continuous; pass a regressor"):
        ClassifierLoss(LogisticRegression()).losses(Table.from_data(*numbers(rng)))


@pytest.mark.parametrize("cv", [1, 2.5, None, "test"])
def test_what_is_no_cv(rng, cv):
    with pytest.raises(ValueError, match=f"^cv={cv!r} must be 'train' or a whole number from 2 on$"):
        ClassifierLoss(cv=cv).losses(Table.from_data(*three_classes(rng)))
