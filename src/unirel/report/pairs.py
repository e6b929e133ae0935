"""Pairs of features that matter only together: in words, and for the page where they are found soon."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unirel.data.table import Table
from unirel.inference.interactions import Interactions, find_pairs

# Pairs that are put in words, that are looked for, and that the page shows of these.
_IN_WORDS, _LOOKED_FOR, _ON_PAGE = 3, 8, 5
# Values of a table, pairs of columns, and rows times pairs, up to which all pairs take about a quarter of a second.
_MOST_VALUES, _MOST_PAIRS, _MOST_WORK = 2**21, 2**14, 2**26
# Fewer than usual, for the same reason.
_PERMUTATIONS = 200


def pairs_in_words(found: Interactions, target: str, alpha: float) -> list[str]:
    """How many pairs are significant, and what the first of them tell."""
    n_found = int(np.count_nonzero(found.significant(alpha)))
    if n_found == 0:
        return [f"None of {found.n_pairs:,} pairs is significant: that some seem to tell more together may be chance."]
    verb = "tells" if n_found == 1 else "tell"
    listed = f"at least {n_found}" if n_found == len(found.pairs) < found.n_pairs else f"{n_found:,}"
    first = f"Of {found.n_pairs:,} pairs, {listed} {verb} significantly more about '{target}' together than the sum of"
    said = [f"{first} both features, at a false discovery rate of {alpha:.0%}."]
    said += [pair_in_words(found, place, alpha) for place in range(min(n_found, _IN_WORDS))]
    return [" ".join(said)]


def pair_in_words(found: Interactions, place: int, alpha: float) -> str:
    """What one pair tells."""
    (first, second), (one, other) = found.pairs[place], found.relevance[place].tolist()
    both = one + other + float(found.synergy[place])
    if found.only_together(alpha)[place]:
        return (
            f"'{first}' and '{second}' matter only together: {both:.2f} nats with both, {one:.2f} and {other:.2f} "
            "one by one."
        )
    return f"'{first}' and '{second}' have {both:.2f} nats together, {one:.2f} and {other:.2f} one by one."


def find_pairs_quickly(table: Table, sample_weight: ArrayLike | None, n_jobs: int | None) -> Interactions | None:
    """Interactions of a table for which that takes a part of a second, None of a larger one or one with weights."""
    n_features = len(table.features)
    n_pairs = n_features * (n_features - 1) // 2
    is_quick = n_pairs <= min(_MOST_PAIRS, _MOST_WORK // table.n_samples) and sample_weight is None
    if n_pairs == 0 or not is_quick or table.is_sparse or table.is_parted or table.n_targets > 1:
        return None
    if n_features * table.n_samples > _MOST_VALUES:
        return None
    return find_pairs(table, table.features, max_pairs=_LOOKED_FOR, n_permutations=_PERMUTATIONS, n_jobs=n_jobs)


def pairs_for_page(found: Interactions | None, alpha: float) -> list[dict[str, Any]]:
    """The pairs that matter only together, each with its numbers and a sentence."""
    if found is None:
        return []
    rows = found.to_dict()["pairs"]
    chosen = np.flatnonzero(found.only_together(alpha))[:_ON_PAGE].tolist()
    return [{**rows[place], "words": pair_in_words(found, place, alpha)} for place in chosen]
