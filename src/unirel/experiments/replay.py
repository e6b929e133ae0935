"""A replay of an accuracy table: what each of them says about itself, and how all of them are computed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirel.experiments.accuracy import (
    CLASSIFIERS,
    TITLES,
    Line,
    Outcomes,
    Preset,
    Report,
    choose_preset,
    evaluate,
    make_cells,
    make_pooled,
    make_runs,
)
from unirel.experiments.tables import read_expected
from unirel.work import Progress

# The table of the paper that has the plain criteria.
_PLAIN = "accuracy_mrwmr_vs_bur_ksg"


def against_plain(boost: str) -> list[tuple[str, str]]:
    """Every criterion with a boost, and the same without."""
    return [(f"{title}-{boost}", title) for title in TITLES.values()]


@dataclass(frozen=True)
class Replay:
    """What one replay has of its own.

    Attributes
    ----------
    name, title, about : str
        Its file, and what is said on top of the report.
    paper : str
        The published table.
    selectors : callable
        From a dataset, the name of the preset and the classifiers to selectors by their name in the table.
    boosts : tuple of str
        Follow the plain form of every criterion in the table, and have it as baseline.
    pairs : mapping from str to list of (str, str)
        Groups of algorithms and what they are compared with.
    remark : callable
        From the name of the preset to what else decides the results.
    presets : mapping from str to Preset
        How much is computed.
    wrappers : tuple of str
        Algorithms after the criteria, for those classifiers with which the paper has them.
    """

    name: str
    title: str
    about: str
    paper: str
    selectors: Callable[[str, str, Sequence[str]], Mapping[str, Any]]
    boosts: tuple[str, ...]
    pairs: Mapping[str, Sequence[tuple[str, str]]]
    remark: Callable[[str], str]
    presets: Mapping[str, Preset]
    wrappers: tuple[str, ...] = ()

    def run(
        self,
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
            Two runs on Sonar; what takes minutes; as published.
        journal : path, optional
            Where finished work is kept, to go on from; each dataset has a file of its own, with its name before the
            suffix.
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
        chosen = choose_preset(preset, datasets, classifiers, n_runs, self.presets)
        evaluations = evaluate(
            chosen, lambda name: self.selectors(name, preset, chosen.classifiers), data_home, journal, n_jobs, progress
        )
        outcomes = Outcomes(evaluations)
        paper = read_expected(self.paper)
        published = [*paper, *(row for row in read_expected(_PLAIN) if row["algorithm"] in TITLES.values())]
        baselines = dict(pair for boost in self.boosts for pair in against_plain(boost))
        report = Report(
            name=self.name,
            title=self.title,
            about=self.about,
            cells=make_cells(outcomes, self._lines(paper, chosen.classifiers), published, baselines),
            pooled=make_pooled(outcomes, self.pairs, chosen.classifiers),
            runs=make_runs(outcomes),
            settings=f"preset {preset}: {chosen.describe()} {self.remark(preset)}",
            complete=all(evaluation.complete for evaluation in evaluations),
        )
        if output is not None:
            report.write(output)
        return report

    def _lines(self, paper: Sequence[Mapping[str, str]], classifiers: Sequence[str]) -> list[Line]:
        """For each classifier each plain criterion before its boosted forms, then the wrappers that suit it."""
        numbers = {(row["classifier"], row["algorithm"]): int(row["row"]) for row in paper}
        suffixes = ("", *(f"-{boost}" for boost in self.boosts))
        algorithms = [f"{title}{suffix}" for title in TITLES.values() for suffix in suffixes]
        lines = [
            Line(name, algorithm, numbers.get((name, algorithm)))
            for name in dict.fromkeys([*CLASSIFIERS, *classifiers])
            for algorithm in (*algorithms, *self.wrappers)
        ]
        return [line for line in lines if line.row is not None or line.algorithm not in self.wrappers]
