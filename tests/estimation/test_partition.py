"""The adaptive partition, against a plain recursive function and values in closed form."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, norm, rankdata

from unirel import mutual_information
from unirel.data.table import Table
from unirel.estimation.partition import Partition

# The twin: rows in sets, one cell after the other


def columns_plainly(values, kind):
    """A column as the twin sees it: levels, or scores; a missing score is 0, and another column says so."""
    if kind == "discrete":
        return [(kind, values)]
    missing, scores = np.isnan(values), np.zeros(len(values))
    scores[~missing] = norm.ppf(rankdata(values[~missing]) / ((~missing).sum() + 1))
    return [("continuous", scores)] + [("discrete", missing)] * bool(missing.any())


def halves_plainly(values, rows):
    """Whether each row is above the median; equal values on the side that makes the halves more even."""
    ordered = sorted(values[row] for row in rows)
    median = ordered[(len(ordered) - 1) // 2]
    above, from_on = ({row: values[row] > median for row in rows}, {row: values[row] >= median for row in rows})
    return min((above, from_on), key=lambda part: abs(2 * sum(part.values()) - len(rows)))


def cut_plainly(block, rows, fineness):
    """The part of each row: its level or half, and if asked to also its half within the half, in every column."""
    parts = dict.fromkeys(rows, ())
    for kind, values in block:
        halves = {row: values[row] for row in rows} if kind == "discrete" else halves_plainly(values, rows)
        for half in set(halves.values()):
            inside = [row for row in rows if halves[row] == half]
            finer = halves_plainly(values, inside) if kind == "continuous" and fineness else dict.fromkeys(inside, 0)
            for row in inside:
                parts[row] += (halves[row], finer[row])
    return parts


def chance_plainly(of_a, of_b):
    """The probability of a chi-square statistic as large as that of the rows in both boxes, and the statistic."""
    inside = of_a.keys() & of_b.keys()
    names = set(of_a.values()), set(of_b.values())
    n_parts = len(names[0]) * len(names[1])
    if n_parts == 1 or n_parts > len(inside):
        return 1.0, 0.0
    statistic = 0.0
    for a, b in product(*names):
        share = sum(part == a for part in of_a.values()) / len(of_a) * sum(part == b for part in of_b.values())
        expected = len(inside) * share / len(of_b)
        statistic += (sum((of_a[row], of_b[row]) == (a, b) for row in inside) - expected) ** 2 / expected
    return chi2.sf(statistic, n_parts - 1), -round(statistic, 9)


def partition_plainly(a, b, in_a=None, in_b=None):
    """Sum of n log(N n(A, B) / (n(A) n(B))) over the cells, divided by N at the end."""
    n_samples, outermost = len(a[0][1]), in_a is None
    in_a, in_b = (set(range(n_samples)) if box is None else box for box in (in_a, in_b))
    inside = in_a & in_b
    if not inside:
        return 0.0
    total = None
    singles, whole = list(product([[one] for one in a], [[other] for other in b])), [(a, b)]
    for fineness, tried in product((0, 1), (singles, whole)):
        chances = [chance_plainly(cut_plainly(x, in_a, fineness), cut_plainly(y, in_b, fineness)) for x, y in tried]
        best = chances.index(min(chances))
        if chances[best][0] * len(tried) < 0.01:
            boxes = [
                [{row for row in box if parts[row] == part} for part in set(parts.values())]
                for box, parts in (
                    (in_a, cut_plainly(tried[best][0], in_a, 0)),
                    (in_b, cut_plainly(tried[best][1], in_b, 0)),
                )
            ]
            total = sum(partition_plainly(a, b, *cell) for cell in product(*boxes))
            break
    if total is None:
        total = len(inside) * math.log(n_samples * len(inside) / (len(in_a) * len(in_b)))
    return total / n_samples if outermost else total


KINDS = ["continuous", "continuous", "continuous", "discrete", "discrete"]


@pytest.fixture(params=["continuous", "discrete"])
def case(request, rng):
    """An estimator of numbers, tied ones, ones with missing values, and levels; and the columns for the twin."""
    common = rng.normal(size=150)
    noisy = [common + 0.5 * rng.normal(size=150) for _ in range(5)]
    gaps = np.where(rng.random(150) < 0.2, np.nan, noisy[2])
    columns = [noisy[0], np.round(noisy[1]), gaps, np.digitize(noisy[3], [-1, 1]), rng.integers(0, 2, 150)]
    columns = [np.asarray(column, float) for column in columns]
    target = noisy[4] if request.param == "continuous" else (noisy[4] > 0).astype(float)
    table = Table.from_data(np.column_stack(columns), target, discrete_features=[3, 4], target_type=request.param)
    kinds = [*KINDS, request.param]
    return Partition().on(table), [columns_plainly(*pair) for pair in zip([*columns, target], kinds, strict=True)]


@pytest.mark.parametrize("block", [[0], [1], [2], [0, 3], [4, 1], [0, 1, 2]])
def test_equals_twin(case, block):
    information, plain = case
    a, b = [part for column in block for part in plain[column]], plain[5]
    assert information.mutual_information(block, [5]) == pytest.approx(partition_plainly(a, b), abs=1e-12)
    assert information.mutual_information([5], block) == pytest.approx(partition_plainly(b, a), abs=1e-12)


def test_blocks_on_both_sides_equal_twin(case):
    information, plain = case
    a, b = plain[0] + plain[3], plain[1] + plain[5]
    assert information.mutual_information([0, 3], [1, 5]) == pytest.approx(partition_plainly(a, b), abs=1e-12)
    assert information.conditional([0], [5], [1]) == pytest.approx(
        partition_plainly(plain[0] + plain[1], plain[5]) - partition_plainly(plain[1], plain[5]), abs=1e-12
    )


# Values that are known


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9])
def test_normal_columns(rho):
    values = []
    for seed in range(4):
        x, noise = np.random.default_rng(seed).normal(size=(2, 3000))
        values.append(
            mutual_information(x, rho * x + math.sqrt(1 - rho**2) * noise, clip=False, mi_estimator="partition")
        )
    assert np.mean(values) == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.035)


def test_independent_columns_are_one_cell(rng):
    values = [mutual_information(*rng.normal(size=(2, 300)), clip=False, mi_estimator="partition") for _ in range(40)]
    assert values.count(0.0) >= 36
    assert np.mean(values) < 0.005


def test_a_pattern_that_halves_do_not_show(rng):
    """On a board of 4 x 4 fields of which every other is empty, all halves are even, and quarters are not.

    The truth is log 2; medians of samples are not quite between the fields.
    """
    fields = rng.integers(0, 4, size=(2, 4000))
    fields[1] += (fields.sum(axis=0)) % 2
    x, y = fields[0] + rng.random(4000), fields[1] % 4 + rng.random(4000)
    assert mutual_information(x, y, mi_estimator="partition") == pytest.approx(math.log(2), abs=0.15)


def test_exclusive_or_of_signs(rng):
    X = rng.uniform(-1, 1, size=(2000, 2))
    y = X[:, 0] * X[:, 1] > 0
    assert mutual_information(X, y, mi_estimator="partition") == pytest.approx(math.log(2), abs=0.08)
    assert mutual_information(X[:, 0], y, mi_estimator="partition") < 0.01


def test_more_parts_than_rows(rng):
    """Of ten columns two have to do with each other: 1,024 parts are too many for 500 rows, these two are found."""
    X, Y = rng.normal(size=(2, 500, 5))
    Y[:, 4] = 0.9 * X[:, 2] + math.sqrt(1 - 0.9**2) * Y[:, 4]
    assert mutual_information(X, Y, mi_estimator="partition") > 0.6
    assert mutual_information(X, rng.normal(size=(500, 5)), mi_estimator="partition") < 0.02


def test_a_monotone_transform_changes_nothing(rng):
    x, y = rng.normal(size=(2, 400))
    y += x
    value = mutual_information(x, y, mi_estimator="partition")
    assert value > 0.2
    assert mutual_information(np.exp(x), y**3, mi_estimator="partition") == value
    order = rng.permutation(400)
    assert mutual_information(x[order], y[order], mi_estimator="partition") == pytest.approx(value, abs=1e-12)
