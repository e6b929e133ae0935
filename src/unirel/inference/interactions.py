"""Pairs of features that say more about the target together than one by one, and whether that could be chance."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from unirel._runtime import check_time, progress_of
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.table import Table
from unirel.errors import check_whole_number
from unirel.estimation.base import Columns, Values
from unirel.estimation.binned import Binned
from unirel.estimation.codes import Joint
from unirel.measures import known_columns
from unirel.results import Interactions

# Bins of a continuous column: the product of two of them and the target has to leave rows in every cell.
_BINS = 4
# Pairs that are permuted: those that are reported, and as many times more.
_TRIED = 5
# Values of chance that can be told from 0.
_ROUNDING = 1e-9


def interactions(
    X: Any,
    y: Any,
    *,
    columns: Any = None,
    max_pairs: int = 20,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    n_permutations: int = 200,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Interactions:
    """Find pairs of features that have information about the target only together, such as the sides of an XOR.

    Parameters
    ----------
    X, y, discrete_features, target_type, n_jobs
        As in `relevance`.
    columns : list of names or positions, optional
        Only pairs with at least one of these; all pairs if not given.
    max_pairs : int
        Pairs to report at most.
    n_permutations : int
        Permutations of the target that the p-values are taken from.
    random_state : int, optional
        Seed of the permutations.
    verbose : bool
        Show progress.

    Returns
    -------
    Interactions
        The pairs with the strongest synergy, the strongest first, with `to_frame()` and `plot()`.

    Notes
    -----
    Synergy is I(a, b; y) - I(a; y) - I(b; y), counted in bins, less what it is by chance: the mean over permutations of
    the target. It is negative for features that are redundant with each other. The p-value is that of the cube root of
    the synergy among those of permuted targets, taken as normal (Wilson and Hilferty 1931), or that of a synergy of 0
    given the scatter of the pointwise synergies, if that is larger. Adjusted values bound the expected share of false
    discoveries (Benjamini and Hochberg 1995) among all pairs, those that are not reported too.

    Examples
    --------
    >>> import numpy as np
    >>> from unirel import interactions
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> interactions(X, X[:, 1] * X[:, 3] > 0).pairs[0]
    ('x1', 'x3')
    """
    check_whole_number("max_pairs", max_pairs, 1)
    check_whole_number("n_permutations", n_permutations, 20)
    table = Table.from_data(X, y, discrete_features=discrete_features, target_type=target_type)
    firsts = table.features if columns is None else np.unique(known_columns(table, columns))
    counts = Binned(_BINS, correction=None).on(table, n_jobs=n_jobs)
    first, second, n_pairs = _strongest(counts, firsts, _TRIED * max_pairs, progress_of(verbose, "pairs"))
    synergy, p_value = _test(counts, first, second, n_permutations, random_state)
    order = np.lexsort([-synergy, p_value])
    adjusted = np.minimum.accumulate((p_value[order] * n_pairs / np.arange(1, len(order) + 1))[::-1])[::-1]
    shown = order[:max_pairs]
    relevance = counts.relevance(np.concatenate([first[shown], second[shown]])).reshape(2, -1)
    return Interactions(
        pairs=tuple((table.names[a], table.names[b]) for a, b in zip(first[shown], second[shown], strict=True)),
        synergy=synergy[shown],
        relevance=np.maximum(relevance.T, 0.0),
        p_value=p_value[shown],
        adjusted=np.minimum(adjusted[: len(shown)], 1.0),
        n_pairs=n_pairs,
        names=table.names,
        settings={"max_pairs": max_pairs, "n_permutations": n_permutations, "random_state": random_state},
    )


def _pairs(counts: Binned, firsts: Columns) -> Iterator[tuple[int, Columns, Values]]:
    """Every column with those that it has not yet been paired with, and the synergy of each pair."""
    features = counts.table.features
    relevance = dict(zip(features.tolist(), counts.relevance(features).tolist(), strict=True))
    done = np.zeros(len(counts.table.columns), bool)
    for first in firsts.tolist():
        done[first] = True
        others = features[~done[features]]
        if len(others):
            alone = np.array([relevance[other] for other in others.tolist()])
            yield first, others, counts.conditional_relevance(others, [first]) - alone


def _strongest(counts: Binned, firsts: Columns, most: int, progress: Any) -> tuple[Columns, Columns, int]:
    """The pairs with the largest synergy for their number of cells, and how many pairs there are."""
    table, n_pairs = counts.table, 0
    found = np.empty((3, 0))  # score, first and second column
    freedom = np.array([len(np.unique(counts.levels(column))) - 1 for column in range(len(table.columns))])
    for place, (first, others, synergy) in enumerate(_pairs(counts, firsts), start=1):
        check_time()
        cells = freedom[first] * freedom[others] * freedom[table.target]
        score = _normal(2 * table.n_samples * synergy, cells)
        found = np.hstack([found, [score, np.full(len(others), float(first)), others]])
        found = found[:, np.argsort(-found[0], kind="stable")[:most]]
        n_pairs += len(others)
        if progress is not None:
            progress(place, len(firsts))
    return found[1].astype(np.intp), found[2].astype(np.intp), n_pairs


def _normal(chi_square: Values, freedom: Any) -> Values:
    """About normal, if the values are distributed like chi-square (Wilson and Hilferty)."""
    freedom = np.maximum(freedom, 1)
    return np.asarray((np.cbrt(chi_square / freedom) - 1 + 2 / (9 * freedom)) / np.sqrt(2 / (9 * freedom)))


def _test(
    counts: Binned, first: Columns, second: Columns, n_permutations: int, random_state: int | None
) -> tuple[Values, Values]:
    """Synergy of pairs, less what it is by chance, and the p-value of each."""
    target = _joint(counts.levels(counts.table.target))
    rng = np.random.default_rng(random_state)
    fixed = {int(column): _joint(counts.levels(int(column))) for column in np.unique(first)}
    nothing = Joint(1, None, lambda: np.zeros(counts.table.n_samples, np.uint32))

    def synergy(order: Columns | slice) -> Values:
        moved = _joint(target.codes[order])
        alone, value = counts.given_codes(second, nothing, moved), np.empty(len(second))
        for column, codes in fixed.items():
            own = first == column
            value[own] = counts.given_codes(second[own], codes, moved)
        return value - alone

    observed = synergy(slice(None))
    permuted = np.array([synergy(rng.permutation(counts.table.n_samples)) for _ in range(n_permutations)])
    roots = np.cbrt(permuted)
    spread = np.maximum(roots.std(axis=0, ddof=1), _ROUNDING)
    by_chance = ndtr(-(np.cbrt(observed) - roots.mean(axis=0)) / spread)
    less_chance = observed - permuted.mean(axis=0)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    errors = np.array([_standard_error(counts, a, b) for a, b in pairs])
    return less_chance, np.maximum(by_chance, ndtr(-less_chance / np.maximum(errors, _ROUNDING)))


def _standard_error(counts: Binned, first: int, second: int) -> float:
    """Of the mean of log p(a, b, y) p(a) p(b) p(y) / (p(a, b) p(a, y) p(b, y)) over the rows."""
    a, b, y = (counts.levels(column).astype(np.intp) for column in (first, second, counts.table.target))
    shape = int(a.max()) + 1, int(b.max()) + 1, int(y.max()) + 1
    cells = np.bincount(np.ravel_multi_index((a, b, y), shape), minlength=np.prod(shape)).reshape(shape) / len(y)
    logs = np.zeros(shape)
    for axes, sign in (((), 1), ((1, 2), 1), ((0, 2), 1), ((0, 1), 1), ((2,), -1), ((1,), -1), ((0,), -1)):
        margin = cells.sum(axis=axes, keepdims=True)
        logs += sign * np.log(np.where(margin > 0, margin, 1.0))
    # Noise alone gives pointwise synergies a scatter too, which the permutations have judged already.
    by_chance = np.prod(np.array(shape) - 1.0) / len(y)
    variance = np.sum(cells * logs**2) - np.sum(cells * logs) ** 2 - by_chance
    return float(np.sqrt(max(0.0, variance) / len(y)))


def _joint(codes: Any) -> Joint:
    return Joint(int(codes.max(initial=0)) + 1, None, lambda: codes.astype(np.uint32))
