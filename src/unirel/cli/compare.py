"""`unirel compare`: does the selection help a model, on held-out rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from unirel.cli import Exit
from unirel.cli.files import open_data
from unirel.cli.measures import MaxRows, sampled
from unirel.cli.options import METHOD, Boosting, Data, Printing, flag, make_selector, with_flags
from unirel.cli.output import Output

HEADERS = ("model", "selector", "test score", "+/-", "features", "stability", "seconds")
COLUMNS = ("model", "selector", "test_score", "test_score_std", "n_features", "stability", "seconds")


@dataclass(frozen=True, kw_only=True)
class _Boosting(Boosting):
    jobs: int = flag(1, "--jobs -j", "Processes, -1 for one for each core; they take seconds to start.", panel=METHOD)


@with_flags(
    "unirel compare data.csv --target outcome",
    "unirel compare breast_cancer --criteria mim,jmi,lasso --beta 0.1 --models knn --splits 10",
)
def compare(
    data: Data,
    options: _Boosting,
    printing: Printing,
    criteria: Annotated[
        str,
        typer.Option(
            "--criteria",
            metavar="NAME,...",
            help="Criteria, plain and boosted; or kbest, lasso, forest, rfe, lightgbm.",
        ),
    ] = "jmi",
    models: Annotated[str, typer.Option("--models", metavar="NAME,...", help="Of logistic, rf, knn and svm.")] = (
        "knn,svm"
    ),
    splits: Annotated[int, typer.Option("--splits", min=1, help="Random splits into 60 / 20 / 20 % of the rows.")] = 5,
    max_features: Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")] = 20,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits and of a sample.")] = 0,
    max_rows: MaxRows = 1200,
) -> int:
    """Compare selectors by the scores of models that are trained on what they select."""
    output = Output(printing)
    given = sampled(open_data(data, output.messages), max_rows, seed, output.messages)

    from unirel import evaluation
    from unirel.predictors import PEERS

    selectors: dict[str, Any] = {}
    baselines: dict[str, str] = {}
    for name in filter(None, criteria.split(",")):
        boosted = make_selector(options, given.names, criterion=name, **{**given.kinds, "n_jobs": None})
        selectors[name] = name if name in PEERS else boosted.__class__(**{**boosted.get_params(False), "beta": 0.0})
        if name not in PEERS and boosted.beta > 0:
            selectors[f"{name} boosted"] = boosted
            baselines[f"{name} boosted"] = name
    with output.messages.catching_warnings():
        found = evaluation.compare(
            [(given.origin.source, given.X, given.y)],
            selectors,
            list(filter(None, models.split(","))),
            n_features=max_features,
            n_splits=splits,
            random_state=seed,
            n_jobs=options.jobs,
            **given.kinds,
            verbose=output.verbose,
        )
    if not found.rows:
        raise KeyboardInterrupt  # before the first split was finished
    content = found.to_dict(baselines)
    rows = [[row[name] for name in COLUMNS] for row in content["summary"]]
    output.show("comparison", content, COLUMNS, rows, [_in_words(content)], HEADERS)
    if found.complete:
        return Exit.OK
    output.messages.tell("interrupted; these are the splits that were finished")
    return Exit.INTERRUPTED


def _in_words(content: Mapping[str, Any]) -> str:
    """What the comparison says, with what chance alone could do."""
    best = max(content["summary"], key=lambda row: row["test_score"])
    sentences = [
        f"Best on average: {best['selector']} with {best['model']}, test score {best['test_score']:.3f} with "
        f"{best['n_features']:.1f} features."
    ]
    for row in content["differences"]:
        low, high = row["low"], row["high"]
        interval = "" if low is None else f" (95 % interval {low:+.3f} to {high:+.3f})"
        chance = "" if low is not None and low * high > 0 else ", which may be chance"
        about = f"With {row['model']}, {row['selector']} differs from {row['baseline']} by {row['mean']:+.3f}"
        sentences.append(f"{about}{interval}{chance}.")
    return " ".join(sentences)
