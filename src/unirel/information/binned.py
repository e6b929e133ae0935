"""Mutual information from counts, after cutting continuous columns into bins."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unirel.information.base import Values
from unirel.information.bins import Bins, Rule
from unirel.information.part_codes import Cuts
from unirel.information.plugin import Plugin
from unirel.parts.table import PartedTable


class Binned(Plugin):
    """The plug-in estimator on bins: far cheaper than neighbours, and blind within a bin.

    Parameters
    ----------
    table : Table
        Columns of any kind; discrete ones keep their levels.
    sample_weight : array of shape (n_samples,), optional
        How many rows each row stands for, when bins are made too.
    **options
        `n_bins` of every continuous column, missing values aside; "auto" is the fourth root of n_samples, from 3 to 20.
        `binning` of equal "frequency", of equal "width", or "mdl", which looks at class labels and needs no `n_bins`;
        or a mapping from columns to edges, as `bin_edges` gives them.
        Others as in `Plugin`.
    """

    name = "binned"
    accepts = frozenset({"continuous", "discrete"})

    def _make_bins(self) -> Bins:
        n_bins, binning, given = self._make_cuts()
        target = self.table.target
        self.looks_at_target = binning == "mdl" and bool(self.table.discrete[target])
        labels = self.table.codes(target) if self.looks_at_target else None
        return Bins(self.table, Rule(n_bins, binning, labels, self._weights), self.options["n_jobs"], given)

    def _make_cuts(self) -> Cuts:
        n_bins, binning, total = self.options["n_bins"], self.options["binning"], self._total
        if isinstance(self.table, PartedTable) and self.table.weights is not None:
            total = self.table.weights.total
        self.n_bins = min(20, max(3, round(total**0.25))) if n_bins == "auto" else int(n_bins)
        if isinstance(binning, str):
            return Cuts(self.n_bins, binning)
        return Cuts(self.n_bins, "frequency", self._find_edges(binning))

    def _find_edges(self, given: Mapping[Any, ArrayLike]) -> dict[int, Values]:
        """Edges by the position of their column."""
        target, found = self.table.columns.names[-1], {}
        for column, edges in given.items():
            is_target = isinstance(column, str) and column == target
            position = self.table.target if is_target else self.table.positions(column)[0]
            found[position] = np.sort(np.asarray(edges, np.float64))
        return found
