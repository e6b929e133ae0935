"""Fixtures every test may use."""

import gc
import os
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("UNIREL_HYPOTHESIS", "quick"))

# What a shell starts in the background ignores Ctrl-C, and hands that down. Tests send it all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Each worker has a core: threads of linear algebra beside them would only wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


# Each of two workers begins with one half of the tests: one with those that compile nearly all kernels, the other with
# those that need few, so that they seldom compile the same. The longest are the very first.
FIRST = ("test_benchmarks.py", "estimation", "search", "inference", "fuzz", "criteria")


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent

    def place(item):
        folder = item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""
        return FIRST.index(folder) if folder in FIRST else len(FIRST)

    items.sort(key=place)


def pytest_collection_finish():
    """Modules and tests stay to the end: garbage that tests look for is found faster without them."""
    gc.collect()
    gc.freeze()


def _numpy_frame(columns):
    arrays = [np.asarray(column) for column in columns.values()]
    if all(array.dtype.kind in "buif" for array in arrays):
        return np.column_stack(arrays)
    matrix = np.empty((len(arrays[0]), len(arrays)), dtype=object)
    for j, column in enumerate(columns.values()):
        matrix[:, j] = list(column)
    return matrix


def _pandas_frame(columns):
    import pandas as pd

    return pd.DataFrame(columns)


def _polars_frame(columns):
    import polars as pl

    return pl.DataFrame(columns)


def _pyarrow_frame(columns):
    import pyarrow as pa

    return pa.table(columns)


FRAMES = {"numpy": _numpy_frame, "pandas": _pandas_frame, "polars": _polars_frame, "pyarrow": _pyarrow_frame}


@pytest.fixture(scope="session")
def data_home():
    """Folder with the paper's datasets, or a reason to skip."""
    for folder in (os.environ.get("UNIREL_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        if folder and (Path(folder) / "sonar.parquet").is_file():
            return Path(folder)
    pytest.skip("no sonar.parquet in $UNIREL_DATA or ../shared/data")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=FRAMES)
def frame(request):
    """Return a function that makes a table of one library from a dict of columns."""
    pytest.importorskip(request.param)
    return FRAMES[request.param]
