"""`unirel explain`, `relevance`, `redundancy`, `compare` and `datasets`: what features tell, and who needs them."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unirel.cli import BadInput, Exit, Output, bar
from unirel.cli import options as flags
from unirel.cli.plots import check_plot, save_plot
from unirel.results import plain

if TYPE_CHECKING:
    from unirel.cli.sources import Input

_REDUNDANCY = ("size", "name", "role", "joint_information", "unique_relevance")
_EXPLAINED = ("step", "name", "shared", "together", "instead")
_COMPARED = ("model", "selector", "test_score", "test_score_std", "n_features", "stability", "seconds")
_DATASETS = ("name", "n_samples", "n_features", "n_classes", "title")


@flags.with_flags("unirel explain data.csv age --target outcome", 'unirel explain breast_cancer "mean radius"')
def explain(*, data: flags.Data, feature: flags.Feature, options: flags.Selecting, printing: flags.Printing) -> int:
    """Tell what one feature adds to the selected ones, and which of them it could replace."""
    output = Output(printing)
    given = output.open(data)
    selector = flags.make_settings(options, given.names, verbose=output.verbose, **given.kinds)
    names = [*given.names, *(selector.groups or ())]
    if feature not in names:
        raise BadInput(f"FEATURE: there is no column {feature!r}; {flags.suggest(feature, names)}")
    from unirel.data.groups import grouped
    from unirel.inference import relations
    from unirel.report import Report
    from unirel.report.explain import explanation_in_words

    with output.catching_warnings():
        table = grouped(given.read(), selector.groups)
        (position,) = table.positions([feature])
        if position not in table.features:
            reason = table.columns[position].reason
            raise BadInput(f"{feature!r} is ignored: {reason}; use it all the same with --discrete or --continuous")
        report = Report.from_table(table, selector, given.origin, page=False, groups=given.groups)
        found = relations.explain(table, report.selection, position)
    words = explanation_in_words(found, report)
    content = {"data": given.about, **found.to_dict(), "words": words}
    headers = ("step", "selected feature", "similarity", "", "with both", "instead of it")
    cells = [[row[column] for column in _EXPLAINED] for row in content["beside"]]
    shown = [[*row[:3], bar(row[2], 1.0), *row[3:]] for row in cells]
    output.show("explanation", content, _EXPLAINED, content["beside"], [" ".join(words)], headers, shown)
    return Exit.INTERRUPTED if report.interrupted else Exit.OK


@flags.with_flags(
    "unirel relevance data.csv --target outcome",
    "unirel relevance data.csv --target outcome --test",
    "unirel relevance data.csv --target outcome --top 0 --csv > relevance.csv",
)
def relevance(data: flags.Data, options: flags.Estimation, ranking: flags.Ranking, printing: flags.Printing) -> int:
    """Print the relevance of every feature, its mutual information with the target in nats, best first."""
    output = Output(printing)
    given = output.open(data, in_parts=True)
    from unirel import relevance_test
    from unirel.report.explain import tested_in_words

    estimator, tested = options.mi_estimator("knn"), None
    with output.catching_warnings():
        rows, entropy = _measure(given, estimator, options.jobs)
        if ranking.test:
            asked: Any = {"n_permutations": ranking.permutations, "random_state": ranking.seed, **given.kinds}
            asked |= {
                "mi_estimator": estimator,
                "n_jobs": options.jobs,
                "verbose": output.verbose,
                "groups": given.groups,
            }
            tested = relevance_test(given.X, given.y, **asked)
    target = given.origin.target
    most = f" The entropy of '{target}' is {entropy:.4f} nats." if entropy is not None else ""
    words = [
        " ".join(
            filter(None, [f"Relevance is mutual information with '{target}' in nats.{most}", _about_target(given)])
        )
    ]
    content: dict[str, Any] = {"data": given.about, "entropy": entropy, "features": rows}
    if tested is not None:
        places = {name: place for place, name in enumerate(given.names)}
        for row in rows:
            p_value, adjusted = (float(values[places[row["name"]]]) for values in (tested.p_value, tested.adjusted))
            significant = "yes" if adjusted <= ranking.alpha else "no"
            row |= {"p_value": p_value, "adjusted": adjusted, "significant": significant}
        words.append(tested_in_words(tested, ranking.alpha, target))
        content["test"] = {"alpha": ranking.alpha, "complete": tested.complete, "settings": dict(tested.settings)}
    shown = rows[: ranking.top or None]
    if len(shown) < len(rows):
        words.append(f"{len(rows) - len(shown):,} more are not shown (--top 0).")
    columns = list(rows[0])
    output.show("relevance", content, columns, shown, words, [column.replace("_", "-") for column in columns])
    return output.end(tested is None or tested.complete, "p-values are from the permutations that were made")


def _measure(given: "Input", estimator: Any, n_jobs: int) -> tuple[list[dict[str, Any]], float | None]:
    """A row for each feature, the most relevant first, and the entropy of a discrete target."""
    from unirel.estimation.base import make_information

    table = given.read()
    information = make_information(table, estimator, n_jobs=n_jobs)
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    ranked = sorted(zip((-values).tolist(), table.features.tolist(), strict=True))
    about = [(table.columns[feature], -value) for value, feature in ranked]
    rows = [
        {"rank": rank, "name": column.name, "kind": column.kind, "missing": column.n_missing, "relevance": value}
        for rank, (column, value) in enumerate(about, start=1)
    ]
    return rows, information.entropy(table.target) if table.discrete[table.target] else None


@flags.with_flags(
    "unirel redundancy data.csv --target outcome", "unirel redundancy data.csv --target outcome --order age,bmi,weight"
)
def redundancy(data: flags.Data, options: flags.Splitting, printing: flags.Printing) -> int:
    """Tell which features are unique, which are needed given others, and which are redundant."""
    output = Output(printing)
    given = output.open(data)
    ordered = flags.find_names(options.order, given.names, "--order") or None
    from unirel import redundancy_analysis
    from unirel.report.explain import redundancy_in_words

    selector = flags.make_settings(options, given.names, verbose=output.verbose, **given.kinds)
    with output.catching_warnings():
        given = _sample(given, options.max_rows, options.seed, output)
        limits: Any = {"tolerance": options.tolerance, "max_features": options.max_features}
        result = redundancy_analysis(given.X, given.y, selector=selector, order=ordered, **limits)
    content = {"data": given.about, **result.to_dict()}
    words = " ".join(filter(None, [redundancy_in_words(result, given.origin.target), _about_target(given)]))
    headers = ("size", "name", "role", "information so far", "unique")
    output.show("redundancy", content, _REDUNDANCY, content["features"], [words], headers)
    return output.end(result.complete, "this is the best that was found")


def _sample(given: "Input", max_rows: int, seed: int, output: Output) -> "Input":
    """The same, or some of the rows with a note, of each class its share, where there are more."""
    n_rows = given.X.num_rows
    if n_rows <= max_rows:
        return given
    import numpy as np

    from unirel.data.weights import choose_by_class

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what will be said of the sample
        rows = choose_by_class(given.read().target_codes(), np.arange(n_rows), max_rows, np.random.default_rng(seed))
    taken = f"took a sample of {len(rows):,} of the {n_rows:,} rows"
    output.note(f"{taken}, to be done soon; --max-rows {n_rows} takes all")
    groups = None if given.groups is None else given.groups[rows]
    return replace(given, X=given.X.take(rows), y=given.y.take(rows), groups=groups)


@flags.with_flags(
    "unirel compare data.csv --target outcome",
    "unirel compare data.csv --target outcome --with kbest,rfe --models logistic --plot scores.png",
    "unirel compare breast_cancer --criteria mim,jmi,lasso --beta 0.1 --models knn --splits 10",
)
def compare(data: flags.Data, options: flags.Comparing, printing: flags.Printing) -> int:
    """Tell whether the selection is better than others, by the scores of models on held-out rows."""
    if options.plot is not None:
        check_plot(options.plot, data.data)
    output = Output(printing)
    given = _sample(output.open(data), options.max_rows, options.seed, output)
    from unirel import evaluation

    selectors, baselines = _compared(options, given)
    models = list(filter(None, options.models.split(",")))
    sizes = _sizes(options.max_features)
    asked: Any = {"n_features": sizes, "n_splits": options.splits, "random_state": options.seed}
    asked |= {"n_jobs": options.jobs, "verbose": output.verbose, **given.kinds}
    with output.catching_warnings():
        found = evaluation.compare([(given.origin.source, given.X, given.y, given.groups)], selectors, models, **asked)
    if not found.rows:
        raise KeyboardInterrupt  # before the first split was finished
    content = found.to_dict(baselines or None)
    words = [_comparison_in_words(content)]
    if not baselines and len({row["selector"] for row in found.rows}) > 1:
        verdict = found.verdict()
        content["verdict"] = plain(
            {**verdict._asdict(), "difference": verdict.difference._asdict(), "words": str(verdict)}
        )
        words = [str(verdict)]
    score = found.scores[given.origin.source]
    headers = ("model", "selector", score, "+/-", "features", "stability", "seconds")
    output.show("comparison", content, _COMPARED, content["summary"], [*words, _about_target(given)], headers)
    if options.plot is not None:
        save_plot(found, options.plot)
        output.tell(f"the picture is in '{options.plot}'")
    return output.end(found.complete, "these are the splits that were finished")


def _compared(options: flags.Comparing, given: "Input") -> tuple[dict[str, Any], dict[str, str]]:
    """Selectors by their labels, and what the boosted criteria are compared with."""
    from sklearn.base import clone

    from unirel.predictors import PEERS
    from unirel.selectors import BURSelector

    selectors: dict[str, Any] = {}
    baselines: dict[str, str] = {}
    kinds = {**given.kinds, "n_jobs": None}
    if options.with_ is not None or not options.criteria:
        selectors["BURSelector"] = BURSelector(**flags.make_settings(options, given.names, **kinds).get_params(False))
        others = "kbest,lasso,forest" if options.with_ is None else options.with_
        selectors |= {name: name for name in flags.split_names([others])}
    for name in flags.split_names([options.criteria]):
        boosted = BURSelector(**flags.make_settings(options, given.names, criterion=name, **kinds).get_params(False))
        selectors[name] = name if name in PEERS else clone(boosted).set_params(beta=0.0)
        if name not in PEERS and boosted.beta > 0:
            selectors[f"{name} boosted"] = boosted
            if "BURSelector" not in selectors:
                baselines[f"{name} boosted"] = name
    return selectors, baselines


def _sizes(largest: int) -> list[int]:
    """Numbers of features to try, each about a third larger than the one before it: every one would take too long."""
    sizes = [1]
    while sizes[-1] < largest:
        sizes.append(min(largest, max(sizes[-1] + 1, sizes[-1] * 4 // 3)))
    return sizes


def _comparison_in_words(content: Mapping[str, Any]) -> str:
    best = max(content["summary"], key=lambda row: row["test_score"])
    score = f"test score {best['test_score']:.3f} with {best['n_features']:.1f} features"
    sentences = [f"Best on average: {best['selector']} with {best['model']}, {score}."]
    for row in content["differences"]:
        low, high = row["low"], row["high"]
        interval = "" if low is None else f" (95 % interval {low:+.3f} to {high:+.3f})"
        chance = "" if low is not None and low * high > 0 else ", which may be chance"
        about = f"With {row['model']}, {row['selector']} differs from {row['baseline']} by {row['mean']:+.3f}"
        sentences.append(f"{about}{interval}{chance}.")
    return " ".join(sentences)


def _about_target(given: "Input") -> str:
    """That a target of numbers is taken as classes, where nobody has said what it is."""
    import numpy as np

    from unirel.data.table import Table
    from unirel.report.text import classes_from_numbers

    if not hasattr(given.X, "num_rows"):  # in parts
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.from_data(np.zeros((given.X.num_rows, 1)), given.y, target_type=given.kinds["target_type"])
    return classes_from_numbers(table, given.kinds["target_type"], "The {} distinct numbers of the target are")


@flags.with_flags("unirel datasets", "unirel select breast_cancer")
def datasets(printing: flags.Printing) -> int:
    """List the datasets that can be named instead of a file."""
    from unirel.data.datasets import describe

    found = describe()
    Output(printing).show("datasets", {"datasets": found}, _DATASETS, found, ["They come with scikit-learn."])
    return Exit.OK
