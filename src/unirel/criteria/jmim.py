"""Joint mutual information maximisation."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class JMIM(Criterion, name="jmim"):
    """Joint mutual information maximisation: the least I(x, s; y) over the selected s.

    Like JMI, but the worst pair decides, so one selected feature that makes a candidate superfluous is enough
    (Bennasar, Hicks and Setchi 2015).
    """

    fold = "min"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, s; y) of the newest s."""
        return source.joint(candidates, selected[-1:])
