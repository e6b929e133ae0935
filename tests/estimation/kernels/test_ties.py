"""The rule for ties against every order that the tied points could have."""

from itertools import permutations

import numpy as np
import pytest
import reference
from numpy.testing import assert_array_equal
from reference import from_python, inside, within
from scipy.special import digamma

from unirel.estimation.kernels import ties
from unirel.estimation.neighbors import digamma_table

digamma_of_position = from_python(ties.digamma_of_position)
limits_of = from_python(ties.limits_of)
ross_term = from_python(ties.ross_term)

PSI = digamma_table(5000)


def mean_over_all_orders(before, tied, marked, wanted):
    """Put the tied points in every order and look where the wanted marked one stands."""
    values = []
    for order in permutations(range(tied)):
        positions = sorted(order.index(point) for point in range(marked))
        values.append(digamma(before + positions[wanted - 1] + 1))
    return np.mean(values)


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("tied", [1, 2, 5, 6])
def test_mean_over_all_orders(tied, before):
    for marked in range(1, tied + 1):
        for wanted in range(1, marked + 1):
            expected = mean_over_all_orders(before, tied, marked, wanted)
            for function in (
                lambda *counts: digamma_of_position(*counts, PSI),
                reference.digamma_of_position,
            ):
                assert function(before, tied, marked, wanted) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "counts",
    [(1, 2000, 1, 1), (3, 1500, 700, 3), (20, 900, 5, 5), (400, 4000, 3, 2), (1, 300, 299, 150), (9, 4000, 2000, 1000)],
)
def test_long_sums_equal_twin(counts):
    assert digamma_of_position(*counts, PSI) == pytest.approx(reference.digamma_of_position(*counts), abs=1e-12)


def test_closed_form_where_nothing_is_inside():
    """The sum that is left out, for a ball that holds nothing but ties."""
    for tied, marked, wanted in [(30, 12, 3), (1000, 4, 4), (50, 49, 1)]:
        expected = reference.digamma_of_position(0, tied, marked, wanted)
        assert digamma_of_position(0, tied, marked, wanted, PSI) == pytest.approx(expected, abs=1e-12)


def test_without_ties_it_is_the_term_of_ross():
    assert ross_term(3, (2, 3), (6, 7), PSI) == digamma_table(9)[3] - digamma_table(9)[7]


def test_limits_part_inside_from_within():
    distances = np.array([0.0, 1e-12, 0.5, 1 - 1e-8, 1 - 1e-10, 1.0, 1 + 1e-10, 1 + 1e-8, 16.0])
    for radius in (0.0, 0.5, 1.0, 16.0):
        inner, outer = limits_of(radius, 1e-9)
        assert_array_equal(distances <= inner, inside(distances, radius, 1e-9))
        assert_array_equal(distances <= outer, within(distances, radius, 1e-9))


@pytest.mark.parametrize("n_tied", [7, 700])
def test_few_terms_in_python_are_the_compiled_ones(n_tied, rng):
    own_inside, within_more, n_more = (
        rng.integers(0, 3, n_tied),
        rng.integers(1, 40, n_tied),
        rng.integers(0, 50, n_tied),
    )
    n_neighbors = own_inside + 1 + rng.integers(0, within_more)
    own = np.array([own_inside, own_inside + within_more])
    everyone = own + np.array([n_more // 2, n_more])
    arguments = n_neighbors, own, everyone, PSI
    assert_array_equal(ties._tied_terms(*arguments), ties._compiled_tied_terms(*arguments))
    whole = ties.ross_terms(n_neighbors, own[:, :, None], everyone[:, :, None], PSI)
    assert_array_equal(whole[:, 0], ties._tied_terms(*arguments))
