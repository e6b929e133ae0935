"""What an estimator gets from the base class, and what every estimator in the list must do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from unirel.data.table import Table
from unirel.estimation import ESTIMATORS
from unirel.estimation.base import Information, find_estimator, make_information
from unirel.estimation.binned import Binned

CLOSE = {"rtol": 0, "atol": 1e-10}


class Gaussian(Information):
    """Everything follows from the covariance, if the columns are jointly normal; two methods, nothing else."""

    name = "gaussian"
    accepts = frozenset({"continuous"})

    def mutual_information(self, a, b):
        return self._volume(a) + self._volume(b) - self._volume([*a, *b])

    def entropy(self, column):
        return self._volume([column]) + 0.5 * np.log(2 * np.pi * np.e)

    def _volume(self, block):
        covariance = np.cov(self.table.values[list(block)], bias=True).reshape(len(block), len(block))
        return 0.5 * np.linalg.slogdet(covariance)[1]


@pytest.fixture
def numbers(rng):
    """Five columns that have something to do with each other, and a target."""
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    return X, X @ rng.normal(size=5) + rng.normal(size=200)


@pytest.fixture
def information(numbers):
    return Gaussian().on(Table.from_data(*numbers))


def partial_information(numbers, a, b, given):
    """I(a; b | given) of two columns of a normal distribution, -log(1 - r^2) / 2 with r the partial correlation."""
    columns = np.column_stack(numbers)
    rest = np.column_stack([np.ones(len(columns)), columns[:, given]])
    left = [columns[:, k] - rest @ np.linalg.lstsq(rest, columns[:, k], rcond=None)[0] for k in (a, b)]
    return -0.5 * np.log(1 - np.corrcoef(left)[0, 1] ** 2)


def explained(numbers, block):
    """I(block; target) of a normal distribution, -log(1 - R^2) / 2 of the regression on the block."""
    X, y = numbers
    rest = np.column_stack([np.ones(len(y)), X[:, block]])
    residual = y - rest @ np.linalg.lstsq(rest, y, rcond=None)[0]
    return -0.5 * np.log(residual.var() / y.var())


def test_relevance(information, numbers):
    assert_allclose(information.relevance(range(5)), [explained(numbers, [k]) for k in range(5)], **CLOSE)


def test_pairwise(information, numbers):
    columns = [0, 1, 3, 4]
    expected = [partial_information(numbers, k, 2, []) for k in columns]
    assert_allclose(information.pairwise(columns, 2), expected, **CLOSE)


@pytest.mark.parametrize("selected", [[], [0], [2, 0], [4, 0, 2]])
def test_joint(information, numbers, selected):
    expected = [explained(numbers, [k, *selected]) for k in (1, 3)]
    assert_allclose(information.joint([1, 3], selected), expected, **CLOSE)
    assert_allclose(information.joint(np.array([1, 3]), np.array(selected, dtype=int)), expected, **CLOSE)


@pytest.mark.parametrize("given", [[], [0], [2, 0]])
def test_conditional(information, numbers, given):
    expected = partial_information(numbers, 1, 5, given)
    assert information.conditional([1], [5], given) == pytest.approx(expected, abs=1e-10)
    assert information.conditional([1], [3], given) == pytest.approx(
        partial_information(numbers, 1, 3, given), abs=1e-10
    )


@pytest.mark.parametrize("rows", [None, np.arange(10)])
def test_without_each(information, numbers, rows):
    block = [3, 0, 1, 4]
    changes = information.without_each(block, rows)
    others = [[k for k in block if k != column] for column in block]
    expected = [-partial_information(numbers, column, 5, rest) for column, rest in zip(block, others, strict=True)]
    assert changes.before == pytest.approx(explained(numbers, block), abs=1e-10)
    assert_allclose(changes.change, expected, **CLOSE)
    assert changes.error.shape == (4,)
    assert np.isnan(changes.error).all()


@pytest.mark.parametrize("rows", [None, np.arange(10)])
def test_with_each(information, numbers, rows):
    changes = information.with_each([2, 4], [0, 1, 3], rows)
    assert changes.before == pytest.approx(explained(numbers, [2, 4]), abs=1e-10)
    assert_allclose(changes.change, [partial_information(numbers, k, 5, [2, 4]) for k in (0, 1, 3)], **CLOSE)
    assert changes.error.shape == (3,)
    assert np.isnan(changes.error).all()


def test_no_candidate_gives_no_value(information):
    assert information.relevance([]).shape == (0,)
    assert information.joint([], [0]).shape == (0,)
    assert information.with_each([0], []).change.shape == (0,)


def test_two_methods_are_required():
    with pytest.raises(TypeError, match="abstract"):
        Information()


# Bounds


def test_bounded_only_cuts(rng):
    labels = np.arange(60) % 3
    information = Gaussian().bind(Table.from_data(np.column_stack([rng.normal(size=(60, 2)), labels]), labels))
    target, ceiling = [information.table.target], np.log(3)
    assert information.bounded(-1.0, [0], target) == 0
    assert information.bounded(0.5, [0], target) == 0.5
    assert information.bounded(7.0, [0], target) == pytest.approx(ceiling, abs=1e-12)
    assert information.bounded(7.0, [2], [0, 1]) == pytest.approx(ceiling, abs=1e-12)
    assert information.bounded(7.0, [0], [1]) == 7
    assert_allclose(
        information.bounded_pairs(np.array([-1.0, 0.5, 9.0]), [0, 1, 2], 0), [0.0, 0.5, ceiling], rtol=0, atol=1e-12
    )


# Kinds


def test_check_names_the_columns_and_the_remedy(rng):
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 2
    table = Table.from_data(np.column_stack([X, labels]), labels)
    with pytest.raises(ValueError, match=r"'plugin' needs discrete columns; 'x0', 'x1' are continuous") as caught:
        find_estimator("plugin").check(table)
    assert "estimator='binned'" in str(caught.value)
    assert "estimator='knn'" in str(caught.value)
    with pytest.raises(ValueError, match=r"'gaussian' needs continuous columns; 'x2', .* are discrete"):
        Gaussian.check(table)


def test_check_names_at_most_five_columns(rng):
    table = Table.from_data(rng.normal(size=(40, 9)), np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"'x0', 'x1', 'x2', 'x3', 'x4', \.\.\. are continuous"):
        find_estimator("plugin").check(table)


def test_check_speaks_of_one_column(rng):
    table = Table.from_data(rng.normal(size=(40, 1)), np.arange(40) % 2)
    with pytest.raises(ValueError, match="'x0' is continuous"):
        find_estimator("plugin").check(table)


def test_check_looks_at_the_target(rng):
    table = Table.from_data(rng.integers(0, 2, size=(40, 1)), rng.normal(size=40))
    with pytest.raises(ValueError, match="is continuous"):
        find_estimator("plugin").check(table)


def test_check_passes_over_ignored_columns(rng):
    X = np.column_stack([rng.normal(size=40), np.arange(40) % 2])
    find_estimator("plugin").check(Table.from_data(X, np.arange(40) % 2, discrete_features={0: None}))


def test_unknown_name_is_refused(rng):
    table = Table.from_data(rng.normal(size=(40, 1)), np.arange(40) % 2)
    with pytest.raises(ValueError, match="mi_estimator='nearest' is not one of 'auto', 'knn'"):
        make_information(table, "nearest")


# Every estimator in the list


@pytest.fixture(params=ESTIMATORS)
def any_estimator(request):
    return request.param


def make_columns(kind, rng):
    numbers = rng.normal(size=120)
    return numbers if kind == "continuous" else np.digitize(numbers, [-0.5, 0.5])


@pytest.fixture(params=["continuous", "discrete"])
def accepted(request, any_estimator, rng):
    """An estimator of a table of every kind of column that it accepts; one column repeats the target."""
    kinds = sorted(find_estimator(any_estimator).accepts)
    if request.param not in kinds:
        pytest.skip(f"takes no {request.param} target")
    target = make_columns(request.param, rng)
    columns = [make_columns(kinds[k % len(kinds)], rng) for k in range(4)]
    table = Table.from_data(
        np.column_stack([*columns, target]),
        target,
        discrete_features=[kind == "discrete" for kind in [*(kinds[k % len(kinds)] for k in range(4)), request.param]],
        target_type=request.param,
    )
    return make_information(table, any_estimator, n_jobs=1)


def test_estimator_is_listed_by_its_name(any_estimator):
    assert find_estimator(any_estimator).name == any_estimator
    assert find_estimator(any_estimator).accepts <= {"continuous", "discrete"}
    assert find_estimator(any_estimator).__doc__


def test_parameters_are_those_of_scikit_learn(any_estimator):
    estimator = find_estimator(any_estimator)
    twin = clone(estimator)
    assert type(twin) is type(estimator)
    assert twin.get_params() == estimator.get_params()
    assert find_estimator(estimator) is estimator


def test_an_estimator_on_a_table_leaves_the_estimator_as_it_was(rng):
    estimator, y = find_estimator("binned").set_params(n_bins=4), np.arange(60) % 2
    ours, theirs = (estimator.on(Table.from_data(rng.normal(size=(60, n)), y)) for n in (2, 3))
    assert (ours.table.n_features, theirs.table.n_features) == (2, 3)
    assert ours.get_params() == theirs.get_params() == estimator.get_params()
    assert not hasattr(estimator, "table")


def test_estimator_agrees_with_itself(accepted, monkeypatch):
    monkeypatch.setattr("unirel.estimation.mine._LESSONS", 1)  # It need not learn much for that.
    target, columns = accepted.table.target, list(range(5))
    relevance = accepted.relevance(columns)
    assert relevance.dtype == np.float64
    assert_allclose(relevance, accepted.pairwise(columns, target), **CLOSE)
    assert_allclose(relevance, [accepted.mutual_information([k], [target]) for k in columns], **CLOSE)
    assert_allclose(relevance, accepted.joint(columns, []), **CLOSE)
    assert_allclose(relevance, [accepted.conditional([k], [target], []) for k in columns], **CLOSE)
    for selected in ([0], [0, 1], [0, 1, 2]):
        single = [accepted.mutual_information([k, *selected], [target]) for k in columns]
        close = CLOSE
        if isinstance(accepted, Binned):  # what is selected comes first, and what chance gives is looked up
            before = accepted.mutual_information(selected, [target])
            single = [before + accepted.conditional([k], [target], selected) for k in columns]
            close = {"rtol": 0, "atol": 1e-5}
        assert_allclose(accepted.joint(columns, selected), single, **close)
    assert isinstance(accepted.mutual_information([0], [target]), float)
    assert isinstance(accepted.conditional([0], [target], [1]), float)
    assert isinstance(accepted.entropy(0), float)


def test_estimator_finds_the_copy_of_the_target(accepted):
    assert np.argmax(accepted.relevance(range(5))) == 4
    assert np.argmin(accepted.without_each(range(5)).change) == 4
    assert np.argmax(accepted.with_each([0], [1, 2, 3, 4]).change) == 3


def test_changes_have_a_value_for_each_column(accepted):
    for changes, size in ((accepted.without_each([4, 0, 2]), 3), (accepted.with_each([4, 0], [1]), 1)):
        assert isinstance(changes.before, float)
        assert changes.change.shape == changes.error.shape == (size,)
        assert np.isfinite(changes.change).all()


# Memory


def test_an_estimator_and_its_table_go_when_nobody_uses_them(rng):
    """A cache on a method once kept every estimator alive."""
    import gc
    import weakref

    from unirel import BURSelector

    X = rng.normal(size=(60, 4))
    tables = []
    read = Table.from_data

    def remember(*arguments, **options):
        table = read(*arguments, **options)
        tables.append(weakref.ref(table))
        return table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "from_data", remember)
        for _ in range(5):
            BURSelector(n_features_to_select=2).fit(X, X[:, 0] > 0)
    gc.collect()
    assert len(tables) == 5
    assert [table() for table in tables] == [None] * 5
    assert not [one for one in gc.get_objects() if issubclass(type(one), Information) and hasattr(one, "table")]
