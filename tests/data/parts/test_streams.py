"""Whatever streams Arrow: the same answer as in memory, read as often as can be, and nothing left behind."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from tests.data.parts.test_equal import CUTS, assert_same, dataset_of, make_frame, parts_of
from tests.data.parts.test_files import leftovers, needs_maps
from unirel import BURSelector, relevance, selection_path
from unirel.criteria import CRITERIA
from unirel.data.arrow import ArrowRows
from unirel.data.chunks import open_rows
from unirel.data.readers import is_parted
from unirel.errors import UnirelWarning
from unirel.estimation.binned import Binned
from unirel.search.boost import Boost

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")
pytest.importorskip("datasketches")
pytestmark = pytest.mark.filterwarnings("ignore:X is read once:unirel.errors.UnirelWarning")
needs_batches = pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="polars gives no batches")


def reader_of(frame, cuts=CUTS["uneven"]):
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    tables = [pa.Table.from_pandas(part, schema, preserve_index=False) for part in parts_of(frame, cuts)]
    return pa.RecordBatchReader.from_batches(schema, (one for part in tables for one in part.to_batches()))


def lazy_of(frame):
    return pl.from_pandas(frame).lazy().with_row_index("row").filter(pl.col("row") >= 0).drop("row")


SOURCES = {
    "reader": reader_of,
    "function": lambda frame: lambda: reader_of(frame),
    "lazy": pytest.param(lazy_of, marks=needs_batches),
}


def each(sources):
    return [given if hasattr(given, "marks") else pytest.param(given, id=name) for name, given in sources.items()]


def check_all_criteria(make, weighted, n_classes=2):
    """Order and scores, plain and boosted, are those of the same table in memory, for the same edges."""
    frame = make_frame(n_classes)
    weights, name = (frame["weight"], "weight") if weighted else (None, None)
    frame = frame if weighted else frame.drop(columns="weight")
    edges = BURSelector("mim", 2, beta=0).fit(make(frame), "y", name).edges_
    counts = Binned(edges=edges)
    selector = BURSelector(n_features_to_select=4, unique_relevance=Boost(max_samples=150), mi_estimator=counts)
    options = {"selector": selector, "criteria": list(CRITERIA), "betas": [0, 0.5]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
        features = frame.drop(columns=["y", *([name] if name else [])])
        expected = selection_path(features, frame["y"], sample_weight=weights, **options)
        assert_same(selection_path(make(frame), "y", sample_weight=name, **options), expected)
    few = BURSelector("jmi", 3, mi_estimator="gaussian")
    expected = few.fit(features, frame["y"], weights).selection_scores_
    np.testing.assert_allclose(few.fit(make(frame), "y", name).selection_scores_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "weighted"),
    [(reader_of, True), pytest.param(lazy_of, False, marks=needs_batches)],
    ids=["reader", "lazy"],
)
def test_all_criteria_plain_and_boosted(make, weighted):
    check_all_criteria(make, weighted)


def test_a_function_is_asked_as_often_as_a_dataset_is_read_and_a_reader_once(tmp_path, monkeypatch):
    frame, passes, opened = make_frame(), [], []
    look = ArrowRows.__iter__
    monkeypatch.setattr(ArrowRows, "__iter__", lambda self: (passes.append(self), look(self))[1])
    selector = BURSelector("jmi", 3)
    expected = selector.fit(dataset_of(frame, CUTS["uneven"], tmp_path), "y", "weight").selection_
    n_passes = len(passes)
    assert n_passes > 2
    found = selector.fit(lambda: (opened.append(1), reader_of(frame))[1], "y", "weight").selection_
    assert_same([found], [expected])
    assert len(opened) == n_passes
    reader = reader_of(frame)
    with pytest.warns(UnirelWarning, match="X is read once, and kept meanwhile in the folder of temporary files"):
        assert_same([selector.fit(reader, "y", "weight").selection_], [expected])
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def test_frames_in_memory_stay_there():
    frame = make_frame().drop(columns="weight")
    table = pa.Table.from_pandas(frame)
    for data in (frame, frame["a"], table, table.column("a"), pl.from_pandas(frame), pl.from_pandas(frame)["a"]):
        assert not is_parted(data)
    assert is_parted(reader_of(frame))
    features, y = pl.from_pandas(frame.drop(columns="y")), frame["y"].to_numpy()
    assert not is_parted(features.lazy(), y)
    selector = BURSelector("jmi", 2)
    assert_same([selector.fit(features.lazy(), y).selection_], [selector.fit(features, y).selection_])
    assert not hasattr(selector, "edges_")


@pytest.mark.parametrize("make", [SOURCES["reader"], SOURCES["function"]])
def test_a_target_and_weights_in_memory(make):
    frame = make_frame()
    features, selector = frame.drop(columns=["y", "weight"]), BURSelector("jmi", 3)
    selector.mi_estimator = Binned(strategy="uniform")  # whose edges do not hang on a sketch
    expected = selector.fit(features, frame["y"], frame["weight"]).selection_
    found = selector.fit(make(features), frame["y"].to_numpy(), frame["weight"]).selection_
    assert_same([found], [expected])
    with pytest.raises(ValueError, match="420 rows"):
        relevance(make(features), np.append(frame["y"], "more"))


@pytest.mark.parametrize("make", each(SOURCES))
def test_transform_gives_the_selected_columns(make):
    frame = make_frame().drop(columns="weight")
    selector = BURSelector("mim", 2, beta=0).fit(make(frame), "y")
    reduced = selector.transform(make(frame))
    table = reduced.to_arrow() if hasattr(reduced, "to_arrow") else reduced.read_all()
    assert table.column_names == selector.get_feature_names_out().tolist()
    assert table.num_rows == len(frame)
    with pytest.raises(ValueError, match="selected"):
        selector.transform(make(frame[["flag", "y"]]))


def test_views_and_dictionaries_that_differ_between_batches():
    rng = np.random.default_rng(0)
    levels = rng.choice(["a", "b", "c"], 300)
    y = np.where(levels == "a", rng.choice(["u", "v"], 300), "u")
    kind = pa.dictionary(pa.int8(), pa.string_view())
    schema = pa.schema([("text", pa.string_view()), ("coded", kind), ("y", pa.string())])

    def batches():
        for start in range(0, 300, 100):
            own, seen = (
                levels[start : start + 100],
                np.unique(levels[start : start + 100 : 1])[:: 1 - 2 * (start % 200 > 0)],
            )
            codes = pa.array([int(np.flatnonzero(seen == one)[0]) for one in own], pa.int8())
            coded = pa.DictionaryArray.from_arrays(codes, pa.array(seen.tolist(), pa.string_view()))
            text = pa.array(own.tolist(), pa.string_view())
            yield pa.record_batch([text, coded, pa.array(y[start : start + 100].tolist())], schema=schema)

    expected = relevance(pd.DataFrame({"text": levels, "coded": levels}), y, mi_estimator="binned").to_numpy()
    assert expected.min() > 0
    for X in (
        pa.RecordBatchReader.from_batches(schema, batches()),
        lambda: pa.RecordBatchReader.from_batches(schema, batches()),
    ):
        assert_array_equal(relevance(X, "y"), expected)


def test_large_batches_are_cut_and_small_ones_joined(monkeypatch):
    frame = make_frame().drop(columns="weight")
    monkeypatch.setattr("unirel.data.arrow._BATCH", 1)  # so that a part has 1024 rows
    frame = pd.concat([frame] * 10)
    cuts = [1, 2, 3, 3500]
    for X in (reader_of(frame, cuts), lambda: reader_of(frame, cuts)):
        rows = open_rows(X, "y", None)
        for _ in range(2):
            parts = list(rows)
            assert sum(len(part.y) for part in parts) == 4200
            assert max(len(part.y) for part in parts) < 2048


def test_rows_that_change_between_looks_are_noticed():
    frame, sizes = make_frame().drop(columns="weight"), iter([420, 400, 420, 420])
    with pytest.raises(ValueError, match="X gave 420 rows, then 400; give the same whenever"):
        BURSelector("jmi", 2).fit(lambda: reader_of(frame.iloc[: next(sizes)], []), "y")


def test_a_stream_without_rows_is_refused():
    with pytest.raises(ValueError, match="X has 0 sample"):
        relevance(reader_of(make_frame().iloc[:0], []), "y")


def test_an_error_of_the_source_is_its_own():
    schema = pa.schema([("a", pa.float64()), ("y", pa.int64())])

    def batches():
        yield pa.record_batch([pa.array([1.0]), pa.array([1])], schema=schema)
        raise RuntimeError("the server went away")

    with pytest.raises(RuntimeError, match="the server went away"):
        relevance(pa.RecordBatchReader.from_batches(schema, batches()), "y")


@needs_maps
def test_no_file_is_left_open(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def opened():
        return [
            link
            for link in (
                os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.exists() or one.is_symlink()
            )
            if link.startswith(str(tmp_path))
        ]

    frame, seen = make_frame().drop(columns="weight"), []
    look = ArrowRows.__iter__
    monkeypatch.setattr(ArrowRows, "__iter__", lambda self: (seen.extend(opened()), look(self))[1])
    BURSelector("jmi", 2).fit(reader_of(frame), "y")
    assert seen != []
    assert opened() == leftovers(tmp_path) == []


def test_a_full_disk_names_the_folder_and_the_remedy(monkeypatch):
    class Full:
        def __init__(self, *_, **__):
            pass

        def write(self, data):
            raise OSError(28, "No space left on device")

        closed, seekable, tell, flush = False, lambda self: False, lambda self: 0, lambda self: None
        readable, writable, close = lambda self: False, lambda self: True, lambda self: None

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(OSError, match=r"cannot hold .* MB: No space left on device; name another one in TMPDIR"):
        relevance(reader_of(make_frame()), "y")


SLOW = """
import sys, time
import numpy as np, pyarrow as pa
from unirel import relevance

schema = pa.schema([("a", pa.float64()), ("y", pa.int64())])

def batches():
    while True:
        print("batch", flush=True)
        values = np.random.normal(size=100_000)
        yield pa.record_batch([pa.array(values), pa.array((values > 0).astype(int))], schema=schema)
        time.sleep(0.1)

{source}
relevance(X, "y")
"""
READER = "X = pa.RecordBatchReader.from_batches(schema, batches())"
LAZY = """
import polars as pl
def slow(part):
    print("batch", flush=True)
    time.sleep(0.1)
    return part.with_columns(a=pl.Series(np.random.normal(size=100_000)))

parts = [pl.LazyFrame({"y": np.arange(100_000) % 2 + number}) for number in range(600)]
X = pl.concat([part.map_batches(slow, schema={"y": pl.Int64, "a": pl.Float64}) for part in parts])
"""


def check_ctrl_c(source, scratch):
    environment = {**os.environ, "TMPDIR": str(scratch)}
    command = [sys.executable, "-c", SLOW.replace("{source}", source)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        for _ in range(3):
            assert process.stdout.readline() == "batch\n"
        assert leftovers(scratch) == []  # files without a name go with the process, however it ends
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert leftovers(scratch) == []


@pytest.mark.parametrize("source", [READER, pytest.param(LAZY, marks=needs_batches)], ids=["reader", "lazy"])
def test_ctrl_c_stops_the_stream_and_leaves_no_file(source, tmp_path):
    check_ctrl_c(source, tmp_path)
