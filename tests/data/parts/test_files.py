"""Datasets that are read in parts: bounded memory, scratch files that go away, and faults that name their file."""

import gc
import mmap
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector, redundancy_analysis, relevance
from unirel.data.arrow import ArrowRows
from unirel.data.chunks import Coded, Stored
from unirel.data.encoding import empty_matrices
from unirel.estimation.binned import Binned

pytest.importorskip("datasketches")
pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")


needs_maps = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell what is mapped")


def write(folder, n_files=3, n_rows=50, **columns):
    rng = np.random.default_rng(0)
    for number in range(n_files):
        frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"]).assign(**columns)
        frame["y"] = (frame["a"] + rng.normal(size=n_rows) > 0).map({True: "yes", False: "no"})
        frame.to_parquet(folder / f"{number}.parquet", row_group_size=20)
    return ds.dataset(folder)


def leftovers(folder):
    gc.collect()
    return list(folder.iterdir())


def mapped(folder, process="self"):
    """Files of a folder, with a name or without, that a process has in its memory."""
    gc.collect()
    return [line for line in Path(f"/proc/{process}/maps").read_text().splitlines() if f"{folder}/" in line]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@needs_maps
def test_scratch_files_are_used_and_deleted(data, scratch, monkeypatch):
    dataset, seen = write(data), []
    real = Stored.release
    monkeypatch.setattr(Stored, "release", lambda self: (seen.extend(mapped(scratch)), real(self))[1])
    BURSelector("jmi", 2, beta=0).fit(dataset, "y")
    assert len(seen) > 0
    relevance(dataset, "y")
    assert mapped(scratch) == leftovers(scratch) == []


def test_a_full_disk_names_the_folder_and_the_remedy(data, scratch, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(
        OSError, match=r"scratch', cannot hold .* MB: No space left on device; name another one in TMPD"
    ):
        BURSelector("jmi", 2, beta=0).fit(write(data), "y")


def test_arrays_on_disk_keep_what_is_written_when_memory_is_given_back(scratch, rng):
    values = rng.integers(0, 256, (3, 5000)).astype(np.uint8)
    stored = Stored(np.ones(3), [values, np.empty((0, 7), np.uint16)], None)
    array, empty = stored.matrices
    assert isinstance(array.base, mmap.mmap)
    stored.release()
    np.testing.assert_array_equal(array, values)
    assert empty.shape == (0, 7)
    assert empty.dtype == np.uint16


@pytest.mark.parametrize("weighted", [False, True])
def test_a_copy_of_codes_for_another_process_is_on_disk_there(weighted, scratch, rng):
    n_levels = np.array([3, 300, 70_000, 2])
    matrices = empty_matrices(n_levels, 500, np.empty)
    for matrix in matrices:
        matrix[:] = rng.integers(0, 200, matrix.shape)
    codes = Coded(n_levels, matrices, rng.random(500) if weighted else None)
    copy = pickle.loads(pickle.dumps(codes))
    assert [matrix.dtype for matrix in copy.matrices] == [np.uint8, np.uint16, np.uint32]
    for ours, theirs in zip([*copy.matrices, copy.weights], [*codes.matrices, codes.weights], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert len(pickle.dumps(codes)) > sum(matrix.nbytes for matrix in codes.matrices) > sys.getsizeof(codes)


SLOW = """
import sys, time
import pyarrow.dataset as ds
from unirel import BURSelector
from unirel.criteria import JMI

class Slow(JMI, name="slow"):
    def term(self, info, candidates, selected):
        print("step", flush=True)
        time.sleep(5)
        return super().term(info, candidates, selected)

selector = BURSelector(Slow(), 3, beta=0)
try:
    selector.fit(ds.dataset(sys.argv[1]), "y")
except KeyboardInterrupt:
    print("kept", len(selector.order_), flush=True)
"""


@needs_maps
@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_was_selected_and_no_end_leaves_a_file(ending, data, scratch):
    write(data)
    command = [sys.executable, "-c", SLOW, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "step\n"
        assert mapped(scratch, process.pid) != []
        assert leftovers(scratch) == []  # files without a name go with the process, however it ends
        process.send_signal(ending)
        rest, _ = process.communicate(timeout=60)
    assert rest.splitlines() == (["kept 1"] if ending is signal.SIGINT else [])
    assert leftovers(scratch) == []


def test_a_file_that_cannot_be_read_is_named(data):
    dataset = write(data)
    broken = data / "1.parquet"
    content = bytearray(broken.read_bytes())
    content[4:400] = b"x" * 396
    broken.write_bytes(content)
    with pytest.raises(OSError, match=r"1\.parquet' cannot be read: "):
        relevance(dataset, "y")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="b"), r"the schema changes: '.*2\.parquet' has no column 'b'"),
        (lambda frame: frame.astype({"b": str}), r"the schema changes: column 'b' of '.*2\.parquet' is .*string"),
    ],
    ids=["missing", "type"],
)
def test_a_changed_schema_is_an_error_of_one_line(data, change, message):
    write(data)
    frame = pd.read_parquet(data / "2.parquet")
    change(frame).to_parquet(data / "2.parquet")
    with pytest.raises(ValueError, match=message) as caught:
        relevance(ds.dataset(data), "y")
    assert "\n" not in str(caught.value)


def test_a_level_that_only_one_file_has_is_known(data):
    write(data, kind="usual")
    frame = pd.read_parquet(data / "2.parquet").assign(kind="rare")
    frame.to_parquet(data / "2.parquet")
    selector = BURSelector("mim", 4, beta=0).fit(ds.dataset(data), "y")
    assert next(column for column in selector.columns_ if column.name == "kind").n_levels == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mi_estimator": "knn"}, "X is in parts, on disk or on a cluster"),
        ({"unique_relevance": "ksg"}, "X is in parts, on disk or on a cluster"),
        ({"mi_estimator": Binned(strategy="mdl")}, "strategy='mdl' looks at all values in order"),
        ({"discrete_features": {"nothing": True}}, "there is no column 'nothing'"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_what_parts_cannot_do_is_said(data, options, message):
    gaps = [np.nan] * 10 + [1.5] * 40
    with pytest.raises(ValueError, match=message):
        BURSelector(**options).fit(write(data, d=gaps), "y")


def test_a_filtered_dataset(data):
    dataset = write(data)
    frame = dataset.to_table().to_pandas().query("a > -1")
    found = BURSelector("jmi", 3, beta=0).fit(dataset.filter(ds.field("a") > -1), "y")
    expected = BURSelector("jmi", 3, beta=0).fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.selection_scores_, expected.selection_scores_)
    with pytest.raises(ValueError, match="X has 0 sample"):
        relevance(dataset.filter(ds.field("a") > 100), "y")


def test_small_row_groups_and_files_are_read_together(data):
    rows = ArrowRows(write(data, n_files=4), "y")
    assert [len(part.y) for part in rows] == [200]


@pytest.mark.parametrize("n_rows", [149, 151])
def test_a_target_in_memory_has_as_many_rows(data, n_rows):
    with pytest.raises(ValueError, match=f"150 rows.* {n_rows}|of X and {n_rows}"):
        relevance(write(data).filter(ds.field("a") > -100), np.arange(n_rows) % 2)


def test_columns_of_texts_that_are_numbers(data):
    dataset = write(data, d=[f"{number / 4}" for number in range(50)])
    frame = dataset.to_table().to_pandas()
    found = relevance(dataset, "y", discrete_features=[], mi_estimator="binned")
    expected = relevance(frame.drop(columns="y"), frame["y"], discrete_features=[], mi_estimator="binned")
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="column 'e' is to be continuous, but holds what is no number"):
        relevance(write(data, e="u"), "y", discrete_features=["a"])


def test_auto_takes_weights_in_parts(data):
    dataset = write(data, w=[1.0, 3.0] * 25)
    selector = BURSelector(n_features_to_select="auto").fit(dataset, "y", sample_weight="w")
    frame = dataset.to_table().to_pandas()
    weights = frame.pop("w")
    expected = BURSelector(n_features_to_select="auto").fit(frame.drop(columns="y"), frame["y"], weights)
    assert len(selector.order_) > 0
    np.testing.assert_array_equal(selector.order_, expected.order_)


def test_what_takes_rows_in_memory_refuses_parts(data):
    with pytest.raises(TypeError, match=r"X is read in parts .*, but this takes rows in memory; pass a sample"):
        redundancy_analysis(write(data), np.arange(150) % 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [("z", "there is no column 'z'"), ("one", "y has one class only"), ("d", "y has 30 missing values")],
)
def test_a_target_that_cannot_be_used_is_refused(data, y, message):
    with pytest.raises(ValueError, match=message):
        relevance(write(data, one=1, d=[np.nan] * 10 + [1.5] * 40), y)
