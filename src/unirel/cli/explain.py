"""`unirel explain`: what one feature tells, beside whom, and whom it could replace."""

from typing import Annotated, Any

import typer

from unirel.cli.exits import BadInput, Exit
from unirel.cli.naming import find_name
from unirel.cli.options import takes
from unirel.cli.output import Printing, bar
from unirel.cli.request import Request
from unirel.options import EstimationOptions, SelectorOptions, complete, part_of

EXAMPLES = """Examples:

unirel explain data.csv age --target outcome

unirel explain breast_cancer "mean radius"
"""

COLUMNS = ("step", "name", "shared", "together", "instead")
HEADERS = ("step", "selected feature", "shared", "", "with both", "instead of it")

Feature = Annotated[str, typer.Argument(metavar="FEATURE", show_default=False, help="The column to look at.")]


@takes(SelectorOptions)
def command(request: Request, feature: Feature, *, printing: Printing, **options: Any) -> int:
    """Tell what one feature tells, what it adds to the selected ones, and which of them it could replace."""
    given = request.open(options, printing.messages)
    name = find_name(feature, given.X.column_names, "FEATURE")
    from unirel.inference.relations import explain
    from unirel.report import Report
    from unirel.report.reasons import explanation_in_words

    with printing.messages.catching_warnings():
        table = given.read()
        position = table.names.index(name)
        if position not in table.features:
            raise BadInput(f"{name!r} is ignored: {table.columns[position].reason}; give it a kind with --kinds")
        chosen = complete(SelectorOptions, given.options, "explain")
        chosen["verbose"] = not printing.quiet
        report = Report.from_table(table, chosen, given.origin, along=False)
        found = explain(table, report.selection, position, part_of(EstimationOptions, chosen))
    rows = [[row[column] for column in COLUMNS] for row in found.to_dict()["beside"]]
    shown = [[*row[:3], bar(row[2], 1.0), *row[3:]] for row in rows]
    source, target = given.origin.source, given.origin.target
    words = explanation_in_words(found, report.selection, table, target)
    content = {"data": {"source": source, "target": target}, **found.to_dict(), "words": words}
    printing.show("explanation", content, COLUMNS, rows, words, HEADERS, shown)
    return Exit.INTERRUPTED if report.interrupted else Exit.OK
