"""What tables are read as, and what is refused."""

import datetime
import decimal
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unirel import BURSelector, conditional_relevance, redundancy_analysis
from unirel.data.encoding import Column
from unirel.data.table import Table
from unirel.errors import UnirelWarning

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=list(FRAMES))
def frame(request):
    """Constructor of a data frame from a dictionary."""
    return FRAMES[request.param]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.fixture
def y():
    return np.arange(40) % 2


def kinds_of(table):
    return [column.kind for column in table.columns]


def difference(table, column):
    """Differences within one column as estimators see them in the maximum norm."""
    gaps = np.abs(table.values[column][:, None] - table.values[column])
    return np.where(gaps < table.far, gaps, table.far)


class TestReading:
    def test_array(self, X, y):
        table = Table.from_data(X, y)
        assert table.names == ("x0", "x1", "x2")
        assert table.values.shape == (4, 40)
        assert table.values.flags.c_contiguous
        assert table.n_samples == 40
        assert table.n_features == table.target == 3
        assert table.features.tolist() == [0, 1, 2]
        assert table.given.tolist() == []
        assert table.unit == 1.0
        middle = np.sort(X, axis=0)[(len(X) - 1) // 2]
        np.testing.assert_allclose(table.values[:3], ((X - middle) / X.std(0)).T, rtol=1e-12)
        np.testing.assert_array_equal(table.codes(table.target), y)
        np.testing.assert_array_equal(table.classes, [0, 1])
        assert table.columns[3] == Column("y", "discrete", "2 distinct values in 40 rows", 2, 0)

    def test_frames_equal_arrays(self, frame, X, y):
        expected = Table.from_data(X, y)
        table = Table.from_data(frame({name: X[:, j] for j, name in enumerate("abc")}), y)
        assert table.names == ("a", "b", "c")
        np.testing.assert_array_equal(table.values, expected.values)

    def test_all_families(self, frame):
        columns = {
            "whole": list(range(30)),
            "few": [1, 2, 3] * 10,
            "flag": [True, False] * 15,
            "text": ["b", "a", "c"] * 10,
        }
        table = Table.from_data(frame(columns), ["no", "yes"] * 15)
        assert kinds_of(table) == ["continuous", "discrete", "discrete", "discrete", "discrete"]
        assert table.discrete.tolist() == [False, True, True, True, True]
        assert [column.n_levels for column in table.columns] == [0, 3, 2, 3, 2]
        assert table.codes(3).tolist() == [1, 0, 2] * 10
        assert table.codes(3).dtype == np.int32
        assert table.classes.tolist() == ["no", "yes"]
        assert table.columns[3].reason == "text"

    @pytest.mark.parametrize("values", [[1.0, None, 3.0, float("nan"), 2.5], [1, None, 3, None, 2]])
    def test_missing_numbers(self, frame, values):
        table = Table.from_data(frame({"a": values}), [0, 1, 0, 1, 0], discrete_features=False)
        assert table.columns[0].n_missing == 2
        assert table.has_missing.tolist() == [True, False]
        np.testing.assert_array_equal(table.values[0, [1, 3]], 4 * table.far)

    @pytest.mark.parametrize("values", [["u", None, "v", "u"], [True, None, False, True]])
    def test_missing_levels(self, frame, values):
        table = Table.from_data(frame({"a": values}), [0, 1, 0, 1])
        assert table.columns[0].n_levels == 3
        assert table.columns[0].n_missing == 1
        assert table.codes(0)[1] == 2

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(pd.Categorical(["v", None, "u", "v"])),
            pd.Series(pd.Categorical(["v", None, "u", "v"], categories=["v", "u"], ordered=True)),
            pl.Series(["v", None, "u", "v"], dtype=pl.Categorical),
            pl.Series(["v", None, "u", "v"], dtype=pl.Enum(["v", "u"])),
            pa.chunked_array([pa.array(["v", None, "u", "v"]).dictionary_encode()]),
            pd.Series(["v", None, "u", "v"], dtype="string[pyarrow]"),
            pd.Series(["v", None, "u", "v"], dtype=object),
            pd.Series(pd.Categorical([9, None, 3, 9])),
            pa.chunked_array([pa.array([9, None, 3, 9]).dictionary_encode()]),
            pd.Series(pd.cut([9, np.nan, 3, 9], [0, 5, 10])),
        ],
        ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', 'dictionary')}"[:30],
    )
    def test_categories(self, column):
        table = Table.from_data(column, [0, 1, 1, 0])
        assert table.codes(0).tolist() == [1, 2, 0, 1]
        assert table.columns[0].n_levels == 3

    def test_category_of_many_levels_is_kept(self):
        names = pd.Series([f"name {i}" for i in range(100)], dtype="category")
        assert Table.from_data(names, np.arange(100) % 2).columns[0].n_levels == 100

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series([1, None, 3, 4, 5.5], dtype=object),
            pd.Series([1, pd.NA, 3, 4, 5.5], dtype=object),
            pd.Series([1, pd.NA, 3, 4, 5.5], dtype="Float64"),
            pd.Series([decimal.Decimal("1"), None, 3, 4, decimal.Decimal("5.5")], dtype=object),
            pl.Series([1.0, None, 3.0, 4.0, 5.5]).cast(pl.Decimal(10, 2)),
            np.array([1, None, 3, 4, 5.5], dtype=object),
            np.ma.masked_equal([1, -9, 3, 4, 5.5], -9),
            [1, None, 3, 4, 5.5],
        ],
        ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', 'list')}"[:30],
    )
    def test_numbers_in_disguise(self, column):
        table = Table.from_data(column, [0, 1, 1, 0, 0]).scaled(None)
        assert table.columns[0].kind == "continuous"
        assert table.values[0].tolist() == [1, 4 * table.far, 3, 4, 5.5]

    @pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no wide integers")
    def test_wide_integers(self):
        assert kinds_of(Table.from_data(pl.Series(range(30), dtype=pl.Int128), [0, 1] * 15))[0] == "continuous"

    def test_one_column(self, X, y, frame):
        named = frame({"a": X[:, 0]})["a"]
        for column in (X[:, 0], X[:, :1], X[:, 0].tolist(), named):
            np.testing.assert_array_equal(Table.from_data(column, y).values, Table.from_data(X[:, :1], y).values)

    def test_series_name(self, X, y):
        assert Table.from_data(pd.Series(X[:, 0], name="age"), pd.Series(y, name="sick")).columns[0].name == "age"
        assert Table.from_data(X, pd.Series(y, name="sick")).columns[-1].name == "sick"

    def test_target_forms(self, X, y, frame):
        expected = Table.from_data(X, y)
        for target in (y.tolist(), y[:, None], frame({"t": y}), frame({"t": y})["t"], y.astype(object)):
            table = Table.from_data(X, target)
            np.testing.assert_array_equal(table.values, expected.values)
            assert table.classes.dtype.kind == "i"

    def test_mixed_rows(self):
        table = Table.from_data([[1, "a"], [2, "b"], [3, "a"], [4, "b"]], [0, 1, 0, 1])
        assert kinds_of(table) == ["continuous", "discrete", "discrete"]

    def test_labels_that_are_not_texts(self, X, y):
        assert Table.from_data(pd.DataFrame(X, columns=[3, 4, ("a", 1)]), y).names == ("3", "4", "('a', 1)")

    def test_conditional_on(self, X, y):
        table = Table.from_data(X[:, :2], y, conditional_on=np.column_stack([X[:, 2], y]))
        assert [column.name for column in table.columns] == ["x0", "x1", "z0", "z1", "y"]
        assert table.features.tolist() == [0, 1]
        assert table.given.tolist() == [2, 3]
        assert table.target == 4
        assert table.names == ("x0", "x1")

    def test_input_is_not_changed(self, X, y):
        X[3, 1] = np.nan
        before = X.copy()
        Table.from_data(X, y)
        np.testing.assert_array_equal(X, before)


class TestKinds:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (np.arange(50) % 10, "discrete"),
            (np.arange(49) % 10, "continuous"),
            (np.arange(110) % 11, "continuous"),
            (np.arange(15) % 3, "discrete"),
            (np.arange(14) % 3, "continuous"),
            (np.array([0, 1]), "discrete"),
            (np.zeros(5), "discrete"),
            (np.full(5, np.nan), "discrete"),
            (np.r_[np.zeros(1000), np.arange(12)], "continuous"),
            (np.r_[np.zeros(1000), np.arange(6)], "discrete"),
        ],
    )
    @pytest.mark.parametrize("unit", [1, 0.1, 1e-3, 1e-200, 1e6])
    def test_feature(self, values, kind, unit):
        target = np.arange(len(values)) % 2
        table = Table.from_data(values * unit, target)
        assert table.columns[0].kind == kind
        assert table.columns[0].reason == Table.from_data(values, target).columns[0].reason
        np.testing.assert_allclose(table.values, Table.from_data(values, target).values, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize(
        ("target", "kind"),
        [
            (np.arange(64) % 32, "discrete"),
            (np.arange(63) % 32, "continuous"),
            (np.arange(99) % 33, "continuous"),
            (np.array([0.5, 1.5, 0.5]), "discrete"),
            (np.array([f"name {i}" for i in range(50)]), "discrete"),
            (np.arange(30) % 2 == 0, "discrete"),
        ],
    )
    def test_target(self, target, kind, rng):
        table = Table.from_data(rng.normal(size=len(target)), target)
        assert table.columns[-1].kind == kind
        assert (table.classes is None) == (kind == "continuous")

    def test_target_type(self, X, rng):
        assert Table.from_data(X, np.arange(40) % 4, target_type="continuous").classes is None
        assert Table.from_data(X, rng.normal(size=40), target_type="discrete").classes.size == 40
        assert Table.from_data(X, np.arange(40) % 2 == 0, target_type="continuous").columns[-1].kind == "continuous"

    def test_continuous_target_is_scaled(self, X):
        target = np.arange(40) * 3.0 + 100
        np.testing.assert_allclose(Table.from_data(X, target).values[-1].std(), 1)

    def test_a_mapping(self, X, y):
        table = Table.from_data(X, y, discrete_features={"x0": True, -1: None})
        assert kinds_of(table) == ["discrete", "continuous", "ignored", "discrete"]
        assert table.columns[0] == Column("x0", "discrete", "given by discrete_features", 40, 0)
        assert table.features.tolist() == [0, 1]
        assert not table.values[2].any()
        few = np.column_stack([X[:, 0], y, y])
        assert kinds_of(Table.from_data(few, y, discrete_features={1: False})) == [
            "continuous", "continuous", "discrete", "discrete"
        ]  # fmt: skip

    @pytest.mark.parametrize("discrete", [[1], ["b"], [False, True, False], np.array([1]), np.array([0, 1, 0], bool)])
    def test_a_list_or_mask_names_the_discrete_ones_and_no_others(self, discrete, X, y):
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": y})
        table = Table.from_data(frame, y, discrete_features=discrete)
        assert kinds_of(table) == ["continuous", "discrete", "continuous", "discrete"]
        assert kinds_of(Table.from_data(frame, y, discrete_features=[]))[:3] == ["continuous"] * 3

    @pytest.mark.parametrize("dtype", [object, "category", "str"])
    def test_texts_that_are_numbers_can_be_continuous(self, dtype, y):
        texts = pd.Series([None, *(f"{number / 2}" for number in range(39))]).astype(dtype)
        table = Table.from_data(pd.DataFrame({"a": texts, "b": ["u", "v"] * 20}), y, discrete_features=["b"])
        assert kinds_of(table)[0] == "continuous"
        np.testing.assert_array_equal(table.continuous_block([0]), [[np.nan, *(np.arange(39) / 2)]])
        with pytest.raises(ValueError, match="column 'b' is to be continuous, but holds what is no number"):
            Table.from_data(pd.DataFrame({"a": y, "b": ["u", "v"] * 20}), y, discrete_features=["a"])

    def test_all_or_none(self, X, y):
        assert kinds_of(Table.from_data(y, y, discrete_features=False)) == ["continuous", "discrete"]
        assert kinds_of(Table.from_data(X, y, conditional_on=X, discrete_features=True)) == ["discrete"] * 7

    def test_kinds_of_conditions(self, X, y):
        table = Table.from_data(X, y, conditional_on=X, discrete_features={"z1": True, "x0": True})
        assert kinds_of(table) == [
            "discrete",
            "continuous",
            "continuous",
            "continuous",
            "discrete",
            "continuous",
            "discrete",
        ]

    def test_ignored_column_may_hold_anything(self, frame, y):
        data = frame({"when": [datetime.date(2020, 1, 1)] * 40, "a": np.arange(40.0)})
        assert kinds_of(Table.from_data(data, y, discrete_features={"when": None}))[0] == "ignored"

    def test_identifier(self, frame, y):
        data = frame({"id": [f"p{i}" for i in range(40)], "code": [f"c{i}" for i in range(40)], "a": np.arange(40.0)})
        with pytest.warns(UnirelWarning, match=r"ignored 'id' .*'code' .*discrete_features=\{'id': True\}") as caught:
            table = Table.from_data(data, y)
        assert len(caught) == 1
        assert kinds_of(table)[:2] == ["ignored", "ignored"]
        assert table.columns[0].reason == "40 of 40 texts are distinct, like an identifier"
        assert table.n_levels.tolist() == [0, 0, 0, 2]
        assert not table.values[0].any()
        with pytest.warns(UnirelWarning, match="ignored 'code'"):
            assert Table.from_data(data, y, discrete_features={"id": True}).columns[0].n_levels == 40

    @pytest.mark.parametrize("texts", [list("abcdab"), list("abcdef"), [f"{i % 20}" for i in range(60)]])
    def test_no_identifier(self, texts):
        assert Table.from_data(pd.Series(texts), np.arange(len(texts)) % 2).columns[0].kind == "discrete"

    @settings(max_examples=50, deadline=None)
    @given(
        hnp.arrays(float, st.integers(5, 300), elements=st.sampled_from([0.0, 1.0, 2.5, 4.0, 1e3, -7.0, np.nan])),
        st.randoms(use_true_random=False),
    )
    def test_row_order_does_not_matter(self, values, random):
        order = list(range(len(values)))
        random.shuffle(order)
        target = np.arange(len(values)) % 3
        table, shuffled = Table.from_data(values, target), Table.from_data(values[order], target[order])
        assert table.columns == shuffled.columns
        np.testing.assert_allclose(table.values[:, order], shuffled.values, rtol=1e-12, atol=1e-12)

    def test_text_order_does_not_matter(self, rng):
        texts, target = rng.choice(["b", "a", "d"], 60), rng.choice([7, 3, 5], 60)
        order = rng.permutation(60)
        table, shuffled = Table.from_data(texts, target), Table.from_data(texts[order], target[order])
        np.testing.assert_array_equal(table.values[:, order], shuffled.values)
        np.testing.assert_array_equal(shuffled.classes, [3, 5, 7])


class TestEncoding:
    @settings(max_examples=100, deadline=None)
    @given(
        hnp.arrays(
            st.sampled_from([np.float32, np.float64]),
            st.tuples(st.integers(2, 30), st.integers(1, 4)),
            elements=st.floats(-1e6, 1e6, width=32) | st.just(np.nan),
        ),
        st.sampled_from(["standard", "rank", None]),
    )
    def test_far(self, values, scale):
        table = Table.from_data(values, np.arange(len(values)) % 2, discrete_features=False).scaled(scale)
        assert table.far >= 2
        assert np.frexp(table.far)[0] == 0.5
        assert np.isfinite(table.values).all()
        for column in range(values.shape[1]):
            missing = np.isnan(values[:, column])
            present = table.values[column][~missing]
            assert (table.values[column][missing] == 4 * table.far).all()
            assert not present.size or np.ptp(present) < table.far
            gaps = difference(table, column)
            assert (gaps[np.ix_(missing, missing)] == 0).all()
            assert (gaps[np.ix_(missing, ~missing)] == table.far).all()

    def test_levels_are_far_apart(self, X):
        table = Table.from_data(X, np.arange(40) % 4)
        gaps = difference(table, table.target)
        np.testing.assert_array_equal(gaps, np.where(np.eye(4)[np.ix_(*[np.arange(40) % 4] * 2)], 0, table.far))

    def test_far_covers_the_target(self, y):
        table = Table.from_data(y, np.arange(40) * 100.0).scaled(None)
        assert table.far == 8192

    def test_scale_rank(self):
        table = Table.from_data([1.0, 10, 10, 1e140, 2], [0, 1, 0, 1, 0]).scaled("rank")
        ranks = np.array([1, 3.5, 3.5, 5, 2])
        np.testing.assert_allclose(table.values[0], (ranks - 3.5) / ranks.std())

    def test_scale_none_has_a_unit(self, X, y):
        data = np.column_stack([X * [1, 10, 100], y])
        table = Table.from_data(data, y).scaled(None)
        np.testing.assert_array_equal(table.values[:3], data[:, :3].T)
        assert table.unit == pytest.approx(np.sqrt(np.mean(data[:, :3].var(axis=0))))
        assert Table.from_data(y, y).scaled(None).unit == 1.0

    def test_constant_column(self):
        table = Table.from_data([0.1] * 9, np.arange(9) % 2, discrete_features=False)
        assert not table.values[0].any()
        assert Table.from_data([0.1] * 9, np.arange(9) % 2).columns[0].n_levels == 1

    @pytest.mark.parametrize("kind", ["continuous", "discrete"])
    def test_all_missing(self, frame, kind, X):
        data = frame({"empty": [None] * 40, "a": X[:, 0]})
        table = Table.from_data(data, np.arange(40) % 2, discrete_features={"empty": kind == "discrete"})
        assert np.unique(table.values[0]).size == 1
        assert table.columns[0].n_missing == 40
        assert table.columns[0].n_levels == (kind == "discrete")

    def test_units_do_not_matter(self, X, y):
        for unit in (1e-300, 1e-150, 1e-3, 1e150):
            np.testing.assert_allclose(Table.from_data(X * unit, y).values, Table.from_data(X, y).values, rtol=1e-6)

    def test_float32(self, X, y, frame):
        single = X.astype(np.float32)
        assert Table.from_data(single, np.arange(40.0)).values.dtype == np.float32
        assert Table.from_data(frame({"a": single[:, 0], "t": ["u", "v"] * 20}), y).values.dtype == np.float32
        assert Table.from_data(frame({"a": single[:, 0], "b": X[:, 1]}), y).values.dtype == np.float64
        assert Table.from_data(frame({"t": ["u", "v"] * 20}), y).values.dtype == np.float64
        expected = Table.from_data(single.astype(float), y).values.astype(np.float32)
        np.testing.assert_array_equal(Table.from_data(single, y).values, expected)

    def test_small_integers_are_not_float32(self):
        column = pl.Series([1, None, *range(30)], dtype=pl.UInt8)
        assert Table.from_data(column, np.arange(32) % 2).values.dtype == np.float64

    def test_many_float32_levels(self, rng):
        target = rng.permutation(5000)
        table = Table.from_data(rng.normal(size=5000).astype(np.float32), target, target_type="discrete")
        np.testing.assert_array_equal(table.codes(table.target), target)


class TestTogether:
    """Columns that are read and scaled together come out as they do one by one."""

    @pytest.fixture
    def columns(self, rng):
        gaps = np.where(rng.random((300, 60)) < 0.2, np.nan, rng.normal(size=(300, 60)))
        families = {
            "double": rng.normal(size=(300, 120)) * 10.0 ** rng.integers(-300, 100, 120),
            "single": rng.normal(size=(300, 20)).astype(np.float32),
            "gaps": np.where(rng.random(60) < 0.1, np.nan, gaps),
            "small": rng.integers(-2, 3, (300, 20), dtype=np.int8),
            "whole": rng.integers(0, 2**62, (300, 20)),
            "late": np.r_[np.zeros((280, 10)), rng.normal(size=(20, 10))],
            "constant": np.full((300, 3), [0.0, 0.1, -1e-200]),
            "flag": rng.random((300, 3)) < 0.5,
            "text": rng.choice(["u", "v"], (300, 3)),
        }
        named = [(f"{name}{j}", array[:, j]) for name, array in families.items() for j in range(array.shape[1])]
        return {named[i][0]: named[i][1] for i in rng.permutation(len(named))}

    @staticmethod
    def assert_as_alone(table, alone, position):
        assert replace(alone.columns[0], name=table.names[position]) == table.columns[position]
        if alone.columns[0].kind == "discrete":
            np.testing.assert_array_equal(table.codes(position), alone.codes(0))
        else:
            together, one = table.values[position], alone.values[0]
            np.testing.assert_array_equal(together == 4 * table.far, one == 4 * alone.far)
            present = one != 4 * alone.far
            np.testing.assert_array_equal(together[present].astype(one.dtype), one[present])

    @pytest.mark.parametrize("scale", ["standard", "rank"])
    def test_mixed_frame(self, frame, columns, scale):
        target = np.arange(300) % 2
        table = Table.from_data(frame(columns), target).scaled(scale)
        assert table.names == tuple(columns)
        for position, (name, values) in enumerate(columns.items()):
            alone = Table.from_data(frame({name: values})[name], target).scaled(scale)
            self.assert_as_alone(table, alone, position)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
    def test_array(self, rng, dtype):
        data, target = np.round(rng.normal(scale=20, size=(300, 200))).astype(dtype), np.arange(300) % 2
        data[:, ::3] %= 4
        table = Table.from_data(data, target)
        for position in range(200):
            alone = Table.from_data(pd.Series(data[:, position]), target)
            self.assert_as_alone(table, alone, position)


class TestAsking:
    def test_positions(self, X, y):
        table = Table.from_data(pd.DataFrame(X, columns=["age", "bmi", "sex"]), y, conditional_on=y)
        assert table.positions(["bmi", 0, -1, np.int64(2), 0]) == [1, 0, 2, 2, 0]
        assert table.positions(np.array([2, 0])) == [2, 0]
        assert [table.positions(one) for one in ("bmi", -1, np.int64(0), ())] == [[1], [2], [0], []]
        with pytest.raises(ValueError, match=r"no column 'agee'; did you mean 'age'\?"):
            table.positions("agee")
        with pytest.raises(ValueError, match="no column 'weight'; the columns are 'age', 'bmi', 'sex'"):
            table.positions("weight")
        with pytest.raises(ValueError, match="column 3 is out of range: X has 3 columns"):
            table.positions(3)
        with pytest.raises(TypeError, match=r"column 1\.5 is neither a name nor a position"):
            table.positions(1.5)

    def test_codes_of_a_continuous_column(self, X, y):
        with pytest.raises(ValueError, match="column 'x1' is continuous; only a discrete column has codes"):
            Table.from_data(X, y).codes(1)

    def test_numbers_of_a_discrete_column(self, X, y):
        with pytest.raises(ValueError, match="column 'y' is discrete; only a continuous column has numbers"):
            Table.from_data(X, y).continuous_block([0, 3])

    def test_columns_are_a_sequence(self, X, y):
        table = Table.from_data(np.column_stack([X, y]), y, discrete_features={0: None})
        columns = table.columns
        assert len(columns) == 5
        assert columns[-1] == columns[4] == Column("y", "discrete", "2 distinct values in 40 rows", 2, 0)
        assert columns[1:3] == tuple(columns)[1:3]
        assert isinstance(columns[1:3], tuple)
        assert (
            columns
            == tuple(columns)
            == Table.from_data(np.column_stack([X, y]), y, discrete_features={0: None}).columns
        )
        assert repr(columns) == repr(tuple(columns))
        assert pickle.loads(pickle.dumps(columns)) == columns
        with pytest.raises(IndexError):
            columns[5]
        assert table.n_levels.tolist() == [0, 0, 0, 2, 2]
        assert table.continuous.tolist() == [False, True, True, False, False]

    def test_names_that_are_given(self, X, y):
        plain = Table.from_data(X, y, conditional_on=y)
        table = Table.from_data(X, y, conditional_on=y, feature_names="abc")
        assert table.names == ("a", "b", "c")
        assert [column.name for column in table.columns] == ["a", "b", "c", "z0", "y"]
        np.testing.assert_array_equal(table.values, plain.values)
        with pytest.raises(ValueError, match="feature_names has 2 names, but X has 3 columns"):
            Table.from_data(X, y, feature_names=["a", "b"])
        with pytest.raises(ValueError, match="feature_names has duplicate column names: 'a'"):
            Table.from_data(X, y, feature_names=["a", "b", "a"])

    def test_another_scale_shares_the_rest(self, X, y):
        table = Table.from_data(X, y)
        ranks = table.scaled("rank")
        assert ranks.columns is table.columns
        assert ranks.scaled("rank") is ranks
        assert np.abs(ranks.values[:3] - table.values[:3]).max() > 0.1
        np.testing.assert_array_equal(ranks.scaled("standard").values, table.values)
        moved = table.moved(np.arange(40)[::-1]).scaled("rank")
        np.testing.assert_array_equal(moved.values[-2:], [ranks.values[-2], ranks.values[-1, ::-1]])
        with pytest.raises(ValueError, match="scale='minmax' is not one of 'standard', 'rank', None"):
            table.scaled("minmax")

    def test_rows_are_read_like_others(self, X, y, frame):
        names = [f"p{i}" for i in range(40)]
        data = frame({"id": names, "few": np.arange(40) % 4, "a": X[:, 0]})
        with pytest.warns(UnirelWarning, match="ignored 'id'"):
            table = Table.from_data(data, y)
        part = Table.from_data(data[:6], y[:6], **table.decided_types(data))
        assert kinds_of(part) == kinds_of(table) == ["ignored", "discrete", "continuous", "discrete"]


class TestReferences:
    """One rule wherever columns are named: a name first, then a position, and no guess."""

    @pytest.fixture
    def table(self, X, y):
        return Table.from_data(pd.DataFrame(X, columns=[1, 0, 7]), y)

    def test_whole_numbers_that_are_names(self, table):
        assert table.positions([0, 1]) == [1, 0]
        assert table.positions(7) == table.positions("7") == [2]
        assert table.positions([2]) == table.positions(-1) == [2]  # no column has that name

    def test_names_and_positions_in_one_list(self, table, X, y):
        message = "column 0 is a name and column 2 a position; .* all names or all positions"
        with pytest.raises(ValueError, match=message):
            table.positions([0, 2])
        with pytest.raises(ValueError, match=f"discrete_features: {message}"):
            Table.from_data(pd.DataFrame(X, columns=[1, 0, 7]), y, discrete_features={0: True, 2: True})

    def test_a_text_that_is_the_position_of_another(self, X, y):
        table = Table.from_data(pd.DataFrame(X, columns=["0", "2", "b"]), y)
        assert table.positions([0, "2"]) == [0, 1]
        with pytest.raises(ValueError, match="column 2 is ambiguous: '2' is a name, but 'b' is at position 2"):
            table.positions([2])

    def test_everything_follows_the_rule(self, X, y):
        """As after `read_csv(header=None)` and without the first column."""
        frame = pd.DataFrame(np.column_stack([X, y]), columns=[4, 3, 2, 1])
        chosen = Table.from_data(frame, y, discrete_features=[2])
        assert kinds_of(chosen) == ["continuous", "continuous", "discrete", "continuous", "discrete"]
        assert BURSelector("mim", "all", beta=0, include=[2], exclude=[1]).fit(frame, y).order_.tolist()[0] == 2
        assert not BURSelector("mim", "all", beta=0, exclude=[1]).fit(frame, y).support_[3]
        assert conditional_relevance(frame, y, given=[1]).iloc[0] == pytest.approx(0, abs=0.1)
        order = redundancy_analysis(frame, y, order=[1, 4]).order
        assert list(order) == [3, 0]


Y = np.arange(6) % 2
GOOD = np.arange(6.0)
DAYS = [datetime.date(2020, 1, 1 + i) for i in range(6)]
REFUSED = {
    "different lengths": (np.ones((5, 2)), Y, ValueError, "X has 5 rows, y has 6"),
    "no rows": (
        np.ones((0, 3)),
        [],
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\.",
    ),
    "no columns": (
        np.ones((5, 0)),
        Y[:5],
        ValueError,
        r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required\.",
    ),
    "one row": (np.ones((1, 3)), [1], ValueError, "X has 1 sample "),
    "three dimensions": (np.ones((6, 2, 2)), Y, ValueError, "X has 3 dimensions"),
    "scalar": (3.0, Y, ValueError, "X has 0 dimensions"),
    "name of the target": (GOOD, "churn", ValueError, r"y='churn' is a text; pass the values, such as X\['churn'\]"),
    "ragged": ([[1], [2, 3]], [0, 1], ValueError, "X has rows of different lengths"),
    "no target": (GOOD, None, ValueError, "requires y to be passed, but the target y is None"),
    "two targets": (GOOD, np.ones((6, 2)), ValueError, r"y should be a 1d array, but its shape is \(6, 2\)"),
    "one class": (GOOD, ["a"] * 6, ValueError, "y has one class only: every value is 'a'"),
    "constant target": (GOOD, np.ones(6), ValueError, r"y has one class only: every value is 1\.0"),
    "empty target": (GOOD, [None] * 6, ValueError, "y has no value at all: all 6 are missing"),
    "missing target": (GOOD, [0, 1, None, 1, np.nan, 0], ValueError, "y has 2 missing values .*drop those rows"),
    "infinite target": (GOOD, [0, 1, np.inf, 1, 0, 0], ValueError, "y contains infinity"),
    "infinity": (np.c_[GOOD, [0, 1, -np.inf, 1, 0, np.nan]], Y, ValueError, r"column 'x1' contains infinity \(inf\)"),
    "overflow": (np.c_[GOOD, GOOD * 3e307], Y, ValueError, "column 'x1' overflows when it is scaled"),
    "overflowing square": (GOOD * 1e200, Y, ValueError, "column 'x0' overflows when it is scaled"),
    "overflowing target": (GOOD, GOOD * 3e307, ValueError, "y overflows when it is scaled"),
    "overflowing integer": ([10**400, 1, 2, 3, 4, 5], Y, ValueError, "column 'x0' overflows"),
    "large whole numbers": (2**60 + np.arange(6), Y, ValueError, r"column 'x0' holds whole numbers beyond 2\*\*53"),
    "large target": (np.arange(80.0), 2**60 + np.arange(80), ValueError, "y holds whole numbers beyond"),
    "complex": (GOOD * 1j, Y, ValueError, "Complex data not supported: column 'x0'"),
    "complex objects": ([1j, None, 2, 3, 4, 5], Y, ValueError, "Complex data not supported: column 'x0'"),
    "sparse target": (GOOD, scipy.sparse.csr_matrix(np.ones((6, 1))), TypeError, r"y is sparse; .*y\.toarray\(\)"),
    "sparse frame": (pd.DataFrame({"s": pd.arrays.SparseArray(Y)}), Y, TypeError, "column 's' is sparse"),
    "mixed": (
        pd.DataFrame({"m": [1, "a", 2, "b", 3, None]}),
        Y,
        TypeError,
        "column 'm' mixes values of types int, str",
    ),
    "dictionaries": (
        pd.DataFrame({"d": [{"a": 1}] * 6}),
        Y,
        TypeError,
        "column 'd' holds values of types dict.* argument must be a string or a number",
    ),
    "dictionary among numbers": (
        np.array([[{"a": 1}], [1.0], [2.0], [3.0], [4.0], [5.0]], dtype=object),
        Y,
        TypeError,
        "argument must be .* string.* number",
    ),
    "lists": (pd.DataFrame({"l": [[1]] * 6}), Y, TypeError, "column 'l' .*convert or drop"),
    "bytes": (np.array([b"a", b"b"] * 3), Y, TypeError, "column 'x0' is of type"),
    "dates and durations": (
        pd.DataFrame({"d": [DAYS[0], datetime.timedelta(1)] * 3}, dtype=object),
        Y,
        TypeError,
        "column 'd' mixes dates, times and durations; .*days since a start",
    ),
    "duplicate labels": (pd.DataFrame([[1, 2]] * 6, columns=[1, "1"]), Y, ValueError, "duplicate column names: '1'"),
}


class TestRefusing:
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(("data", "target", "error", "message"), REFUSED.values(), ids=list(REFUSED))
    def test_data(self, data, target, error, message):
        with pytest.raises(error, match=message) as caught:
            Table.from_data(data, target)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            (pl.Series("d", [[1]] * 6), "column 'd' is of type List.*or drop it"),
            (pl.Series("d", [{"a": 1}] * 6), "column 'd' is of type Struct.*or drop it"),
            (pl.Series("d", [b"a"] * 6), "column 'd' is of type Binary.*or drop it"),
        ],
    )
    def test_series(self, column, message):
        with pytest.raises(TypeError, match=message):
            Table.from_data(column, Y)

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
    def test_duplicate_names(self, kind):
        columns = [GOOD, GOOD, GOOD]
        data = pd.DataFrame(np.array(columns).T, columns=["a", "b", "a"])
        if kind == "pyarrow":
            data = pa.table(columns, names=["a", "b", "a"])
        with pytest.raises(ValueError, match="X has duplicate column names: 'a'; rename"):
            Table.from_data(data, Y)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target_type": "ignored"}, "target_type='ignored' is not one of 'auto', 'discrete', 'continuous'"),
            ({"target_type": None}, "target_type=None is not one of"),
            ({"discrete_features": {"age": "nominal"}}, "discrete_features gives column 'age' 'nominal'; pass True"),
            (
                {"discrete_features": {"agee": True}},
                r"discrete_features: there is no column 'agee'; did you mean 'age'\?",
            ),
            ({"discrete_features": ["agee"]}, r"discrete_features: there is no column 'agee'; did you mean 'age'\?"),
            ({"discrete_features": {5: True}}, "column 5 is out of range: X has 2 columns"),
            ({"discrete_features": [True]}, "discrete_features is a mask of 1, but X has 2 columns"),
            ({"discrete_features": {"sex": False}}, "column 'sex' is to be continuous, but holds what is no number"),
            ({"discrete_features": False}, "column 'sex' is to be continuous"),
            ({"discrete_features": {"age": None, "sex": None}}, "no feature is left: all 2 columns of X are ignored"),
            ({"conditional_on": GOOD[:4]}, "X has 6 rows, conditional_on has 4"),
            ({"conditional_on": np.ones((6, 0))}, r"conditional_on has 0 feature\(s\)"),
            ({"conditional_on": [np.inf, *GOOD[1:]]}, "column 'z0' of conditional_on contains infinity"),
        ],
    )
    def test_options(self, frame, options, message):
        data = frame({"age": [None, 1.5, 2.5, 3.5, 4.5, 5.5], "sex": ["f", "m", None, "f", "m", None]})
        with pytest.raises(ValueError, match=message):
            Table.from_data(data, Y, **options)

    @pytest.mark.parametrize("given", ["nominal", None, 3])
    def test_what_says_nothing_of_columns(self, given):
        with pytest.raises(TypeError, match="is none of 'auto', True, False, a mask, a list of columns and a mapping"):
            Table.from_data(GOOD, Y, discrete_features=given)

    def test_text_target_as_numbers(self):
        with pytest.raises(ValueError, match="y is to be continuous, but holds what is no number"):
            Table.from_data(GOOD, list("ababab"), target_type="continuous")

    @pytest.mark.parametrize("largest", [1e-160, 1e-200, 1e-320])
    def test_unscaled_underflow(self, largest):
        tiny = np.arange(40.0) / 39 * largest
        with pytest.raises(ValueError, match=r"column 'x0' vanishes when it is squared .*; multiply it by a constant"):
            Table.from_data(tiny, np.arange(40) % 2).scaled(None)
        assert np.isfinite(Table.from_data(tiny, np.arange(40) % 2).values).all()

    def test_unscaled_overflow(self):
        with pytest.raises(ValueError, match="column 'x0' overflows"):
            Table.from_data(GOOD * 1e153, Y).scaled(None)
        with pytest.raises(ValueError, match="y overflows"):
            Table.from_data(GOOD.astype(np.float32), GOOD * 1e60).scaled(None)

    def test_only_identifiers(self):
        texts = [f"p{i}" for i in range(40)]
        with pytest.warns(UnirelWarning, match="ignored"), pytest.raises(ValueError, match="no feature is left"):
            Table.from_data(pd.Series(texts), np.arange(40) % 2)


def test_a_note_about_a_column_changes_nothing_about_the_others():
    """The levels of all columns were counted when the first was named in a warning, before the target was read."""
    X = {"id": [f"K{row}" for row in range(40)], "a": np.arange(40) % 4, "b": np.linspace(0, 1, 40)}
    with pytest.warns(UnirelWarning, match="ignored 'id'"):
        table = Table.from_data(pd.DataFrame(X), np.arange(40) % 2)
    assert table.n_levels.tolist() == [0, 4, 0, 2]
    assert [column.n_levels for column in table.columns] == [0, 4, 0, 2]
