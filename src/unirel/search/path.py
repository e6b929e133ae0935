"""Selections of several criteria along the weight of unique relevance, from one set of estimates."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Unpack, cast

from numpy.typing import ArrayLike

from unirel._runtime import READING_SECONDS, end_of, until
from unirel.criteria import Criterion
from unirel.data.parts.opening import open_table
from unirel.options import ReadingOptions, SelectionOptions, complete, documented, part_of
from unirel.results import SelectionPath
from unirel.search.greedy import select

DEFAULT_BETAS = tuple(step / 10 for step in range(11))


@documented(SelectionOptions)
def selection_path(
    X: Any,
    y: Any,
    *,
    criteria: str | Criterion | Sequence[str | Criterion] = ("mim", "mrmr", "jmi", "jmim", "cmim"),
    betas: float | Sequence[float] = DEFAULT_BETAS,
    sample_weight: ArrayLike | None = None,
    **options: Unpack[SelectionOptions],
) -> SelectionPath:
    """Select features by several criteria and weights of unique relevance.

    Parameters
    ----------
    {data}
    criteria : name, Criterion or list of them
        What to score candidates by: "mim", "mrmr", "jmi", "jmim", "cmim", "gsa", or an instance of your own class.
    betas : float or list of float
        Weights of unique relevance in ``(1 - beta) * J + beta * UR``; 0 is the plain criterion.
    sample_weight : array of shape (n_samples,), optional
        How many rows each row stands for, for estimators that count.
    {options}

    Returns
    -------
    SelectionPath
        One selection for each criterion and beta. The first features of a longer selection are those of a shorter one.

    See Also
    --------
    unique_relevance : What is boosted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import selection_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = selection_path(X, y, criteria=["mim", "jmi"], betas=[0, 0.1], n_features_to_select=2)
    >>> path.order("jmi", 0.1)
    array([2, 3])
    """
    chosen = complete(SelectionOptions, options, "selection_path")
    ends = end_of(chosen["max_seconds"])
    with until(ends + READING_SECONDS):
        table, sample_weight = open_table(X, y, part_of(ReadingOptions, chosen), sample_weight)
    one = isinstance(criteria, str | Criterion)
    named = [cast(str | Criterion, criteria)] if one else list(cast(Sequence[str | Criterion], criteria))
    weights = [float(betas)] if isinstance(betas, Real) else list(cast(Sequence[float], betas))
    with until(ends):
        return select(table, named, weights, chosen, sample_weight)
