"""Costs and a budget: each step takes the best score per cost among what the budget still allows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from unirel import BURSelector, BURSelectorCV, Costs, Selection, selection_path
from unirel._runtime import OutOfTime
from unirel.criteria import CRITERIA, make_criterion
from unirel.data.groups import grouped
from unirel.data.table import Table
from unirel.estimation.base import Memo, make_information
from unirel.results import Ending


@pytest.fixture
def data(rng):
    """Nine features of different strength, some of them repeated with noise, and costs from 1 to 30."""
    y = rng.integers(0, 3, 400)
    signal = np.column_stack([y == 0, y == 1, y == 2]).astype(float)
    X = np.column_stack([signal * [1, 2, 3], signal * [3, 1, 2], np.zeros((400, 3))]) + rng.standard_normal((400, 9))
    return X, y, {place: int(cost) for place, cost in enumerate(rng.integers(1, 31, 9))}


def scores_of(criterion, X, y, candidates, selected):
    """Scores of a plain criterion by its own words, from estimates that nobody keeps."""
    memo = Memo(make_information(Table.from_data(X, y), "binned"))
    candidates, rule = np.array(candidates), make_criterion(criterion)
    relevance = memo.relevance(candidates)
    if not selected or rule.fold is None:
        return relevance
    steps = range(1, len(selected) + 1) if rule.fold != "latest" else [len(selected)]
    terms = np.array([rule.term(memo, candidates, np.array(selected[:step])) for step in steps])
    folded = {"sum": terms.sum(axis=0), "mean": terms.mean(axis=0), "min": terms.min(axis=0), "latest": terms[-1]}
    return rule.score(relevance, folded[rule.fold])


def plain_loop(criterion, X, y, costs, budget, n_features):
    """The loop as it is described: no lazy scores, no memory, no masks."""
    selected, spent = [], 0
    while len(selected) < n_features:
        left = [one for one in range(X.shape[1]) if one not in selected and spent + costs[one] <= budget]
        if not left:
            break
        scores = scores_of(criterion, X, y, left, selected)
        if selected and criterion in ("jmi", "jmim", "gsa", "disr", "njmim", "jmi3"):
            scores = scores - scores.min()  # what the selected tell by themselves is in all of them
        ranks = [score / costs[one] if score > 0 else score for one, score in zip(left, scores, strict=True)]
        ranks = [rank if rank <= 0 else rank * min(costs.values()) for rank in ranks]
        best = next(one for one, rank in zip(left, ranks, strict=True) if rank >= max(ranks) - 1e-12)
        selected.append(best)
        spent += costs[best]
    return selected


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("budget", [np.inf, 60])
def test_the_loop_is_the_plain_one(data, criterion, budget):
    X, y, costs = data
    asked = Costs(costs, budget=None if budget == np.inf else budget)
    selector = BURSelector(criterion, n_features_to_select=7, beta=0, keep_copies=True, costs=asked).fit(X, y)
    assert selector.order_.tolist() == plain_loop(criterion, X, y, costs, budget, 7)


@pytest.mark.parametrize("criterion", ["cmim", "jmim"])
def test_of_many_candidates_most_are_left_out_all_the_same(rng, criterion):
    """Bounds of scores that can only fall are divided by costs too."""
    y = rng.integers(0, 3, 250)
    X = rng.standard_normal((250, 70))
    X[:, :25] += (y[:, None] == rng.integers(0, 3, 25)) * rng.random(25) * 1.5
    costs = dict(enumerate(rng.integers(1, 20, 70).tolist()))
    asked = Costs(costs, budget=50)
    selector = BURSelector(criterion, n_features_to_select=9, beta=0, keep_copies=True, costs=asked).fit(X, y)
    assert selector.order_.tolist() == plain_loop(criterion, X, y, costs, 50, 9)


def test_steps_have_their_cost_and_the_budget_is_an_ending_of_its_own(data):
    X, y, costs = data
    selection = BURSelector(costs=Costs(costs, budget=40)).fit(X, y).selection_
    spent = [costs[one] for one in selection.order.tolist()]
    assert selection.costs.tolist() == spent
    assert selection.total_cost == sum(spent) <= 40
    assert min(costs[one] for one in range(9) if one not in selection.order) > 40 - sum(spent)
    assert selection.ending is Ending.BUDGET
    assert selection.complete
    assert selection.reason == f"what is left of the budget is enough for no other feature; spent: {sum(spent)}"
    frame = selection.to_frame()
    assert frame["cost"].tolist() == spent
    assert frame["total_cost"].tolist() == np.cumsum(spent).tolist()
    again = Selection.from_json(selection.to_json())
    assert again.costs.tolist() == spent
    assert again.ending is Ending.BUDGET


def test_equal_costs_change_nothing(data):
    X, y, _ = data
    for criterion in ("cmim", "jmi"):
        plain = BURSelector(criterion, n_features_to_select=6).fit(X, y)
        priced = BURSelector(criterion, n_features_to_select=6, costs={"x*": 250}).fit(X, y)
        assert priced.order_.tolist() == plain.order_.tolist()
    assert priced.selection_.settings["costs"] == {"x*": 250}
    assert plain.selection_.costs is None
    assert "cost" not in plain.selection_.to_frame()


def test_the_currency_does_not_matter(data):
    X, y, costs = data
    orders = [
        BURSelector(costs=Costs({one: cost * unit for one, cost in costs.items()})).fit(X, y).order_.tolist()
        for unit in (1, 1e-9, 1e9)
    ]
    assert orders[0] == orders[1] == orders[2]


def test_of_two_that_tell_the_same_the_cheaper_one(rng):
    """A test that costs 300 and a question that costs 2 and tells as much; a third feature tells what both do not."""
    y = rng.integers(0, 4, 1500)
    first = np.where(rng.random(1500) < 0.9, y % 2, rng.integers(0, 2, 1500))
    X = pd.DataFrame({"mri": y % 2, "question": first, "visit": y // 2, "noise": rng.integers(0, 2, 1500)})
    assert BURSelector(n_features_to_select=2).fit(X, y).selection_.selected_names == ["visit", "mri"]
    cheap = BURSelector(n_features_to_select=2, costs={"mri": 300, "question": 2}).fit(X, y).selection_
    assert cheap.selected_names == ["visit", "question"]
    auto = BURSelector(n_features_to_select="auto", costs=Costs({"mri": 300}, budget=200)).fit(X, y).selection_
    assert set(auto.selected_names) == {"visit", "question"}


def test_prices_by_name_pattern_and_group(data):
    X, y, _ = data
    X = pd.DataFrame(X, columns=[*(f"lab_{n}" for n in range(4)), *(f"soil_{n}" for n in range(3)), "age", "flag"])
    X["flag"] = (X["flag"] > 0).astype(int)

    def costs(prices, **more):
        table = grouped(Table.from_data(X, y), {"labs": ["lab_0", "lab_1"], "soil": "soil_*"})
        return Costs(prices, **more).on(table).costs[table.features].tolist()

    assert costs({}) == [2, 1, 1, 3, 1, 1]  # labs, lab_2, lab_3, soil, age, flag
    assert costs({"lab_*": 5, "lab_3": 8, "age": 0.5}, default=2) == [10, 5, 8, 6, 0.5, 2]
    assert costs({"lab_3": 8, "lab_*": 5, "soil": 1, "soil_1": 40}) == [10, 5, 8, 1, 1, 1]
    with pytest.raises(ValueError, match="there is no column 'labb_3'; did you mean"):
        costs({"labb_3": 1})


def test_folds_paths_and_forced_features_keep_to_the_budget(data):
    X, y, costs = data
    from sklearn.tree import DecisionTreeClassifier

    asked = Costs(costs, budget=50)
    path = selection_path(X, y, selector=BURSelector(costs=asked), criteria=["mim", "cmim"], betas=[0, 0.5])
    assert all(0 < one.total_cost <= 50 for one in path)
    assert path.to_frame()["total_cost"].max() <= 50
    dear = max(costs, key=costs.get)
    forced = BURSelector(costs=asked, include=[dear]).fit(X, y).selection_
    assert forced.order[0] == dear
    assert forced.total_cost <= 50
    found = BURSelectorCV(DecisionTreeClassifier(random_state=0), BURSelector(costs=asked), betas=[0.0], cv=3).fit(X, y)
    assert found.selection_.total_cost <= 50
    with pytest.raises(ValueError, match=rf"include costs {costs[dear]}, more than budget=1; raise it"):
        BURSelector(costs=Costs(costs, budget=1), include=[dear]).fit(X, y)


def test_what_is_left_when_the_time_is_used_up_keeps_to_the_budget(data, monkeypatch):
    X, y, costs = data

    def too_late(*_):
        raise OutOfTime

    monkeypatch.setattr("unirel.search.greedy.find_blend", too_late)
    with pytest.warns(UserWarning, match="incomplete"):
        selection = BURSelector(costs=Costs(costs, budget=20)).fit(X, y).selection_
    whole = BURSelector(beta=0, keep_copies=True, n_features_to_select="all").fit(X, y)
    spent, expected = 0, []
    for feature in whole.order_.tolist():
        if spent + costs[feature] <= 20:
            expected.append(feature)
            spent += costs[feature]
    assert selection.order.tolist() == expected
    assert selection.total_cost == spent


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (300, r"costs=300 must be a mapping from columns to numbers, such as \{'mri': 300\}, or be Costs"),
        ({"x0": 0}, "costs of 'x0': 0 must be a number above 0"),
        ({"x0": "dear"}, "costs of 'x0': 'dear' must be a number above 0"),
        (Costs({}, budget=-1), "budget: -1 must be a number above 0"),
        (Costs({}, default=np.nan), "default cost: nan must be a number above 0"),
    ],
)
def test_wrong_costs_are_refused(data, costs, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        BURSelector(costs=costs).fit(X, y)


def test_a_budget_that_is_enough_for_nothing_selects_nothing(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="selects nothing: what is left of the budget is enough for no other feature"):
        assert len(BURSelector(costs=Costs({"x*": 10}, budget=5)).fit(X, y).order_) == 0


def test_costs_are_cloned_and_searched_like_any_parameters(data):
    X, y, costs = data
    selector = BURSelector(costs=Costs(costs, budget=30))
    again = clone(selector).set_params(costs__budget=45)
    assert (selector.costs.budget, again.costs.budget) == (30, 45)
    assert repr(Costs({"mri": 300}, budget=500)) == "Costs(prices={'mri': 300}, budget=500, default=1.0)"
    assert selector.fit(X, y).selection_.settings["costs"] == repr(selector.costs)
