"""Accuracy of five criteria with and without the boost, by three classifiers on six datasets, beside the paper's.

Run it as ``python -m unirel.experiments.accuracy_ksg --data DIR --preset small --journal FILE --output DIR``.
"""

import sys
from collections.abc import Sequence

from unirel.evaluation import Selector
from unirel.experiments.accuracy import DISCRETE, PRESETS, TITLES, metric_of
from unirel.experiments.command import run_command
from unirel.experiments.replay import Replay, against_plain

BETA = 0.1
BETAS = (0.0, 0.1, 0.3, 0.5)
# What is boosted, and how the paper or we call it.
BOOSTS = ("BUR-KSG", "BUR-REF", "BUR-VAL")
ABOUT = f"""Plain criteria beside three boosts of unique relevance (UR):

- BUR-KSG: UR given all other features, beta {BETA}, as in the paper.
- BUR-REF: reference UR, beta {BETA}, the default of unirel; the paper has no such numbers.
- BUR-VAL: reference UR, beta chosen from {BETAS} by validation accuracy; the paper has no such numbers.

JMI and JMIM follow the equations; the released script of the paper never looks at the target after the first pick."""


def selectors(dataset: str) -> dict[str, Selector]:
    """All selectors by the name they have in the table."""
    metric = metric_of(dataset)
    found = {}
    for criterion, title in TITLES.items():
        found[title] = Selector(criterion, metric=metric)
        found[f"{title}-BUR-KSG"] = Selector(criterion, BETA, "ksg", metric=metric)
        found[f"{title}-BUR-REF"] = Selector(criterion, BETA, metric=metric)
        found[f"{title}-BUR-VAL"] = Selector(criterion, beta_choices=BETAS, metric=metric)
    return found


REPLAY = Replay(
    name="accuracy_ksg",
    title="Accuracy with and without the boost",
    about=ABOUT,
    paper="accuracy_mrwmr_vs_bur_ksg",
    selectors=lambda dataset, preset, classifiers: selectors(dataset),
    boosts=BOOSTS,
    pairs={boost: against_plain(boost) for boost in BOOSTS},
    remark=lambda preset: (
        "Three neighbours, standardised columns, chebyshev distances; "
        f"{' and '.join(DISCRETE)}, all discrete: euclidean distances."
    ),
    presets=PRESETS,
)
run = REPLAY.run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    return run_command("accuracy_ksg", __doc__, run, arguments, ("journal", "datasets", "classifiers", "runs"))


if __name__ == "__main__":
    sys.exit(main())
