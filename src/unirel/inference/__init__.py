"""Tests, stability, redundancy and relations between features."""

from typing import Any

# How features are put in order where their redundancy is analysed, unless somebody says otherwise, as published: the
# default of `redundancy_analysis` and of the flags of `unirel redundancy`, which must not import the former to begin.
REDUNDANCY_ORDER: dict[str, Any] = {
    "criterion": "gsa",
    "beta": 0.1,
    "unique_relevance": "reference",
    "mi_estimator": "knn",
}
REDUNDANCY_FEATURES = 30  # at most, as given very many of them no estimate by neighbours is credible
