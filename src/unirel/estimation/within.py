"""Mutual information of columns within the classes of a target, by nearest neighbours."""

import numpy as np

from unirel._runtime import map_tasks
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.estimation.geometry import Geometry, Rows
from unirel.estimation.ksg import KSG
from unirel.estimation.ross import Ross


class WithinClasses:
    """I(a; b | target) as what it is by definition: the mean of I(a; b) within the classes, by their share of the rows.

    A difference of estimates by the chain rule would have the errors of four estimates in different spaces, which do
    not cancel. A class of a single row tells nothing.
    """

    def __init__(self, table: Table, geometry: Geometry) -> None:
        self._table, self._n_jobs = table, geometry.n_jobs
        labels = table.codes(table.target)
        classes = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
        self._classes = [(rows, geometry.of_rows(rows)) for rows in classes if len(rows) > 1]

    def pairwise(self, candidates: Columns, column: int) -> Values:
        """I(candidate; column | target) of candidates of one kind; they and the column are not all discrete."""
        information = np.zeros(len(candidates))
        for rows, geometry in self._classes:
            varying = geometry.varies[candidates] & geometry.varies[column]
            if varying.any():
                values = self._within(rows, geometry, candidates[varying], column)
                information[varying] += len(rows) / self._table.n_samples * values
        return information

    def _within(self, rows: Rows, geometry: Geometry, candidates: Columns, column: int) -> Values:
        def labels_of(one: int) -> Ross:
            return Ross(geometry, self._table.codes(one)[rows])

        if self._table.discrete[column]:
            return labels_of(column).on_line(candidates)
        if self._table.discrete[candidates[0]]:
            parts = map_tasks(lambda one: labels_of(one).on_line([column]), candidates.tolist(), self._n_jobs)
            return np.concatenate(parts)
        return KSG(geometry).in_plane(candidates, column)
