"""Selections of several criteria along the weight of unique relevance, from one set of estimates."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, cast

from numpy.typing import ArrayLike

from unirel._runtime import READING_SECONDS, Deadline
from unirel.criteria import Criterion
from unirel.data.table import open_table
from unirel.results import SelectionPath
from unirel.search.greedy import select, settings_of

DEFAULT_BETAS = tuple(step / 10 for step in range(11))


def selection_path(
    X: Any,
    y: Any,
    *,
    selector: Any = None,
    criteria: str | Criterion | Sequence[str | Criterion] = ("mim", "mrmr", "jmi", "jmim", "cmim"),
    betas: float | Sequence[float] = DEFAULT_BETAS,
    sample_weight: ArrayLike | None = None,
) -> SelectionPath:
    """Select features by several criteria and weights of unique relevance.

    Parameters
    ----------
    X, y, sample_weight
        As in `BURSelector.fit`.
    selector : BURSelector, optional
        How features are selected, but for the criterion and beta; ``BURSelector()`` if it is not given.
    criteria : name, Criterion or list of them
        What to score candidates by.
    betas : float or list of float
        Weights of unique relevance in ``(1 - beta) * J + beta * UR``; 0 is the plain criterion.

    Returns
    -------
    SelectionPath
        One selection for each criterion and beta. The first features of a longer selection are those of a shorter one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, selection_path
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = BURSelector(n_features_to_select=2)
    >>> path = selection_path(X, y, selector=selector, criteria=["mim", "jmi"], betas=[0, 0.1])
    >>> path.order("jmi", 0.1)
    array([2, 3])
    """
    settings = settings_of(selector)
    deadline = Deadline.after(settings.max_seconds)
    with deadline.applied(READING_SECONDS):
        table, sample_weight = open_table(X, y, settings.discrete_features, settings.target_type, sample_weight)
    named = [criteria] if isinstance(criteria, str | Criterion) else list(criteria)
    weights = [float(betas)] if isinstance(betas, Real) else list(cast(Sequence[float], betas))
    with deadline.applied():
        return select(table, named, weights, settings, sample_weight)
