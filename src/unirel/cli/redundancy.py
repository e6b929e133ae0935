"""`unirel redundancy`: how many of the selected features are unnecessary."""

from typing import Annotated, Any

import typer

from unirel.cli.exits import Exit
from unirel.cli.interrupts import interrupts
from unirel.cli.naming import find_names
from unirel.cli.options import takes
from unirel.cli.output import Printing
from unirel.cli.request import MaxRows, Request
from unirel.options import SelectorOptions

EXAMPLES = """Examples:

unirel redundancy data.csv --target outcome

unirel redundancy data.csv --target outcome --order age,bmi,weight
"""

COLUMNS = ("size", "name", "role", "joint_information", "unique_relevance")
HEADERS = ("size", "name", "role", "information so far", "unique")

Order = Annotated[
    list[str] | None,
    typer.Option("--order", metavar="COL,...", help="The features to analyse, instead of selecting some."),
]
MaxFeatures = Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")]
Tolerance = Annotated[float, typer.Option("--tolerance", min=0.0, help="What counts as no loss, in nats.")]


@takes(SelectorOptions, without=["n_features_to_select", "alpha", "max_seconds", "random_state"], criterion="gsa")
def command(
    request: Request,
    order: Order = None,
    max_features: MaxFeatures = 30,
    tolerance: Tolerance = 0.0,
    max_rows: MaxRows = 2000,
    *,
    printing: Printing,
    **options: Any,
) -> int:
    """Tell which features are unique, which are needed beside others, and which can go."""
    given = request.open(options, printing.messages)
    ordered = find_names(order, given.X.column_names, "--order") or None
    from unirel.inference.redundancy import redundancy_analysis
    from unirel.report.words import redundancy_in_words

    with printing.messages.catching_warnings():
        given = given.sampled(max_rows, 0, printing.messages)
        result = redundancy_analysis(
            given.X,
            given.y,
            order=ordered,
            tolerance=tolerance,
            max_features=max_features,
            verbose=not printing.quiet,
            **given.options,
        )
    if not result.complete:
        interrupts.answer()
    source, target = given.origin.source, given.origin.target
    content = {"data": {"source": source, "target": target}, **result.to_dict()}
    rows = [[feature[name] for name in COLUMNS] for feature in content["features"]]
    printing.show("redundancy", content, COLUMNS, rows, redundancy_in_words(result, target), HEADERS)
    if not result.complete:
        printing.messages.tell("interrupted; this is the best that was found")
        return Exit.INTERRUPTED
    return Exit.OK
