"""Which kind a column has, decided from its values."""

from typing import NamedTuple

from unirel.options import Kind
from unirel.reading import Raw


class Rule(NamedTuple):
    """Numbers are discrete with at most this many distinct values, each in this many rows on average."""

    levels: int
    rows: int


FEATURE, TARGET = Rule(10, 5), Rule(32, 2)
# Below this many different texts a column is no identifier, however few rows there are.
_IDENTIFIER_LEVELS = 20


def decide_kind(raw: Raw, rule: Rule) -> tuple[Kind, str]:
    """Kind of a column and the reason; values count only as equal or different, so units do not matter."""
    n_present = raw.present.size
    if n_present == 0:
        return "discrete", "no value present"
    if raw.family == "category":
        return "discrete", "categorical"
    if raw.family == "boolean":
        return "discrete", "true or false"
    if raw.family == "text":
        n_levels = raw.coding[0].size
        if rule is FEATURE and n_levels > _IDENTIFIER_LEVELS and 2 * n_levels > n_present:
            return "ignored", f"{n_levels} of {n_present} texts are distinct, like an identifier"
        return "discrete", "text"
    # The exact number may be unknown here, and what is said must not depend on the order of rows.
    if raw.has_more_levels_than(rule.levels):
        return "continuous", f"more than {rule.levels} distinct values"
    n_levels = raw.coding[0].size
    few = n_levels <= 2 or n_present >= rule.rows * n_levels
    plural = "" if n_levels == 1 else "s"
    return "discrete" if few else "continuous", f"{n_levels} distinct value{plural} in {n_present} rows"
