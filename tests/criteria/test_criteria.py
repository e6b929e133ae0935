"""Every criterion: its term, its fold, its score, and what the list promises."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import read

from unirel.criteria import CRITERIA, JMI, MIFS, BetaGamma, Criterion, make_criterion
from unirel.data.table import Table
from unirel.estimation.base import Memo
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin

any_criterion = pytest.mark.parametrize("name", CRITERIA)
NORMALISED = ("disr", "njmim")


class Known:
    """A source, and a twin of the estimates, with made-up values."""

    def __init__(self, n_columns=8):
        rng = np.random.default_rng(0)
        self._relevance = rng.random(n_columns)
        pairs = rng.random((3, n_columns, n_columns))
        self._pairwise, self._given, self._joint = pairs + pairs.transpose(0, 2, 1)

    def relevance(self, candidates):
        return self._relevance[candidates]

    def pairwise(self, candidates, column):
        return self._pairwise[candidates, column]

    def pairwise_given_target(self, candidates, column):
        return self._given[candidates, column]

    def joint(self, candidates, selected):
        return self._joint[np.ix_(np.atleast_1d(candidates), np.atleast_1d(selected).astype(int))].sum(axis=1)

    def joint_entropy(self, candidates, selected):
        return 1 + self.joint(candidates, selected) ** 2

    def joint_of_pairs(self, candidates, selected):
        pairs = [(s, t) for place, s in enumerate(selected) for t in selected[:place]]
        return sum(self.joint(candidates, list(pair)) for pair in pairs)


class Twin(Known):
    def joint(self, x, selected):
        return float(super().joint(x, selected)[0])


FOLDS = {"mean": lambda terms: np.mean(terms, axis=0), "min": lambda terms: np.min(terms, axis=0)}
FOLDS |= {"sum": lambda terms: np.sum(terms, axis=0), "latest": lambda terms: terms[-1]}


def score(source, criterion, candidates, selected):
    """Scores as the search makes them, from the terms of all steps."""
    if criterion.fold is None:
        return source.relevance(candidates)
    steps = [np.array(selected[: step + 1]) for step in range(len(selected))]
    folded = FOLDS[criterion.fold]([criterion.term(source, candidates, step) for step in steps])
    return criterion.score(source.relevance(candidates), folded)


@any_criterion
@pytest.mark.parametrize("selected", [[5], [5, 2], [1, 7, 3]])
def test_term_fold_and_score_make_the_formula(name, selected):
    candidates = np.setdiff1d(np.arange(8), selected)
    ours = score(Known(), make_criterion(name), candidates, selected)
    expected = [reference.CRITERIA[name](Twin(), x, selected) for x in candidates]
    assert_allclose(ours, expected, rtol=0, atol=1e-12)


# On tables


def draw_codes(rng, n_rows, n_levels):
    """Columns that have something to do with each other; not all levels need be in use, and some columns are equal."""
    source = rng.integers(0, 2**20, size=n_rows)
    noise = rng.integers(0, 2**20, size=(len(n_levels), n_rows))
    columns = [np.where(rng.random(n_rows) < 0.6, source, own) % n for own, n in zip(noise, n_levels, strict=True)]
    if len(columns) > 3:
        columns[3] = columns[1]
    return columns


def make_counted(columns, target, correction="chance", n_jobs=None):
    table = Table.from_data(np.array(columns).T, target, discrete_features=True, target_type="discrete")
    features, labels = [read(column, "discrete") for column in columns], [read(target, "discrete")]
    twin = reference.Estimates(features, labels, estimator="plugin", correction=correction)
    return Memo(Plugin(correction).on(table, n_jobs=n_jobs)), twin


@any_criterion
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 60),
    st.lists(st.sampled_from([1, 2, 3, 5, 40]), min_size=3, max_size=6),
    st.integers(2, 4),
    st.sampled_from([None, "miller-madow", "chance"]),
)
def test_equal_to_the_formula_on_random_tables(name, seed, n_rows, n_levels, n_classes, correction):
    rng = np.random.default_rng(seed)
    *columns, target = draw_codes(rng, n_rows, [*n_levels, n_classes])
    target[:2] = [0, 1]
    memo, twin = make_counted(columns, target, correction=correction)
    order = rng.permutation(len(columns))
    selected, candidates = order[: rng.integers(1, len(columns))], np.sort(order)
    ours = score(memo, make_criterion(name), candidates, selected)
    expected = [reference.CRITERIA[name](twin, x, selected.tolist()) for x in candidates.tolist()]
    if name == "mrmr_q":  # A redundancy that is nothing but rounding makes numbers without meaning.
        redundancy = [np.mean([twin.pairwise(x, s) for s in selected.tolist()]) for x in candidates.tolist()]
        ours, expected = (np.where(np.array(redundancy) > 1e-9, values, 0) for values in (ours, expected))
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)


# What chance gives is looked up where levels have many rows, so it is not as exact.
@pytest.mark.parametrize(("correction", "rtol", "atol"), [(None, 1e-9, 1e-9), ("chance", 1e-4, 3e-5)])
@any_criterion
def test_equal_to_the_formula_with_many_levels(name, correction, rtol, atol):
    """Tables that would be larger than the data, and joint levels that are relabelled."""
    rng = np.random.default_rng(1)
    *columns, target = draw_codes(rng, 700, [200, 3, 650, 2, 300, 7])
    memo, twin = make_counted(columns, target, correction=correction)
    selected, candidates = [0, 2, 3], np.array([1, 4])
    ours = score(memo, make_criterion(name), candidates, selected)
    expected = [reference.CRITERIA[name](twin, x, selected) for x in candidates.tolist()]
    assert_allclose(ours, expected, rtol=rtol, atol=atol)


@any_criterion
def test_one_class_but_for_one_row(name):
    columns = draw_codes(np.random.default_rng(2), 40, [1, 2, 3, 2])
    memo, twin = make_counted(columns, np.r_[np.zeros(39, int), 1])
    ours = score(memo, make_criterion(name), np.array([0, 1, 2, 3]), [2, 0])
    assert_allclose(ours, [reference.CRITERIA[name](twin, x, [2, 0]) for x in range(4)], rtol=1e-9, atol=1e-9)


@any_criterion
def test_number_of_jobs_changes_no_bit(name):
    *columns, target = draw_codes(np.random.default_rng(3), 300, [2, 3, 4, 2, 30, 3, 2, 2, 2, 4, 3])
    one, more = make_counted(columns, target, n_jobs=1)[0], make_counted(columns, target, n_jobs=2)[0]
    values = [score(memo, make_criterion(name), np.arange(10), [4, 0, 1]) for memo in (one, more)]
    assert_array_equal(*values)


def make_numbers(rng, discrete_target, n_rows=90):
    target = rng.normal(size=n_rows)
    columns = [target + rng.normal(size=n_rows), rng.normal(size=n_rows), np.round(target + rng.normal(size=n_rows))]
    columns.append(columns[0] + 0.3 * rng.normal(size=n_rows))
    target = np.digitize(target, [-0.8, 0.4]) if discrete_target else target
    kinds = ["continuous", "continuous", "discrete", "continuous"]
    target_kind = "discrete" if discrete_target else "continuous"
    table = Table.from_data(np.array(columns).T, target, discrete_features=[2], target_type=target_kind)
    return table, [read(*one) for one in zip(columns, kinds, strict=True)], [read(target, target_kind)]


@pytest.mark.parametrize("name", [name for name in CRITERIA if name not in NORMALISED])
@pytest.mark.parametrize("discrete_target", [True, False])
def test_equal_to_the_formula_with_neighbours(name, discrete_target, rng):
    table, columns, target = make_numbers(rng, discrete_target)
    memo, twin = Memo(KNN().on(table)), reference.Estimates(columns, target)
    ours = score(memo, make_criterion(name), np.array([0, 1]), [3, 2])
    assert_allclose(ours, [reference.CRITERIA[name](twin, x, [3, 2]) for x in (0, 1)], rtol=1e-8, atol=1e-8)


@any_criterion
def test_equal_to_the_formula_with_bins(name, rng):
    table, columns, target = make_numbers(rng, discrete_target=False)
    memo, twin = Memo(Binned(n_bins=4).on(table)), reference.Estimates(columns, target, estimator="binned", n_bins=4)
    ours = score(memo, make_criterion(name), np.arange(4), [3, 2])
    # What chance gives about features and within levels is interpolated.
    assert_allclose(ours, [reference.CRITERIA[name](twin, x, [3, 2]) for x in range(4)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NORMALISED)
def test_a_normalised_criterion_needs_counts(name, rng):
    table = make_numbers(rng, discrete_target=True)[0]
    with pytest.raises(
        ValueError, match=r"'disr' and 'njmim' need counts, mi_estimator='knn' has none; pass mi_estimator='binned'"
    ):
        score(Memo(KNN().on(table)), make_criterion(name), np.array([0, 1]), [3])


@pytest.mark.parametrize("name", NORMALISED)
def test_levels_need_no_other_estimator(name):
    *columns, target = draw_codes(np.random.default_rng(4), 80, [2, 3, 4, 3])
    memo = make_counted(columns, target)[0]
    ours = [
        score(one, make_criterion(name), np.arange(3), [1]) for one in (memo, Memo(KNN().on(memo.information.table)))
    ]
    assert_allclose(*ours, rtol=0, atol=1e-12)


# The family with two parameters


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_several_criteria_are_special_cases(seed, n_selected):
    rng = np.random.default_rng(seed)
    *columns, target = draw_codes(rng, 60, [2, 3, 4, 2, 5, 3])
    target[:2] = [0, 1]
    memo, _ = make_counted(columns, target)
    candidates, selected = np.arange(5), rng.permutation(5)[:n_selected]
    cases = [
        ("mim", BetaGamma(0, 0, "sum")),
        ("mifs", BetaGamma(0.5, 0, "sum")),
        ("cife", BetaGamma(1, 1, "sum")),
        ("condred", BetaGamma(0, 1, "sum")),
        ("mrmr", BetaGamma(1, 0, "mean")),
    ]
    for name, general in cases:
        special = score(memo, make_criterion(name), candidates, selected)
        assert_allclose(score(memo, general, candidates, selected), special, rtol=0, atol=1e-12, err_msg=name)
    jmi = score(memo, JMI(), candidates, selected) - memo.relevance(selected).mean()
    assert_allclose(score(memo, BetaGamma(1, 1, "mean"), candidates, selected), jmi, rtol=0, atol=1e-12)


def test_conditional_information_differs_from_gsa_by_what_is_selected():
    *columns, target = draw_codes(np.random.default_rng(5), 90, [2, 3, 4, 2, 5, 3])
    memo, _ = make_counted(columns, target)
    selected, candidates = [4, 0], np.array([1, 2])
    gsa, cmi = (score(memo, make_criterion(name), candidates, selected) for name in ("gsa", "cmi"))
    assert_allclose(gsa - cmi, memo.information.mutual_information(selected, [5]), rtol=0, atol=1e-12)


def test_parameters_are_shown_and_checked():
    assert repr(MIFS(0.3)) == "MIFS(weight=0.3)"
    assert repr(BetaGamma(0.5, 0, "sum")) == "BetaGamma(redundancy=0.5, conditional=0, fold='sum')"
    with pytest.raises(ValueError, match="fold='min' is not one of 'sum', 'mean'"):
        BetaGamma(fold="min")


# The list


@any_criterion
def test_every_criterion_has_a_formula_in_the_reference(name):
    assert name in reference.CRITERIA, f"write the formula of {name!r} into tests/reference.py and its CRITERIA"


@any_criterion
def test_made_by_name(name):
    criterion = make_criterion(name)
    assert isinstance(criterion, Criterion)
    assert criterion.name == name
    assert type(make_criterion(name.upper())) is type(criterion)
    assert repr(criterion).startswith(f"{type(criterion).__name__}(")


@any_criterion
def test_a_fold_is_one_of_four_or_none(name):
    assert make_criterion(name).fold in {"sum", "mean", "min", "latest", None}


@any_criterion
def test_described(name):
    description = type(make_criterion(name)).__doc__
    assert description.split(":")[0].strip()
    assert "nats" not in description


def test_the_list_has_every_formula_and_no_criterion_of_somebody_else():
    type("Foreign", (Criterion,), {}, name="foreign")
    assert set(CRITERIA) == set(reference.CRITERIA)
    with pytest.raises(ValueError, match="criterion='foreign' is not one of"):
        make_criterion("foreign")


def test_an_instance_stays_as_it_is():
    criterion = JMI()
    assert make_criterion(criterion) is criterion


@pytest.mark.parametrize("wrong", ["JMX", "", None, 3, JMI], ids=repr)
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"criterion=.* is not one of 'mim', 'mrmr', 'jmi', 'jmim', 'cmim', 'gsa'"):
        make_criterion(wrong)


def test_a_class_needs_a_name():
    with pytest.raises(TypeError, match="name"):
        type("Nameless", (Criterion,), {})
