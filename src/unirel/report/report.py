"""The report of a selection."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from unirel.atomic import write_text
from unirel.report.analysis import Analysis, analyse, rename
from unirel.report.render import render
from unirel.report.summarize import Origin, summarize
from unirel.results import SelectionPath
from unirel.table import Table

if TYPE_CHECKING:
    from unirel.report.accuracy import Accuracy


class Report:
    """A selection to look at and to send: one page with words, a table and interactive charts.

    Parameters
    ----------
    table : Table
        What was selected from.
    path : SelectionPath
        The selection that was asked for, first, and those for other weights of unique relevance.
    analysis : Analysis
        How the selected features relate to each other.
    origin : Origin
        Where the table comes from.
    accuracy : Accuracy, optional
        How well the first features predict the target.

    See Also
    --------
    Report.from_data : Select features and report on it in one call.

    Notes
    -----
    The page holds its own scripts and works offline. It has no time stamp and no random names: the same input gives the
    same bytes. All texts from the data are escaped.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel.report import Report
    >>> report = Report.from_data(*load_iris(return_X_y=True), n_features_to_select=2)
    >>> report.to_dict()["features"][0]["name"]
    'x3'
    """

    def __init__(
        self,
        table: Table,
        path: SelectionPath,
        analysis: Analysis,
        origin: Origin,
        accuracy: "Accuracy | None" = None,
    ) -> None:
        self.table = table
        self.path = path
        self.analysis = analysis
        self.origin = origin
        self.accuracy = accuracy

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        criterion: str = "jmi",
        beta: float = 0.1,
        kinds: Any = None,
        feature_names: Sequence[str] | None = None,
        origin: Origin | None = None,
        accuracy: str | None = None,
        **options: Any,
    ) -> Self:
        """Select features of a table and report on it.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The features.
        y : array or series of shape (n_samples,)
            The target.
        criterion : str
            What to score candidates by.
        beta : float
            Weight of unique relevance; the report compares it with others unless it is 0.
        kinds : optional
            Kinds of columns, as in `selection_path`.
        feature_names : list of str, optional
            Names of the columns of an array.
        origin : Origin, optional
            Names for the data and the target.
        accuracy : {"knn", "rf", "svm", "logistic"}, optional
            Cross-validate this classifier with the first feature, the first two, and so on, selected anew from the
            training rows of each fold. For a continuous target it is the regressor of that kind, and R2 is shown.
        **options
            As in `selection_path`.

        Returns
        -------
        Report
        """
        from unirel.path import SearchOptions, run_path

        table = Table.from_data(X, y, kinds=kinds)
        if feature_names is not None:
            table = rename(table, _check_names(feature_names, table.n_features))
        others = [step / 10 for step in range(11) if step / 10 != beta] if beta > 0 else []
        options = {"n_features_to_select": min(10, len(table.features)), **options}
        measured = None
        if accuracy is not None:
            from unirel.report.accuracy import check_accuracy, measure_accuracy  # scikit-learn is slow to import

            check_accuracy(accuracy, table, options.get("unique_relevance", "reference"))
        search = SearchOptions(**options)
        path = run_path(table, [criterion], [beta, *others], search)
        if accuracy is not None:
            measured = measure_accuracy(accuracy, X, y, table, path.selections[0], search)
        return cls(table, path, analyse(table, path.selections[0].order, options), origin or Origin(), measured)

    def to_dict(self) -> dict[str, Any]:
        """Everything the page says, as plain lists, numbers and strings."""
        return summarize(self.table, self.path, self.analysis, self.origin, self.accuracy)

    def to_html(self, scripts: str | os.PathLike[str] | None = None) -> str:
        """The page.

        Parameters
        ----------
        scripts : path, optional
            Folder to keep the scripts of the charts in, which take seconds to put together, for the next page. Nothing
            is kept if it is not given. The page holds them either way.

        Returns
        -------
        str
        """
        return render(self.to_dict(), None if scripts is None else Path(scripts))

    def save(self, path: str | os.PathLike[str], scripts: str | os.PathLike[str] | None = None) -> Path:
        """Write the page to a file, in full or not at all.

        Parameters
        ----------
        path : path
            Where to.
        scripts : path, optional
            As in `to_html`.

        Returns
        -------
        Path
            The same.
        """
        target = Path(path)
        write_text(target, self.to_html(scripts))
        return target


def _check_names(names: Sequence[str], n_features: int) -> list[str]:
    """Names for all columns, each another one."""
    texts = [str(name) for name in names]
    if len(texts) != n_features:
        raise ValueError(f"feature_names has {len(texts)} names, but X has {n_features} columns; name each of them")
    if len(set(texts)) < len(texts):
        repeated = next(name for name in texts if texts.count(name) > 1)
        raise ValueError(f"feature_names has {repeated!r} more than once; rename one of them")
    return texts
