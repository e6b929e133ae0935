"""What the library returns: plain data that tables, plots, reports and files are made from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.frames import make_frame
from unirel.notebook import Cell, bars, join, paragraph, to_html


class Ending(StrEnum):
    """Why a search ended."""

    ASKED = "asked"  # it has what was asked for
    EXHAUSTED = "exhausted"  # fewer features were left than were asked for
    NOTHING_ADDS = "nothing adds"  # no candidate was seen to tell more than what is selected
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"  # by hand


class Cause(StrEnum):
    """What made a feature the best of its step: the first of these that is enough."""

    INCLUDED = "included"  # it was asked for
    CRITERION = "criterion"  # the criterion, without any boost
    REFERENCE = "reference"  # with what it tells beside the reference features
    SELECTED = "selected"  # with what it adds to the features selected before it
    UNIQUE = "unique"  # with unique relevance of another kind
    UNKNOWN = "unknown"  # not all scores were looked at


class Result:
    """A result with a row for each of some features: what its table, its file and its figure are made from.

    A subclass says what its columns are, and which Display of `unirel.plotting` draws it.
    """

    _drawn_by: ClassVar[str]

    def __init_subclass__(cls, drawn_by: str) -> None:
        cls._drawn_by = drawn_by

    def to_frame(self) -> Any:
        """One row per feature, as a frame of pandas, or of polars where there is no pandas."""
        return make_frame(self._columns())

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw it on matplotlib axes, or on a new figure, with the options of its Display, which is returned."""
        # Figures read results, so results only name them when somebody asks.
        return getattr(import_module("unirel.plotting"), self._drawn_by)(self).plot(ax, **options)

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def _rows(self) -> list[dict[str, Any]]:
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Result, drawn_by="SelectionDisplay"):
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
    ending : Ending
        Why it ended.
    settings : dict
        Everything else that was asked for.
    causes : tuple of Cause
        What made each selected feature the best of its step; empty if nobody noted it.
    """

    criterion: str
    beta: float
    order: NDArray[np.intp]
    scores: NDArray[np.float64]
    names: tuple[str, ...]
    relevance: NDArray[np.float64]
    unique_relevance: NDArray[np.float64] | None
    ending: Ending
    settings: Mapping[str, Any] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()

    def __len__(self) -> int:
        return len(self.order)

    @property
    def complete(self) -> bool:
        """Whether it has what was asked for, or all there is."""
        return self.ending not in (Ending.OUT_OF_TIME, Ending.INTERRUPTED)

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped by hand."""
        return self.ending is Ending.INTERRUPTED

    @property
    def lacks_boost(self) -> bool:
        """Whether it was stopped before unique relevance was known, so that nothing is boosted."""
        return self.beta > 0 and self.unique_relevance is None

    @property
    def reason(self) -> str:
        """Why it ended, in words."""
        reasons = {
            Ending.ASKED: f"{len(self)} features were asked for",
            Ending.EXHAUSTED: f"all {len(self)} features that were left are selected",
            Ending.NOTHING_ADDS: self._nothing_adds,
            Ending.OUT_OF_TIME: f"the time budget of {self.settings.get('max_seconds') or 0:g} s was used up",
            Ending.INTERRUPTED: "interrupted",
        }
        unboosted = " before unique relevance was known; this is the order without boost"
        return reasons[self.ending] + (unboosted if self.lacks_boost and len(self) else "")

    @property
    def _nothing_adds(self) -> str:
        """That nothing more is worth selecting, in words."""
        if len(self) == 0:
            return "no feature is seen to tell anything about the target"
        selected = "selected feature" + "s" * (len(self) > 1)
        return f"no other feature is seen to tell anything beside the {len(self)} {selected}"

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
            "ending": self.ending.value,
            "reason": self.reason,
            "features": self._rows(),
            "settings": dict(self.settings),
        }

    def report(self, X: Any, y: Any, **more: Any) -> Any:
        """A page about this selection: the features are selected again from the same data, with the same settings.

        Parameters
        ----------
        X, y : array or frame, array or series
            What was selected from.
        **more
            As in `unirel.report.Report.from_data`, such as ``accuracy="knn"``.

        Returns
        -------
        Report
            With `save(path)`.
        """
        # Readers of results stand above them, so they are named only when somebody asks.
        report = import_module("unirel.report").Report
        known = {name: value for name, value in self.settings.items() if name not in ("criterion", "beta")}
        return report.from_data(X, y, **{"criterion": self.criterion, "beta": self.beta, **known, **more})

    def _repr_html_(self) -> str:
        """A table with bars, as a notebook shows it."""
        known = self._columns()
        headers, columns = ["", "feature", "relevance (nats)"], [known["step"], known["name"], bars(known["relevance"])]
        if self.unique_relevance is not None:
            headers.append("unique relevance")
            columns.append(bars(known["unique_relevance"], strong=False))
        return to_html(self._caption, headers, list(zip(*columns, strict=True)))

    def __repr__(self) -> str:
        more = ", ..." * (len(self) > _MOST_NAMES)
        return f"Selection({self._caption}: {', '.join(map(repr, self.selected_names[:_MOST_NAMES]))}{more})"

    @property
    def _caption(self) -> str:
        mark = "" if self.complete else f" (incomplete: {self.reason})"
        return f"{len(self)} of {len(self.names):,} features by {self.criterion}, beta {self.beta:g}{mark}"

    def _columns(self) -> dict[str, list[Any]]:
        unique = np.full(len(self.names), np.nan) if self.unique_relevance is None else self.unique_relevance
        return {
            "step": list(range(1, len(self) + 1)),
            "feature": self.order.tolist(),
            "name": self.selected_names,
            "score": plain(self.scores),
            "relevance": plain(self.relevance[self.order]),
            "unique_relevance": plain(unique[self.order]),
        }


# Names that the text of a selection has; all are in `selected_names`.
_MOST_NAMES = 10


def plain(values: NDArray[np.float64]) -> list[float | None]:
    """Numbers as JSON has them: NaN is None."""
    return [None if np.isnan(value) else value for value in values.tolist()]


@dataclass(frozen=True, eq=False)
class SelectionPath(Result, drawn_by="BetaPathDisplay"):
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
            if selection.criterion in (criterion, criterion.lower()) and selection.beta == beta:
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

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw how ranks change with the weight, see `unirel.plotting.BetaPathDisplay`; of one weight its selection."""
        return super().plot(ax, **options) if len(self.betas) > 1 else self.selections[0].plot(ax, **options)

    def report(self, X: Any, y: Any, **more: Any) -> Any:
        """A page about the first selection, see `Selection.report`."""
        return self.selections[0].report(X, y, **more)

    def _repr_html_(self) -> str:
        """One row for each criterion and weight, as a notebook shows it."""
        longest = max(map(len, self.selections), default=0)
        shown = min(longest, 8)
        rows: list[list[Cell]] = [
            [one.criterion, f"{one.beta:g}", *(one.selected_names[:shown] + [""] * (shown - len(one)))] for one in self
        ]
        more = f", the first {shown} of {longest} features" if longest > shown else ""
        return to_html(f"{len(self)} selections{more}", ["criterion", "beta", *map(str, range(1, shown + 1))], rows)

    def _columns(self) -> dict[str, list[Any]]:
        """Those of all selections one after the other, with their criterion and beta."""
        columns: dict[str, list[Any]] = {}
        for one in self.selections:
            columns.setdefault("criterion", []).extend([one.criterion] * len(one))
            columns.setdefault("beta", []).extend([one.beta] * len(one))
            for name, values in one._columns().items():
                columns.setdefault(name, []).extend(values)
        return columns


@dataclass(frozen=True, eq=False, repr=False)
class Redundancy(Result, drawn_by="RedundancyDisplay"):
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
        return {
            "rate": self.rate,
            "joint_information": self.joint_information,
            "reduced_information": self.reduced_information,
            **{kind: getattr(self, kind).tolist() for kind in ("saturated", "unique", "conditional", "redundant")},
            "tolerance": self.tolerance,
            "exact": self.exact,
            "complete": self.complete,
            "features": self._rows(),
            "settings": dict(self.settings),
        }

    def _repr_html_(self) -> str:
        """A table with bars, as a notebook shows it."""
        columns = self._columns()
        rows = zip(columns["size"], columns["name"], columns["role"], bars(columns["joint_information"]), strict=True)
        bound = "" if self.exact and self.complete else "at least "
        said = f"{bound}{len(self.redundant)} of the first {len(self.saturated)} features can go"
        headers = ["", "feature", "role", "information so far (nats)"]
        return join([paragraph(said), to_html(f"redundancy rate {bound}{self.rate:.0%}", headers, list(rows))])

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "size": list(range(1, len(self.order) + 1)),
            "feature": self.order.tolist(),
            "name": [self.names[feature] for feature in self.order],
            "joint_information": self.curve.tolist(),
            "unique_relevance": plain(self.unique_relevance[self.order]),
            "role": self.roles,
        }


@dataclass(frozen=True, eq=False, repr=False)
class RelevanceTest(Result, drawn_by="SignificanceDisplay"):
    """Which features tell something about a target, beyond what chance would let them tell.

    Attributes
    ----------
    information : ndarray of shape (n_features,)
        I(Xk; y), or I(Xk; y | given), in nats; NaN for ignored features.
    p_value : ndarray of shape (n_features,)
        How likely a feature without any relation to the target tells at least that much; NaN where nothing is tested.
    adjusted : ndarray of shape (n_features,)
        The same for all features together, see `adjust`; NaN where nothing is tested.
    n_permutations : ndarray of int of shape (n_features,)
        Permutations behind each p-value; 0 where it is that of a chi-square distribution or nothing is tested.
    names : tuple of str
        Names of all features.
    given : tuple of str
        Names of the columns that are known.
    adjust : {"fdr", "fwer"}
        What calling all features with an adjusted value up to alpha significant bounds by alpha: the expected share of
        false discoveries among them, or the chance of any.
    complete : bool
        False if the test was interrupted; p-values are valid all the same, from fewer permutations.
    settings : dict
        Everything else that was asked for.
    """

    information: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    n_permutations: NDArray[np.int64]
    names: tuple[str, ...]
    given: tuple[str, ...]
    adjust: str
    complete: bool
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        beside = f", given={list(self.given)}" if self.given else ""
        mark = "" if self.complete else ", complete=False"
        n_tested = np.count_nonzero(~np.isnan(self.adjusted))
        return f"RelevanceTest({np.count_nonzero(self.significant())} of {n_tested} significant at 0.05{beside}{mark})"

    def significant(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Which features have an adjusted value up to `alpha`."""
        return np.asarray(self.adjusted <= alpha)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        return {
            "adjust": self.adjust,
            "complete": self.complete,
            "given": list(self.given),
            "features": self._rows(),
            "settings": dict(self.settings),
        }

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "feature": list(range(len(self.names))),
            "name": list(self.names),
            "information": plain(self.information),
            "p_value": plain(self.p_value),
            "adjusted": plain(self.adjusted),
            "n_permutations": self.n_permutations.tolist(),
        }


class Estimate(NamedTuple):
    """An estimate with an interval, of one quantity or of many."""

    value: Any  # as without an interval
    low: Any
    high: Any


class ExchangeablePair(NamedTuple):
    """Two features that stand in for each other."""

    one: int
    other: int
    either: float  # share of the subsamples that have at least one of them
    both: float  # share of the subsamples that have both


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Result, drawn_by="StabilityDisplay"):
    """How often features are selected when the rows change.

    Attributes
    ----------
    names : tuple of str
        Names of all features.
    selected : ndarray of bool, shape (n_subsamples, n_features)
        Which features every subsample selects.
    frequency : ndarray of shape (n_features,)
        Share of the subsamples that select each feature.
    mean_rank : ndarray of shape (n_features,)
        Mean place in the order of selection over the subsamples that select a feature; for a selector without an order
        the mean of its `ranking_`, and NaN where there is neither.
    index : float
        Stability index of Nogueira, Sechidis and Brown: 1 for equal selections, 0 for what chance would give; NaN if
        all features, or none, are always selected.
    interval : tuple of float
        Of the index.
    confidence_level : float
        That of the interval.
    exchangeable : tuple of ExchangeablePair
        Pairs of which one is often selected but seldom both, most often first.
    settings : dict
        What was asked for.
    """

    names: tuple[str, ...]
    selected: NDArray[np.bool_]
    frequency: NDArray[np.float64]
    mean_rank: NDArray[np.float64]
    index: float
    interval: tuple[float, float]
    confidence_level: float
    exchangeable: tuple[ExchangeablePair, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Stability({self.in_numbers}, exchangeable={len(self.exchangeable)})"

    @property
    def in_numbers(self) -> str:
        """The index, its interval and the number of subsamples."""
        low, high = self.interval
        return f"stability {self.index:.2f} ({low:.2f} to {high:.2f}) in {len(self.selected)} subsamples"

    @property
    def order(self) -> NDArray[np.intp]:
        """Positions of all features, most often selected first; then by mean rank, then by position."""
        return np.lexsort([np.where(np.isnan(self.mean_rank), np.inf, self.mean_rank), -self.frequency])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        return {
            "index": plain(np.array([self.index]))[0],
            "interval": plain(np.array(self.interval)),
            "confidence_level": self.confidence_level,
            "n_subsamples": len(self.selected),
            "features": self._rows(),
            "exchangeable": [
                {"names": [self.names[pair.one], self.names[pair.other]], "either": pair.either, "both": pair.both}
                for pair in self.exchangeable
            ],
            "settings": dict(self.settings),
        }

    def _columns(self) -> dict[str, list[Any]]:
        order = self.order
        return {
            "feature": order.tolist(),
            "name": [self.names[feature] for feature in order],
            "frequency": self.frequency[order].tolist(),
            "mean_rank": plain(self.mean_rank[order]),
        }
