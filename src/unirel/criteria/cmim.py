"""Conditional mutual information maximisation."""

from unirel.criteria.base import Columns, Criterion, Estimates, Values


class CMIM(Criterion, name="cmim"):
    """Conditional mutual information maximisation: the least I(x; y | s) over the selected s.

    Like JMIM with the relevance of s taken off each pair: what counts is what x adds to s, not what the pair tells
    (Fleuret 2004).
    """

    fold = "min"

    def term(self, source: Estimates, candidates: Columns, selected: Columns) -> Values:
        """I(x, s; y) - I(s; y) of the newest s."""
        return source.joint(candidates, selected[-1:]) - source.relevance(selected[-1:])
