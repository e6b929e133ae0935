"""Spark in this machine: the same answer as in memory, bit for bit, for the same edges; nothing is left behind."""

import doctest
import glob
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Timer

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from unirel import BURSelector, relevance, selection_path
from unirel.criteria import CRITERIA, JMI
from unirel.data.readers import is_parted
from unirel.estimation.binned import Binned
from unirel.search.boost import Boost

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("datasketches")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


def start(folder):
    """A session of two threads, whose workers have this Python and these sources."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))
    builder = SparkSession.builder.master("local[2]").config(map=SETTINGS)
    session = builder.config("spark.local.dir", str(folder)).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark(folder):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PYSPARK_PYTHON", "PYTHONPATH"):
            patch.setenv(name, "")  # what it was comes back
        from pyspark import SparkContext

        session = start(folder)
        gateway = session.sparkContext._gateway
        yield session
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
        deadline = time.monotonic() + 60
        while (left := processes_in(folder)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == []


def what_is_left(session, folder):
    """Frames that Spark keeps, and folders of files of parts."""
    deadline = time.monotonic() + 30  # Frames that were only dropped are given up in a thread.
    while (left := session.sparkContext._jsc.getPersistentRDDs().size()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left, glob.glob(f"{folder}/**/unirel-*", recursive=True)


def processes_in(folder):
    """Processes that keep, or were told to keep, something in a folder: Java and its workers."""
    found, own = [], os.getpid()
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        with (
            suppress(OSError),
            open(f"/proc/{name}/environ", "rb") as first,
            open(f"/proc/{name}/cmdline", "rb") as second,
        ):
            found += [int(name)] if int(name) != own and os.fsencode(folder) in first.read() + second.read() else []
    return found


def make_frame(n_rows=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a.b", "c"])
    labels = np.arange(n_rows) % 3
    frame["a.b"] += labels
    frame.loc[::7, "c"] = np.nan
    frame["text"] = np.array(["low", "mid", "high"])[(labels + (rng.random(n_rows) < 0.4)) % 3]
    frame.loc[::11, "text"] = None
    frame["flag"] = rng.random(n_rows) < 0.4 + 0.1 * labels
    frame["weight"] = rng.random(n_rows) * 3
    frame["y"] = np.array(["one", "two", "three"])[labels]
    return frame


def spark_of(session, frame, folder):
    """Three partitions, the second without rows."""
    parts = []
    for number, (start, end) in enumerate([(0, 150), (150, 150), (150, len(frame))]):
        path = str(folder / f"{number}.parquet")
        frame.iloc[start:end].to_parquet(path, index=False)
        parts.append(session.read.parquet(path))
    return parts[0].union(parts[1]).union(parts[2])


def assert_same(found, expected):
    assert_array_equal(found.order, expected.order)
    assert_array_equal(found.scores, expected.scores)
    assert_array_equal(found.relevance, expected.relevance)
    if expected.unique_relevance is not None:
        assert_array_equal(found.unique_relevance, expected.unique_relevance)


def test_all_criteria_plain_and_boosted_with_weights(spark, folder, tmp_path):
    frame = make_frame()
    table = spark_of(spark, frame, tmp_path)
    edges = BURSelector("mim", 2, beta=0).fit(table, "y", "weight").edges_
    boost = Boost(max_samples=150)
    selector = BURSelector(n_features_to_select=3, unique_relevance=boost, mi_estimator=Binned(edges=edges))
    options = {"selector": selector, "criteria": list(CRITERIA), "betas": [0, 0.5]}
    found = selection_path(table, "y", sample_weight="weight", **options)
    features = frame.drop(columns=["y", "weight"])
    expected = selection_path(features, frame["y"], sample_weight=frame["weight"], **options)
    assert len(found) == len(expected) == 2 * len(CRITERIA)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
    assert what_is_left(spark, folder) == (0, [])


def test_small_tables_have_the_edges_of_memory_and_a_callers_cache_stays(spark, folder, tmp_path):
    frame = make_frame().drop(columns="weight")
    table = spark_of(spark, frame, tmp_path).persist()
    found = BURSelector("jmi", 3).fit(table, "y")
    expected = BURSelector("jmi", 3).fit(frame.drop(columns="y"), frame["y"])
    assert_same(found.selection_, expected.selection_)
    assert found.feature_names_in_.tolist() == ["a.b", "c", "text", "flag"]
    assert table.storageLevel.useMemory
    table.unpersist()
    numbers = frame.drop(columns="y")
    own = relevance(spark_of(spark, numbers, tmp_path), "a.b")
    assert_array_equal(own, relevance(numbers.drop(columns="a.b"), numbers["a.b"], mi_estimator="binned"))
    assert what_is_left(spark, folder) == (0, [])
    selected = found.transform(table)
    assert is_parted(selected)
    assert selected.columns == found.get_feature_names_out().tolist()


def test_normal_scores_of_all_partitions(spark, folder, tmp_path):
    frame = make_frame()
    table = spark_of(spark, frame, tmp_path)
    selector = BURSelector("jmi", 3, beta=0, mi_estimator="gaussian")
    expected = selector.fit(frame.drop(columns=["y", "weight"]), frame["y"], frame["weight"]).selection_
    found = selector.fit(table, "y", "weight").selection_
    assert_array_equal(found.order, expected.order)
    assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)
    assert what_is_left(spark, folder) == (0, [])


class Losing(JMI, name="losing"):
    """JMI that loses what Spark keeps in memory, or the files of the parts, when a feature is selected."""

    def __init__(self, lose):
        self._lose = lose

    def term(self, info, candidates, selected):
        if len(selected) == 1:
            self._lose()
        return super().term(info, candidates, selected)


@pytest.mark.parametrize("what", ["frames", "files"])
def test_what_is_lost_in_the_middle_is_made_again(what, spark, folder, tmp_path):
    table = spark_of(spark, make_frame().drop(columns="weight"), tmp_path)
    lost = []

    def lose():
        lost.append(what)
        if what == "frames":
            for frame in spark.sparkContext._jsc.getPersistentRDDs().values():
                frame.unpersist(True)
        for path in glob.glob(f"{folder}/**/unirel-*", recursive=True):
            shutil.rmtree(path)
            lost.append(path)

    expected = BURSelector("jmi", 3, beta=0).fit(table, "y").selection_
    assert_same(BURSelector(Losing(lose), 3, beta=0).fit(table, "y").selection_, expected)
    assert len(lost) > 1
    assert what_is_left(spark, folder) == (0, [])


def test_errors_say_what_to_do(spark, folder, tmp_path):
    frame = make_frame().drop(columns="weight")
    table = spark_of(spark, frame, tmp_path)
    with pytest.raises(ValueError, match=r"y='z' is no column of X; the columns are 'a\.b', 'c'"):
        BURSelector().fit(table, "z")
    with pytest.raises(TypeError, match="y is a Column; name a column of X"):
        BURSelector().fit(table, table["y"])
    with pytest.raises(ValueError, match=r"the frame has no rows"):
        BURSelector().fit(table.filter("c > 100"), "y")
    frame.loc[200, "c"] = np.inf
    (tmp_path / "infinite").mkdir()
    with pytest.raises(ValueError, match="column 'c'"):
        BURSelector().fit(spark_of(spark, frame, tmp_path / "infinite"), "y")
    assert what_is_left(spark, folder) == (0, [])


def test_rows_that_change_and_workers_that_lack_a_library_are_refused(spark, folder, tmp_path):
    from unirel.data.spark import SparkRows

    table = spark_of(spark, make_frame(), tmp_path)
    rows = SparkRows(table.select("c", "y"), ("c", "y"), sizes={0: 150, 2: 249})
    with pytest.raises(ValueError, match="other rows than before"):
        rows.map(lambda part: len(part.y))
    with pytest.raises(ImportError, match="No module named 'nowhere'; let PYSPARK_PYTHON name one"):
        rows.map(lambda part: import_module("nowhere"))
    rows.close()
    assert what_is_left(spark, folder) == (0, [])


def test_ctrl_c_cancels_what_runs(spark, folder, tmp_path):
    from unirel.data.spark import open_rows

    rows = open_rows(spark_of(spark, make_frame(), tmp_path), "y", None)
    assert rows.map(lambda part: len(part.y)) == [150, 250]
    Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        rows.map(lambda part: time.sleep(300))
    assert time.monotonic() - started < 100
    rows.close()
    deadline = time.monotonic() + 60
    while spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    assert what_is_left(spark, folder) == (0, [])


def test_the_page_prints_what_it_says(spark, folder):
    page = Path(__file__).parents[3] / "docs" / "spark.rst"
    failed, tried = doctest.testfile(str(page), module_relative=False, globs={"spark": spark})
    assert (failed, tried) == (0, 6)
    assert what_is_left(spark, folder) == (0, [])
