"""The six datasets and the share of their features that have unique relevance, beside the paper's."""

from pathlib import Path

from unirel.datasets import describe
from unirel.experiments.tables import ReplayTables, Row, read_expected
from unirel.options import Metric
from unirel.work import Progress

# Those for which unique relevance is estimated.
_ESTIMATED = {
    "smoke": ("sonar",),
    "small": ("colon", "sonar", "madelon", "leukemia", "isolet"),
    "full": ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor"),
}
_COMPARED: tuple[Metric, ...] = ("auto", "euclidean")
_ABOUT = """Features with unique relevance above 0, given all others, in percent; empty where not estimated. \
The metric auto is chebyshev for continuous columns; for discrete ones it is manhattan, which orders \
distances as euclidean does."""


def compute(
    preset: str,
    data_home: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ReplayTables:
    """The table; datasets that are not there have no percentages."""
    paper = read_expected("datasets")
    rows = []
    for done, published in enumerate(paper, start=1):
        rows.append(_row(published, published["dataset"] in _ESTIMATED[preset], data_home, n_jobs))
        if progress is not None:
            progress(done, len(paper))
    settings = f"Settings: preset {preset}; three neighbours, standardised columns."
    return ReplayTables("dataset_table", "The datasets", [settings, _ABOUT, rows], {"dataset_table": rows})


def _row(published: dict[str, str], estimate: bool, data_home: str | Path | None, n_jobs: int | None) -> Row:
    name = published["dataset"]
    found = {
        metric: describe(data_home, names=[name], unique_relevance=estimate, metric=metric, n_jobs=n_jobs)[0]
        for metric in _COMPARED
    }
    facts = found["auto"]
    row: Row = {"dataset": name}
    for ours, theirs in (("n_samples", "n_instances"), ("n_features", "n_features"), ("n_classes", "n_classes")):
        row |= {ours: facts[ours], f"paper_{ours}": int(published[theirs])}
    row |= {"kind": facts["kind"], "paper_kind": published["data_type"]}
    paper = float(published["unique_relevance_percent"])
    shares = {metric: one["unique_relevance"] for metric, one in found.items()}
    row |= {f"ur_{metric}": None if share is None else round(share, 1) for metric, share in shares.items()}
    row["paper_ur"] = paper
    row |= {
        f"difference_{metric}": None if share is None else round(share - paper, 1) for metric, share in shares.items()
    }
    return row
