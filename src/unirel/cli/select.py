"""`unirel select`: which features to keep."""

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from unirel.cli.documents import to_json
from unirel.cli.exits import BadInput, Exit
from unirel.cli.messages import Messages
from unirel.cli.options import OUTPUT, flag, takes
from unirel.cli.output import Printing
from unirel.cli.request import Input, Request
from unirel.cli.writing import check_path, write_text
from unirel.options import CLASSIFIER_NAMES, Option, SelectorOptions, check_whole_number, complete
from unirel.work import Progress, ProgressBar

if TYPE_CHECKING:
    from unirel.report import Report
    from unirel.results import Accuracy, Stability

EXAMPLES = """Examples:

unirel select data.csv --target outcome

unirel select data.parquet -t outcome -k auto --report outcome.html --accuracy knn

zcat big.csv.gz | unirel select - -t outcome --json > selection.json
"""

# Pairs of features that are exchanged for each other, to be named.
_MOST_PAIRS = 5
HEADERS = ("step", "name", "kind", "score", "relevance", "unique", "most redundant with", "shared")
COLUMNS = ("step", "name", "kind", "score", "relevance", "unique_relevance", "partner", "shared")


class SelectOptions(SelectorOptions, total=False):
    """The options of the selector, and how the page judges it."""

    accuracy: Annotated[
        str | None,
        Option(
            None,
            "str, optional",
            "Show in the --report how well this classifier predicts with 1, 2, ... features; knn is quick.",
            flags=("--accuracy",),
            choices=CLASSIFIER_NAMES,
        ),
    ]
    stability: Annotated[
        int | None,
        Option(
            None,
            "int, optional",
            "Select again in this many halves of the rows, and say how often each feature comes out.",
            lambda parameter, value: value is None or check_whole_number(parameter, value, 2),
            flags=("--stability",),
        ),
    ]


@dataclass(frozen=True)
class Files:
    """What is written; checked before the work begins."""

    save: Annotated[
        Path | None, flag(OUTPUT, "Write the selection to a file for `unirel apply`.", "--save", metavar="FILE.json")
    ] = None
    report: Annotated[
        Path | None, flag(OUTPUT, "Write a page to look at and to send.", "--report", metavar="FILE.html")
    ] = None

    def __post_init__(self) -> None:
        for path in filter(None, (self.save, self.report)):
            check_path(path)
        if self.report is not None:
            from unirel.report.render import check_installed

            check_installed()

    def write(self, report: "Report") -> None:
        """Write the files that were asked for."""
        if self.save is not None:
            write_text(self.save, to_json("selection", _document(report)))
        if self.report is not None:
            write_text(self.report, report.to_html())


@takes(SelectOptions)
def command(request: Request, printing: Printing, files: Files, **options: Any) -> int:
    """Select the features that tell most about a target, each beside those already selected."""
    started = time.monotonic()
    messages, accuracy, stability = printing.messages, options.pop("accuracy"), options.pop("stability")
    if options["classifier"] is not None and options["unique_relevance"] != "classifier":
        raise BadInput("--classifier goes with --unique-relevance classifier")
    if accuracy is not None and files.report is None:
        raise BadInput(f"--accuracy {accuracy} is shown in the report; name a file for it with --report FILE.html")
    given = request.open(options, messages)
    from unirel.report import Report

    with messages.catching_warnings():
        table = given.read()
        if accuracy is not None:
            from unirel.report.accuracy import check_accuracy

            check_accuracy(accuracy, table)
        chosen = complete(SelectorOptions, given.options, "select")
        chosen["verbose"] = not printing.quiet
        spent = time.monotonic() - started
        report = Report.from_table(table, chosen, given.origin, along=files.report is not None, spent=spent)
    stable = None if stability is None else _stability(stability, given, report, chosen, printing)
    report = _with_notes(report, messages)
    rows = [list(row.values()) for row in _rows(report)]
    document = _document(report) if stable is None else {**_document(report), "stability": stable.to_dict()}
    printing.show("selection", document, COLUMNS, rows, report.words, HEADERS)
    selection, interrupted = report.selection, report.interrupted
    if accuracy is not None and not interrupted:
        try:
            measured = _measure(accuracy, given, report, chosen, started, printing)
            report = _with_notes(replace(report, accuracy=measured), messages)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        so_far = "" if selection.complete else " so far"
        messages.tell(f"interrupted; {len(selection)} features{so_far}, no file was written")
        return Exit.INTERRUPTED
    files.write(report)
    if not selection.complete:
        messages.tell(f"incomplete: {selection.reason}; {len(selection)} features so far")
    return Exit.OK


def _with_notes(report: "Report", messages: Messages) -> "Report":
    return replace(report, origin=replace(report.origin, notes=tuple(messages.notes)))


def _stability(
    n_subsamples: int, given: Input, report: "Report", options: SelectorOptions, printing: Printing
) -> "Stability | None":
    """Select in many halves of the rows, and note how often the selected features come out."""
    from unirel import BURSelector, selection_stability

    messages, selection = printing.messages, report.selection
    if not selection.complete:
        messages.note("the stability was not measured, because the selection is incomplete")
        return None
    parameters: dict[str, Any] = {**options}
    selector = BURSelector(**{name: parameters[name] for name in BURSelector().get_params() if name != "verbose"})
    # What single halves warn of has been said of all rows, or is counted.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = selection_stability(
            selector, given.X, given.y, n_subsamples=n_subsamples, n_jobs=options["n_jobs"], verbose=not printing.quiet
        )
    shares = [f"'{selection.names[feature]}' in {result.frequency[feature]:.0%}" for feature in selection.order]
    messages.note(f"{result.in_numbers}, each half of the rows, with a selection of its own: {', '.join(shares)}")
    for pair in result.exchangeable[:_MOST_PAIRS]:
        one, other = selection.names[pair.one], selection.names[pair.other]
        messages.note(
            f"'{one}' and '{other}' are exchanged for each other: one of them in {pair.either:.0%}, both in "
            f"{pair.both:.0%}"
        )
    return result


def _measure(
    accuracy: str, given: Input, report: "Report", options: SelectorOptions, started: float, printing: Printing
) -> "Accuracy | None":
    """Cross-validate a classifier with the first features; None, with a note, if time does not allow it."""
    from unirel.report.accuracy import measure_accuracy

    messages = printing.messages
    if not report.selection.complete:
        messages.note("the accuracy was not measured, because the selection is incomplete")
        return None
    bar = None if printing.quiet else ProgressBar("measuring accuracy")
    progress = _until(options["max_seconds"], started, bar)
    try:
        with messages.catching_warnings():
            return measure_accuracy(accuracy, given.X, given.y, report.table, report.selection, options, progress)
    except TimeoutError:
        messages.note(
            "the accuracy was not measured, because the time budget was used up; give more with --max-seconds"
        )
    return None


def _until(max_seconds: float | None, started: float, progress: Progress | None) -> Progress:
    """A progress that ends the work when the time since the start is up."""

    def step(done: int, total: int) -> None:
        if progress is not None:
            progress(done, total)
        if max_seconds is not None and time.monotonic() - started > max_seconds:
            raise TimeoutError

    return step


def _rows(report: "Report") -> list[dict[str, Any]]:
    """One row per selected feature, with the columns of `COLUMNS`."""
    from unirel.report.summarize import summarize_features

    rows = summarize_features(report.table, report.selection, report.analysis)[: len(report.selection)]
    return [{name: row["unique" if name == "unique_relevance" else name] for name in COLUMNS} for row in rows]


def _document(report: "Report") -> dict[str, Any]:
    """What is printed as JSON and saved."""
    from unirel.report.summarize import summarize_data

    origin, about = report.origin, summarize_data(report.table, report.origin)
    data = {
        "source": origin.source,
        "target": origin.target,
        "rows": about["rows"],
        "rows_without_target": about["rows_without_target"],
        "features": len(report.table.features),
        "target_kind": about["target_kind"],
        "classes": about["classes"] and [one["label"] for one in about["classes"]],
        "dropped": about["dropped"],
        "ignored": about["ignored"],
    }
    selection = report.selection.to_dict()
    for feature, row in zip(selection["features"], _rows(report), strict=True):
        feature.update({name: row[name] for name in ("kind", "partner", "shared")})
    together = report.analysis.together
    known = None if together is None or together[0] < len(report.selection) else together[1]
    return {"data": data, **selection, "joint_information": known, "words": report.words, "notes": list(origin.notes)}
