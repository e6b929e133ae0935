"""`unirel apply`: the selected columns of another file."""

from pathlib import Path
from typing import Annotated

import typer

from unirel._runtime import call_apart
from unirel.cli.documents import read_selected_names
from unirel.cli.exits import BadInput, Exit
from unirel.cli.files import DataFile, MissingColumns, TextFormat, check_names, read_table
from unirel.cli.messages import Messages
from unirel.cli.naming import split_names
from unirel.cli.options import takes
from unirel.cli.output import EscapeFormulas, Quiet
from unirel.cli.writing import table_format, write_table

EXAMPLES = """Examples:

unirel apply selection.json new.csv -o small.parquet

unirel apply selection.json new.csv --keep id,outcome -o small.csv
"""

SelectionFile = Annotated[str, typer.Argument(metavar="SELECTION", help="What `unirel select --save` wrote.")]
OutputFile = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Where to: .csv, .tsv, .parquet, .arrow or .feather."),
]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", metavar="COL,...", help="Columns to keep beside the selected ones.")
]


@takes()
def command(
    selection: SelectionFile,
    data: DataFile,
    output: OutputFile,
    text: TextFormat,
    keep: Keep = None,
    escape_formulas: EscapeFormulas = False,
    quiet: Quiet = False,
) -> int:
    """Write the selected columns of a file to another file, in order of selection."""
    names = read_selected_names(selection)
    wanted = list(dict.fromkeys([*split_names(keep), *names]))
    as_text = table_format(output) in ("csv", "tsv")  # from text to text nothing is rewritten
    try:
        file = call_apart(read_table, data, text, wanted, as_text)
    except MissingColumns as error:
        raise BadInput(f"'{data}' lacks what was selected: {error}") from None
    messages = Messages(quiet)
    for note in file.notes:
        messages.note(note)
    check_names(file.table.column_names)
    table = file.table.select(wanted)
    write_table(output, table, messages, escape_formulas)
    messages.tell(f"{table.num_columns} columns and {table.num_rows:,} rows written to '{output}'")
    return Exit.OK
