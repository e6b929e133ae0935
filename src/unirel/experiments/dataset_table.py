"""The six datasets and the share of their features that have unique relevance, beside the paper's.

Run it as ``python -m unirel.experiments.dataset_table --data DIR --preset full --output DIR``.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unirel.datasets import describe
from unirel.experiments.command import run_command
from unirel.experiments.tables import Row, read_expected, to_csv, to_markdown, write_texts
from unirel.information.knn import Metric
from unirel.work import Progress

# Those for which unique relevance is estimated.
PRESETS = {
    "smoke": ("sonar",),
    "small": ("colon", "sonar", "madelon", "leukemia", "isolet"),
    "full": ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor"),
}
METRICS: tuple[Metric, ...] = ("auto", "euclidean")


@dataclass(frozen=True)
class Report:
    """What the replay found.

    Attributes
    ----------
    rows : list of dict
        One for each dataset.
    settings : str
        What decided the results.
    complete : bool
        Always true: it goes to the end or raises an error.
    """

    rows: list[Row]
    settings: str
    complete: bool = True

    def to_markdown(self) -> str:
        """The table, with what it shows."""
        parts = [
            "# The datasets",
            f"Settings: {self.settings}",
            "Features with unique relevance above 0, given all others, in percent; empty where not estimated. "
            "The metric auto is chebyshev for continuous columns; for discrete ones it is manhattan, which orders "
            "distances as euclidean does.",
            to_markdown(self.rows),
        ]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the table as CSV and Markdown."""
        return write_texts(folder, {"dataset_table.csv": to_csv(self.rows), "dataset_table.md": self.to_markdown()})


def run(
    data_home: str | Path | None = None,
    preset: str = "small",
    n_jobs: int | None = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute the table.

    Parameters
    ----------
    data_home : path, optional
        As in `unirel.datasets.load`. Datasets that are not there have no percentages.
    preset : {"smoke", "small", "full"}
        Estimate unique relevance for Sonar, for all but the longest, for all.
    n_jobs : int, optional
        Threads.
    output : path, optional
        Folder to write CSV and Markdown to; nothing is written if None.
    progress : callable, optional
        Called as ``progress(done, total)`` with datasets.

    Returns
    -------
    Report
    """
    if preset not in PRESETS:
        raise ValueError(f"preset={preset!r} is not one of {', '.join(map(repr, PRESETS))}")
    paper = read_expected("datasets")
    rows = []
    for done, published in enumerate(paper, start=1):
        rows.append(_row(published, published["dataset"] in PRESETS[preset], data_home, n_jobs))
        if progress is not None:
            progress(done, len(paper))
    report = Report(rows, f"preset {preset}; three neighbours, standardised columns.")
    if output is not None:
        report.write(output)
    return report


def _row(published: dict[str, str], estimate: bool, data_home: str | Path | None, n_jobs: int | None) -> Row:
    name = published["dataset"]
    found = {
        metric: describe(data_home, names=[name], unique_relevance=estimate, metric=metric, n_jobs=n_jobs)[0]
        for metric in METRICS
    }
    facts = found["auto"]
    row: Row = {"dataset": name}
    for ours, theirs in (("n_samples", "n_instances"), ("n_features", "n_features"), ("n_classes", "n_classes")):
        row |= {ours: facts[ours], f"paper_{ours}": int(published[theirs])}
    row |= {"kind": facts["kind"], "paper_kind": published["data_type"]}
    paper = float(published["unique_relevance_percent"])
    for metric in METRICS:
        share = found[metric]["unique_relevance"]
        row[f"ur_{metric}"] = None if share is None else round(share, 1)
    row["paper_ur"] = paper
    for metric in METRICS:
        share = found[metric]["unique_relevance"]
        row[f"difference_{metric}"] = None if share is None else round(share - paper, 1)
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    return run_command("dataset_table", __doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
