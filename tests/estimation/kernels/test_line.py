"""Kernels on a line against a few lines of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import FAR, count_within, encoded_columns, encoded_distances, from_python, kozachenko_leonenko, ross
from scipy.special import digamma

from unirel.estimation.kernels import line
from unirel.estimation.kernels.line import ross_on_line
from unirel.estimation.knn import differential_entropy
from unirel.estimation.neighbors import digamma_table

count_around = from_python(line.count_around)
end_within = from_python(line.end_within)
first_within = from_python(line.first_within)

LINES = {
    "normal": lambda rng: np.sort(rng.normal(size=50)),
    "ties": lambda rng: np.sort(rng.integers(0, 5, size=50) * 0.5),
    "equal": lambda rng: np.zeros(50),
    "two": lambda rng: np.array([0.0, 1.0]),
    "two equal": lambda rng: np.array([1.0, 1.0]),
    "levels": lambda rng: np.sort(rng.integers(0, 3, size=50) * 2 * FAR),
}
LIMITS = [0.0, 0.25, 0.5, 1.0, 3.0, np.inf]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", LINES)
def test_first_and_end_within(name, limit, rng):
    line = LINES[name](rng)
    for start, stop in [(0, len(line)), (1, len(line)), (0, len(line) // 2), (1, 1)]:
        part = line[start:stop]
        for center in [*line[::7], line[0] - 5, line[-1] + 5]:
            below, above = np.flatnonzero(center - part <= limit), np.flatnonzero(part - center <= limit)
            assert first_within(line, start, stop, center, limit) == (start + below[0] if below.size else stop)
            assert end_within(line, start, stop, center, limit) == (start + above[-1] + 1 if above.size else start)


@pytest.mark.parametrize("inner", [-1.0, *LIMITS])
@pytest.mark.parametrize("outer", [*LIMITS, FAR])
@pytest.mark.parametrize("name", LINES)
def test_count_around(name, inner, outer, rng):
    line = LINES[name](rng)
    inner = min(inner, outer, FAR / 2)
    expected = [count_within(encoded_distances(line[None]), np.full(len(line), limit)) for limit in (inner, outer)]
    ours = [count_around(line, position, (inner, outer), FAR) for position in range(len(line))]
    assert_array_equal(np.transpose(ours), expected)


def information(sums, labels):
    """I(X;Y) from sums of Ross's terms."""
    sizes = np.bincount(labels)
    return digamma(len(labels)) - (sizes * digamma(sizes)).sum() / len(labels) + np.asarray(sums) / len(labels)


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [12, 80])
@pytest.mark.parametrize("n_neighbors", [1, 3, 50])
def test_ross_on_line(n_neighbors, n_rows, n_classes, rng, make_ball, make_classes):
    columns = encoded_columns(rng, n_rows)
    labels = rng.permutation(np.arange(n_rows) % n_classes)
    ball = make_ball(n_rows, n_neighbors)
    sums = ross_on_line(columns, np.argsort(columns, axis=1), make_classes(labels), ball)
    twin = [ross(encoded_distances(column[None]), labels.tolist(), n_neighbors) for column in columns]
    assert_allclose(information(sums, labels), twin, rtol=0, atol=1e-12)


def test_ross_on_line_of_two_rows(make_ball, make_classes):
    columns = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2 * FAR]])
    sums = ross_on_line(columns, np.argsort(columns, axis=1), make_classes([0, 0]), make_ball(2, 3))
    assert_allclose(sums, 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [1, 3, 7])
@pytest.mark.parametrize("name", ["normal", "ties", "two"])
def test_differential_entropy(name, n_neighbors, rng):
    line = LINES[name](rng)
    n_neighbors = min(n_neighbors, len(line) - 1)
    ours = differential_entropy(line, n_neighbors, 1e-9, digamma_table(len(line)))
    assert ours == pytest.approx(kozachenko_leonenko(line, n_neighbors), abs=1e-12)
