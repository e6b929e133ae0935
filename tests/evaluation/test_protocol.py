"""Selectors under one protocol."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from mrmr import mrmr_classif
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import unirel
from unirel import BURSelector, BURSelectorCV
from unirel.criteria import make_criterion
from unirel.datasets import make_planted
from unirel.estimation.knn import KNN
from unirel.evaluation import ChosenBeta, Evaluation, Tuned, Wrapper, compare, stability
from unirel.evaluation.plan import split_rows
from unirel.evaluation.selection import order_of

KSG = BURSelector("mim", beta=0.1, unique_relevance="ksg")
QUICK = {"svm": Tuned(LinearSVC(dual=False), "C", (0.01, 1.0), scaled=True)}


def without_times(evaluation):
    return [{**outcome.to_dict(), "seconds": 0} for outcome in evaluation]


def first_columns(X, y, max_features):
    return np.arange(max_features)


@pytest.fixture(scope="module")
def evaluation():
    selectors = {
        "jmi": "jmi",
        "jmi boosted": BURSelector("jmi", beta=0.1),
        "jmi tuned": ChosenBeta(BURSelector("jmi"), (0, 0.1, 0.5)),
        "first": first_columns,
    }
    return compare(["wine", "iris"], selectors, ["knn", "svm"], n_runs=2, max_features=6)


def test_every_combination_has_an_outcome(evaluation):
    assert isinstance(evaluation, Evaluation)
    assert evaluation.complete
    keys = {(o.dataset, o.run, o.selector, o.classifier) for o in evaluation}
    assert len(keys) == len(evaluation) == 2 * 2 * 4 * 2
    assert {o.n_features for o in evaluation if o.dataset == "iris"} <= {1, 2, 3, 4}


def test_outcomes_follow_the_rules(evaluation):
    for outcome in evaluation:
        curve = np.array(outcome.validation_curve)
        place = outcome.grid.index(outcome.n_features)
        assert place == np.argmax(curve)
        assert outcome.validation_accuracy == curve.max()
        assert outcome.test_accuracy == outcome.test_curve[place]
        assert len(outcome.features) == outcome.n_features
        assert outcome.test_area == pytest.approx(np.mean(outcome.test_curve))
        assert outcome.grid == tuple(range(1, (4 if outcome.dataset == "iris" else 6) + 1))


def test_an_outcome_is_what_the_protocol_says_by_hand():
    X, y = load_wine(return_X_y=True)
    outcome = compare("wine", {"first": first_columns}, QUICK, n_runs=2, max_features=4).outcomes[1]
    train, validation, test = split_rows(y, 0, 1)
    best = (-1, None)
    for n_features in (1, 2, 3, 4):
        Z = (X[:, :n_features] - X[train, :n_features].mean(axis=0)) / X[train, :n_features].std(axis=0)
        for C in (0.01, 1.0):
            model = LinearSVC(dual=False, C=C).fit(Z[train], y[train])
            accuracy = model.score(Z[validation], y[validation])
            if accuracy > best[0]:
                best = (accuracy, (n_features, C, model.score(Z[test], y[test])))
    assert (outcome.n_features, outcome.setting, outcome.test_accuracy) == best[1]


def test_orders_are_those_of_a_selection_path():
    X, y = load_breast_cancer(return_X_y=True)
    grid = [("mrmr", 0.0, "reference"), ("mrmr", 0.2, "reference"), ("jmi", 0.3, "ksg")]
    selectors = {f"{c} {b}": BURSelector(c, beta=b, unique_relevance=kind) for c, b, kind in grid}
    outcomes = compare(("cancer", X, y), selectors, QUICK, n_runs=1, max_features=25, n_grid=25).outcomes
    train = split_rows(y, 0, 0).train
    for (criterion, beta, kind), outcome in zip(grid, outcomes, strict=True):
        path = unirel.selection_path(
            X[train], y[train], criteria=criterion, betas=beta, n_features_to_select=25, unique_relevance=kind
        )
        assert outcome.features == tuple(path.order(criterion, beta)[: outcome.n_features])
        assert outcome.grid == (1, 25)


def test_beta_is_chosen_by_validation_accuracy(evaluation):
    outcomes = {(o.dataset, o.run, o.selector, o.classifier): o for o in evaluation}
    for (dataset, run, selector, classifier), outcome in outcomes.items():
        if selector == "jmi tuned":
            for beta, other in ((0, "jmi"), (0.1, "jmi boosted")):
                single = outcomes[dataset, run, other, classifier]
                assert outcome.validation_accuracy >= single.validation_accuracy
                if outcome.beta == beta:
                    assert outcome.features == single.features


@pytest.mark.parametrize(
    ("n_grid", "grid"), [("all", (1, 2, 3, 4, 5)), (2, (1, 2, 4, 5)), ([3, 2, 9], (1, 2, 3, 5)), ((), (1, 5))]
)
def test_numbers_of_features_are_those_asked_for(n_grid, grid):
    (outcome,) = compare("wine", {"first": first_columns}, QUICK, n_runs=1, max_features=5, n_grid=n_grid)
    assert outcome.grid == grid


def test_selection_sees_training_rows_only():
    rng = np.random.default_rng(5)
    X, y = load_wine(return_X_y=True)
    train, validation, test = split_rows(y, 0, 0)
    leak = y.astype(float)
    leak[train] = rng.permutation(leak[train])
    X = np.column_stack([leak, X[:, 4:11]])
    selectors = {
        "mim": "mim",
        "jmi boosted": BURSelector("jmi", beta=0.1),
        "ksg": BURSelector("mim", beta=0.1, unique_relevance="ksg"),
        "clf": BURSelector("mim", beta=0.5, unique_relevance="classifier", cv=2),
        "kbest": SelectKBest(mutual_info_classif, k="all"),
        "ffs": Wrapper("ffs", n_candidates=None),
        "rfe": Wrapper("rfe"),
    }
    options = {"n_runs": 1, "max_features": 5, "n_grid": 5}
    leaked = compare(("wine", X, y), selectors, QUICK, **options)
    for outcome in leaked:
        assert outcome.grid == (1, 5)
        assert 0 not in outcome.features
    other = X.copy()
    other[np.concatenate([validation, test])] *= -3
    seen = {outcome.selector: outcome.features[0] for outcome in leaked}
    assert seen == {o.selector: o.features[0] for o in compare(("wine", other, y), selectors, QUICK, **options)}


def test_splits_are_the_same_for_every_selector():
    seen = []

    def spy(X, y, max_features):
        seen.append((X.sum(), y.tolist()))
        return [0]

    compare("iris", {"one": spy, "two": lambda *rows: spy(*rows)}, QUICK, n_runs=2)
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_results_do_not_depend_on_company_processes_or_a_journal(evaluation, tmp_path):
    mine = [o for o in without_times(evaluation) if o["selector"] == "jmi boosted" and o["dataset"] == "wine"]
    selectors, options = {"jmi boosted": BURSelector("jmi", beta=0.1)}, {"n_runs": 2, "max_features": 6}
    for n_jobs in (2, 1):
        alone = compare("wine", selectors, ["knn", "svm"], **options, n_jobs=n_jobs, journal=tmp_path / "journal")
        assert without_times(alone) == mine


def by_mrmr_selection(X, y, max_features):
    """The order of another package, which wants frames and gives names."""
    frame = pd.DataFrame(X)
    return mrmr_classif(frame, pd.Series(y), K=min(max_features, X.shape[1]), n_jobs=1, show_progress=False)


def test_peers_take_part():
    planted = make_planted(150, n_informative=3, n_copies=0, n_noise=10)
    selectors = {
        "mim": "mim",
        "kbest": SelectKBest(mutual_info_classif),
        "forest": SelectFromModel(RandomForestClassifier(20), threshold=-np.inf, max_features=5),
        "mrmr-selection": by_mrmr_selection,
        "unirel": unirel.BURSelector("jmi", n_features_to_select=4),
    }
    data = ("planted", planted.data, planted.target)
    runs = [compare(data, selectors, QUICK, n_runs=2, max_features=6) for _ in range(2)]
    # Peers without a seed of their own are repeatable all the same.
    assert without_times(runs[0]) == without_times(runs[1])
    lengths = {o.selector: len(o.grid) for o in runs[0]}
    assert lengths == {"mim": 6, "kbest": 6, "forest": 5, "mrmr-selection": 6, "unirel": 4}
    assert all(o.features[0] in planted.informative for o in runs[0])


def test_orders_of_scikit_learn_selectors():
    X, y = load_wine(return_X_y=True)
    kbest = SelectKBest(partial(mutual_info_classif, random_state=0), k=2).fit(X, y)
    assert order_of(kbest, 13).tolist() == np.argsort(-kbest.selection_scores_, kind="stable").tolist()
    model = SelectFromModel(RandomForestClassifier(10, random_state=0)).fit(X, y)
    order = order_of(model, 13)
    assert sorted(order) == np.flatnonzero(model.get_support()).tolist()
    assert (np.diff(model.estimator_.feature_importances_[order]) <= 0).all()


@pytest.mark.parametrize("order", [[], [0, 0], [99], [0.5], [[1]], None])
def test_bad_orders_are_refused_and_named(order):
    with pytest.raises(ValueError, match="an order must") as error:
        compare("iris", {"bad": lambda *_: order}, QUICK, n_runs=1)
    assert "iris, run 0, bad" in error.value.__notes__[0]


def test_classifier_relevance_uses_the_evaluating_classifier():
    X, y = load_wine(return_X_y=True)
    X = X[:, 4:8]
    own = BURSelector("mim", beta=1.0, unique_relevance="classifier")
    selectors = {"own": own, "fixed": clone(own).set_params(classifier="knn")}
    classifiers = {"knn": "knn", "logistic": LogisticRegression(max_iter=1000)}
    outcomes = compare(("w", X, y), selectors, classifiers, n_runs=1, max_features=4, n_grid=4).outcomes
    train = split_rows(y, 0, 0).train
    for outcome in outcomes:
        trained = "knn" if outcome.selector == "fixed" else classifiers[outcome.classifier]
        values = unirel.unique_relevance(X[train], y[train], method="classifier", classifier=trained)
        assert outcome.features == tuple(np.argsort(-values, kind="stable")[: outcome.n_features])


def test_classifier_relevance_of_few_candidates():
    """The classifier is trained without these only, so nothing is known of the others."""
    X, y = load_wine(return_X_y=True)
    few = BURSelector("mim", beta=0.5, unique_relevance="classifier", max_candidates=4)
    (outcome,) = compare(("w", X, y), {"few": few}, "knn", n_runs=1, max_features=3, n_grid=3).outcomes
    train = split_rows(y, 0, 0).train
    alone = clone(few).set_params(classifier="knn", n_features_to_select=3).fit(X[train], y[train])
    assert np.isnan(alone.unique_relevance_).sum() == 9
    assert list(outcome.features) == alone.order_.tolist()[: outcome.n_features]


def test_tables(evaluation):
    summary = evaluation.summary()
    assert len(summary) == 2 * 2 * 4
    first = summary.iloc[0]
    mine = [o for o in evaluation if (o.dataset, o.classifier, o.selector) == ("wine", "knn", "jmi")]
    assert first[["dataset", "classifier", "selector"]].tolist() == ["wine", "knn", "jmi"]
    assert first["test_accuracy"] == pytest.approx(np.mean([o.test_accuracy for o in mine]))
    assert first["test_accuracy_std"] == pytest.approx(np.std([o.test_accuracy for o in mine], ddof=1))
    assert first["stability"] == pytest.approx(stability([o.features for o in mine], 13))
    assert len(evaluation.to_frame()) == len(evaluation)
    assert evaluation.baselines == {"jmi boosted": "jmi", "jmi tuned": "jmi"}
    assert set(evaluation.differences()["selector"]) == {"jmi boosted", "jmi tuned"}
    assert set(evaluation.differences("first", metric="test_area")["selector"]) == {"jmi", "jmi boosted", "jmi tuned"}
    ranks = evaluation.average_ranks()
    assert ranks.groupby("classifier")["average_rank"].sum().tolist() == [10, 10]


def test_to_dict_is_fit_for_json(evaluation):
    import json

    content = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert len(content["outcomes"]) == len(evaluation)
    assert content["settings"]["n_runs"] == 2


def test_baseline_and_metric_must_be_known(evaluation):
    with pytest.raises(ValueError, match="baseline='mim' did not take part; there are 'jmi'"):
        evaluation.differences("mim")
    with pytest.raises(ValueError, match="metric='accuracy' is not one of"):
        evaluation.differences(metric="accuracy")


def test_progress_counts_all_work():
    seen = []
    planted = make_planted(100, n_informative=2, n_copies=0, n_noise=1)
    data = ("planted", planted.data, planted.target)
    compare(data, {"mim": KSG}, QUICK, n_runs=2, progress=lambda *step: seen.append(step))
    assert seen == [(done, 6) for done in range(1, 7)]


def test_interruption_keeps_what_is_finished():
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    evaluation = compare("iris", {"mim": "mim"}, QUICK, n_runs=3, progress=stop)
    assert not evaluation.complete
    assert len(evaluation) == 1


def test_warnings_of_selectors_are_passed_on_once():
    X = np.tile(np.random.default_rng(0).integers(0, 3, (60, 1)), (1, 3)).astype(float)
    with pytest.warns(unirel.UnirelWarning, match="copies, run 0, unique relevance for ksg: .*is 0 for all") as caught:
        compare(("copies", X, np.arange(60) % 2), {"ksg": KSG}, QUICK, n_runs=3)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": "wien"}, r"no dataset 'wien'; did you mean 'wine'"),
        ({"datasets": "diabetes"}, r"'diabetes': class .* needs 5 of each"),
        ({"datasets": [("a", [[1.0], [np.nan]], [0, 1])]}, r"'a': column 0 of X has missing or infinite values"),
        ({"datasets": [("a", [["x"], ["y"]], [0, 1])]}, r"'a': X must hold numbers only"),
        ({"datasets": [("a", np.zeros((9, 2)), np.zeros(9))]}, r"'a': y has one class only"),
        ({"datasets": [("a", np.zeros((9, 2)), np.arange(10) % 2)]}, r"'a': X has 9 rows, y has 10"),
        ({"datasets": ["iris", "iris"]}, r"each with a name of its own"),
        ({"datasets": []}, r"at least one"),
        ({"selectors": {}}, r"selectors is empty"),
        ({"selectors": ["jmj"]}, r"criterion='jmj' is not one of"),
        ({"selectors": {"a": Wrapper("rfe")}, "classifiers": "knn"}, r"'a': 'rfe' suits none of knn"),
        ({"max_features": 0}, r"max_features=0 must be"),
        ({"max_features": {"wine": 3}}, r"max_features has no number for dataset 'iris'"),
        ({"n_runs": 0}, r"n_runs=0 must be"),
        ({"n_grid": 0}, r"n_grid=0 must be 'all' or"),
        ({"n_grid": [2, 0]}, r"n_grid=0 must be 'all' or"),
        ({"n_jobs": 0}, r"n_jobs=0"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        compare(**{"datasets": "iris", "selectors": ["mim"], "classifiers": QUICK, "n_runs": 1, **change})


@pytest.mark.parametrize("selector", [3, SelectKBest])
def test_what_is_no_selector_is_refused(selector):
    with pytest.raises(TypeError, match=r"selector 'a' is .*; pass a BURSelector, a ChosenBeta, a Wrapper"):
        compare("iris", {"a": selector}, QUICK)


def test_bad_betas_are_refused():
    with pytest.raises(ValueError, match="beta=2 is out of range"):
        compare("iris", {"a": BURSelector("jmi", beta=2)}, QUICK)
    with pytest.raises(ValueError, match="betas=2 is out of range"):
        ChosenBeta(BURSelector("jmi"), (0.1, 2))
    with pytest.raises(ValueError, match="leaves no choice"):
        ChosenBeta(BURSelector("jmi"), ())


# Any BURSelector, with all its options


def test_every_option_of_a_selector_counts():
    """The order is that of the selector by itself, fitted to the training rows."""
    X, y = load_wine(return_X_y=True)
    selectors = {
        "binned": BURSelector("jmim", 5, estimator="binned", n_bins=4, correction="miller-madow"),
        "ranks": BURSelector("jmi", 5, scale="rank", beta=0.3),
        "named": BURSelector("mrmr", 5, include=[3], exclude=[6, 0]),
        "kinds": BURSelector("mim", 5, kinds={6: "ignored"}, beta=0),
        "given": BURSelector("mim", 5, unique_relevance=np.linspace(1, 0, 13), beta=0.9),
        "share": BURSelector("mim", 0.4, beta=0),
        "criterion": BURSelector(make_criterion("cmim"), 5, unique_relevance="ksg", metric="manhattan", n_neighbors=5),
    }
    train = split_rows(y, 0, 0).train
    for outcome in compare(("wine", X, y), selectors, QUICK, n_runs=1, max_features=6):
        alone = clone(selectors[outcome.selector]).fit(X[train], y[train]).order_
        assert outcome.grid[-1] == len(alone) == 5
        assert outcome.features == tuple(alone[: outcome.n_features])


def test_the_default_number_of_features_is_that_of_the_comparison():
    selectors = {"default": BURSelector("mim"), "fewer": BURSelector("mim", 4), "more": BURSelector("mim", 30)}
    grids = {o.selector: o.grid[-1] for o in compare("breast_cancer", selectors, QUICK, n_runs=1, max_features=12)}
    assert grids == {"default": 12, "fewer": 4, "more": 12}


def test_auto_ends_where_nothing_is_added():
    planted = make_planted(300, n_informative=2, n_copies=0, n_noise=8)
    selectors = {"auto": BURSelector("mim", "auto", beta=0)}
    (outcome,) = compare(("planted", planted.data, planted.target), selectors, QUICK, n_runs=1)
    assert outcome.grid[-1] < 10
    assert set(planted.informative) <= set(outcome.features) | set(range(10))


def test_selectors_of_one_criterion_share_every_estimate(monkeypatch):
    asked = []
    joint = KNN.joint
    monkeypatch.setattr(KNN, "joint", lambda self, *given: asked.append(len(given[0])) or joint(self, *given))
    neighbours = partial(BURSelector, "jmi", estimator="knn")
    alone = {"plain": neighbours(beta=0)}
    more = {**alone, "boosted": neighbours(beta=0.01), "chosen": ChosenBeta(neighbours(), (0, 0.01))}
    options = {"n_runs": 1, "max_features": 5, "n_grid": 5}
    compare("wine", alone, QUICK, **options)
    n_alone = len(asked)
    asked.clear()
    compare("wine", more, QUICK, **options)
    # The reference of the boost is the first 20 features of the plain run; the boosted runs ask for little beside.
    assert n_alone < len(asked) <= 13 + 5


def test_unique_relevance_that_does_not_depend_on_the_criterion_is_found_once(monkeypatch):
    asked = []
    without = KNN.without_each
    monkeypatch.setattr(KNN, "without_each", lambda self, *given: asked.append(1) or without(self, *given))
    selectors = {name: BURSelector(name, beta=0.1, unique_relevance="ksg") for name in ("mim", "mrmr", "jmi")}
    compare("wine", selectors, QUICK, n_runs=2, max_features=3, n_grid=3)
    assert len(asked) == 2


def test_a_time_budget_is_one_selectors_own():
    selectors = {"plain": BURSelector("mim", beta=0, max_seconds=100), "late": BURSelector("mim", max_seconds=0)}
    with pytest.raises(TimeoutError, match="no feature was selected"):
        compare("wine", selectors, QUICK, n_runs=1)


def test_a_selector_of_ones_own_is_fitted_by_its_own_fit():
    class Reversed(BURSelector):
        def fit(self, X, y):
            super().fit(X, y)
            self.order_ = self.order_[::-1]
            return self

    selectors = {"mine": Reversed("mim", 4, beta=0), "theirs": BURSelector("mim", 4, beta=0)}
    found = compare("wine", selectors, QUICK, n_runs=1, n_grid=4).outcomes
    assert found[0].features[0] != found[1].features[0]


@pytest.mark.parametrize(
    "selector", [BURSelector.paper(beta=0), BURSelectorCV(LinearSVC(dual=False), BURSelector.paper(), max_features=4)]
)
def test_an_interrupted_piece_of_work_is_never_recorded(monkeypatch, tmp_path, selector):
    """A search keeps what it has after Ctrl-C; here that must not pass for a finished selection."""
    calls = []
    joint = KNN.joint

    def interrupt(self, *given):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return joint(self, *given)

    monkeypatch.setattr(KNN, "joint", interrupt)
    evaluation = compare("wine", {"a": selector}, QUICK, n_runs=1, max_features=6, journal=tmp_path / "runs")
    assert not evaluation.complete
    assert len(evaluation) == 0
    assert len((tmp_path / "runs").read_bytes().splitlines()) == 1
    monkeypatch.setattr(KNN, "joint", joint)
    again = compare("wine", {"a": selector}, QUICK, n_runs=1, max_features=6, journal=tmp_path / "runs")
    assert without_times(again) == without_times(compare("wine", {"a": selector}, QUICK, n_runs=1, max_features=6))


def test_an_interruption_in_another_process_ends_the_comparison():
    def interrupt(X, y, max_features):
        raise KeyboardInterrupt

    evaluation = compare("iris", {"a": interrupt}, QUICK, n_runs=2, n_jobs=2)
    assert not evaluation.complete
    assert len(evaluation) == 0


def test_an_interrupted_unique_relevance_is_never_recorded(monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(KNN, "with_each", interrupt)
    evaluation = compare("wine", {"a": BURSelector("jmi")}, QUICK, n_runs=1, journal=tmp_path / "runs")
    assert not evaluation.complete
    assert len((tmp_path / "runs").read_bytes().splitlines()) == 1
