"""Figures of results. A Display computes nothing: it draws a result, and keeps the axes it drew on."""

from unirel.plotting.certainty import SignificanceDisplay, StabilityDisplay
from unirel.plotting.curves import AccuracyDisplay, RedundancyDisplay
from unirel.plotting.relations import HeatmapDisplay, RelevanceDisplay
from unirel.plotting.selection import BetaPathDisplay, SelectionDisplay
from unirel.plotting.table import make_html as make_html

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
