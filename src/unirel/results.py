"""What the library returns: plain data that tables, plots, reports and files are made from."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.documents import Result as Result
from unirel.documents import Saved
from unirel.documents import plain as plain

_MOST_NAMES = 10  # in the text of a selection; `selected_names` has all


class Ending(StrEnum):
    """Why a search ended."""

    ASKED = "asked"  # it has what was asked for
    EXHAUSTED = "exhausted"  # fewer features were left than were asked for
    NOTHING_ADDS = "nothing adds"  # no candidate adds detectable information
    BUDGET = "budget used up"  # what is left of it is not enough for any other feature
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"  # by hand


class Cause(StrEnum):
    """What made a feature the best of its step: the first of these that is enough."""

    INCLUDED = "included"  # it was asked for
    CRITERION = "criterion"  # the criterion, without any boost
    REFERENCE = "reference"  # with its information given the reference features
    SELECTED = "selected"  # with its information given the features selected before it
    UNIQUE = "unique"  # with unique relevance of another kind
    UNKNOWN = "unknown"  # not all scores were looked at


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Result, Saved, drawn_by="SelectionDisplay", bars=("relevance", "unique_relevance")):
    """Features in the order in which a criterion selected them."""

    _kind = "selection"
    _listed = ("criterion", "beta", "complete", "ending", "reason", "n_supported")
    criterion: str  #: Name of the criterion.
    beta: float  #: Weight of unique relevance.
    order: NDArray[np.intp]  #: Positions of the selected features, first selected first.
    scores: NDArray[np.float64]  #: Score of each of them when it was selected.
    names: tuple[str, ...]  #: Names of all features.
    relevance: NDArray[np.float64]  #: I(Xk; y) of all features, of several targets a mean share; NaN for ignored ones.
    unique_relevance: NDArray[np.float64] | None  #: Of all features as boosted; None if nothing was boosted.
    ending: Ending  #: Why it ended.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Everything else that was asked for.
    causes: tuple[Cause, ...] = ()  #: What made each selected feature the best of its step, if that was noted.
    sample_weight: NDArray[np.float64] | None = None  #: Weights of the rows it was selected from.
    n_supported: int | None = None  #: The last step that adds detectable information to those before; None: not tested.
    #: The next features in order, listed but not selected, where the number of features was found automatically.
    following: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    same_as: Mapping[int, int] = field(default_factory=dict)  #: Features passed over as near copies, of which one.
    #: Of three classes or more the one that each selected feature tells most about, if that was counted; None: nothing.
    for_class: tuple[Any, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)  #: Several targets and their entropies in nats.
    #: I(Xk; target) of all features and each of several targets, of shape (n_features, n_targets), in nats.
    relevance_per_target: NDArray[np.float64] | None = None
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: Columns of each group, by its name.
    costs: NDArray[np.float64] | None = None  #: Cost of each selected feature, if costs were given.

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
        nothing = "no feature has detectable information about the target"
        if len(self):
            given = f"given the {len(self)} selected feature{'s' * (len(self) > 1)}"
            nothing = f"no other feature adds detectable information about the target {given}"
        reasons = {
            Ending.ASKED: f"{len(self)} features were asked for",
            Ending.EXHAUSTED: f"all {len(self)} features that were left are selected",
            Ending.NOTHING_ADDS: nothing,
            Ending.BUDGET: f"what is left of the budget is enough for no other feature; spent: {self.total_cost:g}",
            Ending.OUT_OF_TIME: f"the time budget of {self.settings.get('max_seconds') or 0:g} s was used up",
            Ending.INTERRUPTED: "interrupted",
        }
        unboosted = " before unique relevance was known; this is the order without boost"
        return reasons[self.ending] + (unboosted if self.lacks_boost and len(self) else "")

    @property
    def selected_names(self) -> list[str]:
        """Names of the selected features in order of selection."""
        return [self.names[feature] for feature in self.order]

    @property
    def columns(self) -> list[list[int]]:
        """Positions of the columns of each selected feature: one, or those of a group."""
        places = {name: place for place, name in enumerate(self.names)}
        groups = {places[name]: [places[name], *map(places.get, rest)] for name, (_, *rest) in self.members.items()}
        return [groups.get(feature, [feature]) for feature in self.order.tolist()]

    def over_columns(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of features, one for each column: those of a group have its value."""
        if not self.members:
            return values
        places, spread = {name: place for place, name in enumerate(self.names)}, values.copy()
        for name, columns in self.members.items():
            spread[[places[one] for one in columns[1:]]] = values[places[name]]
        return spread

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns; a group stands in `names` in the place of its first column."""
        return tuple(self.members[name][0] if name in self.members else name for name in self.names)

    @property
    def selected_columns(self) -> list[list[str]]:
        """Names of the columns of each selected feature."""
        return [list(self.members.get(name, [name])) for name in self.selected_names]

    @property
    def total_cost(self) -> float:
        """What the selected features cost together."""
        return 0.0 if self.costs is None else float(self.costs.sum())

    def report(self, X: Any, y: Any, **more: Any) -> Any:
        """A page about this selection, a `unirel.report.Report`.

        The features are selected again from the same data, with the same settings and weights of rows. `more` is as in
        `Report.from_data`, such as ``accuracy="knn"``.
        """
        return sys.modules["unirel"].report.Report.from_selection(self, X, y, **more)

    def __repr__(self) -> str:
        more = ", ..." * (len(self) > _MOST_NAMES)
        return f"Selection({self._caption}: {', '.join(map(repr, self.selected_names[:_MOST_NAMES]))}{more})"

    @property
    def _caption(self) -> str:
        mark = "" if self.complete else f" (incomplete: {self.reason})"
        supported = "" if self.n_supported is None else f"; {self._support}"
        n_features = len(self.names) - sum(len(one) - 1 for one in self.members.values())
        return f"{len(self)} of {n_features:,} features by {self.criterion}, beta {self.beta:g}{supported}{mark}"

    @property
    def _support(self) -> str:
        which = "all steps add" if self.n_supported else "no step adds"
        some = f"the first {self.n_supported} of {len(self)} steps add"
        return f"{which if self.n_supported in (0, len(self)) else some} detectable information"

    def _summary(self) -> dict[str, Any]:
        copies = {self.names[copy]: self.names[feature] for copy, feature in self.same_as.items()}
        more = {"following": [self.names[one] for one in self.following], "same_as": copies}
        return super()._summary() | more | ({"targets": self.targets} if self.targets else {})

    def _columns(self) -> dict[str, list[Any]]:
        unique = np.full(len(self.names), np.nan) if self.unique_relevance is None else self.unique_relevance
        per_target = () if self.relevance_per_target is None else self.relevance_per_target[self.order].T
        return {
            "step": list(range(1, len(self) + 1)),
            "feature": self.order.tolist(),
            "name": self.selected_names,
            "score": plain(self.scores),
            "relevance": plain(self.relevance[self.order]),
            "unique_relevance": plain(unique[self.order]),
            "supported": [None if self.n_supported is None else step < self.n_supported for step in range(len(self))],
            **({"for_class": list(self.for_class)} if self.for_class else {}),
            **{f"relevance_{name}": plain(one) for name, one in zip(self.targets, per_target, strict=True)},
            **({} if self.costs is None else {"cost": plain(self.costs), "total_cost": plain(self.costs.cumsum())}),
            **({"columns": self.selected_columns} if self.members else {}),
        }

    def _check_fields(self) -> None:
        n_features, places = len(self.names), np.concatenate([self.order, self.following])
        lengths = [len(self.scores) - len(self), len(self.relevance) - n_features, len(set(self.names)) - n_features]
        lengths += [len(one) - len(self) for one in (self.causes, self.for_class) if one]
        lengths += [] if self.costs is None else [len(self.costs) - len(self)]
        lengths += [] if self.unique_relevance is None else [len(self.unique_relevance) - n_features]
        lengths += [np.array(self.relevance_per_target).size - n_features * len(self.targets)] if self.targets else []
        outside = {*places.tolist(), *self.same_as, *self.same_as.values()}.difference(range(n_features))
        inside = [one for name, columns in self.members.items() for one in (name, *columns[1:])]
        lengths += [len(set(inside).intersection(self.names)) - len(inside), not all(self.members.values())]
        if any(lengths) or outside or len(set(places.tolist())) < len(places):
            raise ValueError("the fields of the selection do not belong together; it was changed")

    def _notebook(self) -> dict[str, list[Any]]:
        hidden = ["feature", "score"] + ["unique_relevance"] * (self.unique_relevance is None)
        hidden += ["supported"] * (self.n_supported is None)
        return {name: values for name, values in self._columns().items() if name not in hidden}


@dataclass(frozen=True, eq=False)
class SelectionPath(Result, drawn_by="BetaPathDisplay"):
    """Selections of several criteria and weights of unique relevance, from one set of estimates."""

    selections: tuple[Selection, ...]  #: One for each criterion and beta.

    def __iter__(self) -> Iterator[Selection]:
        return iter(self.selections)

    def __len__(self) -> int:
        return len(self.selections)

    @property
    def criteria(self) -> list[str]:
        """Names of the criteria."""
        return list(dict.fromkeys(one.criterion for one in self))

    @property
    def betas(self) -> list[float]:
        """Weights of unique relevance."""
        return list(dict.fromkeys(one.beta for one in self))

    def selection(self, criterion: str, beta: float) -> Selection:
        """The selection of one criterion and beta, which may differ by rounding."""
        for selection in self.selections:
            if selection.criterion in (criterion, criterion.lower()) and abs(selection.beta - beta) < 1e-9:
                return selection
        known = f"there are {self.criteria}, {self.betas}"
        raise KeyError(f"no selection for criterion={criterion!r}, beta={beta!r}; {known}")

    def order(self, criterion: str, beta: float) -> NDArray[np.intp]:
        """Positions of the features that one criterion selected with one beta, first selected first."""
        return self.selection(criterion, beta).order

    def to_dict(self) -> dict[str, Any]:
        return {"selections": [selection.to_dict() for selection in self.selections]}

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw how ranks change with the weight, see `unirel.plotting.BetaPathDisplay`; of one weight its selection."""
        return super().plot(ax, **options) if len(self.betas) > 1 else self.selections[0].plot(ax, **options)

    def report(self, X: Any, y: Any, **more: Any) -> Any:
        """A page about the first selection, see `Selection.report`."""
        return self.selections[0].report(X, y, **more)

    @property
    def _caption(self) -> str:
        return f"{len(self)} selections, their first features"

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for one in self.selections:
            columns.setdefault("criterion", []).extend([one.criterion] * len(one))
            columns.setdefault("beta", []).extend([one.beta] * len(one))
            for name, values in one._columns().items():
                columns.setdefault(name, []).extend(values)
        # One that was stopped early may lack what the others have.
        return {name: values for name, values in columns.items() if len(values) == len(columns["beta"])}

    def _notebook(self) -> dict[str, list[Any]]:
        shown = range(min(8, max(map(len, self.selections), default=0)))
        names = {str(step + 1): [(one.selected_names + [""] * 8)[step] for one in self] for step in shown}
        return {"criterion": [one.criterion for one in self], "beta": [f"{one.beta:g}" for one in self], **names}


@dataclass(frozen=True, eq=False, repr=False)
class Redundancy(Result, drawn_by="RedundancyDisplay", bars=("joint_information",)):
    """Which of the features that are selected until I(S; y) saturates are needed."""

    _listed: ClassVar[tuple[str, ...]] = ("rate", "joint_information", "reduced_information", "saturated", "unique")
    _listed += ("conditional", "redundant", "tolerance", "exact", "complete")
    order: NDArray[np.intp]  #: Positions of the features, first selected first.
    curve: NDArray[np.float64]  #: I(S; y) of the first feature, the first two, ..., neither clipped nor smoothed.
    saturated: NDArray[np.intp]  #: S_sat: the first features, until the curve saturates. It consists of the next three.
    unique: NDArray[np.intp]  #: Features of S_sat with unique relevance above 0.
    conditional: NDArray[np.intp]  #: Features of S_sat without, which are needed all the same.
    redundant: NDArray[np.intp]  #: S_red: the largest part of S_sat that can be removed, see `redundancy_analysis`.
    reduced_information: float  #: I(S_sat without S_red; y); removal may also raise the estimate.
    unique_relevance: NDArray[np.float64]  #: I(all features; y) - I(all others; y), raw; NaN for ignored features.
    names: tuple[str, ...]  #: Names of all features.
    tolerance: float  #: What counts as no change, in nats.
    exact: bool  #: Whether all subsets that could matter were searched; if not, `rate` is a lower bound.
    complete: bool  #: False if the analysis was interrupted.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Everything else that was asked for.

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

    @property
    def _caption(self) -> str:
        bound = "" if self.exact and self.complete else "at least "
        counts = f"{len(self.redundant)} of the first {len(self.saturated)} features are redundant"
        return f"{bound}{counts}: redundancy rate {bound}{self.rate:.0%}"

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
class RelevanceTest(Result, drawn_by="SignificanceDisplay", bars=("information",)):
    """Which features have information about a target that can be told from chance."""

    _listed = ("adjust", "complete", "given")
    information: NDArray[np.float64]  #: I(Xk; y), or I(Xk; y | given), in nats; NaN for ignored features.
    p_value: NDArray[np.float64]  #: Chance of at least that much without any relation to the target; NaN if not tested.
    adjusted: NDArray[np.float64]  #: The same for all features together, see `adjust`.
    n_permutations: NDArray[np.int64]  #: Behind each p-value; 0 for that of a chi-square distribution, or for none.
    names: tuple[str, ...]  #: Names of all features.
    given: tuple[str, ...]  #: Names of the columns that are conditioned on.
    #: What `adjusted` bounds: "fdr", the expected share of false discoveries, or "fwer", the chance of any.
    adjust: str
    complete: bool  #: False if the test was interrupted; p-values are valid all the same, from fewer permutations.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Everything else that was asked for.

    def significant(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Which features have an adjusted value up to `alpha`."""
        return np.asarray(self.adjusted <= alpha)

    @property
    def _caption(self) -> str:
        given = f", given={list(self.given)}" if self.given else ""
        mark = "" if self.complete else ", complete=False"
        n_tested = np.count_nonzero(~np.isnan(self.adjusted))
        return f"{np.count_nonzero(self.significant())} of {n_tested} significant at 0.05{given}{mark}"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "feature": list(range(len(self.names))),
            "name": list(self.names),
            **{name: plain(getattr(self, name)) for name in ("information", "p_value", "adjusted", "n_permutations")},
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
class Stability(Result, drawn_by="StabilityDisplay", bars=("frequency",)):
    """How often features are selected when the rows change."""

    names: tuple[str, ...]  #: Names of all features.
    selected: NDArray[np.bool_]  #: Which features every subsample selects, of shape (n_subsamples, n_features).
    frequency: NDArray[np.float64]  #: Share of the subsamples that select each feature.
    #: Mean place in the order of selection where it is selected, or mean `ranking_` without an order; NaN for neither.
    mean_rank: NDArray[np.float64]
    #: Index of Nogueira, Sechidis and Brown: 1 for equal selections, 0 for chance; NaN if all, or none, always are.
    index: float
    interval: tuple[float, float]  #: Of the index.
    confidence_level: float  #: That of the interval.
    exchangeable: tuple[ExchangeablePair, ...]  #: Pairs of which one is often selected but seldom both.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: What was asked for.

    def __repr__(self) -> str:
        return f"Stability({self.in_numbers}, exchangeable={len(self.exchangeable)})"

    @property
    def in_numbers(self) -> str:
        """The index, its interval and the number of subsamples."""
        low, high = self.interval
        return f"stability {self.index:.2f} ({low:.2f} to {high:.2f}) in {len(self.selected)} subsamples"

    _caption = in_numbers

    @property
    def order(self) -> NDArray[np.intp]:
        """Positions of all features, most often selected first; then by mean rank, then by position."""
        return np.lexsort([np.where(np.isnan(self.mean_rank), np.inf, self.mean_rank), -self.frequency])

    def _summary(self) -> dict[str, Any]:
        pairs = [(self.names[pair.one], self.names[pair.other], pair) for pair in self.exchangeable]
        return {
            **{name: getattr(self, name) for name in ("index", "interval", "confidence_level")},
            "n_subsamples": len(self.selected),
            "exchangeable": [{"names": [a, b], "either": pair.either, "both": pair.both} for a, b, pair in pairs],
        }

    def _columns(self) -> dict[str, list[Any]]:
        order = self.order
        return {
            "feature": order.tolist(),
            "name": [self.names[feature] for feature in order],
            "frequency": self.frequency[order].tolist(),
            "mean_rank": plain(self.mean_rank[order]),
        }
