"""`unirel compare`: does the selection help a model, on held-out rows."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from unirel.cli.exits import Exit
from unirel.cli.interrupts import interrupts
from unirel.cli.options import takes
from unirel.cli.output import Printing
from unirel.cli.request import MaxRows, Request
from unirel.options import SelectorOptions

EXAMPLES = """Examples:

unirel compare data.csv --target outcome

unirel compare breast_cancer --criteria mim,jmi,lasso --beta 0.1 --models knn --splits 10
"""

HEADERS = ("model", "selector", "test score", "+/-", "features", "stability", "seconds")
COLUMNS = ("model", "selector", "test_score", "test_score_std", "n_features", "stability", "seconds")

Criteria = Annotated[
    str,
    typer.Option(
        "--criteria", metavar="NAME,...", help="Criteria, plain and boosted; or kbest, lasso, forest, rfe, lightgbm."
    ),
]
Models = Annotated[str, typer.Option("--models", metavar="NAME,...", help="Of logistic, rf, knn and svm.")]
Splits = Annotated[int, typer.Option("--splits", min=1, help="Random splits into 60 / 20 / 20 % of the rows.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits and of a sample.")]
MaxFeatures = Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")]


@takes(
    SelectorOptions,
    without=["target_kind", "criterion", "n_features_to_select", "include", "exclude", "max_seconds", "random_state"],
    n_jobs=1,  # others are processes, which take seconds to start
)
def command(
    request: Request,
    criteria: Criteria = "jmi",
    models: Models = "knn,svm",
    splits: Splits = 5,
    max_features: MaxFeatures = 20,
    seed: Seed = 0,
    max_rows: MaxRows = 1200,
    *,
    printing: Printing,
    **options: Any,
) -> int:
    """Compare selectors by the scores of models that are trained on what they select."""
    messages = printing.messages
    given = request.open(options, messages).sampled(max_rows, seed, messages)

    from unirel import BURSelector
    from unirel.evaluation import compare
    from unirel.predictors import PEERS

    kinds = given.options["kinds"] or {}
    ignored = [name for name, kind in kinds.items() if kind == "ignored"]
    kept = {name: value for name, value in given.options.items() if name != "n_jobs"}
    kept["kinds"] = {name: kind for name, kind in kinds.items() if name not in ignored} or None
    selectors: dict[str, Any] = {}
    baselines: dict[str, str] = {}
    for name in filter(None, criteria.split(",")):
        selectors[name] = name if name in PEERS else BURSelector(name, **{**kept, "beta": 0.0})
        if name not in PEERS and given.options["beta"] > 0:
            selectors[f"{name} boosted"] = BURSelector(name, **kept)
            baselines[f"{name} boosted"] = name
    with messages.catching_warnings():
        evaluation = compare(
            [(given.origin.source, given.X.drop_columns(ignored), given.y)],
            selectors,
            list(filter(None, models.split(","))),
            n_features=max_features,
            n_splits=splits,
            random_state=seed,
            n_jobs=given.options["n_jobs"],
            verbose=not printing.quiet,
        )
    if not evaluation.complete:
        interrupts.answer()
    content = evaluation.to_dict(baselines)
    rows = [[row[name] for name in COLUMNS] for row in content["summary"]]
    printing.show("comparison", content, COLUMNS, rows, in_words(content) if rows else "", HEADERS)
    if evaluation.complete:
        return Exit.OK
    messages.tell("interrupted; these are the splits that were finished")
    return Exit.INTERRUPTED


def in_words(content: Mapping[str, Any]) -> str:
    """What the comparison says, in words, with what chance alone could do."""
    best = max(content["summary"], key=lambda row: row["test_score"])
    sentences = [
        f"Best on average: {best['selector']} with {best['model']}, test score {best['test_score']:.3f} with "
        f"{best['n_features']:.1f} features."
    ]
    for row in content["differences"]:
        mean, low, high = (row[name] for name in ("mean", "low", "high"))
        interval = "" if low is None else f" (95 % interval {low:+.3f} to {high:+.3f})"
        chance = "" if low is not None and low * high > 0 else ", which may be chance"
        about = f"With {row['model']}, {row['selector']} differs from {row['baseline']} by {mean:+.3f}"
        sentences.append(f"{about}{interval}{chance}.")
    return " ".join(sentences)
