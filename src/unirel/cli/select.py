"""`unirel select`, `report` and `apply`: which features to keep, a page about them, and their columns of a file."""

import csv
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from typer import Context

from unirel._runtime import Deadline, atomic_path
from unirel.cli import BadInput, Exit, Output, bar, say, width_of_output
from unirel.cli import options as flags
from unirel.cli.options import Data, OutputFile, Printing, ReportFile, Selecting, Writing
from unirel.documents import read_document, write_document
from unirel.errors import printable, shorten

# Columns of text that the answer takes beside the names, and of several targets those that have a column of it.
_OTHERS, _MOST_TARGETS = 42, 4
HEADERS = ("step", "name", "relevance", "unique", "most similar")
COLUMNS = ("step", "name", "kind", "score", "relevance", "unique_relevance", "partner", "shared")


@flags.with_flags(
    "unirel select data.csv --target outcome",
    "unirel select data.parquet -t outcome -k auto --report outcome.html",
    "unirel select 'parts/*.parquet' -t outcome",
    "zcat big.csv.gz | unirel select - -t outcome --json > selection.json",
)
def select(
    *, context: Context, data: Data, options: Selecting, writing: Writing, printing: Printing, report: ReportFile = None
) -> int:
    """Select the features that are most informative about a target, each given those already selected."""
    return _select(context.obj, data, options, writing, printing, report)


@flags.with_flags(
    "unirel report data.csv --target outcome", "unirel report data.csv --target outcome -o outcome.html --accuracy knn"
)
def report(
    *, context: Context, data: Data, options: Selecting, writing: Writing, printing: Printing, output: OutputFile = None
) -> int:
    """Select features and write a page about it, to look at and to send."""
    name = "report" if data.data == "-" else Path(data.data).name.split(".")[0] or "report"
    return _select(context.obj, data, options, writing, printing, output or Path(f"{name}.html"))


def _select(
    arguments: list[str], data: Data, options: Selecting, writing: Writing, printing: Printing, report: Path | None
) -> int:
    _check_files(writing, data.data, report)
    output = Output(printing)
    given = output.open(data, in_parts=True, several=True)
    from unirel.report import Report, text

    selector = flags.make_settings(options, given.names, verbose=output.verbose, **given.kinds)
    deadline = Deadline.after(selector.max_seconds)
    accuracy = None if report is None or writing.accuracy == "none" else writing.accuracy
    asked: dict[str, Any] = {"accuracy": accuracy, "stability": writing.stability, "page": report is not None}
    with output.catching_warnings():
        table = given.read()
        with deadline.applied():
            found = Report.from_table(
                table, selector, given.origin, rows=(given.X, given.y), groups=given.groups, **asked
            )
    found = replace(found, origin=replace(found.origin, notes=tuple(output.notes)))
    columns = [*COLUMNS, *(["significant"] if found.test else []), *(["frequency"] if found.stability else [])]
    rows, words, document = found.rows(), found.paragraphs(), found.document()
    following = found.following_rows()
    listed = [*rows, *following]
    columns += [f"relevance_{name}" for name in found.selection.targets]
    shares = _note_targets(found.selection, listed)
    if any(row["significant"] == "no" for row in listed) and not text.nothing_found(found):
        words[min(1, len(words) - 1)] += " A question mark stands beside a relevance that may be chance."
    headers = [*HEADERS, *(["selected in"] if found.stability else [])]
    if found.selection.costs is not None:
        headers, columns = [*headers, "cost", "in all"], [*columns, "cost", "total_cost"]
    headers += list(found.selection.targets)[:_MOST_TARGETS]
    shown = _shown(listed, found.analysis.entropy, found.stability is not None)
    shown = [[*cells, *own[:_MOST_TARGETS]] for cells, own in zip(shown, shares, strict=True)]
    then = _next(arguments, data, report, writing.save)
    output.show("selection", document, columns, rows, words, headers, shown, then, n_first=len(rows))
    n_selected, complete = len(found.selection), found.selection.complete
    if found.interrupted:
        return output.end(False, f"{n_selected} features{'' if complete else ' so far'}, no file was written")
    if writing.save is not None:
        _write_text(writing.save, write_document("selection", {**document, **found.selection.saved_fields()}))
    if report is not None:
        _write_text(report, found.to_html())
        output.tell(f"the page is in '{report}'")
    if not complete:
        output.tell(f"incomplete: {found.selection.reason}; {n_selected} features so far")
    return Exit.OK


def _note_targets(selection: Any, rows: list[dict[str, Any]]) -> list[list[str]]:
    """Note in rows of features what each says about each of several targets; return it as shares of their entropies."""
    from unirel.report.text import percent

    if not selection.targets:
        return [[] for _ in rows]
    about = dict(zip(selection.names, selection.relevance_per_target.tolist(), strict=True))
    for row in rows:
        row |= {f"relevance_{name}": value for name, value in zip(selection.targets, about[row["name"]], strict=True)}
    entropies = selection.targets.values()
    return [[percent(one / most) for one, most in zip(about[row["name"]], entropies, strict=True)] for row in rows]


def _check_files(writing: Writing, data: str, report: Path | None) -> None:
    """Refuse what cannot be written before the work begins."""
    if writing.accuracy not in ("auto", "none") and report is None:
        raise BadInput(f"--accuracy {writing.accuracy} is shown in the report; name a file with --report FILE.html")
    for path in filter(None, (writing.save, report)):
        _check_path(path, [data], writing.force)
    if report is not None:
        from unirel.report import check_installed

        check_installed()


def _shown(rows: list[dict[str, Any]], entropy: float | None, often: bool) -> list[list[Any]]:
    """Rows as people see them: no wider than the terminal, with bars, or with how often each is selected instead."""
    from unirel.report.text import percent, share_of_target

    shares = [share_of_target(row["relevance"] or 0.0, entropy) for row in rows]
    free = width_of_output() - _OTHERS - (10 if often else 0)
    wanted = [max((len(str(row[key] or "")) for row in rows), default=0) for key in ("name", "partner")]
    name = min(wanted[0], max(free // 2, free - wanted[1]))
    shown = []
    for row, share in zip(rows, shares, strict=True):
        mark = "?" if row["significant"] == "no" else " "
        drawn = "" if often else bar(share, max(shares), 8)
        partner = shorten(printable(row["partner"] or ""), free - name)
        given, relevance = row["given_others"], "" if row["relevance"] is None else percent(share)
        adds = "none" if given is not None or row["supported"] is False else ""
        if given is not None and given["detectable"]:
            adds = percent(share_of_target(given["value"], entropy))
        step = ("next" if rows[0]["step"] else "") if row["step"] is None else f"{row['step']:4}"
        cells = [step, shorten(printable(row["name"]), name)]
        cells += [f"{relevance:>5}{mark}{drawn}", f"{adds:>6}", f"{number(row['shared'], '.2f')} {partner}".strip()]
        cells += [number(row["frequency"], ".0%")] if often else []
        shown.append([*cells, *(number(row[key], ",.10g") for key in ("cost", "total_cost") if key in row)])
    return shown


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


@flags.with_flags(
    "unirel apply selection.json new.csv -o small.parquet",
    "unirel apply selection.json new.csv --keep id,outcome -o small.csv",
)
def apply(*, selection: flags.SavedSelection, file: flags.File, options: flags.Applying) -> int:
    """Write the selected columns of a file to another file, in order of selection."""
    from unirel.cli.columns import with_numbers
    from unirel.cli.files import SUFFIXES, read_table

    output, formats = options.output, {".csv": "csv", ".tsv": "tsv", **SUFFIXES}
    kind = formats.get(output.suffix.lower())
    if kind is None:
        raise BadInput(f"'{output}' has no known ending; end it with {', '.join(formats)}")
    _check_path(output, [selection, file.data], options.force)
    wanted = list(dict.fromkeys([*flags.split_names(options.keep), *_read_selected_names(selection)]))
    found = read_table(file, wanted, as_text=kind in ("csv", "tsv"))  # from text to text nothing is rewritten
    table = found.table.select(wanted)
    if found.format == "text" and kind not in ("csv", "tsv"):
        table = with_numbers(table, wanted)
    _write_table(table, output, kind)
    if not options.quiet:
        say(f"{table.num_columns} columns and {table.num_rows:,} rows written to '{output}'")
    return Exit.OK


def _write_table(table: Any, path: Path, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    with _replacing(path) as temporary:
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
                    writer.writerows(zip(*map(_cells, batch.columns), strict=True))


def _cells(column: Any) -> list[Any]:
    """Values of a column as they are written; those in single precision with the digits that they have."""
    import pyarrow as pa

    short = pa.types.is_float32(column.type) or pa.types.is_float16(column.type)
    values = column.to_numpy(zero_copy_only=False) if short else column.to_pylist()
    return [None if value is None or value != value else str(value) for value in values] if short else values


def _read_selected_names(path: str) -> list[str]:
    try:
        rows = read_document(Path(path), "selection").get("features")
        rows = rows if isinstance(rows, list) else []
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read: {error.strerror}") from None
    found = [row if isinstance(row, dict) else {} for row in rows]
    names = [name for row in found for name in row.get("columns") or [row.get("name")]]  # of a group its columns
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"'{path}' holds no selected features")
    return names


def _check_path(path: Path, sources: Sequence[str] = (), force: bool = False) -> None:
    """Refuse early what cannot be written to, and to write over what is read, unless that is forced."""
    if path.is_dir():
        raise BadInput(f"'{path}' is a folder; name a file")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder '{path.parent}' to write '{path.name}' to")
    if not force and path.is_file() and any(Path(one).exists() and path.samefile(one) for one in sources):
        raise BadInput(f"'{path}' is the file that is read; name another one, or replace it with --force")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A path to write to that replaces `path` once all has gone well, with errors for whoever named the file."""
    try:
        with atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        raise OSError(f"'{path}' cannot be written: {error.strerror or error}") from None


def _write_text(path: Path, text: str) -> None:
    with _replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
