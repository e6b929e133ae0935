"""`selection_path`: what is asked for, what is shared, what ends it, and what it says of bad input."""

import json
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

import unirel
import unirel.search.greedy
from unirel import BURSelector, UnirelWarning, selection_path
from unirel.criteria import JMI
from unirel.estimation.knn import KNN
from unirel.results import Ending
from unirel.search.greedy import DEFAULT_BETAS

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


@pytest.fixture
def data():
    """Eight columns with names, the first five informative, and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 8))
    y = np.digitize(X[:, :5].sum(axis=1), [-1, 1])
    return pd.DataFrame(X, columns=list("abcdefgh")), y


def one(data, criteria="jmi", betas=0, **parameters):
    selector = BURSelector(**({"n_features_to_select": 4} | parameters))
    (selection,) = selection_path(*data, selector=selector, criteria=criteria, betas=betas)
    return selection


# What is asked for


def test_criteria_and_betas_in_the_order_asked_for(data):
    path = selection_path(
        *data, criteria=["jmim", "mim", JMI()], betas=[0.5, 0], selector=BURSelector(n_features_to_select=2)
    )
    assert path.criteria == ["jmim", "mim", "jmi"]
    assert path.betas == [0.5, 0]
    assert [(s.criterion, s.beta) for s in path] == [(c, b) for c in path.criteria for b in path.betas]


def test_defaults():
    path = selection_path(*load_iris(return_X_y=True))
    assert {len(selection) for selection in path} == {4}  # all there are, without a word about the usual ten
    assert path.criteria == ["mim", "mrmr", "jmi", "jmim", "cmim"]
    assert path.betas == list(DEFAULT_BETAS) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    settings = path.selections[0].settings
    assert (settings["unique_relevance"], settings["mi_estimator"]) == ("both", "auto")


def test_array_of_betas(data):
    path = selection_path(
        *data, criteria="mim", betas=np.array([0.0, 0.25]), selector=BURSelector(n_features_to_select=2)
    )
    assert path.betas == [0, 0.25]


def test_a_share_is_not_cut_by_rounding(rng):
    X = rng.normal(size=(20, 100))
    assert len(one((X, np.arange(20) % 2), criteria="mim", n_features_to_select=0.29)) == 29  # 0.29 * 100 < 29


@pytest.mark.parametrize(
    ("wanted", "n_selected"), [(1, 1), (8, 8), (0.5, 4), (1.0, 8), (0.01, 1), (0.3, 2), ("auto", 0)]
)
def test_number_of_features(data, wanted, n_selected):
    selection = one(data, n_features_to_select=wanted)
    assert selection.complete
    if wanted == "auto":
        assert selection.reason.startswith(("no other feature adds", "no feature has"))
    else:
        assert len(selection) == n_selected
        assert selection.reason == f"{n_selected} features were asked for"
    assert len(set(selection.order.tolist())) == len(selection)


def test_all_features_in_all_criteria(data):
    for selection in selection_path(
        *data,
        criteria=["mim", "mrmr", "jmi", "jmim", "cmim", "gsa"],
        betas=[0, 0.5, 1],
        selector=BURSelector(n_features_to_select=8),
    ):
        assert sorted(selection.order.tolist()) == list(range(8))


def test_a_single_feature(data):
    frame, y = data
    selection = one((frame[["c"]], y), n_features_to_select=1, betas=0.3)
    assert selection.selected_names == ["c"]


def test_ignored_columns_are_never_selected(data):
    frame, y = data
    named = frame.assign(b=[f"person {row}" for row in range(90)])
    selection = one((named, y), n_features_to_select=7, betas=0.1)
    assert len(selection) == 7
    assert 1 not in selection.order
    assert np.isnan(selection.relevance[1])
    assert np.isnan(selection.unique_relevance[1])


def test_auto_depends_on_no_seed_where_no_rows_are_drawn():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 12))
    weak = X, X[:, 0] + 1.7 * rng.normal(size=60)
    runs = [one(weak, n_features_to_select="auto", random_state=seed) for seed in range(3)]
    for run in runs:
        assert_array_equal(run.scores, runs[0].scores)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "small", None])
def test_a_chance_that_cannot_be_is_refused(data, alpha):
    with pytest.raises(ValueError, match=r"alpha=.* must be a number above 0 and below 1"):
        one(data, n_features_to_select="auto", alpha=alpha)


@pytest.mark.parametrize("kind", ["reference", "ksg"])
def test_auto_with_a_boost(data, kind):
    selection = one(data, n_features_to_select="auto", betas=0.1, unique_relevance=kind)
    assert selection.complete
    assert len(selection.unique_relevance) == 8


# Forced and excluded features


def test_names_positions_and_one_name(data):
    by_name = one(data, include=["h", "b"], exclude=["a"])
    assert by_name.selected_names[:2] == ["h", "b"]
    assert_array_equal(by_name.order, one(data, include=[7, 1], exclude=[0]).order)
    assert_array_equal(by_name.order, one(data, include=[-1, 1], exclude="a").order)
    assert_array_equal(by_name.order, one(data, include=np.array([7, 1, 7]), exclude=np.array([0])).order)


def test_what_is_left_is_selected(data):
    selection = one(data, exclude=list("abcdef"))
    assert sorted(selection.selected_names) == ["g", "h"]
    assert selection.complete


def test_all_features_forced(data):
    selection = one(data, include=list("hgfedcba"), n_features_to_select=8)
    assert selection.selected_names == list("hgfedcba")


@pytest.mark.parametrize("criterion", ["jmim", "gsa", "mim"])
def test_forced_features_come_first_with_a_boost(data, criterion):
    selection = one(data, include=["h"], exclude=["a"], betas=0.3, criteria=criterion, n_features_to_select=7)
    assert selection.selected_names[0] == "h"
    assert sorted(selection.selected_names) == list("bcdefgh")


# What ends it early


@pytest.fixture
def watched(monkeypatch):
    """Lets a function look at the progress of a search, every time it is reported."""

    def watch(progress):
        monkeypatch.setattr("unirel.search.greedy.progress_of", lambda *_: progress)

    return watch


def interrupt_after(n_steps):
    """A watcher who presses Ctrl-C once."""
    calls = []

    def progress(done, total):
        calls.append((done, total))
        if len(calls) == n_steps:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("beta", [0, 0.1])
def test_interrupted(data, watched, beta):
    whole = one(data, betas=beta, n_features_to_select=6)
    watched(interrupt_after(3))
    selection = one(data, betas=beta, n_features_to_select=6)
    assert len(selection) == len(selection.scores) == 3
    assert not selection.complete
    assert selection.reason == "interrupted"
    assert_array_equal(selection.order, whole.order[:3])


@pytest.mark.parametrize("criterion", ["jmi", "jmim", "gsa"])
def test_no_time_at_all(data, criterion):
    for beta in (0, 0.1):
        selection = one(data, criteria=criterion, betas=beta, max_seconds=0)
        assert len(selection) == 0
        assert not selection.complete
        assert selection.reason == "the time budget of 0 s was used up"
        assert selection.to_dict()["features"] == []


@pytest.fixture
def late(monkeypatch):
    """A watcher after whose third call it is a thousand seconds later."""
    calls = []
    now = time.monotonic
    monkeypatch.setattr("unirel._runtime.time.monotonic", lambda: now() + 1000 * (len(calls) >= 3))
    return lambda *call: calls.append(call)


@pytest.mark.parametrize("criterion", ["mim", "jmim", "gsa"])
def test_time_for_some_features(data, watched, late, criterion):
    full = one(data, criteria=criterion, n_features_to_select=8)
    watched(late)
    selection = one(data, criteria=criterion, n_features_to_select=8, max_seconds=500)
    assert len(selection) == 3
    assert not selection.complete
    assert selection.reason == "the time budget of 500 s was used up"
    assert_array_equal(selection.order, full.order[:3])
    assert_array_equal(selection.scores, full.scores[:3])


def test_enough_time(data):
    assert one(data, max_seconds=3600).complete


def test_time_is_one_budget_for_the_whole_path(data):
    start = time.monotonic()
    path = selection_path(*data, selector=BURSelector(max_seconds=1e-09, n_features_to_select=8))
    assert time.monotonic() - start < 5
    assert not any(selection.complete for selection in path)
    assert len(path) == 55


@pytest.mark.parametrize("kind", ["ksg", "selected", "both"])
def test_after_the_time_no_criterion_gets_the_selection_of_another(data, monkeypatch, kind):
    """The boost is found just in time, for the first criterion; the second had no time for anything of its own."""
    plain = {name: one(data, criteria=name, unique_relevance=kind).order.tolist() for name in ("mim", "gsa")}
    assert plain["mim"] != plain["gsa"]
    calls, now, find = [], time.monotonic, unirel.search.greedy.find_blend
    monkeypatch.setattr("unirel._runtime.time.monotonic", lambda: now() + 1000 * len(calls))
    monkeypatch.setattr("unirel.search.greedy.find_blend", lambda *given: (find(*given), calls.append(1))[0])
    selector = BURSelector(n_features_to_select=4, unique_relevance=kind, max_seconds=500)
    path = selection_path(*data, criteria=["mim", "gsa"], betas=0.5, selector=selector)
    assert {selection.ending for selection in path} == {Ending.OUT_OF_TIME}
    assert path.order("mim", 0.5).tolist() == plain["mim"]
    assert path.order("gsa", 0.5).tolist() in ([], plain["gsa"])


# Progress


def test_progress_counts_all_selections(data, watched):
    calls = []
    watched(lambda *call: calls.append(call))
    selection_path(
        *data, criteria=["mim", "jmi"], betas=[0, 0.1], selector=BURSelector(n_features_to_select=3, verbose=True)
    )
    assert {total for _, total in calls} == {12}
    done = [done for done, _ in calls]
    assert done == sorted(done)
    assert sorted(set(done)) == list(range(1, 13))


def test_progress_reaches_its_end_when_fewer_features_are_left(data, watched):
    calls = []
    watched(lambda *call: calls.append(call))
    one(data, exclude=list("abcdef"))
    assert calls[-1] == (4, 4)


def test_verbose_draws_nothing_of_short_work(data, capsys):
    one(data)  # compiling may take longer
    one(data, verbose=True)
    assert capsys.readouterr() == ("", "")


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features_to_select": 0}, r"n_features_to_select=0 must be a whole number from 1 to 8"),
        ({"n_features_to_select": -1}, r"n_features_to_select=-1 "),
        ({"n_features_to_select": 1.5}, r"n_features_to_select=1\.5 .*a share above 0 and up to 1\.0, 'all' or 'auto'"),
        ({"n_features_to_select": 0.0}, r"n_features_to_select=0\.0 "),
        ({"n_features_to_select": float("nan")}, r"n_features_to_select=nan "),
        ({"n_features_to_select": True}, r"n_features_to_select=True "),
        ({"n_features_to_select": "many"}, r"n_features_to_select='many' .* or 'auto'"),
        ({"n_features_to_select": None}, r"n_features_to_select=None "),
        ({"betas": -0.1}, r"beta=-0\.1 is out of range; it must be from 0 .* to 1"),
        ({"betas": [0, 1.01]}, r"beta=1\.01 is out of range"),
        ({"betas": [float("nan")]}, r"beta=nan is out of range"),
        ({"betas": ["a"]}, r"beta='a' is out of range"),
        ({"criteria": "jmmi"}, r"criterion='jmmi' is not one of 'mim', 'mrmr', 'jmi', 'jmim', 'cmim', 'gsa'"),
        ({"criteria": ["jmi", 3]}, r"criterion=3 is not one of"),
        ({"criteria": [JMI]}, r"criterion=<class .*> is not one of"),
        ({"mi_estimator": "tree"}, r"mi_estimator='tree' is not one of"),
        ({"mi_estimator": KNN(metric="cosine")}, r"metric='cosine' is not one of"),
        ({"mi_estimator": KNN(n_neighbors=0)}, r"n_neighbors=0 must be a whole number from 1 on"),
        ({"betas": 0.1, "unique_relevance": "magic"}, r"unique_relevance='magic' is not one of"),
        ({"betas": 0.1, "unique_relevance": [1, 2]}, r"unique_relevance has shape \(2,\), but there are 8 features"),
        ({"betas": 0.1, "unique_relevance": [np.nan] * 8}, r"unique_relevance has values that are not finite"),
        ({"betas": 0.1, "unique_relevance": [np.inf] * 8}, r"unique_relevance has values that are not finite"),
        ({"include": ["z"]}, r"'z'"),
        ({"exclude": [8]}, r"8"),
        ({"include": ["a"], "exclude": ["a"]}, r"'a' is in include and in exclude"),
        ({"include": list("abcde")}, r"include names 5 features, but n_features_to_select=4"),
        ({"exclude": list("abcdefgh")}, r"no feature is left: exclude names all 8"),
        ({"n_jobs": 0}, r"n_jobs=0"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_errors_name_parameter_value_and_range(data, options, message):
    with pytest.raises(ValueError, match=message):
        one(data, **options)


def test_an_ignored_column_cannot_be_included(data):
    frame, y = data
    with pytest.raises(ValueError, match="include names 'a', which is ignored"):
        one((frame.assign(a=[f"person {row}" for row in range(90)]), y), include=["a"])


def test_a_boost_that_is_all_zero_is_said(rng):
    X, y = rng.integers(0, 3, size=(60, 60)), np.arange(60) % 2  # every two rows are far apart in some column
    selector = BURSelector(unique_relevance=KNN(metric="chebyshev"))
    with pytest.warns(UnirelWarning, match=r"unique relevance is 0 for all 60 features.*metric='euclidean'"):
        selection_path(X, y, criteria="mim", betas=0.1, selector=selector)


# Settings


def test_settings_say_what_decides_the_result(data):
    settings = one(data, include=["h"], unique_relevance=np.zeros(8), n_jobs=2, max_seconds=100).settings
    assert settings["include"] == ["h"]
    assert settings["unique_relevance"] == "given values"
    assert settings["max_seconds"] == 100
    assert not {"n_jobs", "verbose"} & set(settings)


# Should hold, by the parts of the design that they quote


def test_unique_relevance_is_computed_once_for_all_criteria(data, monkeypatch):
    calls = []
    find = unirel.search.greedy.find_blend
    monkeypatch.setattr("unirel.search.greedy.find_blend", lambda *given: calls.append(given) or find(*given))
    selection_path(
        *data,
        criteria=["mim", "jmi", "jmim"],
        betas=[0, 0.1, 0.5],
        selector=BURSelector(n_features_to_select=2, unique_relevance="ksg"),
    )
    assert len(calls) == 1


def test_a_watcher_who_keeps_interrupting_loses_nothing(data, watched):
    def progress(done, total):
        if done >= 3:
            raise KeyboardInterrupt

    watched(progress)
    try:
        assert len(one(data, n_features_to_select=6)) == 3
    except KeyboardInterrupt:
        pytest.fail("progress is reported once more after the search, and that interrupt is not caught")


def test_ctrl_c_ends_the_whole_path(data, watched):
    watched(interrupt_after(3))
    selector = BURSelector(n_features_to_select=6)
    path = selection_path(*data, criteria=["mim", "jmi"], betas=[0, 0.5], selector=selector)
    assert len(path.selections[0]) == 3
    assert not any(selection.complete for selection in path)


def test_forced_features_come_first_even_if_the_boost_is_never_known(data, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("unirel.search.greedy.find_blend", interrupted)
    selection = one(data, betas=0.1, include=["h"], n_features_to_select=6)
    assert not selection.complete
    assert selection.selected_names[:1] in ([], ["h"])


@pytest.mark.parametrize("kind", ["ksg", "classifier"])
def test_an_interrupt_while_unique_relevance_is_found_keeps_what_there_is(data, monkeypatch, kind):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("unirel.search.greedy.find_blend", interrupted)
    try:
        path = selection_path(
            *data, criteria="jmi", betas=[0, 0.1], selector=BURSelector(n_features_to_select=3, unique_relevance=kind)
        )
    except KeyboardInterrupt:
        pytest.fail("the selection with beta=0 was there, and is lost")
    assert len(path.order("jmi", 0)) == 3


@pytest.mark.parametrize(
    ("include", "betas"), [(np.array([1]), 0), ((), np.array([0, 1])), ((), [np.float32(0.5)])], ids=str
)
def test_numpy_numbers_are_fit_for_json(data, include, betas):
    selector = BURSelector(n_features_to_select=2, include=include)
    path = selection_path(*data, criteria="mim", betas=betas, selector=selector)
    assert json.loads(json.dumps(path.to_dict()))


@pytest.mark.parametrize("max_seconds", [-1, float("nan"), "long"])
def test_a_time_budget_that_makes_no_sense_is_refused(data, max_seconds):
    with pytest.raises(ValueError, match="max_seconds"):
        one(data, max_seconds=max_seconds)


@pytest.mark.parametrize("options", [{"betas": []}, {"criteria": []}], ids=str)
def test_an_empty_path_is_refused(data, options):
    with pytest.raises(ValueError, match=r"criteria|beta"):
        selection_path(*data, selector=BURSelector(n_features_to_select=2), **options)


def test_auto_stops_when_the_target_is_known():
    X = np.random.default_rng(0).integers(0, 2, size=(200, 30))
    selection = one((X, X[:, :3].sum(axis=1)), criteria="gsa", n_features_to_select="auto")
    assert sorted(selection.order.tolist()) == [0, 1, 2]


def test_warnings_point_at_the_call(data):
    X = np.column_stack([data[0]] * 5)[:40]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selection_path(X, np.arange(40) % 2, criteria="mim", betas=0.1, selector=BURSelector(unique_relevance="ksg"))
    assert {record.filename for record in caught} == {__file__}


def test_defaults_take_all_features_of_a_small_table(data):
    X, y = data
    path = selection_path(X[X.columns[:4]] if hasattr(X, "columns") else X[:, :4], y, criteria="mim", betas=0)
    assert len(path.order("mim", 0)) == 4


def test_what_is_no_selector_of_unirel_is_refused(data):
    with pytest.raises(TypeError, match=r"selector='jmi' is no BURSelector"):
        selection_path(*data, selector="jmi")


# Candidates


def test_only_the_most_relevant_columns_are_searched(rng):
    X = rng.normal(size=(60, 30))
    y = X[:, 3] + X[:, 20] > 0
    relevance = unirel.relevance(X, y, mi_estimator="binned")
    path = selection_path(
        X, y, criteria=["jmi", "jmim"], betas=[0, 0.3], selector=BURSelector(max_candidates=5, n_features_to_select=5)
    )
    best = set(np.argsort(-relevance, kind="stable")[:5].tolist())
    for selection in path:
        assert set(selection.order.tolist()) == best


def test_forced_columns_need_not_be_relevant(rng):
    X = rng.normal(size=(60, 30))
    y = X[:, 3] > 0
    least = int(np.argmin(unirel.relevance(X, y, clip=False)))
    path = selection_path(
        X, y, criteria="jmi", betas=0.3, selector=BURSelector(max_candidates=3, include=[least], n_features_to_select=3)
    )
    assert path.order("jmi", 0.3)[0] == least


def test_many_columns_and_few_rows_are_cut_unless_more_are_wanted(rng):
    X = rng.normal(size=(20, 400))
    y = np.arange(20) % 2
    relevant = np.argsort(-unirel.relevance(X, y, mi_estimator="binned"), kind="stable")
    assert len(one((X, y), criteria="mim", n_features_to_select=310)) == 310
    assert set(one((X, y), criteria="mim", n_features_to_select="auto").order) <= set(relevant[:300])


def test_of_many_thousand_columns_the_most_relevant_are_searched(rng, monkeypatch):
    monkeypatch.setattr("unirel.search.greedy._MOST", 7)
    X = rng.normal(size=(50, 30))
    y = np.arange(50) % 2
    relevant = np.argsort(-unirel.relevance(X, y, mi_estimator="binned"), kind="stable")
    assert set(one((X, y), n_features_to_select=7).order) == set(relevant[:7])
    assert set(one((X, y), n_features_to_select=7, max_candidates=None).order) != set(relevant[:7])


@pytest.mark.parametrize("max_candidates", [0, 2.5, "all"])
def test_wrong_numbers_of_candidates_are_named(data, max_candidates):
    with pytest.raises(ValueError, match="max_candidates="):
        one(data, max_candidates=max_candidates)
