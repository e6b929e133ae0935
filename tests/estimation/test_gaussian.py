"""Information of normal scores and categories, against plain least squares and values in closed form."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma
from scipy.stats import norm, rankdata
from sklearn.covariance import ledoit_wolf_shrinkage

from unirel import BURSelector, conditional_relevance, mutual_information, relevance, unique_relevance
from unirel.criteria import CRITERIA
from unirel.data.table import Table
from unirel.estimation.gaussian import Gaussian, _FullFit
from unirel.estimation.gaussian_rows import Encoded, Layout

CLOSE = {"rtol": 0, "atol": 1e-10}


# The twin: plain least squares, one pair at a time


def encode_plainly(values, kind, most=12):
    """Columns of a matrix: scores and the indicator of missing ones, or indicators of levels, the rarest left out."""
    if kind == "continuous":
        missing = np.isnan(values)
        scores = np.zeros(len(values))
        scores[~missing] = norm.ppf(rankdata(values[~missing]) / ((~missing).sum() + 1))
        return np.column_stack([scores, missing]) if missing.any() else scores[:, None]
    levels, counts = np.unique(values, return_counts=True)
    kept = levels[np.argsort(-counts, kind="stable")][: min(most, len(levels) - 1)]
    return np.equal.outer(values, kept).astype(float)


def left_by_fit(columns, known):
    """What least squares on known columns and a constant leave, and how many independent columns these are."""
    design = np.column_stack([np.ones(len(columns)), *known])
    return columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0], np.linalg.matrix_rank(design) - 1


def gaussian_plainly(a, b, given=()):
    """I(a; b | given) of lists of matrices."""
    other = np.column_stack(b)
    before, rank_before = left_by_fit(other, given)
    after, rank_after = left_by_fit(other, [*given, *a])
    information = 0.5 * (np.linalg.slogdet(before.T @ before)[1] - np.linalg.slogdet(after.T @ after)[1])
    n, d = len(other) - 1 - rank_before, rank_after - rank_before
    steps = range(other.shape[1])
    return information - 0.5 * sum(digamma((n - i) / 2) - digamma((n - d - i) / 2) for i in steps)


N_ROWS = 400
KINDS = ["continuous", "continuous", "continuous", "discrete", "discrete", "discrete", "continuous"]
LEVELS = [3, 4, 5]  # the columns of them that are discrete


def draw_columns(rng):
    """Numbers, tied ones, ones with missing values, categories of 3, 13 and 40 levels, and numbers again."""
    common = rng.normal(size=N_ROWS)
    tied = np.round(2 * (common + rng.normal(size=N_ROWS)))
    gaps = np.where(rng.random(N_ROWS) < 0.2, np.nan, common + rng.normal(size=N_ROWS))
    few = np.digitize(common + rng.normal(size=N_ROWS), [-1, 1])
    more = np.minimum(rng.geometric(0.2, size=N_ROWS), 13)
    many = np.minimum(rng.geometric(0.06, size=N_ROWS), 40)
    columns = [common + rng.normal(size=N_ROWS), tied, gaps, few, more, many, np.exp(rng.normal(size=N_ROWS))]
    return common, [np.asarray(column, float) for column in columns]


@pytest.fixture(params=["continuous", "two classes", "five classes", "many classes"])
def case(request, rng):
    """An estimator, and the same columns, the target last, as the twin has them."""
    common, columns = draw_columns(rng)
    target, kind = common + rng.normal(size=N_ROWS), "discrete"
    if request.param == "continuous":
        kind = "continuous"
    else:
        n_classes = {"two classes": 2, "five classes": 5, "many classes": 20}[request.param]
        target = np.digitize(target, np.quantile(target, np.linspace(0, 1, n_classes + 1)[1:-1])).astype(float)
    table = Table.from_data(np.column_stack(columns), target, discrete_features=LEVELS, target_type=kind)
    plain = [encode_plainly(column, kind) for column, kind in zip(columns, KINDS, strict=True)]
    return Gaussian().on(table), [*plain, encode_plainly(target, kind, most=99)]


def test_relevance_equals_twin(case):
    information, plain = case
    expected = [gaussian_plainly([column], plain[-1:]) for column in plain[:-1]]
    assert_allclose(information.relevance(range(7)), expected, **CLOSE)


@pytest.mark.parametrize("column", range(7))
def test_pairs_equal_twin(case, column):
    information, plain = case
    others = [k for k in range(7) if k != column]
    expected = [gaussian_plainly([plain[k]], [plain[column]]) for k in others]
    assert_allclose(information.pairwise(others, column), expected, **CLOSE)
    expected = [gaussian_plainly([plain[k]], [plain[column]], plain[-1:]) for k in others]
    assert_allclose(information.pairwise_given_target(others, column), expected, **CLOSE)


@pytest.mark.parametrize("given", [[0], [3], [2, 5], [4, 1, 6, 3]])
def test_conditional_and_joint_equal_twin(case, given):
    information, plain = case
    others, known = [k for k in range(7) if k not in given], [plain[k] for k in given]
    expected = [gaussian_plainly([plain[k]], plain[-1:], known) for k in others]
    assert_allclose(information.conditional_relevance(others, given), expected, **CLOSE)
    assert_allclose([information.conditional([k], [7], given) for k in others], expected, **CLOSE)
    joint = [gaussian_plainly([plain[k], *known], plain[-1:]) for k in others]
    assert_allclose(information.joint(others, given), joint, **CLOSE)
    changes = information.with_each(given, others)
    assert changes.before == pytest.approx(gaussian_plainly(known, plain[-1:]), abs=1e-10)
    assert_allclose(changes.change, expected, **CLOSE)


def test_blocks_equal_twin(case):
    information, plain = case
    for a, b, given in [([0, 3], [1, 4], []), ([2, 5, 6], [7], [0]), ([1], [3, 7], [4, 2]), ([0], [5, 6], [7])]:
        blocks = [[plain[k] for k in block] for block in (a, b, given)]
        assert information.conditional(a, b, given) == pytest.approx(gaussian_plainly(*blocks), abs=1e-10)
        assert information.conditional(b, a, given) == pytest.approx(gaussian_plainly(*blocks), abs=1e-10)


@pytest.mark.parametrize("block", [[6], [0, 1, 2], [5, 3, 0], list(range(7))])
def test_without_each_equals_twin(case, block):
    information, plain = case
    changes = information.without_each(block)
    rest = [[plain[other] for other in block if other != k] for k in block]
    expected = [-gaussian_plainly([plain[k]], plain[-1:], others) for k, others in zip(block, rest, strict=True)]
    assert changes.before == pytest.approx(gaussian_plainly([plain[k] for k in block], plain[-1:]), abs=1e-10)
    assert_allclose(changes.change, expected, **CLOSE)


def test_the_chain_rule_is_exact(case):
    information, _ = case
    joint, single = information.joint(range(3), [3, 5]), information.mutual_information([3, 5], [7])
    assert_allclose(joint, single + information.conditional_relevance(range(3), [3, 5]), **CLOSE)


def test_what_was_taken_off(case):
    information, plain = case
    raw = information.relevance(range(7)) + information.by_chance(range(7), 7)
    target = plain[-1] - plain[-1].mean(axis=0)
    for k in range(7):
        left = left_by_fit(target, [plain[k]])[0]
        expected = 0.5 * (np.linalg.slogdet(target.T @ target)[1] - np.linalg.slogdet(left.T @ left)[1])
        assert raw[k] == pytest.approx(expected, abs=1e-10)


# Columns that say the same


def test_copies_and_constants_add_nothing(case):
    information, _ = case
    table = information.table
    values = information.conditional_relevance([0, 3, 5], [5, 3, 0, 1])
    assert_allclose(values, 0, rtol=0, atol=1e-12)
    constant = Table.from_data(np.column_stack([np.ones(60), np.arange(60)]), np.arange(60.0), discrete_features=False)
    assert Gaussian().on(constant).relevance([0])[0] == 0
    assert Gaussian().on(constant).joint([0], [1])[0] == Gaussian().on(constant).mutual_information([1], [2])
    assert_allclose(information.joint([0, 1], [0, 1]), information.mutual_information([0, 1], [table.target]), **CLOSE)


def test_a_copy_of_the_target_has_a_finite_value_by_whichever_way(rng):
    for target in (rng.normal(size=80), np.arange(80) % 4):
        X = np.column_stack([rng.normal(size=80), target, rng.normal(size=80)])
        table = Table.from_data(X, target, discrete_features={1: target.dtype == int})
        information = Gaussian().on(table)
        single = information.mutual_information([0, 1, 2], [3])
        assert np.isfinite(single)
        assert_allclose(information.joint([0, 1, 2], [0, 1, 2]), single, **CLOSE)
        assert_allclose(information.joint([1], [0, 2]), single, **CLOSE)
        assert_allclose(information.joint([0], [1, 2]), single, **CLOSE)
        assert_allclose(information.conditional_relevance([0, 2], [1]), 0, rtol=0, atol=1e-6)


def test_copies_make_each_other_superfluous(rng):
    strong, weak = rng.normal(size=(2, 500))
    y = 2 * strong + weak + rng.normal(size=500)
    X = np.column_stack([strong, weak, rng.normal(size=500)])
    expected = unique_relevance(X, y, method="gaussian")
    doubled = unique_relevance(np.column_stack([X, strong, strong**3]), y, method="gaussian")
    assert_allclose(doubled[[0, 3, 4]], 0, rtol=0, atol=1e-5)
    assert_allclose(doubled[[1, 2]], expected[[1, 2]], rtol=0, atol=1e-9)


def test_columns_without_any_value(rng):
    X = np.column_stack([rng.normal(size=30), np.full(30, np.nan), rng.integers(3, size=30)])
    for y, kind in ((rng.normal(size=30), "continuous"), (np.arange(30) % 2, "discrete")):
        table = Table.from_data(X, y, discrete_features={1: False, 2: True}, target_type=kind)
        information = Gaussian().on(table)
        assert information.relevance(range(3))[1] == 0
        assert information.conditional([1], [3], [0]) == 0
        assert information.without_each(range(3)).change[1] == 0
        joint = information.joint(range(3), [2])
        assert_allclose(joint[1:], information.mutual_information([2], [3]), **CLOSE)


def test_tables_of_two_and_three_rows():
    for n_rows in (2, 3):
        X, y = np.arange(n_rows)[:, None] * [1.0, -1.0], np.arange(n_rows) % 2
        table = Table.from_data(X, y, discrete_features=False, target_type="discrete")
        assert np.isfinite(Gaussian().on(table).relevance([0, 1])).all()
        assert np.isfinite(Gaussian().on(table).without_each([0, 1]).change).all()
        assert np.isfinite(Gaussian().on(table).by_chance([0, 1], 2)).all()


# Values in closed form


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 0.95])
def test_bivariate_normal(rng, correlation):
    n_rows = 50_000
    x, noise = rng.normal(size=(2, n_rows))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    expected = -0.5 * np.log(1 - correlation**2)
    for transform in (lambda v: v, norm.cdf, np.exp, lambda v: v**3):
        value = mutual_information(transform(x), y, clip=False, mi_estimator="gaussian", discrete_features=False)
        assert value == pytest.approx(expected, abs=5 / np.sqrt(n_rows))


def test_joint_and_conditional_of_a_linear_design(rng):
    n_rows = 50_000
    X = rng.normal(size=(n_rows, 4))
    y = X @ [1.0, 1.0, 0.5, 0.0] + rng.normal(size=n_rows)
    near = 5 / np.sqrt(n_rows)
    whole = mutual_information(X, y, mi_estimator="gaussian")
    assert whole == pytest.approx(0.5 * np.log(3.25), abs=near)
    given = conditional_relevance(X, y, [0, 2], mi_estimator="gaussian")
    assert_allclose(given, [0, 0.5 * np.log(2), 0, 0], rtol=0, atol=near)


def test_classes_that_overlap():
    """Wilks' lambda of two normal classes is known: 1 / (1 + d^2 / 4) for means that are d apart, within deviation 1.

    With scores of the whole column in the place of the column it is nearly that.
    """
    rng = np.random.default_rng(3)
    labels = np.arange(40_000) % 2
    x = rng.normal(size=40_000) + 1.0 * labels
    value = relevance(x, labels, mi_estimator="gaussian")[0]
    assert value == pytest.approx(0.5 * np.log(1.25), abs=0.01)


def test_the_error_falls_with_the_root_of_the_rows():
    errors = {}
    for n_rows in (400, 40_000):
        found = []
        for seed in range(20):
            x, noise = np.random.default_rng(seed).normal(size=(2, n_rows))
            found.append(relevance(x, x + noise, mi_estimator="gaussian")[0] - 0.5 * np.log(2))
        errors[n_rows] = np.sqrt(np.mean(np.square(found)))
    assert errors[40_000] < errors[400] / 5


# What does not matter


def test_monotone_transforms_row_order_units_and_labels_do_not_matter(rng):
    common, columns = draw_columns(rng)
    y = common + rng.normal(size=N_ROWS)
    X, reading = np.column_stack(columns), {"discrete_features": LEVELS}
    options = {"mi_estimator": "gaussian", "clip": False} | reading
    labels = np.digitize(y, [-1, 1])
    for target in (y, labels):
        expected = relevance(X, target, **options)
        rows = rng.permutation(N_ROWS)
        assert_allclose(relevance(X[rows], target[rows], **options), expected, **CLOSE)
        moved = X.copy()
        moved[:, 0], moved[:, 1], moved[:, 6] = 1e-6 * X[:, 0] - 3, X[:, 1] ** 3, np.log(X[:, 6])
        moved[:, 3], moved[:, 4] = np.array([7, 0, 3])[X[:, 3].astype(int)], 50 - X[:, 4]
        assert_allclose(relevance(moved, target, **options), expected, **CLOSE)
        moved[:, 2] = -X[:, 2]
        assert_allclose(relevance(moved, target, **options), expected, **CLOSE)
    names = np.array(["zeta", "alpha", "mu"])[labels]
    assert_allclose(relevance(X, names, **options), expected, **CLOSE)
    assert_allclose(
        unique_relevance(X, names, method="gaussian", **reading),
        unique_relevance(X, labels, method="gaussian", **reading),
        **CLOSE,
    )


@pytest.mark.parametrize("spread", [1.0, 1e-13])
def test_values_that_differ_in_their_last_digits_are_told_apart(rng, spread):
    """Positions are sorted in the place of the last digits."""
    values = 1 + spread * rng.permutation(3000) - spread * 1500
    values[:5] = values[5]
    table = Table.from_data(np.column_stack([values, -values]), rng.normal(size=3000), discrete_features=False)
    scores = norm.ppf(rankdata(values) / 3001)
    scores -= scores.mean()
    expected = scores / np.sqrt(scores @ scores)
    encoded = Gaussian().on(table)._encoded.rows
    assert_allclose(encoded[:2], [expected, -expected], rtol=0, atol=1e-14)


def test_minus_zero_is_zero(rng):
    values = np.append(rng.normal(size=20), [0.0, -0.0, 0.0, 5e-324])
    table = Table.from_data(values, rng.normal(size=24), discrete_features=False)
    scores = Gaussian().on(table)._encoded.rows[0]
    assert scores[20] == scores[21] == scores[22] < scores[23]


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_number_of_jobs_changes_no_bit(rng, n_jobs):
    X, y = rng.normal(size=(3000, 120)), rng.normal(size=3000)
    ours = [Gaussian().on(Table.from_data(X, y), n_jobs=jobs)._encoded.rows for jobs in (1, n_jobs)]
    assert_array_equal(*ours)


# Noise


@pytest.mark.parametrize("target", ["continuous", "two classes", "six classes"])
@pytest.mark.parametrize("n_levels", [0, 8, 60])
@pytest.mark.parametrize("n_given", [0, 3])
def test_noise_has_mean_zero(target, n_levels, n_given):
    rng = np.random.default_rng([n_levels, n_given])
    X = rng.integers(n_levels, size=(300, 200)) if n_levels else rng.normal(size=(300, 200))
    given = rng.normal(size=(300, n_given))
    y = rng.normal(size=300) + given.sum(axis=1)
    if target != "continuous":
        y = np.digitize(y, [0.5] if target == "two classes" else [-1.2, -0.5, 0, 0.7, 1.5])
    discrete = range(200) if n_levels else []
    information = Gaussian().on(Table.from_data(np.column_stack([X, given]), y, discrete_features=discrete))
    values = information.conditional_relevance(range(200), range(200, 200 + n_given))
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(200)
    assert values.min() < 0 < values.max()


def test_a_random_category_of_many_levels_is_not_ahead():
    rng = np.random.default_rng(5)
    signal = rng.normal(size=(2000, 4))
    y = signal.sum(axis=1) + 4 * rng.normal(size=2000)
    X = np.column_stack([signal, rng.integers(900, size=2000)])
    for target in (y, y > 0):
        selector = BURSelector(
            "cmim", beta=0, n_features_to_select=5, mi_estimator="gaussian", discrete_features={4: True}
        )
        assert selector.fit(X, target).selection_.order[-1] == 4


def test_nothing_is_told_where_no_degree_of_freedom_is_left(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    assert mutual_information(X, y, mi_estimator="gaussian") == 0
    assert_array_equal(unique_relevance(X, y, method=Gaussian(0)), np.zeros(30))
    assert np.abs(unique_relevance(X, y, method="gaussian")).max() < 0.3


# Shrinkage


def test_a_ridge_is_noise_of_its_own(rng):
    """All estimates with a ridge are those of one covariance, to which it was added; the chain rule stays exact."""
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    table = Table.from_data(X, X[:, 0] + rng.normal(size=300))
    information = Gaussian(shrinkage=0.3).on(table)
    covariance = information._encoded.rows @ information._encoded.rows.T + 0.3 * np.diag([1, 1, 1, 1, 0])

    def left(known, other):
        fit = np.linalg.inv(covariance[np.ix_(known, known)]) @ covariance[known, other]
        return covariance[other, other] - covariance[other, known] @ fit

    def freedom(known):
        inverse = np.linalg.inv(covariance[np.ix_(known, known)])
        return len(known) - 0.3 * np.trace(inverse)

    def chance(d):
        return 0.5 * (digamma(299 / 2) - digamma((299 - d) / 2))

    expected = -0.5 * np.log(left([0, 1, 2], 4)) - chance(freedom([0, 1, 2]))
    assert information.joint([2], [0, 1])[0] == pytest.approx(expected, abs=1e-10)
    assert information.mutual_information([0, 1, 2], [4]) == pytest.approx(expected, abs=1e-10)
    rest = information.mutual_information([0, 1], [4])
    assert information.conditional([2], [4], [0, 1]) == pytest.approx(expected - rest, abs=1e-10)
    assert information.conditional_relevance([2], [0, 1])[0] == pytest.approx(expected - rest, abs=1e-10)
    changes = information.without_each([0, 1, 2])
    assert changes.before == pytest.approx(expected, abs=1e-10)
    assert changes.change[2] == pytest.approx(rest - expected, abs=1e-10)


def test_what_is_symmetric_stays_so_with_a_ridge(case):
    information = Gaussian(shrinkage=0.2).on(case[0].table)
    for given in ([], [4], [7], [4, 7]):
        one, other = information.conditional([0], [5], given), information.conditional([5], [0], given)
        assert one == pytest.approx(other, abs=2e-3)  # Degrees of freedom are shared out by which side is fitted.
    given = information.pairwise_given_target([0, 2, 3, 5], 6)
    assert_allclose(given, [information.conditional([k], [6], [7]) for k in (0, 2, 3, 5)], **CLOSE)
    assert_allclose(
        information.conditional_relevance([0, 5], [3, 2]),
        [information.conditional([k], [7], [3, 2]) for k in (0, 5)],
        **CLOSE,
    )


def test_the_ridge_of_ledoit_and_wolf(rng):
    X = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 60)) + rng.normal(size=(90, 60))
    table = Table.from_data(X, X[:, 0])
    rows = Gaussian().on(table)._encoded.rows[:-1]
    share = ledoit_wolf_shrinkage(rows.T * np.sqrt(90), assume_centered=True)
    assert 0.01 < share < 1 / 3
    automatic, given = (
        Gaussian(shrinkage=one).on(table).without_each(range(60)) for one in ("auto", share / (1 - share))
    )
    assert_allclose(automatic.change, given.change, rtol=0, atol=1e-10)


def test_no_ridge_where_there_are_three_rows_for_each_column(rng):
    X, y, _ = linear_design(rng, 90, 30)
    plain, automatic = (unique_relevance(X, y, method=Gaussian(one)) for one in (0, "auto"))
    assert_array_equal(automatic, plain)
    fewer = unique_relevance(X[1:], y[1:], method="gaussian")
    assert np.abs(fewer).max() < 0.8 * np.abs(plain).max()


def test_more_columns_than_rows_is_the_same_formula(rng):
    """Of as many rows as columns, and of one row more, nothing jumps: both forms of the inverse are one."""
    features, target = rng.normal(size=(40, 39)), rng.normal(size=(1, 39))
    features -= features.mean(axis=1, keepdims=True)
    target -= target.mean()
    features, target = (rows / np.sqrt((rows**2).sum(axis=1, keepdims=True)) for rows in (features, target))
    encoded = Encoded(Layout(np.ones(41, bool), np.arange(41), np.ones(41, int)), 39)
    encoded.rows = np.concatenate([features, target])
    fit = _FullFit(encoded, np.arange(40), np.array([40]), 39.0, 0.2)
    inverse = np.linalg.inv(features @ features.T + 0.2 * np.eye(40))
    slopes = inverse @ features @ target.T
    left = 1 - (target @ features.T @ slopes)[0, 0]
    expected = 0.5 * np.log(1 + slopes[:, 0] ** 2 / np.diag(inverse) / left)
    values, freedom = fit.without(np.arange(40)[:, None])
    assert_allclose(values, expected, **CLOSE)
    assert_allclose(freedom, 1 - 0.2 * np.diag(inverse @ inverse) / np.diag(inverse), **CLOSE)
    assert fit.freedom == pytest.approx(40 - 0.2 * np.trace(inverse), abs=1e-9)


@pytest.mark.parametrize("shrinkage", [-0.1, "much", None, np.nan, np.inf])
def test_a_wrong_shrinkage_is_refused(rng, shrinkage):
    X = rng.normal(size=(40, 2))
    for call in (
        partial(relevance, mi_estimator=Gaussian(shrinkage)),
        partial(unique_relevance, method=Gaussian(shrinkage)),
    ):
        with pytest.raises(ValueError, match=r"shrinkage=.* must be 'auto' or a number from 0 on"):
            call(X, X[:, 0])


# Unique relevance


def linear_design(rng, n_rows, n_features):
    """Correlated columns of which every fifth has a part in the target, and their true unique relevance."""
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    covariance = 0.6**distance
    X = rng.normal(size=(n_rows, n_features)) @ np.linalg.cholesky(covariance).T
    weights = np.where(np.arange(n_features) % 5 == 0, 1.0, 0.0)
    variance = 0.5 * weights @ covariance @ weights
    y = X @ weights + rng.normal(size=n_rows) * np.sqrt(variance)
    return X, y, 0.5 * np.log(1 + weights**2 / np.diag(np.linalg.inv(covariance)) / variance)


@pytest.mark.parametrize(("n_rows", "n_features"), [(4000, 10), (4000, 100), (2000, 250)])
def test_unique_relevance_of_a_linear_design(rng, n_rows, n_features):
    X, y, truth = linear_design(rng, n_rows, n_features)
    values = unique_relevance(X, y, method="gaussian")
    assert_allclose(values, truth, rtol=0, atol=0.03)
    assert values[truth == 0].mean() == pytest.approx(0, abs=1e-3)
    assert values[truth > 0].mean() == pytest.approx(truth[truth > 0].mean(), rel=0.1)
    monotone = unique_relevance(np.exp(X), y**3, method="gaussian")
    assert_allclose(monotone, values, **CLOSE)


def test_unique_relevance_of_more_columns_than_rows(rng):
    X, y, truth = linear_design(rng, 200, 50)
    X = np.column_stack([X, rng.normal(size=(200, 1000))])
    values = unique_relevance(X, y > 0, method="gaussian")
    assert values.shape == (1050,)
    assert np.isfinite(values).all()
    ahead = np.argsort(-values)[:20]
    assert (truth[ahead[ahead < 50]] > 0).sum() >= 5


def test_it_is_blind_to_an_exclusive_or(rng):
    a, b = rng.normal(size=(2, 4000))
    X, y = np.column_stack([a, b]), (a > 0) ^ (b > 0)
    assert_allclose(unique_relevance(X, y, method="gaussian"), 0, rtol=0, atol=0.003)
    assert mutual_information(X, y, mi_estimator="gaussian") < 0.003


def test_clip_errors_and_intervals_of_unique_relevance(rng):
    X, y, _ = linear_design(rng, 300, 10)
    raw = unique_relevance(X, y, method="gaussian")
    assert raw.min() < 0
    assert_array_equal(unique_relevance(X, y, method="gaussian", clip=True), np.maximum(raw, 0))
    values, error = unique_relevance(X, y, method="gaussian", return_std=True)
    assert_array_equal(values, raw)
    assert np.isnan(error).all()
    found = unique_relevance(X, y, method="gaussian", confidence_level=0.9)
    assert (found.low <= raw).all()
    assert (raw <= found.high).all()
    ignored = unique_relevance(X, y, method="gaussian", discrete_features={3: None})
    assert_array_equal(np.flatnonzero(np.isnan(ignored)), [3])


# Weights


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_whole_weights_are_repeated_rows(rng, kind):
    common, columns = draw_columns(rng)
    target = common + rng.normal(size=N_ROWS)
    target = target if kind == "continuous" else np.digitize(target, [-1, 0, 1])
    weights, options = rng.integers(0, 4, size=N_ROWS), {"discrete_features": LEVELS, "target_type": kind}
    rows = np.repeat(np.arange(N_ROWS), weights)
    X = np.column_stack(columns)
    weighted = Gaussian().on(Table.from_data(X, target, **options), sample_weight=weights)
    repeated = Gaussian().on(Table.from_data(X[rows], target[rows], **options))
    assert_allclose(weighted.relevance(range(7)), repeated.relevance(range(7)), **CLOSE)
    assert_allclose(weighted.joint([0, 3, 6], [1, 5]), repeated.joint([0, 3, 6], [1, 5]), **CLOSE)
    ours, expected = weighted.without_each(range(7)), repeated.without_each(range(7))
    assert_allclose(ours.change, expected.change, **CLOSE)
    assert weighted.entropy(3) == pytest.approx(repeated.entropy(3), abs=1e-12)


def test_the_unit_of_weights_does_not_matter(rng):
    X, weights = rng.normal(size=(200, 3)), rng.random(200)
    table = Table.from_data(X, X[:, 0] + rng.normal(size=200))
    ours = [Gaussian().on(table, sample_weight=weights * unit).relevance(range(3)) for unit in (1, 1e-3, 1e6)]
    assert_allclose(ours[1:], [ours[0]] * 2, rtol=0, atol=1e-6)


# Everything that takes an estimator


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_every_criterion_takes_it(rng, criterion, kind):
    common, columns = draw_columns(rng)
    y = common if kind == "continuous" else common > 0
    selector = BURSelector(criterion, 4, beta=0, mi_estimator="gaussian", discrete_features=LEVELS)
    if criterion in ("disr", "njmim"):
        with pytest.raises(ValueError, match="need counts, mi_estimator='gaussian' has none"):
            selector.fit(np.column_stack(columns), y)
        return
    order = selector.fit(np.column_stack(columns), y).selection_.order
    assert len(set(order)) == 4
    assert {4, 5, 6} - set(order[:2].tolist()) == {4, 5, 6}  # which have nothing to do with the target


def test_a_boosted_selection_takes_it(rng):
    X, y, truth = linear_design(rng, 400, 20)
    order = BURSelector(n_features_to_select=4, mi_estimator="gaussian").fit(X, y).selection_.order
    assert (truth[list(order)] > 0).sum() >= 3


def test_weights_of_a_selection(rng):
    X, y, _ = linear_design(rng, 300, 10)
    weights = rng.integers(0, 3, size=300)
    rows = np.repeat(np.arange(300), weights)
    selector = BURSelector("gsa", beta=0, n_features_to_select=5, mi_estimator="gaussian")
    weighted = selector.fit(X, y, sample_weight=weights).selection_.order
    assert_array_equal(weighted, selector.fit(X[rows], y[rows]).selection_.order)


@pytest.mark.parametrize("given", [[], [1, 3]])
def test_other_orders_of_the_rows_equal_moved_tables(case, rng, given):
    information, _ = case
    orders = np.array([rng.permutation(N_ROWS) for _ in range(3)])
    moved = [information._moved(order).estimate([0, 2, 5], given) for order in orders]
    assert_allclose(information.permuted([0, 2, 5], given, orders), moved, **CLOSE)


def test_ends_of_intervals_have_variances_on_a_line_above_that_of_chi_square(rng):
    x, z = rng.standard_normal((2, 400))
    y = 0.4 * x + z + rng.standard_normal(400)
    found = mutual_information(x, y, conditional_on=z, mi_estimator="gaussian", confidence_level=0.95)
    ends, of_chi_square = np.array([found.low, found.high]), 1 / (2 * 398**2)
    slopes = (((ends - found.value) / 1.959964) ** 2 - of_chi_square) / ends
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-4)
    assert slopes[0] == pytest.approx(2 / 400, rel=0.4)  # of normal numbers, from 50 halves


def test_entropy(rng):
    X = np.column_stack([1000 * rng.normal(size=60), np.arange(60) % 3])
    information = Gaussian().on(Table.from_data(X, X[:, 1], discrete_features={1: True}))
    assert information.entropy(0) == pytest.approx(0.5 * np.log(2 * np.pi * np.e), abs=1e-12)
    assert information.entropy(1) == pytest.approx(np.log(3), abs=1e-12)


# Sparse tables


def draw_sparse(rng, n_rows=300):
    """Columns of zeros and a few entries: numbers of both signs, counts, ones, stored zeros, missing values, levels."""
    dense = rng.normal(size=(n_rows, 9)) * (rng.random((n_rows, 9)) < [0.03, 0.2, 0.7, 1, 0.2, 0.2, 0.1, 0.4, 0])
    dense[:, 1] = np.abs(dense[:, 1])
    dense[:, 4:6] = np.round(2 * dense[:, 4:6])
    dense[:, 6] = dense[:, 6] != 0
    dense[rng.random(n_rows) < 0.1, 2] = np.nan
    dense[rng.random(n_rows) < 0.1, 5] = np.nan
    y = dense[:, 1] + dense[:, 3] + (np.nan_to_num(dense[:, 5]) == 1) + rng.normal(size=n_rows)
    return dense, y, [5, 6]


def as_entries(dense):
    """The same as a sparse matrix, some of whose stored entries are zeros."""
    matrix = sp.csr_array(np.where(np.arange(dense.size).reshape(dense.shape) % 7 == 0, 5.0, dense))
    matrix.data = dense[matrix.nonzero()]
    return matrix


@pytest.fixture(params=[(kind, weights) for kind in ("continuous", "discrete") for weights in (None, "whole", "real")])
def sparse_case(request, rng):
    """Estimators of a sparse table and of the dense one, beside which some columns are given."""
    (kind, weighted), (dense, y, discrete) = request.param, draw_sparse(rng)
    weights = {None: None, "whole": rng.integers(0, 4, len(y)), "real": rng.random(len(y))}[weighted]
    target = y if kind == "continuous" else np.digitize(y, [0, 1])
    reading = {"discrete_features": discrete, "target_type": kind, "conditional_on": rng.normal(size=(len(y), 2))}
    tables = [Table.from_data(X, target, **reading) for X in (as_entries(dense), dense)]
    assert [table.is_sparse for table in tables] == [True, False]
    return [Gaussian().on(table, sample_weight=weights) for table in tables]


def test_sparse_equals_dense(sparse_case):
    near = {"rtol": 0, "atol": 1e-12}
    ours, expected = sparse_case
    assert_array_equal(ours._encoded.ranks, expected._encoded.ranks)
    single = expected._encoded.starts[expected._encoded.ranks == 1]  # blocks of several rows may be turned
    assert_allclose(ours._encoded.take(single), expected._encoded.take(single), **near)
    assert_allclose(ours.relevance(range(9)), expected.relevance(range(9)), **near)
    assert_allclose(ours.joint(range(9), [3, 5, 10]), expected.joint(range(9), [3, 5, 10]), **near)
    for column in range(12):
        assert_allclose(ours.pairwise(range(9), column), expected.pairwise(range(9), column), **near)
    given = [one.conditional([0, 2, 6], [11], [9, 1]) for one in (ours, expected)]
    assert given[0] == pytest.approx(given[1], abs=1e-12)
    changes = [one.without_each(range(9)) for one in (ours, expected)]
    assert_allclose(changes[0].change, changes[1].change, **near)
    orders = np.random.default_rng(0).permutation(300)[None]
    assert_allclose(ours.permuted(range(9), [1], orders), expected.permuted(range(9), [1], orders), **near)


def test_unique_relevance_of_more_sparse_columns_than_rows(rng):
    dense = rng.normal(size=(60, 90)) * (rng.random((60, 90)) < 0.2)
    y = dense[:, :5].sum(axis=1) + 0.3 * rng.normal(size=60)
    options = {"method": "gaussian", "discrete_features": False}
    expected = unique_relevance(dense, y, **options)
    assert_allclose(unique_relevance(sp.csc_array(dense), y, **options), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("criterion", [name for name in CRITERIA if name not in ("disr", "njmim")])
def test_every_criterion_selects_the_same_from_sparse_columns(rng, criterion):
    dense, y, discrete = draw_sparse(rng)
    options = {"mi_estimator": "gaussian", "beta": 0, "discrete_features": discrete}
    ours, expected = (BURSelector(criterion, 6, **options).fit(X, y > 0).selection_ for X in (as_entries(dense), dense))
    assert_array_equal(ours.order, expected.order)
    assert_allclose(ours.scores, expected.scores, rtol=0, atol=1e-12)


def test_sparse_columns_are_never_made_dense(rng):
    n_rows, n_columns = 20_000, 300
    X = sp.random(n_rows, n_columns, density=0.005, format="csc", random_state=0)
    y = np.asarray(X[:, :3].sum(axis=1)).ravel() + 0.1 * rng.normal(size=n_rows)
    tracemalloc.start()
    selector = BURSelector("cmim", 3, beta=0, mi_estimator="gaussian", discrete_features=False).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(selector.order_) == {0, 1, 2}
    assert peak < n_rows * n_columns  # bytes, an eighth of what the columns take in full
