"""Accuracy of criteria boosted by a classifier's unique relevance, and of three wrappers, beside the paper's.

Run it as ``python -m unirel.experiments.accuracy_clf --data DIR --preset small --journal FILE --output DIR``.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unirel.evaluation import Selector, Wrapper
from unirel.experiments.accuracy import (
    CLASSIFIERS,
    PRESETS,
    TITLES,
    Line,
    Outcomes,
    Report,
    choose_preset,
    evaluate,
    make_cells,
    make_pooled,
    make_runs,
    metric_of,
)
from unirel.experiments.command import run_command
from unirel.experiments.tables import read_expected
from unirel.progress import Progress

BETA = 0.1
WRAPPERS = ("RFE", "FFS", "BFE")
# A classifier is trained without each feature, so few runs on few features are what takes minutes.
OWN_PRESETS = {**PRESETS, "small": replace(PRESETS["small"], datasets=("sonar",), n_runs=3)}
# Features, most relevant first, that forward selection and backward elimination look at.
N_CANDIDATES = {"smoke": 5, "small": 30, "full": 60}
ABOUT = f"""Criteria boosted by unique relevance from a classifier (BUR-CLF, beta {BETA}), beside wrappers:

- BUR-CLF: cross-entropy of the classifier that is being evaluated, trained without the feature, out of five folds of
  the training rows.
- RFE (recursive feature elimination, not for nearest neighbours), FFS (forward selection) and BFE (backward
  elimination) with the same classifier.
- Plain criteria, to compare with; their published numbers are those of the paper's other table.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(
    dataset: str, n_candidates: int, classifiers: Sequence[str] = CLASSIFIERS
) -> dict[str, Selector | Wrapper]:
    """All selectors by the name they have in the table."""
    metric = metric_of(dataset)
    found: dict[str, Selector | Wrapper] = {}
    for criterion, title in TITLES.items():
        found[title] = Selector(criterion, metric=metric)
        found[f"{title}-BUR-CLF"] = Selector(criterion, BETA, "classifier", metric=metric)
    if set(classifiers) != {"knn"}:  # which has no weights to eliminate by
        found["RFE"] = Wrapper("rfe")
    found["FFS"] = Wrapper("ffs", n_candidates)
    found["BFE"] = Wrapper("bfe", n_candidates)
    return found


def run(
    data_home: str | Path | None = None,
    preset: str = "small",
    journal: str | Path | None = None,
    n_jobs: int | None = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
    *,
    datasets: Sequence[str] | None = None,
    classifiers: Sequence[str] | None = None,
    n_runs: int | None = None,
) -> Report:
    """Compute the table.

    Parameters
    ----------
    data_home : path, optional
        As in `unirel.datasets.load`.
    preset : {"smoke", "small", "full"}
        Two runs and three on Sonar; as published.
    journal : path, optional
        Where finished work is kept, to go on from; each dataset has a file of its own, with its name before the suffix.
    n_jobs : int, optional
        Processes.
    output : path, optional
        Folder to write CSV and Markdown to; nothing is written if None.
    progress : callable, optional
        Called as ``progress(done, total)``, for each dataset from the start.
    datasets, classifiers, n_runs
        Replace those of the preset.

    Returns
    -------
    Report
    """
    chosen = choose_preset(preset, datasets, classifiers, n_runs, OWN_PRESETS)
    n_candidates = N_CANDIDATES[preset]
    evaluations = evaluate(
        chosen, lambda name: selectors(name, n_candidates, chosen.classifiers), data_home, journal, n_jobs, progress
    )
    outcomes = Outcomes(evaluations)
    boosted = {title: f"{title}-BUR-CLF" for title in TITLES.values()}
    pairs = {"BUR-CLF against plain": [(ours, title) for title, ours in boosted.items()]}
    pairs |= {f"BUR-CLF against {wrapper}": [(ours, wrapper) for ours in boosted.values()] for wrapper in WRAPPERS}
    paper = read_expected("accuracy_bur_clf_vs_wrappers")
    plain = [row for row in read_expected("accuracy_mrwmr_vs_bur_ksg") if row["algorithm"] in boosted]
    report = Report(
        name="accuracy_clf",
        title="Accuracy with a classifier's unique relevance, and of wrappers",
        about=ABOUT,
        cells=make_cells(
            outcomes,
            _lines(paper, chosen.classifiers),
            [*paper, *plain],
            {ours: title for title, ours in boosted.items()},
        ),
        pooled=make_pooled(outcomes, pairs, chosen.classifiers),
        runs=make_runs(outcomes),
        settings=f"preset {preset}: {chosen.describe()} FFS and BFE look at the {n_candidates} most relevant features "
        "and take one setting of the classifier while they search (5 neighbours, C = 1, 10 trees).",
        complete=all(evaluation.complete for evaluation in evaluations),
    )
    if output is not None:
        report.write(output)
    return report


def _lines(paper: Sequence[dict[str, str]], classifiers: Sequence[str]) -> list[Line]:
    """For each classifier each plain criterion before its boosted form, then the wrappers that suit it."""
    numbers = {(row["classifier"], row["algorithm"]): int(row["row"]) for row in paper}
    names = dict.fromkeys([*CLASSIFIERS, *classifiers])
    algorithms = [name for title in TITLES.values() for name in (title, f"{title}-BUR-CLF")]
    lines = [
        Line(name, algorithm, numbers.get((name, algorithm)))
        for name in names
        for algorithm in (*algorithms, *WRAPPERS)
    ]
    return [line for line in lines if line.row is not None or line.algorithm not in WRAPPERS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    return run_command("accuracy_clf", __doc__, run, arguments, ("datasets", "classifiers", "runs"))


if __name__ == "__main__":
    sys.exit(main())
