"""Mutual information of discrete columns, from the frequencies of their levels."""

from unirel.estimation.binned import Binned
from unirel.estimation.counting import Correction


class Plugin(Binned):
    """Entropies of the empirical distribution, H(A) + H(B) - H(A, B), of levels, less what that is by chance.

    Parameters
    ----------
    correction : {"chance", "miller-madow", None}
        As in `Binned`.
    """

    name = "plugin"
    accepts = frozenset({"discrete"})

    def __init__(self, correction: Correction = "chance") -> None:
        super().__init__(correction=correction)
