"""Normalised joint mutual information maximisation."""

import numpy as np

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class NJMIM(Criterion, name="njmim"):
    """Normalised joint mutual information maximisation: the least I(x, s; y) / H(x, s, y) over the selected s.

    JMIM with each pair divided by all that pair and target hold, as DISR does with JMI. Entropies of levels need counts
    (Bennasar, Hicks and Setchi 2015).
    """

    fold = "min"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, s; y) / H(x, s, y) of the newest s, 0 if everything is constant."""
        entropy = source.joint_entropy(candidates, selected[-1:])
        information = source.joint(candidates, selected[-1:])
        return np.divide(information, entropy, out=np.zeros(len(candidates)), where=entropy > 0)
