"""What a search returns: plain data, whichever data frames are there."""

import dataclasses
import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from unirel import BURSelector, selection_path
from unirel.documents import make_frame
from unirel.results import Ending, Selection, SelectionPath

ADDS = "adds detectable information about the target"
COLUMNS = ["step", "feature", "name", "score", "relevance", "unique_relevance", "supported"]


def make_selection(**changes):
    values = {
        "criterion": "jmi",
        "beta": 0.1,
        "order": np.array([2, 0]),
        "scores": np.array([0.5, 0.25]),
        "names": ("a", "b", "c"),
        "relevance": np.array([0.1, np.nan, 0.3]),
        "unique_relevance": np.array([0.01, np.nan, 0.02]),
        "ending": Ending.ASKED,
        "settings": {"n_neighbors": 3},
    }
    return Selection(**(values | changes))


@pytest.fixture
def path():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcde"))
    selector = BURSelector(n_features_to_select=4, discrete_features={"e": None}, include=["b"])
    return selection_path(X, X["a"] + X["b"] > 0, selector=selector, criteria=["jmi", "gsa"], betas=[0, 0.1])


# One selection


def test_length_and_names():
    assert len(make_selection()) == 2
    assert make_selection().selected_names == ["c", "a"]


def test_dict():
    assert make_selection().to_dict() == {
        "criterion": "jmi",
        "beta": 0.1,
        "complete": True,
        "ending": "asked",
        "reason": "2 features were asked for",
        "n_supported": None,
        "following": [],
        "same_as": {},
        "features": [
            dict(zip(COLUMNS, [1, 2, "c", 0.5, 0.3, 0.02, None], strict=True)),
            dict(zip(COLUMNS, [2, 0, "a", 0.25, 0.1, 0.01, None], strict=True)),
        ],
        "settings": {"n_neighbors": 3},
    }


def test_not_a_number_is_none():
    plain = make_selection(order=np.array([1]), scores=np.array([np.nan])).to_dict()["features"]
    assert plain == [dict(zip(COLUMNS, [1, 1, "b", None, None, None, None], strict=True))]


def test_what_is_supported_follows_and_was_passed_over():
    selection = make_selection(n_supported=1, following=np.array([1]), same_as={1: 2})
    content = json.loads(json.dumps(selection.to_dict(), allow_nan=False))
    assert (content["n_supported"], content["following"], content["same_as"]) == (1, ["b"], {"b": "c"})
    assert [row["supported"] for row in content["features"]] == [True, False]
    assert selection.to_frame()["supported"].tolist() == [True, False]
    html = selection._repr_html_()
    assert "supported" in html
    assert "supported" not in make_selection()._repr_html_()


@pytest.mark.parametrize(
    ("n_supported", "said"), [(0, "no step adds"), (1, "the first 1 of 2 steps add"), (2, "all steps add")]
)
def test_how_many_are_supported_is_said(n_supported, said):
    selection = make_selection(n_supported=n_supported)
    about = f"2 of 3 features by jmi, beta 0.1; {said} detectable information"
    assert repr(selection) == f"Selection({about}: 'c', 'a')"
    assert about in selection._repr_html_()


def test_without_boost_there_is_no_unique_relevance():
    plain = make_selection(unique_relevance=None)
    assert {row["unique_relevance"] for row in plain.to_dict()["features"]} == {None}
    assert plain.to_frame()["unique_relevance"].isna().all()


def test_frame():
    frame = make_selection().to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert frame["name"].tolist() == ["c", "a"]
    assert frame["step"].tolist() == [1, 2]


def test_nothing_selected():
    empty = make_selection(order=np.array([], int), scores=np.array([]), ending=Ending.INTERRUPTED)
    assert len(empty) == 0
    assert empty.to_dict()["features"] == []
    assert list(empty.to_frame().columns) == COLUMNS
    assert SelectionPath((empty,)).to_frame().empty


@pytest.mark.parametrize("result", [make_selection(), SelectionPath((make_selection(),))], ids=["selection", "path"])
def test_results_are_frozen(result):
    for field in dataclasses.fields(result):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)


# A path


def test_path_is_a_sequence_of_its_selections(path):
    assert len(path) == len(list(path)) == len(path.selections) == 4
    assert path.criteria == ["jmi", "gsa"]
    assert path.betas == [0, 0.1]


def test_a_selection_of_a_path(path):
    selection = path.selection("gsa", 0.1)
    assert (selection.criterion, selection.beta) == ("gsa", 0.1)
    assert_array_equal(path.order("gsa", 0.1), selection.order)


@pytest.mark.parametrize("asked", [("mim", 0), ("jmi", 0.5)])
def test_a_selection_that_is_not_there(path, asked):
    with pytest.raises(KeyError) as error:
        path.order(*asked)
    for part in (repr(asked[0]), repr(asked[1]), "['jmi', 'gsa']", "[0.0, 0.1]"):
        assert part in str(error.value)


def test_path_is_fit_for_json(path):
    text = json.dumps(path.to_dict(), allow_nan=False)
    back = json.loads(text)
    assert [one["criterion"] for one in back["selections"]] == ["jmi", "jmi", "gsa", "gsa"]
    assert back["selections"][0]["features"][0]["name"] == "b"
    assert "NaN" not in text


def test_a_beta_may_differ_by_rounding():
    path = SelectionPath((make_selection(criterion="mim", beta=0.1 * 3), make_selection(criterion="mim", beta=0.4)))
    assert path.selection("mim", 0.3) is path.selections[0]


@pytest.mark.parametrize(
    "parameters",
    [{"unique_relevance": np.ones(3)}, {"n_features_to_select": "auto"}, {"n_features_to_select": np.int64(2)}],
    ids=str,
)
def test_settings_are_fit_for_json(rng, parameters):
    X = rng.normal(size=(50, 3))
    selector = BURSelector("mim").set_params(**parameters)
    assert json.dumps(selector.fit(X, X[:, 0] > 0).selection_.to_dict(), allow_nan=False)


def test_numbers_that_json_does_not_have():
    selection = make_selection(settings={"edges": {"a": np.array([-np.inf, 0.5, np.inf, np.nan])}, "n": np.int64(3)})
    settings = json.loads(json.dumps(selection.to_dict(), allow_nan=False))["settings"]
    assert settings == {"edges": {"a": ["-inf", 0.5, "inf", None]}, "n": 3}


def test_frame_of_a_path(path):
    frame = path.to_frame()
    assert list(frame.columns) == ["criterion", "beta", *COLUMNS]
    assert len(frame) == sum(len(selection) for selection in path)
    part = frame[(frame["criterion"] == "gsa") & (frame["beta"] == 0.1)]
    assert part["feature"].tolist() == path.order("gsa", 0.1).tolist()
    assert part["score"].tolist() == path.selection("gsa", 0.1).scores.tolist()


# Data frames


def test_polars_where_there_is_no_pandas(path, monkeypatch):
    expected = path.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = path.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(expected.columns)
    assert frame["name"].to_list() == expected["name"].tolist()
    assert frame["unique_relevance"].null_count() == expected["unique_relevance"].isna().sum()
    assert isinstance(path.selections[0].to_frame(), pl.DataFrame)


def test_neither_library(monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError

    monkeypatch.setattr("narwhals.from_dict", missing)
    with pytest.raises(ImportError, match=r"needs pandas or polars; install one of them, or use to_dict\(\)"):
        make_frame({"a": [1]})


# What is recorded


def test_what_a_selection_records(path):
    plain, boosted = path.selection("jmi", 0), path.selection("jmi", 0.1)
    assert plain.unique_relevance is None
    assert boosted.unique_relevance.shape == (5,)
    assert np.flatnonzero(np.isnan(boosted.relevance)).tolist() == [4]
    assert boosted.names == tuple("abcde")
    assert boosted.settings["include"] == ["b"]
    assert boosted.selected_names[0] == "b"


def test_scores_belong_to_their_features(path):
    selection = path.selection("jmi", 0)
    assert selection.scores[0] == selection.relevance[selection.order[0]]


@pytest.mark.parametrize(
    ("ending", "complete", "reason"),
    [
        (Ending.ASKED, True, "2 features were asked for"),
        (Ending.EXHAUSTED, True, "all 2 features that were left are selected"),
        (
            Ending.NOTHING_ADDS,
            True,
            f"no other feature {ADDS} given the 2 selected features",
        ),
        (Ending.OUT_OF_TIME, False, "the time budget of 5 s was used up"),
        (Ending.INTERRUPTED, False, "interrupted"),
    ],
)
def test_why_it_ended(ending, complete, reason):
    selection = make_selection(ending=ending, settings={"max_seconds": 5})
    assert selection.complete is complete
    assert selection.interrupted is (ending is Ending.INTERRUPTED)
    assert selection.reason == reason
    unboosted = make_selection(ending=ending, settings={"max_seconds": 5}, unique_relevance=None)
    assert unboosted.reason.startswith(reason)
    assert unboosted.reason.endswith("this is the order without boost")


def test_a_selection_is_a_line():
    assert repr(make_selection()) == "Selection(2 of 3 features by jmi, beta 0.1: 'c', 'a')"
    many = make_selection(order=np.arange(11), names=tuple("abcdefghijk"))
    assert repr(many).endswith("'i', 'j', ...)")
