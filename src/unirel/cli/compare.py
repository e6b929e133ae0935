"""`unirel compare`: does the selection help a classifier, on held-out rows."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel._runtime import ProgressBar, end_of, until
from unirel.cli import BadInput, Exit
from unirel.cli.files import Input, open_data
from unirel.cli.measures import MaxRows, sampled
from unirel.cli.options import Boosting, Data, Printing, listed, make_selector
from unirel.cli.output import Messages, Output

if TYPE_CHECKING:
    from unirel.evaluation import Evaluation

COMPARE_EXAMPLES = """unirel compare data.csv --target outcome

unirel compare breast_cancer --criteria mim,jmi --beta 0.1 --classifiers knn --runs 10"""

HEADERS = ("classifier", "selector", "test accuracy", "+/-", "features", "stability", "seconds")
COLUMNS = ("classifier", "selector", "test_accuracy", "test_accuracy_std", "n_features", "stability", "seconds")


def compare(
    data: Data,
    options: Boosting,
    printing: Printing,
    criteria: Annotated[
        str, typer.Option("--criteria", metavar="NAME,...", help="What to compare, plain and boosted.")
    ] = "jmi",
    classifiers: Annotated[
        str, typer.Option("--classifiers", metavar="NAME,...", help="Of rf, knn, svm and logistic.")
    ] = "knn,svm",
    runs: Annotated[int, typer.Option("--runs", min=1, help="Random splits into 60 / 20 / 20 % of the rows.")] = 5,
    max_features: Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")] = 20,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", min=0.0, help="Time budget; what is finished by then is printed.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits and of a sample.")] = 0,
    max_rows: MaxRows = 1200,
) -> int:
    """Compare selectors by the accuracy of classifiers that are trained on what they select."""
    output = Output(printing)
    given = sampled(open_data(data, output.messages), max_rows, seed, output.messages)
    names, X = _numbers(given, output.messages)

    from unirel import evaluation

    kinds = {place: given.kinds[name] for place, name in enumerate(names) if name in given.kinds}
    selectors: dict[str, Any] = {}
    for name in filter(None, criteria.split(",")):
        boosted = make_selector(options, names, kinds, criterion=name, n_jobs=None)
        selectors[name] = make_selector(options, names, kinds, criterion=name, n_jobs=None, beta=0.0)
        if boosted.beta > 0:
            selectors[f"{name} boosted"] = boosted
    with output.messages.catching_warnings(), until(end_of(max_seconds)):
        found = evaluation.compare(
            [(given.origin.source, X, given.y if hasattr(given.y, "shape") else given.y.to_numpy())],
            selectors,
            list(filter(None, classifiers.split(","))),
            n_runs=runs,
            max_features=min(max_features, X.shape[1]),
            random_state=seed,
            n_jobs=options.jobs,
            progress=ProgressBar("comparing") if output.verbose else None,
        )
    rows = [[row[name] for name in COLUMNS] for row in found.summary_rows()]
    output.show("comparison", found.to_dict(), COLUMNS, rows, [_in_words(found)] if rows else [], HEADERS)
    if found.complete:
        return Exit.OK
    output.messages.tell("interrupted or out of time; these are the runs that were finished")
    return Exit.OK if max_seconds is not None else Exit.INTERRUPTED


def _numbers(given: Input, messages: Messages) -> tuple[list[str], Any]:
    """Columns that classifiers can use: numbers without missing values."""
    import numpy as np
    import pyarrow as pa

    left_out, columns = [], {}
    for name, column in zip(given.X.column_names, given.X.columns, strict=True):
        kind = column.type
        usable = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        values = column.to_numpy().astype(np.float64) if usable and not column.null_count else np.array([np.nan])
        if np.isinf(values).any():
            raise BadInput(f"column {name!r} contains infinity; replace it by a number or a missing value")
        if np.isnan(values).any():
            left_out.append(name)
        else:
            columns[name] = values
    if not columns:
        raise BadInput("compare needs columns of numbers without missing values, and there are none")
    if left_out:
        messages.note(f"left out {listed(left_out)}: compare needs numbers without missing values")
    return list(columns), np.column_stack(list(columns.values()))


def _in_words(found: "Evaluation") -> str:
    """What the comparison says, with what chance alone could do."""
    best = max(found.summary_rows(), key=lambda row: row["test_accuracy"])
    sentences = [
        f"Best on average: {best['selector']} with {best['classifier']}, {best['test_accuracy']:.1%} of the test rows "
        f"right with {best['n_features']:.1f} features."
    ]
    for row in found.difference_rows():
        difference, low, high = (row.get(name) for name in ("mean", "low", "high"))
        if difference is None:
            continue
        interval, sure = "", ", which may be chance"
        if low is not None and high is not None:
            interval = f" (95 % interval {100 * low:+.1f} to {100 * high:+.1f})"
            sure = "" if low * high > 0 else sure
        sentences.append(
            f"With {row['classifier']}, {row['selector']} differs from {row['baseline']} by {100 * difference:+.1f} "
            f"points{interval}{sure}."
        )
    return " ".join(sentences)
