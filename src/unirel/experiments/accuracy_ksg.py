"""Accuracy of five criteria with and without the boost, by three classifiers on six datasets, beside the paper's."""

from unirel.evaluation import ChosenBeta
from unirel.experiments.accuracy import DISCRETE, PRESETS, TITLES, AccuracyTable, against_plain, metric_of
from unirel.selectors import BURSelector

BETA = 0.1
BETAS = (0.0, 0.1, 0.3, 0.5)
# What is boosted, and how the paper or we call it.
BOOSTS = ("BUR-KSG", "BUR-REF", "BUR-VAL")
OURS = "unirel"
ABOUT = f"""Plain criteria beside three boosts of unique relevance (UR):

- BUR-KSG: UR given all other features, beta {BETA}, as in the paper.
- BUR-REF: reference UR, beta {BETA}; the paper has no such numbers.
- BUR-VAL: reference UR, beta chosen from {BETAS} by validation accuracy; the paper has no such numbers.
- {OURS}: the default of this library before chance was taken off counts; the paper has no such numbers.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(dataset: str) -> dict[str, BURSelector | ChosenBeta]:
    """All selectors by the name they have in the table."""
    metric = metric_of(dataset)
    found: dict[str, BURSelector | ChosenBeta] = {}
    for criterion, title in TITLES.items():
        boosted = BURSelector.paper(criterion, beta=BETA, unique_relevance="reference", metric=metric)
        found[title] = BURSelector.paper(criterion, beta=0, metric=metric)
        found[f"{title}-BUR-KSG"] = BURSelector.paper(criterion, beta=BETA, metric=metric)
        found[f"{title}-BUR-REF"] = boosted
        found[f"{title}-BUR-VAL"] = ChosenBeta(boosted, BETAS)
    found[OURS] = BURSelector("jmim", beta=0.5, unique_relevance="both", correction=None)
    return found


REPLAY = AccuracyTable(
    name="accuracy_ksg",
    title="Accuracy with and without the boost",
    about=ABOUT,
    paper="accuracy_mrwmr_vs_bur_ksg",
    selectors=lambda dataset, preset, classifiers: selectors(dataset),
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
compute = REPLAY.compute
