"""Groups of columns: one feature each, with the columns behind it; the twin is a table with the category itself."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from unirel import BURSelector, BURSelectorCV, Selection, redundancy_analysis, selection_path, selection_stability
from unirel.criteria import CRITERIA
from unirel.data.groups import beginning_of, find_one_hot, grouped
from unirel.data.table import Table
from unirel.evaluation import compare


@pytest.fixture
def frame(rng):
    """A category, numbers and whether something holds; the category is the second column."""
    soil = rng.integers(0, 7, 300)
    X = pd.DataFrame({"height": rng.standard_normal(300), "soil": pd.Categorical.from_codes(soil, list("abcdefg"))})
    X["slope"] = rng.standard_normal(300)
    X["shade"] = X["slope"] + rng.standard_normal(300) > 0
    y = (soil % 3 + (X["height"] > 0) + (rng.random(300) < 0.2)).to_numpy() % 3
    return X, y


def one_hot(X):
    """The category as columns of 0 and 1 where it stood."""
    blocks = [pd.get_dummies(X["soil"], prefix="soil", dtype=int), X[["slope", "shade"]]]
    return pd.concat([X[["height"]], *blocks], axis=1)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exclusive_columns_are_the_category_they_were_made_from_bit_for_bit(frame, criterion):
    X, y = frame
    twin = BURSelector(criterion, n_features_to_select="all").fit(X, y).selection_
    found = BURSelector(criterion, n_features_to_select="all", groups={"soil": "soil_*"}).fit(one_hot(X), y).selection_
    assert found.selected_names == twin.selected_names
    assert found.scores.tolist() == twin.scores.tolist()
    assert found.relevance[found.order].tolist() == twin.relevance[twin.order].tolist()
    assert found.causes == twin.causes
    assert found.n_supported == twin.n_supported


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("mi_estimator", ["binned", "knn"])
def test_whatever_the_target_and_the_estimator(frame, target, mi_estimator, rng):
    X, y = frame
    y = y if target == "classes" else y + rng.standard_normal(len(y))
    selector = BURSelector(n_features_to_select="auto", mi_estimator=mi_estimator)
    twin = selector.fit(X, y).selection_
    found = clone(selector).set_params(groups={"soil": "soil_*"}).fit(one_hot(X), y).selection_
    assert found.selected_names == twin.selected_names
    assert found.scores.tolist() == twin.scores.tolist()


def test_a_missing_category_is_a_level_of_its_own(frame):
    X, y = frame
    X = X.assign(soil=X["soil"].where(np.arange(len(X)) % 9 > 0))
    twin = BURSelector("mim", beta=0, n_features_to_select="all").fit(X, y)
    found = BURSelector("mim", beta=0, n_features_to_select="all", groups={"soil": "soil_*"}).fit(one_hot(X), y)
    assert found.selection_.scores.tolist() == twin.selection_.scores.tolist()


def test_results_name_groups_and_transform_gives_their_columns(frame):
    X, y = frame
    X, members = one_hot(X), [f"soil_{letter}" for letter in "abcdefg"]
    selector = BURSelector(n_features_to_select=2, groups={"soil": members}).fit(X, y)
    selection = selector.selection_
    assert selection.selected_names == ["soil", "height"]
    assert selection.members == {"soil": tuple(members)}
    assert selection.columns == [list(range(1, 8)), [0]]
    assert repr(selection).startswith("Selection(2 of 4 features by cmim")
    assert selection.to_frame()["columns"].tolist() == [members, ["height"]]
    assert selector.order_.tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert len(selector.selection_scores_) == 8
    assert selector.selection_scores_[0] == selector.selection_scores_[6]
    assert selector.get_feature_names_out().tolist() == list(selector.transform(X)) == ["height", *members]
    assert selector.ranking_.tolist() == [1] * 8 + [3, 2] or selector.ranking_.tolist() == [1] * 8 + [2, 3]
    assert len(set(selector.relevance_[1:8])) == 1
    assert selector.columns_[1].name == "soil_a"
    shuffled = X[X.columns[::-1]]
    assert list(selector.transform(shuffled, by_name=True)) == ["height", *members]
    assert selector.to_sklearn().fit(X).transform(X).shape == (300, 8)
    assert selector.inverse_transform(selector.transform(X).to_numpy(float)).shape == X.shape


def test_a_selection_with_groups_is_read_back_and_transforms(frame):
    X, y = frame
    X = one_hot(X)
    selector = BURSelector(n_features_to_select=2, groups={"soil": "soil_*"}).fit(X, y)
    again = Selection.from_json(selector.selection_.to_json())
    assert again.members == selector.selection_.members
    restored = BURSelector.from_selection(again)
    pd.testing.assert_frame_equal(restored.transform(X), selector.transform(X))
    assert restored.feature_names_in_.tolist() == list(X)
    content = json.loads(selector.selection_.to_json())
    content["fields"]["members"]["soil"][2] = "other"
    with pytest.raises(ValueError, match="do not belong together"):
        Selection.from_json(json.dumps(content))


def test_groups_by_positions_of_an_array_and_in_another_order(frame):
    X, y = frame
    X = one_hot(X)
    named = BURSelector(n_features_to_select=3, groups={"soil": "soil_*"}).fit(X, y)
    numbered = BURSelector(n_features_to_select=3, groups={"soil": range(7, 0, -1)}).fit(X.to_numpy(float), y)
    assert numbered.order_.tolist() == named.order_.tolist()
    assert numbered.selection_.names[:3] == ("x0", "soil", "x2")


def test_other_columns_are_one_by_their_joint_levels(rng):
    """Two features that only tell something together, beside one that tells a little: as one they come first."""
    signs = rng.integers(0, 2, (2, 1000))
    noise = rng.standard_normal((4, 1000))
    y = signs[0] ^ signs[1]
    X = np.column_stack([*signs, noise[0] + 0.5 * y, *noise[1:]])
    assert BURSelector("mim", beta=0, n_features_to_select=1).fit(X, y).order_.tolist() == [2]
    selector = BURSelector("mim", beta=0, n_features_to_select=1, groups={"both": [0, 1]}).fit(X, y)
    assert selector.order_.tolist() == [0, 1]
    joint = BURSelector("mim", beta=0, n_features_to_select=1).fit(np.column_stack([2 * signs[0] + signs[1], X]), y)
    assert selector.selection_.scores[0] == pytest.approx(joint.selection_.scores[0], abs=1e-12)


def joint_levels(columns):
    """How many combinations of values there are, counted one by one."""
    return len(set(zip(*columns, strict=True)))


def test_numbers_are_cut_into_as_many_bins_as_leave_enough_rows(rng):
    X = rng.standard_normal((400, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    table = grouped(Table.from_data(X, y), {"pair": [0, 1], "alone": [2]})
    pair, alone = table.columns[0], table.columns[2]
    assert (pair.name, pair.kind, pair.reason) == ("pair", "discrete", "joint levels of 2 columns, numbers in 8 bins")
    assert alone.n_levels == 8
    edges = [np.quantile(column, np.arange(1, 8) / 8) for column in X[:, :2].T]
    cells = [np.searchsorted(own, column, "right") for own, column in zip(edges, X[:, :2].T, strict=True)]
    assert pair.n_levels == joint_levels(cells)
    three = grouped(Table.from_data(X, y), {"three": [0, 1, 2]}).columns[0]
    assert three.reason == "joint levels of 3 columns, numbers in 4 bins"
    assert three.n_levels * 5 <= 400
    assert BURSelector(n_features_to_select=1, groups={"pair": [0, 1]}).fit(X, y).order_.tolist() == [0, 1]


def test_parts_of_the_rows_have_the_same_groups(frame):
    """Cross-validation, stability and redundancy select from some of the rows."""
    X, y = frame
    X, model = one_hot(X), LogisticRegression()
    selector = BURSelector(groups={"soil": "soil_*"}, include=["soil"])
    found = BURSelectorCV(model, selector, betas=[0.0, 0.5], max_features=3, cv=3).fit(X, y)
    assert found.selection_.selected_names[0] == "soil"
    assert found.get_support()[1:8].all()
    assert found.selection_.members == {"soil": tuple(X.columns[1:8])}
    path = selection_path(X, y, selector=selector, criteria=["mim", "jmi"], betas=[0, 0.5])
    assert [one.selected_names[0] for one in path] == ["soil"] * 4
    stable = selection_stability(X, y, selector=selector.set_params(n_features_to_select=2), n_subsamples=3)
    assert stable.frequency[1:8].tolist() == [1.0] * 7
    split = redundancy_analysis(
        X, y, selector=BURSelector("gsa", beta=0, groups={"soil": "soil_*"}, mi_estimator="knn")
    )
    assert 1 in split.order
    assert set(split.order.tolist()).isdisjoint(range(2, 8))


def test_levels_that_are_filled_just_well_enough_in_all_rows_are_taken_in_folds_too(rng):
    questions = rng.integers(0, 3, (3, 140))
    X = np.column_stack([*questions, rng.standard_normal(140)])
    y = questions.sum(axis=0) > 3
    selector = BURSelector(groups={"answers": [0, 1, 2]}, beta=0)
    assert selector.fit(X, y).selection_.selected_names[0] == "answers"
    assert BURSelectorCV(LogisticRegression(), selector, betas=[0.0], cv=3).fit(X, y).support_[:3].all()


def test_groups_are_included_and_excluded_by_their_name_or_all_of_their_columns(frame):
    X, y = frame
    X = one_hot(X)

    def names(**parameters):
        selector = BURSelector(n_features_to_select=2, groups={"soil": "soil_*"}, **parameters)
        return selector.fit(X, y).selection_.selected_names

    assert names(include=["shade"]) == ["shade", "soil"]
    assert names(include=["slope", "soil"]) == ["slope", "soil"]
    assert "soil" not in names(exclude=["soil"])
    assert "soil" not in names(exclude=["soil_*"])
    with pytest.raises(ValueError, match="'soil_b' is in the group 'soil', which is selected or left as one"):
        names(exclude=["soil_b"])
    with pytest.raises(ValueError, match="'soil_a' is in the group 'soil'"):
        names(include=[1])


def test_columns_that_are_one_hot_are_found(frame, rng):
    X, y = frame
    X = one_hot(X).assign(flag_a=rng.integers(0, 2, 300), flag_b=rng.integers(0, 2, 300))
    table = Table.from_data(X, y)
    assert find_one_hot(table) == {"soil_": [f"soil_{letter}" for letter in "abcdefg"]}
    assert find_one_hot(Table.from_data(X.drop(columns="soil_c"), y)) == {}
    assert [beginning_of(name) for name in ("a_b_c", "x12", "x", "city=Rome")] == ["a_b_", "x", "", "city="]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("soil_*", "must be a mapping from names of groups to columns, such as"),
        ({3: "soil_*"}, "must be a mapping from names"),
        ({"slope": "soil_*"}, "groups has 'slope', which is the name of a column; choose another name"),
        ({"a": []}, "has no column; name some, or leave it out"),
        ({"a": "soil_*", "b": ["soil_a"]}, "groups 'a' and 'b' share column 'soil_a'; leave it in one of them"),
        ({"a": "sail_*"}, r"no column is like 'sail_\*'; did you mean"),
        ({"a": ["soil_a", "soil_z"]}, "there is no column 'soil_z'; did you mean"),
    ],
)
def test_wrong_groups_are_refused_in_one_line(frame, groups, message):
    X, y = frame
    with pytest.raises(ValueError, match=message):
        BURSelector(groups=groups).fit(one_hot(X), y)


def test_what_cannot_be_one_column_is_refused_with_the_remedy(rng, frame):
    from scipy.sparse import csr_matrix

    X, y = rng.standard_normal((200, 12)), np.arange(200) % 2
    with pytest.raises(ValueError, match="joint levels in 200 rows, too few rows to count each; leave"):
        BURSelector(groups={"sensors": range(12)}).fit(X, y)
    with pytest.raises(TypeError, match=r"X is sparse; pass X.toarray\(\)"):
        BURSelector(groups={"pair": [0, 1]}).fit(csr_matrix(X), y)
    X, y = frame
    X = X.assign(name=[f"row number {place}" for place in range(len(X))])
    with pytest.raises(ValueError, match="column 'name' of 'a' is ignored"), pytest.warns(UserWarning, match="ignored"):
        BURSelector(groups={"a": ["soil", "name"]}).fit(X, y)


def test_many_joint_levels_need_wide_codes(rng):
    X = np.column_stack([rng.integers(0, 10, (2, 3000)).T, rng.integers(0, 6, 3000), rng.standard_normal(3000)])
    y = (X[:, 0] + X[:, 1] > 9).astype(int)
    selector = BURSelector(n_features_to_select=1, groups={"digits": [0, 1, 2]}, discrete_features=[0, 1, 2]).fit(X, y)
    assert selector.selection_.selected_names == ["digits"]
    table = grouped(Table.from_data(X, y, discrete_features=[0, 1, 2]), {"digits": [0, 1, 2]})
    assert table.columns[0].n_levels == joint_levels(X[:, :3].T) > 256


def test_selectors_with_groups_are_not_compared_column_by_column(frame):
    X, y = frame
    for selector in (
        BURSelector(groups={"soil": "soil_*"}),
        BURSelectorCV(None, BURSelector(groups={"soil": "soil_*"})),
    ):
        with pytest.raises(ValueError, match="has groups=, but features are compared column by column; pass a table"):
            compare(("made", one_hot(X), y), selector)
