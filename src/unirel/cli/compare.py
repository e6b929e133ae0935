"""`unirel compare`: does the selection help a classifier, on rows that nobody has seen."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel._runtime import READING_SECONDS, ProgressBar, end_of, until
from unirel.cli.exits import BadInput, Exit
from unirel.cli.interrupts import interrupts
from unirel.cli.messages import Messages, listed
from unirel.cli.options import takes
from unirel.cli.output import Printing
from unirel.cli.request import Input, MaxRows, Request
from unirel.options import SelectorOptions

if TYPE_CHECKING:
    from unirel.evaluation import Evaluation

EXAMPLES = """Examples:

unirel compare data.csv --target outcome

unirel compare breast_cancer --criteria mim,jmi --beta 0.1 --classifiers knn --runs 10
"""

HINT = "unirel: faster with fewer rows (--max-rows), splits (--runs) or --classifiers, or with --beta 0"
HEADERS = ("classifier", "selector", "test accuracy", "+/-", "features", "stability", "seconds")
_DIFFERENCE = ("mean", "low", "high")
COLUMNS = ("classifier", "selector", "test_accuracy", "test_accuracy_std", "n_features", "stability", "seconds")

Criteria = Annotated[str, typer.Option("--criteria", metavar="NAME,...", help="What to compare, plain and boosted.")]
Classifiers = Annotated[str, typer.Option("--classifiers", metavar="NAME,...", help="Of rf, knn, svm and logistic.")]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Random splits into 60 / 20 / 20 % of the rows.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits and of a sample.")]
MaxFeatures = Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")]
JournalFile = Annotated[
    Path | None, typer.Option("--journal", metavar="FILE", help="Keep finished work, to go on where it was stopped.")
]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", min=0.0, help="Time budget; what is finished by then is printed.")
]


@takes(
    SelectorOptions,
    without=["target_kind", "criterion", "n_features_to_select", "include", "exclude", "max_seconds", "random_state"],
    n_jobs=1,  # others are processes, which take seconds to start
)
def command(
    request: Request,
    criteria: Criteria = "jmi",
    classifiers: Classifiers = "knn,svm",
    runs: Runs = 5,
    max_features: MaxFeatures = 20,
    journal: JournalFile = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    max_rows: MaxRows = 1200,
    *,
    printing: Printing,
    **options: Any,
) -> int:
    """Compare selectors by the accuracy of classifiers that are trained on what they select."""
    messages, ends = printing.messages, end_of(max_seconds)
    with until(ends + READING_SECONDS):
        given = request.open(options, messages).sampled(max_rows, seed, messages)
    X = _numbers(given, messages)

    from unirel import BURSelector
    from unirel.evaluation import compare

    kept = {name: value for name, value in given.options.items() if name not in ("kinds", "n_jobs")}
    selectors: dict[str, Any] = {}
    for name in filter(None, criteria.split(",")):
        selectors[name] = BURSelector(name, **{**kept, "beta": 0.0})
        if given.options["beta"] > 0:
            selectors[f"{name} boosted"] = BURSelector(name, **kept)
    with messages.catching_warnings(), until(ends):
        evaluation = compare(
            [(given.origin.source, X, _classes(given))],
            selectors,
            list(filter(None, classifiers.split(","))),
            n_runs=runs,
            max_features=min(max_features, X.shape[1]),
            random_state=seed,
            n_jobs=given.options["n_jobs"],
            journal=journal,
            progress=None if printing.quiet else ProgressBar("comparing", hint=HINT),
        )
    if not evaluation.complete:
        interrupts.answer()
    rows = [[row[name] for name in COLUMNS] for row in evaluation.summary_rows()]
    words = in_words(evaluation) if rows else ""
    printing.show("comparison", evaluation.to_dict(), COLUMNS, rows, words, HEADERS)
    if evaluation.complete:
        return Exit.OK
    if time.monotonic() > ends:
        messages.tell(f"incomplete: --max-seconds {max_seconds:g} were used up; these are the runs that were finished")
        return Exit.OK
    messages.tell("interrupted; these are the runs that were finished")
    return Exit.INTERRUPTED


def _numbers(given: Input, messages: Messages) -> Any:
    """Columns that classifiers can use: numbers without missing values."""
    import numpy as np
    import pyarrow as pa

    left_out, columns, kinds = [], [], given.options["kinds"] or {}
    for name in given.X.column_names:
        column = given.X.column(name)
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


def _classes(given: Input) -> Any:
    return given.y.to_numpy() if hasattr(given.y, "to_numpy") else given.y


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
