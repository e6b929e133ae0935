"""Feature selection by mutual information with boosted unique relevance.

Public names are loaded on first use, so that ``import unirel`` is quick and imports nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unirel._version import __version__

if TYPE_CHECKING:
    from unirel import evaluation as evaluation
    from unirel import plotting as plotting
    from unirel import report as report
    from unirel.criteria import Criterion as Criterion
    from unirel.data import datasets as datasets
    from unirel.data.row_groups import RowGroups as RowGroups
    from unirel.errors import UnirelWarning as UnirelWarning
    from unirel.estimation.binned import Binned as Binned
    from unirel.estimation.gaussian import Gaussian as Gaussian
    from unirel.estimation.kde import KDE as KDE
    from unirel.estimation.knn import KNN as KNN
    from unirel.estimation.mine import MINE as MINE
    from unirel.estimation.partition import Partition as Partition
    from unirel.estimation.plugin import Plugin as Plugin
    from unirel.inference.drift import compare_relevance as compare_relevance
    from unirel.inference.interactions import interactions as interactions
    from unirel.inference.redundancy import redundancy_analysis as redundancy_analysis
    from unirel.inference.stability import selection_stability as selection_stability
    from unirel.inference.tests import conditional_test as conditional_test
    from unirel.inference.tests import relevance_test as relevance_test
    from unirel.measures import conditional_relevance as conditional_relevance
    from unirel.measures import irrelevance as irrelevance
    from unirel.measures import mutual_information as mutual_information
    from unirel.measures import relevance as relevance
    from unirel.measures import unique_relevance as unique_relevance
    from unirel.predictors import ClassifierLoss as ClassifierLoss
    from unirel.results import Selection as Selection
    from unirel.search.boost import Boost as Boost
    from unirel.search.costs import Costs as Costs
    from unirel.search.greedy import selection_path as selection_path
    from unirel.selectors import BURSelector as BURSelector
    from unirel.selectors import BURSelectorCV as BURSelectorCV

# Where public names live. Type checkers read the block above; a test keeps the two equal.
_NAMES = {
    "unirel.measures": "mutual_information relevance conditional_relevance irrelevance unique_relevance",
    "unirel.inference.tests": "relevance_test conditional_test",
    "unirel.search.greedy": "selection_path",
    "unirel.inference.redundancy": "redundancy_analysis",
    "unirel.inference.stability": "selection_stability",
    "unirel.inference.interactions": "interactions",
    "unirel.inference.drift": "compare_relevance",
    "unirel.selectors": "BURSelector BURSelectorCV",
    "unirel.results": "Selection",
    "unirel.estimation.knn": "KNN",
    "unirel.estimation.binned": "Binned",
    "unirel.estimation.plugin": "Plugin",
    "unirel.estimation.gaussian": "Gaussian",
    "unirel.estimation.partition": "Partition",
    "unirel.estimation.kde": "KDE",
    "unirel.estimation.mine": "MINE",
    "unirel.data.row_groups": "RowGroups",
    "unirel.search.boost": "Boost",
    "unirel.search.costs": "Costs",
    "unirel.predictors": "ClassifierLoss",
    "unirel.criteria": "Criterion",
    "unirel.errors": "UnirelWarning",
    "unirel.data": "datasets",
    "unirel": "evaluation plotting report",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'unirel' has no attribute {name!r}")
    home = _HOME[name]
    is_module = home in ("unirel", "unirel.data")
    value = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
