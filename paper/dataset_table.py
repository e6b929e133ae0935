"""The six datasets and the share of their features that have unique relevance, beside the paper's."""

import warnings
from typing import Any, Literal

import numpy as np

from paper.accuracy import Asked
from paper.datasets import catalog, load, path_of
from paper.tables import ReplayTables, Row, read_expected
from unirel import KNN, UnirelWarning, unique_relevance

_ALL = ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor")
# Those for which unique relevance is estimated.
_ESTIMATED = {"smoke": ("sonar",), "small": _ALL[:-1], "medium": _ALL, "full": _ALL}
_METRICS: tuple[Literal["auto", "euclidean"], ...] = ("auto", "euclidean")
_ABOUT = """Features with unique relevance above 0, given all others, in percent; empty where not estimated. \
The metric auto is chebyshev for continuous columns; for discrete ones it is manhattan, which orders \
distances as euclidean does."""


def compute(asked: Asked) -> ReplayTables:
    """The table; datasets that are not there have no percentages."""
    rows = [_row(published, asked) for published in read_expected("datasets")]
    settings = f"Settings: preset {asked.preset}; three neighbours, standardised columns."
    return ReplayTables("dataset_table", "The datasets", [settings, _ABOUT, rows], {"dataset_table": rows})


def _row(published: dict[str, str], asked: Asked) -> Row:
    name = published["dataset"]
    entry, paper = catalog()[name], float(published["unique_relevance_percent"])
    row: Row = {"dataset": name, "n_samples": entry.n_samples, "paper_n_samples": int(published["n_instances"])}
    row |= {"n_features": entry.n_features, "paper_n_features": int(published["n_features"])}
    row |= {"n_classes": len(entry.target_names), "paper_n_classes": int(published["n_classes"])}
    row |= {"kind": entry.kind, "paper_kind": published["data_type"]}
    shares: dict[str, float | None] = dict.fromkeys(_METRICS)
    if name in _ESTIMATED[asked.preset] and path_of(name, asked.data) is not None:
        bunch = load(name, asked.data)
        shares = {metric: _share(bunch, metric, asked.n_jobs) for metric in _METRICS}
    row |= {f"ur_{metric}": None if share is None else round(share, 1) for metric, share in shares.items()}
    row["paper_ur"] = paper
    differences = {one: None if share is None else round(share - paper, 1) for one, share in shares.items()}
    return row | {f"difference_{metric}": difference for metric, difference in differences.items()}


def _share(bunch: Any, metric: Literal["auto", "euclidean"], n_jobs: int | None) -> float:
    """Percentage of features with unique relevance above 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)  # few or none with any is an answer here
        values = unique_relevance(bunch.data, bunch.target, method=KNN(metric=metric), n_jobs=n_jobs)
    return float(100 * np.mean(np.asarray(values) > 0))
