"""`unirel select`: which features to keep."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirel.cli import options as o
from unirel.cli.exits import BadInput, Exit
from unirel.cli.files import TextFormat
from unirel.cli.messages import Messages
from unirel.cli.problem import Problem, Request, find, open_problem, parse_kinds, read_problem, split_names

if TYPE_CHECKING:
    from unirel.report.accuracy import Accuracy
    from unirel.report.analysis import Analysis
    from unirel.results import Selection, SelectionPath
    from unirel.table import Table

EXAMPLES = """Examples:

unirel select data.csv --target outcome

unirel select data.parquet -t outcome -k auto --report outcome.html --accuracy knn

zcat big.csv.gz | unirel select - -t outcome --json > selection.json
"""

HEADERS = ("step", "name", "kind", "score", "relevance", "unique", "most redundant with", "shared")
COLUMNS = ("step", "name", "kind", "score", "relevance", "unique_relevance", "partner", "shared")


def command(
    data: o.Data,
    target: o.Target = None,
    drop_missing_target: o.DropMissingTarget = False,
    target_kind: o.TargetKind = o.TargetKindName.AUTO,
    kinds: o.Kinds = None,
    drop: o.Drop = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    n_features: o.NFeatures = None,
    criterion: o.Criterion = o.CriterionName.JMI,
    beta: o.Beta = 0.1,
    unique_relevance: o.UniqueRelevance = o.UniqueMethod.REFERENCE,
    classifier: o.Classifier = None,
    estimator: o.Estimator = o.EstimatorName.KNN,
    neighbors: o.Neighbors = 3,
    metric: o.Metric = o.MetricName.AUTO,
    include: o.Include = None,
    exclude: o.Exclude = None,
    max_seconds: o.MaxSeconds = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    save: o.Save = None,
    report: o.ReportFile = None,
    accuracy: o.Accuracy = None,
    quiet: o.Quiet = False,
) -> int:
    """Select the features that tell most about a target, each beside those already selected."""
    started = time.monotonic()
    outputs = _Outputs(as_json, as_csv, save, report)
    if classifier is not None and unique_relevance is not o.UniqueMethod.CLASSIFIER:
        raise BadInput("--classifier goes with --unique-relevance classifier")
    if accuracy is not None and report is None:
        raise BadInput(
            f"--accuracy {accuracy.value} is shown in the report; name a file for it with --report FILE.html"
        )
    messages = Messages(quiet)
    text = TextFormat(delimiter, encoding, decimal)
    problem = open_problem(Request(data, target, drop or (), kinds or (), drop_missing_target, text), messages)
    table = read_problem(problem, kinds, target_kind.value, messages)

    from unirel.cli.searching import Interruption, parse_n_features, run_accuracy, run_search

    if accuracy is not None:
        from unirel.report.accuracy import check_accuracy

        check_accuracy(accuracy.value, table)

    boosted = unique_relevance is not o.UniqueMethod.NONE
    settings: dict[str, Any] = {
        "n_features_to_select": parse_n_features(n_features, len(table.features)),
        "unique_relevance": unique_relevance.value if boosted else "reference",
        "classifier": None if classifier is None else classifier.value,
        "estimator": estimator.value,
        "n_neighbors": neighbors,
        "metric": metric.value,
        "include": [find(name, table.names, "--include") for name in split_names(include, table.names)],
        "exclude": [find(name, table.names, "--exclude") for name in split_names(exclude, table.names)],
        "max_seconds": None if max_seconds is None else max(0.0, max_seconds - (time.monotonic() - started)),
        "random_state": seed,
        "n_jobs": jobs,
    }
    interruption = Interruption()
    betas = _betas(beta if boosted else 0.0, along=report is not None and boosted)
    path = run_search(table, criterion.value, betas, settings, messages, interruption, quiet)
    answer = _Answer.of(problem, table, _with_budget(path, max_seconds), settings, messages, interruption.happened)
    outputs.print(answer)
    if accuracy is not None and not interruption.happened:
        # What is left of the time that was asked for.
        settings["max_seconds"] = None if max_seconds is None else max_seconds - (time.monotonic() - started)
        found = run_accuracy(accuracy.value, problem, table, answer.selection, settings, messages, interruption, quiet)
        answer = replace(answer, accuracy=found)
    if interruption.happened:
        so_far = "" if answer.selection.complete else " so far"
        messages.tell(f"interrupted; {len(answer.selection)} features{so_far}, no file was written")
        return Exit.INTERRUPTED
    outputs.write(answer, parse_kinds(kinds, table.names), target_kind.value)
    if not answer.selection.complete:
        messages.tell(f"incomplete: {answer.selection.reason}; {len(answer.selection)} features so far")
    return Exit.OK


def _betas(beta: float, along: bool) -> list[float]:
    """The weight asked for and, for the report, others to compare it with; it comes first, so it gets the time."""
    others = [step / 10 for step in range(11)] if along else []
    return [beta, *(other for other in others if other != beta)]


def _with_budget(path: "SelectionPath", max_seconds: float | None) -> "SelectionPath":
    """Say the time that was asked for, not what reading the file had left of it."""
    if max_seconds is None:
        return path
    reason = f"the time budget of {max_seconds:g} s was used up"
    selections = [
        replace(
            selection,
            reason=reason if "budget" in selection.reason else selection.reason,
            settings={**selection.settings, "max_seconds": max_seconds},
        )
        for selection in path
    ]
    return replace(path, selections=tuple(selections))


@dataclass(frozen=True)
class _Answer:
    """Everything that is known when the search has ended."""

    problem: Problem
    table: "Table"
    path: "SelectionPath"
    analysis: "Analysis"
    words: str
    notes: list[str]
    accuracy: "Accuracy | None" = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        table: "Table",
        path: "SelectionPath",
        settings: dict[str, Any],
        messages: Messages,
        hurry: bool,
    ) -> "_Answer":
        """Compare the selected features, unless somebody is waiting for the end."""
        from unirel.report.analysis import analyse
        from unirel.report.words import describe

        selection = path.selections[0]
        analysis = analyse(table, selection.order[:1] if hurry else selection.order, settings, curve=len(path) > 1)
        words = describe(selection, table, analysis, problem.target)
        return cls(problem, table, path, analysis, words, messages.notes)

    @property
    def selection(self) -> "Selection":
        return self.path.selections[0]

    def rows(self) -> list[list[Any]]:
        """One row per selected feature, with the columns of `COLUMNS`."""
        rows = []
        for place, feature in enumerate(self.selection.to_dict()["features"]):
            partner, shared = next(iter(self.analysis.partners(place, 1)), (None, None))
            kind = self.table.columns[feature["feature"]].kind
            numbers = [feature[name] for name in ("score", "relevance", "unique_relevance")]
            rows.append([feature["step"], feature["name"], kind, *numbers, partner, shared])
        return rows

    def document(self) -> dict[str, Any]:
        """What is printed as JSON and saved."""
        from unirel.cli.selection_file import document

        table = self.table
        data = {
            "rows": table.n_samples,
            "rows_without_target": self.problem.n_without_target,
            "features": len(table.features),
            "target_kind": table.columns[table.target].kind,
            "classes": None if table.classes is None else [str(label) for label in table.classes.tolist()],
            "dropped": self.problem.dropped,
            "ignored": [{"name": name, "reason": reason} for name, reason in ignored_columns(self.problem, table)],
        }
        selection = self.selection.to_dict()
        for feature, row in zip(selection["features"], self.rows(), strict=True):
            feature.update(kind=row[2], partner=row[6], shared=row[7])
        together = self.analysis.joint_information.tolist()
        selection.update(joint_information=together[-1] if together else None, words=self.words)
        return document(self.problem.source, self.problem.target, data, {**selection, "notes": self.notes})


def ignored_columns(problem: Problem, table: "Table") -> list[tuple[str, str]]:
    """Columns that were left out, and why, whoever left them out."""
    by_library = [(column.name, column.reason) for column in table.columns if column.kind == "ignored"]
    return [*problem.ignored.items(), *by_library]


@dataclass(frozen=True)
class _Outputs:
    """Where the answer goes; checked before the work begins."""

    as_json: bool
    as_csv: bool
    save: Path | None
    report: Path | None

    def __post_init__(self) -> None:
        o.check_one_format(self.as_json, self.as_csv)
        for path in filter(None, (self.save, self.report)):
            if path.is_dir():
                raise BadInput(f"'{path}' is a folder; name a file")
            if not path.parent.is_dir():
                raise BadInput(f"there is no folder '{path.parent}' to write '{path.name}' to")
        if self.report is not None:
            from unirel.report.render import check_installed

            check_installed()

    def print(self, answer: _Answer) -> None:
        """Print the answer as a table and words, as JSON, or as CSV."""
        from unirel.cli.output import print_csv, print_paragraph, print_table
        from unirel.cli.selection_file import to_json

        if self.as_json:
            print(to_json(answer.document()), end="")
        elif self.as_csv:
            print_csv(COLUMNS, answer.rows())
        else:
            print_table(HEADERS, answer.rows())
            print_paragraph(answer.words)

    def write(self, answer: _Answer, kinds: dict[str, Any], target_kind: str) -> None:
        """Write the files that were asked for."""
        from unirel.cli.selection_file import to_json
        from unirel.cli.writing import write_text

        if self.save is not None:
            write_text(self.save, to_json(answer.document()))
        if self.report is not None:
            from unirel.report import Report
            from unirel.report.summarize import Origin

            problem = answer.problem
            origin = Origin(
                source=problem.source,
                target=problem.target,
                dropped=tuple(problem.dropped),
                ignored=tuple(problem.ignored.items()),
                n_without_target=problem.n_without_target,
                notes=tuple(answer.notes),
                reading=tuple(problem.snippet),
                kinds=kinds,
                target_kind=target_kind,
            )
            page = Report(answer.table, answer.path, answer.analysis, origin, answer.accuracy)
            write_text(self.report, page.to_html())
