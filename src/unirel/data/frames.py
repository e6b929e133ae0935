"""Results as data frames."""

from unirel.results import make_frame as make_frame
