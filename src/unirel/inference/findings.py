"""What is found out about a selection: how its features relate, what stands around it, how well it predicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.results import plain


@dataclass(frozen=True, eq=False)
class Analysis:
    """How the first features of a selection relate to each other and to the target.

    Attributes
    ----------
    names : tuple of str
        The features, first selected first.
    shared : ndarray of shape (n_compared, n_compared)
        Normalised mutual information of every two of the first features, from 0 to 1.
    joint_information : ndarray of shape (n_features,)
        I(first n features; target) for n = 1, 2, ...; NaN where it was not estimated, because it would take long.
    lost : ndarray of shape (n_features,)
        How much less all of them tell about the target without each one; NaN where it was not estimated. Below 0 the
        estimate is better without it.
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
    shared: NDArray[np.float64]
    joint_information: NDArray[np.float64]
    lost: NDArray[np.float64]
    entropy: float | None

    @property
    def together(self) -> tuple[int, float] | None:
        """The largest number of first features of which it is known what they tell together, and how much that is."""
        known = np.flatnonzero(np.isfinite(self.joint_information))
        return (int(known[-1]) + 1, float(self.joint_information[known[-1]])) if len(known) else None

    def partners(self, position: int, most: int = 3) -> list[tuple[str, float]]:
        """The features that share most with the one at a position of the selection, and how much."""
        if position >= len(self.shared):
            return []
        others = [other for other in range(len(self.shared)) if other != position]
        others.sort(key=lambda other: -self.shared[position, other])
        return [(self.names[other], float(self.shared[position, other])) for other in others[:most]]

    def closest_pair(self) -> tuple[int, int] | None:
        """Positions of the two features that share most."""
        if len(self.shared) < 2:
            return None
        pairs = np.triu(np.ones(self.shared.shape, bool), 1)
        first, second = np.unravel_index(int(np.argmax(np.where(pairs, self.shared, -1.0))), pairs.shape)
        return int(first), int(second)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        return {
            "names": list(self.names),
            "shared": self.shared.tolist(),
            "joint_information": plain(self.joint_information),
            "lost": plain(self.lost),
            "entropy": self.entropy,
        }


@dataclass(frozen=True, eq=False)
class RepeatedGroup:
    """Selected features every two of which share nearly everything, and features like them that were not selected."""

    members: tuple[int, ...]  # positions in the order of selection, first selected first
    best: int  # the one of them that tells most about the target by itself
    least: float  # what those two of the members share that share least, from 0 to 1
    # Features that were not selected and share nearly everything with one of the members; how much, at most.
    others: tuple[tuple[str, float], ...]
    # What all selected features tell about the target, and what is left of it if of the members only the best stays;
    # NaN where that was not estimated, or where there is one member only.
    together: float
    left: float


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What stands around a selection: features that repeat each other, and features that tell too much."""

    groups: tuple[RepeatedGroup, ...] = ()  # largest first
    # For features that were not selected but compared: the selected one that shares most with each, as its position in
    # the order of selection, and how much.
    partners: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    # The share of all there is to know about the target that a feature tells by itself. For a continuous target the
    # share of its variance that a Gaussian column would explain.
    told: Mapping[int, float] = field(default_factory=dict)
    numbered: tuple[int, ...] = ()  # selected features whose values are whole numbers, all different, like identifiers


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one feature tells, beside whom, and whom it could replace."""

    name: str
    relevance: float  # what it tells about the target by itself
    rank: int  # among all features by relevance, from 1 on
    step: int | None  # in which it was selected, from 1 on
    names: tuple[str, ...]  # the selected features beside it, first selected first
    shared: NDArray[np.float64]  # with each of them, from 0 to 1
    together: NDArray[np.float64]  # what it and each of them tell about the target
    alone: float  # what the selected features beside it tell
    with_all: float  # what they tell with it
    instead: NDArray[np.float64]  # what they tell with it instead of each of them
    entropy: float | None  # of the target, the most that can be told about it; None for a continuous target

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON."""
        rows = zip(self.names, self.shared.tolist(), self.together.tolist(), self.instead.tolist(), strict=True)
        return {
            **{
                key: getattr(self, key) for key in ("name", "relevance", "rank", "step", "alone", "with_all", "entropy")
            },
            "beside": [
                {"step": step, "name": name, "shared": shared, "together": together, "instead": instead}
                for step, (name, shared, together, instead) in enumerate(rows, start=1)
            ],
        }


def ordered_by_likeness(shared: NDArray[np.float64]) -> list[int]:
    """An order in which features that share much stand side by side, from what every two of them share."""
    if len(shared) < 3:
        return list(range(len(shared)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distances = squareform(np.clip(1 - (shared + shared.T) / 2, 0, 1), checks=False)
    leaves: list[int] = leaves_list(linkage(distances, "average", optimal_ordering=len(shared) <= 200)).tolist()
    return leaves


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Scores on rows that took no part in selecting features or in training.

    Attributes
    ----------
    method : str
        What predicts, in words.
    measure : {"accuracy", "R2"}
        Share of rows that are predicted correctly, or share of the variance of a continuous target that is explained.
    sizes : tuple of int
        Numbers of features.
    scores : ndarray of shape (n_folds, n_sizes)
        NaN where fewer features could be selected in a fold.
    all_features : ndarray of shape (n_folds,)
        Scores with all features.
    n_features : int
        How many these are.
    chance : float
        Score of always predicting the most frequent class or the mean.
    fewer_folds : str
        Why there are fewer folds than usual; empty if there are not.
    """

    method: str
    measure: str
    sizes: tuple[int, ...]
    scores: NDArray[np.float64]
    all_features: NDArray[np.float64]
    n_features: int
    chance: float
    fewer_folds: str = ""

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.scores)

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean over the folds for each number of features."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation over the folds for each number of features."""
        return np.asarray(self.scores.std(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON; sizes that some fold did not reach are left out."""
        rows = zip(self.sizes, self.means.tolist(), self.deviations.tolist(), strict=True)
        return {
            "method": self.method,
            "measure": self.measure,
            "n_folds": self.n_folds,
            "fewer_folds": self.fewer_folds,
            "curve": [{"n": n, "mean": mean, "deviation": deviation} for n, mean, deviation in rows if mean == mean],
            "n_features": self.n_features,
            "all_mean": float(self.all_features.mean()),
            "all_deviation": float(self.all_features.std()),
            "chance": self.chance,
        }
