"""Bad input gets one clear line: what is wrong, where, and what to do."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from unirel import BURSelector, UnirelWarning, conditional_relevance, irrelevance, mutual_information, relevance
from unirel.data.table import Table
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin

MEASURES = {
    "mutual_information": mutual_information,
    "relevance": relevance,
    "conditional_relevance": lambda X, y, **options: conditional_relevance(X, y, 0, **options),
    "irrelevance": irrelevance,
}


@pytest.fixture(params=list(MEASURES))
def measure(request):
    return MEASURES[request.param]


@pytest.fixture
def people():
    numbers = np.random.default_rng(0)
    return pd.DataFrame({"age": numbers.normal(size=40), "bmi": numbers.normal(size=40), "smoker": [0, 1] * 20})


@pytest.fixture
def labels():
    return np.arange(40) // 20


def fails(call, *fragments):
    """Check that a call fails with one line that holds every fragment, and return the line."""
    pattern = "(?i)" + "".join(f"(?=.*{re.escape(str(fragment))})" for fragment in fragments)
    with pytest.raises((ValueError, TypeError), match=pattern) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    return line


# Shapes


def test_different_lengths_name_both_sides(measure, people, labels):
    fails(lambda: measure(people, labels[:37]), 40, 37)


def test_conditional_block_of_another_length_names_both_sides(people, labels):
    fails(lambda: mutual_information(people, labels, conditional_on=np.ones((38, 1))), 40, 38)
    fails(lambda: conditional_relevance(people, labels, np.ones((38, 1))), 40, 38)


def test_empty_tables(measure):
    fails(lambda: measure(np.empty((0, 3)), np.empty(0)), "0 sample")
    fails(lambda: measure(np.empty((10, 0)), np.arange(10) % 2), "0 feature")
    fails(lambda: measure(pd.DataFrame(index=range(10)), np.arange(10) % 2), "0 feature")


@pytest.mark.parametrize("function", [mutual_information, relevance, irrelevance])
def test_no_feature_left(function, people, labels):
    fails(lambda: function(people, labels, discrete_features=dict.fromkeys(people)), "no feature is left")


def test_too_many_dimensions(measure, labels):
    fails(lambda: measure(np.zeros((40, 2, 2)), labels), "3 dimensions")
    fails(lambda: measure(np.zeros((40, 2)), np.zeros((40, 3, 2))), "y", "3 dimensions")
    if measure not in (mutual_information, relevance):  # which take a block, and several targets
        fails(lambda: measure(np.zeros((40, 2)), np.zeros((40, 3))), "y", "(40, 3)")


def test_duplicate_names_are_named(measure, people, labels):
    people.columns = ["age", "bmi", "age"]
    fails(lambda: measure(people, labels), "age", "duplicate")


# Target


@pytest.mark.parametrize("target", [np.zeros(40, dtype=int), np.full(40, "yes"), np.ones(40, dtype=bool)])
def test_one_class_only(measure, people, target):
    fails(lambda: measure(people, target), "one class")


def test_constant_number_as_target(measure, people):
    fails(lambda: measure(people, np.full(40, 2.5), target_type="continuous"), "one")


@pytest.mark.parametrize("target", [np.full(40, np.nan), np.full(40, None, dtype=object), pd.Series([None] * 40)])
def test_target_all_missing(measure, people, target):
    fails(lambda: measure(people, target), "missing", "all")


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_in_target_names_the_count(measure, people, labels, missing):
    target = labels.astype(object)
    target[[3, 7, 20]] = missing
    fails(lambda: measure(people, target), 3, "missing")
    fails(lambda: measure(people, pl.Series([None, None, None, *range(37)])), 3, "missing")
    fails(lambda: measure(people, np.r_[np.full(3, np.nan), np.linspace(0, 1, 37)]), 3, "missing")


def test_infinity_in_target(measure, people):
    target = np.linspace(0, 1, 40)
    target[5] = np.inf
    fails(lambda: measure(people, target), "inf", "y ")


# Values


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_names_the_column(measure, people, labels, infinity):
    people.loc[4, "bmi"] = infinity
    fails(lambda: measure(people, labels), "inf", "bmi")
    fails(lambda: measure(people.to_numpy(), labels), "inf", "x1")
    fails(lambda: measure(pl.from_pandas(people), labels), "inf", "bmi")


@pytest.mark.parametrize("scale", ["standard", None])
def test_overflow_names_the_column(measure, people, labels, scale):
    people["bmi"] = np.where(labels == 0, 1.7e308, -1.7e308)
    options = {"mi_estimator": KNN(scale=scale), "discrete_features": {"bmi": False}}
    fails(lambda: measure(people, labels, **options), "bmi")


def test_overflow_of_single_precision_names_the_column(measure, labels):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    X[:, 1] *= np.float32(1e38)
    fails(lambda: measure(X, labels, mi_estimator=KNN(scale=None)), "x1")


def test_huge_values_that_can_be_scaled_are_fine(labels):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_allclose(relevance(X * 1e100, labels), relevance(X, labels), rtol=0, atol=1e-10)


# Columns that cannot be read


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_matrix_names_the_remedy(measure, labels, make):
    fails(lambda: measure(make(np.eye(40)), labels), "sparse", "toarray")


def test_sparse_column_of_a_frame(people, labels):
    people["smoker"] = pd.arrays.SparseArray(people["smoker"])
    fails(lambda: relevance(people, labels), "sparse", "smoker")


DATES = pd.date_range("2020-01-01", periods=40)


@pytest.mark.parametrize(
    "dates",
    [
        pd.DataFrame({"day": DATES}),
        pd.DataFrame({"day": DATES - DATES[0]}),
        pd.DataFrame({"day": DATES.tz_localize("UTC")}),
        pl.DataFrame({"day": DATES.to_numpy()}),
        pl.DataFrame({"day": DATES.to_numpy()}).with_columns(pl.col("day").cast(pl.Date)),
        pa.table({"day": pa.array(DATES.to_pydatetime())}),
    ],
    ids=["pandas", "pandas duration", "pandas zone", "polars", "polars date", "pyarrow"],
)
def test_dates_are_numbers_since_the_first(dates, labels):
    days = np.arange(40.0)
    with pytest.warns(
        UnirelWarning, match=r"read 'day' as (days since 2020-01-01|seconds); to leave a column out, pass"
    ):
        found = relevance(dates, labels)
    assert np.asarray(found) == pytest.approx(relevance(days[:, None], labels))
    table = Table.from_data(dates, labels, discrete_features={"day": False})
    assert np.ptp(table.continuous_block([0])) in (39, 39 * 86400)


def test_array_of_dates(labels):
    with pytest.warns(UnirelWarning, match="read 'x0' as days since 2020-01-01"):
        table = Table.from_data(DATES.to_numpy()[:, None], labels)
    assert table.columns[0].reason == "as days since 2020-01-01"
    assert table.continuous_block([0])[0].tolist() == list(range(40))


def test_dates_as_objects(labels):
    import datetime as dt

    moments = [dt.datetime(2020, 1, 1, 6, tzinfo=dt.UTC) + dt.timedelta(hours=6 * row) for row in range(40)]
    moments[3] = None
    columns = {
        "moment": moments,
        "day": [None if moment is None else moment.date() for moment in moments],
        "time": [None if moment is None else moment.time() for moment in moments],
        "span": [None if moment is None else moment - moments[0] for moment in moments],
    }
    X = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    with pytest.warns(UnirelWarning, match="'moment' as days since 2020-01-01T06:00:00"):
        table = Table.from_data(X, labels, discrete_features="auto")
    assert [column.n_missing for column in table.columns[:4]] == [1] * 4
    moment, span = table.continuous_block([0, 3])
    np.testing.assert_allclose(moment * 86400, span)
    assert table.columns[2].kind == "discrete"  # 4 times of the day
    assert table.columns[2].reason == "as seconds of the day"


def test_dates_and_durations_in_one_column(labels):
    import datetime as dt

    mixed = pd.DataFrame({"day": pd.Series([dt.date(2020, 1, 1), dt.timedelta(1)] * 20, dtype=object)})
    fails(lambda: relevance(mixed, labels), "day", "dates")


def test_different_indexes_are_said(labels):
    X, y = pd.DataFrame({"a": np.arange(40.0)}), pd.Series(labels)
    Table.from_data(X, y)
    with pytest.warns(UnirelWarning, match=r"X and y have different indexes.*y.loc\[X.index\]"):
        Table.from_data(X, y[::-1])


@pytest.mark.parametrize(
    "nested",
    [
        pl.DataFrame({"basket": [[1, 2]] * 40}),
        pl.DataFrame({"basket": [{"a": 1}] * 40}),
        pd.DataFrame({"basket": [[1, 2]] * 40}),
        pd.DataFrame({"basket": [{"a": 1}] * 40}),
        pa.table({"basket": [[1, 2]] * 40}),
    ],
    ids=["polars list", "polars struct", "pandas list", "pandas dictionary", "pyarrow list"],
)
def test_nested_columns_are_named(measure, nested, labels):
    fails(lambda: measure(nested, labels), "basket", "drop")


def test_complex_numbers(measure, labels):
    fails(lambda: measure(np.full((40, 2), 1j), labels), "complex")


# Parameters


@pytest.mark.parametrize("value", [0, -3, 2.5, "three", None])
def test_number_of_neighbors_names_the_value(measure, people, labels, value):
    fails(lambda: measure(people, labels, mi_estimator=KNN(value)), "n_neighbors", value)


@pytest.mark.parametrize(
    ("parameter", "allowed"),
    [
        ("mi_estimator", ["auto", "knn", "plugin", "binned"]),
        ("target_type", ["auto", "discrete", "continuous"]),
        ("discrete_features", ["auto"]),
    ],
)
def test_unknown_choice_lists_the_allowed_ones(measure, people, labels, parameter, allowed):
    fails(lambda: measure(people, labels, **{parameter: "best"}), parameter, "best", *allowed)


@pytest.mark.parametrize(
    ("estimator", "parameter", "allowed"),
    [
        (KNN, "scale", ["standard", "rank", "None"]),
        (KNN, "metric", ["auto", "chebyshev", "euclidean", "manhattan"]),
        (KNN, "correction", ["chance", "miller-madow", "None"]),
        (Plugin, "correction", ["chance", "miller-madow", "None"]),
        (Binned, "correction", ["chance", "miller-madow", "None"]),
        (Binned, "strategy", ["quantile", "uniform", "mdl"]),
    ],
)
def test_unknown_parameter_of_an_estimator_lists_the_allowed_ones(people, labels, estimator, parameter, allowed):
    wrong = estimator(**{parameter: "best"})
    fails(lambda: relevance(people, labels, mi_estimator=wrong), parameter, "best", *allowed)
    fails(lambda: BURSelector(mi_estimator=wrong).fit(people, labels), parameter, "best", *allowed)


@pytest.mark.parametrize("value", [0, 1.5, "many"])
def test_number_of_bins_names_the_value(measure, people, labels, value):
    fails(lambda: measure(people, labels, mi_estimator=Binned(value)), "n_bins", value)


def test_unknown_kind_lists_the_allowed_ones(measure, people, labels):
    fails(lambda: measure(people, labels, discrete_features={"age": "ordinal"}), "age", "ordinal", "True", "False")


def test_kind_of_unknown_column(measure, people, labels):
    fails(lambda: measure(people, labels, discrete_features={"height": True}), "height", "age")
    fails(lambda: measure(people, labels, discrete_features={7: True}), 7)
    fails(lambda: measure(people, labels, discrete_features=["height"]), "height", "age")
    fails(lambda: measure(people, labels, discrete_features=[True, False]), "discrete_features", 2, 3)


def test_strings_cannot_be_continuous(measure, people, labels):
    people["smoker"] = np.where(people["smoker"] == 1, "yes", "no")
    fails(lambda: measure(people, labels, discrete_features={"smoker": False}), "smoker", "continuous")


def test_strings_cannot_be_a_continuous_target(measure, people, labels):
    words = np.where(labels == labels[0], "yes", "no")
    fails(lambda: measure(people, words, target_type="continuous"), "y is to be continuous", "no number")


@pytest.mark.parametrize("unknown", ["height", ["age", "height"], 7, [0, 7], -4])
def test_unknown_given_column_names_both_sides(people, labels, unknown):
    wanted = "height" if "height" in str(unknown) else str(unknown if isinstance(unknown, int) else unknown[-1])
    fails(lambda: conditional_relevance(people, labels, unknown), wanted)


def test_given_by_name_needs_names(labels):
    X = np.random.default_rng(0).normal(size=(40, 3))
    fails(lambda: conditional_relevance(X, labels, "age"), "age")


def test_counts_of_continuous_columns_name_the_remedy(measure, people, labels):
    fails(
        lambda: measure(people, labels, mi_estimator="plugin"), "age", "bmi", "continuous", "bin", "mi_estimator='knn'"
    )


def test_counts_of_continuous_target_name_the_remedy(measure, people):
    target = np.random.default_rng(0).normal(size=40)
    fails(lambda: measure(people[["smoker"]], target, mi_estimator="plugin"), "'y'", "continuous", "mi_estimator='knn'")


# Warnings


def the_warning(call):
    """The one warning of a call, which has to be ours."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert len(caught) == 1
    assert issubclass(caught[0].category, UnirelWarning)
    line = str(caught[0].message)
    assert "\n" not in line
    return line


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_small_class_lowers_the_number_of_neighbors(measure, people):
    target = np.array(["often"] * 38 + ["seldom"] * 2)
    line = the_warning(lambda: measure(people[["age", "bmi"]], target, mi_estimator=KNN(3)))
    assert "seldom" in line
    assert "n_neighbors" in line
    quiet(lambda: measure(people[["age", "bmi"]], target, mi_estimator=KNN(1)))


def test_class_of_k_samples_lowers_it_and_one_more_does_not(people):
    numbers = people[["age", "bmi"]]
    assert "few" in the_warning(
        lambda: relevance(numbers, ["often"] * 37 + ["few"] * 3, mi_estimator=KNN(n_neighbors=3))
    )
    quiet(lambda: relevance(numbers, ["often"] * 36 + ["few"] * 4, mi_estimator=KNN(n_neighbors=3)))


def test_single_sample_is_left_out_and_mentioned(measure, people):
    target = np.array(["often"] * 20 + ["usual"] * 17 + ["pair"] * 2 + ["alone"])
    line = the_warning(lambda: measure(people[["age", "bmi"]], target))
    assert "alone" in line
    assert "pair" in line
    assert "left out" in line


def test_left_out_sample_changes_nothing(people):
    target = np.array(["often"] * 20 + ["usual"] * 19 + ["alone"])
    with pytest.warns(UnirelWarning, match="alone"):
        ours = mutual_information(people[["age"]], target, clip=False, mi_estimator=KNN(scale=None))
    assert ours == mutual_information(people[["age"]].iloc[:39], target[:39], clip=False, mi_estimator=KNN(scale=None))


def test_counts_need_no_warning_about_small_classes(people):
    target = np.array(["often"] * 38 + ["seldom"] * 2)
    quiet(lambda: relevance(people, target, mi_estimator="binned"))
    quiet(lambda: relevance(people[["smoker"]], target, mi_estimator="plugin"))


def test_column_of_names_is_ignored_with_a_warning(people, labels):
    people["person"] = [f"person {row}" for row in range(40)]
    line = the_warning(lambda: relevance(people, labels))
    assert "person" in line
    assert "ignored" in line
    with pytest.warns(UnirelWarning, match="person"):
        values = relevance(people, labels)
    assert np.isnan(values["person"])
    np.testing.assert_array_equal(values.drop("person"), relevance(people.drop(columns="person"), labels))
    assert np.isfinite(quiet(lambda: relevance(people, labels, discrete_features={"person": True}))).all()


# Fine


def test_unusual_columns_are_fine(measure, people, labels):
    people["empty"] = np.nan
    people["constant"] = 3
    people["again"] = people["age"]
    values = np.atleast_1d(quiet(lambda: measure(people, labels)))
    assert not np.isnan(values).any()


def test_more_neighbors_than_rows_is_fine(people):
    target = np.random.default_rng(1).normal(size=40)
    with pytest.warns(UnirelWarning, match="n_neighbors=100 is more than the 39 other rows; 39 are used"):
        found = relevance(people, target, mi_estimator=KNN(n_neighbors=100), target_type="continuous")
    assert np.isfinite(found).all()


def test_names_may_be_numbers(labels):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_array_equal(relevance(pd.DataFrame(X), labels), relevance(X, labels))


def test_index_of_a_frame_is_not_used(people, labels):
    shuffled = people.set_index(np.arange(40)[::-1])
    with pytest.warns(UnirelWarning, match="different indexes"):
        found = relevance(shuffled, pd.Series(labels))
    np.testing.assert_array_equal(found, relevance(people, labels))
