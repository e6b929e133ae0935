"""`unirel relevance`: what every feature tells by itself."""

from typing import Annotated, Any

import typer

from unirel.cli import options as o
from unirel.cli.exits import Exit
from unirel.cli.files import TextFormat
from unirel.cli.messages import Messages
from unirel.cli.problem import Request, open_problem, read_problem

EXAMPLES = """Examples:

unirel relevance data.csv --target outcome

unirel relevance data.csv --target outcome --top 0 --csv > relevance.csv
"""

HEADERS = ("rank", "name", "kind", "missing", "relevance")

Top = Annotated[int, typer.Option("--top", "-n", min=0, help="So many rows, 0 for all; --json prints all.")]


def command(
    data: o.Data,
    target: o.Target = None,
    drop_missing_target: o.DropMissingTarget = False,
    target_kind: o.TargetKind = o.TargetKindName.AUTO,
    kinds: o.Kinds = None,
    drop: o.Drop = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    estimator: o.Estimator = o.EstimatorName.KNN,
    neighbors: o.Neighbors = 3,
    top: Top = 30,
    jobs: o.Jobs = 1,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    quiet: o.Quiet = False,
) -> int:
    """Print how much every feature tells about the target by itself, in nats, best first."""
    o.check_one_format(as_json, as_csv)
    messages = Messages(quiet)
    text = TextFormat(delimiter, encoding, decimal)
    problem = open_problem(Request(data, target, drop or (), kinds or (), drop_missing_target, text), messages)
    table = read_problem(problem, kinds, target_kind.value, messages)

    from unirel.information import make_information

    options = {"n_neighbors": neighbors, "n_jobs": jobs}
    with messages.catching_warnings():
        information = make_information(estimator.value, table, options)
        raw = information.relevance(table.features)
        values = information.bounded_pairs(raw, table.features, table.target)
        entropy = information.entropy(table.target) if table.discrete[table.target] else None
    ranked = sorted(zip(values.tolist(), table.features.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
    columns = [(table.columns[feature], value) for value, feature in ranked]
    rows = [
        [rank, column.name, column.kind, column.n_missing, value]
        for rank, (column, value) in enumerate(columns, start=1)
    ]
    _print(problem.source, problem.target, rows, entropy, top, as_json, as_csv)
    return Exit.OK


def _print(
    source: str, target: str, rows: list[list[Any]], entropy: float | None, top: int, as_json: bool, as_csv: bool
) -> None:
    from unirel._version import __version__
    from unirel.cli.output import print_csv, print_paragraph, print_table
    from unirel.cli.selection_file import to_json

    if as_json:
        head = {"schema": "unirel/relevance", "version": 1, "unirel": __version__}
        features = [dict(zip(HEADERS, row, strict=True)) for row in rows]
        about = {"data": {"source": source, "target": target}, "entropy": entropy, "features": features}
        print(to_json({**head, **about}), end="")
        return
    shown = rows[:top] if top else rows
    if as_csv:
        print_csv(HEADERS, shown)
        return
    print_table(HEADERS, shown)
    left = f" {len(rows) - len(shown):,} more are not shown (--top 0)." if len(shown) < len(rows) else ""
    most = f" There are {entropy:.4f} to know about '{target}'." if entropy is not None else ""
    print_paragraph(f"Relevance is mutual information with '{target}' in nats; 0 tells nothing.{most}{left}")
