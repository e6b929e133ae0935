"""One step after the other: the best candidate by its score, unless it is a near copy or adds nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unirel._runtime import check_time
from unirel.criteria import MeanScores, Scores
from unirel.estimation.base import Columns, Values
from unirel.results import Cause
from unirel.search.boost import Blend, Mask
from unirel.search.costs import Prices
from unirel.search.stopping import Evidence, Support

# Features that are listed, selected or not, where a search ends by itself.
N_LISTED = 10
# When this many features in a row add nothing, none is expected to; one may be found behind a few that do not.
PATIENCE = 5
# Scores that differ by less than this, or less than this share, are a tie that rounding has broken: differences of
# estimates of about a nat come out as 1e-17 instead of 0.
_TIE = 1e-12
# Candidates with the best bounds that a lazy step brings up to date at a time.
_BATCH = 32


class Step(NamedTuple):
    feature: int
    score: float
    cause: Cause
    adds: bool | None = None  # whether it is seen to add something to those before; None if it was not tested


class Blended(NamedTuple):
    """What a criterion is blended with."""

    beta: float
    boost: Blend | None


class Rule(NamedTuple):
    """What is tested and passed over."""

    evidence: Evidence | None
    keep_copies: bool = True
    tests: bool = False  # whether each step adds something
    stops: bool = False  # select only what does, and end where nothing is seen to
    prices: Prices | None = None  # what features cost


PLAIN = Rule(None)


@dataclass
class Passed:
    """Features that were the best of a step and are not selected."""

    copies: dict[int, int] = field(default_factory=dict)  # and which feature is the same
    idle: list[int] = field(default_factory=list)  # since the latest step, because they add nothing
    too_dear: bool = False  # all that are left cost more than what is left of the budget


def take_steps(
    scores: Scores | MeanScores,
    candidates: Columns,
    n_wanted: int,
    include: Sequence[int],
    blended: Blended,
    rule: Rule,
    passed: Passed,
) -> Iterator[Step]:
    """Features one by one, until there are as many as are wanted or nothing adds anything."""
    selected, n_idle = np.empty(0, np.intp), 0
    support = None if rule.evidence is None else Support(rule.evidence)
    while len(selected) < n_wanted:
        check_time()
        pool, forced = np.setdiff1d(candidates, selected, assume_unique=True), len(selected) < len(include)
        if forced:
            pool = np.array([include[len(selected)]], np.intp)
        elif rule.prices is not None:
            pool = rule.prices.allowed(pool, selected)
            if len(pool) == 0:
                passed.too_dear = True
                return
        allowed = ~np.isin(pool, [*passed.copies, *passed.idle]) | forced
        if rule.stops and not allowed.any():
            return
        only_copies = forced or not allowed.any()  # They come back when there is nothing else.
        among = None if only_copies or allowed.all() else allowed
        step = _best(scores, pool, selected, blended, among, rule.prices)
        if support is not None:
            if not (rule.keep_copies or only_copies) and (same := support.copied(step.feature)) is not None:
                passed.copies[step.feature] = same
                continue
            # Behind so many steps without anything new no more are tested: long selections stay cheap.
            adds = support.adds(step.feature, forced) if rule.tests and (rule.stops or n_idle < PATIENCE) else None
            n_idle, step = 0 if adds else n_idle + 1, step._replace(adds=adds)
            if rule.stops and not (adds or forced):
                passed.idle.append(step.feature)
                if len(passed.idle) >= max(PATIENCE, N_LISTED - len(selected)):
                    return
                continue
            passed.idle.clear()
            support.tell(step.feature)
        selected = np.append(selected, step.feature)
        yield step._replace(cause=Cause.INCLUDED) if forced else step


def _best(
    scores: Scores | MeanScores,
    pool: Columns,
    selected: Columns,
    blended: Blended,
    allowed: Mask | None,
    prices: Prices | None,
) -> Step:
    beta, boost = blended.beta, blended.boost if blended.beta > 0 else None
    # A spread over all candidates takes the scores of all candidates, so nothing can be left out then.
    lazy = scores.can_only_fall and (boost is None or not boost.rescale)
    less_known = prices is not None and scores.have_known and len(selected) > 0
    scores.update(pool, selected[:1] if lazy and not less_known else selected)

    def ranked(values: Values) -> Values:
        # Others than the allowed ones still have their part in the spread that a boost is brought to.
        return _among(values if prices is None else prices.per_cost(values, pool), allowed)

    while True:
        values = plain = scores.of(pool, len(selected))
        if less_known:  # What is known already must not be counted per cost again.
            values = plain = plain - plain.min()
        if boost is not None:
            values = boost.blend(plain, pool, selected, beta, allowed)
        ranks = ranked(values)
        behind = ~scores.up_to_date(pool, len(selected))
        tied = _reach(ranks, ranks[~behind].max(initial=-np.inf))
        promising = np.flatnonzero(behind & tied)
        if len(promising) == 0:
            place = int(np.flatnonzero(tied)[0])
            cause = Cause.CRITERION
            if boost is not None and not _is_best(ranked(plain), place):
                known = ranked(boost.without_stepwise(plain, pool, selected, beta))
                cause = Cause.SELECTED
                if behind.any() or not boost.rescale:
                    cause = Cause.UNKNOWN if behind.any() else Cause.UNIQUE
                elif boost.share < 1 and _is_best(known, place):
                    cause = Cause.REFERENCE
            return Step(int(pool[place]), float(values[place]), cause)
        check_time()
        promising = promising[np.argsort(-ranks[promising], kind="stable")[:_BATCH]]
        scores.update(pool[promising], selected)


def _among(values: Values, allowed: Mask | None) -> Values:
    return values if allowed is None else np.where(allowed, values, -np.inf)


def _reach(values: Values, best: float) -> Mask:
    """Which values are as good as the best one, but for rounding."""
    return np.asarray(values >= best - _TIE * max(1.0, abs(best)))


def _is_best(values: Values, place: int) -> bool:
    return bool(_reach(values, values.max())[place])
