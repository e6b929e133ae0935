"""Kernel densities, against a double loop over the rows and values in closed form."""

import math

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from unirel import mutual_information
from unirel.data.table import Table
from unirel.estimation.kde import KDE, _sums


def column_plainly(kind, values):
    """A column as levels and scores: whether it is missing and its normal score, or its level and 0."""
    if kind == "discrete":
        return values.tolist(), [0.0] * len(values)
    missing, scores = np.isnan(values), np.zeros(len(values))
    scores[~missing] = norm.ppf(rankdata(values[~missing]) / ((~missing).sum() + 1))
    return missing.tolist(), scores.tolist()


def kernel_plainly(columns, i, j, width):
    """The product of the kernels of a block: 0 where levels differ or one value is missing."""
    product = 1.0
    for levels, scores in columns:
        product *= (levels[i] == levels[j]) * math.exp(-((scores[i] - scores[j]) ** 2) / (2 * width**2))
    return product


def kde_plainly(a, b):
    """The mean of log f(a, b) / (f(a) f(b)), each row left out of its own densities, and the bandwidth."""
    n_rows, n_columns = len(a[0][1]), sum(kind == "continuous" for kind, _ in [*a, *b])
    a, b = ([column_plainly(*column) for column in block] for block in (a, b))
    found = []
    for step in range(8):
        width = n_rows ** (-1 / (n_columns + 4)) * math.sqrt(2) ** (1 - step)
        ratios, likelihoods = [], []
        for i in range(n_rows):
            in_a = [kernel_plainly(a, i, j, width) for j in range(n_rows) if j != i]
            in_b = [kernel_plainly(b, i, j, width) for j in range(n_rows) if j != i]
            joint = sum(one * other for one, other in zip(in_a, in_b, strict=True))
            if joint > 0:
                likelihoods.append(math.log(joint) - n_columns * math.log(width))
                ratios.append(math.log(joint * (n_rows - 1) / (sum(in_a) * sum(in_b))))
        found.append((np.mean(likelihoods), np.mean(ratios), width))
    return max(found)[1:]


KINDS = ["continuous", "continuous", "discrete"]


@pytest.fixture(params=["continuous", "discrete"])
def case(request, rng):
    """An estimator of numbers, some of them missing, and levels, and the columns for the twin."""
    common = rng.normal(size=24)
    gaps = np.where(rng.random(24) < 0.3, np.nan, common + rng.normal(size=24))
    columns = [common + 0.3 * rng.normal(size=24), gaps, rng.integers(0, 2, 24).astype(float)]
    target = common + 0.3 * rng.normal(size=24)
    target = target if request.param == "continuous" else (target > 0).astype(float)
    kinds = [*KINDS, request.param]
    table = Table.from_data(np.column_stack(columns), target, discrete_features=[2], target_type=request.param)
    return KDE().on(table), list(zip(kinds, [*columns, target], strict=True))


@pytest.mark.parametrize(("a", "b"), [([0], [3]), ([1], [3]), ([0, 2], [3]), ([0], [2, 3]), ([0, 1], [2, 3])])
def test_equals_twin(case, a, b):
    information, plain = case
    expected, _ = kde_plainly([plain[column] for column in a], [plain[column] for column in b])
    assert information.mutual_information(a, b) == pytest.approx(expected, abs=1e-9)
    assert information.mutual_information(b, a) == pytest.approx(expected, abs=1e-9)


def test_a_close_relation_has_a_narrow_bandwidth(rng):
    x, noise = rng.normal(size=(2, 30))
    close, none = (kde_plainly([("continuous", x)], [("continuous", y)])[1] for y in (x + 0.05 * noise, noise))
    assert close < none / 2


def test_parts_of_the_rows_add_up(rng):
    """Few rows at a time give what all rows at once give."""
    table = Table.from_data(rng.normal(size=(50, 2)), rng.normal(size=50))
    information = KDE().on(table)
    sides = information.side([0, 1]), information.side([2])
    pieces = [_sums(sides, rows, 0.5) for rows in np.array_split(np.arange(50), 7)]
    np.testing.assert_array_equal(np.concatenate(pieces, axis=2), _sums(sides, np.arange(50), 0.5))


# Values that are known


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_normal_columns(rho):
    values = []
    for seed in range(4):
        x, noise = np.random.default_rng(seed).normal(size=(2, 1000))
        values.append(mutual_information(x, rho * x + math.sqrt(1 - rho**2) * noise, clip=False, mi_estimator="kde"))
    assert np.mean(values) == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.03)


def test_probability_of_a_class():
    """P uniform on 0..1, a class with probability P: log 2 - 1/2."""
    values = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = rng.random(1000)
        values.append(mutual_information(p, rng.random(1000) < p, clip=False, mi_estimator="kde"))
    assert np.mean(values) == pytest.approx(math.log(2) - 0.5, abs=0.03)


def test_rows_without_company_are_left_out(rng):
    """A level of one row has no density: the others say what they say without it, but for the size of the table."""
    x, y = rng.normal(size=(2, 40))
    labels = np.repeat(["one", "other"], 20).astype(object)
    labels[3] = "alone"
    value = mutual_information(np.column_stack([labels, x]), y, clip=False, mi_estimator="kde")
    assert math.isfinite(value)
    assert abs(value) < 1
    every = [str(number) for number in range(40)]
    alone = np.column_stack([np.array(every, object), x])
    assert mutual_information(alone, y, mi_estimator="kde", discrete_features={0: True}, clip=False) == 0.0


def test_threads_and_monotone_transforms_change_nothing(rng):
    x, y = rng.normal(size=(2, 700))
    y += x
    value = mutual_information(x, y, n_jobs=1, mi_estimator="kde")
    assert value > 0.2
    assert mutual_information(x, y, n_jobs=2, mi_estimator="kde") == value
    assert mutual_information(np.exp(x), y**3, mi_estimator="kde") == value
