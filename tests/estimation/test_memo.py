"""What an estimator remembers, and what it gives about pairs and the target beside what it is asked for most."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from reference import read

from unirel.data.table import Table
from unirel.estimation.base import Memo, make_information
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin


@pytest.fixture
def codes(rng):
    source = rng.integers(0, 12, size=200)
    return [np.where(rng.random(200) < 0.5, source, rng.integers(0, 12, size=200)) % n for n in (2, 3, 4, 2, 12, 3)]


@pytest.fixture
def table(codes):
    return Table.from_data(np.array(codes[:-1]).T, codes[-1], discrete_features=True, target_type="discrete")


class Counted(Plugin):
    """Writes down which candidates it has to count."""

    def _prepare(self, sample_weight):
        super()._prepare(sample_weight)
        self.passes = []

    def _count(self, candidates, *rest):
        self.passes.append(candidates.tolist())
        return super()._count(candidates, *rest)


def ask_everything(memo, candidates, selected):
    newest = int(selected[-1])
    return [
        memo.relevance(candidates),
        memo.pairwise(candidates, newest),
        memo.pairwise_given_target(candidates, newest),
        memo.joint(candidates, selected),
        memo.joint_entropy(candidates, selected),
        memo.joint_of_pairs(candidates, selected),
    ]


def test_values_equal_twin(codes, table):
    columns = [read(column, "discrete") for column in codes]
    features, target = columns[:-1], columns[-1:]
    x, s, t = 2, 4, 0
    block = [features[k] for k in (x, s, t)]
    expected = [
        reference.plugin([features[x]], target),
        reference.plugin([features[x]], [features[t]]),
        reference.redundancy_given(features[x], features[t], target[0]),
        reference.joint_plugin(block[:1], block[1:], target),
        reference.plugin_entropy([*block, *target]),
        reference.joint_plugin(block[:1], block[1:], target),
    ]
    ours = np.concatenate(ask_everything(Memo(Plugin().on(table)), np.array([x]), np.array([s, t])))
    assert_allclose(ours, expected, rtol=0, atol=1e-5)


def test_nothing_is_counted_twice(table):
    information = Counted().on(table)
    memo = Memo(information)
    first = ask_everything(memo, np.array([0, 1, 2]), np.array([3, 4]))
    information.passes.clear()
    again = ask_everything(memo, np.array([2, 0]), np.array([3, 4]))
    assert information.passes == []
    for before, after in zip(first, again, strict=True):
        assert_array_equal(after, before[[2, 0]])
    ask_everything(memo, np.array([2, 1, 0]), np.array([4, 3]))
    # Pairs with the other of the two, then with the target too; and sums over pairs, which hang on their order.
    assert information.passes == [[2, 1, 0]] * 3


def test_what_a_candidate_shares_with_a_column_and_the_target_comes_from_one_pass(table):
    information = Counted().on(table)
    candidates = np.arange(4)
    given, pairs = information.pairwise_given_target(candidates, 4), information.pairwise(candidates, 4)
    joint, entropy = information.joint(candidates, [4]), information.joint_entropy(candidates, [4])
    assert len(information.passes) == 1
    fresh = Plugin().on(table)
    assert_array_equal(pairs, fresh.pairwise(candidates, 4))
    assert_array_equal(joint, fresh.joint(candidates, [4]))
    assert_array_equal(entropy, fresh.joint_entropy(candidates, [4]))
    relevance = fresh.relevance(candidates)
    assert_allclose(joint, relevance + given - pairs + fresh.relevance([4]), rtol=0, atol=1e-12)


def test_unknown_relevance_is_not_a_number(table):
    memo = Memo(Plugin().on(table))
    assert np.isnan(memo.known_relevance(np.arange(3))).all()
    memo.relevance(np.array([1]))
    assert_array_equal(np.isnan(memo.known_relevance(np.arange(3))), [True, False, True])


def test_sums_over_pairs(table):
    memo, selected = Memo(Plugin().on(table)), np.array([4, 0, 3])
    pairs = [(4, 0), (4, 3), (0, 3)]
    expected = sum(memo.joint(np.array([1, 2]), np.array(pair)) for pair in pairs)
    assert_allclose(memo.joint_of_pairs(np.array([1, 2]), selected), expected, rtol=0, atol=1e-12)
    assert_array_equal(memo.joint_of_pairs(np.array([1, 2]), selected[:1]), [0, 0])


def test_estimates_are_clipped(table):
    memo = Memo(Plugin(correction="miller-madow").on(table))
    values = memo.pairwise_given_target(np.arange(5), 4)
    entropies = [reference.plugin_entropy([read(table.codes(k), "discrete")]) for k in range(5)]
    assert (values >= 0).all()
    assert (values <= np.minimum(entropies, entropies[4]) + 1e-12).all()


# Neighbours


def test_within_classes_is_the_conditional_estimate(rng):
    labels = np.arange(150) % 3
    X = rng.normal(size=(150, 3)) + labels[:, None]
    X[:, 2] += X[:, 0]
    information = KNN().on(Table.from_data(X, labels, target_type="discrete"))
    target = information.table.target
    expected = [information.conditional([k], [2], [target]) for k in (0, 1)]
    assert_allclose(information.pairwise_given_target([0, 1], 2), expected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:classes of y")
def test_small_classes_tell_what_they_can(rng):
    labels = np.r_[np.zeros(40, int), np.ones(3, int), 2]
    X = np.column_stack([rng.normal(size=(44, 2)), np.arange(44) % 3])
    table = Table.from_data(X, labels, discrete_features={2: True}, target_type="discrete")
    columns = [read(X[:, k], "discrete" if k == 2 else "continuous") for k in range(3)]
    expected = [reference.given_classes(columns[k], columns[0], read(labels, "discrete")) for k in (1, 2)]
    assert_allclose(KNN().on(table).pairwise_given_target([1, 2], 0), expected, rtol=0, atol=1e-9)


# Weights


def weighted_tables(rng, n_rows=70):
    labels = rng.integers(0, 3, size=n_rows)
    X = np.column_stack([rng.normal(size=(n_rows, 2)) + labels[:, None], rng.integers(0, 4, size=(n_rows, 2))])
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    weights = rng.integers(0, 4, size=n_rows)
    again = np.repeat(np.arange(n_rows), weights)
    options = {"discrete_features": [2, 3], "target_type": "discrete"}
    return Table.from_data(X, labels, **options), weights, Table.from_data(X[again], labels[again], **options)


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "mdl"])
@pytest.mark.parametrize("correction", [None, "miller-madow", "chance"])
@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_are_repeated_rows_bit_for_bit(strategy, correction, seed):
    table, weights, repeated = weighted_tables(np.random.default_rng(seed))
    estimator = Binned(strategy=strategy, correction=correction)
    ours, expected = estimator.on(table, sample_weight=weights), estimator.on(repeated)
    assert ours.n_bins_ == expected.n_bins_
    candidates = np.arange(4)
    for selected in ([1], [3, 0]):
        values = [ask_everything(Memo(one), candidates, np.array(selected)) for one in (ours, expected)]
        assert_array_equal(*values)
    for block in ([0], [1, 2], [0, 1, 2, 3]):
        assert ours.mutual_information(block, [4]) == expected.mutual_information(block, [4])
    assert [ours.entropy(k) for k in range(5)] == [expected.entropy(k) for k in range(5)]


@pytest.mark.parametrize("n_levels", [[300, 3, 200, 2], [700, 3, 800, 400]])
def test_whole_weights_are_repeated_rows_where_levels_are_many(n_levels, rng):
    """Too many cells for a table, even of candidate and target in the second case: equal but for rounding."""
    codes = np.array([rng.integers(0, n, size=900) for n in (*n_levels, 60)])
    weights = rng.integers(0, 4, size=900)
    options = {"discrete_features": True, "target_type": "discrete"}
    tables = [Table.from_data(own[:-1].T, own[-1], **options) for own in (codes, np.repeat(codes, weights, axis=1))]
    ours, expected = Plugin().on(tables[0], sample_weight=weights), Plugin().on(tables[1])
    for selected in ([0], [2, 0]):
        for values in zip(
            *(ask_everything(Memo(one), np.arange(4), np.array(selected)) for one in (ours, expected)), strict=True
        ):
            assert_allclose(*values, rtol=0, atol=1e-9)


# Quantiles are found once, with the weights as they are; of levels there are none to find.
@pytest.mark.parametrize(("strategy", "columns"), [("quantile", [2, 3]), ("mdl", [0, 1, 2, 3])])
def test_weights_move_with_the_target(strategy, columns, rng):
    table, weights, _ = weighted_tables(rng)
    binned, orders = Binned(strategy=strategy), rng.permuted([range(70)] * 3, axis=1)
    moved = [binned.on(table.moved(order), sample_weight=weights[order]) for order in orders]
    expected = [one.relevance(columns) for one in moved]
    found = binned.on(table, sample_weight=weights).permuted(columns, [], orders)
    assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_equal_weights_change_nothing_and_parts_of_rows_count(table, rng):
    plain = Plugin().on(table).joint(range(4), [4])
    assert_array_equal(Plugin().on(table, sample_weight=np.ones(200)).joint(range(4), [4]), plain)
    assert_allclose(Plugin().on(table, sample_weight=np.full(200, 0.3)).joint(range(4), [4]), plain, rtol=0, atol=1e-7)
    weights = rng.random(200)
    table_of = [Plugin(correction=None).on(table, sample_weight=weights).pairwise([0], 1)[0]]
    share = np.zeros((2, 3))
    np.add.at(share, (table.codes(0), table.codes(1)), weights / weights.sum())
    ratio = share / (share.sum(axis=1, keepdims=True) * share.sum(axis=0))
    assert_allclose(table_of, [(share * np.log(ratio)).sum()], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\); it needs one number for each of 200 rows"),
        (np.r_[-1, np.ones(199)], "sample_weight has negative, missing or infinite values; pass numbers from 0 on"),
        (np.r_[np.nan, np.ones(199)], "sample_weight has negative, missing"),
        (np.zeros(200), "sample_weight has only zeros; give some rows a weight"),
    ],
)
def test_what_cannot_be_a_weight_is_refused(weights, message, table):
    with pytest.raises(ValueError, match=message):
        Plugin().on(table, sample_weight=weights)


def test_weights_by_the_name_of_an_estimator(table):
    weights = np.arange(200) % 3
    expected = Binned().on(table, sample_weight=weights).relevance([0, 1])
    assert_array_equal(make_information(table, "binned", weights).relevance([0, 1]), expected)
    with pytest.raises(
        ValueError, match="sample_weight needs counts, mi_estimator='knn' has none; pass mi_estimator='binned'"
    ):
        make_information(table, "knn", weights)


@pytest.mark.parametrize("seed", range(5))
def test_what_several_tell_has_the_same_bits_in_any_order(seed):
    """A path may have asked in another order than a selector does."""
    X = np.random.default_rng(seed).normal(size=(35, 6))
    table = Table.from_data(X, X[:, 0] + X[:, 1], target_type="continuous")
    one, other = Memo(Binned().on(table)), Memo(Binned().on(table))
    candidates = np.array([3, 4, 5])
    for ask in ("joint", "joint_entropy"):
        first = getattr(one, ask)(candidates, np.array([0, 1, 2]))
        np.testing.assert_array_equal(getattr(other, ask)(candidates, np.array([2, 0, 1])), first)
