"""Figures of results. A Display computes nothing: it draws a result, and keeps the axes it drew on."""

from unirel.plotting.base import make_html as make_html
from unirel.plotting.measured import AccuracyDisplay, RedundancyDisplay, SignificanceDisplay, StabilityDisplay
from unirel.plotting.selection import BetaPathDisplay, HeatmapDisplay, RelevanceDisplay, SelectionDisplay

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
