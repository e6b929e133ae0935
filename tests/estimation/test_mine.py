"""The bound of a neural network: the formula for the critic it has, values that are known, and no row seen twice."""

import math

import numpy as np
import pytest

from unirel import mutual_information
from unirel.data.table import Table
from unirel.estimation import mine


def correlated(rng, n_samples, rho):
    x, noise = rng.normal(size=(2, n_samples))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


def bound_plainly(critic, x, y):
    """Mean of T over the rows, less the logarithm of the mean of exp T over rows of x with ten other rows of y."""
    n_rows = len(x)
    real = [critic(x[[i]], y[[i]])[0] for i in range(n_rows)]
    shifts = sorted({int(shift) for shift in np.linspace(1, n_rows - 1, min(10, n_rows - 1))})
    others = [math.exp(critic(x[[i]], y[[(i - shift) % n_rows]])[0]) for shift in shifts for i in range(n_rows)]
    return sum(real) / n_rows - math.log(sum(others) / len(others))


@pytest.mark.parametrize("n_rows", [2, 3, 11, 40])
def test_the_bound_is_the_formula_for_its_critic(rng, n_rows):
    x, y = rng.normal(size=(2, n_rows, 2))

    def critic(x, y):
        return (x * y).sum(axis=1)

    assert mine.donsker_varadhan(critic, x, y) == pytest.approx(bound_plainly(critic, x, y), abs=1e-12)


def test_the_best_critic_gives_the_truth(rng):
    """For normal columns the logarithm of the ratio of densities is known."""
    rho = 0.8
    x, y = (column[:, None] for column in correlated(rng, 20_000, rho))

    def critic(x, y):
        square = (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (2 * (1 - rho**2))
        return -square[:, 0] - 0.5 * math.log(1 - rho**2)

    truth = -0.5 * math.log(1 - rho**2)
    assert mine.donsker_varadhan(critic, x, y) == pytest.approx(truth, abs=0.02)
    assert mine.donsker_varadhan(lambda x, y: critic(x, -y), x, y) < truth


def test_the_estimate_is_the_mean_of_bounds_on_rows_not_seen(rng, monkeypatch):
    """Each half is held out once; what the critics say there is put into the formula."""
    x, y = correlated(rng, 61, 0.8)
    train, critics, seen = mine.train_critic, [], []

    def remember(some_x, some_y):
        critics.append(train(some_x, some_y))
        seen.append(some_x)
        return critics[-1]

    monkeypatch.setattr(mine, "train_critic", remember)
    information = mine.MINE().on(Table.from_data(x[:, None], y))
    value = information.mutual_information([0], [1])
    inputs = [mine.inputs(information.side([column])) for column in (0, 1)]
    held_out = [~np.isin(inputs[0], some)[:, 0] for some in seen]
    assert [half.sum() for half in held_out] == [30, 31]
    assert (held_out[0] ^ held_out[1]).all()
    order = np.random.default_rng(0).permutation(61)
    halves = [order[31:], order[:31]]
    bounds = [
        bound_plainly(critic, *(block[rows] for block in inputs)) for critic, rows in zip(critics, halves, strict=True)
    ]
    assert value == pytest.approx(np.mean(bounds), abs=1e-9)


def test_inputs_have_mean_0_and_variance_1(rng):
    gaps = np.where(rng.random(80) < 0.3, np.nan, rng.normal(size=80))
    constant = np.where(rng.random(80) < 0.3, np.nan, 1.0)
    X = np.column_stack([rng.exponential(size=80), gaps, rng.integers(0, 3, 80), constant])
    information = mine.MINE().on(Table.from_data(X, rng.normal(size=80), discrete_features=[2]))
    seen = mine.inputs(information.side([0, 1, 2, 3]))
    # Two scores, three levels, and twice two for being missing or not.
    assert seen.shape == (80, 9)
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(seen.std(axis=0), 1, atol=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_normal_columns(rho):
    value = mutual_information(*correlated(np.random.default_rng(0), 2000, rho), clip=False, mi_estimator="mine")
    assert value == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.06)


def test_probability_of_a_class():
    """P uniform on 0..1, a class with probability P: log 2 - 1/2."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    value = mutual_information(p, rng.random(2000) < p, clip=False, mi_estimator="mine")
    assert value == pytest.approx(math.log(2) - 0.5, abs=0.06)


def test_noise_is_not_above_zero():
    rng = np.random.default_rng(0)
    assert mutual_information(rng.normal(size=(200, 5)), rng.normal(size=200), clip=False, mi_estimator="mine") < 0
    assert mutual_information(rng.normal(size=(200, 5)), rng.normal(size=200), mi_estimator="mine") == 0


def test_the_same_table_gives_the_same_value(rng):
    x, y = correlated(rng, 200, 0.8)
    values = {mutual_information(x, y, mi_estimator="mine") for _ in range(3)}
    assert len(values) == 1
    assert values.pop() > 0.1


def test_three_rows_are_refused():
    with pytest.raises(
        ValueError, match=r"mi_estimator='mine' needs at least 4 rows, X has 3; pass mi_estimator='knn'"
    ):
        mutual_information([1.0, 2.5, 3.0], [0.5, 1.5, 1.0], mi_estimator="mine", target_type="continuous")
    value = mutual_information(
        [1.0, 2.5, 3.0, 7.0], [0.5, 1.5, 1.0, 2.0], mi_estimator="mine", target_type="continuous"
    )
    assert math.isfinite(value)
