"""Mutual information maximisation."""

from unirel.criteria.base import Criterion


class MIM(Criterion, name="mim"):
    """Mutual information maximisation: the relevance I(x; y), whatever is selected already.

    The cheapest criterion, and blind to redundancy: of two copies it takes both (Lewis 1992).
    """
