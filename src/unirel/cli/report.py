"""`unirel report`: a page about the selected features."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unirel.cli.options import takes
from unirel.cli.output import Printing, Quiet
from unirel.cli.request import Request
from unirel.cli.select import Files, SelectOptions, run

EXAMPLES = """Examples:

unirel report data.csv --target outcome

unirel report data.csv --target outcome -o outcome.html --accuracy knn
"""

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE.html", help="Where to; named after the data if not given."),
]


@takes(SelectOptions)
def command(request: Request, output: Output = None, quiet: Quiet = False, **options: Any) -> int:
    """Select features and write a page about it, to look at and to send."""
    name = "report" if request.data == "-" else Path(request.data).name.split(".")[0] or "report"
    page = output or Path(f"{name}.html")
    return run(request, Printing(quiet=quiet), Files(report=page), options)
