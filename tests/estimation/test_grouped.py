"""Groups of columns by estimators that take blocks: the twin asks the estimator itself about the columns."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unirel import KNN, BURSelector, BURSelectorCV, Gaussian, mutual_information
from unirel.data.groups import grouped
from unirel.data.table import Table
from unirel.estimation.grouped import OfGroups, for_groups

GROUPS = {"pair": [0, 2], "three": [1, 5, 6], "kind": [7, 8]}
BLOCKS = {0: [0, 2], 1: [1, 5, 6], 7: [7, 8]}


@pytest.fixture(params=["classes", "numbers"])
def data(request, rng):
    """Numbers that have to do with each other, and the two columns of a category."""
    X = rng.standard_normal((250, 9)) @ (np.eye(9) + 0.3 * rng.standard_normal((9, 9)))
    X[:, 7] = X[:, 7] > 0
    X[:, 8] = 1 - X[:, 7]
    y = X[:, 0] + X[:, 1] * X[:, 5] + X[:, 7] + rng.standard_normal(250)
    return X, (y > y.mean()).astype(int) if request.param == "classes" else y


@pytest.mark.parametrize("estimator", [KNN(), Gaussian()], ids=["knn", "gaussian"])
def test_estimates_are_those_of_the_columns(data, estimator):
    X, y = data
    table = grouped(Table.from_data(X, y), GROUPS, lenient=True)
    information, twin = for_groups(estimator, table).on(table), estimator.on(Table.from_data(X, y))
    candidates, some, target = np.array([0, 1, 3, 4]), np.array([0, 3]), [9]

    def columns(*features):
        return [column for feature in features for column in BLOCKS.get(feature, [feature])]

    alone = [twin.mutual_information(columns(one), target) for one in candidates]
    assert information.relevance(candidates) == pytest.approx(alone, abs=1e-9)
    for other in (1, 4):
        pairs = [twin.mutual_information(columns(one), columns(other)) for one in some]
        assert information.pairwise(some, other) == pytest.approx(pairs, abs=1e-9)
        together = [twin.mutual_information(columns(one, other), target) for one in some]
        assert information.joint(some, np.array([other])) == pytest.approx(together, abs=1e-9)
        given = [twin.conditional(columns(one), columns(other), target) for one in some]
        assert information.pairwise_given_target(some, other) == pytest.approx(given, abs=1e-9)
    assert np.isinf(information.ceilings([0, 1])).all()


def test_only_blocks_that_are_no_category_take_another_way(data):
    table, knn = Table.from_data(*data), KNN()
    assert for_groups(knn, table) is knn
    assert for_groups(knn, grouped(table, {"kind": [7, 8]})) is knn
    assert isinstance(for_groups(knn, grouped(table, GROUPS, lenient=True)), OfGroups)


@pytest.mark.parametrize("estimator", ["knn", "gaussian"])
def test_many_weak_sensors_are_one_strong_feature(rng, estimator):
    """Each tells little and all of them more than any other; far too many for joint levels."""
    strength = rng.standard_normal(500)
    X = np.column_stack([strength[:, None] + 3 * rng.standard_normal((500, 12)), rng.standard_normal((500, 4))])
    X[:, 12] += 0.7 * strength
    y = strength + 0.3 * rng.standard_normal(500) > 0
    asked = {"beta": 0, "mi_estimator": estimator, "n_features_to_select": "auto"}
    assert BURSelector(**asked).fit(X, y).order_[0] == 12
    selector = BURSelector(**asked, groups={"sensors": range(12)}).fit(X, y)
    assert selector.selection_.selected_names == ["sensors", "x12"]
    information = mutual_information(X[:, :12], y, mi_estimator=estimator)
    assert selector.relevance_[0] == pytest.approx(information, abs=1e-9)
    found = BURSelectorCV(LogisticRegression(), selector, betas=[0.0], max_features=2, cv=3).fit(X, y)
    assert found.support_[:12].all()
    with pytest.raises(ValueError, match=r"too few rows .* BURSelector\(beta=0, mi_estimator='gaussian'\)"):
        selector.set_params(beta=0.5).fit(X, y)
