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
    from unirel.errors import UnirelWarning as UnirelWarning
    from unirel.estimation.binned import Binned as Binned
    from unirel.estimation.gaussian import Gaussian as Gaussian
    from unirel.estimation.kde import KDE as KDE
    from unirel.estimation.knn import KNN as KNN
    from unirel.estimation.mine import MINE as MINE
    from unirel.estimation.partition import Partition as Partition
    from unirel.estimation.plugin import Plugin as Plugin
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
    from unirel.search.boost import Boost as Boost
    from unirel.search.greedy import selection_path as selection_path
    from unirel.selectors import BURSelector as BURSelector
    from unirel.selectors import BURSelectorCV as BURSelectorCV

# Where each public name lives. Type checkers read the block above; a test keeps the two equal.
_HOME = {
    "mutual_information": "unirel.measures",
    "relevance": "unirel.measures",
    "conditional_relevance": "unirel.measures",
    "irrelevance": "unirel.measures",
    "unique_relevance": "unirel.measures",
    "relevance_test": "unirel.inference.tests",
    "conditional_test": "unirel.inference.tests",
    "selection_path": "unirel.search.greedy",
    "redundancy_analysis": "unirel.inference.redundancy",
    "selection_stability": "unirel.inference.stability",
    "BURSelector": "unirel.selectors",
    "BURSelectorCV": "unirel.selectors",
    "KNN": "unirel.estimation.knn",
    "Binned": "unirel.estimation.binned",
    "Plugin": "unirel.estimation.plugin",
    "Gaussian": "unirel.estimation.gaussian",
    "Partition": "unirel.estimation.partition",
    "KDE": "unirel.estimation.kde",
    "MINE": "unirel.estimation.mine",
    "Boost": "unirel.search.boost",
    "ClassifierLoss": "unirel.predictors",
    "Criterion": "unirel.criteria",
    "UnirelWarning": "unirel.errors",
    "datasets": "unirel.data",
    "evaluation": "unirel",
    "plotting": "unirel",
    "report": "unirel",
}

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
