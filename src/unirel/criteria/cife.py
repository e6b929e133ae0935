"""Conditional infomax feature extraction."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class CIFE(Criterion, name="cife"):
    """Conditional infomax feature extraction: I(x; y) less the sum of I(x; s) - I(x; s | y) over the selected s.

    Only redundancy about the target is taken off, and synergy is added. JMI has the mean where this has the sum, which
    soon outweighs the relevance (Lin and Tang 2006).
    """

    fold = "sum"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x; s) - I(x; s | y) of the newest s."""
        # What is conditional comes first: estimators that count find the other in the same tables.
        given_target = source.pairwise_given_target(candidates, int(selected[-1]))
        return source.pairwise(candidates, int(selected[-1])) - given_target

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance less redundancy about the target."""
        return relevance - folded
