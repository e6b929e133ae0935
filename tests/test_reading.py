"""How columns are opened together and read one by one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unirel.reading import open_all

Y = [0, 1, 0]


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def frame(request):
    """Constructor of a data frame from a dictionary."""
    return request.param


def read_all(data):
    source = open_all(data, None, Y)[0]
    return {name: source.read(position) for position, name in enumerate(source.names)}


def test_columns_keep_order_and_type(frame):
    columns = {
        "a": np.array([1, 2, 3], dtype=np.int8),
        "b": ["u", "v", "w"],
        "c": np.array([0.5, 1.5, 2.5]),
        "d": np.array([4, 5, 6], dtype=np.int8),
        "e": np.array([True, False, True]),
        "f": np.array([0.5, 1.5, 2.5], dtype=np.float32),
    }
    raws = read_all(frame(columns))
    assert list(raws) == list(columns)
    assert [raw.family for raw in raws.values()] == ["number", "text", "number", "number", "boolean", "number"]
    for name, raw in raws.items():
        assert raw.values.tolist() == list(columns[name])
        assert name == "b" or raw.values.dtype == columns[name].dtype
        assert not raw.n_missing


@pytest.mark.parametrize("columns", [pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns, dtype="Int64")])
def test_missing_values_leave_other_integers_whole(columns):
    large = 2**62 + 1
    raws = read_all(columns({"a": [1, None, 3], "b": [large, 0, 1]}))
    assert raws["a"].missing.tolist() == [False, True, False]
    assert raws["b"].values.tolist() == [large, 0, 1]


@pytest.mark.parametrize("make", [np.column_stack, lambda columns: pd.DataFrame(dict(zip("ab", columns, strict=True)))])
def test_infinity_is_refused_when_it_is_read(make):
    source = open_all(make([[1.0, np.nan, 3.0], [1.0, np.inf, 3.0]]), None, Y)[0]
    assert source.read(0).n_missing == 1
    with pytest.raises(ValueError, match=f"column '{source.names[1]}' contains infinity"):
        source.read(1)


@pytest.mark.parametrize("n_missing", [0, 5, 300])
def test_more_levels_than(n_missing):
    values = np.r_[np.zeros(400), np.arange(12.0)]
    values[:n_missing] = np.nan
    together = open_all(np.column_stack([values, values]), None, np.arange(412))[0].read(0)
    alone = open_all(pd.Series(values), None, np.arange(412))[0].read(0)
    for raw in (together, alone):
        assert raw.has_more_levels_than(11)
        assert not raw.has_more_levels_than(12)
