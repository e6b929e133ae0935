"""Normal scores in memory, streamed and by Dask: the same order, and the same scores but for the order of sums."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import unirel.data.chunks
from tests.data.parts.test_equal import CUTS, dask_of, dataset_of, make_frame
from unirel import BURSelector, mutual_information, relevance, selection_path, unique_relevance
from unirel.criteria import CRITERIA
from unirel.errors import UnirelWarning
from unirel.search.boost import Boost

pytest.importorskip("dask.dataframe")
pytest.importorskip("datasketches")

NEAR = {"rtol": 0, "atol": 1e-12}
SUPPORTED = [name for name in CRITERIA if name not in ("disr", "njmim")]  # These need counts.


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Few columns come together at a time, and few samples are multiplied at a time."""
    import dask

    monkeypatch.setattr(unirel.data.chunks, "_VALUES", 900)
    monkeypatch.setattr(unirel.data.chunks, "_STRETCH", 2000)
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)
        yield


def frames_of(target, weighted):
    """A frame with numbers, gaps, levels and texts, its target and the name of its weights."""
    frame = make_frame({"two classes": 2, "many classes": 26}.get(target, 2))
    frame["constant"] = 1.5
    if target == "continuous":
        frame["y"] = frame["a"] + np.where(frame["text"] == "low", 1.0, 0.0) + 0.1 * frame["few"]
    return frame if weighted else frame.drop(columns="weight")


@pytest.mark.parametrize(
    ("target", "weighted", "cuts"),
    [
        ("two classes", False, "one"),
        ("two classes", True, "uneven"),
        ("many classes", False, "seven"),
        ("continuous", False, "uneven"),
        ("continuous", True, "seven"),
    ],
)
def test_all_criteria(target, weighted, cuts, tmp_path):
    frame, name = frames_of(target, weighted), "weight" if weighted else None
    selector = BURSelector(n_features_to_select=6, mi_estimator="gaussian")
    options = {"selector": selector, "criteria": SUPPORTED, "betas": 0}
    features = frame.drop(columns=["y", *([name] if name else [])])
    expected = selection_path(features, frame["y"], sample_weight=frame[name] if name else None, **options)
    for X in (dataset_of(frame, CUTS[cuts], tmp_path), dask_of(frame, CUTS[cuts])):
        found = selection_path(X, "y", sample_weight=name, **options)
        assert [one.criterion for one in found] == SUPPORTED
        for ours, theirs in zip(found, expected, strict=True):
            assert_array_equal(ours.order, theirs.order)
            assert_allclose(ours.scores, theirs.scores, **NEAR)
            assert_allclose(ours.relevance, theirs.relevance, **NEAR)


def test_the_default_boost(tmp_path):
    frame = frames_of("two classes", False)
    boost = Boost(max_samples=150)
    options = {"mi_estimator": "gaussian", "n_features_to_select": 5, "unique_relevance": boost}
    expected = BURSelector(**options).fit(frame.drop(columns="y"), frame["y"])
    for X in (dataset_of(frame, CUTS["uneven"], tmp_path), dask_of(frame, CUTS["seven"])):
        found = BURSelector(**options).fit(X, "y")
        assert_array_equal(found.order_, expected.order_)
        assert_allclose(found.selection_scores_, expected.selection_scores_, **NEAR)


@pytest.mark.parametrize("target", ["two classes", "continuous"])
def test_measures(target, tmp_path):
    frame = frames_of(target, False)
    features = frame.drop(columns="y")
    for X in (dataset_of(frame, CUTS["uneven"], tmp_path), dask_of(frame, CUTS["seven"])):
        for clip in (True, False):
            options = {"mi_estimator": "gaussian", "clip": clip}
            assert_allclose(relevance(X, "y", **options), relevance(features, frame["y"], **options), **NEAR)
        whole = mutual_information(features, frame["y"], mi_estimator="gaussian")
        assert mutual_information(X, "y", mi_estimator="gaussian") == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("n_rows", [420, 40])
def test_unique_relevance(n_rows, tmp_path):
    """With few rows the ridge of Ledoit and Wolf is found from sums, too."""
    frame = frames_of("two classes", False).iloc[:n_rows]
    expected = unique_relevance(frame.drop(columns="y"), frame["y"], method="gaussian")
    for X in (dataset_of(frame, [10, 25], tmp_path), dask_of(frame, [0, 7, 30])):
        assert_allclose(unique_relevance(X, "y", method="gaussian"), expected, **NEAR)
    with pytest.raises(ValueError, match="X is in parts"):
        unique_relevance(X, "y")


def test_sums_come_in_the_order_of_the_parts():
    """Two runs are equal in every bit, however the cluster shares out its work."""
    ddf = dask_of(make_frame().drop(columns="weight"), CUTS["seven"])
    options = {"mi_estimator": "gaussian", "beta": 0, "n_features_to_select": 5}
    first, second = (BURSelector("jmi", **options).fit(ddf, "y").selection_scores_ for _ in range(2))
    assert_array_equal(first, second)
