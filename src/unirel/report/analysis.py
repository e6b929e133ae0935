"""What the selected features have in common, and what they tell together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.information import make_information
from unirel.information.base import Information
from unirel.information.knn import KNN
from unirel.information.memo import Memo
from unirel.table import Table

Values = NDArray[np.float64]
Columns = NDArray[np.intp]

# Pairs of columns times rows, and squared rows times columns, up to which an answer takes seconds.
_PAIR_WORK = 7e6
_JOINT_WORK = 2e10


@dataclass(frozen=True, eq=False)
class Analysis:
    """How the first features of a selection relate to each other and to the target.

    Attributes
    ----------
    names : tuple of str
        The features, first selected first.
    shared : ndarray of shape (n_features, n_features)
        Normalised mutual information of every two of them, from 0 to 1.
    joint_information : ndarray
        I(first n features; target) for n = 1, 2, ...; it may be shorter than the selection, or empty.
    entropy : float or None
        Entropy of the target, the most that can be told about it; None for a continuous target.

    Notes
    -----
    Mutual information has no upper bound for continuous columns. It is normalised to ``sqrt(1 - exp(-2 I))``, which is
    the absolute correlation of two Gaussian columns [1]_, divided by the most it can be if one of them is discrete.

    References
    ----------
    .. [1] E. H. Linfoot (1957). An informational measure of correlation. Information and Control 1(1).
    """

    names: tuple[str, ...]
    shared: Values
    joint_information: Values
    entropy: float | None

    def partners(self, place: int, most: int = 3) -> list[tuple[str, float]]:
        """The features that share most with one of them, and how much; the place is that in the selection."""
        if place >= len(self.shared):
            return []
        others = [other for other in range(len(self.shared)) if other != place]
        others.sort(key=lambda other: -self.shared[place, other])
        return [(self.names[other], float(self.shared[place, other])) for other in others[:most]]

    def closest_pair(self) -> tuple[str, str, float] | None:
        """The two features that share most, and how much."""
        if len(self.shared) < 2:
            return None
        upper = np.triu(self.shared, 1)
        first, second = np.unravel_index(int(np.argmax(upper)), upper.shape)
        return self.names[first], self.names[second], float(upper[first, second])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON."""
        return {
            "names": list(self.names),
            "shared": self.shared.tolist(),
            "joint_information": self.joint_information.tolist(),
            "entropy": self.entropy,
        }


def rename(table: Table, names: Sequence[str]) -> Table:
    """The table with other names for its features."""
    return table.renamed(names)


def analyse(table: Table, order: Sequence[int] | Columns, options: dict[str, Any], *, curve: bool = True) -> Analysis:
    """Compare the selected features of a table, as many of the first as can be done in seconds.

    Parameters
    ----------
    table : Table
        What they were selected from.
    order : sequence of int
        Positions of the selected features, first selected first.
    options : dict
        ``estimator`` and the options of the estimator, as in `selection_path`.
    curve : bool
        Find what the first n tell together for every n; otherwise for all of them only.
    """
    columns = np.asarray(order, np.intp)
    information = make_information(str(options.get("estimator", "knn")), table, options)
    entropy = information.entropy(table.target) if table.discrete[table.target] else None
    names = tuple(table.names[column] for column in columns)
    return Analysis(names, _shared(information, columns), _joint(table, columns, options, curve), entropy)


def _shared(information: Information, columns: Columns) -> Values:
    """Normalised information of all pairs of the first columns."""
    pairs = _PAIR_WORK / information.table.n_samples
    columns = columns[: max(10, int((2 * pairs) ** 0.5))]
    memo = Memo(information)
    shared = np.eye(len(columns))
    for place in range(1, len(columns)):
        values = memo.pairwise(columns[:place], int(columns[place]))
        most = [_ceiling(information, int(other), int(columns[place])) for other in columns[:place]]
        shared[place, :place] = shared[:place, place] = normalise(values, np.array(most))
    return shared


def normalise(information: Values, ceiling: Values) -> Values:
    """Map nats to 0..1; the ceiling is the largest value possible, infinity for two continuous columns."""
    most = -np.expm1(-2 * ceiling)
    return np.sqrt(np.divide(-np.expm1(-2 * information), most, out=np.zeros_like(most), where=most > 0)).clip(0, 1)


def _ceiling(information: Information, a: int, b: int) -> float:
    """The lesser entropy of the discrete ones of two columns."""
    entropies = [information.entropy(column) for column in (a, b) if information.levels(column) is not None]
    return min(entropies, default=np.inf)


def _joint(table: Table, columns: Columns, options: dict[str, Any], curve: bool) -> Values:
    """What the first columns tell together, as far as it is cheap.

    By neighbours in one metric, whatever the estimator: counted, a few discrete columns tell every row apart and seem
    to tell everything.
    """
    information = KNN(table, n_neighbors=options.get("n_neighbors", 3), n_jobs=options.get("n_jobs"))
    metric = options.get("metric", "auto")
    chosen: Any = information.metric_of(columns) if metric == "auto" else metric
    information.metric = chosen
    work = np.cumsum(np.arange(1, len(columns) + 1)) * float(table.n_samples) ** 2
    if curve:
        prefixes = [columns[: n + 1] for n in np.flatnonzero(work <= _JOINT_WORK)]
    else:
        prefixes = [columns] if len(columns) and work[0] * len(columns) <= _JOINT_WORK else []
    target = [table.target]
    values = [information.bounded(information.mutual_information(block, target), block, target) for block in prefixes]
    return np.array(values, np.float64)
