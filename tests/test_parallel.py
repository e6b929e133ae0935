"""The one place that starts threads: order, progress, exceptions."""

import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from unirel import KNN, BURSelector, UnirelWarning, relevance, relevance_test
from unirel._runtime import map_tasks, quietly, starting_workers, warn
from unirel.data.table import Table

any_n_jobs = pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])


def double(value):
    return 2 * value


@any_n_jobs
@pytest.mark.parametrize("tasks", [[], [3], list(range(20)), range(7)], ids=["none", "one", "many", "range"])
def test_results_in_the_order_of_the_tasks(tasks, n_jobs):
    assert map_tasks(double, tasks, n_jobs) == [2 * task for task in tasks]


def test_order_is_kept_when_later_tasks_end_first():
    delays = [0.05, 0.0, 0.02, 0.0]
    assert map_tasks(lambda delay: time.sleep(delay) or delay, delays, 2) == delays


@any_n_jobs
def test_progress_counts_tasks(n_jobs):
    calls = []
    map_tasks(double, range(5), n_jobs, lambda *call: calls.append(call))
    assert calls == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_progress_is_called_in_the_thread_of_the_caller():
    threads = set()
    map_tasks(double, range(5), 2, lambda *_: threads.add(threading.current_thread()))
    assert threads == {threading.current_thread()}


def test_one_job_stays_in_the_thread_of_the_caller():
    threads = set(map_tasks(lambda _: threading.current_thread(), range(4), 1))
    assert threads == {threading.current_thread()}


@any_n_jobs
def test_an_exception_comes_through(n_jobs):
    def fail(task):
        if task == 3:
            raise ZeroDivisionError("task 3")
        return task

    with pytest.raises(ZeroDivisionError, match="task 3"):
        map_tasks(fail, range(6), n_jobs)


@any_n_jobs
@pytest.mark.parametrize("exception", [KeyboardInterrupt, ValueError])
def test_an_exception_of_the_callback_comes_through(n_jobs, exception):
    done = []

    def progress(count, total):
        done.append(count)
        if count == 2:
            raise exception

    with pytest.raises(exception):
        map_tasks(double, range(6), n_jobs, progress)
    assert done == [1, 2]


def test_a_joblib_context_is_honoured():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert map_tasks(double, range(6), None) == [0, 2, 4, 6, 8, 10]


def test_workers_start_no_others():
    def current(_):
        time.sleep(0.05)
        return threading.current_thread()

    def threads_of(_):
        return {*map_tasks(current, range(3), 2), threading.current_thread()}

    assert [len(threads) for threads in map_tasks(threads_of, range(4), 2)] == [1] * 4
    assert len(threads_of(0)) == 3


def test_what_was_not_begun_is_left_when_a_task_fails():
    begun = []

    def fail(task):
        begun.append(task)
        time.sleep(0.01)
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        map_tasks(fail, range(100), 2)
    time.sleep(0.1)
    assert len(begun) < 10


def test_what_was_not_begun_is_left_when_the_caller_stops():
    begun = []

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_tasks(lambda task: begun.append(task) or time.sleep(0.01), range(100), 2, stop)
    time.sleep(0.1)
    assert len(begun) < 10


def test_no_worker_is_refused():
    with pytest.raises(ValueError, match=r"n_jobs=0 means no worker at all; pass 1 .* or -1"):
        map_tasks(double, [1, 2], 0)


@pytest.mark.parametrize("wrong", ["all", 1.5, True])
def test_what_is_no_number_of_threads_is_named(wrong):
    X, y = [[0.5], [1.5], [2.5], [3.5]], [0, 1, 0, 1]
    for call in (
        lambda: relevance(X, y, n_jobs=wrong),
        lambda: relevance_test(X, y, n_jobs=wrong),
        lambda: BURSelector(n_jobs=wrong).fit(X, y),
    ):
        with pytest.raises(ValueError, match=f"n_jobs={wrong!r} must be None or a whole number"):
            call()


def test_warnings_of_others_stay_as_they_are():
    """Threads that each change the filters of the process, and put back what they found, leave them changed."""
    table = Table.from_data(np.arange(60.0).reshape(20, 3), np.r_[1, np.arange(19) % 2])
    with pytest.warns(UnirelWarning, match="classes of y"):
        information = KNN(12).on(table)
    orders, before = np.array([np.roll(np.arange(20), shift) for shift in range(40)]), list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: information.permuted([0, 1], [2], orders), range(16)))
    assert list(warnings.filters) == before


@any_n_jobs
def test_quiet_work_is_quiet_in_its_threads(n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quietly():
            map_tasks(lambda _: warn("never heard"), range(8), n_jobs)
        with pytest.raises(UnirelWarning, match="heard"):
            warn("heard")


@pytest.mark.skipif(os.name != "posix", reason="needs masks of signals")
def test_processes_that_are_started_as_workers_do_not_hear_ctrl_c():
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('worked')"

    def run():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    with starting_workers():
        assert run().stdout == "worked\n"
    assert "KeyboardInterrupt" in run().stderr
