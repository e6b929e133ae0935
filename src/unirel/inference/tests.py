"""Whether columns tell anything about a target at all, and whether they add anything to others: permutation tests."""

from functools import partial
from itertools import count
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, xlogy

from unirel._runtime import check_choice, check_whole_number, progress_of, warn
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.row_groups import RowGroups, firsts_of, is_same_within, open_groups
from unirel.data.table import Table
from unirel.estimation.base import Columns, Information, Values, make_information
from unirel.estimation.binned import Binned
from unirel.estimation.blocks import joint_codes, normal_scores
from unirel.estimation.permutation import (
    BlockPermutations,
    Exceedances,
    GroupPermutations,
    Groups,
    Permutations,
    expected_target,
    group_along,
    without_wide,
)
from unirel.measures import known_columns, names_columns
from unirel.results import RelevanceTest

Adjust = Literal["fdr", "fwer"]

# Rows that a cell is expected to have before its chi-square is trusted.
_EXPECTED = 5
# Rows of a group in which the target is permuted, where numbers are given.
_GROUP = 3
# Share of the target's variance that given numbers explain, above which p-values are too small.
_CLOSE = 0.95
# What a warning takes for significant.
_USUAL_ALPHA = 0.05


def relevance_test(
    X: Any,
    y: Any,
    *,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    n_permutations: int = 1000,
    max_exceedances: int | None = 20,
    adjust: Adjust = "fdr",
    groups: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> RelevanceTest:
    """Test of every column by itself: whether it tells anything about the target, or whether that could be chance.

    Parameters
    ----------
    X, y, mi_estimator, discrete_features, target_type, n_jobs
        As in `relevance`.
    n_permutations : int
        Permutations at most; no p-value is below one in that many.
    max_exceedances : int, optional
        A column needs no more permutations once that many tell at least as much as the data; None for never.
    adjust : {"fdr", "fwer"}
        What adjusted values bound: the expected share of false discoveries among all that are called significant, or
        the chance of any false discovery, from the maximum over all columns, for which no column can stop early.
    groups : array of shape (n_samples,) or RowGroups, optional
        Whose each row is, if rows belong together, such as those of a patient: whole groups are permuted. A `RowGroups`
        permutes within groups instead, or blocks of a time series; see :doc:`/rows_together`.
    random_state : int, optional
        Seed of the permutations.
    verbose : bool
        Show progress.

    Returns
    -------
    RelevanceTest
        With `information`, `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    Notes
    -----
    The estimate is made again with permuted targets, the same permutations for all columns, and the p-value says how
    often that gave at least as much: (exceedances + 1) / (n_permutations + 1). A column that was reached
    `max_exceedances` times stops after n permutations with p = max_exceedances / n (Besag and Clifford 1991). Either
    way the p-value is exactly valid. Where column and target are both counted, and every cell of their table is
    expected to have at least 5 rows, it is that of G = 2 N I, divided by the correction of Williams (1976), in its
    chi-square distribution.

    ``adjust="fdr"`` is the procedure of Benjamini and Hochberg (1995). ``adjust="fwer"`` takes from every permutation
    the largest value of any column, each in units of its own spread (Westfall and Young 1993).

    Examples
    --------
    >>> import numpy as np
    >>> from unirel import relevance_test
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> X[:, 1] += 2 * y
    >>> test = relevance_test(X, y)
    >>> test.significant()
    array([False,  True, False])
    """
    table = Table.from_data(X, y, discrete_features=discrete_features, target_type=target_type)
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    return permutation_test(information, None, n_permutations, max_exceedances, adjust, random_state, verbose, groups)


def conditional_test(
    X: Any,
    y: Any,
    given: Any,
    *,
    mi_estimator: str | Information = "auto",
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    n_permutations: int = 1000,
    max_exceedances: int | None = 20,
    adjust: Adjust = "fdr",
    groups: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> RelevanceTest:
    """Test of every column when others are known: whether it adds anything to them, or whether that could be chance.

    Parameters
    ----------
    given : list of names or positions, or array or frame of shape (n_samples, n_given)
        Columns of X that are known, or other columns.
    X, y, mi_estimator, discrete_features, target_type, n_jobs
        As in `relevance`.
    n_permutations, max_exceedances, adjust, groups, random_state, verbose
        As in `relevance_test`. Where something is given that varies within groups, rows are permuted within them.

    Returns
    -------
    RelevanceTest
        With `information`, I(Xk; y | given), `p_value` and `adjusted` of every column, `to_frame()` and `plot()`.

    Notes
    -----
    A column that adds nothing may still depend on what is given, and so may the target. So the target is permuted only
    among rows where what is given says the same about it (Rosenbaum 1984): rows with the same given levels that are, by
    threes, neighbours along a given number or, if several numbers are given, along what a ridge regression on cubic
    splines of their normal scores, and products, lets expect of the target. Rows stay where they are if their group is
    more than twice as wide as that of the median row.

    With discrete columns given the test is exact. With numbers given it is as good as the rows of a group are alike,
    see :doc:`/how_sure`. A warning says where they are not: several numbers that fix a number as target nearly.

    Examples
    --------
    The second column is a blurred copy of the first. By itself it tells much about the target, given the first nothing.

    >>> import numpy as np
    >>> from unirel import conditional_test, relevance_test
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=300)
    >>> X = np.column_stack([first, first + rng.normal(size=300)])
    >>> y = first + rng.normal(size=300) > 0
    >>> relevance_test(X, y).significant()
    array([ True,  True])
    >>> conditional_test(X, y, given=[0]).significant()
    array([False, False])
    """
    named = names_columns(given)
    reading: dict[str, Any] = {"discrete_features": discrete_features, "target_type": target_type}
    table = Table.from_data(X, y, conditional_on=None if named else given, **reading)
    columns = np.array(known_columns(table, given), np.intp) if named else table.given
    information = make_information(table, mi_estimator, n_jobs=n_jobs)
    return permutation_test(
        information, columns, n_permutations, max_exceedances, adjust, random_state, verbose, groups
    )


def false_discovery_rates(p_values: Values) -> Values:
    """The lowest false discovery rate at which each test is significant (Benjamini and Hochberg 1995)."""
    # As `scipy.stats.false_discovery_control` has it, but to import that takes longer than many a test.
    order = np.argsort(p_values)[::-1]
    rates = np.minimum.accumulate(p_values[order] * len(order) / np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(rates, 1.0)
    return adjusted


def permutation_test(
    information: Information,
    given: Columns | None = None,
    n_permutations: int = 1000,
    max_exceedances: int | None = 20,
    adjust: Adjust = "fdr",
    random_state: int | None = 0,
    verbose: bool = False,
    groups: Any = None,
) -> RelevanceTest:
    """`relevance_test` with an estimator that is there already, or `conditional_test` if columns are given."""
    asked = {"n_permutations": n_permutations, "max_exceedances": max_exceedances, "random_state": random_state}
    check_whole_number("n_permutations", n_permutations, 1)
    if max_exceedances is not None:
        check_whole_number("max_exceedances", max_exceedances, 1)
    if random_state is not None:
        check_whole_number("random_state", random_state, 0)
    check_choice("adjust", adjust, ("fdr", "fwer"))
    table = information.table
    together = None if groups is None else open_groups(groups)
    given = np.empty(0, np.intp) if given is None else given
    permutations, permuted_as = _permutations(table, given, together)
    columns = np.setdiff1d(table.features, given)
    _warn_of_close(information, given)
    observed = information.estimate(columns, given)
    p_values = np.full(len(columns), np.nan)
    if not (adjust == "fwer" or len(given) or information.looks_at_target or together):
        p_values[:] = [_g_test(information, int(column)) for column in columns]
    permuted = np.flatnonzero(np.isnan(p_values))
    most = None if adjust == "fwer" else max_exceedances
    tested = Exceedances(observed[permuted], n_permutations, most, keep=adjust == "fwer")
    rng, estimate = np.random.default_rng(random_state), information.permuted
    if not (permutations.keeps_rows or isinstance(information, Binned)):  # what orders share changes as well
        estimate = partial(Information.permuted, information)
    finished = tested.fill(
        lambda active, orders: estimate(columns[permuted[active]], given, orders),
        (permutations.draw(rng) for _ in count()),
        progress_of(verbose, "permutations"),
    )
    p_values[permuted], n_used = tested.p_values, np.zeros(table.n_features, np.int64)
    n_used[columns[permuted]] = tested.used
    if adjust == "fwer":
        adjusted = tested.p_values_of_maximum()
    else:
        adjusted = false_discovery_rates(p_values)
        if finished:
            _warn_of_few(tested, adjusted[permuted], len(columns))
    values = table.one_per_feature(0.0)
    values[columns] = information.bounded_pairs(observed, columns, table.target)
    return RelevanceTest(
        information=values,
        p_value=table.one_per_feature(p_values, columns),
        adjusted=table.one_per_feature(adjusted, columns),
        n_permutations=n_used,
        names=table.names,
        given=tuple(table.columns[int(column)].name for column in given),
        adjust=adjust,
        complete=finished,
        settings={"mi_estimator": repr(information), **asked, **permuted_as},
    )


def _g_test(information: Information, column: int) -> float:
    """P-value of G in its chi-square distribution; NaN where something is not counted or cells are thin."""
    codes, labels = information.levels(column), information.levels(information.table.target)
    if codes is None or labels is None:
        return np.nan
    n_levels, n_classes = int(codes.max()) + 1, int(labels.max()) + 1
    if n_levels * n_classes * _EXPECTED > len(codes):
        return np.nan
    table = np.bincount(codes.astype(np.int64) * n_classes + labels, minlength=n_levels * n_classes)
    table = table.reshape(n_levels, n_classes)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(codes)
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    if expected.min() < _EXPECTED or freedom == 0:
        return np.nan
    g = 2 * np.sum(xlogy(table, table / expected))
    sides = [len(codes) * np.sum(1 / table.sum(axis=axis)) - 1 for axis in (0, 1)]
    williams = 1 + sides[0] * sides[1] / (6 * len(codes) * freedom)  # what G is too large by in small tables
    return float(chdtrc(freedom, g / williams))


def _warn_of_close(information: Information, given: Columns) -> None:
    """Say that no two rows are alike where numbers fix the target nearly; neighbours notice that least."""
    table, numbers = information.table, given[information.table.continuous[given]]
    if len(numbers) < 2 or information.name == "knn" or not table.continuous[table.target]:
        return
    rows, target = np.arange(table.n_samples), table.continuous_block([table.target])[0]
    explained = np.corrcoef(expected_target(table, numbers, rows), normal_scores(target))[0, 1] ** 2
    if explained > _CLOSE:
        about = f"what is given explains {explained:.0%} of the target, so that p-values by {information.name!r} may be"
        warn(f"{about} far too small; pass mi_estimator='knn'")


def _warn_of_few(tested: Exceedances, adjusted: Values, n_columns: int) -> None:
    """Say that columns which no permutation has reached cannot be significant with that few permutations."""
    never = (tested.reached == 0) & (tested.used > 0)
    n_never = np.count_nonzero(never)
    if n_never == 0 or adjusted[never].min() <= _USUAL_ALPHA:
        return
    needed = int(np.ceil(n_columns / (_USUAL_ALPHA * n_never)))
    warn(
        f"n_permutations={tested.n_permutations} are few for {n_columns} columns: no permutation reached {n_never} of "
        f"them, yet their adjusted value is {adjusted[never].min():.2g}; pass n_permutations={needed}"
    )


def _permutations(
    table: Table, given: Columns, groups: RowGroups | None
) -> tuple[Permutations | GroupPermutations | BlockPermutations, dict[str, str]]:
    """What may be permuted, and what it is called where rows belong together."""
    if groups is None:
        return Permutations(table.n_samples, _alike_rows(table, given) if len(given) else None), {}
    within = groups.permute == "within"
    codes = groups.codes(table.n_samples)
    if not within and not all(is_same_within(_values(table, column), codes) for column in given.tolist()):
        if groups.permute == "groups":
            raise ValueError("permute='groups', but given varies within groups; pass permute='within'")
        within = True
    n_groups = int(codes.max()) + 1
    if within:
        alike = _alike_rows(table, given, codes)
        if is_same_within(_values(table, table.target), alike):
            remedy = "permute whole groups, and give only columns that do not vary within groups"
            raise ValueError(f"y does not vary among rows of a group, so nothing can be permuted within; {remedy}")
        return Permutations(table.n_samples, alike), {"permuted": f"rows within {n_groups:,} groups"}
    if groups.block_length is not None and len(given) == 0:
        blocks = BlockPermutations(table.n_samples, groups.block_length)
        return blocks, {"permuted": f"blocks of {groups.block_length:,} rows"}
    of_groups = _alike_rows(table.take(given, firsts_of(codes)), np.arange(len(given))) if len(given) else None
    return GroupPermutations(codes, of_groups), {"permuted": f"{n_groups:,} whole groups"}


def _values(table: Table, column: int) -> Any:
    return table.codes(column) if table.discrete[column] else table.continuous_block([column])[0]


def _alike_rows(table: Table, given: Columns, within: Groups | None = None) -> Groups:
    """Group of every row: the same given levels, missing numbers among them, and about the same expectation of y."""
    continuous, rows = given[table.continuous[given]], np.arange(table.n_samples)
    numbers = table.continuous_block(continuous) if len(continuous) else np.empty((0, table.n_samples))
    missing = np.isnan(numbers)
    levels = [table.codes(int(column)) for column in given[table.discrete[given]]]
    together = [] if within is None else [within]
    strata = joint_codes([*together, *levels, *missing.astype(np.intp)], table.n_samples)
    if len(continuous) == 0:
        groups = strata
    else:
        # Along a single number rows are neighbours whatever it says about the target.
        along = expected_target(table, continuous, rows) if len(numbers) > 1 else numbers[0]
        along = np.where(np.isnan(along), 0.0, along)
        groups = without_wide(along, group_along(strata, along, _GROUP))
    if groups.max() + 1 == table.n_samples:
        raise ValueError("given has different levels in every row, so nothing can be permuted; give fewer columns")
    return groups
