"""Minimal redundancy, maximal relevance."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class MRMR(Criterion, name="mrmr"):
    """Minimal redundancy, maximal relevance: I(x; y) less the mean of I(x; s) over the selected s.

    Redundancy is counted whether or not it is about the target, so a feature that shares nothing but noise with the
    selected ones is punished all the same (Peng, Long and Ding 2005).
    """

    fold = "mean"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x; s) of the newest s."""
        return source.pairwise(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance less redundancy."""
        return relevance - folded
