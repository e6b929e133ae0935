"""The one greedy loop: every criterion, plain or boosted by unique relevance, and all searches on one table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from inspect import signature
from itertools import product
from numbers import Integral, Real
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from unirel._runtime import (
    READING_SECONDS,
    Deadline,
    OutOfTime,
    Parameters,
    Progress,
    check_beta,
    check_fraction,
    check_jobs,
    check_whole_number,
    no_progress,
    progress_of,
    warn,
)
from unirel.criteria import Criterion, MeanScores, Scores, make_criterion
from unirel.data.groups import check_groups, grouped
from unirel.data.naming import listed
from unirel.data.readers import DiscreteFeatures, TargetType
from unirel.data.row_groups import RowGroups, open_groups
from unirel.data.table import Table, open_table
from unirel.estimation.base import Columns, Information, Memo
from unirel.estimation.binned import classes_told
from unirel.estimation.grouped import for_groups, takes_blocks
from unirel.estimation.several import Memos, for_each_target
from unirel.results import Cause, Ending, Selection, SelectionPath, plain
from unirel.search.boost import REFERENCE_SIZE, Blend, estimator_of, find_blend, find_kind, needs_reference
from unirel.search.costs import Costs, find_costs
from unirel.search.steps import N_LISTED, PLAIN, Blended, Passed, Rule, Step, take_steps
from unirel.search.stopping import Evidence, can_be_tested

DEFAULT_BETAS = tuple(step / 10 for step in range(11))
_N_FEATURES = N_LISTED  # that many are selected if nobody says how many, and fewer of fewer without a word
# Where there are more columns than this for each row, noise wins maxima, and only the most relevant are searched. The
# last of many thousands never win either, and would only take time.
_MANY, _FEW, _MOST = 10, 300, 5000


@dataclass(eq=False, repr=False)
class SearchSettings(Parameters):
    """What a search is asked for: the parameters of `BURSelector`, which is one of these and describes them."""

    criterion: str | Criterion = "cmim"
    n_features_to_select: int | float | Literal["auto", "all"] = _N_FEATURES
    _: KW_ONLY
    beta: float = 0.5
    unique_relevance: Any = "both"
    mi_estimator: str | Information = "auto"
    discrete_features: DiscreteFeatures = "auto"
    target_type: TargetType = "auto"
    include: Sequence[int | str] = ()
    exclude: Sequence[int | str] = ()
    groups: Mapping[str, Any] | None = None
    costs: Mapping[Any, float] | Costs | None = None
    max_candidates: int | Literal["auto"] | None = "auto"
    keep_copies: bool = False
    alpha: float = 0.05
    max_seconds: float | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    verbose: bool = False

    def settings(self) -> Self:
        """Itself, if no parameter is wrong; the number of features and names are checked with the table."""
        make_criterion(self.criterion)
        check_beta(self.beta)
        find_kind(self)
        estimator_of(self).check_parameters()
        if self.groups is not None:
            check_groups(self.groups)
        if self.costs is not None:
            find_costs(self.costs)
        if self.max_candidates is not None and self.max_candidates != "auto":
            check_whole_number("max_candidates", self.max_candidates, 1, or_name="auto")
        check_fraction("alpha", self.alpha, "for example 0.05")
        if self.max_seconds is not None and (not isinstance(self.max_seconds, Real) or not self.max_seconds >= 0):
            raise ValueError(f"max_seconds={self.max_seconds!r} must be None or a number from 0 on")
        if self.random_state is not None:
            check_whole_number("random_state", self.random_state, 0)
        check_jobs(self.n_jobs)
        return self


def settings_of(selector: Any) -> SearchSettings:
    """A `BURSelector`, checked, as the settings of a search; the defaults if there is none."""
    if selector is None:
        return SearchSettings()
    if not isinstance(selector, SearchSettings):
        raise TypeError(f"selector={selector!r} is no BURSelector; pass one with the parameters of the search")
    return selector.settings()


def described(settings: SearchSettings) -> dict[str, Any]:
    """What decides the result, as plain values that JSON can hold."""
    names = [name for name in signature(SearchSettings).parameters if name not in ("n_jobs", "verbose")]
    known = {name: plain(getattr(settings, name)) for name in names}
    if isinstance(known["unique_relevance"], list):
        known["unique_relevance"] = "given values"
    if settings.groups:
        known["groups"] = {name: plain(listed(columns)) for name, columns in settings.groups.items()}
    if isinstance(settings.costs, Mapping):
        known["costs"] = dict(settings.costs)  # whose keys may be positions
    return known


def selection_path(
    X: Any,
    y: Any,
    *,
    selector: Any = None,
    criteria: str | Criterion | Sequence[str | Criterion] = ("mim", "mrmr", "jmi", "jmim", "cmim"),
    betas: float | Sequence[float] = DEFAULT_BETAS,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
) -> SelectionPath:
    """Select features by several criteria and weights of unique relevance.

    Parameters
    ----------
    X, y, sample_weight, groups
        As in `BURSelector.fit`.
    selector : BURSelector, optional
        How features are selected, but for the criterion and beta; ``BURSelector()`` if it is not given.
    criteria : name, Criterion or list of them
        What to score candidates by.
    betas : float or list of float
        Weights of unique relevance in ``(1 - beta) * J + beta * UR``; 0 is the plain criterion.

    Returns
    -------
    SelectionPath
        One selection for each criterion and beta. The first features of a longer selection are those of a shorter one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, selection_path
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = BURSelector(n_features_to_select=2)
    >>> path = selection_path(X, y, selector=selector, criteria=["mim", "jmi"], betas=[0, 0.1])
    >>> path.order("jmi", 0.1)
    array([2, 3])
    """
    settings = settings_of(selector)
    deadline = Deadline.after(settings.max_seconds)
    with deadline.applied(READING_SECONDS):
        table, sample_weight = open_table(
            X, y, settings.discrete_features, settings.target_type, sample_weight, several=True
        )
    named = [criteria] if isinstance(criteria, str | Criterion) else list(criteria)
    weights = [float(betas)] if isinstance(betas, Real) else list(cast(Sequence[float], betas))
    with deadline.applied():
        return select(table, named, weights, settings, sample_weight, groups)


def select(
    table: Table,
    criteria: Sequence[str | Criterion],
    betas: Sequence[float],
    settings: SearchSettings,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
) -> SelectionPath:
    """One selection for each criterion and weight, fewer if interrupted, from one set of estimates."""
    runs = list(product(map(make_criterion, criteria), map(check_beta, betas)))
    if not runs:
        raise ValueError(f"criteria={list(criteria)!r}, betas={list(betas)!r}: name at least one of each")
    deadline, selections = Deadline.after(settings.max_seconds), list[Selection]()
    table = with_groups(table, settings, betas)
    try:
        together = None if groups is None else open_groups(groups)
        searches = Searches(table, settings, len(runs), sample_weight, together)
        with deadline.applied():
            for criterion, beta in runs:
                selections.append(searches.run(criterion, beta))
                if searches.interrupted:
                    break
    finally:
        table.close()
    return SelectionPath(tuple(selections))


def with_groups(table: Table, settings: SearchSettings, betas: Sequence[float]) -> Table:
    """The table with the groups of the settings, whose joint levels may be many where nothing counts them."""
    if settings.groups is None:
        return table
    lenient = not any(betas) and takes_blocks(estimator_of(settings))
    return grouped(table, settings.groups, lenient)


def refuse_nothing(selection: Selection) -> None:
    if len(selection) == 0 and selection.interrupted:
        raise KeyboardInterrupt("interrupted before the first feature was selected")
    if len(selection) == 0 and not selection.complete:
        raise TimeoutError(f"no feature was selected: {selection.reason}; give more with max_seconds=")


def check_selection(selection: Selection, wanted: Any) -> None:
    """Refuse a selection that was stopped before it had anything, and warn of one that is empty or was stopped."""
    refuse_nothing(selection)
    if len(selection) == 0:
        best = "Pass a number of features to have the best of them all the same."
        warn(f"n_features_to_select={wanted!r} selects nothing: {selection.reason}. {best}")
    if selection.ending is Ending.OUT_OF_TIME:
        of_wanted = f" of {wanted}" if isinstance(wanted, Integral) else ""
        boost = ", and unique relevance is not boosted" if selection.lacks_boost else ""
        found = f"{len(selection)}{of_wanted} features were selected{boost}"
        remedy = "Fit again, with a larger max_seconds= or fewer features."
        warn(f"the selection is incomplete: {selection.reason}; {found}. {remedy}")


@dataclass(frozen=True)
class Limits:
    """When a search ends, and what it may choose from."""

    n_features: int  # features to select
    include: Sequence[int] = ()
    exclude: Sequence[int] = ()
    max_candidates: int | None = None  # search among the most relevant
    rule: Rule = PLAIN  # what is tested and passed over

    @classmethod
    def of(cls, table: Table, settings: SearchSettings) -> Self:
        """What the settings mean for a table; what cannot be is refused."""
        n_features = _n_features(table, settings.n_features_to_select)
        include, exclude = table.forced(settings.include, settings.exclude)
        for position in include:
            if position not in table.features:
                about = f"include names {table.names[position]!r}, which is ignored"
                raise ValueError(f"{about}; say what it is with discrete_features=")
            if position in exclude:
                raise ValueError(f"{table.names[position]!r} is in include and in exclude; choose one of them")
        if len(include) > n_features:
            about = f"include names {len(include)} features, but n_features_to_select={n_features}"
            raise ValueError(f"{about}; select more")
        if len(np.setdiff1d(table.features, exclude)) == 0:
            raise ValueError(f"no feature is left: exclude names all {len(exclude)} of them")
        most: Any = settings.max_candidates
        if most == "auto":
            most = _FEW if len(table.features) > _MANY * table.n_samples else _MOST
        if most is not None and not _is_auto(settings.n_features_to_select):
            most = max(int(most), n_features)
        return cls(n_features, include, exclude, most)

    def free_columns(self, table: Table) -> Columns:
        return np.setdiff1d(table.features, [*self.include, *self.exclude])


class Searches:
    """Runs searches on one table with one set of estimates, one time budget and one progress bar for all of them."""

    def __init__(
        self,
        table: Table,
        settings: SearchSettings,
        n_runs: int,
        sample_weight: ArrayLike | None,
        groups: RowGroups | None = None,
    ) -> None:
        self._table, self._settings = table, settings
        stops = _is_auto(settings.n_features_to_select)
        tests = groups is None or can_be_tested(groups, table, stops)
        self._limits = Limits.of(table, settings)
        estimator = estimator_of(settings)
        estimator = for_groups(estimator, table) if table.members else estimator
        estimator = estimator.on(table, sample_weight, settings.n_jobs)
        self._memo = Memo(estimator) if table.n_targets == 1 else Memos(for_each_target(estimator))
        columns = np.append(self._limits.free_columns(table), np.array(self._limits.include, np.intp))
        evidence = Evidence(table, columns, settings.alpha, settings.random_state, sample_weight, groups)
        costs = None if settings.costs is None else find_costs(settings.costs)
        prices = None if costs is None else costs.on(table, self._limits.include)
        rule = Rule(evidence, settings.keep_copies, tests, stops, prices)
        self._limits = replace(self._limits, rule=rule)
        self._sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        self._kind = find_kind(settings)
        self._boosts: dict[Criterion | None, Blend] = {}
        self._plain: dict[Criterion, Selection] = {}  # what was found before there was a boost
        self._progress = progress_of(settings.verbose, "selecting")
        self._n_wanted, self._n_done = self._limits.n_features * n_runs, 0  # steps of all searches
        self.interrupted = False

    def run(self, criterion: Criterion, beta: float) -> Selection:
        """One selection; unique relevance is found once for all of them, and only if needed."""
        found = self._boost(criterion) if beta > 0 else None
        selection = found if isinstance(found, Selection) else self._search(criterion, beta, found)
        plain = self._plain.get(criterion) if beta > 0 else None
        if selection.ending is Ending.OUT_OF_TIME and plain is not None and len(plain) > len(selection):
            selection = self._without_boost(plain, selection.ending)
        self.interrupted |= selection.interrupted
        known = described(self._settings) | {"criterion": criterion.name, "beta": beta}
        one = selection.complete and not isinstance(self._memo, Memos)
        told = classes_told(self._memo.information, selection.order) if one else ()
        return replace(selection, beta=beta, settings=known, sample_weight=self._sample_weight, for_class=told)

    def _search(self, criterion: Criterion, beta: float, boost: Blend | None) -> Selection:
        # Of many searches at once it would take too long to test all steps: only those of the first are.
        rule = self._limits.rule
        rule = rule._replace(tests=rule.tests and (rule.stops or self._n_done == 0))
        limits = replace(self._limits, rule=rule)
        selection = search(self._memo, criterion, limits, beta=beta, boost=boost, progress=self._report)
        self._n_done += self._limits.n_features  # even if it has ended early
        try:
            self._report(0)
        except KeyboardInterrupt:
            self.interrupted = True
        return selection

    def _report(self, n_selected: int, _: int = 0) -> None:
        self._progress(min(self._n_done + n_selected, self._n_wanted), self._n_wanted)

    def _boost(self, criterion: Criterion) -> Blend | Selection:
        """What is boosted or, if it was stopped before that was known, a selection without it, marked incomplete."""
        needs_run = needs_reference(self._kind)
        key = criterion if needs_run else None
        if key in self._boosts:
            return self._boosts[key]
        # With a time budget there must be something to return when it is used up; the estimates are used again.
        is_given = not isinstance(self._kind, Parameters)
        wanted = 0 if is_given or Deadline.after(None).ends == np.inf else self._limits.n_features
        n_features = REFERENCE_SIZE if needs_run else wanted
        limits = replace(self._limits, n_features=n_features, include=(), rule=PLAIN)
        reference = search(self._memo, criterion, limits)
        if not reference.complete:
            return self._without_boost(reference, reference.ending)
        self._plain[criterion] = reference
        try:
            members = reference.order.tolist() if needs_run else None
            columns = np.array([*candidates_of(self._memo, self._limits), *self._limits.include], np.intp)
            boost = self._find_blend(members, columns)
        except KeyboardInterrupt:
            return self._without_boost(reference, Ending.INTERRUPTED)
        except OutOfTime:
            return self._without_boost(reference, Ending.OUT_OF_TIME)
        self._boosts[key] = boost
        return boost

    def _find_blend(self, members: Sequence[int] | None, columns: Columns) -> Blend:
        more = self._kind, members, columns, self._settings, self._sample_weight
        if isinstance(self._memo, Memos) and isinstance(self._kind, Parameters):  # given values have no target
            return Blend.mean([find_blend(one, *more) for one in self._table.each_target()], self._memo.entropies)
        return find_blend(self._table, *more)

    def _without_boost(self, selection: Selection, ending: Ending) -> Selection:
        """An unboosted selection in the place of a boosted one, forced features first."""
        known = dict(zip(selection.order.tolist(), selection.scores.tolist(), strict=True))
        order, prices = list(dict.fromkeys([*self._limits.include, *known])), self._limits.rule.prices
        order = (order if prices is None else prices.within(order))[: self._limits.n_features]
        scores = np.array([known.get(feature, np.nan) for feature in order])
        causes = tuple(Cause.CRITERION if feature in known else Cause.INCLUDED for feature in order)
        costs = None if prices is None else prices.costs[order]
        places = np.array(order, np.intp)
        return replace(selection, order=places, scores=scores, ending=ending, causes=causes, costs=costs)


def search(
    memo: Memo | Memos,
    criterion: Criterion,
    limits: Limits,
    *,
    beta: float = 0.0,
    boost: Blend | None = None,
    progress: Progress = no_progress,
) -> Selection:
    """Select features one by one, each time the one with the best score; ties go to the lowest column."""
    # What was selected before Ctrl-C or the end of the time is kept, and the selection is marked incomplete.
    table, steps = memo.information.table, list[Step]()
    passed, several = Passed(), memo if isinstance(memo, Memos) else None
    try:
        candidates = candidates_of(memo, limits)
        n_wanted = min(limits.n_features, len(candidates) + len(limits.include))
        scores = (Scores if several is None else MeanScores)(memo, criterion, table.features)  # type: ignore[arg-type]
        for step in take_steps(scores, candidates, n_wanted, limits.include, Blended(beta, boost), limits.rule, passed):
            steps.append(step)
            progress(len(steps), n_wanted)
        ending = Ending.EXHAUSTED if n_wanted < limits.n_features else Ending.ASKED
        if len(steps) < n_wanted:
            ending = Ending.BUDGET if passed.too_dear else Ending.NOTHING_ADDS
    except OutOfTime:
        ending = Ending.OUT_OF_TIME
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
    order, prices = np.array([step.feature for step in steps], np.intp), limits.rule.prices
    return Selection(
        criterion=criterion.name,
        beta=beta,
        order=order,
        scores=np.array([step.score for step in steps], np.float64),
        names=table.names,
        relevance=table.one_per_feature(np.maximum(memo.known_relevance(table.features), 0.0)),
        unique_relevance=None if boost is None else boost.values[: table.n_features].copy(),
        ending=ending,
        causes=tuple(step.cause for step in steps),
        n_supported=_n_supported(steps, limits.rule),
        following=np.array(passed.idle[: max(0, N_LISTED - len(steps))], np.intp),
        same_as={copy: feature for copy, feature in passed.copies.items() if copy not in order},
        **({} if several is None else several.about_targets(table.features)),
        members=table.members,
        costs=None if prices is None else prices.costs[order],
    )


def _n_supported(steps: Sequence[Step], rule: Rule) -> int | None:
    """The last step that was seen to add something; where a search stops by itself all that it has are there."""
    if rule.stops or not rule.tests or not steps:
        return len(steps) if rule.stops else None
    return max((place for place, step in enumerate(steps, 1) if step.adds), default=0)


def candidates_of(memo: Memo | Memos, limits: Limits) -> Columns:
    """Columns that a search may choose in ascending order: of too many the most relevant, ties go to the lowest."""
    free, most = limits.free_columns(memo.information.table), limits.max_candidates
    if most is None or len(free) <= most:
        return free
    return np.sort(free[np.argsort(-memo.relevance(free), kind="stable")[:most]])


def _is_auto(wanted: Any) -> bool:
    """Whether a search ends by itself: "auto", or "auto:20" for at most 20 features."""
    return isinstance(wanted, str) and re.fullmatch("auto(:[1-9][0-9]*)?", wanted) is not None


def _n_features(table: Table, wanted: Any) -> int:
    """How many features to select at most; "auto" stops where nothing adds anything."""
    n_features = len(table.features)
    if isinstance(wanted, str) and wanted in ("auto", "all"):
        return n_features
    if _is_auto(wanted):
        return min(int(wanted.removeprefix("auto:")), n_features)
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and int(wanted) >= 1:
        if int(wanted) > n_features and wanted != _N_FEATURES:
            # Only to name a number is no reason to end with an error, nor to say nothing.
            warn(f"n_features_to_select={wanted}, but there are {n_features} features: all are selected")
        return min(int(wanted), n_features)
    if isinstance(wanted, Real) and not isinstance(wanted, Integral) and 0 < float(wanted) <= 1:
        return max(1, int(round(float(wanted) * n_features, 9)))  # 0.29 of 100 is 29, not 28.999...
    about = f"n_features_to_select={wanted!r} must be a whole number from 1 to {table.n_features}"
    raise ValueError(f"{about} (the number of features), a share above 0 and up to 1.0, 'all' or 'auto'")
