"""The report of a selection."""

import math
import os
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, Unpack

from unirel._runtime import READING_SECONDS, OutOfTime, end_of, until
from unirel.data.atomic import write_text
from unirel.data.table import Table
from unirel.errors import UnirelWarning
from unirel.inference.findings import Accuracy, Analysis, Surroundings
from unirel.inference.relations import analyse, surround
from unirel.notebook import join, paragraph
from unirel.options import (
    EstimationOptions,
    ReadingOptions,
    SelectionOptions,
    SelectorOptions,
    check_whole_number,
    complete,
    documented,
    part_of,
)
from unirel.report.certainty import Certainty, check_stability, find_significant, measure_stability
from unirel.report.origin import Origin
from unirel.report.render import render
from unirel.report.summarize import summarize
from unirel.report.words import selection_in_words
from unirel.results import Selection, SelectionPath, Stability
from unirel.search.greedy import select

# Up to this many rows a page compares with weights of unique relevance in steps of a tenth, beyond in quarters.
_FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Report:
    """A selection to look at and to send: one page with words, a table and interactive charts.

    The page holds its own scripts and works offline. It has no time stamp and no random names: the same input gives the
    same bytes. All texts from the data are escaped.

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
    interrupted : bool
        Whether the selections were stopped by hand, so that some are missing and nothing was compared.
    surroundings : Surroundings
        Features that repeat each other, and features that tell too much.
    certainty : Certainty
        Which features are significant by themselves, and how often parts of the rows select them.

    See Also
    --------
    Report.from_data : Select features and report on it in one call.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel.report import Report
    >>> report = Report.from_data(*load_iris(return_X_y=True), n_features_to_select=2)
    >>> report.to_dict()["features"][0]["name"]
    'x3'
    """

    table: Table
    path: SelectionPath
    analysis: Analysis
    origin: Origin
    accuracy: Accuracy | None = None
    interrupted: bool = False
    surroundings: Surroundings = field(default_factory=Surroundings)
    certainty: Certainty = field(default_factory=Certainty)

    @classmethod
    @documented(SelectorOptions)
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        origin: Origin | None = None,
        accuracy: str | None = None,
        stability: int | None = None,
        **options: Unpack[SelectorOptions],
    ) -> Self:
        """Select features of a table and report on it.

        Parameters
        ----------
        X, y : array or frame, array or series
            The features and the target, as in `BURSelector.fit`.
        feature_names : list of str, optional
            Names of the columns of an array.
        origin : Origin, optional
            Names for the data and the target.
        accuracy : {"knn", "rf", "svm", "logistic"}, optional
            Cross-validate this classifier with the first feature, the first two, and so on, selected anew from the
            training rows of each fold. For a continuous target it is the regressor of that kind, and R2 is shown.
        stability : int, optional
            Select again from this many random halves of the rows, and show how often each feature comes out.
        {options}

        Returns
        -------
        Report
            With `beta` above 0 it compares the selection with those for other weights.
        """
        chosen = complete(SelectorOptions, options, "Report.from_data")
        ends = end_of(chosen["max_seconds"])
        with until(ends + READING_SECONDS):
            table = Table.from_data(X, y, **part_of(ReadingOptions, chosen))
        if feature_names is not None:
            table = _rename(table, feature_names)
            # In a fold the columns of an array have no names.
            chosen["include"], chosen["exclude"] = (table.positions(chosen[name]) for name in ("include", "exclude"))
        if accuracy is not None:
            from unirel.report.accuracy import check_accuracy, measure_accuracy  # scikit-learn is slow to import

            check_accuracy(accuracy, table, chosen["unique_relevance"])
        if stability is not None:
            check_whole_number("stability", stability, 2)
            check_stability(stability, table, chosen["unique_relevance"])
        with until(ends):
            report = cls.from_table(table, chosen, origin or Origin())
            if report.interrupted:
                return report
            measured = "stability"
            try:
                if stability is not None and report.selection.complete:
                    report = report.with_stability(measure_stability(stability, X, y, chosen))
                measured = "accuracy"
                if accuracy is not None:
                    found = measure_accuracy(accuracy, X, y, table, report.selection, chosen)
                    report = replace(report, accuracy=found)
            except OutOfTime:
                budget = f"max_seconds={chosen['max_seconds']:g}"
                warnings.warn(f"{budget} was used up before the {measured} was measured", UnirelWarning, stacklevel=2)
        return report

    def with_stability(self, stability: Stability) -> Self:
        """The same report, which also says how often features are selected from parts of the rows."""
        return replace(self, certainty=replace(self.certainty, stability=stability))

    @classmethod
    def from_table(
        cls, table: Table, options: SelectorOptions, origin: Origin, *, along: bool = True, test: bool | None = None
    ) -> Self:
        """Select features of a table that has been read, and compare those that are selected.

        Parameters
        ----------
        table : Table
            What to select from.
        options : SelectorOptions
            How, all of them.
        origin : Origin
            Where the table comes from.
        along : bool
            Also select with other weights of unique relevance and follow what the features tell together, for a page.
        test : bool, optional
            Test which features tell anything by themselves; for a page, if not given.

        Returns
        -------
        Report
        """
        beta = options["beta"]
        # The weight that was asked for comes first, so it gets the time.
        betas = [beta, *(other for other in _other_weights(table) if along and beta > 0 and other != beta)]
        ends = end_of(options["max_seconds"])
        path = select(table, [options["criterion"]], betas, part_of(SelectionOptions, options))
        interrupted = len(path) < len(betas) or path.selections[-1].interrupted
        order = path.selections[0].order[: 0 if interrupted else None]  # nobody wants to wait for more
        estimation = part_of(EstimationOptions, options)
        try:
            with until(max(ends, time.monotonic() + READING_SECONDS)):
                analysis = analyse(table, order, estimation, curve=along)
                around = surround(table, path.selections[0], analysis, estimation)
        except OutOfTime:
            with until(math.inf):  # a moment, without which what was found would be lost
                analysis, around = analyse(table, order[:0], estimation, curve=along), Surroundings()
        certainty = Certainty()
        if (along if test is None else test) and not interrupted:
            with suppress(OutOfTime), until(max(ends, time.monotonic() + READING_SECONDS)):
                certainty = Certainty(find_significant(table, options))
        return cls(table, path, analysis, origin, interrupted=interrupted, surroundings=around, certainty=certainty)

    @property
    def selection(self) -> Selection:
        """The selection that was asked for."""
        return self.path.selections[0]

    @property
    def words(self) -> str:
        """The answer in a paragraph."""
        return selection_in_words(self.selection, self.table, self.analysis, self.origin.target)

    def to_dict(self) -> dict[str, Any]:
        """Everything the page says, as plain lists, numbers and strings."""
        summary = summarize(
            self.table, self.path, self.analysis, self.surroundings, self.origin, self.accuracy, self.certainty
        )
        return {**summary, "words": self.words}

    def to_html(self, scripts: str | os.PathLike[str] | None = None) -> str:
        """The page.

        Parameters
        ----------
        scripts : path, optional
            Folder to keep the scripts of the charts in, which take seconds to put together, for the next page; beside
            the source of the library if it is not given. The page holds its own copy either way.

        Returns
        -------
        str
        """
        return render(self.to_dict(), None if scripts is None else Path(scripts))

    def _repr_html_(self) -> str:
        """The answer and the table of the selected features, as a notebook shows it; `save` writes the whole page."""
        said = [paragraph(self.to_dict()["headline"]), self.selection._repr_html_()]
        return join([*said, paragraph("report.save('page.html') writes the whole page.")])

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


def _other_weights(table: Table) -> list[float]:
    """Weights to compare with: every one takes as long as the answer, and more rows make that longer."""
    n_steps = 10 if table.n_samples <= _FEW_ROWS else 4
    return [step / n_steps for step in range(n_steps + 1)]


def _rename(table: Table, feature_names: Sequence[str]) -> Table:
    """The table with other names of its features, each another one."""
    names = [str(name) for name in feature_names]
    if len(names) != table.n_features:
        raise ValueError(
            f"feature_names has {len(names)} names, but X has {table.n_features} columns; name each of them"
        )
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names has {repeated!r} more than once; rename one of them")
    return table.renamed(names)
