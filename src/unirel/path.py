"""Selections of several criteria along the weight of unique relevance, from one set of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from unirel.boost import REFERENCE_SIZE, Boost, BoostOptions, find_boost
from unirel.criteria import make_criterion
from unirel.criteria.base import Criterion
from unirel.information import make_information
from unirel.information.knn import Metric
from unirel.information.memo import Memo
from unirel.reading import Kinds
from unirel.results import INTERRUPTED, Selection, SelectionPath
from unirel.search import Limits, search
from unirel.table import Table
from unirel.work import Progress, ProgressBar, Stages

DEFAULT_BETAS = tuple(step / 10 for step in range(11))


@dataclass(frozen=True)
class SearchOptions:
    """What a search needs beside the table, the criterion and beta; the parameters of `selection_path`."""

    n_features_to_select: int | float | Literal["auto"] = 10
    unique_relevance: Any = "reference"
    classifier: Any = None
    cv: Any = 5
    estimator: str = "knn"
    n_neighbors: int = 3
    metric: Metric = "auto"
    n_bins: int | Literal["auto"] = "auto"
    correction: Literal["miller-madow"] | None = None
    include: Sequence[int | str] = ()
    exclude: Sequence[int | str] = ()
    max_seconds: float | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    progress: Progress | None = None

    def boost_options(self) -> BoostOptions:
        """How unique relevance is found."""
        return BoostOptions(self.unique_relevance, self.classifier, self.cv, self.n_neighbors, self.metric)


def selection_path(
    X: Any,
    y: Any,
    *,
    criteria: str | Criterion | Sequence[str | Criterion] = ("mim", "mrmr", "jmi", "jmim", "cmim"),
    betas: float | Sequence[float] = DEFAULT_BETAS,
    n_features_to_select: int | float | Literal["auto"] = 10,
    unique_relevance: Any = "reference",
    classifier: Any = None,
    cv: Any = 5,
    estimator: str = "knn",
    n_neighbors: int = 3,
    metric: Metric = "auto",
    n_bins: int | Literal["auto"] = "auto",
    correction: Literal["miller-madow"] | None = None,
    include: Sequence[int | str] = (),
    exclude: Sequence[int | str] = (),
    max_seconds: float | None = None,
    scale: Literal["standard", "rank"] | None = "standard",
    kinds: Kinds | None = None,
    target_kind: Literal["auto", "discrete", "continuous"] = "auto",
    missing: Literal["level", "error"] = "level",
    random_state: int | None = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    verbose: bool = False,
) -> SelectionPath:
    """Select features by several criteria and weights of unique relevance.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The features.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    criteria : name, Criterion or list of them
        What to score candidates by: "mim", "mrmr", "jmi", "jmim", "cmim", "gsa", or an instance of your own class.
    betas : float or list of float
        Weights of unique relevance in ``(1 - beta) * J + beta * UR``; 0 is the plain criterion.
    n_features_to_select : int, float or "auto"
        How many features, which share of them, or as many as beat shuffled copies of all candidates: "auto" stops at
        the first step that a shuffled copy would win. That doubles the candidates, and so about doubles the cost.
    unique_relevance : {"reference", "ksg", "classifier"} or array of shape (n_features,)
        The method of `unique_relevance`, or its values. "reference" takes it beside the first 20 features that the same
        criterion selects without boost, and brings it to the spread of the criterion at every step.
    classifier, cv
        As in `unique_relevance`, for method "classifier".
    estimator : {"knn", "plugin", "binned"}
        How mutual information is estimated.
    n_neighbors, metric, n_bins, correction, scale, kinds, target_kind, missing, n_jobs
        As in `mutual_information`.
    include : list of names or positions
        Features that are selected first, in this order.
    exclude : list of names or positions
        Features that are never selected.
    max_seconds : float, optional
        Time budget; what has been selected by then is kept, and marked incomplete.
    random_state : int, optional
        Seed of the shuffled copies; nothing else is random.
    progress : callable, optional
        Called as ``progress(done, total)`` after each selected feature.
    verbose : bool
        Draw a progress bar on standard error.

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
    array([3, 2])
    """
    table = Table.from_data(X, y, kinds=kinds, target_kind=target_kind, scale=scale, missing=missing)
    one_criterion = isinstance(criteria, str | Criterion)
    options = SearchOptions(
        n_features_to_select=n_features_to_select,
        unique_relevance=unique_relevance,
        classifier=classifier,
        cv=cv,
        estimator=estimator,
        n_neighbors=n_neighbors,
        metric=metric,
        n_bins=n_bins,
        correction=correction,
        include=include,
        exclude=exclude,
        max_seconds=max_seconds,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=ProgressBar("selecting") if verbose and progress is None else progress,
    )
    return run_path(
        table,
        [criteria] if one_criterion else list(criteria),  # type: ignore[list-item, arg-type]
        [float(betas)] if isinstance(betas, Real) else list(betas),  # type: ignore[arg-type]
        options,
    )


def run_path(
    table: Table, criteria: Sequence[str | Criterion], betas: Sequence[float], options: SearchOptions
) -> SelectionPath:
    """`selection_path` for a table that is read already."""
    chosen = [make_criterion(criterion) for criterion in criteria]
    if not chosen or len(betas) == 0:
        raise ValueError(f"criteria={list(criteria)!r}, betas={list(betas)!r}: name at least one of each")
    for beta in betas:
        if not isinstance(beta, Real) or not 0 <= float(beta) <= 1:
            raise ValueError(
                f"beta={beta!r} is out of range; it must be from 0 (no boost) to 1 (unique relevance alone)"
            )
    runner = _Runner(table, options, len(chosen) * len(betas))
    selections: list[Selection] = []
    for criterion in chosen:
        selections += runner.run(criterion, [float(beta) for beta in betas])
        if runner.stopped or selections[-1].interrupted:
            break
    return SelectionPath(tuple(selections))


class _Runner:
    """Runs searches on one table with one set of estimates, one time budget and one progress bar."""

    def __init__(self, table: Table, options: SearchOptions, n_searches: int) -> None:
        n_features, auto = _n_features(table, options.n_features_to_select)
        self._table = table.with_probes(options.random_state) if auto else table
        self._options = options
        self._include = _columns(table, options.include, "include")
        self._exclude = _columns(table, options.exclude, "exclude")
        self._check_columns(n_features)
        if options.max_seconds is not None and (
            not isinstance(options.max_seconds, Real) or not options.max_seconds >= 0
        ):
            raise ValueError(f"max_seconds={options.max_seconds!r} must be None or a number from 0 on")
        self._limits = Limits(n_features, options.max_seconds, probes=auto)
        self._memo = Memo(make_information(options.estimator, self._table, vars(options)))
        self.stopped = False  # by hand, between two searches
        self._boost: Boost | None = None  # of a kind that does not depend on the criterion
        self._counter = Stages(options.progress, n_features * n_searches)

    def run(self, criterion: Criterion, betas: Sequence[float]) -> list[Selection]:
        """One selection for each beta, fewer if interrupted; unique relevance is found once, and only if needed."""
        selections: list[Selection] = []
        boost: Boost | None = None
        for beta in betas:
            if beta > 0 and boost is None:
                found = self._find_boost(criterion)
                if isinstance(found, Selection):
                    selections.append(replace(found, beta=beta))
                    if found.interrupted:
                        break
                    continue
                boost = found
            selections.append(self._search(criterion, beta, boost if beta > 0 else None))
            if self.stopped or selections[-1].interrupted:
                break
        return [replace(selection, settings=_settings(self._options)) for selection in selections]

    def _search(self, criterion: Criterion, beta: float, boost: Boost | None) -> Selection:
        selection = search(
            self._memo,
            criterion,
            self._limits,
            beta=beta,
            boost=boost,
            include=self._include,
            exclude=self._exclude,
            progress=self._counter.step,
        )
        try:
            self._counter.finish(self._limits.n_features)
        except KeyboardInterrupt:
            self.stopped = True
        return selection

    def _find_boost(self, criterion: Criterion) -> Boost | Selection:
        """The boost or, if it was stopped before it was known, what there is without it, marked incomplete."""
        if self._boost is not None:
            return self._boost
        options = self._options.boost_options()
        limits = replace(self._limits, n_features=REFERENCE_SIZE if options.needs_reference else 0, probes=False)
        reference = search(self._memo, criterion, limits, exclude=self._exclude)
        if not reference.complete:
            return self._without_boost(reference, reference.reason)
        try:
            order = reference.order.tolist() if options.needs_reference else None
            boost = find_boost(self._table, options, order, n_jobs=self._options.n_jobs)
        except KeyboardInterrupt:
            return self._without_boost(reference, INTERRUPTED)
        self._boost = None if options.needs_reference else boost
        return boost

    def _without_boost(self, selection: Selection, reason: str) -> Selection:
        """An unboosted selection in place of a boosted one, forced features first."""
        known = dict(zip(selection.order.tolist(), selection.scores.tolist(), strict=True))
        order = list(dict.fromkeys([*self._include, *known]))[: self._limits.n_features]
        return replace(
            selection,
            order=np.array(order, np.intp),
            scores=np.array([known.get(feature, np.nan) for feature in order]),
            complete=False,
            reason=f"{reason} before unique relevance was known; this is the order without boost" if order else reason,
        )

    def _check_columns(self, n_features: int) -> None:
        both = sorted(set(self._include) & set(self._exclude))
        if both:
            raise ValueError(f"{self._table.names[both[0]]!r} is in include and in exclude; choose one of them")
        if len(self._include) > n_features:
            raise ValueError(
                f"include names {len(self._include)} features, but n_features_to_select={n_features}; select more"
            )
        left = np.setdiff1d(self._table.features, self._exclude)
        if len(left) == 0:
            raise ValueError(f"no feature is left: exclude names all {len(self._exclude)} of them")


def _n_features(table: Table, wanted: Any) -> tuple[int, bool]:
    """How many features to select at most, and whether to stop at a shuffled one."""
    n_features = len(table.features)
    if isinstance(wanted, str) and wanted == "auto":
        return n_features, True
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and 1 <= int(wanted) <= table.n_features:
        return min(int(wanted), n_features), False
    if isinstance(wanted, Real) and not isinstance(wanted, Integral) and 0 < float(wanted) <= 1:
        return max(1, int(round(float(wanted) * n_features, 9))), False  # 0.29 of 100 is 29, not 28.999...
    raise ValueError(
        f"n_features_to_select={wanted!r} must be a whole number from 1 to {table.n_features} (the number of features),"
        " a share above 0 and up to 1.0, or 'auto'"
    )


def _columns(table: Table, columns: Sequence[int | str], parameter: str) -> list[int]:
    """Positions of named columns, each once; an ignored one cannot be included."""
    positions = table.positions(columns)
    for position in positions:
        if parameter == "include" and position not in table.features:
            raise ValueError(f"include names {table.names[position]!r}, which is ignored; give it a kind with kinds=")
    return list(dict.fromkeys(positions))


def _settings(options: SearchOptions) -> dict[str, Any]:
    """Options that decide the result, as plain values."""
    settings: dict[str, Any] = {}
    for name, value in vars(options).items():
        if name in ("n_jobs", "progress"):
            continue
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if name == "unique_relevance" and not isinstance(plain, str):
            settings[name] = "given values"
        elif isinstance(plain, list | tuple):
            settings[name] = [one.item() if isinstance(one, np.generic) else one for one in plain]
        else:
            settings[name] = plain if plain is None or isinstance(plain, str | int | float) else repr(plain)
    return settings
