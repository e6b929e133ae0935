"""In memory, streamed and by Dask: the same order, scores and tables, bit for bit, for the same edges."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import unirel.search.stopping
from unirel import BURSelector, relevance, selection_path
from unirel.criteria import CRITERIA
from unirel.data.table import open_table
from unirel.data.weights import sample_table
from unirel.errors import UnirelWarning
from unirel.estimation.binned import Binned
from unirel.search.boost import Boost

pytest.importorskip("dask.dataframe")
pytest.importorskip("datasketches")
pq = pytest.importorskip("pyarrow.parquet")

# Where the rows are cut: one part, seven equal ones, uneven ones with empty ones among them.
CUTS = {
    "one": [],
    "seven": [60, 120, 180, 240, 300, 360],
    "uneven": [0, 1, 1, 300, 417],
}


def make_frame(n_classes=2, n_rows=420):
    rng = np.random.default_rng(n_classes)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    labels = np.arange(n_rows) % n_classes
    frame["a"] += labels / n_classes
    frame.loc[::7, "b"] = np.nan
    frame["few"] = (rng.integers(0, 3, n_rows) + labels) % 4
    frame["gaps"] = np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 3, n_rows))
    frame["text"] = rng.choice(["low", "mid", "high"], n_rows)
    frame.loc[frame.index[labels == 0][::2], "text"] = "zero"
    frame.loc[::11, "text"] = None
    frame["flag"] = rng.random(n_rows) < 0.4
    frame["weight"] = rng.random(n_rows) * 3
    frame["y"] = np.array([f"class {label:02}" for label in range(n_classes)])[rng.permutation(labels)]
    frame.loc[::2, "y"] = np.array([f"class {label:02}" for label in range(n_classes)])[labels[::2]]
    return frame


def parts_of(frame, cuts):
    ends = [*cuts, len(frame)]
    return [frame.iloc[start:end] for start, end in zip([0, *cuts], ends, strict=True)]


def dataset_of(frame, cuts, folder):
    import pyarrow as pa
    import pyarrow.dataset as ds

    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    for number, part in enumerate(parts_of(frame, cuts)):
        pq.write_table(pa.Table.from_pandas(part, schema, preserve_index=False), folder / f"{number:02}.parquet")
    return ds.dataset(folder)


def dask_of(frame, cuts):
    import dask
    import dask.dataframe as dd

    return dd.from_delayed([dask.delayed(part) for part in parts_of(frame, cuts)], meta=frame.iloc[:0])


@pytest.fixture(autouse=True)
def _in_one_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(found, expected):
    assert [one.criterion for one in found] == [one.criterion for one in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours.order, theirs.order)
        assert_array_equal(ours.scores, theirs.scores)
        assert_array_equal(ours.relevance, theirs.relevance)
        if theirs.unique_relevance is not None:
            assert_array_equal(ours.unique_relevance, theirs.unique_relevance)


@pytest.mark.parametrize(("n_classes", "cuts", "weighted"), [(2, "uneven", True), (26, "seven", False)])
def test_all_criteria_plain_and_boosted(n_classes, cuts, weighted, tmp_path):
    frame = make_frame(n_classes)
    weights, name = (frame["weight"], "weight") if weighted else (None, None)
    frame = frame if weighted else frame.drop(columns="weight")
    dataset, ddf = dataset_of(frame, CUTS[cuts], tmp_path), dask_of(frame, CUTS[cuts])
    edges = BURSelector("mim", 2, beta=0).fit(dataset, "y", name).edges_
    features = frame.drop(columns=["y", *([name] if name else [])])
    selector = BURSelector(
        n_features_to_select=4, unique_relevance=Boost(max_samples=150), mi_estimator=Binned(edges=edges)
    )
    options = {"selector": selector, "criteria": list(CRITERIA), "betas": [0, 0.5]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
        expected = selection_path(features, frame["y"], sample_weight=weights, **options)
        assert_same(selection_path(dataset, "y", sample_weight=name, **options), expected)
        assert_same(selection_path(ddf, "y", sample_weight=name, **options), expected)


@pytest.mark.parametrize("cuts", CUTS)
def test_the_cut_does_not_matter_and_small_tables_have_the_edges_of_memory(cuts, tmp_path):
    frame = make_frame().drop(columns="weight")
    expected = BURSelector("jmi", 5).fit(frame.drop(columns="y"), frame["y"])
    for X, y in ((dataset_of(frame, CUTS[cuts], tmp_path), "y"), (dask_of(frame, CUTS[cuts]), "y")):
        found = BURSelector("jmi", 5).fit(X, y)
        assert_same([found.selection_], [expected.selection_])
        assert tuple(found.columns_) == tuple(expected.columns_)
        assert_array_equal(found.support_, expected.support_)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_relevance_of_numbers_and_of_a_continuous_target(strategy, tmp_path):
    frame = make_frame().drop(columns=["weight", "y"])
    options = {"mi_estimator": Binned(strategy=strategy)}
    expected = relevance(frame.drop(columns="a"), frame["a"], **options)
    assert_array_equal(relevance(dataset_of(frame, CUTS["uneven"], tmp_path), "a", **options), expected)
    ddf = dask_of(frame, CUTS["seven"])
    assert_array_equal(relevance(ddf.drop(columns="a"), ddf["a"], **options), expected)
    if strategy == "quantile":
        assert_array_equal(relevance(ddf, ddf["a"]), expected)  # "auto" counts rows that are in parts


@pytest.mark.filterwarnings("ignore:read 'day'")
def test_dates_count_from_the_same_day_in_all_parts():
    """They were days since the first of each part, so that a date told nothing about what came before or after it."""
    import dask.dataframe as dd

    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=200), "y": np.arange(200) > 100})
    expected = relevance(frame[["day"]], frame["y"], mi_estimator="binned")
    parts = dd.from_pandas(frame, npartitions=4)
    assert_array_equal(relevance(parts[["day"]], parts["y"], mi_estimator="binned"), expected)
    texts = parts.assign(day=parts["day"].dt.strftime("%d.%m.%Y"))
    with pytest.raises(ValueError, match="'day' is to be continuous, but holds what is no number"):
        relevance(texts[["day"]], texts["y"], mi_estimator="binned", discrete_features={"day": False})


def test_a_boost_of_a_continuous_target_takes_the_same_rows(tmp_path):
    frame = make_frame().drop(columns=["weight", "y"])
    options = {"unique_relevance": Boost(max_samples=100), "n_features_to_select": 4}
    expected = BURSelector(**options).fit(frame.drop(columns="a"), frame["a"])
    found = BURSelector(**options).fit(dataset_of(frame, CUTS["uneven"], tmp_path), "a")
    assert_same([found.selection_], [expected.selection_])


@pytest.mark.parametrize("most_rows", [100, 20_000])
def test_auto_ends_where_it_ends_in_memory(most_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(unirel.search.stopping, "_MOST_ROWS", most_rows)
    frame = make_frame().drop(columns="weight")
    expected = BURSelector("jmi", "auto").fit(frame.drop(columns="y"), frame["y"]).selection_
    assert 0 < len(expected) < frame.shape[1] - 1
    for X in (dataset_of(frame, CUTS["uneven"], tmp_path), dask_of(frame, CUTS["seven"])):
        found = BURSelector("jmi", "auto").fit(X, "y").selection_
        assert_same([found], [expected])
        assert found.ending is expected.ending


def test_include_exclude_and_time_are_as_in_memory(tmp_path):
    frame = make_frame().drop(columns="weight")
    selector = BURSelector(n_features_to_select=4, include=["flag"], exclude=["few", "c"])
    options = {"criteria": "jmi", "betas": 0}
    expected = selection_path(frame.drop(columns="y"), frame["y"], selector=selector, **options)
    dataset = dataset_of(frame, CUTS["uneven"], tmp_path)
    assert_same(selection_path(dataset, "y", selector=selector, **options), expected)
    selector.set_params(max_seconds=0)
    stopped = selection_path(dask_of(frame, CUTS["seven"]), "y", selector=selector, **options)
    assert [len(one) for one in stopped] == [0]
    assert not stopped.selections[0].complete


def test_a_dask_array(tmp_path):
    import dask.array as da

    X = make_frame()[["a", "b", "c", "few", "gaps"]].to_numpy()
    y = np.arange(len(X)) % 3
    expected = BURSelector("jmim", 3).fit(X, y)
    chunks = ((100, 0, 7, 313), (2, 3))
    found = BURSelector("jmim", 3).fit(da.from_array(X, chunks), da.from_array(y, 50))
    assert_same([found.selection_], [expected.selection_])
    reduced = found.transform(da.from_array(X, chunks))
    assert isinstance(reduced, da.Array)
    assert_array_equal(reduced.compute(), expected.transform(X))
    assert found.n_features_in_ == 5
    assert not hasattr(found, "feature_names_in_")


def test_indexes_that_differ_are_warned_of_as_in_memory():
    import dask.dataframe as dd

    frame = make_frame().drop(columns="weight")
    ddf, other = (
        dd.from_pandas(frame, npartitions=3),
        dd.from_pandas(frame["y"].set_axis(frame.index + 1), npartitions=3),
    )
    message = "X and y have different indexes; their rows are matched by position"
    with pytest.warns(UnirelWarning, match=message):
        expected = relevance(frame.drop(columns="y"), frame["y"].set_axis(frame.index + 1), mi_estimator="binned")
    with pytest.warns(UnirelWarning, match=message):
        assert_array_equal(relevance(ddf.drop(columns="y"), other), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnirelWarning)
        relevance(ddf, ddf["y"])


def test_names_that_are_whole_numbers():
    frame = make_frame().drop(columns="weight")
    names = [4, 3, 2, 1, 0, 5, 6, "y"]
    frame.columns = names
    ddf = dask_of(frame, CUTS["seven"])
    found = BURSelector("mim", 2, beta=0, include=[2], exclude=[4]).fit(ddf, "y")
    assert found.order_[0] == 2
    assert not found.support_[0]
    assert list(found.transform(ddf).columns) == [names[place] for place in np.flatnonzero(found.support_)]


def test_transform_stays_lazy(tmp_path):
    import dask.dataframe as dd

    frame = make_frame().drop(columns="weight")
    ddf = dask_of(frame, CUTS["seven"])
    selector = BURSelector("mim", 2, beta=0).fit(ddf, ddf["y"])
    reduced = selector.transform(ddf)
    assert isinstance(reduced, dd.DataFrame)
    assert list(reduced.columns) == selector.get_feature_names_out().tolist()
    assert len(reduced) == len(frame)
    scanner = selector.transform(dataset_of(frame, [], tmp_path))
    assert scanner.to_table().column_names == list(reduced.columns)
    with pytest.raises(ValueError, match="has no column"):
        selector.transform(ddf[["flag"]])


def test_weights_are_exact_whatever_the_cut(rng):
    from unirel.data.weights import sum_weights

    given = rng.random(1000) * 7
    weights = sum_weights(given).in_rows(given)
    assert weights.sum() == weights[::-1].sum() == weights[:333].sum() + weights[333:].sum()
    whole = rng.integers(0, 9, 100).astype(float)
    assert_array_equal(sum_weights(whole).in_rows(whole), whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sample_has_the_same_rows_and_keeps_a_class_of_little_weight(weighted, rng, tmp_path):
    frame = pd.DataFrame({"a": rng.normal(size=420), "weight": rng.random(420) + 0.5, "y": np.arange(420) % 3})
    frame.loc[frame["y"] == 2, "weight"] *= 1e-6
    weights = frame["weight"] if weighted else None
    features, target = frame[["a"]], frame["y"]
    dataset = dataset_of(frame if weighted else frame[["a", "y"]], CUTS["uneven"], tmp_path)
    here, _ = open_table(features, target)
    parts, _ = open_table(dataset, "y", sample_weight="weight" if weighted else None)
    samples = [
        sample_table(table, np.array([0]), 90, np.random.default_rng(1), own)
        for table, own in ((here, weights), (parts, None))
    ]
    assert len(samples[0].classes) == 3
    assert_array_equal(*(sample.continuous_block([0]) for sample in samples))
    assert_array_equal(*(sample.codes(sample.target) for sample in samples))
