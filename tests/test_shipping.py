"""A selection in production: a transformer of scikit-learn without unirel, and a document that is read back exactly."""

import json
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from unirel import Binned, BURSelector, BURSelectorCV, Selection
from unirel.results import Cause, Ending

HOSTILE = ["plain", 'quo"te', "new\nline", "nul\0", "\ud800 alone", "é ü 漢 🙂", "</script>", "", "__proto__", "0"]


@pytest.fixture
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture
def fitted(wine):
    return BURSelector(n_features_to_select=4).fit(*wine)


def assert_same(found, expected):
    """Equal in all fields, to the last bit and in their types."""
    for field in fields(Selection):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        assert type(one) is type(other), field.name
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, field.name
            assert one.tobytes() == other.tobytes(), field.name
        else:
            assert one == other, field.name


# Documents


def test_a_selection_comes_back_exactly(wine):
    X, y = wine
    selector = BURSelector("jmi", "auto", include=["ash", "h*"], mi_estimator=Binned(n_bins=5))
    selection = selector.fit(X, y, np.linspace(0.5, 2, len(y))).selection_
    assert_same(Selection.from_json(selection.to_json()), selection)
    assert_same(Selection.from_json(selection.to_json().encode()), selection)


def test_so_does_one_from_a_file(fitted, tmp_path):
    path = tmp_path / "selection.json"
    path.write_text(fitted.selection_.to_json(), encoding="utf-8")
    assert_same(Selection.from_json(path), fitted.selection_)


def test_the_document_is_strict_json_for_readers_too(fitted):
    def refuse(constant):
        raise AssertionError(constant)

    content = json.loads(fitted.selection_.to_json(), parse_constant=refuse)
    assert (content["schema"], content["version"]) == ("unirel/selection", 1)
    assert [row["name"] for row in content["features"]] == fitted.selection_.selected_names


def numbers(size):
    return st.lists(st.floats(allow_nan=False), min_size=size, max_size=size).map(np.array)


@given(st.data())
def test_any_fields_come_back(data):
    names = tuple(data.draw(st.lists(st.text() | st.sampled_from(HOSTILE), min_size=3, max_size=9, unique=True)))
    n, some = len(names), data.draw(st.integers(0, 3))
    order = np.array(data.draw(st.permutations(range(n))), np.intp)
    relevance = data.draw(numbers(n))
    relevance[0] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0, 5e-324]))
    selection = Selection(
        criterion=data.draw(st.text()),
        beta=data.draw(st.floats(0, 1)),
        order=order[:some],
        scores=data.draw(numbers(some)),
        names=names,
        relevance=relevance,
        unique_relevance=data.draw(st.none() | numbers(n)),
        ending=data.draw(st.sampled_from(Ending)),
        settings=data.draw(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.booleans())),
        causes=tuple(data.draw(st.lists(st.sampled_from(Cause), min_size=some, max_size=some))),
        sample_weight=data.draw(st.none() | numbers(5)),
        n_supported=data.draw(st.none() | st.integers(0, 3)),
        following=order[some:],
        same_as={int(order[0]): int(order[1])},
        for_class=tuple(data.draw(st.lists(st.none() | st.text() | st.integers(), min_size=some, max_size=some))),
    )
    assert_same(Selection.from_json(selection.to_json()), selection)


def test_every_field_is_written(fitted):
    written = json.loads(fitted.selection_.to_json())["fields"]
    assert set(written) == {field.name for field in fields(Selection)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no selection; write one with"),
        ("[1, 2]", "is no selection"),
        ("selection.json", r"a file is read by its pathlib\.Path\) is no selection"),
        ("[" * 100_000, "is no selection"),
        ('{"schema": "unirel/relevance", "version": 1}', "is no selection"),
        ('{"schema": "unirel/selection", "version": 2}', "has version 2, this program reads 1; update unirel"),
        ('{"schema": "unirel/selection", "version": 1, "features": []}', "written by an older version"),
        (b"\x80\x04\x95\xff\xfe", "is no selection"),
        (pickle.dumps({"schema": "unirel/selection"}), "is no selection"),
    ],
)
def test_what_is_no_selection_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Selection.from_json(text)


def test_a_file_is_named(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match=r"other\.json' is no selection"):
        Selection.from_json(tmp_path / "other.json")
    with pytest.raises(FileNotFoundError):
        Selection.from_json(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("order", [0, 99], "do not belong together"),
        ("order", [-1, 0, 1, 2], "do not belong together"),
        ("order", [1, 1, 2, 3], "do not belong together"),
        ("order", [0.5, 1, 2, 3], "order of the selection cannot be read"),
        ("order", [True, 1, 2, 3], "order of the selection cannot be read"),
        ("order", [10**30, 1, 2, 3], "order of the selection cannot be read"),
        ("order", "0123", "order of the selection cannot be read"),
        ("scores", [1.0], "do not belong together"),
        ("scores", ["one", 1, 1, 1], "scores of the selection cannot be read"),
        ("relevance", [1.0], "do not belong together"),
        ("unique_relevance", [1.0], "do not belong together"),
        ("names", ["a", "a"], "do not belong together"),
        ("names", [1, 2], "names of the selection cannot be read"),
        ("ending", "never", "ending of the selection cannot be read"),
        ("causes", ["asked"], "causes of the selection cannot be read"),
        ("causes", ["criterion"], "do not belong together"),
        ("same_as", {"99": 1}, "do not belong together"),
        ("same_as", {"one": 1}, "same_as of the selection cannot be read"),
        ("settings", [], "settings of the selection cannot be read"),
        ("beta", "much", "beta of the selection cannot be read"),
        ("beta", None, "beta of the selection cannot be read"),
        ("names", ..., "names of the selection is missing"),
    ],
)
def test_what_was_changed_is_refused(fitted, field, value, words):
    content = json.loads(fitted.selection_.to_json())
    if value is ...:
        del content["fields"][field]
    else:
        content["fields"][field] = value
    with pytest.raises(ValueError, match=words):
        Selection.from_json(json.dumps(content))


def test_fields_that_came_later_have_their_defaults(fitted):
    """A document of this version that an older program has written."""
    content = json.loads(fitted.selection_.to_json())
    del content["fields"]["for_class"]
    assert_same(Selection.from_json(json.dumps(content)), replace(fitted.selection_, for_class=()))


# A selector made of it


def test_a_restored_selector_is_fitted(wine, fitted):
    X, _ = wine
    restored = BURSelector.from_selection(Selection.from_json(fitted.selection_.to_json()))
    pd.testing.assert_frame_equal(restored.transform(X), fitted.transform(X))
    pd.testing.assert_frame_equal(restored.transform(X.iloc[:, ::-1], by_name=True), fitted.transform(X))
    assert restored.transform(pl.from_pandas(X)).columns == fitted.get_feature_names_out().tolist()
    assert restored.n_features_in_ == 13
    for name in ("feature_names_in_", "support_", "ranking_", "order_", "selection_scores_", "relevance_"):
        assert_array_equal(getattr(restored, name), getattr(fitted, name))
    assert_array_equal(restored.get_feature_names_out(), fitted.get_feature_names_out())
    assert_array_equal(restored.get_support(indices=True), fitted.get_support(indices=True))
    with pytest.raises(ValueError, match="feature names should match"):
        restored.transform(X.rename(columns={"ash": "ashes"}))


def test_one_of_arrays_takes_arrays():
    X, y = load_iris(return_X_y=True)
    fitted = BURSelector(n_features_to_select=2).fit(X, y)
    restored = BURSelector.from_selection(Selection.from_json(fitted.selection_.to_json()))
    assert_array_equal(restored.transform(X), fitted.transform(X))
    assert not hasattr(restored, "feature_names_in_")
    assert_array_equal(restored.get_feature_names_out(), fitted.get_feature_names_out())
    assert_array_equal(restored.inverse_transform(restored.transform(X)), fitted.inverse_transform(fitted.transform(X)))
    with pytest.raises(ValueError, match="X has 3 features"):
        restored.transform(X[:, :3])


def test_it_can_be_fitted_again(wine):
    fitted = BURSelector("jmi", 3, beta=0.2, include=["ash"]).fit(*wine)
    restored = BURSelector.from_selection(Selection.from_json(fitted.selection_.to_json()))
    assert (restored.criterion, restored.n_features_to_select, restored.include) == ("jmi", 3, ["ash"])
    assert_array_equal(clone(restored).fit(*wine).order_, fitted.order_)


def test_settings_of_a_later_version_are_left_out(fitted):
    selection = replace(fitted.selection_, settings={**fitted.selection_.settings, "of_tomorrow": 1})
    assert BURSelector.from_selection(selection).get_params() == fitted.get_params() | {"include": [], "exclude": []}


# A transformer of scikit-learn


def test_columns_of_a_frame_are_passed_by_name(wine, fitted):
    X, _ = wine
    plain = fitted.to_sklearn()
    assert type(plain) is ColumnTransformer
    assert_array_equal(plain.transform(X), fitted.transform(X))
    assert_array_equal(plain.get_feature_names_out(), fitted.get_feature_names_out())
    assert_array_equal(plain.feature_names_in_, fitted.feature_names_in_)
    pd.testing.assert_frame_equal(plain.set_output(transform="pandas").transform(X), fitted.transform(X))
    assert_array_equal(plain.transform(X.iloc[:, ::-1]), fitted.transform(X))


def test_columns_of_an_array_are_passed_by_position():
    X, y = load_iris(return_X_y=True)
    fitted = BURSelectorCV(LogisticRegression(), max_features=2, betas=[0]).fit(X, y)
    plain = fitted.to_sklearn()
    assert_array_equal(plain.transform(X), fitted.transform(X))
    assert plain.n_features_in_ == 4
    with pytest.raises(ValueError, match="X has 3 features"):
        plain.transform(X[:, :3])


def test_texts_categories_and_missing_values_pass(rng):
    X = pd.DataFrame(
        {"n": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)), "t": rng.choice(["a", None], 90)}
    )
    X["c"] = pd.Categorical(rng.choice(["u", "v"], 90))
    fitted = BURSelector(n_features_to_select=3).fit(X, X["c"] == "u").set_output(transform="pandas")
    pd.testing.assert_frame_equal(fitted.to_sklearn().transform(X), X)
    polars = fitted.set_output(transform="polars").to_sklearn().transform(pl.from_pandas(X))
    assert polars.equals(pl.from_pandas(X))


def test_names_that_are_no_texts_and_sparse_matrices_are_taken_by_position(rng):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=[7, 5, 3])
    fitted = BURSelector(n_features_to_select=2).fit(X, X[5] > 0)
    assert_array_equal(fitted.to_sklearn().transform(X), fitted.transform(X))
    counts = sparse.csr_matrix(rng.poisson(0.3, (60, 5)))
    fitted = BURSelector(n_features_to_select=2).fit(counts, rng.integers(0, 2, 60))
    assert_array_equal(fitted.to_sklearn().transform(counts), fitted.transform(counts).toarray())


def test_it_is_cloned_and_fitted_in_a_pipeline(wine, fitted):
    X, y = wine
    model = make_pipeline(clone(fitted.to_sklearn()), LogisticRegression(max_iter=5000)).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")
def test_nothing_selected_passes_nothing(rng):
    X = rng.normal(size=(50, 3))
    fitted = BURSelector(n_features_to_select="auto").fit(X, rng.integers(0, 2, 50))
    assert len(fitted.order_) == 0
    assert fitted.to_sklearn().transform(X).shape == (50, 0)


WITHOUT = """
import pickle, sys
sys.modules["unirel"] = None  # to import it is an error
with open(sys.argv[1], "rb") as file:
    plain, X, expected = pickle.load(file)
from sklearn.base import clone
assert (plain.transform(X) == expected).all()
assert (clone(plain).fit(X).transform(X) == expected).all()
assert not [name for name in sys.modules if name.startswith("unirel.")]
print("passed")
"""


def test_it_needs_no_unirel_where_it_is_used(wine, fitted, tmp_path):
    X, _ = wine
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps((fitted.to_sklearn(), X, fitted.transform(X).to_numpy())))
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "plain.pkl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("passed\n", "")


@pytest.mark.skipif(find_spec("skl2onnx") is None, reason="skl2onnx is not installed")
def test_it_converts_to_onnx(fitted):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    inputs = [(name, FloatTensorType([None, 1])) for name in fitted.feature_names_in_]
    assert to_onnx(fitted.to_sklearn(), initial_types=inputs).graph.node
