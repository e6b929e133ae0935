"""`unirel select`: which features to keep."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from unirel._runtime import READING_SECONDS, OutOfTime, ProgressBar, end_of, until
from unirel.cli.documents import to_json
from unirel.cli.exits import BadInput, Exit
from unirel.cli.forecast import forecast, guess_shape, wait_in_words
from unirel.cli.interrupts import interrupts
from unirel.cli.messages import Messages
from unirel.cli.options import FIRST, flag, takes
from unirel.cli.output import Printing, bar, shorten, width_of_output
from unirel.cli.request import Input, Request
from unirel.cli.writing import check_path, write_text
from unirel.options import CLASSIFIER_NAMES, Option, SelectorOptions, check_whole_number, complete

if TYPE_CHECKING:
    from unirel.inference.findings import Accuracy
    from unirel.report import Report

Measured = TypeVar("Measured")

EXAMPLES = """Examples:

unirel select data.csv --target outcome

unirel select data.parquet -t outcome -k auto --report outcome.html --accuracy knn

unirel select 'parts/*.parquet' -t outcome --scratch /fast/disk

zcat big.csv.gz | unirel select - -t outcome --json > selection.json
"""

# Columns of text that the answer takes beside the names.
_OTHERS = 40
# Pairs of features that are exchanged for each other, to be named.
_MOST_PAIRS = 5
HINT = "unirel: faster with --beta 0, with a smaller --unique-samples or with fewer features (-k)"
HEADERS = ("step", "name", "relevance", "unique", "shares most with")
COLUMNS = ("step", "name", "kind", "score", "relevance", "unique_relevance", "partner", "shared")
# Columns that are there only if somebody has looked; people see a question mark for the first.
MAYBE = ("significant", "frequency")
OFTEN = "selected in"


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
        Path | None, flag(FIRST, "Write the selection to a file for `unirel apply`.", "--save", metavar="FILE.json")
    ] = None
    report: Annotated[
        Path | None, flag(FIRST, "Write a page to look at and to send.", "--report", metavar="FILE.html")
    ] = None

    def __post_init__(self) -> None:
        for path in filter(None, (self.save, self.report)):
            check_path(path)
        if self.report is not None:
            from unirel.report.render import check_installed

            check_installed()

    def write(self, report: "Report", messages: Messages) -> None:
        """Write the files that were asked for."""
        if self.save is not None:
            write_text(self.save, to_json("selection", _document(report)))
        if self.report is not None:
            write_text(self.report, report.to_html())
            messages.tell(f"the page is in '{self.report}'")


@takes(SelectOptions)
def command(request: Request, printing: Printing, files: Files, **options: Any) -> int:
    """Select the features that tell most about a target, each beside those already selected."""
    return run(request, printing, files, options)


def run(request: Request, printing: Printing, files: Files, options: dict[str, Any]) -> int:
    """Select, print and write."""
    ends = end_of(options["max_seconds"])
    messages, accuracy, stability = printing.messages, options.pop("accuracy"), options.pop("stability")
    if options["classifier"] is not None and options["unique_relevance"] != "classifier":
        raise BadInput("--classifier goes with --unique-relevance classifier")
    if accuracy is not None and files.report is None:
        raise BadInput(f"--accuracy {accuracy} is shown in the report; name a file for it with --report FILE.html")
    _tell_wait(request, options, messages, page=files.report is not None)
    with until(ends + READING_SECONDS):
        given = request.open(options, messages, in_parts=True)
    from unirel.report import Report

    with messages.catching_warnings(), until(ends):
        with until(ends + READING_SECONDS):
            table = given.read()
        interrupts.stop_if_pending()
        if table.is_parted and accuracy is not None:
            raise BadInput("--accuracy needs all rows in memory; measure it on a sample, in a file of its own")
        if accuracy is not None:
            from unirel.report.accuracy import check_accuracy

            check_accuracy(accuracy, table)
        chosen = complete(SelectorOptions, given.options, "select")
        chosen["verbose"] = not printing.quiet
        chosen["progress"] = None if printing.quiet else ProgressBar("selecting", hint=HINT)
        if stability is not None:
            from unirel.report.certainty import check_stability

            check_stability(stability, table, chosen["unique_relevance"])
        along = files.report is not None
        report = Report.from_table(table, chosen, given.origin, along=along, test=along or stability is not None)
    if report.interrupted:
        interrupts.answer()
    if stability is not None and not report.interrupted:
        try:
            with until(ends):
                report = _with_stability(stability, given, report, chosen, printing)
        except KeyboardInterrupt:
            report = replace(report, interrupted=True)
            interrupts.answer()
    report = _with_notes(report, messages)
    rows, columns = _rows(report), _columns(report)
    words, then = _paragraphs(report), _next(request, files)
    printing.show(
        "selection",
        _document(report),
        columns,
        [list(row.values()) for row in rows],
        words,
        [*HEADERS, OFTEN] if "frequency" in columns else HEADERS,
        _shown(rows),
        then,
    )
    selection, interrupted = report.selection, report.interrupted
    if accuracy is not None and not interrupted:
        try:
            with until(ends):
                measured = _measure(accuracy, given, report, chosen, printing)
            report = _with_notes(replace(report, accuracy=measured), messages)
        except KeyboardInterrupt:
            interrupted = True
            interrupts.answer()
    if interrupted:
        so_far = "" if selection.complete else " so far"
        messages.tell(f"interrupted; {len(selection)} features{so_far}, no file was written")
        return Exit.INTERRUPTED
    files.write(report, messages)
    if not selection.complete:
        messages.tell(f"incomplete: {selection.reason}; {len(selection)} features so far")
    return Exit.OK


def _tell_wait(request: Request, options: dict[str, Any], messages: Messages, *, page: bool) -> None:
    """Say how long it will take, if that is long; what is not known beforehand the progress will say."""
    shape = guess_shape(request.data)
    if shape is not None and (words := wait_in_words(shape, forecast(shape, options, page=page))):
        messages.tell(words)


def _with_notes(report: "Report", messages: Messages) -> "Report":
    return replace(report, origin=replace(report.origin, notes=tuple(messages.notes)))


def _with_stability(
    n_subsamples: int, given: Input, report: "Report", options: SelectorOptions, printing: Printing
) -> "Report":
    """Select in many halves of the rows; the report as it is, with a note, if time does not allow it."""
    from unirel.report.certainty import measure_stability

    measured = _in_time(
        "stability",
        report,
        printing.messages,
        lambda: measure_stability(n_subsamples, given.X, given.y, options, verbose=not printing.quiet),
    )
    return report if measured is None else report.with_stability(measured)


def _measure(
    accuracy: str, given: Input, report: "Report", options: SelectorOptions, printing: Printing
) -> "Accuracy | None":
    """Cross-validate a classifier with the first features; None, with a note, if time does not allow it."""
    from unirel.report.accuracy import measure_accuracy

    bar = None if printing.quiet else ProgressBar("measuring accuracy")

    def measure() -> "Accuracy | None":
        with printing.messages.catching_warnings():
            return measure_accuracy(accuracy, given.X, given.y, report.table, report.selection, options, bar)

    return _in_time("accuracy", report, printing.messages, measure)


def _in_time(
    quantity: str, report: "Report", messages: Messages, measure: Callable[[], Measured | None]
) -> Measured | None:
    """What `measure` gives; None, with a note that says why, if the selection is incomplete or time runs out."""
    why = "the selection is incomplete"
    if report.selection.complete:
        try:
            return measure()
        except OutOfTime:
            why = "the time budget was used up; give more with --max-seconds"
    messages.note(f"the {quantity} was not measured, because {why}")
    return None


def _columns(report: "Report") -> list[str]:
    """Names of the columns of an answer: also of what was looked at beyond the usual ones."""
    known = report.certainty
    looked = {"significant": known.test, "frequency": known.stability}
    return [*COLUMNS, *(name for name in MAYBE if looked[name] is not None)]


def _rows(report: "Report") -> list[dict[str, Any]]:
    """One row per selected feature, with the columns of the answer."""
    from unirel.report.summarize import summarize_features

    rows = summarize_features(
        report.table, report.selection, report.analysis, report.surroundings, report.certainty, others=False
    )
    for row, feature in zip(rows, report.selection.order.tolist(), strict=True):
        row["unique_relevance"] = row["unique"]
        stability = report.certainty.stability
        row["frequency"] = None if stability is None else float(stability.frequency[feature])
    return [{name: row[name] for name in _columns(report)} for row in rows]


def _shown(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """The rows as people see them: no wider than the terminal, with bars, or with how often each comes out instead."""
    largest = max((row["relevance"] or 0.0 for row in rows), default=0.0)
    often = any("frequency" in row for row in rows)
    free = width_of_output() - _OTHERS - (len(OFTEN) - 1 if often else 0)
    wanted = [max((len(str(row[key] or "")) for row in rows), default=0) for key in ("name", "partner")]
    name = min(wanted[0], max(free // 2, free - wanted[1]))
    return [
        [
            row["step"],
            shorten(row["name"], name),
            _relevance(row) + ("" if often else bar(row["relevance"], largest, 8)),
            _number(row["unique_relevance"], ".3f").rjust(6),
            f"{_number(row['shared'], '.2f')} {shorten(row['partner'] or '', free - name)}".strip(),
            *([_number(row["frequency"], ".0%")] if often else []),
        ]
        for row in rows
    ]


def _relevance(row: dict[str, Any]) -> str:
    return _number(row["relevance"], ".2f") + ("?" if row.get("significant") == "no" else " ")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:z{form}}"  # without the sign of what is rounded to 0


def _paragraphs(report: "Report") -> list[str]:
    """The answer in words, features that repeat each other, and what to be careful about."""
    from unirel.report.reasons import group_in_words, warnings_of
    from unirel.report.words import selection_in_words

    groups = [
        " ".join(group_in_words(group, report.selection))
        for group in report.surroundings.groups
        if len(group.members) > 1
    ]
    careful = warnings_of(report.selection, report.table, report.surroundings, report.origin.target)
    said = [f"Careful: {' '.join(careful)}"] if careful and report.selection.complete else []
    words = selection_in_words(report.selection, report.table, report.analysis, report.origin.target, alike=not groups)
    return [words, *groups[:3], *said, *_certainty(report)]


def _certainty(report: "Report") -> list[str]:
    """How sure it is, as far as somebody has looked, and features that are exchanged for each other."""
    stability = report.certainty.stability
    exchanged = [
        f"'{report.table.names[pair.one]}' and '{report.table.names[pair.other]}' can be exchanged for each other: one "
        f"of the two is in {pair.either:.0%} of the subsamples, both are in {pair.both:.0%}."
        for pair in (() if stability is None else stability.exchangeable[:_MOST_PAIRS])
    ]
    words = report.certainty.words(report.selection)
    if "no" in map(report.certainty.significant, report.selection.order.tolist()):
        words[-1] += " A question mark stands beside what may be chance."
    return [*words, " ".join(exchanged)]


def _next(request: Request, files: Files) -> str:
    """A command that goes on from here."""
    if request.data == "-":
        return ""
    target = "" if request.target is None else f" -t {shlex.quote(request.target)}"
    data = shlex.quote(request.data)
    if files.report is None:
        return f"unirel report {data}{target}"
    if files.save is None:
        return f"unirel select {data}{target} --save selection.json"
    return f"unirel apply {shlex.quote(str(files.save))} {data} -o small.csv"


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
        feature.update({name: value for name, value in row.items() if name in ("kind", "partner", "shared", *MAYBE)})
    together = report.analysis.together
    known = None if together is None or together[0] < len(report.selection) else together[1]
    told = {"joint_information": known, "words": report.words, "notes": list(origin.notes)}
    stability = report.certainty.stability
    return {"data": data, **selection, **told, **({} if stability is None else {"stability": stability.to_dict()})}
