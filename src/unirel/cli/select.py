"""`unirel select`, `report` and `apply`: which features to keep, a page about them, and their columns of a file."""

import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel._runtime import OutOfTime, ProgressBar, end_of, until
from unirel.cli import BadInput, Exit
from unirel.cli.files import SUFFIXES, Input, check_names, open_data, read_table
from unirel.cli.options import (
    CLASSIFIERS,
    OUTPUT,
    Data,
    File,
    Printing,
    Selecting,
    flag,
    make_selector,
    split_names,
)
from unirel.cli.output import (
    Messages,
    Output,
    bar,
    check_path,
    read_selected_names,
    replacing,
    shorten,
    to_json,
    width_of_output,
    write_text,
)

if TYPE_CHECKING:
    from unirel import BURSelector
    from unirel.report import Report

SELECT_EXAMPLES = """unirel select data.csv --target outcome

unirel select data.parquet -t outcome -k auto --report outcome.html --accuracy knn

unirel select 'parts/*.parquet' -t outcome

zcat big.csv.gz | unirel select - -t outcome --json > selection.json"""
REPORT_EXAMPLES = """unirel report data.csv --target outcome

unirel report data.csv --target outcome -o outcome.html --accuracy knn"""
APPLY_EXAMPLES = """unirel apply selection.json new.csv -o small.parquet

unirel apply selection.json new.csv --keep id,outcome -o small.csv"""

# Columns of text that the answer takes beside the names.
_OTHERS = 40
# Pairs of features that are exchanged for each other, to be named.
_MOST_PAIRS = 5
HEADERS = ("step", "name", "relevance", "unique", "shares most with")
COLUMNS = ("step", "name", "kind", "score", "relevance", "unique_relevance", "partner", "shared")
# Columns that are there only if somebody has looked; people see a question mark for the first.
MAYBE = ("significant", "frequency")
_FORMATS = {".csv": "csv", ".tsv": "tsv", **SUFFIXES}


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What is looked at beside the selection, and what is written; checked before the work begins."""

    save: Path | None = flag(None, "--save", "Write the selection to a file for `unirel apply`.", metavar="FILE.json")
    accuracy: str | None = flag(
        None,
        "--accuracy",
        "Show in the report how well this classifier predicts with 1, 2, ... features; knn is quick.",
        panel=OUTPUT,
        among=CLASSIFIERS,
    )
    stability: int | None = flag(
        None, "--stability", "Select again in this many halves of the rows.", panel=OUTPUT, min=2
    )
    force: bool = flag(False, "--force", "Write over the file that is read.", panel=OUTPUT)

    def check(self, data: str, report: Path | None) -> None:
        """Refuse what cannot be written."""
        if self.accuracy is not None and report is None:
            raise BadInput(f"--accuracy {self.accuracy} is shown in the report; name a file with --report FILE.html")
        for path in filter(None, (self.save, report)):
            check_path(path, [data], self.force)
        if report is not None:
            from unirel.report.render import check_installed

            check_installed()


def select(
    context: typer.Context,
    data: Data,
    options: Selecting,
    writing: Writing,
    printing: Printing,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write a page to look at and to send.")
    ] = None,
) -> int:
    """Select the features that are most informative about a target, each given those already selected."""
    writing.check(data.data, report)
    output = Output(printing)
    given = open_data(data, output.messages, in_parts=True)
    selector = make_selector(options, given.names, given.kinds, given.target_type, verbose=output.verbose)
    found = _make_report(given, selector, output.messages, report is not None, writing)
    answer = Answer(found)
    output.show(
        "selection",
        answer.document,
        answer.columns,
        [list(row.values()) for row in answer.rows],
        answer.paragraphs,
        answer.headers,
        answer.shown,
        _next(context.obj, data, report, writing.save),
    )
    n_selected, complete = len(found.selection), found.selection.complete
    if found.interrupted:
        output.messages.tell(f"interrupted; {n_selected} features{'' if complete else ' so far'}, no file was written")
        return Exit.INTERRUPTED
    if writing.save is not None:
        write_text(writing.save, to_json("selection", answer.document))
    if report is not None:
        write_text(report, found.to_html())
        output.messages.tell(f"the page is in '{report}'")
    if not complete:
        output.messages.tell(f"incomplete: {found.selection.reason}; {n_selected} features so far")
    return Exit.OK


def report(
    context: typer.Context,
    data: Data,
    options: Selecting,
    writing: Writing,
    printing: Printing,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.html", help="Where to; named after the data if not given."),
    ] = None,
) -> int:
    """Select features and write a page about it, to look at and to send."""
    name = "report" if data.data == "-" else Path(data.data).name.split(".")[0] or "report"
    return select(context, data, options, writing, printing, output or Path(f"{name}.html"))


def _make_report(given: Input, selector: "BURSelector", messages: Messages, page: bool, writing: Writing) -> "Report":
    """Select, and look at what was asked for beside that, as far as time allows."""
    from unirel.options import SelectorOptions, complete
    from unirel.report import Report
    from unirel.report.accuracy import check_accuracy, measure_accuracy
    from unirel.report.certainty import check_stability, measure_stability

    options = complete(SelectorOptions, selector.get_params(), "select")
    ends, accuracy, stability = end_of(options["max_seconds"]), writing.accuracy, writing.stability
    with messages.catching_warnings(), until(ends):
        with until(math.inf):
            table = given.read()
        if accuracy is not None:
            if table.is_parted:
                raise BadInput("--accuracy needs all rows in memory; measure it on a sample, in a file of its own")
            check_accuracy(accuracy, table)
        if stability is not None:
            check_stability(stability, table, options["unique_relevance"])
        found = Report.from_table(table, options, given.origin, along=page, test=page or stability is not None)

        def with_stability() -> Report:
            return found.with_stability(
                measure_stability(int(stability or 0), given.X, given.y, options, verbose=options["verbose"])
            )

        def with_accuracy() -> Report:
            progress = ProgressBar("measuring accuracy") if options["verbose"] else None
            measured = measure_accuracy(str(accuracy), given.X, given.y, table, found.selection, options, progress)
            return replace(found, accuracy=measured)

        for quantity, asked, look in (("stability", stability, with_stability), ("accuracy", accuracy, with_accuracy)):
            if asked is None or found.interrupted:
                continue
            try:
                if found.selection.complete:
                    found = look()
                else:
                    messages.note(f"the {quantity} was not measured, because the selection is incomplete")
            except OutOfTime:
                messages.note(
                    f"the {quantity} was not measured, because the time budget was used up; give more with max_seconds="
                )
            except KeyboardInterrupt:
                found = replace(found, interrupted=True)
    return replace(found, origin=replace(found.origin, notes=tuple(messages.notes)))


class Answer:
    """What a report says, for a table, for people and for programs.

    Parameters
    ----------
    report : Report
        The report.
    """

    def __init__(self, report: "Report") -> None:
        self._report = report
        looked = {"significant": report.certainty.test, "frequency": report.certainty.stability}
        self.columns = [*COLUMNS, *(name for name in MAYBE if looked[name] is not None)]
        self.headers = (*HEADERS, "selected in") if "frequency" in self.columns else HEADERS
        self.rows = self._make_rows()

    def _make_rows(self) -> list[dict[str, Any]]:
        """One row per selected feature."""
        from unirel.report.summarize import summarize_features

        report = self._report
        rows = summarize_features(
            report.table, report.selection, report.analysis, report.surroundings, report.certainty, others=False
        )
        stability = report.certainty.stability
        for row, feature in zip(rows, report.selection.order.tolist(), strict=True):
            row["unique_relevance"] = row["unique"]
            row["frequency"] = None if stability is None else float(stability.frequency[feature])
        return [{name: row[name] for name in self.columns} for row in rows]

    @property
    def shown(self) -> list[list[Any]]:
        """The rows as people see them: no wider than the terminal, with bars, or with how often each is selected."""
        rows, often = self.rows, "frequency" in self.columns
        largest = max((row["relevance"] or 0.0 for row in rows), default=0.0)
        free = width_of_output() - _OTHERS - (10 if often else 0)
        wanted = [max((len(str(row[key] or "")) for row in rows), default=0) for key in ("name", "partner")]
        name = min(wanted[0], max(free // 2, free - wanted[1]))
        return [
            [
                row["step"],
                shorten(row["name"], name),
                number(row["relevance"], ".2f")
                + ("?" if row.get("significant") == "no" else " ")
                + ("" if often else bar(row["relevance"], largest, 8)),
                number(row["unique_relevance"], ".3f").rjust(6),
                f"{number(row['shared'], '.2f')} {shorten(row['partner'] or '', free - name)}".strip(),
                *([number(row["frequency"], ".0%")] if often else []),
            ]
            for row in rows
        ]

    @property
    def paragraphs(self) -> list[str]:
        """The answer in words, features that repeat each other, what to be careful about, and how sure it is."""
        from unirel.report.reasons import group_in_words, warnings_of
        from unirel.report.words import selection_in_words

        report, selection = self._report, self._report.selection
        groups = [
            " ".join(group_in_words(group, selection)) for group in report.surroundings.groups if len(group.members) > 1
        ]
        words = selection_in_words(selection, report.table, report.analysis, report.origin.target, alike=not groups)
        careful = warnings_of(selection, report.table, report.surroundings, report.origin.target)
        said = [f"Careful: {' '.join(careful)}"] if careful and selection.complete else []
        sure = report.certainty.words(selection)
        if any(row.get("significant") == "no" for row in self.rows):
            sure[-1] += " A question mark stands beside what may be chance."
        return [words, *groups[:3], *said, *sure, " ".join(self._exchanged())]

    def _exchanged(self) -> list[str]:
        stability, names = self._report.certainty.stability, self._report.table.names
        return [
            f"'{names[pair.one]}' and '{names[pair.other]}' can be exchanged for each other: one of the two is in "
            f"{pair.either:.0%} of the subsamples, both are in {pair.both:.0%}."
            for pair in (() if stability is None else stability.exchangeable[:_MOST_PAIRS])
        ]

    @property
    def document(self) -> dict[str, Any]:
        """What is printed as JSON and saved."""
        from unirel.report.summarize import summarize_data

        report, origin = self._report, self._report.origin
        about = summarize_data(report.table, origin)
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
        for feature, row in zip(selection["features"], self.rows, strict=True):
            feature.update({name: row[name] for name in row if name in ("kind", "partner", "shared", *MAYBE)})
        together, stability = report.analysis.together, report.certainty.stability
        known = None if together is None or together[0] < len(report.selection) else together[1]
        told = {"joint_information": known, "words": report.words, "notes": list(origin.notes)}
        return {"data": data, **selection, **told, **({} if stability is None else {"stability": stability.to_dict()})}


def number(value: float | None, form: str) -> str:
    """A number without the sign of what is rounded to 0."""
    return "" if value is None else f"{value:z{form}}"


def _next(arguments: list[str], data: Data, report: Path | None, save: Path | None) -> str:
    """A command that goes on from here, with the options of this one."""
    if data.data == "-":
        return ""
    if report is None:
        return shlex.join(["unirel", *arguments, "--report", "page.html"])
    if save is None:
        return shlex.join(["unirel", *arguments, "--save", "selection.json"])
    text = {"--delimiter": data.delimiter, "--decimal": data.decimal, "--encoding": data.encoding}
    given = [part for flag, value in text.items() if value not in (None, "utf-8") for part in (flag, value)]
    return shlex.join(["unirel", "apply", str(save), data.data, *given, "-o", "small.csv"])


def apply(
    selection: Annotated[str, typer.Argument(metavar="SELECTION", help="What `unirel select --save` wrote.")],
    file: File,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: .csv, .tsv, .parquet, .arrow or .feather."),
    ],
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COL,...", help="Columns to keep beside the selected ones.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file that is read.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages.")] = False,
) -> int:
    """Write the selected columns of a file to another file, in order of selection."""
    kind = _FORMATS.get(output.suffix.lower())
    if kind is None:
        raise BadInput(f"'{output}' has no known ending; end it with {', '.join(_FORMATS)}")
    check_path(output, [selection, file.data], force)
    wanted = list(dict.fromkeys([*split_names(keep), *read_selected_names(selection)]))
    found = read_table(file, wanted, as_text=kind in ("csv", "tsv"))  # from text to text nothing is rewritten
    check_names(found.table.column_names)
    table = found.table.select(wanted)
    _write_table(table, output, kind)
    Messages(quiet).tell(f"{table.num_columns} columns and {table.num_rows:,} rows written to '{output}'")
    return Exit.OK


def _write_table(table: Any, path: Path, kind: str) -> None:
    import csv

    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    with replacing(path) as temporary:
        if kind == "parquet":
            try:
                pyarrow.parquet.write_table(table, temporary)
            except pa.ArrowNotImplementedError as error:
                raise BadInput(f"'{path}' cannot hold what was selected: {error}; write .arrow or .csv") from None
        elif kind == "arrow":
            pyarrow.feather.write_feather(table, str(temporary), compression="zstd")
        else:
            # pyarrow would put quotes around every text.
            with temporary.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, delimiter="," if kind == "csv" else "\t", lineterminator="\n")
                writer.writerow(table.column_names)
                for batch in table.to_batches(max_chunksize=10_000):
                    writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
