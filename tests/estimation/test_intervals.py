"""Intervals: formulas against plain ones, what they cover, and what must not change."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.intervals import CASES, coverage
from unirel import mutual_information, relevance, unique_relevance
from unirel.errors import UnirelWarning
from unirel.estimation.binned import Binned
from unirel.estimation.intervals import _ends_from_zero_on, ends_of_interval, moments_of_counts
from unirel.estimation.knn import KNN

# Those of counts that have rows enough at 200.
COUNTED = [
    ("2 x 3 levels, dependent", "plugin"),
    ("4 x 3 levels, independent", "plugin"),
    ("Gaussian, correlation 0.6", "4 bins"),
    ("classes and exponential numbers", "8 bins"),
]
BIASED = ("partition", "kde", "mine")


def plain_information(rows):
    """I(a; b | c) of rows, and its degrees of freedom, from shares."""
    n = len(rows)

    def share(places):
        parts = [tuple(row[place] for place in places) for row in rows]
        return [parts.count(part) / n for part in parts], len(set(parts))

    (abc, n_abc), (ac, n_ac), (bc, n_bc), (only, n_c) = (share(places) for places in ((0, 1, 2), (0, 2), (1, 2), (2,)))
    terms = [np.log(p * r / (q * s)) for p, q, s, r in zip(abc, ac, bc, only, strict=True)]
    return np.mean(terms), max(n_abc + n_c - n_ac - n_bc, 0)


def plain_moments(a, b, c):
    """I less what chance gives, the variance of the jackknife for each nat of it, and that of chi-square."""
    n, rows = len(a), list(zip(a, b, c, strict=True))
    value, freedom = plain_information(rows)
    without = [plain_information(rows[:place] + rows[place + 1 :])[0] for place in range(n)]
    by_chance = reference.expected_within(*([reference.read(column, "discrete")] for column in (a, b, c)))
    return value - by_chance, (n - 1) * np.var(without) / value, freedom / (2 * n**2)


@pytest.mark.parametrize("seed", range(8))
def test_moments_equal_their_formula(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, [[3], [2 + seed % 2], [1 + seed % 2]], (3, 120))
    b = np.where(rng.random(120) < 0.1 * seed, a % (b.max() + 1), b)
    assert_allclose(moments_of_counts(a, b, c), plain_moments(a.tolist(), b.tolist(), c.tolist()), atol=1e-12)


@pytest.mark.parametrize("name", COUNTED)
def test_intervals_of_counts_cover_the_known_value(name):
    found = coverage(name, 200, 100)
    assert found.refused == 0
    assert 0.9 <= found.covered <= 0.99


@pytest.mark.parametrize("name", [name for name in CASES if name[1] in BIASED])
def test_estimators_that_are_biased_have_no_intervals(name):
    assert coverage(name, 60, 1).refused == 1


@pytest.mark.parametrize("name", ["10 x 10 levels, independent", "8 x 8 and 8 levels, independent"])
@pytest.mark.filterwarnings("ignore:1 of 1 confidence intervals")
def test_thin_cells_have_no_intervals(name):
    assert coverage((name, "plugin"), 100, 5).refused == 1


def test_ends_are_the_values_that_the_estimate_does_not_contradict(rng):
    # At each end the estimate is 1.96 standard deviations away, with the variance that belongs to that end.
    x = rng.integers(0, 3, 300)
    y = np.where(rng.random(300) < 0.4, x, rng.integers(0, 3, 300))
    centre, slope, floor = moments_of_counts(x, y, np.zeros(300, int))
    estimate = mutual_information(x, y, clip=False, mi_estimator="plugin", confidence_level=0.95)
    for end in (estimate.low, estimate.high):
        assert_allclose(abs(centre - end) / np.sqrt(slope * end + floor), 1.96, atol=1e-4)


def test_intervals_of_neighbours_cover_the_known_value_mostly():
    assert coverage(("classes and exponential numbers", "knn"), 200, 8).covered >= 0.75


@pytest.mark.parametrize(("estimator", "n_columns"), [("gaussian", 400), ("knn", 500)])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.6])
def test_intervals_err_as_often_as_they_may(estimator, n_columns, correlation):
    # Where nothing is to be found, 0 is excluded in one of twenty columns: an interval that always holds says nothing.
    rng = np.random.default_rng(0)
    y, noise = rng.standard_normal(100), rng.standard_normal((100, n_columns))
    X = correlation * y[:, None] + (1 - correlation**2) ** 0.5 * noise
    found = relevance(X, y, mi_estimator=estimator, confidence_level=0.95)
    truth = -0.5 * np.log(1 - correlation**2)
    assert 0.01 < ((found.low > truth + 1e-12) | (found.high < truth)).mean() <= 0.09


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_ends_from_zero_on_err_as_often_as_they_may(level):
    estimates, truths = np.random.default_rng(0).standard_normal(20_000), np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    low, high = _ends_from_zero_on(truths[:, None] + estimates, np.ones(20_000), level)
    held = ((low <= truths[:, None]) & (truths[:, None] <= high)).mean(axis=1)
    assert_allclose(held, level, atol=0.01)


def test_neighbours_of_a_narrow_relation_have_no_interval(rng):
    x = rng.standard_normal(100)
    with pytest.warns(UnirelWarning, match="1 of 2 confidence intervals .* biased above 1.25 nats"):
        found = relevance(
            np.column_stack([x, rng.standard_normal(100)]), x + 0.05 * rng.standard_normal(100), confidence_level=0.95
        )
    assert_array_equal(np.isnan([found.low, found.high]), [[True, False]] * 2)


def test_normal_scores_of_classes_and_neighbours_of_several_numbers_have_no_intervals(table):
    X, y = table
    with pytest.raises(ValueError, match=r"no interval for levels or classes by mi_estimator='gaussian'.*pass 'knn'"):
        relevance(X, y, mi_estimator="gaussian", confidence_level=0.95)
    with pytest.raises(ValueError, match=r"a continuous target beside several columns by .*'knn'.*'gaussian'"):
        mutual_information(X[:, 0], X[:, 1], conditional_on=X[:, 2], confidence_level=0.95)


@pytest.mark.slow
# Long tables take long: fewer of them, whose share of hits scatters more.
@pytest.mark.parametrize(
    ("n_samples", "repeats", "least", "most"), [(200, 300, 0.9, 0.99), (1000, 100, 0.87, 1), (5000, 60, 0.87, 1)]
)
@pytest.mark.parametrize(
    "name",
    [
        *COUNTED,
        ("3 x 2 levels given 2, independent", "plugin"),
        *((f"Gaussian, correlation {correlation}", "knn") for correlation in ("0", "0.6", "0.9")),
        ("classes and exponential numbers", "knn"),
    ],
)
def test_intervals_cover_the_known_value_as_often_as_they_say(name, n_samples, repeats, least, most):
    assert least <= coverage(name, n_samples, repeats).covered <= most


@pytest.fixture
def table(rng):
    X = np.column_stack([rng.standard_normal((120, 3)), rng.integers(0, 3, 120)])
    return X, (X[:, 0] + (X[:, 3] == 1) > 0.5).astype(int)


@pytest.mark.parametrize("estimator", [KNN(), Binned(n_bins=3)])
def test_the_value_is_that_without_an_interval(table, estimator):
    X, y = table
    for measure in (relevance, mutual_information):
        estimate = measure(X[:, [0, 3]], y, mi_estimator=estimator, confidence_level=0.9)
        assert_array_equal(estimate.value, measure(X[:, [0, 3]], y, mi_estimator=estimator))
        assert (np.asarray(estimate.low) <= estimate.high).all()
        assert (np.asarray(estimate.low) >= 0).all()
    estimate = unique_relevance(*table, confidence_level=0.9)
    assert_array_equal(estimate.value, unique_relevance(*table))
    assert (estimate.low <= estimate.high).all()


def test_a_conditional_value_has_one_too(table):
    X, y = table
    for estimator in (KNN(), Binned(n_bins=3)):
        estimate = mutual_information(X[:, 0], y, conditional_on=X[:, 3], mi_estimator=estimator, confidence_level=0.95)
        assert estimate.value == mutual_information(X[:, 0], y, conditional_on=X[:, 3], mi_estimator=estimator)
        assert estimate.low < estimate.high


def test_a_higher_level_is_wider_and_repetition_and_threads_change_nothing(table):
    narrow, wide, again = (
        relevance(*table, n_jobs=n_jobs, confidence_level=level) for level, n_jobs in ((0.5, 1), (0.99, 1), (0.5, 2))
    )
    assert_array_equal(narrow.low, again.low)
    assert (wide.high - wide.low >= narrow.high - narrow.low).all()


def test_unique_relevance_beside_a_reference(table):
    estimate = unique_relevance(*table, reference=[1, 0], method="reference", confidence_level=0.95)
    assert_array_equal(estimate.value, unique_relevance(*table, method="reference", reference=[1, 0]))
    assert estimate.low[0] < estimate.value[0] < estimate.high[0]


@pytest.mark.parametrize("level", [0, 1, 95, "wide"])
def test_a_level_that_cannot_be_is_refused(table, level):
    for measure in (relevance, mutual_information, unique_relevance):
        with pytest.raises(ValueError, match="confidence_level="):
            measure(*table, confidence_level=level)
    with pytest.raises(ValueError, match="confidence_level= goes with"):
        unique_relevance(*table, method="classifier", confidence_level=0.95)


@pytest.mark.parametrize("name", ["partition", "kde", "mine"])
def test_a_biased_estimator_says_what_to_do(table, name):
    X, y = table
    for measure in (relevance, mutual_information):
        with pytest.raises(ValueError, match=f"mi_estimator='{name}', which is biased; pass 'knn', 'binned'"):
            measure(X, y, mi_estimator=name, confidence_level=0.95)


@pytest.mark.parametrize("options", [{}, {"method": "reference", "reference": [0]}, {"method": KNN(5)}], ids=str)
def test_unique_relevance_by_neighbours_has_no_interval_for_numbers(table, options):
    X, y = table
    with pytest.raises(ValueError, match=r"no interval for a continuous target beside several columns.*'gaussian'"):
        unique_relevance(X, X[:, 0] + X[:, 1], confidence_level=0.95, **options)
    assert unique_relevance(X, y, confidence_level=0.95, **options).low.shape == (4,)


def _table_of(n_levels, strength):
    """Joint chances of two columns: independent, but for a share of the rows in which one decides the other."""
    chances = np.full(n_levels, (1 - strength) / np.prod(n_levels))
    chances[np.arange(n_levels[0]), np.arange(n_levels[0]) % n_levels[1]] += strength / n_levels[0]
    return chances


@pytest.mark.parametrize("strength", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize(("n_levels", "n_samples"), [((2, 2), 100), ((8, 2), 100), ((10, 10), 1000), ((30, 5), 1000)])
def test_intervals_of_counts_cover(n_levels, n_samples, strength):
    """Of 95 % intervals 92 to 98 % hold the truth, as far as 200 tables can tell."""
    chances, rng = _table_of(n_levels, strength), np.random.default_rng(0)
    margins = chances.sum(axis=1, keepdims=True) * chances.sum(axis=0)
    truth, held = float((chances * np.log(chances / margins)).sum()), []
    for _ in range(200):
        cells = rng.choice(chances.size, n_samples, p=chances.ravel())
        codes = cells // n_levels[1], cells % n_levels[1], np.zeros(n_samples, np.intp)
        low, high = ends_of_interval(*moments_of_counts(*codes), 0.95)
        held.append(low <= truth <= high)
    assert 0.9 <= np.mean(held) <= 0.995


@pytest.mark.parametrize("case", ["thin", "determined"])
def test_an_interval_that_would_not_hold_is_refused(case):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 10, 100)
    b = rng.integers(0, 10, 100) if case == "thin" else a % 2
    with pytest.warns(UnirelWarning, match="1 of 1 confidence intervals are not given"):
        found = mutual_information(a, b, discrete_features=True, target_type="discrete", confidence_level=0.95)
    assert np.isnan([found.low, found.high]).all()
    assert found.value >= 0
