"""Interaction capping."""

import numpy as np

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class ICAP(Criterion, name="icap"):
    """Interaction capping: I(x; y) less the sum of I(x; s) - I(x; s | y) over the selected s where that is above 0.

    Like CIFE, but synergy with a selected feature is no reason to prefer a candidate; the relevance is the most that
    it can score (Jakulin 2005).
    """

    fold = "sum"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """What I(x; s) exceeds I(x; s | y) by, for the newest s."""
        # What is conditional comes first: estimators that count find the other in the same tables.
        given_target = source.pairwise_given_target(candidates, int(selected[-1]))
        return np.maximum(0.0, source.pairwise(candidates, int(selected[-1])) - given_target)

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance less redundancy about the target."""
        return relevance - folded
