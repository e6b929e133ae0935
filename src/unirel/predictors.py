"""The loss of a classifier that is trained without a feature."""

from typing import Any

from sklearn.base import BaseEstimator

from unirel._runtime import Progress
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values


class ClassifierLoss(BaseEstimator):  # type: ignore[misc]
    """Unique relevance as the cross-entropy of a classifier that is trained without the feature."""

    def __init__(self, estimator: Any = "logistic", cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def losses(
        self,
        table: Table,
        columns: Columns | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Values:
        """Losses without each of some features, all if it is not said which."""
        from unirel.classifiers.losses import losses_without_each

        return losses_without_each(table, self.estimator, columns=columns, cv=self.cv, n_jobs=n_jobs, progress=progress)
