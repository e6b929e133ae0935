"""The one greedy loop: every criterion, plain or boosted by unique relevance."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unirel.boost import Boost
from unirel.criteria.base import Criterion
from unirel.information.memo import Memo
from unirel.results import INTERRUPTED, Selection
from unirel.work import Progress

Values = NDArray[np.float64]
Columns = NDArray[np.intp]

# Scores that differ by less than this share are a tie that rounding has broken.
_TIE = 1e-12
# Candidates with the best bounds that a lazy step brings up to date at a time.
_BATCH = 32


@dataclass(frozen=True)
class Limits:
    """When a search ends."""

    n_features: int  # features to select
    max_seconds: float | None = None
    probes: bool = False  # stop at the first step that a shuffled copy of a feature would win
    started: float = field(default_factory=time.monotonic)

    @property
    def out_of_time(self) -> bool:
        """Whether the time is used up."""
        return self.max_seconds is not None and time.monotonic() - self.started > self.max_seconds


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
        first = len(selected) - 1 if self._criterion.fold == "latest" else 0
        for step in range(max(first, 0), len(selected)):
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


class _OutOfTime(Exception):
    """The time was used up within a step."""


def search(
    memo: Memo,
    criterion: Criterion,
    limits: Limits,
    *,
    beta: float = 0.0,
    boost: Boost | None = None,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    progress: Progress | None = None,
) -> Selection:
    """Select features one by one, each time the one with the best score.

    Ties go to the lowest column index. What was selected before Ctrl-C or the end of the time is kept, and the
    selection is marked incomplete.
    """
    table = memo.information.table
    steps: list[tuple[int, float]] = []
    complete = False
    try:
        complete, reason = _search(memo, criterion, limits, beta, boost, include, exclude, progress, steps)
    except _OutOfTime:
        reason = f"the time budget of {limits.max_seconds:g} s was used up"
    except KeyboardInterrupt:
        reason = INTERRUPTED
    relevance = np.full(table.n_features, np.nan)
    relevance[table.features] = memo.known_relevance(table.features)
    return Selection(
        criterion=criterion.name,
        beta=beta,
        order=np.array([feature for feature, _ in steps], np.intp),
        scores=np.array([score for _, score in steps], np.float64),
        names=table.names,
        relevance=relevance,
        unique_relevance=None if boost is None else boost.values[: table.n_features].copy(),
        complete=complete,
        reason=reason,
    )


def _search(
    memo: Memo,
    criterion: Criterion,
    limits: Limits,
    beta: float,
    boost: Boost | None,
    include: Sequence[int],
    exclude: Sequence[int],
    progress: Progress | None,
    steps: list[tuple[int, float]],
) -> tuple[bool, str]:
    """Append steps until the search ends by itself; returns whether it is complete, and why it ended."""
    table = memo.information.table
    candidates = np.setdiff1d(table.features, [*include, *exclude])
    probes = candidates + table.n_features if limits.probes else np.empty(0, np.intp)
    scores = _Scores(memo, criterion, np.concatenate([table.features, probes]))
    n_wanted = min(limits.n_features, len(candidates) + len(include))
    while len(steps) < n_wanted:
        if limits.out_of_time:
            raise _OutOfTime
        selected = np.array([feature for feature, _ in steps], np.intp)
        forced = len(steps) < len(include)
        pool = np.concatenate([np.setdiff1d(candidates, selected), probes])
        if forced:
            pool = np.array([include[len(steps)]], np.intp)
        best, score = _best(scores, pool, selected, beta, boost, limits, table.n_features)
        if best >= table.n_features:
            return True, f"a shuffled feature scored best at step {len(steps) + 1}"
        steps.append((best, score))
        if progress is not None:
            progress(len(steps), n_wanted)
    if n_wanted < limits.n_features:
        return True, f"all {n_wanted} features that were left are selected"
    return True, f"{n_wanted} features were asked for"


def _best(
    scores: _Scores, pool: Columns, selected: Columns, beta: float, boost: Boost | None, limits: Limits, n_features: int
) -> tuple[int, float]:
    """The candidate with the best score, and the score."""
    # A spread over all candidates takes the scores of all candidates, so nothing can be left out then.
    boosted = boost is not None and beta > 0
    lazy = scores.can_only_fall and not (boosted and boost is not None and boost.rescale)
    scores.update(pool, selected[:1] if lazy else selected)
    while True:
        values = scores.of(pool, len(selected))
        if boosted and boost is not None:
            values = boost.blend(values, pool, beta)
        behind = ~scores.up_to_date(pool, len(selected))
        best = values[~behind].max(initial=-np.inf)
        tied = values >= best - _TIE * abs(best)
        promising = np.flatnonzero(behind & tied)
        if len(promising) == 0:
            # A feature must do better than shuffled ones, which stand behind all features.
            place = int(np.flatnonzero(tied)[-1 if limits.probes and pool[tied][-1] >= n_features else 0])
            return int(pool[place]), float(values[place])
        if limits.out_of_time:
            raise _OutOfTime
        promising = promising[np.argsort(-values[promising], kind="stable")[:_BATCH]]
        scores.update(pool[promising], selected)
