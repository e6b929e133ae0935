"""`unirel relevance`: what every feature tells by itself."""

from typing import Annotated, Any

import typer

from unirel.cli.exits import Exit
from unirel.cli.options import takes
from unirel.cli.output import Printing
from unirel.cli.request import Request
from unirel.options import EstimationOptions, MeasureOptions, complete, part_of

EXAMPLES = """Examples:

unirel relevance data.csv --target outcome

unirel relevance data.csv --target outcome --top 0 --csv > relevance.csv
"""

COLUMNS = ("rank", "name", "kind", "missing", "relevance")

Top = Annotated[int, typer.Option("--top", "-n", min=0, help="How many rows, 0 for all; --json prints all.")]


@takes(MeasureOptions, without=["metric"])
def command(request: Request, top: Top = 30, *, printing: Printing, **options: Any) -> int:
    """Print how much every feature tells about the target by itself, in nats, best first."""
    given = request.open(options, printing.messages, in_parts=True)
    from unirel.information.base import make_information

    estimation = complete(EstimationOptions, part_of(EstimationOptions, given.options), "relevance")
    with printing.messages.catching_warnings():
        table = given.read()
        information = make_information(table, estimation)
        raw = information.relevance(table.features)
        values = information.bounded_pairs(raw, table.features, table.target)
        entropy = information.entropy(table.target) if table.discrete[table.target] else None
    ranked = sorted(zip(values.tolist(), table.features.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
    rows: list[list[Any]] = []
    for rank, (value, feature) in enumerate(ranked, start=1):
        column = table.columns[feature]
        rows.append([rank, column.name, column.kind, column.n_missing, value])
    source, target = given.origin.source, given.origin.target
    features = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    content = {"data": {"source": source, "target": target}, "entropy": entropy, "features": features}
    shown = rows[:top] if top else rows
    left = f" {len(rows) - len(shown):,} more are not shown (--top 0)." if len(shown) < len(rows) else ""
    most = f" There are {entropy:.4f} to know about '{target}'." if entropy is not None else ""
    words = f"Relevance is mutual information with '{target}' in nats; 0 tells nothing.{most}{left}"
    printing.show("relevance", content, COLUMNS, shown, words)
    return Exit.OK
