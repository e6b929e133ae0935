"""Spark in this machine: the same answer as in memory, bit for bit, for the same edges; nothing is left behind."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from unirel import BURSelector, relevance, selection_path
from unirel.criteria import CRITERIA
from unirel.data.readers import is_parted
from unirel.errors import UnirelWarning
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
        session = start(folder)
        gateway = session.sparkContext._gateway
        yield session
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        assert gateway.proc.wait(60) is not None
        from pyspark import SparkContext

        SparkContext._gateway = SparkContext._jvm = None


def what_is_left(session, folder):
    """Frames that Spark keeps, and folders of files of parts."""
    deadline = time.monotonic() + 30  # Frames that were only dropped are given up in a thread.
    while (left := session.sparkContext._jsc.getPersistentRDDs().size()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left, glob.glob(f"{folder}/**/unirel-*", recursive=True)


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


def spark_of(session, frame):
    """Three partitions, one of which has no rows."""
    import pyarrow as pa

    ends = [0, 150, 150, len(frame)]
    plain = pa.Table.from_pandas(frame, preserve_index=False)
    parts = [session.createDataFrame(plain.slice(a, b - a)).coalesce(1) for a, b in zip(ends[::2], ends[1::2])]
    empty = parts[0].filter("weight < 0") if "weight" in frame else parts[0].filter("flag is null")
    return parts[0].union(empty).union(parts[1] if len(parts) > 1 else parts[0])


def assert_same(found, expected):
    assert_array_equal(found.order, expected.order)
    assert_array_equal(found.scores, expected.scores)
    assert_array_equal(found.relevance, expected.relevance)
    if expected.unique_relevance is not None:
        assert_array_equal(found.unique_relevance, expected.unique_relevance)
