"""Losses without each feature against plain loops that refit with scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

from unirel.classifiers.losses import design_matrix, losses_without_each
from unirel.data.table import Table
from unirel.errors import UnirelWarning

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
CLASSIFIERS = {
    "rf": RandomForestClassifier(n_estimators=100, random_state=0),
    "knn": KNeighborsClassifier(n_neighbors=5),
    "svm": CalibratedClassifierCV(LinearSVC(dual=False, tol=1e-13), cv=FOLDS, ensemble=False),
    "logistic": LogisticRegression(max_iter=1000),
}
REGRESSORS = {
    "rf": RandomForestRegressor(n_estimators=100, random_state=0),
    "knn": KNeighborsRegressor(n_neighbors=5),
    "svm": LinearSVR(dual=False, loss="squared_epsilon_insensitive", epsilon=0.1),
    "logistic": Ridge(),
}
# A forest takes long; where any classifier will do, a small one stands for it.
SMALL_FOREST = RandomForestClassifier(n_estimators=5, random_state=0)
QUICK = [SMALL_FOREST, "knn", "svm", "logistic"]
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def three_classes(rng, n_samples=60, n_features=3):
    """The first feature tells most, the last nothing."""
    y = np.arange(n_samples) % 3
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += 2 * y
    X[:, 1] += 0.5 * (y == 1)
    return X, np.array(["a", "b", "c"])[y]


def numbers(rng, n_samples=60):
    X = rng.normal(size=(n_samples, 2))
    return X, 2 * X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n_samples)


def mixed(rng, n_samples=80):
    """Columns of every kind, with missing values, none of which makes distances tie."""
    y = np.arange(n_samples) % 2
    size = rng.normal(size=n_samples) + y
    size[::7] = np.nan
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), size=n_samples)
    columns = {"size": size, "colour": colour, "flag": rng.random(n_samples) < 0.3 + 0.4 * y}
    return pd.DataFrame(columns | {"noise": rng.normal(size=n_samples), "more": rng.normal(size=n_samples)}), y


def loss_of(probabilities, codes):
    rows = np.arange(len(codes))
    return -np.log(np.maximum(probabilities[rows, codes], 0.5 / len(codes))).mean()


def refit_each(table, estimator, cv=FOLDS):
    """The definition: train without the feature, predict the rows left out."""
    matrix, places = design_matrix(table)
    codes = table.codes(table.target)
    rests = [np.delete(matrix, own, axis=1) for own in places]
    return [loss_of(cross_val_predict(estimator, rest, codes, cv=cv, method="predict_proba"), codes) for rest in rests]


def gaussian(residuals):
    return 0.5 * np.log(2 * np.pi * np.mean(residuals**2)) + 0.5


# The definition


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_equals_refitting_from_scratch(rng, name):
    table = Table.from_data(*three_classes(rng, n_features=2 if name == "rf" else 3))
    close = {"rtol": 1e-7} if name == "svm" else CLOSE  # scikit-learn's ends before its lowest loss
    assert_allclose(losses_without_each(table, name), refit_each(table, CLASSIFIERS[name]), **close)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in ("svm", "rf", "logistic") else []) for name in CLASSIFIERS],
)
def test_order_of_all_sonar_features_is_that_of_refitting(name, data_home):
    # A forest of fewer trees, because two times 300 of them are grown.
    estimator = clone(CLASSIFIERS[name]).set_params(n_estimators=10) if name == "rf" else CLASSIFIERS[name]
    frame = pd.read_parquet(data_home / "sonar.parquet")
    table = Table.from_data(frame.drop(columns="target"), frame["target"])
    expected = refit_each(table, estimator)
    losses = losses_without_each(table, estimator if name == "rf" else name)
    assert np.argsort(-losses, kind="stable").tolist() == np.argsort(-np.array(expected), kind="stable").tolist()
    assert_allclose(losses, expected, **CLOSE)


def test_is_the_log_loss_of_scikit_learn(rng):
    X, y = three_classes(rng)
    X[:, 0] *= 0.1  # No probability is near 0.
    table = Table.from_data(X, y)
    matrix = design_matrix(table)[0]
    expected = [
        log_loss(y, cross_val_predict(LogisticRegression(), rest, y, cv=FOLDS, method="predict_proba"))
        for rest in (np.delete(matrix, feature, axis=1) for feature in range(3))
    ]
    assert_allclose(losses_without_each(table, LogisticRegression()), expected, **CLOSE)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(rng, name):
    table = Table.from_data(*numbers(rng))
    matrix, y = design_matrix(table)[0], table.values[table.target]
    folds = KFold(5, shuffle=True, random_state=0)
    rests = [matrix[:, [1]], matrix[:, [0]]]
    expected = [gaussian(y - cross_val_predict(REGRESSORS[name], rest, y, cv=folds)) for rest in rests]
    losses = losses_without_each(table, name)
    assert_allclose(losses, expected, **CLOSE)
    assert losses.argmax() == 0


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_the_feature_with_the_signal_is_missed_most(rng, name):
    X = rng.normal(size=(60, 4))
    losses = losses_without_each(Table.from_data(X, X[:, 2] > 0), name)
    assert losses.argmax() == 2
    assert losses[2] > 2 * np.delete(losses, 2).max()


@pytest.mark.parametrize("name", ["knn", "logistic"])
def test_a_duplicate_is_hardly_missed(rng, name):
    X, y = three_classes(rng)
    full = losses_without_each(Table.from_data(np.c_[X, np.zeros(60)], y), name)[-1]
    lone = losses_without_each(Table.from_data(X, y), name)[0]
    twice = losses_without_each(Table.from_data(np.c_[X, X[:, 0]], y), name)
    assert_allclose(twice[0], twice[-1], rtol=1e-5)
    assert abs(twice[0] - full) < 0.01 * (lone - full)


def test_train_is_the_loss_on_the_same_rows(rng):
    table = Table.from_data(*three_classes(rng))
    matrix, codes = design_matrix(table)[0], table.codes(table.target)
    for estimator in (LogisticRegression(), KNeighborsClassifier()):
        rests = [np.delete(matrix, feature, axis=1) for feature in range(3)]
        expected = [loss_of(estimator.fit(rest, codes).predict_proba(rest), codes) for rest in rests]
        assert_allclose(losses_without_each(table, estimator, cv="train"), expected, **CLOSE)


# Nearest neighbours without refitting


@pytest.mark.parametrize("settings", [{}, {"p": 1}, {"metric": "manhattan", "n_neighbors": 1}, {"metric": "euclidean"}])
@pytest.mark.parametrize("scale", ["standard", None])
def test_neighbors_equal_refitting(rng, settings, scale):
    X, y = three_classes(rng, 150, 20)
    X[:, 3] *= 1e7  # Outweighs all others if it is not scaled.
    table = Table.from_data(X, y, scale=scale)
    estimator = KNeighborsClassifier(**settings)
    # The trees compare differences; the default would lose small ones beside large ones.
    assert_allclose(
        losses_without_each(table, estimator), refit_each(table, estimator.set_params(algorithm="kd_tree")), **CLOSE
    )


@pytest.mark.parametrize("settings", [{"weights": "distance"}, {"p": 3}, {"metric": "chebyshev"}])
def test_other_neighbors_are_fitted(rng, settings):
    table = Table.from_data(*three_classes(rng))
    estimator = KNeighborsClassifier(**settings)
    assert_allclose(losses_without_each(table, estimator), refit_each(table, estimator), **CLOSE)


def test_neighbors_in_blocks(rng, monkeypatch):
    table = Table.from_data(*three_classes(rng))
    whole = losses_without_each(table, "knn")
    monkeypatch.setattr("unirel.classifiers.neighbors._BLOCK", 1)
    assert_allclose(losses_without_each(table, "knn"), whole, rtol=1e-14)


def test_tied_neighbors_share_the_last_places(rng):
    rows = np.arange(60)
    X = np.c_[rows % 3, rows // 3 % 3, rng.normal(size=60)]
    y = rng.integers(0, 2, size=60)
    table = Table.from_data(X, y, kinds={0: "discrete", 1: "discrete"})
    order = rng.permutation(60)
    shuffled = Table.from_data(X[order], y[order], kinds={0: "discrete", 1: "discrete"})
    losses = losses_without_each(table, "knn", cv="train")
    # Without the third column rows fall into nine cells of six or more, which tie at distance 0.
    cells = X[:, 0] * 3 + X[:, 1]
    shares = np.array([np.bincount(y[cells == cell], minlength=2) / (cells == cell).sum() for cell in cells])
    assert_allclose(losses[2], loss_of(shares, y), **CLOSE)
    assert_allclose(losses_without_each(shuffled, "knn", cv="train"), losses, **CLOSE)


def test_more_neighbors_than_rows(rng):
    table = Table.from_data(rng.normal(size=(6, 2)), [0, 1] * 3)
    assert_allclose(losses_without_each(table, KNeighborsClassifier(50), cv="train"), np.log(2))


# Columns


def test_design_matrix(rng):
    frame, y = mixed(rng)
    table = Table.from_data(frame.assign(same="x", name=[f"id {i}" for i in range(80)]), y, kinds={"name": "ignored"})
    matrix, places = design_matrix(table)
    assert [own.tolist() for own in places] == [[0, 1], [2, 3, 4, 5], [6], [7], [8], [], []]
    missing = frame["size"].isna().to_numpy()
    assert_array_equal(matrix[:, 1], missing)
    assert_allclose(matrix[missing, 0], matrix[~missing, 0].mean(), atol=1e-12)
    assert_allclose(matrix[~missing, 0], table.values[0, ~missing])
    assert_array_equal(matrix[:, 2:6].sum(axis=1), 1)
    assert_array_equal(matrix[:, 5], frame["colour"].isna())
    assert_array_equal(matrix[:, 6], frame["flag"])


def test_missing_values_of_unscaled_columns_get_the_mean():
    table = Table.from_data([[10.0], [np.nan], [14.0], [15.0]], [0, 1, 0, 1], scale=None, kinds="continuous")
    assert_array_equal(design_matrix(table)[0], [[10, 0], [13, 1], [14, 0], [15, 0]])


@pytest.mark.parametrize("name", ["knn", "logistic"])
def test_columns_of_every_kind(rng, name):
    frame, y = mixed(rng)
    table = Table.from_data(frame, y)
    assert_allclose(losses_without_each(table, name), refit_each(table, CLASSIFIERS[name]), **CLOSE)


def test_ignored_columns_are_nan(rng):
    X, y = three_classes(rng)
    losses = losses_without_each(Table.from_data(X, y, kinds={1: "ignored"}), "logistic")
    assert_array_equal(np.isnan(losses), [False, True, False])
    assert_allclose(losses[[0, 2]], losses_without_each(Table.from_data(np.delete(X, 1, axis=1), y), "logistic"))


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_without_the_only_feature_frequencies_are_predicted(rng, name):
    y = np.array([0] * 20 + [1] * 30)
    losses = losses_without_each(Table.from_data(rng.normal(size=(50, 1)), y), name)
    assert_allclose(losses, -0.4 * np.log(0.4) - 0.6 * np.log(0.6), **CLOSE)


@pytest.mark.parametrize("name", ["knn", "logistic"])
def test_without_the_only_feature_the_mean_is_predicted(rng, name):
    table = Table.from_data(rng.normal(size=(50, 1)), rng.normal(size=50))
    assert_allclose(losses_without_each(table, name, cv="train"), 0.5 * np.log(2 * np.pi) + 0.5, **CLOSE)


def test_single_precision(rng):
    X, y = three_classes(rng)
    losses = losses_without_each(Table.from_data(X.astype(np.float32), y), "logistic")
    assert losses.dtype == np.float64
    assert_allclose(losses, losses_without_each(Table.from_data(X, y), "logistic"), atol=1e-4)


# Estimators and splits


def test_the_given_estimator_is_left_alone(rng):
    table = Table.from_data(*three_classes(rng))
    for estimator in (LogisticRegression(), KNeighborsClassifier(), LinearSVC(dual=False)):
        before = dict(vars(estimator))
        losses_without_each(table, estimator)
        assert vars(estimator) == before


def test_a_pipeline(rng):
    table = Table.from_data(*three_classes(rng))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert_allclose(losses_without_each(table, pipeline), refit_each(table, pipeline), **CLOSE)


def test_a_classifier_without_probabilities_is_calibrated(rng):
    table = Table.from_data(*three_classes(rng, n_features=2))
    expected = refit_each(table, CalibratedClassifierCV(RidgeClassifier(), cv=FOLDS, ensemble=False))
    assert_allclose(losses_without_each(table, RidgeClassifier()), expected, **CLOSE)


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier()])
def test_splitters(rng, estimator):
    table = Table.from_data(*three_classes(rng))
    folds = StratifiedKFold(3)
    losses = losses_without_each(table, estimator, cv=folds)
    assert_allclose(losses, refit_each(table, estimator, folds), **CLOSE)
    splits = list(folds.split(np.zeros(60), table.codes(table.target)))
    assert_array_equal(losses_without_each(table, estimator, cv=splits), losses)
    assert np.isfinite(losses_without_each(table, estimator, cv=ShuffleSplit(2, random_state=0))).all()


def test_leaving_one_out(rng):
    table = Table.from_data(*three_classes(rng, 30))
    expected = refit_each(table, KNeighborsClassifier(), LeaveOneOut())
    assert_allclose(losses_without_each(table, "knn", cv=LeaveOneOut()), expected, **CLOSE)


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_a_loss_is_finite_where_a_forest_is_certain_and_wrong(rng, name):
    X = np.repeat([0.0, 1.0], 20)[:, None] + 1e-3 * rng.normal(size=(40, 1))
    y = np.repeat([0, 1], 20)
    y[0] = 1
    losses = losses_without_each(Table.from_data(np.c_[X, X], y), name)
    assert (losses < np.log(2)).all()


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_a_small_class_lowers_the_folds(rng, name):
    X, _ = three_classes(rng, 40)
    y = np.array(["rare"] * 3 + ["usual"] * 37)
    with pytest.warns(UnirelWarning, match="class 'rare' has 3 samples, so cv=5 is lowered to 3"):
        losses = losses_without_each(Table.from_data(X, y), name)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert_array_equal(losses, losses_without_each(Table.from_data(X, y), name, cv=folds))


@pytest.mark.parametrize("name", QUICK, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_of_one_sample(rng, name, n_classes):
    X, _ = three_classes(rng, 30)
    y = np.array(["a", "b" if n_classes == 3 else "a"] * 15, dtype=object)
    y[4] = "lone"
    with pytest.warns(UnirelWarning, match="class 'lone' has one sample"):
        losses = losses_without_each(Table.from_data(X, y), name)
    assert np.isfinite(losses).all()
    assert (losses >= np.log(60) / 30 - 1e-12).all()  # The lone row costs the whole floor.


def test_few_rows_lower_the_folds_of_a_regression(rng):
    table = Table.from_data(rng.normal(size=(4, 2)), rng.normal(size=4))
    with pytest.warns(UnirelWarning, match="y has 4 samples, so cv=5 is lowered to 4"):
        assert np.isfinite(losses_without_each(table, "logistic")).all()


def test_a_perfect_regression_is_finite(rng):
    X = rng.normal(size=(40, 1))
    losses = losses_without_each(Table.from_data(np.c_[X, X], X[:, 0]), "rf", cv="train")
    assert np.isfinite(losses).all()
    perfect = losses_without_each(Table.from_data(np.c_[X, X], X[:, 0]), KNeighborsRegressor(1), cv="train")
    assert_allclose(perfect, 0.5 * np.log(2 * np.pi * 1e-12) + 0.5)


def test_sorted_rows_do_no_harm(rng):
    X, y = three_classes(rng)
    order = np.argsort(y, kind="stable")
    losses = losses_without_each(Table.from_data(X[order], y[order]), "logistic")
    assert_allclose(losses, losses_without_each(Table.from_data(X, y), "logistic"), atol=0.1)


# Threads, progress, interruption


@pytest.mark.parametrize("classifier", ["knn", "svm", DecisionTreeClassifier(random_state=0)], ids=str)
def test_threads_change_nothing(rng, classifier):
    table = Table.from_data(*three_classes(rng))
    assert_array_equal(losses_without_each(table, classifier, n_jobs=2), losses_without_each(table, classifier))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(rng, n_jobs):
    table = Table.from_data(*three_classes(rng))
    calls = []
    losses_without_each(table, "logistic", n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    calls.clear()
    losses_without_each(table, "knn", n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    assert calls == sorted(calls)
    assert calls[-1] == (3, 3)


# joblib warns of the tasks that it drops.
@pytest.mark.filterwarnings("ignore:.* tasks :UserWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_says_how_far_it_was(rng, n_jobs):
    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^stopped after 2 of 3 features$"):
        losses_without_each(Table.from_data(*three_classes(rng)), "logistic", n_jobs=n_jobs, progress=interrupt)


# Bad input


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        ("forest", "^classifier='forest' is not one of 'logistic', 'rf', 'knn', 'svm'$"),
        (None, "^classifier=None is no object with fit .* one of 'logistic'"),
        (LogisticRegression, "^classifier=<class .*LogisticRegression'> is no object with fit .* pass an instance"),
        (Ridge(), "^classifier=Ridge is no classifier, but the target is discrete; .*target_kind='continuous'"),
        (KMeans(), "^classifier=KMeans is no classifier"),
    ],
)
def test_what_is_no_classifier(rng, classifier, message):
    with pytest.raises(ValueError, match=message):
        losses_without_each(Table.from_data(*three_classes(rng)), classifier)


def test_a_classifier_for_numbers(rng):
    message = "^classifier=LogisticRegression is no regressor, but the target is continuous; .*target_kind='discrete'"
    with pytest.raises(ValueError, match=message):
        losses_without_each(Table.from_data(*numbers(rng)), LogisticRegression())


@pytest.mark.parametrize("cv", [1, 0, -3, 2.5, True, None, "test"])
def test_what_is_no_cv(rng, cv):
    with pytest.raises(ValueError, match=f"^cv={cv!r} must be 'train' or a whole number from 2 on$"):
        losses_without_each(Table.from_data(*three_classes(rng)), "knn", cv=cv)


def test_classes_of_one_sample_only(rng):
    table = Table.from_data(rng.normal(size=(4, 2)), list("abcd"))
    with pytest.raises(ValueError, match=r"^every class of y has one sample only; merge classes"):
        losses_without_each(table, "knn")
    assert np.isfinite(losses_without_each(table, "knn", cv="train")).all()


def test_bad_settings_are_left_to_scikit_learn(rng):
    with pytest.raises(ValueError, match="n_neighbors"):
        losses_without_each(Table.from_data(*three_classes(rng)), KNeighborsClassifier(0))
