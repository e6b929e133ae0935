"""Every criterion on one page: x is a candidate, y the target, S the selected features, and s and t are two of them.

A new criterion is a class here; selectors, the command line, their documentation and the tests find it by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import check_choice

if TYPE_CHECKING:
    from unirel.estimation.base import Columns, Memo, Values
    from unirel.estimation.several import Memos

Fold = Literal["sum", "mean", "min", "latest"]
# Redundancy below this is noise, and nothing to divide by. Relevance below the other is at most rounding.
_LEAST, _ROUNDING = 1e-3, 1e-12


class Criterion:
    """A score J of every candidate, given the features selected so far.

    With nothing selected the score is the relevance I(x; y). From then on `term` says what the newest selected feature
    adds, `fold` how the terms of all selected features become one number, and `score` what the criterion makes of it.
    The search does the rest: the boost, ties, stopping, and, because a minimum can only fall, leaving out candidates
    that cannot win any more.

    A subclass names itself and its fold: ``class CMIM(Criterion, name="cmim", fold="min")``.
    """

    name: ClassVar[str]
    fold: Fold | None = None  # None: there is no term, the score is the relevance
    has_known: ClassVar[bool] = False  # whether a score has in it what the selected features tell by themselves

    def __init_subclass__(cls, *, name: str, fold: Fold | None = None, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        cls.name, cls.fold = name, fold or cls.fold

    def __repr__(self) -> str:
        given = ", ".join(f"{parameter}={value!r}" for parameter, value in vars(self).items())
        return f"{type(self).__name__}({given})"

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        """What ``selected[-1]``, the newest one, says about every candidate; without a `fold` nobody asks.

        `source` has estimates that are clipped to what is possible: `relevance`, `pairwise`, `joint` and others.
        """
        raise NotImplementedError(f"criterion {self.name!r} has fold={self.fold!r} and needs a method term")

    def score(self, relevance: Values, folded: Values) -> Values:
        """The score, from the relevance of every candidate and its folded terms."""
        return folded


class MIM(Criterion, name="mim"):
    """Mutual information maximisation: I(x; y), whatever is selected already.

    The cheapest criterion, and blind to redundancy: of two copies it takes both (Lewis 1992).
    """


class MRMR(Criterion, name="mrmr", fold="mean"):
    """Minimal redundancy, maximal relevance: I(x; y) less the mean of I(x; s).

    Redundancy is counted whether or not it is about the target, so a feature that shares nothing but noise with the
    selected ones is punished all the same (Peng, Long and Ding 2005).
    """

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.pairwise(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        return relevance - folded


class JMI(Criterion, name="jmi", fold="mean"):
    """Joint mutual information: the mean of I(x, s; y).

    Pairs are judged by what they tell about the target together, so synergy counts. The published sum is divided by the
    number of selected features: the order stays, and the score compares with unique relevance (Yang and Moody 1999).
    """

    has_known = True

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.joint(candidates, selected[-1:])


class JMIM(JMI, name="jmim", fold="min"):
    """Joint mutual information maximisation: the least I(x, s; y).

    Like JMI, but the worst pair decides, so one selected feature that makes a candidate superfluous is enough
    (Bennasar, Hicks and Setchi 2015).
    """


class CMIM(Criterion, name="cmim", fold="min"):
    """Conditional mutual information maximisation: the least I(x; y | s).

    Like JMIM with the relevance of s taken off each pair: what counts is what x adds to s, not what the pair tells
    (Fleuret 2004).
    """

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.joint(candidates, selected[-1:]) - source.relevance(selected[-1:])


class GSA(Criterion, name="gsa", fold="latest"):
    """Greedy search algorithm: I(x, S; y), all selected features at once.

    It sees interactions of any number of features. Its estimates have as many dimensions as there are selected
    features, which takes rows to support (Brown et al. 2012).
    """

    has_known = True

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.joint(candidates, selected)


class MRMRQuotient(MRMR, name="mrmr_q"):
    """Minimal redundancy, maximal relevance, as a quotient: I(x; y) over the mean of I(x; s).

    Unlike the difference it does not depend on how large relevance and redundancy are, and a feature that shares
    nearly nothing with the selected ones wins even if it tells little (Ding and Peng 2005). Redundancy counts as at
    least 0.001, so of features that share nothing the more relevant wins, and relevance as at least 0.
    """

    def score(self, relevance: Values, folded: Values) -> Values:
        return np.where(relevance > _ROUNDING, relevance, 0.0) / np.maximum(folded, _LEAST)


class MIFS(MRMR, name="mifs", fold="sum"):
    """Mutual information feature selection: I(x; y) less a weight times the sum of I(x; s).

    Unlike mRMR it takes the sum of redundancies and not their mean, so redundancy counts more with every feature that
    is selected. Battiti (1994) found weights from 0.5 to 1 useful.
    """

    def __init__(self, weight: float = 0.5) -> None:
        self.weight = weight

    def score(self, relevance: Values, folded: Values) -> Values:
        return relevance - self.weight * folded


class CIFE(MRMR, name="cife", fold="sum"):
    """Conditional infomax feature extraction: I(x; y) less the sum of I(x; s) - I(x; s | y).

    Only redundancy about the target is taken off, and synergy is added. JMI has the mean where this has the sum, which
    soon outweighs the relevance (Lin and Tang 2006).
    """

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        # What is conditional comes first: estimators that count find the other in the same tables.
        given_target = source.pairwise_given_target(candidates, int(selected[-1]))
        return source.pairwise(candidates, int(selected[-1])) - given_target


class ICAP(CIFE, name="icap"):
    """Interaction capping: I(x; y) less the sum of I(x; s) - I(x; s | y) where that is above 0.

    Like CIFE, but synergy with a selected feature is no reason to prefer a candidate; the relevance is the most that
    it can score (Jakulin 2005).
    """

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return np.maximum(0.0, super().term(source, candidates, selected))


class CondRed(Criterion, name="condred", fold="sum"):
    """Conditional redundancy: I(x; y) plus the sum of I(x; s | y).

    The part of CIFE that mRMR and MIFS leave out, by itself: it looks for features that go together within classes and
    does not mind copies. Of use to see what that part does (Brown et al. 2012).
    """

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.pairwise_given_target(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        return relevance + folded


class BetaGamma(CondRed, name="betagamma"):
    """I(x; y) less a weight times I(x; s) plus another times I(x; s | y), summed or averaged.

    Brown et al. (2012) call the weights beta and gamma. Several criteria are special cases: MIM (0 and 0), MIFS (any
    and 0), CIFE (1 and 1) and CondRed (0 and 1) with ``fold="sum"``; mRMR (1 and 0) and, but for a number that all
    candidates share, JMI (1 and 1) with ``fold="mean"``.
    """

    def __init__(self, redundancy: float = 1.0, conditional: float = 1.0, fold: Fold = "mean") -> None:
        check_choice("fold", fold, ("sum", "mean"))
        self.redundancy, self.conditional, self.fold = redundancy, conditional, fold

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        """The weighted difference; what has no weight is not estimated."""
        newest, nothing = int(selected[-1]), np.zeros(len(candidates))
        added = self.conditional * source.pairwise_given_target(candidates, newest) if self.conditional else nothing
        return added - self.redundancy * source.pairwise(candidates, newest) if self.redundancy else added


class DISR(Criterion, name="disr", fold="mean"):
    """Double input symmetrical relevance: the mean of I(x, s; y) / H(x, s, y).

    JMI with each pair divided by all that pair and target hold, so that features of many levels get no advantage from
    them. As in JMI the published sum is divided by the number of selected features. Entropies of levels need counts
    (Meyer and Bontempi 2006).
    """

    has_known = True

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        entropy = source.joint_entropy(candidates, selected[-1:])
        information = source.joint(candidates, selected[-1:])
        return np.divide(information, entropy, out=np.zeros(len(candidates)), where=entropy > 0)


class NJMIM(DISR, name="njmim", fold="min"):
    """Normalised joint mutual information maximisation: the least I(x, s; y) / H(x, s, y).

    JMIM with each pair divided by all that pair and target hold, as DISR does with JMI. Entropies of levels need counts
    (Bennasar, Hicks and Setchi 2015).
    """


class JMI3(Criterion, name="jmi3", fold="latest"):
    """Joint mutual information of three: the mean of I(x, s, t; y) over all pairs s, t.

    JMI one order higher: it sees features that tell something only in threes, where JMI sees pairs. With one selected
    feature it is JMI. A step costs as many estimates per candidate as there are selected features, and each takes more
    rows to support (Sechidis et al. 2019).
    """

    has_known = True

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        n_pairs = len(selected) * (len(selected) - 1) // 2
        return source.joint_of_pairs(candidates, selected) / n_pairs if n_pairs else source.joint(candidates, selected)


class CMI(GSA, name="cmi"):
    """Conditional mutual information: I(x; y | S), all selected features at once.

    GSA less I(S; y), which all candidates share: it selects the same features, and its score is what a feature adds and
    not what all of them tell (Brown et al. 2012).
    """

    has_known = False

    def term(self, source: Memo, candidates: Columns, selected: Columns) -> Values:
        return source.joint(candidates, selected) - source.joint(selected[-1:], selected)


_CRITERIA: dict[str, type[Criterion]] = {
    one.name: one
    for one in list(vars().values())
    if isinstance(one, type) and issubclass(one, Criterion) and one is not Criterion
}
CRITERIA = tuple(_CRITERIA)


def make_criterion(criterion: str | Criterion) -> Criterion:
    """A criterion by its name, in capitals or not, or as it is."""
    if isinstance(criterion, Criterion):
        return criterion
    name = criterion.lower() if isinstance(criterion, str) else criterion
    check_choice("criterion", name, CRITERIA)
    return _CRITERIA[name]()


class Scores:
    """Scores of all candidates, brought up to date as features are selected."""

    def __init__(self, memo: Memo, criterion: Criterion, candidates: Columns) -> None:
        self._memo, self._criterion = memo, criterion
        n_columns = len(memo.information.table.columns)
        self._relevance = np.full(n_columns, np.nan)
        self._relevance[candidates] = memo.relevance(candidates)
        self._folded = np.zeros(n_columns)
        self._n_folded = np.zeros(n_columns, np.intp)  # selected features whose terms are in, for every candidate

    @property
    def can_only_fall(self) -> bool:
        """Whether an old score is an upper bound of the new one."""
        return self._criterion.fold == "min" and type(self._criterion).score is Criterion.score

    @property
    def have_known(self) -> bool:
        """Whether they have in them what the selected features tell by themselves."""
        return self._criterion.has_known

    def update(self, candidates: Columns, selected: Columns) -> None:
        if self._criterion.fold is None:
            return
        first = self._n_folded[candidates].min(initial=len(selected))
        if self._criterion.fold == "latest":
            first = max(len(selected) - 1, 0)
        for step in range(first, len(selected)):
            behind = candidates[self._n_folded[candidates] <= step]
            if len(behind):
                term, before = self._criterion.term(self._memo, behind, selected[: step + 1]), self._folded[behind]
                if step > 0 and self._criterion.fold != "latest":
                    term = np.minimum(before, term) if self._criterion.fold == "min" else before + term
                self._folded[behind], self._n_folded[behind] = term, step + 1

    def up_to_date(self, candidates: Columns, n_selected: int) -> NDArray[np.bool_]:
        return np.asarray((self._n_folded[candidates] == n_selected) | (self._criterion.fold is None))

    def of(self, candidates: Columns, n_selected: int) -> Values:
        """Scores as far as they are known; with nothing selected that is the relevance."""
        relevance = self._relevance[candidates]
        if self._criterion.fold is None or n_selected == 0:
            return relevance
        folded = self._folded[candidates]
        return self._criterion.score(relevance, folded / n_selected if self._criterion.fold == "mean" else folded)


class MeanScores:
    """The mean over several targets of the scores for each of them, divided by its entropy."""

    def __init__(self, memos: Memos, criterion: Criterion, candidates: Columns) -> None:
        self._mean, self._each = memos.mean, [Scores(one, criterion, candidates) for one in memos.each]

    @property
    def can_only_fall(self) -> bool:
        return self._each[0].can_only_fall

    @property
    def have_known(self) -> bool:
        return self._each[0].have_known

    def update(self, candidates: Columns, selected: Columns) -> None:
        for one in self._each:
            one.update(candidates, selected)

    def up_to_date(self, candidates: Columns, n_selected: int) -> NDArray[np.bool_]:
        return self._each[0].up_to_date(candidates, n_selected)

    def of(self, candidates: Columns, n_selected: int) -> Values:
        return self._mean(one.of(candidates, n_selected) for one in self._each)
