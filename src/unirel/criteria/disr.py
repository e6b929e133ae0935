"""Double input symmetrical relevance."""

import numpy as np

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class DISR(Criterion, name="disr"):
    """Double input symmetrical relevance: the mean of I(x, s; y) / H(x, s, y) over the selected s.

    JMI with each pair divided by all that pair and target hold, so that features of many levels get no advantage from
    them. As in JMI the published sum is divided by the number of selected features. Entropies of levels need counts
    (Meyer and Bontempi 2006).
    """

    fold = "mean"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, s; y) / H(x, s, y) of the newest s, 0 if everything is constant."""
        entropy = source.joint_entropy(candidates, selected[-1:])
        information = source.joint(candidates, selected[-1:])
        return np.divide(information, entropy, out=np.zeros(len(candidates)), where=entropy > 0)
