"""Estimates against values known from theory, in nats."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from unirel import conditional_relevance, irrelevance, mutual_information, relevance

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")


def mean_estimate(estimate, repetitions):
    """Mean of an estimate over independent samples."""
    return float(np.mean([estimate(np.random.default_rng(seed)) for seed in range(repetitions)]))


def binary_entropy(p):
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def correlated(rng, n_samples, rho):
    """Two standard normal columns with correlation rho."""
    x, noise = rng.normal(size=(2, n_samples))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


# Gaussians


@pytest.mark.parametrize("n_neighbors", [3, 10])
@pytest.mark.parametrize("rho", [0, 0.5, 0.9, 0.99])
def test_bivariate_gaussian(rho, n_neighbors):
    def estimate(rng):
        x, y = correlated(rng, 4000, rho)
        return mutual_information(x, y, n_neighbors=n_neighbors, clip=False)

    assert mean_estimate(estimate, 8) == pytest.approx(-0.5 * math.log(1 - rho**2), rel=0.02, abs=0.01)


@pytest.mark.parametrize("n_columns", [2, 3])
def test_multivariate_gaussian(n_columns):
    def estimate(rng):
        X = rng.normal(size=(4000, n_columns))
        y = X.sum(axis=1) + math.sqrt(n_columns) * rng.normal(size=4000)
        return mutual_information(X, y, clip=False)

    assert mean_estimate(estimate, 6) == pytest.approx(0.5 * math.log(2), rel=0.03)


def test_conditional_gaussian():
    def estimate(rng):
        z, x, y = rng.normal(size=(3, 4000))
        x += z
        return mutual_information(x, x + z + y, conditional_on=z, clip=False)

    assert mean_estimate(estimate, 6) == pytest.approx(0.5 * math.log(2), rel=0.03)


def test_chain_of_gaussians_tells_nothing_more():
    def estimate(rng):
        x, z = correlated(rng, 4000, 0.7)
        y = z + rng.normal(size=4000)
        return mutual_information(x, y, conditional_on=z, clip=False)

    assert mean_estimate(estimate, 6) == pytest.approx(0, abs=0.015)


# Classes


def mixture_information(priors, densities):
    """I(X;Y) of a mixture: sum over the classes of p_c E_c log(f_c / f), by numerical integration."""

    def integrand(x):
        parts = [density(x) for density in densities]
        whole = sum(prior * part for prior, part in zip(priors, parts, strict=True))
        terms = [p * f * math.log(f / whole) for p, f in zip(priors, parts, strict=True) if f > 0]
        return sum(terms)

    return integrate.quad(integrand, -15, 15, points=[-3, -1, 0, 1, 3], limit=500)[0]


MIXTURES = {
    "two means": ([0.5, 0.5], [(-1, 1), (1, 1)]),
    "unequal classes": ([0.8, 0.2], [(0, 1), (2, 0.5)]),
    "two widths": ([0.5, 0.5], [(0, 1), (0, 3)]),
    "three classes": ([0.2, 0.3, 0.5], [(-2, 1), (0, 0.5), (2, 1)]),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_mixture_of_gaussian_classes(name):
    priors, parameters = MIXTURES[name]
    means, widths = np.transpose(parameters)
    truth = mixture_information(priors, [stats.norm(mean, width).pdf for mean, width in parameters])

    def estimate(rng):
        y = rng.choice(len(priors), p=priors, size=4000)
        return relevance(rng.normal(means[y], widths[y])[:, None], y, clip=False)[0]

    assert mean_estimate(estimate, 10) == pytest.approx(truth, rel=0.03)


@pytest.mark.parametrize("metric", ["chebyshev", "euclidean", "manhattan"])
def test_classes_apart_along_the_diagonal(metric):
    # Only the sum of two columns differs: I is that of one column with the means sqrt(2) as far apart.
    truth = mixture_information([0.5, 0.5], [stats.norm(mean, 1).pdf for mean in (-math.sqrt(2), math.sqrt(2))])

    def estimate(rng):
        y = rng.integers(0, 2, size=3000)
        X = rng.normal(size=(3000, 2)) + (2 * y - 1)[:, None]
        return mutual_information(X, y, metric=metric, clip=False)

    assert mean_estimate(estimate, 8) == pytest.approx(truth, rel=0.03)


def test_bernoulli_and_uniform():
    # X uniform on [0, 1] for one class and on [0, 2] for the other.
    truth = math.log(2) - 0.75 * binary_entropy(1 / 3)

    def estimate(rng):
        y = rng.integers(0, 2, size=4000)
        return relevance((rng.random(4000) * (1 + y))[:, None], y, clip=False)[0]

    assert mean_estimate(estimate, 10) == pytest.approx(truth, rel=0.03)


def test_probability_of_a_bernoulli():
    # P uniform on [0, 1], Y one with probability P: log 2 - E H_b(P) = log 2 - 1/2.
    def estimate(rng):
        p = rng.random(4000)
        return relevance(p[:, None], (rng.random(4000) < p).astype(int), clip=False)[0]

    assert mean_estimate(estimate, 12) == pytest.approx(math.log(2) - 0.5, rel=0.04)


# Mixtures of discrete and continuous (Gao et al. 2017)


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_integer_and_uniform_around_it(kind):
    truth = math.log(5) - 4 / 5 * math.log(2)

    def estimate(rng):
        x = rng.integers(0, 5, size=4000)
        y = x + 2 * rng.random(4000)
        return relevance(x[:, None], y, kinds={0: kind}, target_kind="continuous", clip=False)[0]

    assert mean_estimate(estimate, 6) == pytest.approx(truth, rel=0.02)


def zero_inflated_information(p):
    """I(X;Y) of X exponential, Y zero with probability p and Poisson(X) otherwise, by numerical integration."""
    counts = np.arange(150)
    marginal = (1 - p) * 0.5 ** (counts + 1) + p * (counts == 0)

    def integrand(x):
        conditional = (1 - p) * stats.poisson.pmf(counts, x) + p * (counts == 0)
        used = conditional > 0
        return math.exp(-x) * np.sum(conditional[used] * np.log(conditional[used] / marginal[used]))

    return integrate.quad(integrand, 0, 50, points=[0.1, 1, 5], limit=500)[0]


def test_poisson_without_inflation_has_a_closed_form():
    # The paper gives this value times (1 - p) for the inflated one, but that is I(X; Y, inflated or not).
    k = np.arange(1, 200)
    closed = 2 * math.log(2) - np.euler_gamma - np.sum(np.log(k) * 0.5**k)
    assert zero_inflated_information(0) == pytest.approx(closed, abs=1e-6)
    assert zero_inflated_information(0.15) < 0.85 * closed


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_zero_inflated_poisson(kind):
    def estimate(rng):
        x = rng.exponential(size=20_000)
        y = np.where(rng.random(20_000) < 0.15, 0, rng.poisson(x))
        return relevance(x[:, None], y, target_kind=kind, clip=False)[0]

    assert mean_estimate(estimate, 5) == pytest.approx(zero_inflated_information(0.15), rel=0.03)


# The two halves never meet, so I = log 2 + the mean of their own values.
ATOMS_AND_GAUSSIAN = math.log(2) + 0.5 * (-0.5 * math.log(1 - 0.9**2)) + 0.5 * (math.log(2) - binary_entropy(0.1))


def atoms_and_gaussian(n_samples, place):
    """Estimate for a half with correlation 0.9 and a half at (+-place, +-place), of equal sign in nine cases of ten."""

    def estimate(rng):
        x, y = correlated(rng, n_samples, 0.9)
        atoms = rng.random(n_samples) < 0.5
        sign = rng.choice([-1.0, 1.0], size=n_samples)
        other = np.where(rng.random(n_samples) < 0.9, sign, -sign)
        x, y = np.where(atoms, place * sign, x), np.where(atoms, place * other, y)
        return mutual_information(x, y, clip=False)

    return estimate


def test_mixture_of_gaussian_and_atoms_beside_it():
    assert mean_estimate(atoms_and_gaussian(8000, 4.0), 5) == pytest.approx(ATOMS_AND_GAUSSIAN, rel=0.02)


def test_mixture_of_gaussian_and_atoms_within_it_converges():
    # A ball around a point of the Gaussian half that reaches an atom in one column counts all of it: the paper's
    # example is underestimated, by less the smaller the balls are.
    small, large = mean_estimate(atoms_and_gaussian(1000, 1.0), 8), mean_estimate(atoms_and_gaussian(16_000, 1.0), 2)
    assert large == pytest.approx(ATOMS_AND_GAUSSIAN, abs=0.1)
    assert abs(large - ATOMS_AND_GAUSSIAN) < 0.55 * abs(small - ATOMS_AND_GAUSSIAN)


# Exclusive or


def test_exclusive_or_of_bits(rng):
    X = rng.integers(0, 2, size=(4000, 2))
    y = X[:, 0] ^ X[:, 1]
    assert mutual_information(X, y) == pytest.approx(math.log(2), abs=0.002)
    assert relevance(X, y) == pytest.approx(0, abs=0.002)
    assert conditional_relevance(X, y, 0)[1] == pytest.approx(math.log(2), abs=0.002)


def test_exclusive_or_of_signs(rng):
    X = rng.uniform(-1, 1, size=(20_000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert mutual_information(X, y, clip=False) == pytest.approx(math.log(2), rel=0.02)
    assert relevance(X, y, clip=False) == pytest.approx(0, abs=0.015)
    assert conditional_relevance(X, y, 0, clip=False)[1] == pytest.approx(math.log(2), rel=0.03)


def test_exclusive_or_of_bit_and_sign(rng):
    bit, number = rng.integers(0, 2, size=10_000), rng.uniform(-1, 1, size=10_000)
    y = bit ^ (number > 0)
    X = np.column_stack([bit, number])
    assert mutual_information(X, y, clip=False) == pytest.approx(math.log(2), rel=0.02)
    assert relevance(X, y, clip=False) == pytest.approx(0, abs=0.015)


# Independence


INDEPENDENT = {
    "column and classes": lambda rng: relevance(rng.normal(size=(200, 1)), rng.integers(0, 3, size=200), clip=False)[0],
    "classes and number": lambda rng: relevance(rng.integers(0, 3, size=(200, 1)), rng.normal(size=200), clip=False)[0],
    "pair and classes": lambda rng: mutual_information(
        rng.normal(size=(200, 2)), rng.integers(0, 2, size=200), clip=False
    ),
    "maximum norm": lambda rng: mutual_information(
        rng.normal(size=(200, 6)), rng.integers(0, 2, size=200), metric="chebyshev", clip=False
    ),
    "euclidean": lambda rng: mutual_information(
        rng.normal(size=(200, 6)), rng.integers(0, 2, size=200), metric="euclidean", clip=False
    ),
    "manhattan": lambda rng: mutual_information(
        rng.normal(size=(200, 6)), rng.integers(0, 2, size=200), metric="manhattan", clip=False
    ),
    "two numbers": lambda rng: relevance(rng.normal(size=(200, 1)), rng.normal(size=200), clip=False)[0],
    "block and number": lambda rng: mutual_information(rng.normal(size=(200, 3)), rng.normal(size=200), clip=False),
    "classes given a number": lambda rng: conditional_relevance(
        rng.normal(size=(200, 2)), rng.integers(0, 2, size=200), 0, clip=False
    )[1],
    "numbers given a number": lambda rng: conditional_relevance(
        rng.normal(size=(200, 2)), rng.normal(size=200), 0, clip=False
    )[1],
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independence_is_zero_on_average(name):
    values = np.array([INDEPENDENT[name](np.random.default_rng(seed)) for seed in range(60)])
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert error < 0.02
    assert abs(values.mean()) < 3.5 * error


# Counts and entropies


def test_counts_give_the_plugin_value_exactly():
    # A table of 8 rows: (0,0) 3 times, (0,1) once, (1,1) 3 times, (1,0) once.
    x = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    truth = math.log(2) - binary_entropy(0.25)
    for estimator in ("knn", "plugin", "binned"):
        plain = relevance(x[:, None], y, estimator=estimator, kinds={0: "discrete"}, correction=None)
        assert plain[0] == pytest.approx(truth, abs=1e-14)
    corrected = relevance(
        x[:, None], y, estimator="plugin", kinds={0: "discrete"}, correction="miller-madow", clip=False
    )
    assert corrected[0] == pytest.approx(truth + (1 + 1 - 3) / 16, abs=1e-14)


def test_bins_of_a_gaussian_are_close_from_below():
    x, y = correlated(np.random.default_rng(0), 20_000, 0.8)
    value = mutual_information(x, y, estimator="binned", n_bins=20)
    assert value == pytest.approx(-0.5 * math.log(1 - 0.8**2), rel=0.1)


def test_irrelevance_of_a_gaussian():
    # The column is scaled to deviation 1, so H(X) = log(2 pi e) / 2, and H(X|Y) = H(X) - I(X;Y).
    def estimate(rng):
        x, y = correlated(rng, 4000, 0.8)
        return irrelevance(5 * x[:, None], y)[0]

    truth = 0.5 * math.log(2 * math.pi * math.e) + 0.5 * math.log(1 - 0.8**2)
    assert mean_estimate(estimate, 6) == pytest.approx(truth, abs=0.02)


def test_irrelevance_of_a_uniform_with_gaps():
    def estimate(rng):
        x = rng.random(4000)
        x[rng.random(4000) < 0.3] = np.nan
        return irrelevance(x[:, None], rng.integers(0, 2, size=4000), scale=None)[0]

    assert mean_estimate(estimate, 6) == pytest.approx(binary_entropy(0.3), abs=0.02)


def test_irrelevance_of_levels_is_conditional_entropy():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=5000)
    x = np.where(rng.random(5000) < 0.1, 1 - y, y)
    assert irrelevance(x[:, None], y)[0] == pytest.approx(binary_entropy(0.1), abs=0.02)
