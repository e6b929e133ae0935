"""The family of criteria with two parameters."""

import numpy as np

from unirel.criteria.base import Columns, Criterion, Estimates, Fold, Values
from unirel.errors import check_choice


class BetaGamma(Criterion, name="betagamma"):
    """I(x; y) less a weight times I(x; s) plus another times I(x; s | y), summed or averaged over the selected s.

    Brown et al. (2012) call the weights beta and gamma. Several criteria are special cases: MIM (0 and 0), MIFS (any
    and 0), CIFE (1 and 1) and CondRed (0 and 1) with ``fold="sum"``; mRMR (1 and 0) and, but for a number that all
    candidates share, JMI (1 and 1) with ``fold="mean"``.
    """

    def __init__(self, redundancy: float = 1.0, conditional: float = 1.0, fold: Fold = "mean") -> None:
        check_choice("fold", fold, ("sum", "mean"))
        self.redundancy, self.conditional, self.fold = redundancy, conditional, fold

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """The weighted difference for the newest s; what has no weight is not estimated."""
        newest, term = int(selected[-1]), np.zeros(len(candidates))
        # What is conditional comes first: estimators that count find the other in the same tables.
        if self.conditional:
            term = term + self.conditional * source.pairwise_given_target(candidates, newest)
        if self.redundancy:
            term = term - self.redundancy * source.pairwise(candidates, newest)
        return term

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance and the rest."""
        return relevance + folded
