"""How columns are opened, and that what is read in blocks equals what is read value by value."""

import math
import time
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unirel.data.encoding import Column
from unirel.data.kernels import code_levels
from unirel.data.readers import as_slice, open_all, take_columns, take_named, take_rows
from unirel.data.table import Table

Y = [0, 1, 0]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.fixture(params=list(FRAMES))
def frame(request):
    """Constructor of a data frame from a dictionary."""
    return FRAMES[request.param]


# The slow twin: one column, one value after the other.


def is_missing(value):
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def describe_slowly(name, values):
    """Column that a list of values should become, and its codes if it is discrete."""
    present = [value for value in values if not is_missing(value)]
    levels = sorted(set(present))
    if not present:
        kind, reason = "discrete", "no value present"
    elif all(isinstance(value, bool | np.bool_) for value in present):
        kind, reason = "discrete", "true or false"
    elif all(isinstance(value, str) for value in present):
        kind, reason = "discrete", "text"
        if len(levels) > 20 and len(levels) > len(present) / 2:
            reason = f"{len(levels)} of {len(present)} texts are distinct, like an identifier"
            return Column(name, "ignored", reason, 0, 0), None
    elif len(levels) > 10:
        kind, reason = "continuous", "more than 10 distinct values"
    else:
        kind = "discrete" if len(levels) <= 2 or len(present) >= 5 * len(levels) else "continuous"
        reason = f"{len(levels)} distinct value{'s' * (len(levels) != 1)} in {len(present)} rows"
    n_missing = len(values) - len(present)
    if kind == "continuous":
        return Column(name, kind, reason, 0, n_missing), None
    codes = [len(levels) if is_missing(value) else levels.index(value) for value in values]
    return Column(name, kind, reason, len(levels) + (n_missing > 0), n_missing), codes


def scale_slowly(values):
    """Standardised numbers, NaN where they are missing."""
    numbers = np.array([math.nan if is_missing(value) else float(value) for value in values])
    present = numbers[~np.isnan(numbers)]
    if present.min() == present.max():
        return np.where(np.isnan(numbers), numbers, 0.0)
    largest = np.abs(present).max()
    if largest < 1e-100:
        power = 2.0 ** math.frexp(largest)[1]
        numbers, present = numbers / power, present / power
    present = np.sort(present)
    middle = present[(len(present) - 1) // 2]
    centred = present - middle
    centred = centred - centred.sum() / len(present)
    deviation = np.sqrt((centred * centred).sum() / len(present))
    return (numbers - middle) / (deviation if deviation > 0 else 1)


def assert_as_slowly(table, columns):
    """Everything a table says of its features equals what the slow twin says."""
    scaled = {}
    for position, (name, values) in enumerate(columns.items()):
        about, codes = describe_slowly(name, values)
        assert table.columns[position] == about
        assert table.has_missing[position] == (about.n_missing > 0)
        assert table.n_levels[position] == about.n_levels
        assert table.discrete[position] == (about.kind == "discrete")
        if about.kind == "discrete":
            assert table.codes(position).tolist() == codes
            block, n_levels = table.code_block([position])
            assert block.dtype == np.uint8
            assert block.tolist() == [codes]
            assert n_levels.tolist() == [about.n_levels]
        elif about.kind == "continuous":
            numbers = [math.nan if is_missing(value) else float(value) for value in values]
            np.testing.assert_array_equal(table.continuous_block([position]), [numbers])
            scaled[position] = scale_slowly(values)
    far = 2.0
    while any(far <= 2 * np.nanmax(np.abs(numbers)) for numbers in scaled.values()):
        far *= 2
    assert table.far == far
    for position, about in enumerate(table.columns[: table.n_features]):
        if about.kind == "continuous":
            expected = np.where(np.isnan(scaled[position]), 4 * far, scaled[position])
            np.testing.assert_array_equal(table.values[position], expected.astype(table.values.dtype))
        else:
            codes = table.codes(position) if about.kind == "discrete" else 0
            np.testing.assert_array_equal(table.values[position], codes * 2 * far)


def target(n_samples):
    return np.arange(n_samples) % 2


@st.composite
def numbers(draw, n_samples):
    """A column of numbers or booleans with ties, and perhaps missing values."""
    dtype = np.dtype(draw(st.sampled_from([*WHOLE, np.float32, np.float64, bool])))
    if dtype.kind == "f":
        bound = draw(st.sampled_from([1e-150, 1.0, 1e6])) if dtype == np.float64 else 1e6
        elements = st.floats(-bound, bound, width=8 * dtype.itemsize)
        elements = elements if draw(st.booleans()) else elements | st.just(math.nan)
    else:
        elements = hnp.from_dtype(dtype)
    n_levels = draw(st.sampled_from([1, 2, 3, 9, 10, 11, 40]))
    pool = draw(st.lists(elements, min_size=1, max_size=n_levels))
    return np.array(draw(st.lists(st.sampled_from(pool), min_size=n_samples, max_size=n_samples)), dtype)


@st.composite
def texts(draw, n_samples):
    pool = draw(st.lists(st.text("abc", max_size=3), min_size=1, max_size=30)) + [None] * draw(st.booleans())
    return np.array(draw(st.lists(st.sampled_from(pool), min_size=n_samples, max_size=n_samples)), object)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from([2, 7, 55, 120, 300]), st.sampled_from(["C", "F"]))
def test_arrays_equal_the_slow_twin(data, n_samples, order):
    first = data.draw(numbers(n_samples))
    others = [data.draw(st.permutations(first.tolist())) for _ in range(data.draw(st.integers(0, 3)))]
    array = np.array(np.column_stack([first, *(np.array(other, first.dtype) for other in others)]), order=order)
    assert_as_slowly(Table.from_data(array, target(n_samples)), {f"x{j}": list(row) for j, row in enumerate(array.T)})


@pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")
@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([2, 30, 60, 150]), st.sampled_from(list(FRAMES)))
def test_frames_equal_the_slow_twin(data, n_samples, library):
    columns = {f"n{j}": data.draw(numbers(n_samples)) for j in range(data.draw(st.integers(1, 4)))}
    columns |= {f"t{j}": data.draw(texts(n_samples)) for j in range(data.draw(st.integers(0, 2)))}
    names = data.draw(st.permutations(list(columns)))
    columns = {name: columns[name] for name in names}
    assume(any(describe_slowly(name, list(values))[0].kind != "ignored" for name, values in columns.items()))
    made = {
        name: values if values.dtype != object else pd.Series(values, dtype=object) for name, values in columns.items()
    }
    if library != "pandas":
        made = {name: values if values.dtype != object else values.tolist() for name, values in columns.items()}
    table = Table.from_data(FRAMES[library](made), target(n_samples))
    assert table.names == tuple(names)
    assert_as_slowly(table, {name: list(values) for name, values in columns.items()})


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([40, 200]), st.sampled_from(["Int64", "Float64", "boolean", "category"]))
def test_nullable_columns_equal_the_slow_twin(data, n_samples, dtype):
    pools = {"Int64": [-(2**53), 0, 1, 2, 5], "Float64": [0.5, -0.0, 0.0, 7.5], "boolean": [True, False]}
    pool = [None, *pools.get(dtype, ["u", "v", "ü"])]
    values = data.draw(st.lists(st.sampled_from(pool), min_size=n_samples, max_size=n_samples))
    table = Table.from_data(
        pd.DataFrame({"a": pd.Series(values, dtype=dtype), "b": range(n_samples)}), target(n_samples)
    )
    about, codes = describe_slowly("a", values)
    if dtype == "category" and about.n_missing < n_samples:
        about = Column("a", "discrete", "categorical", about.n_levels, about.n_missing)
    assert table.columns[0] == about
    assert codes is None or table.codes(0).tolist() == codes


@pytest.mark.parametrize("dtype", [*WHOLE, np.float16, np.float32, np.float64, np.longdouble, ">f8", ">i4", bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_of_numbers(dtype, order):
    levels = np.random.default_rng(0).integers(0, 2 if dtype is bool else 7, (90, 70))
    table = Table.from_data(np.array(levels, dtype, order=order), target(90))
    codes, n_levels = table.code_block(range(70))
    np.testing.assert_array_equal(codes, levels.T)
    np.testing.assert_array_equal(n_levels, levels.max(axis=0) + 1)


def test_one_kernel_does_for_all_types(monkeypatch):
    monkeypatch.setattr("unirel.data.encoding.code_levels", code_levels.compiled)
    for dtype in WHOLE:
        Table.from_data(np.eye(20, dtype=dtype), target(20))
    read_only = np.asfortranarray(np.eye(20))
    read_only.flags.writeable = False
    Table.from_data(read_only, target(20))
    assert len(code_levels.compiled.signatures) == 1


def test_levels_that_differ_in_the_last_bit():
    large = 2**62
    whole = np.array([large, large + 1, large + 2] * 10)
    floats = np.array([1.0, np.nextafter(1.0, 2), -1.0] * 10)
    top = np.array([2**64 - 1, 0, 2**63] * 10, np.uint64)
    for values in (whole, floats, top):
        codes = Table.from_data(values, target(30)).codes(0)
        np.testing.assert_array_equal(codes, np.unique(values, return_inverse=True)[1])


def test_zeros_of_both_signs_and_all_forms_of_nan_are_one_level():
    patterns = np.array([0x7FF8 << 48, (0x7FF8 << 48) + 5, 0xFFF8 << 48, 0x7FF0_0000_0000_0001], np.uint64)
    values = np.r_[np.tile(patterns.view(np.float64), 300), np.tile([0.0, -0.0, 1.0, -1.0], 10)]
    values[400:700] = (np.arange(300, dtype=np.uint64) + np.uint64(0x7FF9 << 48)).view(np.float64)
    table = Table.from_data(values, target(1240))
    assert table.columns[0] == Column("x0", "discrete", "3 distinct values in 40 rows", 4, 1200)
    assert np.bincount(table.codes(0)).tolist() == [10, 20, 10, 1200]


@pytest.mark.parametrize("n_levels", [255, 256, 257, 70_000])
@pytest.mark.parametrize("missing", [False, True])
def test_many_levels_that_are_asked_for(n_levels, missing):
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(n_levels) * 0.5, 2))
    if missing:
        values[values == 1] = np.nan
    table = Table.from_data(np.column_stack([values, values > 3]), target(len(values)), discrete_features=True)
    expected = np.unique(values, return_inverse=True, equal_nan=True)[1]
    np.testing.assert_array_equal(table.codes(0), expected)
    assert table.columns[0].n_levels == n_levels
    codes, levels = table.code_block([1, 0, 1])
    assert codes.dtype == (np.uint8 if n_levels <= 256 else np.uint16 if n_levels <= 2**16 else np.int32)
    assert levels.tolist() == [2, n_levels, 2]
    np.testing.assert_array_equal(codes, [values > 3, expected, values > 3])


def test_blocks_in_any_order(frame):
    rng = np.random.default_rng(0)
    columns = {f"d{j}": rng.integers(0, 3, 60) for j in range(5)} | {f"c{j}": rng.normal(size=60) for j in range(5)}
    table = Table.from_data(frame(columns), target(60))
    for chosen in ([0, 1, 2], [4, 2, 0], [1, 3, 2, 4], [0, 0, 2], [3], []):
        codes, n_levels = table.code_block(chosen)
        np.testing.assert_array_equal(codes.reshape(-1, 60), np.reshape([columns[f"d{j}"] for j in chosen], (-1, 60)))
        assert n_levels.tolist() == [3] * len(chosen)
        numbers = table.continuous_block([5 + j for j in chosen])
        np.testing.assert_array_equal(numbers, np.reshape([columns[f"c{j}"] for j in chosen], (-1, 60)))


# Opening


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
    data = columns({"a": [1, None, 3] * 10, "b": [large, 0, large - 1] * 10, "c": list(range(30))})
    table = Table.from_data(data, target(30))
    assert table.codes(0).tolist() == [0, 2, 1] * 10
    assert table.codes(1).tolist() == [2, 0, 1] * 10
    assert table.continuous_block([2]).tolist() == [list(range(30))]


@pytest.mark.parametrize("make", [np.column_stack, lambda columns: pd.DataFrame(dict(zip("ab", columns, strict=True)))])
def test_infinity_is_refused_unless_it_is_left_out(make):
    data = make([[1.0, np.nan, 3.0], [1.0, np.inf, 3.0]])
    name = open_all(data, None, Y)[0].names[1]
    assert Table.from_data(data, Y, discrete_features={1: None}).columns[0].n_missing == 1
    for discrete in ("auto", False, True):
        with pytest.raises(ValueError, match=f"column '{name}' contains infinity"):
            Table.from_data(data, Y, discrete_features=discrete)


def test_the_first_column_refused_is_named():
    data = pd.DataFrame({"a": [1.0, 2.0, np.inf], "b": [1, "u", 2], "c": [np.inf, 0.0, 1.0]})
    with pytest.raises(ValueError, match="column 'a' contains infinity"):
        Table.from_data(data, Y)
    with pytest.raises(TypeError, match="column 'b' mixes values"):
        Table.from_data(data[["b", "c", "a"]], Y)


@pytest.mark.parametrize(
    ("positions", "stretch"),
    [([2, 3, 4], slice(2, 5)), ([1], slice(1, 2)), ([], None), ([0, 2, 1, 3], None), ([0, 0], None)],
)
def test_as_slice(positions, stretch):
    found = as_slice(np.array(positions, np.intp))
    if stretch is None:
        np.testing.assert_array_equal(found, positions)
    else:
        assert found == stretch


def test_taking_keeps_the_library(frame):
    data = frame({"a": [1, 2, 3], "b": [4, 5, 6]})
    assert type(take_columns(data, np.array([1]))) is type(data)
    assert type(take_rows(data, np.array([2, 0]))) is type(data)


@pytest.mark.parametrize("columns", [pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns, dtype="Int64")])
@pytest.mark.parametrize("missing", [False, True])
def test_whole_numbers_that_floats_round_together_are_refused(columns, missing):
    """Those that stay apart are fine, such as times in nanoseconds."""
    close, far = [2**60 + i for i in range(30)], [2**60 + 1000 * i + 1 for i in range(30)]
    if missing:
        close[3] = far[3] = None
    with pytest.raises(ValueError, match=r"column 'a' holds whole numbers beyond 2\*\*53 .*; subtract"):
        Table.from_data(columns({"a": close}), target(30))
    assert Table.from_data(columns({"a": far}), target(30)).columns[0].kind == "continuous"


def test_categories_of_several_types_stay_apart():
    values = pd.Series(pd.Categorical([1, "1", 2, "a", None] * 6))
    table = Table.from_data(values, target(30))
    assert table.codes(0)[:5].tolist() == [0, 1, 2, 3, 4]
    assert Table.from_data(np.arange(24.0), values.dropna().reset_index(drop=True)).classes.tolist() == [1, "1", 2, "a"]


def test_decimals_that_are_no_numbers_are_missing():
    values = [Decimal("sNaN"), Decimal("NaN"), Decimal("1.5"), Decimal(2)] * 10
    assert Table.from_data(pd.Series(values, dtype=object), target(40)).columns[0].n_missing == 20


def test_lists_that_mix_numbers_and_texts_keep_their_types():
    taken = take_rows([[1, "a"], [2.5, "b"], [3, "c"]], np.array([2, 0]))
    assert taken.tolist() == [[3, "c"], [1, "a"]]
    assert take_rows(["u", 1], np.array([1])).tolist() == [1]


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_wide_tables_take_time_in_proportion(library):
    """With a look at all names for each of them it would take minutes."""
    names = [f"a rather long name of column {number:06}" for number in range(40_000)]
    values = np.random.default_rng(0).normal(size=(12, len(names)))

    def make(names):
        return pd.DataFrame(values, columns=names) if library == "pandas" else pa.table(list(values.T), names=names)

    start = time.perf_counter()
    data = make(names)
    table = Table.from_data(data, target(12), discrete_features=names[::2])
    assert table.positions(names[::-1]) == list(range(len(names)))[::-1]
    assert len(getattr(take_named(data, names[::2]), "columns", ())) == len(names) // 2
    with pytest.raises(ValueError, match="there is no column 'nothing'; the columns are"):
        table.positions(["nothing"])
    with pytest.raises(ValueError, match="X has duplicate column names"):
        Table.from_data(make([*names[:-1], names[0]]), target(12))
    assert time.perf_counter() - start < 20


# What reading costs


def test_counting_makes_no_matrix_of_floats():
    levels = np.random.default_rng(0).integers(0, 8, (20_000, 200))
    table = Table.from_data(levels[:50], target(50))  # compile
    tracemalloc.start()
    try:
        table = Table.from_data(levels, target(20_000))
        codes, _ = table.code_block(table.features)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert codes.base is not None, "all columns in order need no copy"
    assert peak < 2 * codes.nbytes + 2**22
