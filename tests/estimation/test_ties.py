"""Rounded and tied columns: what the neighbour estimates say of columns whose information is known."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma
from scipy.stats import norm

from unirel.data.table import Table
from unirel.estimation.knn import KNN


def rounded(decimals):
    return lambda rng, n: np.round(rng.normal(size=n), decimals)


def zero_inflated(rng, n, decimals=15):
    """Nine zeros in ten."""
    return np.where(rng.random(n) < 0.9, 0.0, np.round(rng.exponential(size=n), decimals))


COLUMNS = {
    "8 decimals": rounded(8),
    "4 decimals": rounded(4),
    "3 decimals": rounded(3),
    "2 decimals": rounded(2),
    "1 decimal": rounded(1),
    "whole numbers": rounded(0),
    "counts": lambda rng, n: rng.poisson(4, size=n).astype(float),
    "codes": lambda rng, n: rng.integers(0, 50, size=n).astype(float),
    "zeros": zero_inflated,
    "rounded zeros": lambda rng, n: zero_inflated(rng, n, 2),
    "half rounded": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(size=n), np.round(rng.normal(size=n))),
}
CLASSES = {
    "two classes": lambda rng, n: rng.integers(0, 2, size=n),
    "four classes": lambda rng, n: rng.choice(4, p=[0.7, 0.2, 0.07, 0.03], size=n),
}


def draw(columns, rng, n):
    return np.column_stack([COLUMNS[name](rng, n) for name in columns])


def make_knn(X, y, labels=False, n_jobs=None, **parameters):
    """An estimator that takes every column as continuous, however few values it has."""
    target_type = "discrete" if labels else "continuous"
    return KNN(**parameters).on(Table.from_data(X, y, discrete_features=False, target_type=target_type), n_jobs=n_jobs)


def mean_of(estimate, repetitions):
    """Mean over independent samples, as precise as the columns and the number of samples make it."""
    return np.mean([estimate(np.random.default_rng(seed)) for seed in range(repetitions)], axis=0)


# Independent columns: zero


@pytest.mark.parametrize("target", CLASSES)
def test_single_columns_tell_nothing_about_independent_classes(target):
    def estimate(rng):
        return make_knn(draw(COLUMNS, rng, 2000), CLASSES[target](rng, 2000), labels=True).relevance(
            range(len(COLUMNS))
        )

    assert_allclose(mean_of(estimate, 15), 0, atol=0.01)


@pytest.mark.parametrize("target", ["8 decimals", "2 decimals", "counts", "rounded zeros", "half rounded"])
def test_single_columns_tell_nothing_about_an_independent_number(target):
    def estimate(rng):
        return make_knn(draw(COLUMNS, rng, 2000), COLUMNS[target](rng, 2000)).relevance(range(len(COLUMNS)))

    assert_allclose(mean_of(estimate, 15), 0, atol=0.01)


@pytest.mark.parametrize("scale", ["standard", None, "rank"])
def test_columns_tell_nothing_about_their_shuffled_selves(scale):
    """A shuffled column has the very same grid, so that ties of both sides fall together."""

    def estimate(rng):
        X = draw(COLUMNS, rng, 2000)
        knn = make_knn(np.hstack([X, rng.permuted(X, axis=0)]), rng.normal(size=2000), scale=scale)
        return [knn.pairwise([column], column + len(COLUMNS))[0] for column in range(len(COLUMNS))]

    assert_allclose(mean_of(estimate, 15), 0, atol=0.01)


@pytest.mark.parametrize("metric", ["chebyshev", "manhattan", "euclidean"])
@pytest.mark.parametrize("size", [2, 3])
def test_blocks_tell_nothing_about_independent_classes(size, metric):
    names = ["8 decimals", "2 decimals", "1 decimal", "whole numbers", "zeros"]

    def estimate(rng):
        X = np.hstack([draw([name] * size, rng, 2000) for name in names])
        knn = make_knn(X, CLASSES["two classes"](rng, 2000), labels=True, metric=metric)
        blocks = [range(size * position, size * (position + 1)) for position in range(len(names))]
        return [knn.mutual_information(block, [knn.table.target]) for block in blocks]

    assert_allclose(mean_of(estimate, 12), 0, atol=0.01)


@pytest.mark.parametrize("target", ["8 decimals", "counts"])
def test_blocks_of_three_tell_nothing_about_an_independent_number(target):
    names = ["8 decimals", "2 decimals", "1 decimal", "codes", "zeros"]

    def estimate(rng):
        X = np.hstack([draw([name] * 3, rng, 2000) for name in names])
        knn = make_knn(X, COLUMNS[target](rng, 2000))
        blocks = [range(3 * position, 3 * position + 3) for position in range(len(names))]
        return [knn.mutual_information(block, [knn.table.target]) for block in blocks]

    assert_allclose(mean_of(estimate, 20), 0, atol=0.01)


@pytest.mark.parametrize("scale", ["standard", pytest.param(None, marks=pytest.mark.slow)])
def test_nothing_is_left_given_a_third_column(scale):
    names = ["2 decimals", "1 decimal", "whole numbers", "counts", "zeros"]

    def estimate(rng):
        X = np.hstack([draw([name] * 3, rng, 2000) for name in names])
        knn = make_knn(X, rng.normal(size=2000), scale=scale)
        firsts = range(0, 3 * len(names), 3)
        return [knn.conditional([first], [first + 1], [first + 2]) for first in firsts]

    assert_allclose(mean_of(estimate, 15), 0, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("target", [*CLASSES, *COLUMNS])
def test_many_rows_leave_less_than_three_thousandths(target):
    labels, n = target in CLASSES, 100_000

    def estimate(rng):
        y = (CLASSES if labels else COLUMNS)[target](rng, n)
        return make_knn(draw(COLUMNS, rng, n), y, labels, n_jobs=2).relevance(range(len(COLUMNS)))

    assert_allclose(mean_of(estimate, 4), 0, atol=0.003)


@pytest.mark.slow
def test_pairs_and_blocks_of_many_rows():
    names, n = ["8 decimals", "3 decimals", "1 decimal", "counts", "zeros"], 20_000

    def estimate(rng):
        X = np.hstack([draw([name] * 3, rng, n) for name in names])
        knn = make_knn(X, rng.integers(0, 2, size=n), labels=True, n_jobs=2)
        blocks = [[3 * position + other for other in range(3)] for position in range(len(names))]
        return [knn.mutual_information(block, [knn.table.target]) for block in blocks]

    assert_allclose(mean_of(estimate, 4), 0, atol=0.005)


# Dependent columns: the exact value


def gaussian_information(rho, x_step, y_step):
    """I of two standard normal columns with correlation rho, each rounded to a step, by quadrature over x."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = [(np.arange(-math.ceil(8 / step), math.ceil(8 / step) + 2) - 0.5) * step for step in (x_step, y_step)]
    inside = (edges[0][:-1, None] + edges[0][1:, None]) / 2 + x_step / 2 * nodes
    below = norm.cdf((edges[1] - rho * inside[..., None]) / math.sqrt(1 - rho**2))
    joint = np.einsum("ij,ijk->ik", norm.pdf(inside) * weights * x_step / 2, np.diff(below))
    x, y = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    used = joint > 0
    return float(np.sum(joint[used] * np.log(joint[used] / (x * y)[used])))


def class_information(gap, step):
    """I of two equal classes and a normal column with means 0 and gap, rounded to a step."""
    edges = (np.arange(-math.ceil(8 / step), math.ceil((8 + gap) / step) + 2) - 0.5) * step
    shares = np.array([np.diff(norm.cdf(edges)), np.diff(norm.cdf(edges - gap))])
    whole = np.broadcast_to(shares.mean(axis=0), shares.shape)
    used = shares > 0
    return float(0.5 * np.sum(shares[used] * np.log(shares[used] / whole[used])))


def test_quadrature_knows_the_limits():
    assert gaussian_information(0.8, 0.02, 0.02) == pytest.approx(-0.5 * math.log(1 - 0.8**2), rel=1e-3)
    assert gaussian_information(0.8, 0.02, 20.0) == pytest.approx(0, abs=1e-9)
    assert class_information(1.0, 20.0) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("rho", [0.5, 0.9])
@pytest.mark.parametrize(("x_step", "y_step"), [(0.05, 0.05), (0.1, 0.1), (0.1, 0.05), (0.5, 0.1), (1.0, 0.05), (1, 1)])
def test_rounded_gaussians(x_step, y_step, rho):
    def estimate(rng):
        x, noise = rng.normal(size=(2, 4000))
        y = rho * x + math.sqrt(1 - rho**2) * noise
        x, y = np.round(x / x_step) * x_step, np.round(y / y_step) * y_step
        return [make_knn(x[:, None], y, scale=scale).relevance([0])[0] for scale in ("standard", None)]

    assert_allclose(mean_of(estimate, 8), gaussian_information(rho, x_step, y_step), rtol=0.1)


@pytest.mark.parametrize("gap", [0.5, 1.5])
@pytest.mark.parametrize("step", [0.0001, 0.001, 0.01, 0.1, 1.0])
def test_rounded_gaussian_classes(step, gap):
    def estimate(rng):
        y = rng.integers(0, 2, size=4000)
        x = np.round((rng.normal(size=4000) + gap * y) / step) * step
        return make_knn(x[:, None], y, labels=True).relevance([0])[0]

    assert mean_of(estimate, 20) == pytest.approx(class_information(gap, max(step, 0.01)), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [8, 4, 3, 2, 1])
def test_a_weak_signal_of_many_rows_stays(decimals):
    """Rounding to 3 and 4 decimals once took away two thirds of it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=200_000)
    x = np.round(rng.normal(size=200_000) + 0.5 * y, decimals)
    value = make_knn(x[:, None], y, labels=True).relevance([0])[0]
    assert value == pytest.approx(class_information(0.5, 0.1), rel=0.1)


@pytest.mark.parametrize("decimals", [8, 2, 1])
@pytest.mark.parametrize("scale", ["standard", None])
def test_rounded_conditional(scale, decimals):
    def estimate(rng):
        z, x, y = rng.normal(size=(3, 4000))
        x += z
        X = np.round(np.column_stack([x, x + z + y, z]), decimals)
        return make_knn(X, rng.normal(size=4000), scale=scale).conditional([0], [1], [2])

    assert mean_of(estimate, 6) == pytest.approx(0.5 * math.log(2), rel=0.1)


def test_a_column_that_hits_an_atom_now_and_then():
    """Half of the rows are at two points within the other half: balls that reach a point take only a part of it."""

    def estimate(rng):
        n = 4000
        atom = rng.random(n) < 0.5
        x = np.where(atom, rng.choice([-1.0, 1.0], size=n), rng.normal(size=n))
        return make_knn(x[:, None], rng.normal(size=n)).relevance([0])[0]

    assert mean_of(estimate, 20) == pytest.approx(0, abs=0.01)


# What must not show


def every_value(knn):
    block = range(4)
    return np.concatenate(
        [
            knn.relevance(block),
            knn.pairwise(block, 1),
            knn.joint(block, [0]),
            knn.joint(block, [0, 1]),
            knn.without_each(block).change,
            knn.with_each([0, 1], block).change,
            [knn.mutual_information(block, [knn.table.target]), knn.conditional([0], [1], [2, 3])],
        ]
    )


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("metric", ["chebyshev", "euclidean"])
def test_order_of_rows_and_threads_do_not_show(metric, labels):
    rng = np.random.default_rng(0)
    X = draw(["1 decimal", "whole numbers", "zeros", "2 decimals"], rng, 600)
    y = (X[:, 0] > 0).astype(int) if labels else np.round(X[:, 0] + rng.normal(size=600), 1)
    order = rng.permutation(600)
    ours = every_value(make_knn(X, y, labels, metric=metric))
    assert_allclose(every_value(make_knn(X[order], y[order], labels, metric=metric)), ours, rtol=0, atol=1e-12)
    assert_array_equal(every_value(make_knn(X, y, labels, metric=metric, n_jobs=2)), ours)


def test_order_of_columns_does_not_show():
    rng = np.random.default_rng(0)
    X = draw(["1 decimal", "whole numbers", "zeros", "2 decimals"], rng, 500)
    knn = make_knn(X, rng.normal(size=500))
    shuffled = make_knn(X[:, [2, 0, 3, 1]], knn.table.values[knn.table.target])
    assert knn.pairwise([0], 1)[0] == pytest.approx(knn.pairwise([1], 0)[0], abs=1e-12)
    assert knn.mutual_information([0, 2], [1, 3]) == pytest.approx(knn.mutual_information([3, 1], [2, 0]), abs=1e-12)
    assert knn.conditional([0], [1], [2]) == pytest.approx(shuffled.conditional([3], [1], [0]), abs=1e-12)


# Without ties


def test_without_ties_it_is_ross():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), rng.integers(0, 3, size=300)
    distances = np.abs(x[:, None] - x)
    terms = []
    for row in range(300):
        own = np.sort(distances[row, y == y[row]])
        n_within = np.sum(distances[row] <= own[3]) - 1
        terms.append(digamma(300) + digamma(3) - digamma(len(own)) - digamma(n_within))
    assert make_knn(x[:, None], y, labels=True, scale=None).relevance([0])[0] == pytest.approx(
        np.mean(terms), abs=1e-12
    )


def test_without_ties_it_is_ksg():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300))
    to_x, to_y = (np.abs(side[:, None] - side) for side in (x, y))
    terms = []
    for row in range(300):
        radius = np.sort(np.maximum(to_x[row], to_y[row]))[3]
        n_x, n_y = (np.sum(side[row] < radius) - 1 for side in (to_x, to_y))
        terms.append(digamma(300) + digamma(3) - digamma(n_x + 1) - digamma(n_y + 1))
    assert make_knn(x[:, None], y, scale=None).relevance([0])[0] == pytest.approx(np.mean(terms), abs=1e-12)
