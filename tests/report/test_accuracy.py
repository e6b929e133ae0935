"""Accuracy in a report: that of a selector in a pipeline, and no better than chance where there is nothing to learn."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel import Binned, BURSelector
from unirel._runtime import no_progress
from unirel.data.table import Table
from unirel.report import Origin, Report
from unirel.report.accuracy import accuracy_in_words, check_measures, measure_accuracy, pin_types


def measure(X, y, accuracy="knn", n_features=3, beta=0.1, progress=no_progress, **parameters):
    selector = BURSelector("jmi", n_features, beta=beta, **parameters)
    table = Table.from_data(X, y)
    check_measures(accuracy, None, table, selector)
    selection = Report.from_table(table, selector, Origin(), page=False).selection
    return measure_accuracy(accuracy, X, y, table, selection, pin_types(selector, table, X), progress)


def test_equals_a_selector_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :12], y[::3]
    measured = measure(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    classifier = make_pipeline(StandardScaler(), KNeighborsClassifier())
    for place, n in enumerate(measured.sizes):
        model = make_pipeline(BURSelector("jmi", n_features_to_select=n, beta=0.1), classifier)
        assert measured.scores[:, place] == pytest.approx(cross_val_score(model, X, y, cv=folds))
    assert measured.all_features == pytest.approx(cross_val_score(classifier, X, y, cv=folds))
    assert measured.n_features == 12
    assert measured.chance == pytest.approx(max(np.bincount(y)) / len(y))


def test_options_of_the_selection_count_in_every_fold():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :12], y[::3]
    options = {"include": [4], "exclude": [0], "mi_estimator": Binned(n_bins=5)}
    measured = measure(X, y, **options)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    selector = BURSelector("jmi", 3, beta=0.1, **options)
    model = make_pipeline(selector, StandardScaler(), KNeighborsClassifier())
    assert measured.scores[:, 2] == pytest.approx(cross_val_score(model, X, y, cv=folds))


def test_a_continuous_target_is_explained():
    X, y = load_diabetes(return_X_y=True)
    measured = measure(X, y, n_features=4)
    folds = KFold(5, shuffle=True, random_state=0)
    plain = make_pipeline(StandardScaler(), KNeighborsRegressor())
    assert measured.measure == "R2"
    assert measured.all_features == pytest.approx(cross_val_score(plain, X, y, cv=folds))
    assert "Share of the variance of held-out rows explained (R²)" in accuracy_in_words(measured)[0]


def test_noise_predicts_nothing():
    """Features selected from all rows would seem to predict pure noise."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 400)), np.arange(60) % 2
    measured = measure(X, y, "logistic", n_features=10, beta=0)
    assert measured.means.max() < 0.65


@pytest.mark.parametrize("accuracy", ["logistic", "rf", "knn", "svm"])
@pytest.mark.parametrize("continuous", [False, True])
def test_every_method_twice_the_same(accuracy, continuous):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + 0.2 * X[:, 1]
    first, second = (measure(X, y if continuous else y > 0, accuracy, n_features=1).to_dict() for _ in range(2))
    assert first == second
    assert first["curve"][-1]["mean"] > 0.6
    json.dumps(first, allow_nan=False)


def test_missing_values_categories_and_constants():
    import pandas as pd

    rng = np.random.default_rng(0)
    a = rng.standard_normal(80)
    holes = np.where(rng.random(80) < 0.3, np.nan, a)
    columns = {"holes": holes, "colour": np.where(a > 0, "red", "blue"), "empty": np.full(80, np.nan), "one": 1.0}
    measured = measure(pd.DataFrame(columns), np.where(a > 0, "up", "down"), n_features=4)
    assert measured.means[-1] > 0.9
    constant = measure(np.ones((40, 2)), np.arange(40) % 2, n_features=2)
    assert constant.means.tolist() == [0.5, 0.5]


def test_rare_classes_lower_the_number_of_folds():
    rng = np.random.default_rng(0)
    y = np.repeat(["many", "few", "single"], [40, 3, 1])
    measured = measure(rng.standard_normal((44, 3)), y, n_features=2)
    assert measured.n_folds == 3
    assert "3 folds (no more, because class 'few' has only 3 rows)" in accuracy_in_words(measured)[0]


def test_many_sizes_are_thinned():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 70))
    measured = measure(X, X[:, 0] > 0, n_features=70, beta=0)
    assert measured.sizes[0] == 1
    assert measured.sizes[-1] == 70
    assert len(measured.sizes) <= 31


def test_progress_reaches_its_end():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    steps = []
    measure(X, X[:, 0] > 0, n_features=2, progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1] == (15, 15)


def test_interrupted_within_a_fold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))

    def interrupt(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(X, X[:, 0] > 0, progress=interrupt)


def test_what_cannot_be_measured():
    X = np.arange(24.0).reshape(12, 2)
    few = Table.from_data(X, ["a"] * 11 + ["b"])
    with pytest.raises(ValueError, match="accuracy='knn' needs two classes with at least two rows each"):
        check_measures("knn", None, few, BURSelector())
    table = Table.from_data(X, ["a", "b"] * 6)
    with pytest.raises(ValueError, match="accuracy='tree' is not one of 'logistic', 'rf', 'knn', 'svm'"):
        check_measures("tree", None, table, BURSelector())
    with pytest.raises(ValueError, match="name a method, such as unique_relevance='reference'"):
        Report.from_data(X, ["a", "b"] * 6, selector=BURSelector(unique_relevance=np.zeros(2)), accuracy="knn")


def test_it_is_on_the_page_only_if_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    selector = BURSelector(n_features_to_select=2)
    asked = Report.from_data(X, X[:, 0] > 0, selector=selector, accuracy="knn").to_dict()
    assert [row["n"] for row in asked["accuracy"]["curve"]] == [1, 2]
    assert Report.from_data(X, X[:, 0] > 0, selector=selector).to_dict()["accuracy"] is None


def test_weights_count_in_every_fold():
    """Rows without weight decide by the second column; they must not choose the features of any fold."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    counts = np.arange(200) % 2 == 0
    y = np.where(counts, X[:, 0], X[:, 1]) > 0
    fitted = []

    class Noting(BURSelector):
        def fit(self, X, y, sample_weight=None):
            fitted.append(sample_weight)
            return super().fit(X, y, sample_weight)

    selector = Noting(n_features_to_select=1, beta=0)
    report = Report.from_data(X, y, selector=selector, sample_weight=counts.astype(float), accuracy="knn")
    assert report.selection.order.tolist() == [0]
    assert len(fitted) == 5
    assert sum(weights.sum() for weights in fitted) == 4 * counts.sum()
