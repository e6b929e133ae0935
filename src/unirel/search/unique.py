"""Unique relevance: what a feature tells about the target that the other features do not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unirel._runtime import Progress
from unirel.data.table import Table
from unirel.errors import check_choice, check_whole_number, quietly, warn
from unirel.estimation.base import Changes, Columns, Information, Values
from unirel.estimation.gaussian import Gaussian
from unirel.estimation.intervals import interval_of_halves
from unirel.estimation.knn import KNN
from unirel.predictors import ClassifierLoss

Method = str | KNN | Gaussian | ClassifierLoss
UNIQUE_METHODS = ("ksg", "reference", "classifier", "gaussian")


class Unique(NamedTuple):
    """Unique relevance of every feature, NaN for ignored ones."""

    values: Values
    error: Values  # standard errors, NaN where the method has none


def find_method(method: Method) -> KNN | Gaussian | ClassifierLoss:
    """A method as it is, or that of a name with its defaults."""
    if isinstance(method, KNN | Gaussian | ClassifierLoss):
        return method
    check_choice("method", method, UNIQUE_METHODS)
    if method == "reference":
        return KNN().for_reference()
    return KNN() if method == "ksg" else Gaussian() if method == "gaussian" else ClassifierLoss()


def find_unique(
    table: Table,
    method: KNN | Gaussian | ClassifierLoss,
    reference: Sequence[int] | None = None,
    rows: Columns | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Unique:
    """Raw unique relevance, neither clipped nor normalised, given a reference set or all other features.

    Neighbours are looked for from some of the rows if they are given.
    """
    if isinstance(method, ClassifierLoss):
        losses = method.losses(table, n_jobs=n_jobs, progress=progress)
        return Unique(losses, np.full(table.n_features, np.nan))
    information, features = method.on(table, n_jobs=n_jobs), table.features
    if isinstance(information, Gaussian) or reference is None:
        changes = information.without_each(features, rows, progress)
        if isinstance(information, KNN):
            _warn_of_doubts(information, changes)
        return Unique(table.one_per_feature(-changes.change), table.one_per_feature(changes.error))
    members = np.array([feature for feature in dict.fromkeys(reference) if feature in features], np.intp)
    if len(members) == 0:
        raise ValueError(f"reference={list(reference)!r} names no usable column; name at least one")
    others = np.setdiff1d(features, members)
    unique, columns = information.given_reference(members, others, rows, progress), np.append(members, others)
    return Unique(table.one_per_feature(unique.change, columns), table.one_per_feature(unique.error, columns))


def unique_in_metric(information: Information) -> Values:
    """Raw unique relevance by an estimator with one metric for any block; 0 for constant features, NaN for ignored."""
    table = information.table
    unique = table.one_per_feature(0.0)
    varying = np.array([feature for feature in table.features if varies(table, feature)], np.intp)
    if len(varying):
        whole = information.subsets(varying[:0], varying, np.arange(len(varying))[None])[0]
        unique[varying] = whole - without_each_of(information, varying[:0], varying)
    return unique


def without_each_of(information: Information, always: Columns, columns: Columns) -> Values:
    """I(always and columns; target) without each of the columns, none of which is constant."""
    block = np.concatenate([always, columns])
    if len(block) >= 3:
        changes = information.without_each(block)
        return np.asarray(changes.before + changes.change[len(always) :])
    # Of fewer, a single discrete column may be left, which would be counted; subsets never are.
    positions = np.arange(len(columns))
    rests = np.array([np.delete(positions, position) for position in positions], np.intp)
    return information.subsets(always, columns, rests.reshape(len(columns), -1))


def varies(table: Table, column: int) -> bool:
    """Whether a column has two different values."""
    return bool(table.values[column].min() < table.values[column].max())


def _warn_of_doubts(information: KNN, changes: Changes) -> None:
    """Say that no feature adds anything to the others, or that all features tell less than one of them."""
    table, features = information.table, information.table.features
    relevance = information.relevance(features)
    best = int(np.argmax(relevance))
    if len(features) < 2:
        return
    if (changes.change >= 0).all():
        metric = "chebyshev" if table.classes is None else information.metric_of(features)
        remedy = "method='reference'" if table.classes is None or metric == "euclidean" else "metric='euclidean'"
        about = f"unique relevance is 0 for all {len(features)} features: in metric={metric!r} none adds to the others."
        warn(f"{about} Boosting it will do nothing; pass {remedy}.", stacklevel=4)
    if changes.before < relevance[best]:
        warn(
            f"what all {len(features)} features tell together is estimated as {changes.before:.3f} nats, less than "
            f"{table.names[features[best]]!r} tells alone ({relevance[best]:.3f}): not credible in that many dimensions"
            f" with that few rows ({table.n_samples}). Pass method='reference' or fewer features.",
            stacklevel=4,
        )


def intervals_of_unique(
    table: Table, method: Any, values: Values, reference: Sequence[int] | None, level: float
) -> tuple[Values, Values]:
    """Ends of intervals around unique relevance."""
    features = table.features
    members = None if reference is None else np.flatnonzero(np.isin(features, list(reference))).tolist()

    def estimate(part: Table) -> Values:
        with quietly():  # It has been said of all rows.
            return find_unique(part, method, members).values

    low, high = interval_of_halves(table, features, estimate, values[features], level, None)
    return table.one_per_feature(low), table.one_per_feature(high)


def choose_rows(n_samples: int, max_queries: int | None, random_state: int | None) -> Columns | None:
    """Some random rows in ascending order; None for all of them."""
    if max_queries is None or check_whole_number("max_queries", max_queries, 2) >= n_samples:
        return None
    chosen = np.random.default_rng(random_state).choice(n_samples, max_queries, replace=False)
    return np.sort(chosen)
