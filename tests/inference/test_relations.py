"""Which features determine the target."""

import numpy as np
import pytest
from scipy.stats import rankdata

from unirel.data.table import open_table
from unirel.inference import relations
from unirel.inference.likeness import group_alike, mean_ranks


def explained(X, y):
    table, _ = open_table(X, y, "auto", "auto", None)
    return relations._explained(table)


@pytest.mark.parametrize("n_rows", [200, 500, 2000])
@pytest.mark.parametrize("place", ["end", "middle", "missing"])
def test_what_tells_a_class_of_two_percent_is_found(n_rows, place, rng):
    X = rng.standard_normal((n_rows, 3))
    start = n_rows // 2 if place == "middle" else n_rows - n_rows // 50
    y = np.full(n_rows, "no")
    y[np.argsort(X[:, 0])[start : start + n_rows // 50]] = "yes"
    X[:, 0] = np.where((y == "yes") & (place == "missing"), np.nan, X[:, 0])
    found = explained(X, y)
    # Of ten rows or fewer in the middle no shorter description of the classes is found.
    assert found[0] > 0.95 or (place == "middle" and n_rows <= 500)
    assert (found[1:] < 0.5).all()


@pytest.mark.parametrize("n_levels", [1, 4, 1000])
def test_ranks_are_those_of_scipy_less_their_mean(n_levels, rng):
    values = rng.integers(n_levels, size=60).astype(float)
    values[rng.integers(60, size=5)] = np.nan
    ranks = rankdata(values, nan_policy="omit")
    np.testing.assert_allclose(mean_ranks(values), np.nan_to_num(ranks - np.nanmean(ranks)), atol=1e-12)
    assert not mean_ranks(np.full(3, np.nan)).any()


def test_groups_are_there_only_if_all_members_are_alike():
    chain = np.array([[1, 0.95, 0.8, 0.1], [0.95, 1, 0.92, 0.2], [0.8, 0.92, 1, 0.3], [0.1, 0.2, 0.3, 1]])
    assert group_alike(chain, {3}) == [[0, 1], [3]]
    assert group_alike(np.minimum(chain, 0.89), {3, 0}) == [[0], [3]]
    assert group_alike(np.minimum(chain, 0.89), set()) == []
