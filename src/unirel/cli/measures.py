"""`unirel relevance`, `redundancy` and `explain`: what features tell, and which of them are needed."""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel.cli import BadInput, Exit
from unirel.cli.files import Input, open_data
from unirel.cli.options import (
    METHOD,
    Data,
    Estimation,
    Printing,
    Searching,
    Selecting,
    find_names,
    flag,
    make_selector,
    suggest,
    with_flags,
)
from unirel.cli.output import Messages, Output, bar
from unirel.criteria import CRITERIA

if TYPE_CHECKING:
    from unirel.results import RelevanceTest

_REDUNDANCY = ("size", "name", "role", "joint_information", "unique_relevance")
_EXPLAINED = ("step", "name", "shared", "together", "instead")

# Neighbours of all rows are looked for more often in some commands than one wants to wait for.
MaxRows = Annotated[
    int, typer.Option("--max-rows", min=2, help="Of more rows a sample of this size is taken, by class.")
]


def sampled(given: Input, max_rows: int, seed: int, messages: Messages) -> Input:
    """The same, or some of the rows with a note, of each class its share, where there are more."""
    n_rows = given.X.num_rows
    if n_rows <= max_rows:
        return given
    import numpy as np

    from unirel.data.weights import choose_by_class

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what will be said of the sample
        rows = choose_by_class(given.read(), np.arange(n_rows), max_rows, np.random.default_rng(seed))
    messages.note(
        f"took a sample of {len(rows):,} of the {n_rows:,} rows, to be done soon; --max-rows {n_rows} takes all"
    )
    return replace(given, X=given.X.take(rows), y=given.y.take(rows))


@with_flags(
    "unirel relevance data.csv --target outcome",
    "unirel relevance data.csv --target outcome --test",
    "unirel relevance data.csv --target outcome --top 0 --csv > relevance.csv",
)
def relevance(
    data: Data,
    options: Estimation,
    printing: Printing,
    top: Annotated[int, typer.Option("--top", "-n", min=0, help="How many rows, 0 for all; --json prints all.")] = 30,
    test: Annotated[bool, typer.Option("--test", help="Test which features could seem relevant by chance.")] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0.0, max=1.0, help="With --test: the false discovery rate.")
    ] = 0.05,
    permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="With --test: permutations at most.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="With --test: seed of the permutations.")] = 0,
) -> int:
    """Print the relevance of every feature, its mutual information with the target in nats, best first."""
    output = Output(printing)
    given = open_data(data, output.messages, in_parts=True)
    from unirel import relevance_test

    estimator, tested = options.mi_estimator("knn"), None
    with output.messages.catching_warnings():
        columns, rows, entropy = _measure(given, estimator, options.jobs)
        if test:
            asked: dict[str, Any] = {"n_permutations": permutations, "random_state": seed, "verbose": output.verbose}
            tested = relevance_test(
                given.X, given.y, mi_estimator=estimator, n_jobs=options.jobs, **asked, **given.kinds
            )
    target = given.origin.target
    most = f" The entropy of '{target}' is {entropy:.4f} nats." if entropy is not None else ""
    words = [f"Relevance is mutual information with '{target}' in nats.{most}"]
    if tested is not None:
        columns += ["p_value", "adjusted", "significant"]
        places = {name: place for place, name in enumerate(given.names)}
        for row in rows:
            p_value, adjusted = (float(values[places[row[1]]]) for values in (tested.p_value, tested.adjusted))
            row += [p_value, adjusted, "yes" if adjusted <= alpha else "no"]
        words.append(_test_in_words(tested, alpha, target))
    content: dict[str, Any] = {
        "data": {"source": given.origin.source, "target": target},
        "entropy": entropy,
        "features": [dict(zip(columns, row, strict=True)) for row in rows],
    }
    if tested is not None:
        content["test"] = {"alpha": alpha, "complete": tested.complete, "settings": dict(tested.settings)}
    shown = rows[:top] if top else rows
    if len(shown) < len(rows):
        words.append(f"{len(rows) - len(shown):,} more are not shown (--top 0).")
    output.show("relevance", content, columns, shown, words, [column.replace("_", "-") for column in columns])
    if tested is not None and not tested.complete:
        output.messages.tell("interrupted; p-values are from the permutations that were made")
        return Exit.INTERRUPTED
    return Exit.OK


def _measure(given: Input, estimator: Any, n_jobs: int) -> tuple[list[str], list[list[Any]], float | None]:
    """Names of columns, a row for each feature, the most relevant first, and the entropy of a discrete target."""
    from unirel.estimation.base import make_information

    table = given.read()
    information = make_information(table, estimator, n_jobs=n_jobs)
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    ranked = sorted(zip(values.tolist(), table.features.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
    rows = [
        [rank, table.columns[feature].name, table.columns[feature].kind, table.columns[feature].n_missing, value]
        for rank, (value, feature) in enumerate(ranked, start=1)
    ]
    entropy = information.entropy(table.target) if table.discrete[table.target] else None
    return ["rank", "name", "kind", "missing", "relevance"], rows, entropy


def _test_in_words(tested: "RelevanceTest", alpha: float, target: str) -> str:
    """What the test found, and what its numbers mean."""
    n_tested, n_found = len(tested.adjusted[tested.adjusted == tested.adjusted]), int(tested.significant(alpha).sum())
    found = (
        f"{n_found:,} of {n_tested:,} features are significant, at a false discovery rate of {alpha:.0%}."
        if n_found
        else f"None of {n_tested:,} features is significant: their relevance may be chance."
    )
    return (
        f"{found} The p-value of a feature is how often one that is independent of '{target}' would seem at least as "
        "relevant; the adjusted value allows for the number of features. A feature that is not significant may still "
        "matter: there may be too few rows to see it, or it is relevant only together with others."
    )


@dataclass(frozen=True, kw_only=True)
class _Searching(Searching):
    criterion: str = flag("gsa", "--criterion -c", "What to score candidates by.", panel=METHOD, among=CRITERIA)


@with_flags(
    "unirel redundancy data.csv --target outcome",
    "unirel redundancy data.csv --target outcome --order age,bmi,weight",
)
def redundancy(
    data: Data,
    options: _Searching,
    printing: Printing,
    order: Annotated[
        list[str] | None,
        typer.Option("--order", metavar="COL,...", help="The features to analyse, instead of selecting some."),
    ] = None,
    max_features: Annotated[int, typer.Option("--max-features", min=1, help="Features to select at most.")] = 30,
    tolerance: Annotated[float, typer.Option("--tolerance", min=0.0, help="What counts as no loss, in nats.")] = 0.0,
    max_rows: MaxRows = 2000,
) -> int:
    """Tell which features are unique, which are needed given others, and which are redundant."""
    output = Output(printing)
    given = open_data(data, output.messages)
    ordered = find_names(order, given.names, "--order") or None
    from unirel import redundancy_analysis
    from unirel.report.explain import redundancy_in_words

    selector = make_selector(options, given.names, verbose=output.verbose, **given.kinds)
    with output.messages.catching_warnings():
        given = sampled(given, max_rows, options.seed, output.messages)
        result = redundancy_analysis(
            given.X, given.y, selector=selector, order=ordered, tolerance=tolerance, max_features=max_features
        )
    source, target = given.origin.source, given.origin.target
    content = {"data": {"source": source, "target": target}, **result.to_dict()}
    rows = [[feature[name] for name in _REDUNDANCY] for feature in content["features"]]
    headers = ("size", "name", "role", "information so far", "unique")
    output.show("redundancy", content, _REDUNDANCY, rows, [redundancy_in_words(result, target)], headers)
    if not result.complete:
        output.messages.tell("interrupted; this is the best that was found")
        return Exit.INTERRUPTED
    return Exit.OK


@with_flags("unirel explain data.csv age --target outcome", 'unirel explain breast_cancer "mean radius"')
def explain(
    data: Data,
    feature: Annotated[str, typer.Argument(metavar="FEATURE", show_default=False, help="The column to look at.")],
    options: Selecting,
    printing: Printing,
) -> int:
    """Tell what one feature adds to the selected ones, and which of them it could replace."""
    output = Output(printing)
    given = open_data(data, output.messages)
    if feature not in given.names:
        raise BadInput(f"FEATURE: there is no column {feature!r}; {suggest(feature, given.names)}")
    from unirel.inference import relations
    from unirel.report.explain import explanation_in_words
    from unirel.report.report import Report

    with output.messages.catching_warnings():
        table = given.read()
        position = table.names.index(feature)
        if position not in table.features:
            reason = table.columns[position].reason
            raise BadInput(f"{feature!r} is ignored: {reason}; use it all the same with --discrete or --continuous")
        selector = make_selector(options, given.names, verbose=output.verbose, **given.kinds)
        report = Report.from_table(table, selector, given.origin, page=False)
        found = relations.explain(table, report.selection, position)
    rows = [[row[column] for column in _EXPLAINED] for row in found.to_dict()["beside"]]
    shown = [[*row[:3], bar(row[2], 1.0), *row[3:]] for row in rows]
    words = explanation_in_words(found, report)
    about = {"source": given.origin.source, "target": given.origin.target}
    content = {"data": about, **found.to_dict(), "words": words}
    headers = ("step", "selected feature", "shared", "", "with both", "instead of it")
    output.show("explanation", content, _EXPLAINED, rows, words, headers, shown)
    return Exit.INTERRUPTED if report.interrupted else Exit.OK
