"""Several targets of one table: what is known of the features is shared, and what they tell is a mean of shares.

The mean is over the targets, of information divided by the entropy of its target. That of a number, which has none of
its own, is the entropy of the bins it is cut into; by estimators that cut nothing, of the bins of "binned".
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from unirel.estimation.base import Columns, Information, Memo, Values, find_estimator


def for_each_target(information: Information) -> list[Information]:
    """The estimator for each target of its table; columns are coded once for all classes, and once for all numbers."""
    known: dict[bool, Information] = {}
    found = []
    for table in information.table.each_target():
        kind = bool(table.discrete[table.target])
        like = known.get(kind, information)
        known[kind] = like.toward(table) if len(information.table.targets) > 1 else information
        found.append(known[kind])
    return found


def entropies_of(each: Iterable[Information]) -> Values:
    """What there is to know about the target of each estimator, in nats."""
    found = []
    for one in each:
        table = one.table
        entropy = float(one.ceilings([table.target])[0])
        if not np.isfinite(entropy):
            entropy = float(find_estimator("binned").bind(table, one._weights).ceilings([table.target])[0])
        if entropy <= 0:
            name = table.columns.names[table.target]
            raise ValueError(f"column {name!r} of y has entropy 0, so nothing can tell about it; leave it out of y")
        found.append(entropy)
    return np.array(found)


def mean_share(values: Iterable[Values], entropies: Values) -> Values:
    """The mean over the targets of values in nats, each divided by the entropy of its target."""
    return np.asarray(np.mean([one / entropy for one, entropy in zip(values, entropies, strict=True)], axis=0))


class Memos:
    """A `Memo` for each of several targets, and means over them."""

    def __init__(self, each: list[Information]) -> None:
        self.information, self.entropies = each[0], entropies_of(each)  # the first has the features of all
        self.each = [Memo(one) for one in each]

    def mean(self, values: Iterable[Values]) -> Values:
        return mean_share(values, self.entropies)

    def relevance(self, candidates: Columns) -> Values:
        return self.mean(one.relevance(candidates) for one in self.each)

    def known_relevance(self, candidates: Columns) -> Values:
        return self.mean(self.per_target(candidates).T)

    def per_target(self, candidates: Columns) -> Values:
        """I(candidate; target) as far as it has been asked for, no less than 0, in nats, a column for each target."""
        return np.column_stack([np.maximum(one.known_relevance(candidates), 0.0) for one in self.each])

    def about_targets(self, features: Columns) -> dict[str, Any]:
        """What a `Selection` says of its targets."""
        tables = [one.information.table for one in self.each]
        names = [table.columns.names[table.target] for table in tables]
        per_target = self.per_target(features).T
        return {
            "targets": dict(zip(names, self.entropies.tolist(), strict=True)),
            "relevance_per_target": np.column_stack([tables[0].one_per_feature(one) for one in per_target]),
        }
