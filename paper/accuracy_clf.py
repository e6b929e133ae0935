"""Accuracy of criteria boosted by a classifier's unique relevance, and of three wrappers, beside the paper's."""

from dataclasses import replace

from paper.accuracy import PRESETS, TITLES, AccuracyTable, against_plain
from paper.protocol import Selector
from paper.selectors import Criterion, Wrapper, metric_of

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


def selectors(dataset: str, preset: str) -> dict[str, Selector]:
    """All selectors by the name they have in the table."""
    metric, most = metric_of(dataset), MAX_CANDIDATES.get(dataset)
    found: dict[str, Selector] = {}
    for name, title in TITLES.items():
        found[title] = Criterion(name, "none", (BETA,), metric, most)
        found[f"{title}-BUR-CLF"] = Criterion(name, "classifier", (BETA,), metric, most)
    found["RFE"] = Wrapper("rfe")
    found["FFS"] = Wrapper("ffs", N_CANDIDATES[preset])
    found["BFE"] = Wrapper("bfe", N_CANDIDATES[preset])
    return found


TABLE = AccuracyTable(
    name="accuracy_clf",
    title="Accuracy with a classifier's unique relevance, and of wrappers",
    about=ABOUT,
    paper="accuracy_bur_clf_vs_wrappers",
    selectors=selectors,
    boosts=("BUR-CLF",),
    pairs={"BUR-CLF against plain": against_plain("BUR-CLF")}
    | {
        f"BUR-CLF against {wrapper}": [(boosted, wrapper) for boosted, _ in against_plain("BUR-CLF")]
        for wrapper in WRAPPERS
    },
    remark=lambda preset: (
        f"FFS and BFE look at the {N_CANDIDATES[preset]} most relevant features "
        "and take one setting of the classifier while they search (5 neighbours, C = 1, 10 trees)."
    ),
    presets=OWN_PRESETS,
    wrappers=WRAPPERS,
)
compute = TABLE.compute
