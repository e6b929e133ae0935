"""`unirel apply`: the selected columns of another file."""

from pathlib import Path
from typing import Annotated

import typer

from unirel.cli import options as o
from unirel.cli.exits import BadInput, Exit
from unirel.cli.files import TextFormat, check_names, read_table
from unirel.cli.messages import Messages
from unirel.cli.problem import split_names
from unirel.cli.selection_file import read_names
from unirel.cli.writing import table_format, write_table

EXAMPLES = """Examples:

unirel apply selection.json new.csv -o small.parquet

unirel apply selection.json new.csv --keep id,outcome -o small.csv
"""

SelectionFile = Annotated[str, typer.Argument(metavar="SELECTION", help="What `unirel select --save` wrote.")]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Where to: .csv, .tsv, .parquet, .arrow or .feather."),
]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", metavar="COL,...", help="Columns to keep beside the selected ones.")
]


def command(
    selection: SelectionFile,
    data: o.Data,
    output: Output,
    keep: Keep = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    quiet: o.Quiet = False,
) -> int:
    """Write the selected columns of a file to another file, in order of selection."""
    names = read_names(selection)
    wanted = list(dict.fromkeys([*split_names(keep, []), *names]))
    as_text = table_format(output) in ("csv", "tsv")  # from text to text nothing is rewritten
    try:
        file = read_table(data, TextFormat(delimiter, encoding), wanted, as_text)
    except BadInput as error:
        if str(error).startswith("missing column"):
            raise BadInput(f"'{data}' lacks what was selected: {error}") from None
        raise
    messages = Messages(quiet)
    for note in file.notes:
        messages.note(note)
    check_names(file.table.column_names)
    table = file.table.select(wanted)
    write_table(output, table)
    messages.tell(f"{table.num_columns} columns and {table.num_rows:,} rows written to '{output}'")
    return Exit.OK
