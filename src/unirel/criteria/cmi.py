"""Conditional mutual information."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class CMI(Criterion, name="cmi"):
    """Conditional mutual information: I(x; y | S), all selected features at once.

    GSA less I(S; y), which all candidates share: it selects the same features, and its score is what a feature adds and
    not what all of them tell (Brown et al. 2012).
    """

    fold = "latest"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, S; y) - I(S; y)."""
        return source.joint(candidates, selected) - source.joint(selected[-1:], selected)
