"""Minimal redundancy, maximal relevance, as a quotient."""

import numpy as np

from unirel.criteria.base import Columns, Criterion, Estimates, Values

# Redundancy below this is noise, and nothing to divide by. Relevance below the other is at most rounding.
_LEAST, _ROUNDING = 1e-3, 1e-12


class MRMRQuotient(Criterion, name="mrmr_q"):
    """Minimal redundancy, maximal relevance, as a quotient: I(x; y) over the mean of I(x; s) over the selected s.

    Unlike the difference it does not depend on how large relevance and redundancy are, and a feature that shares
    nearly nothing with the selected ones wins even if it tells little (Ding and Peng 2005). Redundancy counts as at
    least 0.001: of features that share nothing with the selected ones the more relevant wins. Relevance below 0, as
    estimates of noise may be, counts as 0.
    """

    fold = "mean"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x; s) of the newest s."""
        return source.pairwise(candidates, int(selected[-1]))

    def score(self, relevance: Values, folded: Values) -> Values:
        """Relevance over redundancy."""
        return np.where(relevance > _ROUNDING, relevance, 0.0) / np.maximum(folded, _LEAST)
