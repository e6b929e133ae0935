"""`unirel compare`: does the selection help a classifier, on rows that nobody has seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel.cli import options as o
from unirel.cli.exits import BadInput, Exit
from unirel.cli.files import TextFormat
from unirel.cli.messages import Messages, listed
from unirel.cli.problem import Problem, Request, open_problem, parse_kinds

if TYPE_CHECKING:
    from unirel.evaluation import Evaluation

EXAMPLES = """Examples:

unirel compare data.csv --target outcome

unirel compare breast_cancer --criteria mim,jmi --beta 0.1 --classifiers knn --runs 10
"""

HEADERS = ("classifier", "selector", "test accuracy", "+/-", "features", "stability", "seconds")
_DIFFERENCE = ("mean", "low", "high")
COLUMNS = ("classifier", "selector", "test_accuracy", "test_accuracy_std", "n_features", "stability", "seconds")

Criteria = Annotated[str, typer.Option("--criteria", metavar="NAME,...", help="What to compare, plain and boosted.")]
Classifiers = Annotated[str, typer.Option("--classifiers", metavar="NAME,...", help="Of rf, knn, svm and logistic.")]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Random splits into 60 / 20 / 20 % of the rows.")]
MaxFeatures = Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")]
JournalFile = Annotated[
    Path | None, typer.Option("--journal", metavar="FILE", help="Keep finished work, to go on where it was stopped.")
]


def command(
    data: o.Data,
    target: o.Target = None,
    drop_missing_target: o.DropMissingTarget = False,
    kinds: o.Kinds = None,
    drop: o.Drop = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    criteria: Criteria = "jmi",
    beta: o.Beta = 0.1,
    unique_relevance: o.UniqueRelevance = o.UniqueMethod.REFERENCE,
    estimator: o.Estimator = o.EstimatorName.KNN,
    classifiers: Classifiers = "knn,svm",
    runs: Runs = 5,
    max_features: MaxFeatures = 20,
    journal: JournalFile = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    quiet: o.Quiet = False,
) -> int:
    """Compare selectors by the accuracy of classifiers that are trained on what they select."""
    o.check_one_format(as_json, as_csv)
    messages = Messages(quiet)
    text = TextFormat(delimiter, encoding, decimal)
    problem = open_problem(Request(data, target, drop or (), kinds or (), drop_missing_target, text), messages)
    X = _numbers(problem, parse_kinds(kinds, problem.X.column_names), messages)

    from unirel import BURSelector
    from unirel.evaluation import compare

    selectors: dict[str, Any] = {}
    for name in filter(None, criteria.split(",")):
        selectors[name] = BURSelector(name, beta=0.0, estimator=estimator.value)
        if beta > 0 and unique_relevance is not o.UniqueMethod.NONE:
            boosted = BURSelector(name, beta=beta, unique_relevance=unique_relevance.value, estimator=estimator.value)
            selectors[f"{name} boosted"] = boosted
    with messages.catching_warnings():
        evaluation = compare(
            [(problem.source, X, _classes(problem))],
            selectors,
            list(filter(None, classifiers.split(","))),
            n_runs=runs,
            max_features=min(max_features, X.shape[1]),
            random_state=seed,
            n_jobs=jobs,
            journal=journal,
            verbose=not quiet,
        )
    _print(evaluation, as_json, as_csv)
    if not evaluation.complete:
        messages.tell("interrupted; these are the runs that were finished")
        return Exit.INTERRUPTED
    return Exit.OK


def _numbers(problem: Problem, kinds: dict[str, str], messages: Messages) -> Any:
    """Columns that classifiers can use: numbers without missing values."""
    import numpy as np
    import pyarrow as pa

    left_out, columns = [], []
    for name in problem.X.column_names:
        column = problem.X.column(name)
        usable = (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
        )
        values = column.to_numpy().astype(np.float64) if usable and not column.null_count else None
        if values is not None and np.isinf(values).any():
            raise BadInput(f"column {name!r} contains infinity; replace it by a number or a missing value")
        if values is None or np.isnan(values).any() or kinds.get(name) == "ignored":
            left_out.append(name)
        else:
            columns.append(values)
    if not columns:
        raise BadInput("compare needs columns of numbers without missing values, and there are none")
    if left_out:
        messages.note(f"left out {listed(left_out)}: compare needs numbers without missing values")
    return np.column_stack(columns)


def _classes(problem: Problem) -> Any:
    return problem.y.to_numpy() if hasattr(problem.y, "to_numpy") else problem.y


def _print(evaluation: "Evaluation", as_json: bool, as_csv: bool) -> None:
    from unirel._version import __version__
    from unirel.cli.output import print_csv, print_paragraph, print_table
    from unirel.cli.selection_file import to_json

    summary = evaluation.summary_rows()
    rows = [[row[name] for name in COLUMNS] for row in summary]
    if as_json:
        head = {"schema": "unirel/comparison", "version": 1, "unirel": __version__}
        print(to_json({**head, **evaluation.to_dict()}), end="")
    elif as_csv:
        print_csv(COLUMNS, rows)
    else:
        print_table(HEADERS, rows)
        if rows:
            print_paragraph(in_words(evaluation))


def in_words(evaluation: "Evaluation") -> str:
    """What the comparison says, in words, with what chance alone could do."""
    best = max(evaluation.summary_rows(), key=lambda row: row["test_accuracy"])
    sentences = [
        f"Best on average: {best['selector']} with {best['classifier']}, {best['test_accuracy']:.1%} of the test rows "
        f"right with {best['n_features']:.1f} features."
    ]
    for row in evaluation.difference_rows():
        difference, low, high = (100 * row[name] if row.get(name) is not None else None for name in _DIFFERENCE)
        if difference is None:
            continue
        interval = f" (95 % interval {low:+.1f} to {high:+.1f})" if low is not None and high is not None else ""
        sure = "" if low is not None and high is not None and low * high > 0 else ", which may be chance"
        sentences.append(
            f"With {row['classifier']}, {row['selector']} differs from {row['baseline']} by {difference:+.1f} "
            f"points{interval}{sure}."
        )
    return " ".join(sentences)
