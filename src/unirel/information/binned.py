"""Mutual information from counts, after cutting continuous columns into bins."""

from unirel.information.bins import Bins, Rule
from unirel.information.plugin import Plugin


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
        `binning` of equal "frequency", of equal "width", or "mdl", which looks at class labels and needs no `n_bins`.
        Others as in `Plugin`.
    """

    name = "binned"
    accepts = frozenset({"continuous", "discrete"})

    def _make_bins(self) -> Bins:
        n_bins, binning, target = self.options["n_bins"], self.options["binning"], self.table.target
        self.n_bins = min(20, max(3, round(self._total**0.25))) if n_bins == "auto" else int(n_bins)
        self.looks_at_target = binning == "mdl" and bool(self.table.discrete[target])
        labels = self.table.codes(target) if self.looks_at_target else None
        return Bins(self.table, Rule(self.n_bins, binning, labels, self._weights), self.options["n_jobs"])
