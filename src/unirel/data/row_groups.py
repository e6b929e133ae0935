"""Rows that belong together: all of one patient, or those that follow each other in time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from unirel._runtime import check_choice, check_whole_number
from unirel.data import Positions
from unirel.data.readers import as_array

# With fewer groups there are too few orders of them to tell anything from chance.
FEWEST_GROUPS = 5
_MISSING = ("None", "nan", "NaT", "<NA>")


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows that belong together, and what tests may permute: what `groups=` takes beside labels of the rows.

    Parameters
    ----------
    labels : array or series of shape (n_samples,), optional
        Whose each row is, such as the number of a patient. Labels alone may be passed as ``groups=labels``.
    block_length : int, optional
        Instead of labels: so many consecutive rows belong together, as in a time series. Rows that far apart should
        have nothing to do with each other any more.
    permute : {"auto", "groups", "within"}
        What is permuted in tests: whole groups, or rows within each group, which asks for information beyond that of
        the group. "auto" is whole groups, but within groups where a column that is given varies within them.

    Examples
    --------
    Five rows of each of 40 patients: the target and the first column are the same in all rows of a patient.

    >>> import numpy as np
    >>> from unirel import RowGroups, relevance_test
    >>> rng = np.random.default_rng(0)
    >>> patients = np.repeat(np.arange(40), 5)
    >>> X, y = rng.normal(size=(40, 1))[patients], (np.arange(40) % 2)[patients]
    >>> relevance_test(X, y).significant(), relevance_test(X, y, groups=patients).significant()
    (array([ True]), array([False]))
    >>> relevance_test(X, y, groups=RowGroups(block_length=5)).significant()
    array([False])
    """

    labels: Any = None
    _: KW_ONLY
    block_length: int | None = None
    permute: Literal["auto", "groups", "within"] = "auto"

    def __post_init__(self) -> None:
        check_choice("permute", self.permute, ("auto", "groups", "within"))
        if (self.labels is None) == (self.block_length is None):
            raise ValueError("RowGroups needs either labels or block_length; pass one of them")

    def codes(self, n_samples: int, fewest: int | None = None) -> Positions:
        """The number of the group of every row, from 0 on in the order in which they begin."""
        if fewest is None:
            fewest = 1 if self.permute == "within" else FEWEST_GROUPS
        if self.block_length is not None:
            length = check_whole_number("block_length", self.block_length, 2, highest=max(2, n_samples // fewest))
            return np.minimum(np.arange(n_samples) // length, n_samples // length - 1)
        labels = as_array(self.labels, "groups")
        if labels.shape != (n_samples,):
            raise ValueError(f"groups has shape {labels.shape}; it needs one label for each of {n_samples} rows")
        known: dict[Any, int] = {}
        codes = np.array([known.setdefault(label, len(known)) for label in labels.tolist()], np.intp)
        missing = [number for label, number in known.items() if str(label) in _MISSING]
        if missing:
            n_missing = int(np.isin(codes, missing).sum())
            raise ValueError(f"groups has {n_missing} missing labels; leave out these rows, or name their group")
        if len(known) < fewest:
            remedy = "; with permute='within' fewer will do" if fewest == FEWEST_GROUPS else ""
            raise ValueError(f"groups has {len(known)} different labels, but at least {fewest} are needed{remedy}")
        return codes


def open_groups(groups: Any) -> RowGroups:
    """What a caller has passed as `groups`, labels or more."""
    return groups if isinstance(groups, RowGroups) else RowGroups(groups)


def group_numbers(groups: Any, n_samples: int) -> Positions | None:
    """The number of the group of every row, for folds and halves, which need two of them."""
    return None if groups is None else open_groups(groups).codes(n_samples, fewest=2)


def take_groups(groups: Any, rows: Positions) -> RowGroups:
    """The same groups of some rows of a table; blocks that follow each other are still blocks."""
    found = open_groups(groups)
    return found if found.labels is None else replace(found, labels=as_array(found.labels, "groups")[rows])


def check_apart(codes: Any, train: Any, test: Any, parameter: str) -> None:
    """Refuse a split that has rows of a group on both sides."""
    split = np.intersect1d(codes[train], codes[test])
    if len(split):
        about = f"{parameter} splits {len(split)} groups of rows, so that test rows are known from training"
        raise ValueError(f"{about}; pass a splitter such as GroupKFold(), or a number of folds")


def firsts_of(codes: Positions) -> Positions:
    """The first row of every group."""
    return np.unique(codes, return_index=True)[1]


def is_same_within(values: Any, codes: Positions) -> bool:
    """Whether values, or missing ones, are equal in all rows of every group."""
    own = values[firsts_of(codes)][codes]
    return bool(((values == own) | ((values != values) & (own != own))).all())
