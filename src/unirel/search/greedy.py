"""The one greedy loop: every criterion, plain or boosted by unique relevance, and all searches on one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from unirel._runtime import NO_DEADLINE, Deadline, OutOfTime, Progress, Stages, progress_of
from unirel.criteria import Criterion, make_criterion
from unirel.data.table import Table
from unirel.errors import check_beta, warn
from unirel.estimation.base import Columns, Memo, Values
from unirel.results import Cause, Ending, Selection, SelectionPath
from unirel.search.base import DEFAULT_N_FEATURES, SearchSettings
from unirel.search.boost import REFERENCE_SIZE, Blend, find_blend, find_kind, needs_reference
from unirel.search.stopping import Evidence

# Scores that differ by less than this, or less than this share, are a tie that rounding has broken: differences of
# estimates of about a nat come out as 1e-17 instead of 0.
_TIE = 1e-12
# Candidates with the best bounds that a lazy step brings up to date at a time.
_BATCH = 32
# Where there are more columns than this for each row, noise wins maxima, and only the most relevant are searched. The
# last of many thousands never win either, and would only take time.
_MANY, _FEW, _MOST = 10, 300, 5000


def select(
    table: Table,
    criteria: Sequence[str | Criterion],
    betas: Sequence[float],
    settings: SearchSettings,
    sample_weight: ArrayLike | None = None,
) -> SelectionPath:
    """One selection for each criterion and weight, fewer if interrupted, from one set of estimates."""
    chosen = [make_criterion(criterion) for criterion in criteria]
    if not chosen or len(betas) == 0:
        raise ValueError(f"criteria={list(criteria)!r}, betas={list(betas)!r}: name at least one of each")
    weights = [check_beta(beta) for beta in betas]
    selections: list[Selection] = []
    try:
        searches = Searches(table, settings, len(chosen) * len(weights), sample_weight)
        for criterion in chosen:
            selections += searches.run(criterion, weights)
            if searches.interrupted:
                break
    finally:
        table.close()
    return SelectionPath(tuple(selections))


def refuse_nothing(selection: Selection) -> None:
    """Refuse a selection that was stopped before it had anything."""
    if len(selection) == 0 and selection.interrupted:
        raise KeyboardInterrupt("interrupted before the first feature was selected")
    if len(selection) == 0 and not selection.complete:
        raise TimeoutError(f"no feature was selected: {selection.reason}; give more with max_seconds=")


def check_selection(selection: Selection, wanted: Any) -> None:
    """Refuse a selection that was stopped before it had anything, and warn of one that is empty or was stopped."""
    refuse_nothing(selection)
    if len(selection) == 0:
        best = "Pass a number of features to have the best of them all the same."
        warn(f"n_features_to_select={wanted!r} selects nothing: {selection.reason}. {best}", stacklevel=3)
    if selection.ending is Ending.OUT_OF_TIME:
        of_wanted = f" of {wanted}" if isinstance(wanted, Integral) else ""
        boost = ", and unique relevance is not boosted" if selection.lacks_boost else ""
        warn(
            f"the selection is incomplete: {selection.reason}; {len(selection)}{of_wanted} features were selected"
            f"{boost}. Fit again, with a larger max_seconds= or fewer features.",
            stacklevel=3,
        )


@dataclass(frozen=True)
class Limits:
    """When a search ends, and what it may choose from."""

    n_features: int  # features to select
    include: Sequence[int] = ()
    exclude: Sequence[int] = ()
    max_candidates: int | None = None  # search among the most relevant
    evidence: Evidence | None = None  # select only what is seen to add something, and stop where nothing is
    deadline: Deadline = NO_DEADLINE


class Searches:
    """Runs searches on one table with one set of estimates, one time budget and one progress bar for all of them."""

    def __init__(
        self, table: Table, settings: SearchSettings, n_searches: int, sample_weight: ArrayLike | None
    ) -> None:
        n_features, auto = _n_features(table, settings.n_features_to_select)
        self._settings = settings
        self._limits = Limits(
            n_features,
            _columns(table, settings.include, "include"),
            _columns(table, settings.exclude, "exclude"),
            _max_candidates(table, settings.max_candidates, 0 if auto else n_features),
            deadline=Deadline.after(settings.max_seconds),
        )
        _check_columns(table, self._limits)
        self._table = table
        self._memo = Memo(settings.estimator.on(table, sample_weight, settings.n_jobs))
        if auto:
            given = settings.alpha, settings.random_state, settings.n_jobs, sample_weight
            evidence = Evidence(table, _free_columns(table, self._limits), *given)
            self._limits = replace(self._limits, evidence=evidence)
        self._sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        self._kind = find_kind(settings)
        self._boosts: dict[Criterion | None, Blend] = {}
        self._plain: dict[Criterion, Selection] = {}  # what was found before there was a boost
        self._counter = Stages(progress_of(settings.verbose, "selecting"), n_features * n_searches)
        self.interrupted = False

    def run(self, criterion: Criterion, betas: Sequence[float]) -> list[Selection]:
        """One selection for each beta, fewer if interrupted; unique relevance is found once, and only if needed."""
        settings = self._settings.to_dict() | {"criterion": criterion.name}
        selections: list[Selection] = []
        for beta in betas:
            found = self._boost(criterion) if beta > 0 else None
            selection = found if isinstance(found, Selection) else self._search(criterion, beta, found)
            plain = self._plain.get(criterion) if beta > 0 else None
            if selection.ending is Ending.OUT_OF_TIME and plain is not None and len(plain) > len(selection):
                selection = self._without_boost(plain, selection.ending)
            known = settings | {"beta": beta}
            selections.append(replace(selection, beta=beta, settings=known, sample_weight=self._sample_weight))
            self.interrupted |= selection.interrupted
            if self.interrupted:
                break
        return selections

    def _search(self, criterion: Criterion, beta: float, boost: Blend | None) -> Selection:
        selection = search(self._memo, criterion, self._limits, beta=beta, boost=boost, progress=self._counter.step)
        try:
            self._counter.finish(self._limits.n_features)
        except KeyboardInterrupt:
            self.interrupted = True
        return selection

    def _boost(self, criterion: Criterion) -> Blend | Selection:
        """What is boosted or, if it was stopped before that was known, a selection without it, marked incomplete."""
        needs_run = needs_reference(self._kind)
        key = criterion if needs_run else None
        if key in self._boosts:
            return self._boosts[key]
        # With a time budget there must be something to return when it is used up; the estimates are used again.
        is_given = not isinstance(self._kind, BaseEstimator)
        wanted = 0 if is_given or not self._limits.deadline.is_finite else self._limits.n_features
        n_features = REFERENCE_SIZE if needs_run else wanted
        limits = replace(self._limits, n_features=n_features, include=(), evidence=None)
        reference = search(self._memo, criterion, limits)
        if not reference.complete:
            return self._without_boost(reference, reference.ending)
        self._plain[criterion] = reference
        try:
            with self._limits.deadline.applied():
                members = reference.order.tolist() if needs_run else None
                columns = np.array([*candidates_of(self._memo, self._limits), *self._limits.include], np.intp)
                boost = find_blend(self._table, self._kind, members, columns, self._settings, self._sample_weight)
        except KeyboardInterrupt:
            return self._without_boost(reference, Ending.INTERRUPTED)
        except OutOfTime:
            return self._without_boost(reference, Ending.OUT_OF_TIME)
        self._boosts[key] = boost
        return boost

    def _without_boost(self, selection: Selection, ending: Ending) -> Selection:
        """An unboosted selection in the place of a boosted one, forced features first."""
        known = dict(zip(selection.order.tolist(), selection.scores.tolist(), strict=True))
        order = list(dict.fromkeys([*self._limits.include, *known]))[: self._limits.n_features]
        scores = np.array([known.get(feature, np.nan) for feature in order])
        causes = tuple(Cause.CRITERION if feature in known else Cause.INCLUDED for feature in order)
        return replace(selection, order=np.array(order, np.intp), scores=scores, ending=ending, causes=causes)


class _Scores:
    """Scores of all candidates, brought up to date as features are selected."""

    def __init__(self, memo: Memo, criterion: Criterion, candidates: Columns) -> None:
        self._memo = memo
        self._criterion = criterion
        n_columns = len(memo.information.table.columns)
        self._relevance = np.full(n_columns, np.nan)
        self._relevance[candidates] = memo.relevance(candidates)
        self._folded = np.zeros(n_columns)
        self._n_folded = np.zeros(n_columns, np.intp)  # selected features whose terms are in, for every candidate

    @property
    def can_only_fall(self) -> bool:
        """Whether an old score is an upper bound of the new one."""
        return self._criterion.fold == "min" and type(self._criterion).score is Criterion.score

    def update(self, candidates: Columns, selected: Columns) -> None:
        """Fold in the terms that are missing."""
        if self._criterion.fold is None:
            return
        first = self._n_folded[candidates].min(initial=len(selected))
        if self._criterion.fold == "latest":
            first = max(len(selected) - 1, 0)
        for step in range(first, len(selected)):
            behind = candidates[self._n_folded[candidates] <= step]
            if len(behind):
                term = self._criterion.term(self._memo, behind, selected[: step + 1])
                self._folded[behind] = self._fold(self._folded[behind], term, step)
                self._n_folded[behind] = step + 1

    def up_to_date(self, candidates: Columns, n_selected: int) -> NDArray[np.bool_]:
        """Whether the score of each candidate knows all selected features."""
        return np.asarray((self._n_folded[candidates] == n_selected) | (self._criterion.fold is None))

    def of(self, candidates: Columns, n_selected: int) -> Values:
        """Scores as far as they are known; with nothing selected that is the relevance."""
        relevance = self._relevance[candidates]
        if self._criterion.fold is None or n_selected == 0:
            return relevance
        folded = self._folded[candidates]
        return self._criterion.score(relevance, folded / n_selected if self._criterion.fold == "mean" else folded)

    def _fold(self, before: Values, term: Values, step: int) -> Values:
        if step == 0 or self._criterion.fold == "latest":
            return term
        return np.minimum(before, term) if self._criterion.fold == "min" else before + term


class _Step(NamedTuple):
    """A feature that was selected."""

    feature: int
    score: float
    cause: Cause


def search(
    memo: Memo,
    criterion: Criterion,
    limits: Limits,
    *,
    beta: float = 0.0,
    boost: Blend | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Select features one by one, each time the one with the best score.

    Ties go to the lowest column index. What was selected before Ctrl-C or the end of the time is kept, and the
    selection is marked incomplete.
    """
    table, steps = memo.information.table, list[_Step]()
    try:
        with limits.deadline.applied():
            candidates = candidates_of(memo, limits)
            n_wanted = min(limits.n_features, len(candidates) + len(limits.include))
            for step in _steps(_Scores(memo, criterion, table.features), candidates, n_wanted, limits, beta, boost):
                steps.append(step)
                if progress is not None:
                    progress(len(steps), n_wanted)
        ending = Ending.EXHAUSTED if n_wanted < limits.n_features else Ending.ASKED
        if len(steps) < n_wanted:
            ending = Ending.NOTHING_ADDS
    except OutOfTime:
        ending = Ending.OUT_OF_TIME
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
    return Selection(
        criterion=criterion.name,
        beta=beta,
        order=np.array([step.feature for step in steps], np.intp),
        scores=np.array([step.score for step in steps], np.float64),
        names=table.names,
        relevance=table.one_per_feature(np.maximum(memo.known_relevance(table.features), 0.0)),
        unique_relevance=None if boost is None else boost.values[: table.n_features].copy(),
        ending=ending,
        causes=tuple(step.cause for step in steps),
    )


def candidates_of(memo: Memo, limits: Limits) -> Columns:
    """Columns that a search may choose in ascending order: of too many the most relevant, ties go to the lowest."""
    free, most = _free_columns(memo.information.table, limits), limits.max_candidates
    if most is None or len(free) <= most:
        return free
    return np.sort(free[np.argsort(-memo.relevance(free), kind="stable")[:most]])


def _free_columns(table: Table, limits: Limits) -> Columns:
    """Columns that are neither forced nor excluded."""
    return np.setdiff1d(table.features, [*limits.include, *limits.exclude])


def _steps(
    scores: _Scores, candidates: Columns, n_wanted: int, limits: Limits, beta: float, boost: Blend | None
) -> Iterator[_Step]:
    """Features one by one, until there are as many as are wanted or nothing adds anything."""
    selected = np.empty(0, np.intp)
    while len(selected) < n_wanted:
        if limits.deadline.has_passed:
            raise OutOfTime
        pool, allowed = np.setdiff1d(candidates, selected, assume_unique=True), None
        forced = len(selected) < len(limits.include)
        if forced:
            pool = np.array([limits.include[len(selected)]], np.intp)
        elif limits.evidence is not None:
            allowed = np.isin(pool, limits.evidence.adding(selected))
            if not allowed.any():
                return
        step = _best(scores, pool, selected, beta, boost, limits.deadline, allowed)
        selected = np.append(selected, step.feature)
        yield step._replace(cause=Cause.INCLUDED) if forced else step


def _best(
    scores: _Scores,
    pool: Columns,
    selected: Columns,
    beta: float,
    boost: Blend | None,
    deadline: Deadline,
    allowed: NDArray[np.bool_] | None,
) -> _Step:
    """The candidate with the best score, among those that are allowed."""
    boost = boost if beta > 0 else None
    # A spread over all candidates takes the scores of all candidates, so nothing can be left out then.
    lazy = scores.can_only_fall and (boost is None or not boost.rescale)
    scores.update(pool, selected[:1] if lazy else selected)
    while True:
        values = plain = scores.of(pool, len(selected))
        if boost is not None:
            values = boost.blend(plain, pool, selected, beta, allowed)
        # Others than the allowed ones still have their part in the spread that a boost is brought to.
        values = _among(values, allowed)
        behind = ~scores.up_to_date(pool, len(selected))
        tied = _reach(values, values[~behind].max(initial=-np.inf))
        promising = np.flatnonzero(behind & tied)
        if len(promising) == 0:
            place = int(np.flatnonzero(tied)[0])
            cause = Cause.CRITERION
            if boost is not None and not _is_best(_among(plain, allowed), place):
                known = _among(boost.without_stepwise(plain, pool, selected, beta), allowed)
                cause = Cause.SELECTED
                if behind.any() or not boost.rescale:
                    cause = Cause.UNKNOWN if behind.any() else Cause.UNIQUE
                elif boost.share < 1 and _is_best(known, place):
                    cause = Cause.REFERENCE
            return _Step(int(pool[place]), float(values[place]), cause)
        if deadline.has_passed:
            raise OutOfTime
        promising = promising[np.argsort(-values[promising], kind="stable")[:_BATCH]]
        scores.update(pool[promising], selected)


def _among(values: Values, allowed: NDArray[np.bool_] | None) -> Values:
    return values if allowed is None else np.where(allowed, values, -np.inf)


def _reach(values: Values, best: float) -> NDArray[np.bool_]:
    """Which values are as good as the best one, but for rounding."""
    return np.asarray(values >= best - _TIE * max(1.0, abs(best)))


def _is_best(values: Values, place: int) -> bool:
    """Whether nothing is better than the value at a position, but for rounding."""
    return bool(_reach(values, values.max())[place])


def _n_features(table: Table, wanted: Any) -> tuple[int, bool]:
    """How many features to select at most, and whether to stop where nothing adds anything."""
    n_features = len(table.features)
    if isinstance(wanted, str) and wanted in ("auto", "all"):
        return n_features, wanted == "auto"
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and int(wanted) >= 1:
        if int(wanted) > n_features and wanted != DEFAULT_N_FEATURES:
            # Only to name a number is no reason to end with an error, nor to say nothing.
            message = f"n_features_to_select={wanted}, but there are {n_features} features: all are selected"
            warn(message, stacklevel=4)
        return min(int(wanted), n_features), False
    if isinstance(wanted, Real) and not isinstance(wanted, Integral) and 0 < float(wanted) <= 1:
        return max(1, int(round(float(wanted) * n_features, 9))), False  # 0.29 of 100 is 29, not 28.999...
    raise ValueError(
        f"n_features_to_select={wanted!r} must be a whole number from 1 to {table.n_features} (the number of features),"
        " a share above 0 and up to 1.0, 'all' or 'auto'"
    )


def _max_candidates(table: Table, wanted: Any, n_features: int) -> int | None:
    """How many of the most relevant columns are searched, never fewer than are to be selected; None for all."""
    if wanted == "auto":
        wanted = _FEW if len(table.features) > _MANY * table.n_samples else _MOST
    return None if wanted is None else max(int(wanted), n_features)


def _columns(table: Table, columns: Sequence[int | str], parameter: str) -> list[int]:
    """Positions of named columns, each once; an ignored one cannot be included."""
    positions = table.positions(columns)
    for position in positions:
        if parameter == "include" and position not in table.features:
            raise ValueError(
                f"include names {table.names[position]!r}, which is ignored; say what it is with discrete_features="
            )
    return list(dict.fromkeys(positions))


def _check_columns(table: Table, limits: Limits) -> None:
    """Refuse features that are both included and excluded, too many of the first, or all of the second."""
    both = sorted(set(limits.include) & set(limits.exclude))
    if both:
        raise ValueError(f"{table.names[both[0]]!r} is in include and in exclude; choose one of them")
    if len(limits.include) > limits.n_features:
        raise ValueError(
            f"include names {len(limits.include)} features, but n_features_to_select={limits.n_features}; select more"
        )
    if len(np.setdiff1d(table.features, limits.exclude)) == 0:
        raise ValueError(f"no feature is left: exclude names all {len(limits.exclude)} of them")
