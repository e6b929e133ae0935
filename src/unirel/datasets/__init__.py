"""Datasets by name, and a synthetic one whose answer is known."""

from unirel.datasets.fetch import load
from unirel.datasets.overview import describe
from unirel.datasets.synthetic import make_planted

__all__ = ["describe", "load", "make_planted"]
