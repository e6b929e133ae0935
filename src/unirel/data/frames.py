"""Results as data frames of whichever library is there."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def make_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas frame, or a polars one where there is no pandas."""
    for library in ("pandas", "polars"):
        try:
            return import_module(library).DataFrame(dict(columns))
        except ImportError:
            continue
    raise ImportError("a data frame needs pandas or polars; install one of them, or use to_dict()")
