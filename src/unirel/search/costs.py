"""What features cost, and a budget: the score per cost, among what the budget still allows."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from unirel._runtime import Parameters
from unirel.data.groups import members_of
from unirel.data.naming import is_pattern
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values

# Sums of costs that differ by less than this share are equal but for rounding.
_ROUNDING = 1e-9


@dataclass(eq=False)
class Costs(Parameters):
    """What features cost, for ``BURSelector(costs=...)``; a mapping stands for ``Costs(mapping)``.

    In each step the best score per cost decides, among the features that what is left of the budget allows. Only scores
    above 0 are divided; those of other features come after them, as they are.

    Parameters
    ----------
    prices : mapping from columns to numbers above 0
        By name, position, pattern ("lab_*") or type ("dtype:string"). A name or position goes before a pattern, a later
        pattern before an earlier one. A group costs what its columns cost together, unless it is named itself.
    budget : float, optional
        What all selected features may cost; None for no limit.
    default : float, default=1.0
        Cost of each column that is not named.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import BURSelector, Costs
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> costs = Costs({"petal *": 20}, budget=25)
    >>> BURSelector(costs=costs).fit(X, y).selection_.to_frame()[["name", "cost", "total_cost"]]
                    name  cost  total_cost
    0  sepal length (cm)   1.0         1.0
    1   sepal width (cm)   1.0         2.0
    2  petal length (cm)  20.0        22.0
    """

    prices: Mapping[Any, float]
    _: KW_ONLY
    budget: float | None = None
    default: float = 1.0

    def check_parameters(self) -> None:
        if not isinstance(self.prices, Mapping):
            raise _no_costs(self.prices)
        for column, price in self.prices.items():
            _check_price(f"costs of {column!r}", price)
        _check_price("default cost", self.default)
        if self.budget is not None:
            _check_price("budget", self.budget)

    def on(self, table: Table, include: Sequence[int] = ()) -> "Prices":
        """The cost of every feature of a table, of which some come first; more than the budget is refused."""
        names, costs = table.names, np.full(table.n_features, float(self.default))
        single = getattr(table, "single", table)
        of_columns = {key: price for key, price in self.prices.items() if key not in table.members}
        for key in sorted(of_columns, key=lambda key: not is_pattern(key, names)):
            costs[single.positions(key)] = of_columns[key]
        whole = costs.copy()
        for feature in table.features.tolist():
            own = self.prices.get(names[feature]) if names[feature] in table.members else None
            whole[feature] = costs[members_of(table, feature)].sum() if own is None else own
        prices = Prices(whole, np.inf if self.budget is None else float(self.budget))
        if len(prices.within(include)) < len(include):
            spent = whole[list(include)].sum()
            raise ValueError(f"include costs {spent:g}, more than budget={prices.budget:g}; raise it or include less")
        return prices


class Prices(NamedTuple):
    """The cost of every feature of a table, and what they may cost together."""

    costs: Values
    budget: float

    def allowed(self, candidates: Columns, selected: Sequence[int] | Columns) -> Columns:
        """The candidates that what is left of the budget is enough for."""
        spent = self.costs[np.asarray(selected, np.intp)].sum()
        return np.asarray(candidates[spent + self.costs[candidates] <= self.budget * (1 + _ROUNDING)])

    def within(self, order: Sequence[int]) -> list[int]:
        """Those features that the budget is enough for, one after the other."""
        chosen: list[int] = []
        for feature in order:
            chosen += self.allowed(np.array([feature], np.intp), chosen).tolist()
        return chosen

    def per_cost(self, values: Values, candidates: Columns) -> Values:
        """Scores by which candidates are ranked: above 0 per cost, others as they are."""
        # In units of the lowest cost: what is equal but for rounding does not depend on the currency.
        return np.where(values > 0, values * (self.costs.min() / self.costs[candidates]), values)


def find_costs(costs: Any) -> Costs | None:
    """Costs as they are, or those of a mapping; None where there are none."""
    if costs is None or isinstance(costs, Costs):
        found = costs
    elif isinstance(costs, Mapping):
        found = Costs(costs) if costs else None
    else:
        raise _no_costs(costs)
    if found is not None:
        found.check_parameters()
    return found


def _no_costs(costs: Any) -> ValueError:
    examples = "{'mri': 300}, or be Costs({'mri': 300}, budget=500)"
    return ValueError(f"costs={costs!r} must be a mapping from columns to numbers, such as {examples}")


def _check_price(label: str, price: Any) -> None:
    if not isinstance(price, Real) or isinstance(price, bool) or not 0 < float(price) < np.inf:
        raise ValueError(f"{label}: {price!r} must be a number above 0")
