"""`unirel redundancy`: how many of the selected features are unnecessary."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel.cli import options as o
from unirel.cli.exits import Exit
from unirel.cli.files import TextFormat
from unirel.cli.messages import Messages
from unirel.cli.problem import Problem, Request, find, open_problem, parse_kinds, split_names

if TYPE_CHECKING:
    from unirel.results import Redundancy

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
MaxFeatures = Annotated[
    int | None, typer.Option("--max-features", min=1, help="Features to select at most; 30 if not given.")
]
Tolerance = Annotated[float, typer.Option("--tolerance", min=0.0, help="What counts as no loss, in nats.")]


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
    order: Order = None,
    max_features: MaxFeatures = None,
    tolerance: Tolerance = 0.0,
    criterion: o.Criterion = o.CriterionName.GSA,
    beta: o.Beta = 0.1,
    neighbors: o.Neighbors = 3,
    metric: o.Metric = o.MetricName.AUTO,
    jobs: o.Jobs = 1,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    quiet: o.Quiet = False,
) -> int:
    """Tell which features are unique, which are needed beside others, and which can go."""
    o.check_one_format(as_json, as_csv)
    messages = Messages(quiet)
    text = TextFormat(delimiter, encoding, decimal)
    problem = open_problem(Request(data, target, drop or (), kinds or (), drop_missing_target, text), messages)
    names = problem.X.column_names

    from unirel.redundancy import redundancy_analysis

    with messages.catching_warnings():
        result = redundancy_analysis(
            problem.X,
            problem.y,
            criterion=criterion.value,
            beta=beta,
            order=[find(name, names, "--order") for name in split_names(order, names)] or None,
            tolerance=tolerance,
            max_features=max_features or min(30, len(names)),
            n_neighbors=neighbors,
            metric=metric.value,
            kinds=parse_kinds(kinds, names) or None,
            target_kind=target_kind.value,
            n_jobs=jobs,
            verbose=not quiet,
        )
    _print(problem, result, as_json, as_csv)
    if not result.complete:
        messages.tell("interrupted; this is the best that was found")
        return Exit.INTERRUPTED
    return Exit.OK


def _print(problem: Problem, result: "Redundancy", as_json: bool, as_csv: bool) -> None:
    from unirel._version import __version__
    from unirel.cli.output import print_csv, print_paragraph, print_table
    from unirel.cli.selection_file import to_json

    content: dict[str, Any] = result.to_dict()
    rows = [[feature[name] for name in COLUMNS] for feature in content["features"]]
    if as_json:
        head = {"schema": "unirel/redundancy", "version": 1, "unirel": __version__}
        about = {"data": {"source": problem.source, "target": problem.target}}
        print(to_json({**head, **about, **content}), end="")
    elif as_csv:
        print_csv(COLUMNS, rows)
    else:
        print_table(HEADERS, rows)
        print_paragraph(describe(result, problem.target))


def describe(result: "Redundancy", target: str) -> str:
    """One paragraph about the redundancy of a selection."""
    bound = "" if result.exact and result.complete else "at least "
    counts = {kind: len(getattr(result, kind)) for kind in ("unique", "conditional", "redundant")}
    going = ", ".join(f"'{result.names[feature]}'" for feature in result.redundant[:5])
    more = f" and {counts['redundant'] - 5} more" if counts["redundant"] > 5 else ""
    remove = f" Without {going}{more} nothing is lost." if going else ""
    return (
        f"After {len(result.saturated)} features nothing more is learnt about '{target}' "
        f"({result.joint_information:.2f} nats). {counts['unique']} of them tell what no other feature tells, "
        f"{counts['conditional']} more needed beside others, and {bound}{counts['redundant']} can go: "
        f"the redundancy rate is {bound}{result.rate:.0%}.{remove}"
    )
