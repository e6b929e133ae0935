"""A cluster of processes on this machine: the same answer, also when a worker dies; nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector, selection_path
from unirel.criteria import JMI
from unirel.estimation.binned import Binned
from unirel.search.boost import Boost

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("datasketches")
dd = pytest.importorskip("dask.dataframe")

# They start processes, which takes long.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as own:
        yield own


def make_frame(n_rows=3000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 6)), columns=list("abcdef"))
    frame["level"] = rng.choice(["x", "y", "z"], n_rows)
    frame["y"] = ((frame["a"] * frame["b"] > 0) ^ (frame["level"] == "x")).astype(int)
    return frame


def processes_of(group):
    """Processes whose session is that of a process."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [int(name)] if os.getsid(int(name)) == group else []
        except ProcessLookupError:
            continue
    return found


def test_plain_and_boosted_on_workers(client):
    frame = make_frame(1000)  # few enough for exact edges
    selector = BURSelector(n_features_to_select=5, unique_relevance=Boost(max_samples=300))
    options = {"selector": selector, "criteria": ["jmi", "mrmr", "gsa"], "betas": [0, 0.5]}
    expected = selection_path(frame.drop(columns="y"), frame["y"], **options)
    found = selection_path(dd.from_pandas(frame, npartitions=5), "y", **options)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.order, theirs.order)
        np.testing.assert_array_equal(ours.scores, theirs.scores)


def test_normal_scores_on_workers(client, monkeypatch):
    monkeypatch.setattr("unirel.data.chunks._VALUES", 2500)  # Two columns are brought together at a time.
    frame = make_frame(1000)
    selector = BURSelector(n_features_to_select=5, mi_estimator="gaussian")
    options = {"selector": selector, "criteria": ["jmi", "gsa"], "betas": 0}
    expected = selection_path(frame.drop(columns="y"), frame["y"], **options)
    found = selection_path(dd.from_pandas(frame, npartitions=5), "y", **options)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.order, theirs.order)
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=0, atol=1e-12)


class Deadly(JMI, name="deadly"):
    """JMI that kills a worker when three features are selected."""

    def __init__(self, process):
        self._process = process

    def term(self, info, candidates, selected):
        if len(selected) == 3 and self._process is not None:
            os.kill(self._process, signal.SIGKILL)
            self._process = None
        return super().term(info, candidates, selected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ["binned", "gaussian"])
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(client, estimator):
    client.wait_for_workers(2)
    ddf = dd.from_pandas(make_frame(), npartitions=6)
    expected = BURSelector("jmi", 6, beta=0, mi_estimator=estimator).fit(ddf, "y")
    again = Binned(edges=expected.edges_) if estimator == "binned" else estimator
    before = set(client.run(os.getpid).values())
    found = BURSelector(Deadly(min(before)), 6, beta=0, mi_estimator=again).fit(ddf, "y")
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.selection_scores_, expected.selection_scores_)
    client.wait_for_workers(2)
    assert min(before) not in set(client.run(os.getpid).values())


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_uses_a_running_cluster(cluster, tmp_path, capsys):
    from unirel.cli import main

    frame = make_frame(900)
    for number in range(3):
        frame.iloc[number * 300 : (number + 1) * 300].to_parquet(tmp_path / f"{number}.parquet", index=False)
    arguments = ["select", str(tmp_path / "*.parquet"), "-t", "y", "-k", "4", "--json"]
    assert main(arguments) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--scheduler", cluster.scheduler_address]) == 0
    distributed.get_client().close()
    assert json.loads(capsys.readouterr().out)["features"] == expected["features"]
    broken = bytearray((tmp_path / "1.parquet").read_bytes())
    broken[4:200] = bytes(196)  # its rows, not what is said about them at its end: a worker finds out
    (tmp_path / "1.parquet").write_bytes(broken)
    assert main([*arguments, "--scheduler", cluster.scheduler_address]) != 0
    distributed.get_client().close()
    assert "1.parquet" in capsys.readouterr().err


def select_in_a_task(frame, estimator):
    """What a task of a cluster does that has a cluster of its own idea of work."""
    return BURSelector("jmi", 2, beta=0, mi_estimator=estimator).fit(dd.from_pandas(frame, npartitions=3), "y").order_


@pytest.mark.parametrize("estimator", ["binned", "gaussian"])
def test_tasks_that_fill_all_threads_can_select(client, estimator):
    frame = make_frame(300)
    expected = select_in_a_task(frame, estimator)
    # There are two threads: some of these wait for tasks while others run in the same process.
    futures = [client.submit(select_in_a_task, frame, estimator, pure=False) for _ in range(4)]
    for future in futures:
        np.testing.assert_array_equal(future.result(timeout=300), expected)


SLOW = """
import time
import dask.dataframe as dd
from distributed import Client, LocalCluster
from unirel import BURSelector
from unirel.criteria import JMI
from tests.data.parts.test_cluster import make_frame

class Slow(JMI, name="slow"):
    def term(self, info, candidates, selected):
        print("step", flush=True)
        time.sleep(5)
        return super().term(info, candidates, selected)

if __name__ == "__main__":
    settings = {"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**settings) as cluster, Client(cluster):
        selector = BURSelector(Slow(), 5, beta=0)
        try:
            selector.fit(dd.from_pandas(make_frame(), npartitions=2), "y")
        except KeyboardInterrupt:
            print("kept", len(selector.order_), flush=True)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are counted in /proc")
def test_ctrl_c_keeps_what_was_selected_and_leaves_no_process(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "step\n"
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    assert "kept" in rest
    deadline = time.monotonic() + 30  # What was told to end may need a moment.
    while (left := processes_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
