"""All datasets at a glance."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unirel.datasets.catalog import Entry, catalog, find_entry
from unirel.datasets.fetch import is_here, load
from unirel.errors import UnirelWarning
from unirel.options import Metric
from unirel.search.unique import unique_relevance as find_unique_relevance


def describe(
    data_home: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    unique_relevance: bool = False,
    metric: Metric = "auto",
    n_jobs: int | None = None,
) -> list[dict[str, Any]]:
    """List the datasets that `load` knows.

    Parameters
    ----------
    data_home : path, optional
        As in `load`.
    names : list of str, optional
        Those to list; all by default.
    unique_relevance : bool
        Also estimate which percentage of the features has unique relevance, for those that are here. Nothing is
        downloaded for this.
    metric, n_jobs
        As in `unirel.unique_relevance`, for that estimate.

    Returns
    -------
    list of dict
        For each dataset ``name``, ``title``, ``n_samples``, ``n_features``, ``n_classes``, ``kind``, ``source``
        ("scikit-learn", "file", "OpenML" or "nowhere"), ``openml`` (data id), what the paper says (``paper_n_samples``,
        ``paper_n_features``, ``paper_n_classes``, ``paper_unique_relevance`` in percent) and our own
        ``unique_relevance`` in percent. What is not known is None.

    Examples
    --------
    >>> from unirel.datasets import describe
    >>> describe(names=["wine"], unique_relevance=True)[0]["unique_relevance"]
    30.7...
    """
    entries = list(catalog().values()) if names is None else [find_entry(name) for name in names]
    rows = []
    for entry in entries:
        here = is_here(entry, data_home)
        row = _facts(entry, here)
        if unique_relevance and here:
            row["unique_relevance"] = _share(load(entry.name, data_home), metric, n_jobs)
        rows.append(row)
    return rows


def _facts(entry: Entry, here: bool) -> dict[str, Any]:
    source = "scikit-learn" if entry.builtin else "file" if here else "OpenML" if entry.openml else "nowhere"
    own = ("name", "title", "n_samples", "n_features", "n_classes", "kind")
    facts: dict[str, Any] = {fact: getattr(entry, fact) for fact in own}
    facts |= {"source": source, "openml": entry.openml.id if entry.openml else None}
    for fact in ("n_samples", "n_features", "n_classes", "unique_relevance"):
        facts[f"paper_{fact}"] = getattr(entry.paper, fact) if entry.paper else None
    return {**facts, "unique_relevance": None}


def _share(bunch: Any, metric: Metric, n_jobs: int | None) -> float:
    """Percentage of features with unique relevance above 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)  # Few or none with any is an answer here.
        values = find_unique_relevance(bunch.data, bunch.target, metric=metric, n_jobs=n_jobs)
    return float(100 * np.mean(np.asarray(values) > 0))
