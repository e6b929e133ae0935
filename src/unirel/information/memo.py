"""Every estimate once: what criteria and boosts share."""

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Information, Values

Columns = NDArray[np.intp]


class Memo:
    """An estimator that remembers, and clips what it gives to what is possible.

    Parameters
    ----------
    information : Information
        The estimator to ask.
    """

    def __init__(self, information: Information) -> None:
        self.information = information
        self._known: dict[tuple[str, tuple[int, ...]], Values] = {}

    def relevance(self, candidates: Columns) -> Values:
        """I(candidate; target) of every candidate."""
        return self.pairwise(candidates, self.information.table.target)

    def known_relevance(self, candidates: Columns) -> Values:
        """I(candidate; target) as far as it has been asked for; NaN otherwise."""
        return self._look_up("pairwise", (self.information.table.target,), candidates)[0][candidates]

    def pairwise(self, candidates: Columns, column: int) -> Values:
        """I(candidate; column) of every candidate."""
        known, asked = self._look_up("pairwise", (column,), candidates)
        if len(asked):
            raw = self.information.pairwise(asked, column)
            known[asked] = self.information.bounded_pairs(raw, asked, column)
        return known[candidates]

    def joint(self, candidates: Columns, selected: Columns) -> Values:
        """I(candidate, selected; target) of every candidate."""
        known, asked = self._look_up("joint", tuple(sorted(map(int, selected))), candidates)
        if len(asked):
            known[asked] = self.information.bounded_joint(self.information.joint(asked, selected))
        return known[candidates]

    def _look_up(self, kind: str, key: tuple[int, ...], candidates: Columns) -> tuple[Values, Columns]:
        """What is known of all columns, and the candidates that are not."""
        n_columns = len(self.information.table.columns)
        known = self._known.setdefault((kind, key), np.full(n_columns, np.nan))
        return known, candidates[np.isnan(known[candidates])]
