"""Greedy search on the joint information."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class GSA(Criterion, name="gsa"):
    """Greedy search algorithm: I(x, S; y), all selected features at once.

    The only criterion here that sees interactions of more than two features. Its estimates have as many dimensions as
    there are selected features, which takes rows to support (Brown et al. 2012).
    """

    fold = "latest"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, S; y)."""
        return source.joint(candidates, selected)
