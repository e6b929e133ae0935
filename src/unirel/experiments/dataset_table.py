"""The six datasets and the share of their features that have unique relevance, beside the paper's."""

from typing import Any

from unirel.datasets import describe
from unirel.experiments import Asked
from unirel.experiments.tables import ReplayTables, Row, read_expected
from unirel.options import Metric

# Those for which unique relevance is estimated.
_ESTIMATED = {
    "smoke": ("sonar",),
    "small": ("colon", "sonar", "madelon", "leukemia", "isolet"),
    **dict.fromkeys(("medium", "full"), ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor")),
}
_COMPARED: tuple[Metric, ...] = ("auto", "euclidean")
_ABOUT = """Features with unique relevance above 0, given all others, in percent; empty where not estimated. \
The metric auto is chebyshev for continuous columns; for discrete ones it is manhattan, which orders \
distances as euclidean does."""


def compute(asked: Asked) -> ReplayTables:
    """The table; datasets that are not there have no percentages."""
    paper = read_expected("datasets")
    rows = []
    for done, published in enumerate(paper, start=1):
        rows.append(_row(published, asked))
        if asked.progress is not None:
            asked.progress(done, len(paper))
    settings = f"Settings: preset {asked.preset}; three neighbours, standardised columns."
    return ReplayTables("dataset_table", "The datasets", [settings, _ABOUT, rows], {"dataset_table": rows})


def _row(published: dict[str, str], asked: Asked) -> Row:
    name = published["dataset"]
    options: dict[str, Any] = {"names": [name], "unique_relevance": name in _ESTIMATED[asked.preset]}
    found = {one: describe(asked.data_home, metric=one, n_jobs=asked.n_jobs, **options)[0] for one in _COMPARED}
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
