"""Texts that are numbers or dates: which columns are read, which stay as they are, and what is said."""

import re
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unirel import BURSelector, UnirelWarning, relevance
from unirel.data.readers import Raw
from unirel.data.table import Table
from unirel.data.texts import find_values, hint_of

MARKS = ["", " ", "NA", "n/a", "N/A", "?", "-", "null", "None", "nan", "."]


def find(texts, asked=False):
    values = np.array(texts, object)
    return find_values(Raw("text", values, np.array([text is None for text in texts])), asked)


def days(texts):
    found = find(texts)
    return None if found is None else [None if np.isnat(one) else one.astype("M8[D]").item() for one in found.values]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_numbers_with_blanks_are_numbers(frame):
    """TotalCharges of a table of customers was ignored like an identifier: 11 of 7,043 values are blanks."""
    rng = np.random.default_rng(0)
    charges = rng.gamma(2, 900, 200).round(2)
    texts = [" " if row in (3, 50) else str(one) for row, one in enumerate(charges)]
    y = charges > 1500
    message = r"read 'TotalCharges' as numbers \(2 missing values written as ' '\); to leave a column out, pass exclude"
    with pytest.warns(UnirelWarning, match=message):
        table = Table.from_data(frame({"TotalCharges": texts, "other": rng.normal(size=200)}), y)
    assert table.columns[0].kind == "continuous"
    assert table.columns[0].n_missing == 2
    charges[[3, 50]] = np.nan
    np.testing.assert_array_equal(table.continuous_block([0])[0], charges)


def test_a_search_reads_rows_of_it_like_the_whole():
    rng = np.random.default_rng(0)
    number = rng.normal(size=120).round(3)
    X = pd.DataFrame({"a": [*map(str, number[:-2]), "?", "-"], "b": rng.normal(size=120)})
    y = number > 0
    with pytest.warns(UnirelWarning, match=r"2 missing values written as '\?', '-'"):
        whole = relevance(X, y)
    given = relevance(X, y, discrete_features={"a": False})  # as a search says it of a part of the rows
    np.testing.assert_array_equal(whole, given)
    assert BURSelector("mim", 1, discrete_features={"a": False}).fit(X.iloc[:100], y[:100]).order_.tolist() == [0]


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "2", "3"] * 10,  # somebody made them texts
        [f"0{number}" for number in range(1000, 1050)] + [""],  # postal codes
        ["1", "2", "many", " "],
        [str(10**17 + number) for number in range(40)] + ["?"],  # floats would take some for the same
        ["1,234", "5,678", "9,012", "-"],  # thousands, or a decimal comma
        ["1,5", "2.5", "-"],
        ["inf", "1", "-"],
        [" ", "-", "?"],
        ["31.12.2024", "30.02.2024"],
        ["13/01/2024", "01/13/2024"],  # neither order is right
        ["2024-12-31", "tomorrow"],
        ["192.168.1", "10.0.0"],
        ["1.2.345", "1.2.346"],
    ],
)
def test_other_texts_stay_as_they_are(texts):
    assert find(texts) is None


def test_numbers_that_nearly_all_differ_are_read_without_a_mark():
    assert find([str(number) for number in range(50)]).values.tolist() == list(range(50))
    assert find(["1", "2"] * 30, asked=True).values.tolist() == [1, 2] * 30


def test_decimal_commas():
    assert find(["1,5", "-2", "+3,25", "1e3", " - "]).values.tolist()[:4] == [1.5, -2, 3.25, 1000]


@pytest.mark.parametrize(
    ("texts", "wanted", "order"),
    [
        (["2024-12-31", "2024-1-5"], [(2024, 12, 31), (2024, 1, 5)], ""),
        (["2024/12/31", "?"], [(2024, 12, 31), None], ""),
        (["31.12.2024", "5.1.2024"], [(2024, 12, 31), (2024, 1, 5)], "day first"),
        (["01.02.2024", "02.02.2024"], [(2024, 2, 1), (2024, 2, 2)], "day first"),
        (["31/12/2024", "05/01/2024"], [(2024, 12, 31), (2024, 1, 5)], "day first"),
        (["12/31/2024", "05/01/2024"], [(2024, 12, 31), (2024, 5, 1)], "month first"),
        (["05/01/2024", "06/02/2024"], [(2024, 1, 5), (2024, 2, 6)], "day first, as no value tells"),
        (["01/01/2024", "02/01/2024"], [(2024, 1, 1), (2024, 2, 1)], "month first, as no value tells"),
        (["31-12-98", "01-01-05"], [(1998, 12, 31), (2005, 1, 1)], "day first"),
    ],
)
def test_dates(texts, wanted, order):
    assert days(texts) == [None if one is None else date(*one) for one in wanted]
    assert find(texts).order == order


def test_times_of_dates():
    texts = [
        "2024-01-05T10:30:00Z",
        "2024-01-05 10:30:15.5",
        "2024-01-05T12:30+02:00",
        "5.1.2024 10:30",
        "5.1.2024 1:05 PM",
    ]
    found = [one.item() for one in find(texts).values]
    start = datetime(2024, 1, 5, 10, 30)
    assert found == [start, start + timedelta(seconds=15.5), start, start, datetime(2024, 1, 5, 13, 5)]


def test_days_first_are_read_like_days_last():
    moments = pd.date_range("2023-03-01", periods=80)
    y = np.arange(80) > 30
    frames = [
        pd.DataFrame({"day": dates}) for dates in (moments, moments.strftime("%d.%m.%Y"), moments.strftime("%Y-%m-%d"))
    ]
    found = []
    for frame in frames:
        with pytest.warns(UnirelWarning, match="read 'day' as days since 2023-03-01"):
            found.append(Table.from_data(frame, y).continuous_block([0]).tolist())
    assert found[0] == found[1] == found[2]


def test_what_keeps_a_column_from_being_numbers_is_named():
    texts = [*map(str, range(100)), "k.A."]
    assert hint_of(texts) == ", but for 'k.A.' they are numbers"
    assert hint_of(["a", "b", "1"]) == ""
    with pytest.warns(UnirelWarning, match="like an identifier, but for 'k.A.' they are numbers"):
        Table.from_data(pd.DataFrame({"x": texts, "y": range(101)}), np.arange(101) % 2)


# A twin that says of every text by itself what it is.


def number_slowly(text):
    return float(text) if re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?", text) and not re.match(r"[-+]?0[0-9]", text) else None


values = st.one_of(
    st.integers(-9999, 99999).map(str),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:.3f}"),
    st.integers(0, 999).map(lambda number: f" +{number} "),
)
others = st.sampled_from(["word", "1e", "0x1", "--1", "1 2", "012", "1.2.3", "٣", "1_000", "½"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(values, st.sampled_from(MARKS), st.none()), min_size=1, max_size=60),
    st.lists(others, max_size=1),
    st.randoms(),
)
def test_columns_equal_the_twin(texts, wrong, random):
    texts = texts + wrong
    random.shuffle(texts)
    assume(any(text is not None for text in texts))
    marks = [text for text in texts if text is not None and text in MARKS]
    read = {text: number_slowly(text.strip()) for text in texts if text is not None and text not in MARKS}
    found = find(texts, asked=True)
    if not read or None in read.values():
        assert found is None
        return
    expected = [read.get(text, np.nan) if text is not None else np.nan for text in texts]
    np.testing.assert_array_equal(found.values, expected)
    assert sum(found.marks.values()) == len(marks)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dates(date(1000, 1, 1)), min_size=1, max_size=30),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d"]),
    st.lists(st.sampled_from(MARKS), max_size=3),
)
def test_dates_equal_the_twin(dates, form, marks):
    texts = [one.strftime(form).rjust(10, "0") for one in dates]
    assume(("/%d/%Y" not in form and "%d/%m" not in form) or any(one.day > 12 for one in dates))
    assert days(texts + marks) == [*dates, *[None] * len(marks)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("0123456789.,-/: +eTZ?aN", max_size=12), min_size=1, max_size=8))
def test_no_text_makes_it_fail(texts):
    found = find(texts, asked=True)
    assert found is None or len(found.values) == len(texts)
