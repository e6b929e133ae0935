"""Accuracy of five criteria with and without the boost, by three classifiers on six datasets, beside the paper's.

Run it as ``python -m unirel.experiments.accuracy_ksg --data DIR --preset small --journal FILE --output DIR``.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from unirel.evaluation import Selector
from unirel.experiments.accuracy import (
    CLASSIFIERS,
    DISCRETE,
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
BETAS = (0.0, 0.1, 0.3, 0.5)
# What is boosted, and how the paper or we call it.
BOOSTS = ("BUR-KSG", "BUR-REF", "BUR-VAL")
ABOUT = f"""Plain criteria beside three boosts of unique relevance (UR):

- BUR-KSG: UR given all other features, beta {BETA}, as in the paper.
- BUR-REF: reference UR, beta {BETA}, the default of unirel; the paper has no such numbers.
- BUR-VAL: reference UR, beta chosen from {BETAS} by validation accuracy; the paper has no such numbers.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(dataset: str) -> dict[str, Selector]:
    """All selectors by the name they have in the table."""
    metric = metric_of(dataset)
    found = {}
    for criterion, title in TITLES.items():
        found[title] = Selector(criterion, metric=metric)
        found[f"{title}-BUR-KSG"] = Selector(criterion, BETA, "ksg", metric=metric)
        found[f"{title}-BUR-REF"] = Selector(criterion, BETA, metric=metric)
        found[f"{title}-BUR-VAL"] = Selector(criterion, beta_choices=BETAS, metric=metric)
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
        Two runs on Sonar; a few runs with few numbers of features and at most 1,000 rows; as published.
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
    chosen = choose_preset(preset, datasets, classifiers, n_runs)
    evaluations = evaluate(chosen, selectors, data_home, journal, n_jobs, progress)
    outcomes = Outcomes(evaluations)
    baselines = {f"{title}-{boost}": title for title in TITLES.values() for boost in BOOSTS}
    pairs = {boost: [(f"{title}-{boost}", title) for title in TITLES.values()] for boost in BOOSTS}
    paper = read_expected("accuracy_mrwmr_vs_bur_ksg")
    report = Report(
        name="accuracy_ksg",
        title="Accuracy with and without the boost",
        about=ABOUT,
        cells=make_cells(outcomes, _lines(paper, chosen.classifiers), paper, baselines),
        pooled=make_pooled(outcomes, pairs, chosen.classifiers),
        runs=make_runs(outcomes),
        settings=f"preset {preset}: {chosen.describe()} Three neighbours, standardised columns, chebyshev distances; "
        f"{' and '.join(DISCRETE)}, all discrete: euclidean distances.",
        complete=all(evaluation.complete for evaluation in evaluations),
    )
    if output is not None:
        report.write(output)
    return report


def _lines(paper: Sequence[dict[str, str]], classifiers: Sequence[str]) -> list[Line]:
    """The rows of the paper, and ours after those of the same criterion and classifier."""
    numbers = {(row["classifier"], row["algorithm"]): int(row["row"]) for row in paper}
    names = dict.fromkeys([*CLASSIFIERS, *classifiers])
    suffixes = ("", *(f"-{boost}" for boost in BOOSTS))
    algorithms = [f"{title}{suffix}" for title in TITLES.values() for suffix in suffixes]
    return [Line(name, algorithm, numbers.get((name, algorithm))) for name in names for algorithm in algorithms]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    return run_command("accuracy_ksg", __doc__, run, arguments, ("datasets", "classifiers", "runs"))


if __name__ == "__main__":
    sys.exit(main())
