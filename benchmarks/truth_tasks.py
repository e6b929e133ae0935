"""Tables whose mutual information is known: how rows are drawn, and the exact value in nats.

Definitions follow Czyz et al. 2023 (Beyond normal: on the evaluation of mutual information estimators) and, for
mixtures of numbers and atoms, Gao et al. 2017 (Estimating mutual information for discrete-continuous mixtures).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import integrate, special, stats

Rng = np.random.Generator
Pair = tuple[np.ndarray, np.ndarray]
CONTINUOUS = {"discrete_features": False, "target_type": "continuous"}


class Task(NamedTuple):
    """A distribution of two blocks of columns."""

    group: str
    draw: Callable[[Rng, int], Pair]
    truth: float  # nats
    options: Mapping[str, str] = MappingProxyType({})  # how the columns are to be read

    @property
    def is_one_dimensional(self) -> bool:
        return not self.group.startswith("blocks")


def binary_entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


# Numbers


def correlated(rng: Rng, n_samples: int, rho: float) -> Pair:
    """Two standard normal columns with correlation rho."""
    x, noise = rng.normal(size=(2, n_samples))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


def normal_information(rho: float) -> float:
    return 0.5 * math.log(1 / (1 - rho**2))


def transformed(rng: Rng, n_samples: int, rho: float, transforms: Sequence[Callable[[np.ndarray], np.ndarray]]) -> Pair:
    """Normal columns, each after a transform that is increasing, which changes no information."""
    x, y = correlated(rng, n_samples, rho)
    return transforms[0](x), transforms[1](y)


def half_cube(x: np.ndarray) -> np.ndarray:
    return x * np.sqrt(np.abs(x))


def wiggly_x(x: np.ndarray) -> np.ndarray:
    return x + 0.4 * np.sin(x) + 0.2 * np.sin(1.7 * x + 1) + 0.03 * np.sin(3.3 * x - 2.5)


def wiggly_y(y: np.ndarray) -> np.ndarray:
    return y - 0.4 * np.sin(0.4 * y) + 0.17 * np.sin(1.3 * y + 3.5) + 0.02 * np.sin(4.3 * y - 2.5)


def bimodal(x: np.ndarray, weight: float, means: tuple[float, float]) -> np.ndarray:
    """Normal numbers turned into those of a mixture of two normal distributions, by the inverse of its distribution."""
    grid = np.linspace(min(means) - 7, max(means) + 7, 20_001)
    below = weight * special.ndtr(grid - means[0]) + (1 - weight) * special.ndtr(grid - means[1])
    return np.interp(special.ndtr(x), below, grid)


def uniform_noise(rng: Rng, n_samples: int, width: float) -> Pair:
    """A uniform number on 0..1, and the same plus noise that is uniform on -width..width."""
    x = rng.random(n_samples)
    return x, x + rng.uniform(-width, width, n_samples)


def uniform_noise_information(width: float) -> float:
    return width - math.log(2 * width) if width <= 0.5 else 0.25 / width


def student(rng: Rng, n_samples: int, rho: float, freedom: float) -> Pair:
    x, y = correlated(rng, n_samples, rho) / np.sqrt(rng.chisquare(freedom, n_samples) / freedom)
    return x, y


def student_information(rho: float, freedom: float) -> float:
    """That of normal columns, and what their common scale tells: the entropies of one and two standard columns."""

    def entropy(n_columns: int) -> float:
        half, whole = freedom / 2, (freedom + n_columns) / 2
        size = special.gammaln(half) - special.gammaln(whole) + n_columns / 2 * math.log(freedom * math.pi)
        return float(size + whole * (special.psi(whole) - special.psi(half)))

    return normal_information(rho) + 2 * entropy(1) - entropy(2)


# Blocks


def swiss_roll(rng: Rng, n_samples: int, rho: float) -> Pair:
    """Uniform numbers of which one is rolled up in two columns."""
    x, y = (special.ndtr(column) for column in correlated(rng, n_samples, rho))
    turn = 1.5 * math.pi * (1 + 2 * x)
    return np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) / 21, y


def dense_correlations(n_columns: int, rho: float = 0.5) -> np.ndarray:
    """The same correlation of every two of 2 n columns."""
    return (1 - rho) * np.eye(2 * n_columns) + rho


def sparse_correlations(n_columns: int, rho: float = 0.8) -> np.ndarray:
    """Two columns of either block are correlated, each with one of the other block."""
    correlations = np.eye(2 * n_columns)
    for column in range(2):
        correlations[column, n_columns + column] = correlations[n_columns + column, column] = rho
    return correlations


def normal_blocks(rng: Rng, n_samples: int, correlations: np.ndarray) -> Pair:
    values = rng.normal(size=(n_samples, len(correlations))) @ np.linalg.cholesky(correlations).T
    return values[:, : len(correlations) // 2], values[:, len(correlations) // 2 :]


def block_information(correlations: np.ndarray) -> float:
    half = len(correlations) // 2
    parts = correlations[:half, :half], correlations[half:, half:], correlations
    volumes = [np.linalg.slogdet(part)[1] for part in parts]
    return 0.5 * float(volumes[0] + volumes[1] - volumes[2])


# Ties and mixtures of numbers and atoms


def rounded(rng: Rng, n_samples: int, rho: float, step: float) -> Pair:
    x, y = correlated(rng, n_samples, rho)
    return np.round(x / step) * step, np.round(y / step) * step


def rounded_information(rho: float, step: float) -> float:
    """From the probabilities of all cells, each by a quadrature over one of the columns."""
    cells = np.arange(-math.ceil(9 / step), math.ceil(9 / step) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    x = (cells[:, None] + nodes / 2) * step
    edges = (np.append(cells, cells[-1] + 1) - 0.5) * step
    below = special.ndtr((edges - rho * x[..., None]) / math.sqrt(1 - rho**2))
    joint = np.einsum("cn,cne->ce", stats.norm.pdf(x) * weights * step / 2, np.diff(below))
    return table_information(joint / joint.sum())


def table_information(joint: np.ndarray) -> float:
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    used = joint > 0
    return float(np.sum(joint[used] * np.log(joint[used] / product[used])))


def zero_inflated(rng: Rng, n_samples: int, p: float, rho: float) -> Pair:
    """Normal columns, one of which is 0 in a share p of the rows, whatever the other is."""
    x, y = correlated(rng, n_samples, rho)
    return x, np.where(rng.random(n_samples) < p, 0.0, y)


def zero_inflated_poisson(rng: Rng, n_samples: int, p: float) -> Pair:
    """An exponential number, and a Poisson count of that mean, but 0 in a share p of the rows."""
    x = rng.exponential(size=n_samples)
    return x, np.where(rng.random(n_samples) < p, 0, rng.poisson(x))


def zero_inflated_poisson_information(p: float) -> float:
    """By numerical integration. The value (1 - p) I(0) that Gao et al. print is I(X; Y, inflated or not): a bound."""
    counts = np.arange(150)
    marginal = (1 - p) * 0.5 ** (counts + 1) + p * (counts == 0)

    def integrand(x: float) -> float:
        conditional = (1 - p) * stats.poisson.pmf(counts, x) + p * (counts == 0)
        used = conditional > 0
        return math.exp(-x) * float(np.sum(conditional[used] * np.log(conditional[used] / marginal[used])))

    return float(integrate.quad(integrand, 0, 50, points=[0.1, 1, 5], limit=500)[0])


def whole_and_uniform(rng: Rng, n_samples: int, n_values: int) -> Pair:
    """A whole number x, and a number that is uniform between x and x + 2."""
    x = rng.integers(0, n_values, size=n_samples)
    return x, x + 2 * rng.random(n_samples)


def whole_and_uniform_information(n_values: int) -> float:
    return math.log(n_values) - (n_values - 1) / n_values * math.log(2)


def atoms_and_normal(rng: Rng, n_samples: int, place: float) -> Pair:
    """One half of the rows with correlation 0.9, the other at (+-place, +-place), of equal sign nine times of ten."""
    x, y = correlated(rng, n_samples, 0.9)
    atoms = rng.random(n_samples) < 0.5
    sign = rng.choice([-1.0, 1.0], size=n_samples)
    other = np.where(rng.random(n_samples) < 0.9, sign, -sign)
    return np.where(atoms, place * sign, x), np.where(atoms, place * other, y)


def atoms_and_normal_information() -> float:
    """The halves never meet, so it is log 2 and the mean of what each has."""
    return math.log(2) + (normal_information(0.9) + math.log(2) - binary_entropy(0.1)) / 2


# Classes

MIXTURES = {
    "two means": ([0.5, 0.5], [(-1, 1), (1, 1)]),
    "unequal classes": ([0.8, 0.2], [(0, 1), (2, 0.5)]),
    "two widths": ([0.5, 0.5], [(0, 1), (0, 3)]),
    "three classes": ([0.2, 0.3, 0.5], [(-2, 1), (0, 0.5), (2, 1)]),
}


def normal_classes(rng: Rng, n_samples: int, name: str) -> Pair:
    """A number that is normal in each class, and the class."""
    priors, parameters = MIXTURES[name]
    means, widths = np.transpose(parameters)
    y = rng.choice(len(priors), p=priors, size=n_samples)
    return rng.normal(means[y], widths[y]), y


def mixture_information(priors: Sequence[float], densities: Sequence[Callable[[float], float]]) -> float:
    """I(X; class): the sum over classes of p_c E_c log(f_c / f), by numerical integration."""

    def integrand(x: float) -> float:
        parts = [density(x) for density in densities]
        whole = sum(prior * part for prior, part in zip(priors, parts, strict=True))
        return sum(p * f * math.log(f / whole) for p, f in zip(priors, parts, strict=True) if f > 0)

    return float(integrate.quad(integrand, -15, 15, points=[-3, -1, 0, 1, 3], limit=500)[0])


def normal_classes_information(name: str) -> float:
    priors, parameters = MIXTURES[name]
    return mixture_information(priors, [stats.norm(mean, width).pdf for mean, width in parameters])


def uniform_classes(rng: Rng, n_samples: int) -> Pair:
    """A number that is uniform on 0..1 in one class and on 0..2 in the other."""
    y = rng.integers(0, 2, size=n_samples)
    return rng.random(n_samples) * (1 + y), y


def _all_tasks() -> dict[str, Task]:
    tasks = {
        f"normal, correlation {rho:g}": Task("normal", partial(correlated, rho=rho), normal_information(rho))
        for rho in (0.0, 0.3, 0.6, 0.9, 0.99)
    }
    transforms = {
        "normal distribution function of both": (special.ndtr, special.ndtr),
        "half-cube of both": (half_cube, half_cube),
        "wiggly": (wiggly_x, wiggly_y),
        "bimodal": (partial(bimodal, weight=0.3, means=(0, 5)), partial(bimodal, weight=0.5, means=(-1, 3))),
    }
    for name, both in transforms.items():
        tasks[name] = Task("other numbers", partial(transformed, rho=0.75, transforms=both), normal_information(0.75))
    for width in (0.1, 0.75):
        draw, truth = partial(uniform_noise, width=width), uniform_noise_information(width)
        tasks[f"uniform, noise {width:g}"] = Task("other numbers", draw, truth)
    for freedom in (1, 2, 3):
        draw, truth = partial(student, rho=0.75, freedom=freedom), student_information(0.75, freedom)
        tasks[f"Student, {freedom} degree{'s' * (freedom > 1)} of freedom"] = Task("other numbers", draw, truth)
    for step, words in ((0.1, "one decimal"), (1.0, "whole numbers")):
        draw, truth = partial(rounded, rho=0.9, step=step), rounded_information(0.9, step)
        tasks[f"correlation 0.9, {words}"] = Task("ties and mixtures", draw, truth, CONTINUOUS)
    tasks["half of one column 0"] = Task(
        "ties and mixtures", partial(zero_inflated, p=0.5, rho=0.9), 0.5 * normal_information(0.9), CONTINUOUS
    )
    for p in (0.0, 0.15):
        draw, truth = partial(zero_inflated_poisson, p=p), zero_inflated_poisson_information(p)
        tasks[f"Poisson, {p:.0%} more zeros"] = Task("ties and mixtures", draw, truth, CONTINUOUS)
    tasks["whole and uniform"] = Task(
        "ties and mixtures", partial(whole_and_uniform, n_values=5), whole_and_uniform_information(5), CONTINUOUS
    )
    for place, words in ((4.0, "beside"), (1.0, "within")):
        draw, truth = partial(atoms_and_normal, place=place), atoms_and_normal_information()
        tasks[f"normal, atoms {words}"] = Task("ties and mixtures", draw, truth, CONTINUOUS)
    for name in MIXTURES:
        draw, truth = partial(normal_classes, name=name), normal_classes_information(name)
        tasks[f"classes: {name}"] = Task("classes", draw, truth)
    tasks["classes: uniform, one twice as wide"] = Task(
        "classes", uniform_classes, math.log(2) - 0.75 * binary_entropy(1 / 3)
    )
    tasks["Swiss roll"] = Task("blocks", partial(swiss_roll, rho=0.9), normal_information(0.9))
    for size in (2, 5, 25):
        for words, matrix in (("dense", dense_correlations(size)), ("sparse", sparse_correlations(size))):
            draw, truth = partial(normal_blocks, correlations=matrix), block_information(matrix)
            tasks[f"normal {size} x {size}, {words}"] = Task("blocks", draw, truth)
    return tasks


TASKS = _all_tasks()
