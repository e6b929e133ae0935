"""Accuracy in a report: that of a selector in a pipeline, and no better than chance where there is nothing to learn."""

import json
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel import Binned, BURSelector
from unirel._runtime import no_progress
from unirel.data.table import Table
from unirel.report import Origin, Report
from unirel.report.accuracy import Accuracy, accuracy_in_words, check_measures, measure_accuracy, pin_types


def measure(X, y, accuracy="knn", n_features=3, beta=0.1, progress=no_progress, **parameters):
    selector = BURSelector("jmi", n_features, beta=beta, **parameters)
    table = Table.from_data(X, y)
    check_measures(accuracy, None, table, selector)
    selection = Report.from_table(table, selector, Origin(), page=False).selection
    return measure_accuracy(accuracy, X, y, table, selection, pin_types(selector, table, X), progress)


def plain_losses(model, X, y, folds):
    """Of each row, predicted by a model that has not seen it."""
    predicted = cross_val_predict(model, X, y, cv=folds)
    return predicted != y if isinstance(folds, StratifiedKFold) else (predicted - y) ** 2


def test_equals_a_selector_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :12], y[::3]
    measured = measure(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    classifier = make_pipeline(StandardScaler(), KNeighborsClassifier())
    for place, n in enumerate(measured.sizes):
        model = make_pipeline(BURSelector("jmi", n_features_to_select=n, beta=0.1), classifier)
        assert (measured.losses[:, place] == plain_losses(model, X, y, folds)).all()
    assert (measured.all_features == plain_losses(classifier, X, y, folds)).all()
    assert measured.means == pytest.approx([1 - losses.mean() for losses in measured.losses.T])
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
    assert (measured.losses[:, 2] == plain_losses(model, X, y, folds)).all()


def test_a_continuous_target_is_explained():
    X, y = load_diabetes(return_X_y=True)
    measured = measure(X, y, n_features=4)
    folds = KFold(5, shuffle=True, random_state=0)
    plain = make_pipeline(StandardScaler(), KNeighborsRegressor())
    assert measured.measure == "R2"
    lost, mean = plain_losses(plain, X, y, folds), plain_losses(DummyRegressor(), X, y, folds)
    scale = mean.sum() / measured.by_chance.sum()  # the target is standardised
    assert scale * measured.all_features == pytest.approx(lost)
    assert scale * measured.by_chance == pytest.approx(mean)
    assert measured.score(measured.all_features)[0] == pytest.approx(1 - lost.sum() / mean.sum())
    assert accuracy_in_words(measured)[0].startswith("R² 0.")


def test_noise_predicts_nothing():
    """Features selected from all rows would seem to predict pure noise."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 400)), np.arange(60) % 2
    measured = measure(X, y, "logistic", n_features=10, beta=0)
    assert measured.means.max() < 0.65


@pytest.mark.parametrize("accuracy", ["logistic", pytest.param("rf", marks=pytest.mark.slow), "knn", "svm"])
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
    assert constant.means == pytest.approx([0.5, 0.5])


def test_rare_classes_lower_the_number_of_folds():
    rng = np.random.default_rng(0)
    y = np.repeat(["many", "few", "single"], [40, 3, 1])
    measured = measure(rng.standard_normal((44, 3)), y, n_features=2)
    assert measured.n_folds == 3
    assert "3 folds (no more, because class 'few' has only 3 rows)" in accuracy_in_words(measured)[1]


def test_many_sizes_are_thinned():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 70))
    measured = measure(X, X[:, 0] > 0, n_features=70, beta=0)
    assert measured.sizes == (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)


def test_progress_reaches_its_end():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    steps = []
    measure(X, X[:, 0] > 0, n_features=2, progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1] == (25, 25)  # a selection, and no, one, two and all features in each of 5 folds


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
    with pytest.raises(ValueError, match="accuracy='tree' is not one of 'auto', 'logistic', 'rf', 'knn', 'svm'"):
        check_measures("tree", None, table, BURSelector())
    with pytest.raises(ValueError, match="name a method, such as unique_relevance='reference'"):
        Report.from_data(X, ["a", "b"] * 6, selector=BURSelector(unique_relevance=np.zeros(2)), accuracy="knn")


def test_it_is_on_the_page_unless_it_is_turned_off():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    selector = BURSelector(n_features_to_select=2)
    shown = Report.from_data(X, X[:, 0] > 0, selector=selector).to_dict()
    assert [row["n"] for row in shown["accuracy"]["curve"]] == [1, 2]
    methods = {one["method"] for one in (shown["accuracy"], *shown["accuracy"]["others"])}
    assert methods == {"extremely randomised trees", "logistic regression"}
    assert shown["enough"] == shown["accuracy"]["enough"] == 1
    off = Report.from_data(X, X[:, 0] > 0, selector=selector, accuracy=None).to_dict()
    assert off["accuracy"] is None
    assert off["no_accuracy"] == ""


def mixed_table(n_samples=300, seed=0):
    """A strong column with holes, a category with rare levels, two columns of noise and a constant."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    a, b, other, noise = rng.standard_normal((4, n_samples))
    columns = {
        "strong": np.where(rng.random(n_samples) < 0.2, np.nan, a),
        "group": pd.cut(b, [-9, -2.5, -1, 0, 1, 2.5, 9], labels=list("uvwxyz")).astype(str),
        "other": other,
        "noise": noise,
        "one": 1.0,
    }
    return pd.DataFrame(columns), 2 * a + b + 0.3 * rng.standard_normal(n_samples)


@pytest.mark.parametrize("discrete", [False, True])
def test_by_default_for_categories_and_missing_values(discrete):
    X, y = mixed_table()
    y = np.where(y > 1, "high", np.where(y < -1, "low", "middle")) if discrete else y
    report = Report.from_data(X, y, selector=BURSelector(n_features_to_select=4))
    accuracy = report.accuracy
    assert accuracy.measure == ("accuracy" if discrete else "R2")
    assert len(accuracy.others) == 1
    assert accuracy.means.max() >= accuracy.others[0].means.max()
    assert accuracy.means.max() > accuracy.chance + 0.3
    assert accuracy.enough in (2, 3)
    assert report.to_dict()["enough"] == accuracy.enough
    json.dumps(report.to_dict()["accuracy"], allow_nan=False)
    words = " ".join(accuracy_in_words(accuracy))
    assert f"with {accuracy.enough} features" in words
    assert "± standard error" in words


def test_by_default_a_table_of_many_rows_is_sampled(monkeypatch):
    monkeypatch.setattr("unirel.report.accuracy._MOST_ROWS", 100)
    X, y = mixed_table()
    report = Report.from_data(X[["strong", "noise"]], y > 0)
    assert report.accuracy.n_rows == 100
    assert "of a sample of 100 rows" in accuracy_in_words(report.accuracy)[1]


def test_by_default_all_features_are_left_out_where_they_take_long(monkeypatch):
    monkeypatch.setattr("unirel.report.accuracy._MOST_VALUES", 100)
    X, y = mixed_table()
    report = Report.from_data(X, y, selector=BURSelector(n_features_to_select=2))
    assert np.isnan(report.accuracy.all_features).all()
    assert report.to_dict()["accuracy"]["all_mean"] is None
    assert not report.accuracy.all_are_better
    assert "dashed" not in report.to_html().split('id="charts">')[1].split("</script>")[0]


def test_by_default_rare_classes_do_not_cost_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((63, 3))
    y = np.where(X[:, 0] > 0, "many", "more")
    y[:3] = ["one", "two", "two"]
    assert Report.from_data(X, y).accuracy.n_folds == 5


def test_rows_without_weight_count_nowhere():
    X, y = mixed_table(120)
    selector = BURSelector(n_features_to_select=2, beta=0)
    weights = np.ones(120)
    weights[::2] = 0
    weighted = Report.from_data(X, y > 0, selector=selector, sample_weight=weights).accuracy
    alone = Report.from_data(X[weights > 0], y[weights > 0] > 0, selector=selector, sample_weight=np.ones(60)).accuracy
    assert weighted.chance == alone.chance
    assert weighted.losses == pytest.approx(alone.losses)


def test_weights_count_for_models_and_scores():
    """What is known of heavy rows is worth more than what is known of light ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1))
    heavy = np.arange(200) % 2 == 0
    y = np.where(heavy, X[:, 0] > 0, X[:, 0] < 0)
    report = Report.from_data(X, y, sample_weight=np.where(heavy, 20.0, 1.0))
    assert report.accuracy.means.max() > 0.85
    assert Report.from_data(X, y).accuracy.means.max() < 0.7


@pytest.mark.parametrize(
    ("n_rows", "target", "why"),
    [
        (12, np.arange(12.0) ** 1.5, "it needs at least 20 rows, but there are 12"),
        (12, ["a"] * 8 + ["b"] * 4, "it needs two classes with at least five rows each, but the target has 1"),
    ],
)
def test_tiny_tables_say_why_there_is_none(n_rows, target, why):
    X = np.random.default_rng(0).standard_normal((n_rows, 2))
    report = Report.from_data(X, target)
    assert report.accuracy is None
    assert why in report.no_accuracy
    assert report.no_accuracy in report.paragraphs()
    assert report.no_accuracy in unescape(report.to_html())


def test_out_of_time_says_why_there_is_none(monkeypatch):
    def out_of_time(*_):
        raise TimeoutError

    monkeypatch.setattr("unirel.report.measure_accuracy", out_of_time)
    X, y = mixed_table()
    report = Report.from_data(X, y, selector=BURSelector(n_features_to_select=2, max_seconds=1000))
    assert report.no_accuracy == (
        "Accuracy was not measured: the time budget was used up; give more than max_seconds=1000."
    )


def test_values_of_unique_relevance_say_why_there_is_none():
    X, y = mixed_table()
    selector = BURSelector(n_features_to_select=2, unique_relevance=np.zeros(5))
    assert "name a method" in Report.from_data(X, y, selector=selector).no_accuracy


def plain_gain(accuracy, losses, other):
    """The definition, row by row."""
    weights = [1.0] * len(losses) if accuracy.weights is None else accuracy.weights.tolist()
    total, is_share = sum(weights), accuracy.measure == "accuracy"
    units = [1.0 if is_share else one for one in accuracy.by_chance]
    scale = sum(weight * unit for weight, unit in zip(weights, units, strict=True)) / total
    rows = [(b - a) / scale for a, b in zip(losses, other, strict=True)]
    gained = sum(weight * row for weight, row in zip(weights, rows, strict=True)) / total
    left = [row - gained * unit / scale for row, unit in zip(rows, units, strict=True)]
    return gained, sum((weight * row) ** 2 for weight, row in zip(weights, left, strict=True)) ** 0.5 / total


def plain_enough(accuracy):
    columns = accuracy.losses.T
    scores = [-plain_gain(accuracy, column, columns[0])[0] for column in columns]
    best = scores.index(min(scores))
    gained, error = plain_gain(accuracy, columns[best], accuracy.by_chance)
    if gained <= 2 * error:
        return None
    for n, column in zip(accuracy.sizes, columns, strict=True):
        lost, error = plain_gain(accuracy, columns[best], column)
        if lost <= error and lost <= 0.05 * gained:
            return n
    raise AssertionError


def losses_of(measure, seed, n_rows=200, sizes=(1, 2, 3, 5, 7, 10)):
    """An accuracy whose losses are drawn at random, smaller with more features."""
    rng = np.random.default_rng(seed)
    chance = rng.random(n_rows) < 0.5 if measure == "accuracy" else rng.exponential(size=n_rows)
    left = 1 - rng.random() * np.sqrt(np.arange(len(sizes)) + 1.0) / len(sizes)
    losses = rng.random((n_rows, len(sizes))) < 0.5 * left
    if measure == "R2":
        losses = chance[:, np.newaxis] * left * rng.exponential(size=(n_rows, len(sizes)))
    weights = rng.random(n_rows) if seed % 2 else None
    return Accuracy("x", measure, sizes, losses * 1.0, losses[:, 0] * 1.0, 12, chance * 1.0, weights)


@pytest.mark.parametrize("measure", ["accuracy", "R2"])
def test_enough_is_its_definition(measure):
    found = []
    for seed in range(30):
        accuracy = losses_of(measure, seed)
        own, other = accuracy.losses[:, 1], accuracy.losses[:, 4]
        assert accuracy.gain(own, other) == pytest.approx(plain_gain(accuracy, own, other))
        assert accuracy.enough == plain_enough(accuracy)
        found.append(accuracy.enough)
    assert len(set(found)) > 3


def test_the_error_of_a_gain_is_its_scatter():
    """R2 and differences of it in many samples scatter as much as the errors say, also with a long tail."""
    rng, values, errors = np.random.default_rng(0), [], []
    for _ in range(2000):
        chance = rng.exponential(size=400)
        losses = chance[:, np.newaxis] * [0.6, 0.5] * rng.exponential(size=(400, 2))
        accuracy = Accuracy("x", "R2", (1, 2), losses, losses[:, 0], 4, chance)
        found = accuracy.score(losses[:, 0]), accuracy.gain(losses[:, 1], losses[:, 0])
        values.append([value for value, _ in found])
        errors.append([error for _, error in found])
    assert np.mean(errors, axis=0) == pytest.approx(np.std(values, axis=0), rel=0.1)


def test_what_is_much_is_not_lost_because_it_is_uncertain():
    """One row decides what is gained: it is within its standard error, but a tenth of all."""
    chance, losses = np.ones(400), np.full((400, 2), 0.5)
    losses[:2] = [[25.5, 0.5], [0.5, 5.5]]
    accuracy = Accuracy("x", "R2", (1, 2), losses, losses[:, 0], 4, chance)
    lost, error = accuracy.gain(losses[:, 1], losses[:, 0])
    gained, doubt = accuracy.gain(losses[:, 1], chance)
    assert lost < error
    assert lost > 0.09 * gained
    assert gained > 2 * doubt
    assert accuracy.enough == 2


def test_enough_passes_over_sizes_that_were_not_reached():
    rows = np.arange(100)
    losses = np.stack([rows % 10 < 3, rows % 10 < 2, np.where(rows < 20, np.nan, 0.0)], axis=1)
    chance = (rows % 2).astype(float)
    assert Accuracy("x", "accuracy", (1, 2, 3), losses, losses[:, 0], 4, chance).enough == 2
    nothing = np.full((100, 1), np.nan)
    assert Accuracy("x", "accuracy", (1,), nothing, nothing[:, 0], 4, chance).enough is None


def test_noise_has_no_number_that_is_enough():
    rng = np.random.default_rng(3)
    report = Report.from_data(rng.standard_normal((200, 6)), rng.standard_normal(200))
    assert report.accuracy.enough is None
    assert report.to_dict()["enough"] is None
    assert "No number of features predicts better than chance" in accuracy_in_words(report.accuracy)[0]


def test_more_would_do_better():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    report = Report.from_data(X, X.sum(axis=1), selector=BURSelector(n_features_to_select=3))
    assert report.accuracy.all_are_better
    assert "More features than were selected would do better." in accuracy_in_words(report.accuracy)[0]


def test_accuracy_counts_where_joint_information_falls():
    """Sums of many columns in few rows: the estimate of joint information fails, the accuracy does not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 12))
    report = Report.from_data(X, X[:, :4].sum(axis=1) + 0.1 * X[:, 4])
    falling = replace(report.analysis, joint_information=np.linspace(1.0, 0.2, 10))
    fallen = replace(report, analysis=falling)
    assert fallen.to_dict()["enough"] == report.accuracy.enough
    assert report.accuracy.enough in (5, 7)
    # Without an accuracy it is the last supported step, and never joint information.
    assert replace(fallen, accuracy=None).to_dict()["enough"] == report.selection.n_supported
    untested = replace(report.path, selections=(replace(report.selection, n_supported=None),))
    assert replace(fallen, accuracy=None, path=untested).to_dict()["enough"] is None


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
