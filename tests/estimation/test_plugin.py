"""Counting, with few levels and with many, against counting with a dictionary."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import read

from unirel.data.table import Table
from unirel.estimation.binned import Binned
from unirel.estimation.plugin import Plugin

CLOSE = {"rtol": 0, "atol": 1e-10}
CORRECTIONS = [None, "miller-madow", "chance"]
# What chance gives is looked up where levels have many rows, so it is not as exact.
TOLERANCES = pytest.mark.parametrize(("correction", "atol"), [(None, 1e-10), ("chance", 1e-5)])


def make_counted(codes, target, correction="chance", n_jobs=None):
    """The estimator of a table of discrete columns, and what the twin needs of the same."""
    table = Table.from_data(np.asarray(codes).T, target, discrete_features=True, target_type="discrete")
    information = Plugin(correction).on(table, n_jobs=n_jobs)
    return information, [read(column, "discrete") for column in codes], [read(target, "discrete")]


def draw_codes(rng, n_rows, n_levels):
    """Columns of so many levels, all of them in use, that have something to do with each other."""
    source = rng.integers(0, 2**20, size=n_rows)
    columns = []
    for levels in n_levels:
        codes = np.where(rng.random(n_rows) < 0.5, source, rng.integers(0, 2**20, size=n_rows)) % levels
        codes[rng.choice(n_rows, size=levels, replace=False)] = np.arange(levels)
        columns.append(codes)
    return columns


def every_value(information, n_columns):
    columns = range(n_columns)
    target = information.table.target
    return np.concatenate(
        [
            information.relevance(columns),
            information.pairwise(columns, 1),
            information.joint(columns, [0]),
            information.joint(columns, [1, 0]),
            [information.conditional([column], [target], [0]) for column in columns],
            [information.conditional([0, column], [1, target], [2, 0]) for column in columns],
            [information.entropy(column) for column in columns],
        ]
    )


def every_value_of_twin(columns, target, correction):
    def information(a, b, given=()):
        return reference.plugin(a, b, given, correction)

    return np.array(
        [
            *(information([column], target) for column in columns),
            *(information([column], [columns[1]]) for column in columns),
            *(reference.joint_plugin([column], columns[:1], target, correction) for column in columns),
            *(reference.joint_plugin([column], columns[1::-1], target, correction) for column in columns),
            *(information([column], target, [columns[0]]) for column in columns),
            *(information([columns[0], column], [columns[1], *target], [columns[2], columns[0]]) for column in columns),
            *(reference.plugin_entropy([column], correction) for column in columns),
        ]
    )


def assert_close(ours, twins, n_classes, correction):
    """Equal but for rounding; what is told by chance about features, and within their levels, is interpolated."""
    coarse = slice(len(ours) // 7, 4 * len(ours) // 7)
    if correction == "chance":
        assert_allclose(ours[coarse], twins[coarse], rtol=0, atol=1e-6 * max(n_classes, 20))
    rest = np.delete(np.arange(len(ours)), coarse) if correction == "chance" else np.arange(len(ours))
    assert_allclose(ours[rest], twins[rest], **CLOSE)


# Levels: a table of all cells, too many cells for one, and joint levels that are relabelled
N_ROWS = 500
LEVELS = {
    "few": [2, 3, 4, 5],
    "one": [1, 3, 1, 2],
    "hundreds": [300, 200, 400, 260],
    "few and hundreds": [2, 400, 3, 270],
    "every row its own": [N_ROWS, 2, N_ROWS, 3],
}


@pytest.mark.parametrize(
    ("n_classes", "correction"), [(2, None), (2, "chance"), (150, "miller-madow"), (150, "chance")]
)
@pytest.mark.parametrize("levels", LEVELS)
def test_counts_equal_twin(levels, n_classes, correction):
    *codes, target = draw_codes(np.random.default_rng(0), N_ROWS, [*LEVELS[levels], n_classes])
    information, columns, target = make_counted(codes, target, correction=correction)
    assert_close(every_value(information, 4), every_value_of_twin(columns, target, correction), n_classes, correction)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(10, 60),
    st.lists(st.integers(1, 10), min_size=3, max_size=4),
    st.integers(2, 10),
    st.sampled_from(CORRECTIONS),
)
def test_counts_of_random_tables_equal_twin(seed, n_rows, levels, n_classes, correction):
    *codes, target = draw_codes(np.random.default_rng(seed), n_rows, [*levels, n_classes])
    information, columns, target = make_counted(codes, target, correction=correction)
    ours = every_value(information, len(levels))
    assert_close(ours, every_value_of_twin(columns, target, correction), n_classes, correction)


@TOLERANCES
@pytest.mark.parametrize("n_levels", [255, 256, 257])
def test_one_byte_of_levels(n_levels, correction, atol):
    codes = draw_codes(np.random.default_rng(1), 2000, [n_levels, n_levels, 2])
    information, columns, target = make_counted(codes, codes[0] % 7, correction=correction)
    pairs = [reference.plugin([column], columns[:1], correction=correction) for column in columns]
    assert_allclose(information.pairwise([0, 1, 2], 0), pairs, rtol=0, atol=atol)
    joint = [reference.joint_plugin([column], [columns[2]], target, correction) for column in columns[:2]]
    assert_allclose(information.joint([0, 1], [2]), joint, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("first", "second", "correction", "atol"),
    [
        (16, 16, "chance", 1e-5),
        (16, 17, "chance", 1e-5),
        (128, 2, None, 1e-10),
        (256, 256, None, 1e-10),
        (256, 257, None, 1e-10),
    ],
)
def test_joint_levels_beyond_one_and_two_bytes(first, second, correction, atol):
    """Joint codes of 256 and 65,536 levels are the last that fit into one and two bytes."""
    n_rows = max(4000, first * second // 4 + 1)  # so many rows that the joint levels are not relabelled
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, first, size=n_rows), rng.integers(0, second, size=n_rows), rng.integers(0, 3, size=n_rows)]
    codes[0][:3] = codes[1][:3] = [0, 1, 1]
    codes[0][-1], codes[1][-1] = first - 1, second - 1
    target = (codes[0] + codes[1]) % 2
    information, columns, target = make_counted(codes, target, correction=correction)
    joint = reference.joint_plugin(columns[2:], columns[:2], target, correction)
    assert_allclose(information.joint([2], [0, 1]), [joint], rtol=0, atol=atol)
    assert information.mutual_information([0, 1], [information.table.target]) == pytest.approx(
        reference.plugin(columns[:2], target, correction=correction), abs=1e-10
    )


@pytest.mark.parametrize("n_levels", [65_535, 65_536, 65_537])
def test_two_bytes_of_levels(n_levels):
    rng = np.random.default_rng(3)
    many = rng.permutation(np.r_[np.arange(n_levels), rng.integers(0, n_levels, size=500)])
    target = many % 2
    few = np.where(rng.random(many.size) < 0.7, target, rng.integers(0, 3, size=many.size))
    information, columns, target = make_counted([many, few], target, correction=None)
    entropy = reference.plugin_entropy(target)
    assert_allclose(information.joint([0, 1], [0]), [entropy, entropy], **CLOSE)
    plain = reference.plugin([columns[1]], target, correction=None)
    assert_allclose(information.relevance([0, 1]), [entropy, plain], **CLOSE)
    assert information.entropy(0) == pytest.approx(reference.plugin_entropy(columns[:1]), abs=1e-10)


def test_no_candidate_gives_no_value():
    codes = draw_codes(np.random.default_rng(0), 50, [2, 3])
    for information in (make_counted(codes, codes[0])[0], Binned().on(Table.from_data(np.array(codes).T, codes[0]))):
        assert information.relevance([]).shape == (0,)
        assert information.pairwise([], 0).shape == (0,)
        assert information.joint([], [0]).shape == (0,)
        assert information.joint([], []).shape == (0,)


def test_nothing_selected_and_nothing_given():
    codes = draw_codes(np.random.default_rng(0), 50, [2, 3, 4])
    information, _, _ = make_counted(codes, codes[0] % 2)
    assert_array_equal(information.joint([0, 1, 2], []), information.relevance([0, 1, 2]))
    assert information.conditional([1], [2], []) == information.mutual_information([1], [2])
    assert information.mutual_information([], [1]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("correction", [None, "miller-madow"])
@pytest.mark.parametrize("levels", LEVELS)
def test_chain_rule_is_exact(levels, correction):
    *codes, target = draw_codes(np.random.default_rng(4), 900, [*LEVELS[levels], 3])
    information, _, _ = make_counted(codes, target, correction=correction)
    target = [information.table.target]
    whole = information.mutual_information([0, 1, 2, 3], target)
    parts = [information.conditional([column], target, list(range(column))) for column in range(4)]
    assert whole == pytest.approx(sum(parts), abs=1e-12)
    assert_allclose(
        information.joint([0, 1, 2], [3]),
        [information.mutual_information([c, 3], target) for c in range(3)],
        rtol=1e-7,
        atol=1e-12,
    )


@pytest.mark.parametrize("levels", LEVELS)
def test_what_is_given_comes_first(levels):
    """Less what chance gives, I(x, s; y) = I(s; y) + I(x; y | s), and s within itself adds nothing."""
    *codes, target = draw_codes(np.random.default_rng(4), 900, [*LEVELS[levels], 3])
    information, _, _ = make_counted(codes, target)
    target, before = [information.table.target], information.mutual_information([3], [information.table.target])
    parts = [before + information.conditional([column], target, [3]) for column in range(4)]
    assert_allclose(information.joint(range(4), [3]), parts, rtol=0, atol=1e-5)
    assert_allclose(information.joint([3], [3]), [before], rtol=0, atol=1e-12)


@pytest.mark.parametrize("levels", LEVELS)
def test_order_of_columns_and_rows_changes_nothing(levels):
    rng = np.random.default_rng(5)
    *codes, target = draw_codes(rng, 900, [*LEVELS[levels], 3])
    information = make_counted(codes, target)[0]
    rows = rng.permutation(900)
    shuffled = make_counted([column[rows] for column in codes], target[rows])[0]
    assert_allclose(every_value(shuffled, 4), every_value(information, 4), rtol=0, atol=1e-12)
    assert_allclose(information.joint([2], [0, 1, 3]), information.joint([2], [3, 1, 0]), rtol=0, atol=1e-12)
    assert information.pairwise([0], 1)[0] == pytest.approx(information.pairwise([1], 0)[0], abs=5e-5)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_number_of_jobs_changes_no_bit(n_jobs):
    *codes, target = draw_codes(np.random.default_rng(6), 1500, [2, 700, 3, 400, 3])
    expected = every_value(make_counted(codes, target)[0], 4)
    assert_array_equal(every_value(make_counted(codes, target, n_jobs=n_jobs)[0], 4), expected)


# Bins


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("n_bins", ["auto", 5, 300])
def test_bins_equal_twin(n_bins, correction):
    rng = np.random.default_rng(7)
    n_rows = 700
    target = rng.normal(size=n_rows)
    raw = [
        target + rng.normal(size=n_rows),
        rng.integers(-3, 4, size=n_rows) * 0.5,
        np.where(rng.random(n_rows) < 0.2, np.nan, target + rng.normal(size=n_rows)),
        rng.integers(0, 300, size=n_rows).astype(float),
    ]
    kinds = ["continuous", "continuous", "continuous", "discrete"]
    table = Table.from_data(np.column_stack(raw), target, discrete_features=[3], target_type="continuous")
    information = Binned(n_bins=n_bins, correction=correction).on(table)
    n_bins = reference.bins_for(n_bins, [read(target, "continuous")])
    columns = [reference.binned(read(column, kind), n_bins) for column, kind in zip(raw, kinds, strict=True)]
    target = [reference.binned(read(target, "continuous"), n_bins)]
    assert_close(every_value(information, 4), every_value_of_twin(columns, target, correction), n_bins, correction)


def test_bins_of_one_tied_value():
    """All values but one are equal: two bins are in use, however many there are."""
    values = np.r_[np.zeros(39), 1.0]
    table = Table.from_data(
        np.column_stack([values, np.arange(40) % 2]), np.arange(40) % 2, discrete_features={0: False, 1: True}
    )
    for n_bins in (2, 3, 10):
        columns = [reference.binned(read(values, "continuous"), n_bins)]
        assert Binned(n_bins=n_bins).on(table).entropy(0) == pytest.approx(reference.plugin_entropy(columns), abs=1e-12)


# Changes of a block, which the base class derives


def test_changes_are_differences_of_single_estimates():
    *codes, target = draw_codes(np.random.default_rng(8), 400, [2, 3, 4, 90, 3])
    information, columns, target = make_counted(codes, target)
    before = reference.plugin(columns, target)
    without = [reference.plugin([*columns[:k], *columns[k + 1 :]], target) - before for k in range(4)]
    changes = information.without_each(range(4))
    assert changes.before == pytest.approx(before, abs=1e-10)
    assert_allclose(changes.change, without, **CLOSE)
    before = reference.plugin(columns[:2], target)
    changes = information.with_each([0, 1], [2, 3])
    assert changes.before == pytest.approx(before, abs=1e-10)
    assert_allclose(
        changes.change, [reference.plugin([c], target, columns[:2]) for c in columns[2:]], rtol=0, atol=1e-5
    )
