"""Figures of results. A Display computes nothing: it draws a result, and keeps the axes it drew on."""

from unirel.plotting.accuracy import AccuracyDisplay
from unirel.plotting.beta_path import BetaPathDisplay
from unirel.plotting.heatmap import HeatmapDisplay
from unirel.plotting.redundancy import RedundancyDisplay
from unirel.plotting.relevance import RelevanceDisplay
from unirel.plotting.selection import SelectionDisplay
from unirel.plotting.significance import SignificanceDisplay
from unirel.plotting.stability import StabilityDisplay

__all__ = [
    "AccuracyDisplay",
    "BetaPathDisplay",
    "HeatmapDisplay",
    "RedundancyDisplay",
    "RelevanceDisplay",
    "SelectionDisplay",
    "SignificanceDisplay",
    "StabilityDisplay",
]
