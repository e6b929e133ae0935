"""Joint mutual information of three features."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class JMI3(Criterion, name="jmi3"):
    """Joint mutual information of three: the mean of I(x, s, t; y) over all pairs s, t of the selected.

    JMI one order higher: it sees features that tell something only in threes, where JMI sees pairs. With one selected
    feature it is JMI. A step costs as many estimates per candidate as there are selected features, and each takes more
    rows to support (Sechidis et al. 2019).
    """

    fold = "latest"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """The mean over all pairs; sums without the newest one are remembered."""
        n_pairs = len(selected) * (len(selected) - 1) // 2
        return source.joint_of_pairs(candidates, selected) / n_pairs if n_pairs else source.joint(candidates, selected)
