"""A selection as one page of HTML that needs nothing else: all that is said of it is gathered here, once."""

import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unirel._runtime import READING_SECONDS, Deadline, progress_of, quietly, warn, write_text
from unirel.data.groups import grouped, offer_groups
from unirel.data.readers import collected
from unirel.data.table import Table
from unirel.inference.interactions import Interactions
from unirel.inference.relations import Analysis, analyse, find_significant
from unirel.report import certainty as sure
from unirel.report import text
from unirel.report.accuracy import AUTO, Accuracy, check_measures, measure_accuracy, pin_types, why_unmeasured
from unirel.report.pairs import find_pairs_quickly, pairs_for_page
from unirel.report.pictures import MOST_DRAWN, read_levels
from unirel.report.weights import select_by_weights, weights_to_show
from unirel.results import RelevanceTest, Selection, SelectionPath, Stability, plain
from unirel.search.greedy import SearchSettings, settings_of

__all__ = ["Origin", "Report"]

# Up to this many values features are tested also where no page is made: that takes a part of a second.
_QUICKLY_TESTED = 2**21
# Names that are listed where others like them were left out.
_MOST_NAMED = 12
_LIBRARIES = ("unirel", "numpy", "scipy", "numba", "scikit-learn")
# What a page needs: modules, and the packages that have them.
_NEEDED = {"jinja2": "jinja2", "altair": "altair", "vl_convert": "vl-convert-python"}


def check_installed() -> None:
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"a report needs {', '.join(missing)}; install it with: pip install 'unirel[report]'")


@dataclass(frozen=True)
class Origin:
    """Where a table comes from and what happened to it before the library saw it."""

    source: str = "data"  #: Name of a file or dataset.
    target: str = "y"  #: Name of the target.
    dropped: tuple[str, ...] = ()  #: Columns left out on request.
    ignored: tuple[tuple[str, str], ...] = ()  #: Columns left out by the reader, and why.
    n_without_target: int = 0  #: Rows left out because they have no target.
    notes: tuple[str, ...] = ()  #: What else the reader of the page should know.
    reading: tuple[str, ...] = ()  #: Lines of Python that give ``X`` and ``y``.


@dataclass(frozen=True, eq=False)
class Report:
    """A selection to look at and to send: one page with words, a table and interactive charts.

    The page holds its own scripts and works offline. It has no time stamp and no random names: the same input gives the
    same bytes. All texts from the data are escaped. `from_data` makes one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector
    >>> from unirel.report import Report
    >>> report = Report.from_data(*load_iris(return_X_y=True), selector=BURSelector(n_features_to_select=2))
    >>> report.to_dict()["features"][0]["name"]
    'x3'
    """

    table: Table  #: What was selected from.
    path: SelectionPath  #: The selection that was asked for, first, and those for other weights of unique relevance.
    analysis: Analysis  #: How the selected features relate to each other and to the target.
    origin: Origin  #: Where the table comes from.
    title: str | None = None  #: Heading of the page.
    accuracy: Accuracy | None = None  #: How well the first features predict the target.
    no_accuracy: str = ""  #: Why there is none, in a sentence, if it is measured by default; empty otherwise.
    test: RelevanceTest | None = None  #: Which of all features are significant by themselves.
    stability: Stability | None = None  #: How often features are selected from halves of the rows.
    #: What the levels of discrete features are called, by position of the feature, for pictures.
    levels: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    #: Whether the selections were stopped by hand, so that some are missing and nothing was compared.
    interrupted: bool = False
    #: Pairs of features with most synergy, looked for where a page is made and that takes a part of a second.
    pairs: Interactions | None = None

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        selector: SearchSettings | None = None,
        sample_weight: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        title: str | None = None,
        origin: Origin | None = None,
        accuracy: str | None = AUTO,
        stability: int | None = None,
        groups: Any = None,
    ) -> Self:
        """Select features of a table and report on it.

        Parameters
        ----------
        X, y : array or frame, array or series
            The features and the target, as in `BURSelector.fit`.
        selector : BURSelector, optional
            How to select; ``BURSelector()`` if not given.
        sample_weight : array of shape (n_samples,), optional
            How many rows each row stands for.
        feature_names : list of str, optional
            Names of the columns of an array; the selector may name columns by them.
        title : str, optional
            Heading of the page.
        origin : Origin, optional
            Names for the data and the target.
        accuracy : {"auto", "knn", "rf", "svm", "logistic"} or None
            Cross-validate a model with the first feature, the first two, and so on, selected anew from the training
            rows of each fold; the recommended number of features comes from it. "auto" is a linear model and
            extremely randomised trees on at most 3,000 rows, where that is possible; a name is this classifier on all
            rows. For a continuous target it is the regressor of that kind, and R2 is shown. None measures nothing.
        stability : int, optional
            Select again from this many random halves of the rows, and show how often each feature is selected.
        groups : array of shape (n_samples,) or RowGroups, optional
            Whose each row is, if rows belong together: tests, folds and halves respect it.

        Returns
        -------
        Report
            With `beta` above 0 it compares the selection with those for other weights.
        """
        # Rows can be taken apart: numpy would turn a list that mixes numbers and texts into texts.
        X = np.array(X, dtype=object) if isinstance(X, list | tuple) else collected(X)
        settings = settings_of(selector)
        deadline = Deadline.after(settings.max_seconds)
        types: dict[str, Any] = {"discrete_features": settings.discrete_features, "target_type": settings.target_type}
        with deadline.applied(READING_SECONDS):
            table = Table.from_data(X, y, feature_names=feature_names, several=True, **types)
        asked: dict[str, Any] = {"accuracy": accuracy, "stability": stability, "sample_weight": sample_weight}
        with deadline.applied():
            return cls.from_table(table, settings, origin or Origin(), rows=(X, y), title=title, groups=groups, **asked)

    @classmethod
    def from_selection(cls, selection: Selection, X: Any, y: Any, **more: Any) -> Self:
        """Select again with the settings and the weights of a selection; `more` is as in `from_data`."""
        selector = more.pop("selector", None)
        if selector is None:
            selector = SearchSettings(**selection.settings)
            try:
                selector.settings()
            except ValueError as error:
                raise ValueError(f"pass selector=, which cannot be made again from its settings: {error}") from None
        return cls.from_data(X, y, selector=selector, **{"sample_weight": selection.sample_weight, **more})

    @classmethod
    def from_table(
        cls,
        table: Table,
        selector: SearchSettings,
        origin: Origin,
        *,
        rows: tuple[Any, Any] = (None, None),
        sample_weight: ArrayLike | None = None,
        title: str | None = None,
        page: bool = True,
        accuracy: str | None = None,
        stability: int | None = None,
        groups: Any = None,
    ) -> Self:
        """Select features of a table that has been read, and compare those that are selected.

        For a `page` they are also selected with other weights of unique relevance, and joint information is estimated
        for every number of features; for it, and with `stability`, every feature is tested by itself. Accuracy and
        stability need the `rows` that the table was read from.
        """
        offer_groups(table, selector.groups)
        table = grouped(table, selector.groups)
        if accuracy is not None or stability is not None:
            check_measures(accuracy, stability, table, selector, sample_weight)
        deadline, settings = Deadline.after(selector.max_seconds), selector.settings()
        betas = weights_to_show(table, settings) if page else [settings.beta]
        path = select_by_weights(table, settings, betas, sample_weight, groups)
        interrupted = len(path) < len(betas) or path.selections[-1].interrupted
        analysis, tested, pairs = Analysis(), None, None
        if not interrupted:
            with suppress(TimeoutError), deadline.at_least(READING_SECONDS).applied():
                analysis = analyse(table, path.selections[0], curve=page, sample_weight=sample_weight)
                if page or stability or table.n_samples * len(table.features) <= _QUICKLY_TESTED:
                    tested = find_significant(table, sample_weight, selector.n_jobs, text.ALPHA, groups)
                if page:
                    pairs = find_pairs_quickly(table, sample_weight, selector.n_jobs)
        levels = read_levels(table, rows[0], path.selections[0].order[:MOST_DRAWN].tolist()) if page else {}
        found: dict[str, Any] = {"test": tested, "levels": levels, "interrupted": interrupted, "pairs": pairs}
        report = cls(table, path, analysis, origin, title, **found)
        return report._measured(rows, groups, selector, stability, accuracy)

    def _measured(self, rows: Any, groups: Any, selector: Any, stability: int | None, accuracy: str | None) -> Self:
        """The same report with its stability and accuracy, as far as there is time; a warning says what is missing."""
        report = self
        for name, value in {"stability": stability, "accuracy": accuracy}.items():
            if value is None or report.interrupted:
                continue
            why = "" if report.selection.complete else "the selection is incomplete"
            if value == AUTO and (impossible := why_unmeasured(self.table, selector, self.selection.sample_weight)):
                why = f"it {impossible}"
            try:
                if not why:
                    with quietly():  # about what has been said of all rows
                        report = replace(report, **{name: self._measure(name, value, rows, groups, selector)})
            except TimeoutError:
                why = f"the time budget was used up; give more than max_seconds={selector.max_seconds:g}"
            except KeyboardInterrupt:
                report = replace(report, interrupted=True)
            if why and value == AUTO:  # nobody asked for it
                report = replace(report, no_accuracy=f"Accuracy was not measured: {why}.")
            elif why:
                warn(f"the {name} was not measured, because {why}")
        return report

    def _measure(self, name: str, value: Any, rows: tuple[Any, Any], groups: Any, selector: SearchSettings) -> Any:
        pinned = pin_types(selector, self.table, rows[0])
        if name == "accuracy":
            progress = progress_of(selector.verbose, "measuring accuracy")
            return measure_accuracy(value, *rows, self.table, self.selection, pinned, progress, groups)
        from unirel.inference.stability import selection_stability  # slow to import

        pinned.set_params(verbose=False, max_seconds=None)
        how: Any = {"n_subsamples": value, "n_jobs": selector.n_jobs, "verbose": selector.verbose, "groups": groups}
        return selection_stability(*rows, selector=pinned, **how)

    @property
    def selection(self) -> Selection:
        """The selection that was asked for."""
        return self.path.selections[0]

    @property
    def words(self) -> str:
        """The answer in a paragraph."""
        return text.selection_in_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything the page says, as plain lists, numbers and strings."""
        return self._answer

    def rows(self) -> list[dict[str, Any]]:
        """One row per selected feature."""
        return list(self._answer["features"][: len(self.selection)])

    def following_rows(self) -> list[dict[str, Any]]:
        """One row per feature that is listed after the selected ones, because it adds nothing detectable."""
        n_selected = len(self.selection)
        return list(self._answer["features"][n_selected : n_selected + len(self.selection.following)])

    def paragraphs(self) -> list[str]:
        """The answer in words for a terminal: the selection, redundant features, warnings, and how sure it is."""
        answer = self._answer
        careful = f"Careful: {' '.join(answer['warnings'])}" if answer["warnings"] and self.selection.complete else ""
        first = f"{answer['headline']} {text.copies_in_words(self)}".strip()
        significance = sure.significance_in_words(self)
        others = [one for one in answer["certainty"] if one != significance]
        said = (first, f"{answer['words']} {significance}".strip(), careful, *others, self.no_accuracy)
        return list(filter(None, said))

    def document(self) -> dict[str, Any]:
        """The selection with what was found about it, as it is written to a file."""
        answer, known = self._answer, self.analysis.joint_information
        listed = ("target", "rows", "rows_without_target", "features", "target_kind", "classes", "dropped", "ignored")
        about = {name: answer["data"][name] for name in listed}
        about["classes"] = about["classes"] and [one["label"] for one in about["classes"]]
        looked = {"significant": self.test, "frequency": self.stability}
        more = [name for name, found in looked.items() if found is not None]
        more += ["kind", "given_others", "partner", "shared"]
        selection = self.selection.to_dict()
        for feature, row in zip(selection["features"], self.rows(), strict=True):
            feature.update({name: row[name] for name in more})
        together = plain(known[-1]) if len(known) and len(known) == len(self.selection) else None
        words = " ".join(filter(None, (answer["headline"], text.copies_in_words(self), answer["words"])))
        found: dict[str, Any] = {"joint_information": together, "words": words, "notes": list(self.origin.notes)}
        found |= {} if self.stability is None else {"stability": self.stability.to_dict()}
        return {"data": {"source": self.origin.source, **about}, **selection, **found}

    def to_html(self) -> str:
        """The page."""
        check_installed()
        from unirel.report.page import render

        return render(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, in full or not at all, and return its path."""
        target = Path(path)
        write_text(target, self.to_html())
        return target

    def _repr_html_(self) -> str:
        """The answer, the selected features and their pictures, for a notebook; `save` writes the whole page."""
        with suppress(ImportError):
            check_installed()
            from unirel.report.page import render_notebook

            return render_notebook(self)
        return f"<div><p>{escape(self._answer['headline'])}</p>{self.selection._repr_html_()}</div>"

    @cached_property
    def _answer(self) -> dict[str, Any]:
        selection, enough = self.selection, text.find_enough(self)
        rows = list(self._rows())
        settings = {name: str(value) for name, value in selection.settings.items() if value not in (None, [], {})}
        return {
            "title": self.title or f"Features for {text.quoted(self.origin.target)}",
            "headline": text.headline(self, enough),
            "enough": None if enough is None or enough.rises else enough.n,
            "words": self.words,
            "warnings": text.warnings_of(self),
            "groups": self._groups(),
            "pairs": pairs_for_page(self.pairs, text.ALPHA),
            "left_out": _left_out(rows),
            "certainty": sure.certainty_in_words(self),
            "source": self.origin.source,
            "target": self.origin.target,
            "complete": selection.complete,
            "reason": selection.reason,
            "data": self._data(),
            "features": rows,
            "n_selected": len(selection),
            "beta": selection.beta,
            "entropy": self.analysis.entropy,
            "accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
            "no_accuracy": self.no_accuracy,
            "notes": list(self.origin.notes),
            "settings": settings,
            "versions": {"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
            "snippet": text.snippet(selection, self.origin),
        }

    def _rows(self) -> Iterator[dict[str, Any]]:
        """One row per feature: the selected ones in order, those that follow, then the others, most relevant first."""
        selection, test, stability = self.selection, self.test, self.stability
        chosen: list[int] = selection.order.tolist()
        relevance = np.nan_to_num(selection.relevance, nan=-1.0)
        following: list[int] = selection.following.tolist()
        others = set(self.table.features.tolist()).difference(chosen, following)
        rest = [*following, *sorted(others, key=lambda one: (-relevance[one], one))]
        unique = np.full(len(relevance), np.nan) if selection.unique_relevance is None else selection.unique_relevance
        spent = selection.costs

        def costs(place: int | None) -> dict[str, Any]:
            known = {} if spent is None else {"cost": spent, "total_cost": spent.cumsum()}
            return {name: None if place is None else float(values[place]) for name, values in known.items()}

        told = [None if label is None else str(label) for label in selection.for_class]
        why = [*text.why_selected(self), *(text.why_left_out(feature, self) for feature in rest)]
        for place, (feature, reason) in enumerate(zip([*chosen, *rest], why, strict=True)):
            column, selected = self.table.columns[feature], place < len(chosen)
            similar = self.analysis.most_similar(place) if selected else self._nearest(feature)
            given = self.analysis.given.of(place) if selected else None
            adjusted = np.nan if test is None else test.adjusted[feature]
            yield {
                "step": place + 1 if selected else None,
                "name": column.name,
                "relevance": plain(selection.relevance[feature]),
                "unique_relevance": plain(unique[feature]),
                "given_others": given,
                "supported": None if selection.n_supported is None else selected and place < selection.n_supported,
                "significant": None if np.isnan(adjusted) else "yes" if adjusted <= text.ALPHA else "no",
                "frequency": None if stability is None else float(stability.frequency[feature]),
                "why": reason.words,
                "partner": similar[0][0] if similar else None,
                "shared": similar[0][1] if similar else None,
                "class": told[place] if selected and told else None,
                "kind": column.kind,
                "missing": column.n_missing,
                "score": plain(selection.scores[place]) if selected else None,
                **costs(place if selected else None),
                "partners": "; ".join(f"{name} ({shared:.2f})" for name, shared in similar),
                "heading": reason.heading,
                "unsure": sure.unsure_of(feature, self) if selected else [],
            }

    def _nearest(self, feature: int) -> list[tuple[str, float]]:
        """The selected feature that one which follows is most similar to."""
        if feature not in self.selection.following or feature not in self.analysis.partners:
            return []
        place, value, _ = self.analysis.partners[feature]
        return [(self.selection.selected_names[place], value)]

    def _groups(self) -> list[dict[str, Any]]:
        """Features that are redundant with each other, the most relevant of each group marked."""
        steps = [{"step": step, "name": name} for step, name in enumerate(self.selection.selected_names, start=1)]
        return [
            {
                "members": [{**steps[place], "best": place == group.best} for place in group.members],
                "others": [name for name, _ in group.others],
                "words": text.group_in_words(group, self),
            }
            for group in self.analysis.groups
        ]

    def _data(self) -> dict[str, Any]:
        """What is to be known about the rows and columns."""
        table, origin = self.table, self.origin
        features = table.columns[: table.n_features]
        used = [column for column in features if column.kind != "ignored"]
        missing = sorted((column for column in used if column.n_missing), key=lambda column: -column.n_missing)
        joined = {name for members in table.members.values() for name in members}
        ignored = [(column.name, column.reason) for column in features if column.kind == "ignored"]
        ignored = [*origin.ignored, *(one for one in ignored if one[0] not in joined)]
        classes = table.classes if table.n_targets == 1 else None
        labels = None if classes is None else zip(classes.tolist(), table.class_sizes.tolist(), strict=True)
        targets = table.columns[-table.n_targets :]
        return {
            "target": origin.target,
            "rows": table.n_samples,
            "rows_without_target": origin.n_without_target,
            "features": len(table.features),
            "target_kind": ", ".join(column.kind for column in targets),
            "target_reason": "; ".join(column.reason for column in targets),
            "classes": None if labels is None else [{"label": str(label), "rows": n} for label, n in labels],
            "dropped": list(origin.dropped),
            "ignored": [{"name": name, "reason": reason} for name, reason in ignored],
            "kinds": dict(sorted(Counter(column.kind for column in used).items())),
            "missing": [{"name": column.name, "rows": column.n_missing} for column in missing],
        }


def _left_out(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["step"] is None:
            found.setdefault(row["heading"], []).append(row["name"])
    groups = sorted(found.items(), key=lambda item: -len(item[1]))
    return [{"heading": heading, "names": names[:_MOST_NAMED], "n": len(names)} for heading, names in groups]
