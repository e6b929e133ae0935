"""What is boosted: unique relevance of one kind or another, ready to be blended with the score of a criterion."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unirel.information.knn import Metric
from unirel.options import check_choice
from unirel.table import Table
from unirel.unique import METHODS, reference_information, stretch, unique_relevance_of
from unirel.work import Progress

Values = NDArray[np.float64]
Columns = NDArray[np.intp]

# Features of the unboosted run beside which the reference kind of unique relevance is taken.
REFERENCE_SIZE = 20


@dataclass(frozen=True)
class Boost:
    """Unique relevance of every column of a table.

    Attributes
    ----------
    values : ndarray
        One for each column; NaN where a column is no candidate.
    rescale : bool
        Bring the values to the spread of the criterion at every step. The kinds of the paper are used as they are.
    """

    values: Values
    rescale: bool = False

    def blend(self, scores: Values, candidates: Columns, beta: float) -> Values:
        """(1 - beta) J + beta UR of the candidates."""
        unique = self.values[candidates]
        if self.rescale:
            spread, own_spread = _spread(scores), _spread(unique)
            unique = unique * (spread / own_spread if spread > 0 and own_spread > 0 else 1.0)
        return (1.0 - beta) * scores + beta * unique


def _spread(values: Values) -> float:
    """Standard deviation; exactly 0 for equal values, whose mean may differ from them by rounding."""
    return float(np.std(values)) if np.ptp(values) > 0 else 0.0


@dataclass(frozen=True)
class BoostOptions:
    """How unique relevance is found.

    Attributes
    ----------
    kind : {"reference", "ksg", "classifier"} or array of shape (n_features,)
        The method of `unique_relevance`, or its values.
    classifier : {"rf", "knn", "svm", "logistic"} or scikit-learn estimator, optional
        What to train for "classifier".
    cv : int, splitter or "train"
        How its cross-entropy is taken.
    n_neighbors : int
        Neighbours for "ksg"; "reference" has its own number.
    metric : str
        Metric for "ksg"; "reference" takes it too unless it is "auto".
    """

    kind: Any = "reference"
    classifier: Any = None
    cv: Any = 5
    n_neighbors: int = 3
    metric: Metric = "auto"

    @property
    def needs_reference(self) -> bool:
        """Whether an unboosted run has to come first."""
        return isinstance(self.kind, str) and self.kind == "reference"


def find_boost(
    table: Table,
    options: BoostOptions,
    reference: Sequence[int] | None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Boost:
    """Find the unique relevance of all columns, shuffled copies of features included."""
    if not isinstance(options.kind, str):
        return Boost(_with_probes(table, _given_values(table, options.kind)))
    check_choice("unique_relevance", options.kind, METHODS)
    n_neighbors: int | Literal["auto"] = "auto" if options.needs_reference else options.n_neighbors
    unique = unique_relevance_of(
        table,
        options.kind,
        reference=reference,
        classifier=options.classifier,
        cv=options.cv,
        n_neighbors=n_neighbors,
        metric=options.metric,
        n_jobs=n_jobs,
        progress=progress,
    )
    if options.needs_reference:
        values = _with_probes(table, unique.values)
        probes = _probes(table)
        if len(probes) and reference is not None:
            information = reference_information(table, n_neighbors, options.metric, n_jobs)
            values[probes] = information.with_each(list(reference), probes).change
        return Boost(values, rescale=True)
    return Boost(
        _with_probes(table, np.maximum(unique.values, 0.0) if options.kind == "ksg" else stretch(unique.values))
    )


def _given_values(table: Table, values: Any) -> Values:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (table.n_features,):
        raise ValueError(
            f"unique_relevance has shape {array.shape}, but there are {table.n_features} features; pass one value each"
        )
    if not np.isfinite(array[table.features]).all():
        raise ValueError("unique_relevance has values that are not finite; replace NaN and infinity by numbers")
    return array


def _probes(table: Table) -> Columns:
    """Shuffled copies of the features in use, if the table has them."""
    if len(table.columns) == table.n_features + 1:
        return np.empty(0, np.intp)
    return table.features + table.n_features


def _with_probes(table: Table, values: Values) -> Values:
    """Values of all columns of the table; a shuffled copy tells nothing unique."""
    result = np.full(len(table.columns), np.nan)
    result[: table.n_features] = values
    result[_probes(table)] = 0.0
    return result
