"""What a search returns: plain data that tables, plots, reports and files are made from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.frames import make_frame

# The reason of a search that was stopped by hand begins with it.
INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False)
class Selection:
    """Features in the order in which a criterion selected them.

    Attributes
    ----------
    criterion : str
        Name of the criterion.
    beta : float
        Weight of unique relevance.
    order : ndarray of int
        Positions of the selected features, first selected first.
    scores : ndarray
        Score of each of them when it was selected.
    names : tuple of str
        Names of all features.
    relevance : ndarray of shape (n_features,)
        I(Xk; y) of all features; NaN for ignored ones.
    unique_relevance : ndarray of shape (n_features,) or None
        As boosted; None if nothing was boosted.
    complete : bool
        False if the search was stopped before it had what was asked for.
    reason : str
        Why it ended.
    settings : dict
        Everything else that was asked for.
    """

    criterion: str
    beta: float
    order: NDArray[np.intp]
    scores: NDArray[np.float64]
    names: tuple[str, ...]
    relevance: NDArray[np.float64]
    unique_relevance: NDArray[np.float64] | None
    complete: bool
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped by hand."""
        return self.reason.startswith(INTERRUPTED)

    @property
    def selected_names(self) -> list[str]:
        """Names of the selected features in order of selection."""
        return [self.names[feature] for feature in self.order]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        return {
            "criterion": self.criterion,
            "beta": self.beta,
            "complete": self.complete,
            "reason": self.reason,
            "features": [dict(zip(_ROW, row, strict=True)) for row in zip(*self._columns(), strict=True)],
            "settings": dict(self.settings),
        }

    def to_frame(self) -> Any:
        """One row per selected feature: step, position, name, score, relevance, unique relevance."""
        return make_frame(dict(zip(_ROW, self._columns(), strict=True)))

    def _columns(self) -> list[list[Any]]:
        unique = np.full(len(self.names), np.nan) if self.unique_relevance is None else self.unique_relevance
        return [
            list(range(1, len(self) + 1)),
            self.order.tolist(),
            self.selected_names,
            _plain(self.scores),
            _plain(self.relevance[self.order]),
            _plain(unique[self.order]),
        ]


_ROW = ("step", "feature", "name", "score", "relevance", "unique_relevance")


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """Selections of several criteria and weights of unique relevance, from one set of estimates.

    Attributes
    ----------
    selections : tuple of Selection
        One for each criterion and beta.
    """

    selections: tuple[Selection, ...]

    def __iter__(self) -> Iterator[Selection]:
        return iter(self.selections)

    def __len__(self) -> int:
        return len(self.selections)

    @property
    def criteria(self) -> list[str]:
        """Names of the criteria."""
        return list(dict.fromkeys(selection.criterion for selection in self.selections))

    @property
    def betas(self) -> list[float]:
        """Weights of unique relevance."""
        return list(dict.fromkeys(selection.beta for selection in self.selections))

    def selection(self, criterion: str, beta: float) -> Selection:
        """The selection of one criterion and beta."""
        for selection in self.selections:
            if selection.criterion == criterion and selection.beta == beta:
                return selection
        raise KeyError(
            f"no selection for criterion={criterion!r}, beta={beta!r}; there are {self.criteria}, {self.betas}"
        )

    def order(self, criterion: str, beta: float) -> NDArray[np.intp]:
        """Positions of the features that one criterion selected with one beta, first selected first."""
        return self.selection(criterion, beta).order

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON."""
        return {"selections": [selection.to_dict() for selection in self.selections]}

    def to_frame(self) -> Any:
        """One row per criterion, beta and selected feature."""
        columns: dict[str, list[Any]] = {"criterion": [], "beta": [], **{name: [] for name in _ROW}}
        for selection in self.selections:
            columns["criterion"] += [selection.criterion] * len(selection)
            columns["beta"] += [selection.beta] * len(selection)
            for name, values in zip(_ROW, selection._columns(), strict=True):
                columns[name] += values
        return make_frame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class Redundancy:
    """Which of the features that are selected until I(S; y) saturates are needed.

    Attributes
    ----------
    order : ndarray of int
        Positions of the features, first selected first.
    curve : ndarray
        I(S; y) of the first feature, the first two, and so on, as estimated: neither clipped nor smoothed.
    saturated : ndarray of int
        S_sat, the first features of `order`, up to the size at which the curve first comes within `tolerance` of its
        largest value. It consists of the next three, all in order of selection.
    unique : ndarray of int
        Features of S_sat with unique relevance above 0.
    conditional : ndarray of int
        Features of S_sat without, which are needed all the same.
    redundant : ndarray of int
        S_red, the largest part of S_sat that can go without lowering I(S_sat; y) by more than `tolerance`.
    reduced_information : float
        I(S_sat without S_red; y); above `joint_information` where removal raises the estimate.
    unique_relevance : ndarray of shape (n_features,)
        I(all features; y) - I(all others; y), raw; NaN for ignored features.
    names : tuple of str
        Names of all features.
    tolerance : float
        What counts as no change, in nats.
    exact : bool
        Whether all subsets that could matter were searched. If not, `redundant` and `rate` are lower bounds.
    complete : bool
        False if the analysis was interrupted.
    settings : dict
        Everything else that was asked for.
    """

    order: NDArray[np.intp]
    curve: NDArray[np.float64]
    saturated: NDArray[np.intp]
    unique: NDArray[np.intp]
    conditional: NDArray[np.intp]
    redundant: NDArray[np.intp]
    reduced_information: float
    unique_relevance: NDArray[np.float64]
    names: tuple[str, ...]
    tolerance: float
    exact: bool
    complete: bool
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{kind}={len(getattr(self, kind))}" for kind in ("unique", "conditional", "redundant"))
        marks = "".join(f", {mark}=False" for mark in ("exact", "complete") if not getattr(self, mark))
        return f"Redundancy(saturated={len(self.saturated)} of {len(self.order)}, {kinds}, rate={self.rate:.3g}{marks})"

    @property
    def rate(self) -> float:
        """Redundancy rate: the share of S_sat that is redundant."""
        return len(self.redundant) / len(self.saturated)

    @property
    def joint_information(self) -> float:
        """I(S_sat; y)."""
        return float(self.curve[len(self.saturated) - 1])

    @property
    def roles(self) -> list[str]:
        """What each feature of `order` is: unique, conditional, redundant or after saturation."""
        role = dict.fromkeys(self.order.tolist(), "after saturation")
        for kind in ("unique", "conditional", "redundant"):
            role.update(dict.fromkeys(getattr(self, kind).tolist(), kind))
        return list(role.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON."""
        columns = self._columns()
        return {
            "rate": self.rate,
            "joint_information": self.joint_information,
            "reduced_information": self.reduced_information,
            **{kind: getattr(self, kind).tolist() for kind in ("saturated", "unique", "conditional", "redundant")},
            "tolerance": self.tolerance,
            "exact": self.exact,
            "complete": self.complete,
            "features": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "settings": dict(self.settings),
        }

    def to_frame(self) -> Any:
        """One row per size: the feature that is added, I(S; y) with it, its unique relevance and its role."""
        return make_frame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "size": list(range(1, len(self.order) + 1)),
            "feature": self.order.tolist(),
            "name": [self.names[feature] for feature in self.order],
            "joint_information": self.curve.tolist(),
            "unique_relevance": _plain(self.unique_relevance[self.order]),
            "role": self.roles,
        }
