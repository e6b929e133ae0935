"""Conditional redundancy."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class CondRed(Criterion, name="condred"):
    """Conditional redundancy: I(x; y) plus the sum of I(x; s | y) over the selected s.

    The part of CIFE that mRMR and MIFS leave out, by itself: it looks for features that go together within classes and
    does not mind copies. Of use to see what that part does (Brown et al. 2012).
    """

    fold = "sum"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x; s | y) of the newest s."""
        return source.pairwise_given_target(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance and conditional redundancy."""
        return relevance + folded
