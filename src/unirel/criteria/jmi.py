"""Joint mutual information."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class JMI(Criterion, name="jmi"):
    """Joint mutual information: the mean of I(x, s; y) over the selected s.

    Pairs are judged by what they tell about the target together, so synergy counts. The published sum is divided by the
    number of selected features, which leaves the order as it is and makes the score comparable with unique relevance
    (Yang and Moody 1999).
    """

    fold = "mean"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, s; y) of the newest s."""
        return source.joint(candidates, selected[-1:])
