"""The selection that was asked for, and those for other weights of unique relevance, between which a page slides."""

from collections.abc import Sequence
from typing import Any

from unirel.data.table import Table
from unirel.report.accuracy import with_quick_boost
from unirel.results import SelectionPath
from unirel.search.greedy import SearchSettings, select

# Up to this many rows weights are in steps of a tenth, beyond in quarters, and unique relevance for others than the one
# that was asked for is from a sample.
_FEW_ROWS = 1000


def weights_to_show(table: Table, settings: SearchSettings) -> list[float]:
    """The weight that was asked for, which gets the time first, and others if there is a boost at all."""
    n_steps = 10 if table.n_samples <= _FEW_ROWS else 4
    others = [step / n_steps for step in range(n_steps + 1)] if settings.beta > 0 else []
    return [settings.beta, *(beta for beta in others if beta != settings.beta)]


def select_by_weights(
    table: Table, settings: SearchSettings, betas: Sequence[float], sample_weight: Any, groups: Any
) -> SelectionPath:
    """A selection for each weight, fewer if interrupted."""
    if table.n_samples <= _FEW_ROWS:
        return select(table, [settings.criterion], betas, settings, sample_weight, groups)
    asked = select(table, [settings.criterion], betas[:1], settings, sample_weight, groups)
    if len(betas) == 1 or asked.selections[0].interrupted:
        return asked
    # Each would take as long as the first.
    others = select(table, [settings.criterion], betas[1:], with_quick_boost(settings), sample_weight, groups)
    return SelectionPath((*asked.selections, *others.selections))
