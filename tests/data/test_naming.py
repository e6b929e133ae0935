"""Columns by patterns and types, where features are forced in or out, and everywhere else columns are named."""

from datetime import date, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sklearn.linear_model import LogisticRegression

from unirel import Binned, BURSelector, BURSelectorCV, conditional_relevance, redundancy_analysis, relevance
from unirel.data.naming import matching
from unirel.data.table import Table
from unirel.report import Report

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")
N = 120


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "age": rng.normal(size=N),
            "lab_b": rng.normal(size=N),
            "flag": rng.random(N) < 0.5,
            "city": rng.choice(["x", "y", "z"], N),
            "lab_a": rng.normal(size=N),
            "kind": pd.Categorical(rng.choice(["u", "v"], N)),
            "when": pd.date_range("2020-01-01", periods=N),
            "lab_id": [f"id {row}" for row in range(N)],  # ignored
        }
    )


@pytest.fixture
def target(frame):
    return frame["age"] + frame["lab_a"] > 0


def selected(frame, target, **options):
    return BURSelector(n_features_to_select="all", **options).fit(frame, target).selection_.selected_names


# Patterns


def test_included_columns_stand_in_the_order_of_the_list_those_of_a_pattern_in_that_of_the_table(frame, target):
    found = selected(frame, target, include=["kind", "lab_*", "age"])
    assert found[:4] == ["kind", "lab_b", "lab_a", "age"]
    assert selected(frame, target, include=["lab_a", "lab_*"])[:2] == ["lab_a", "lab_b"]  # each once
    assert selected(frame, target, include="lab_?")[:2] == ["lab_b", "lab_a"]


def test_excluded_columns_are_those_of_the_pattern(frame, target):
    assert set(selected(frame, target, exclude=["lab_*", "[ck]i*"])) == {"age", "flag", "when"}


def test_case_matters(frame, target):
    with pytest.raises(ValueError, match=r"no column is like 'LAB_\*'"):
        selected(frame, target, exclude=["LAB_*"])


def test_a_name_goes_before_a_pattern(frame, target):
    assert selected(frame, target, include=["lab_*"], exclude=["lab_b"])[0] == "lab_a"
    assert "lab_b" not in selected(frame, target, include=["lab_*"], exclude=["lab_b"])
    found = selected(frame, target, include=["city"], exclude=["c*", "flag"])
    assert found[0] == "city"
    assert "flag" not in found
    assert not {"lab_a", "lab_b"} & set(selected(frame, target, include=["lab_*"], exclude=["lab_?"]))
    with pytest.raises(ValueError, match="'age' is in include and in exclude"):
        selected(frame, target, include=["age"], exclude=["age"])


def test_an_ignored_column_that_is_named_is_refused_but_not_one_of_a_pattern(frame, target):
    assert selected(frame, target, include=["lab_*"])[:2] == ["lab_b", "lab_a"]
    with pytest.raises(ValueError, match="include names 'lab_id', which is ignored"):
        selected(frame, target, include=["lab_id"])
    assert len(selected(frame, target, exclude=["*_id"])) == 7


def test_a_column_of_that_very_name_is_meant_itself(rng):
    X = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a*", "ab", "dtype:number", "q?"])
    y = X["ab"] > 0
    assert Table.from_data(X, y).positions(["a*"]) == [0]
    assert Table.from_data(X, y).positions(["dtype:number", "q?"]) == [2, 3]
    assert Table.from_data(X, y).positions(["a[b]"]) == [1]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("labs_*", "no column is like 'labs_*'; did you mean 'lab_id' or 'lab_b' or 'lab_a'?"),
        ("*_it", "no column is like '*_it'; did you mean 'city' or 'lab_id'?"),
        ("zzz*", "no column is like 'zzz*'; the columns are 'age', 'lab_b', "),
    ],
)
@pytest.mark.parametrize("parameter", ["include", "exclude"])
def test_a_pattern_that_matches_nothing_is_an_error_that_helps(frame, target, parameter, pattern, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        selected(frame, target, **{parameter: [pattern]})
    assert words in str(caught.value)


def test_matching_is_plain():
    assert matching("a*", ["ba", "a2", "a1", "A"]) == ["a2", "a1"]


def test_arrays_have_names_too(rng):
    X = rng.normal(size=(60, 12))
    found = BURSelector(exclude=["x1*"], n_features_to_select="all").fit(X, X[:, 0] > 0)
    assert set(found.order_) == {0, *range(2, 10)}


def test_patterns_stand_wherever_columns_are_named(frame, target):
    one = conditional_relevance(frame, target, given=["lab_*"], mi_estimator="binned")
    np.testing.assert_array_equal(
        one, conditional_relevance(frame, target, given=["lab_b", "lab_a"], mi_estimator="binned")
    )
    edges = {"lab_?": [-1.0, 0.0, 1.0], "age": [0.0]}
    same = {"lab_a": [-1.0, 0.0, 1.0], "lab_b": [-1.0, 0.0, 1.0], "age": [0.0]}
    by_pattern, by_name = (relevance(frame, target, mi_estimator=Binned(edges=one)) for one in (edges, same))
    np.testing.assert_array_equal(by_pattern, by_name)
    analysis = redundancy_analysis(frame[["lab_a", "lab_b", "age"]], target, order=["age", "lab_*"])
    assert analysis.order.tolist() == [2, 0, 1]


def test_folds_halves_and_pages_force_the_same_columns(frame, target):
    numbers = frame[["age", "lab_b", "lab_a"]]
    selector = BURSelector(include=["lab_*"], exclude=["lab_b"], n_features_to_select=2)
    chosen = BURSelectorCV(LogisticRegression(), selector, betas=[0], max_features=2, cv=3).fit(numbers, target)
    assert chosen.order_[0] == 2
    page = Report.from_data(numbers, target, selector=selector, accuracy="knn", stability=3)
    assert page.stability.frequency.tolist() == [1.0, 0.0, 1.0]
    assert page.selection.settings["include"] == ["lab_*"]


# Types


OBJECTS = {
    "number": [1.5, 2.5, None],
    "bool": [True, False, None],
    "string": ["a", "b", None],
    "datetime": [date(2020, 1, 1), date(2020, 1, 2), None],
}


def test_types(frame, target):
    table = Table.from_data(frame, target)
    types = ["number", "number", "bool", "string", "number", "category", "datetime", "string"]
    assert [table.type_of(place) for place in range(8)] == types
    assert table.positions(["dtype:bool", "dtype:number"]) == [2, 0, 1, 4]


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.convert_dtypes()])
def test_types_of_other_frames(frame, target, make):
    table = Table.from_data(make(frame), target)
    types = ["number", "number", "bool", "string", "number", "category", "datetime", "string"]
    assert [table.type_of(place) for place in range(8)] == types


@pytest.mark.parametrize("kind", OBJECTS)
def test_types_of_objects_are_those_of_their_values(kind, rng):
    values = np.array(OBJECTS[kind] * 20, object)
    table = Table.from_data(np.column_stack([values, rng.normal(size=60).astype(object)]), np.arange(60) % 2)
    assert [table.type_of(0), table.type_of(1)] == [kind, "number"]


def test_times_and_durations_are_among_the_dates():
    X = pd.DataFrame({"of day": [time(1), time(2)] * 10, "long": [timedelta(1), timedelta(2)] * 10, "n": range(20)})
    table = Table.from_data(X, np.arange(20) % 2)
    assert [table.type_of(place) for place in range(3)] == ["datetime", "datetime", "number"]


def test_excluded_types(frame, target):
    assert set(selected(frame, target, exclude=["dtype:number", "dtype:datetime"])) == {"flag", "city", "kind"}
    assert selected(frame, target, include=["dtype:category", "age"])[:2] == ["kind", "age"]
    assert "city" in selected(frame, target, include=["city"], exclude=["dtype:string"])
    # What is left out need not be there.
    assert set(selected(frame[["age", "lab_a"]], target, exclude=["dtype:string"])) == {"age", "lab_a"}


def test_an_unknown_type_is_an_error_that_names_those_there_are(frame, target):
    with pytest.raises(ValueError, match=r"'dtype:float' is no column.*the types are 'dtype:number', 'dtype:bool'"):
        selected(frame, target, exclude=["dtype:float"])


def test_rows_in_parts_know_patterns_but_no_types(frame, target):
    parts = ds.dataset(pa.Table.from_pandas(frame[["age", "lab_a", "lab_b"]].assign(target=target)))
    assert BURSelector(exclude=["lab_*"]).fit(parts, "target").selection_.selected_names == ["age"]
    with pytest.raises(ValueError, match="X is read in parts, whose types are not kept"):
        BURSelector(exclude=["dtype:string"]).fit(parts, "target")
