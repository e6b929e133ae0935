"""What a criterion is: a term for the newest selected feature, a way to fold terms, and a score."""

from abc import ABC
from importlib import import_module
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from unirel.criteria import CRITERIA
from unirel.errors import check_choice

Values = NDArray[np.float64]
Columns = NDArray[np.intp]
Fold = Literal["sum", "mean", "min", "latest"]


class Estimates(Protocol):
    """What a criterion may ask: estimates that are clipped to what is possible, each computed once."""

    def relevance(self, candidates: Columns) -> Values:
        """I(candidate; target) of every candidate."""

    def pairwise(self, candidates: Columns, column: int) -> Values:
        """I(candidate; column) of every candidate."""

    def pairwise_given_target(self, candidates: Columns, column: int) -> Values:
        """I(candidate; column | target) of every candidate."""

    def joint(self, candidates: Columns, selected: Columns) -> Values:
        """I(candidate, selected; target) of every candidate."""

    def joint_entropy(self, candidates: Columns, selected: Columns) -> Values:
        """H(candidate, selected, target) of every candidate; only estimators that count have it."""

    def joint_of_pairs(self, candidates: Columns, selected: Columns) -> Values:
        """The sum of I(candidate, s, t; target) over all pairs s, t of the selected."""


class Criterion(ABC):
    """A score J of every candidate, given the features selected so far.

    With nothing selected the score is the relevance I(candidate; target). From then on `term` says what the newest
    selected feature adds, `fold` how the terms of all selected features become one number, and `score` what the
    criterion makes of it. The search does the rest: the boost, ties, stopping, and, because a minimum can only fall,
    leaving out candidates that cannot win any more.

    A subclass names itself: ``class JMIM(Criterion, name="jmim")``.
    """

    name: ClassVar[str]
    fold: Fold | None = None  # None: there is no term, the score is the relevance

    def __init_subclass__(cls, *, name: str, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        cls.name = name

    def __repr__(self) -> str:
        given = ", ".join(f"{parameter}={value!r}" for parameter, value in vars(self).items())
        return f"{type(self).__name__}({given})"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """What ``selected[-1]``, the newest one, says about every candidate; without a `fold` nobody asks."""
        raise NotImplementedError(f"criterion {self.name!r} has fold={self.fold!r} and needs a method term")

    def score(self, relevance: Values, folded: Values) -> Values:
        """The score, from the relevance of every candidate and its folded terms."""
        return folded


def make_criterion(criterion: str | Criterion) -> Criterion:
    """A criterion by its name, which is that of its file, in capitals or not, or as it is."""
    if isinstance(criterion, Criterion):
        return criterion
    criterion = criterion.lower() if isinstance(criterion, str) else criterion
    check_choice("criterion", criterion, CRITERIA)
    module = import_module(f"unirel.criteria.{criterion}")
    found = (one for one in vars(module).values() if getattr(one, "name", None) == criterion)
    chosen: type[Criterion] = next(found)
    return chosen()
