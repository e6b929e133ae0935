"""Accuracy of five criteria with and without the boost, by three classifiers on six datasets, beside the paper's."""

from paper.accuracy import PRESETS, TITLES, AccuracyTable, against_plain
from paper.protocol import Selector
from paper.selectors import DISCRETE, Criterion, Default, metric_of

BETA = 0.1
BETAS = (0.0, 0.1, 0.3, 0.5)
BOOSTS = ("BUR-KSG", "BUR-REF", "BUR-VAL")
OURS = "unirel"
ABOUT = f"""Plain criteria beside three boosts of unique relevance (UR):

- BUR-KSG: UR given all other features, beta {BETA}, as in the paper.
- BUR-REF: reference UR, beta {BETA}; the paper has no such numbers.
- BUR-VAL: reference UR, beta chosen from {BETAS} by validation accuracy; the paper has no such numbers.
- {OURS}: the default of this library before chance was taken off counts; the paper has no such numbers.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(dataset: str, preset: str) -> dict[str, Selector]:
    """All selectors by the name they have in the table."""
    metric = metric_of(dataset)
    found: dict[str, Selector] = {}
    for name, title in TITLES.items():
        found[title] = Criterion(name, metric=metric)
        found[f"{title}-BUR-KSG"] = Criterion(name, "ksg", (BETA,), metric)
        found[f"{title}-BUR-REF"] = Criterion(name, "reference", (BETA,), metric)
        found[f"{title}-BUR-VAL"] = Criterion(name, "reference", BETAS, metric)
    found[OURS] = Default()
    return found


TABLE = AccuracyTable(
    name="accuracy_ksg",
    title="Accuracy with and without the boost",
    about=ABOUT,
    paper="accuracy_mrwmr_vs_bur_ksg",
    selectors=selectors,
    boosts=BOOSTS,
    pairs={boost: against_plain(boost) for boost in BOOSTS}
    | {f"{OURS} against plain": [(OURS, title) for title in TITLES.values()]},
    remark=lambda preset: (
        "Three neighbours, standardised columns, chebyshev distances; "
        f"{' and '.join(DISCRETE)}, all discrete: euclidean distances."
    ),
    presets=PRESETS,
    ours=(OURS,),
)
compute = TABLE.compute
