"""Selectors compared under one protocol: splits, tuned classifiers, statistics, and a journal to go on from."""

from unirel.classifiers.registry import Tuned
from unirel.evaluation.protocol import compare
from unirel.evaluation.results import Evaluation, Outcome
from unirel.evaluation.selection import ChosenBeta
from unirel.evaluation.statistics import PairedDifference, area, average_ranks, paired_difference, stability
from unirel.evaluation.wrappers import Wrapper

__all__ = [
    "ChosenBeta",
    "Evaluation",
    "Outcome",
    "PairedDifference",
    "Tuned",
    "Wrapper",
    "area",
    "average_ranks",
    "compare",
    "paired_difference",
    "stability",
]
