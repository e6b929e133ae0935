"""Mutual information feature selection."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class MIFS(Criterion, name="mifs"):
    """Mutual information feature selection: I(x; y) less a weight times the sum of I(x; s) over the selected s.

    Unlike mRMR it takes the sum of redundancies and not their mean, so redundancy counts more with every feature that
    is selected. Battiti (1994) found weights from 0.5 to 1 useful.
    """

    fold = "sum"

    def __init__(self, weight: float = 0.5) -> None:
        self.weight = weight

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x; s) of the newest s."""
        return source.pairwise(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance less the weighted redundancy."""
        return relevance - self.weight * folded
