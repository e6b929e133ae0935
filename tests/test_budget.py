"""The time budget holds everywhere, and what was found by then is returned."""

import threading
import time

import numpy as np
import pytest

import unirel.search.greedy
from unirel import BURSelector, ClassifierLoss, UnirelWarning, selection_path
from unirel._runtime import Deadline, OutOfTime, call_apart, check_time, map_tasks
from unirel.results import Ending
from unirel.search.boost import Sample


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return X, X[:, :3].sum(axis=1) > 0


@pytest.fixture
def late(monkeypatch):
    """Call it, and it is a thousand seconds later."""
    calls = []
    for name in ("monotonic", "time"):
        clock = getattr(time, name)
        monkeypatch.setattr(time, name, lambda clock=clock: clock() + 1000 * len(calls))
    return lambda *_: calls.append(1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_clock_is_looked_at_before_every_task(n_jobs):
    done = []

    def work(task):
        done.append(task)
        time.sleep(0.05)

    with pytest.raises(OutOfTime), Deadline.after(0.2).applied():
        map_tasks(work, range(1000), n_jobs)
    assert 1 <= len(done) < 20


def test_an_inner_budget_ends_no_later_than_the_one_around_it():
    with Deadline.after(1).applied():
        assert Deadline.after(100).ends <= time.monotonic() + 1
        assert Deadline.after(0.1).ends <= time.monotonic() + 0.1
    assert Deadline.after(None).ends == float("inf")


def test_what_looks_at_no_clock_is_given_up():
    released = threading.Event()
    begun = time.monotonic()
    with pytest.raises(OutOfTime), Deadline.after(0.2).applied():
        call_apart(released.wait, 30)
    assert time.monotonic() - begun < 10
    released.set()


def test_work_that_was_given_up_ends_at_its_next_task():
    ended = threading.Event()

    def work():
        try:
            map_tasks(time.sleep, [0.01] * 3000, 1)
        except OutOfTime:
            ended.set()

    with pytest.raises(OutOfTime), Deadline.after(0.2).applied():
        call_apart(work)
    assert ended.wait(10)


def test_a_call_apart_keeps_results_errors_and_its_own_time():
    def inside():
        check_time()  # the time around it is kept by whoever waits
        return 7

    assert call_apart(inside) == 7
    with pytest.raises(ZeroDivisionError):
        call_apart(lambda: 1 / 0)


@pytest.mark.parametrize("kind", ["both", "reference", "ksg", "classifier"])
def test_the_order_of_the_unboosted_run_is_returned(data, late, monkeypatch, kind):
    plain = BURSelector("jmi", 5, beta=0).fit(*data).order_
    monkeypatch.setattr(Sample, "given_reference", lambda *_: late() or check_time())
    monkeypatch.setattr("unirel.search.boost.find_unique", lambda *_, **__: late() or check_time())
    monkeypatch.setattr(ClassifierLoss, "losses", lambda *_: late() or time.sleep(0.5) or check_time())
    with pytest.warns(UnirelWarning, match=r"used up.* 5 of 5 features .*not boosted"):
        selector = BURSelector("jmi", 5, unique_relevance=kind, max_seconds=500).fit(*data)
    assert selector.selection_.ending is Ending.OUT_OF_TIME
    assert selector.order_.tolist() == plain.tolist()


def test_a_boosted_run_that_comes_less_far_gives_way_to_the_unboosted_one(data, late, monkeypatch):
    plain = BURSelector("jmi", 5, beta=0).fit(*data).order_
    found = unirel.search.greedy.find_blend

    def find_at_the_last_moment(*given):
        boost = found(*given)
        late()
        return boost

    monkeypatch.setattr("unirel.search.greedy.find_blend", find_at_the_last_moment)
    with pytest.warns(UnirelWarning, match="5 of 5 features"):
        selector = BURSelector("jmi", 5, max_seconds=500).fit(*data)
    assert selector.order_.tolist() == plain.tolist()
    assert selector.selection_.lacks_boost


def test_a_budget_that_suffices_changes_nothing(data):
    for kind in ("both", "ksg"):
        free, bound = (
            BURSelector("jmi", 5, unique_relevance=kind, max_seconds=seconds).fit(*data) for seconds in (None, 600)
        )
        assert free.order_.tolist() == bound.order_.tolist()
        np.testing.assert_array_equal(free.selection_scores_, bound.selection_scores_)


def test_the_pass_for_unique_relevance_looks_at_the_clock():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 30))
    begun = time.monotonic()
    with pytest.warns(UnirelWarning, match="incomplete"):
        selector = BURSelector("mim", 5, unique_relevance="ksg", max_seconds=1).fit(X, X[:, 0] > 0)
    assert time.monotonic() - begun < 15  # without a clock: minutes
    assert selector.order_[0] == 0


def test_reading_looks_at_the_clock(late, monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 4))
    monkeypatch.setattr("unirel.data.encoding.DenseColumns._code_numbers", lambda *_: late())
    with pytest.raises(TimeoutError, match="used up"):
        selection_path(np.asfortranarray(X).astype(object), X[:, 0], selector=BURSelector(max_seconds=100))


def test_a_report_without_the_accuracy_that_there_was_no_time_for(data, monkeypatch):
    from unirel.report import Report

    monkeypatch.setattr("unirel.report.accuracy._losses", lambda *_: time.sleep(30) or 0.0)
    begun = time.monotonic()
    selector = BURSelector(n_features_to_select=2, beta=0, max_seconds=2)
    with pytest.warns(UnirelWarning, match=r"accuracy was not measured, because the time budget .* max_seconds=2"):
        report = Report.from_data(*data, selector=selector, accuracy="knn")
    assert time.monotonic() - begun < 15
    assert len(report.selection) == 2
    assert report.accuracy is None


def test_a_selection_that_leaves_no_time_to_analyse_it_is_returned(data, late, monkeypatch):
    from unirel.report import Report

    monkeypatch.setattr("unirel.report.analyse", lambda *_, **__: late() or check_time())
    report = Report.from_data(*data, selector=BURSelector(n_features_to_select=2, max_seconds=50))
    assert len(report.selection) == 2
    assert report.selection.complete
    assert report.analysis.names == ()
