"""The report of a selection."""

import os
from pathlib import Path
from typing import Any, Self

from unirel.report.analysis import Analysis, analyse
from unirel.report.render import render
from unirel.report.summarize import Origin, summarize
from unirel.results import SelectionPath
from unirel.table import Table


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

    def __init__(self, table: Table, path: SelectionPath, analysis: Analysis, origin: Origin) -> None:
        self.table = table
        self.path = path
        self.analysis = analysis
        self.origin = origin

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        criterion: str = "jmi",
        beta: float = 0.1,
        kinds: Any = None,
        origin: Origin | None = None,
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
        origin : Origin, optional
            Names for the data and the target.
        **options
            As in `selection_path`.

        Returns
        -------
        Report
        """
        from unirel.path import SearchOptions, run_path

        table = Table.from_data(X, y, kinds=kinds)
        others = [step / 10 for step in range(11) if step / 10 != beta] if beta > 0 else []
        options = {"n_features_to_select": min(10, len(table.features)), **options}
        path = run_path(table, [criterion], [beta, *others], SearchOptions(**options))
        return cls(table, path, analyse(table, path.selections[0].order, options), origin or Origin())

    def to_dict(self) -> dict[str, Any]:
        """Everything the page says, as plain lists, numbers and strings."""
        return summarize(self.table, self.path, self.analysis, self.origin)

    def to_html(self) -> str:
        """The page."""
        return render(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path : path
            Where to.

        Returns
        -------
        Path
            The same.
        """
        target = Path(path)
        target.write_text(self.to_html(), encoding="utf-8", newline="\n")
        return target
