"""Accuracy of criteria boosted by a classifier's unique relevance, and of three wrappers, beside the paper's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unirel.evaluation import Wrapper
from unirel.experiments.accuracy import PRESETS, TITLES, AccuracyTable, against_plain, metric_of
from unirel.selectors import BURSelector

BETA = 0.1
WRAPPERS = ("RFE", "FFS", "BFE")
# A classifier is trained without each feature, so few runs on few features are what takes minutes.
OWN_PRESETS = {
    **PRESETS,
    "small": replace(PRESETS["small"], datasets=("sonar",), n_runs=3),
    "medium": replace(PRESETS["medium"], datasets=("sonar", "colon", "madelon", "gas_sensor"), n_runs=5),
}
# Of wide tables the most relevant columns are searched, and a classifier is trained without each of these only.
MAX_CANDIDATES = {"colon": 300, "leukemia": 300, "isolet": 300}
# Features, most relevant first, that forward selection and backward elimination look at.
N_CANDIDATES = {"smoke": 5, "small": 30, "medium": 30, "full": 60}
ABOUT = f"""Criteria boosted by unique relevance from a classifier (BUR-CLF, beta {BETA}), beside wrappers:

- BUR-CLF: cross-entropy of the classifier that is being evaluated, trained without the feature, out of five folds of
  the training rows. On {", ".join(MAX_CANDIDATES)} criteria search the 300 features that are most relevant in the
  training rows, and the classifier, which sees all features, is trained without each of these.
- RFE (recursive feature elimination, not for nearest neighbours), FFS (forward selection) and BFE (backward
  elimination) with the same classifier.
- Plain criteria, to compare with; their published numbers are those of the paper's other table.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(dataset: str, n_candidates: int, classifiers: Sequence[str]) -> dict[str, BURSelector | Wrapper]:
    """All selectors by the name they have in the table."""
    given: Any = {"metric": metric_of(dataset), "max_candidates": MAX_CANDIDATES.get(dataset)}
    found: dict[str, BURSelector | Wrapper] = {}
    for criterion, title in TITLES.items():
        found[title] = BURSelector.paper(criterion, beta=0, **given)
        found[f"{title}-BUR-CLF"] = BURSelector.paper(criterion, unique_relevance="classifier", **given)
    if set(classifiers) != {"knn"}:  # which has no weights to eliminate by
        found["RFE"] = Wrapper("rfe")
    found["FFS"] = Wrapper("ffs", n_candidates)
    found["BFE"] = Wrapper("bfe", n_candidates)
    return found


PAIRS = {"BUR-CLF against plain": against_plain("BUR-CLF")} | {
    f"BUR-CLF against {wrapper}": [(boosted, wrapper) for boosted, _ in against_plain("BUR-CLF")]
    for wrapper in WRAPPERS
}
REPLAY = AccuracyTable(
    name="accuracy_clf",
    title="Accuracy with a classifier's unique relevance, and of wrappers",
    about=ABOUT,
    paper="accuracy_bur_clf_vs_wrappers",
    selectors=lambda dataset, preset, classifiers: selectors(dataset, N_CANDIDATES[preset], classifiers),
    boosts=("BUR-CLF",),
    pairs=PAIRS,
    remark=lambda preset: (
        f"FFS and BFE look at the {N_CANDIDATES[preset]} most relevant features "
        "and take one setting of the classifier while they search (5 neighbours, C = 1, 10 trees)."
    ),
    presets=OWN_PRESETS,
    wrappers=WRAPPERS,
)
compute = REPLAY.compute
