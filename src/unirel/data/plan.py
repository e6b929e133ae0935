"""The second look: what every column is, known from the first one, and the codes of the rows of a part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.data.columns import CONTINUOUS, DISCRETE, IGNORED, UNKNOWN, Kinds
from unirel.data.encoding import Facts
from unirel.data.levels import FEATURE, TARGET, decide, sorted_levels
from unirel.data.parts import Part
from unirel.data.readers import Positions
from unirel.data.scan import MOST_LEVELS, Scan, Seen, Wanted, read_part
from unirel.estimation.kernels.bins import find_bins, frequency_edges

Values = NDArray[np.float64]

# More edges than these are not compared one by one.
_FEW_EDGES = 64


def find_facts(scan: Scan, wanted: Wanted) -> Facts:
    """Kind of every column, by the same rules as for a table in memory."""
    facts, n_samples = Facts.of(len(wanted.names)), sum(scan.n_rows)
    target = len(wanted.names) - 1
    for column, seen in enumerate(scan.columns):
        asked, rule = int(wanted.kinds[column]), TARGET if column == target else FEATURE
        n_values = -1 if seen.levels is None else len(seen.levels)
        n_present = n_samples - seen.n_missing
        kind, reason = asked, "given by target_type" if column == target else "given by discrete_features"
        if asked == UNKNOWN and n_values < 0 and seen.family in ("text", "category"):
            kind, reason = IGNORED, f"more than {MOST_LEVELS:,} distinct texts"
        elif asked == UNKNOWN:
            kind, reason = decide(seen.family, n_present, n_values, rule)
        if kind == DISCRETE and n_values < 0:
            name = wanted.names[column]
            raise ValueError(f"column {name!r} has more than {MOST_LEVELS:,} levels; make it continuous, or drop it")
        facts.kinds[column] = kind
        facts.n_values[column] = n_values
        facts.n_missing[column] = 0 if kind == IGNORED else seen.n_missing
        facts.reasons[column] = reason
    return facts


def sketched_edges(seen: Seen, n_bins: int, binning: str) -> Values:
    """Edges between the bins of a column, from its range or from its sketch."""
    edges = np.full((1, n_bins - 1), np.inf)
    if binning == "uniform" and seen.lowest <= seen.highest:
        edges[0] = seen.lowest + (seen.highest - seen.lowest) * (np.arange(1, n_bins) / n_bins)
    elif binning == "quantile" and seen.sketch is not None and not seen.sketch.is_empty():
        values = np.unique([value for value, _ in seen.sketch])
        # Not the weights beside the values: those of a merged sketch come out as 1.
        below = np.rint(np.array(seen.sketch.get_cdf(values, True))[:-1] * seen.sketch.n)
        frequency_edges(values[None], np.array([len(values)]), np.append(0.0, below)[None], n_bins, edges)
    return np.asarray(edges[0])


@dataclass(frozen=True)
class CodingPlan:
    """How the rows of every part are coded, an entry for each column, the target last."""

    wanted: Wanted
    kinds: Kinds
    edges: list[Values | None]  # of columns of numbers: the code of a value is how many of these it reaches
    levels: list[list[Any] | None]  # of columns of texts: the code of a value is its place
    n_levels: NDArray[np.int64]  # one of them for missing values if there are any
    gap: NDArray[np.int64]  # code of a missing value

    @classmethod
    def of(cls, scan: Scan, facts: Facts, wanted: Wanted, cuts: dict[int, Values]) -> CodingPlan:
        """The plan for all parts; `cuts` are the edges of continuous columns."""
        edges: list[Values | None] = []
        levels: list[list[Any] | None] = []
        for column, (kind, seen) in enumerate(zip(facts.kinds.tolist(), scan.columns, strict=True)):
            known = sorted_levels(seen.levels or {}) if kind == DISCRETE else []
            numeric = seen.family in ("number", "boolean", "")
            cut = cuts.get(column, np.empty(0)) if kind == CONTINUOUS else np.array(known[1:] if numeric else [], float)
            edges.append(cut if numeric else None)
            levels.append(None if numeric else known)
        gap = np.array([len(known) if own is None else len(own) + 1 for own, known in zip(edges, levels, strict=True)])  # type: ignore[arg-type]
        # A discrete column without any value has no level but that of missing ones.
        gap[(facts.kinds == DISCRETE) & (facts.n_values == 0)] = 0
        n_levels = np.where(facts.kinds == IGNORED, 0, gap + (facts.n_missing > 0))
        return cls(wanted, facts.kinds, edges, levels, n_levels, gap)


def encode_part(part: Part, plan: CodingPlan) -> list[tuple[Positions, NDArray[Any]]]:
    """Codes of the rows of a part, in blocks: which columns, and a row for each of them."""
    return [found for block in _blocks(part, plan, plan.kinds != IGNORED) for found in _codes(*block, plan)]


def values_of_part(part: Part, plan: CodingPlan, columns: Positions) -> Values:
    """Some columns of a part as numbers, a row for each: codes of discrete columns, values of continuous ones."""
    places = np.full(len(plan.kinds), -1)
    places[columns] = np.arange(len(columns))
    values = np.zeros((len(columns), len(part.y)))
    for positions, rows in _blocks(part, plan, places >= 0):
        continuous = plan.kinds[positions] == CONTINUOUS
        values[places[positions[continuous]]] = rows[continuous]
        for own, codes in _codes(positions[~continuous], rows[~continuous], plan):
            values[places[own]] = codes
    return values


def _blocks(part: Part, plan: CodingPlan, used: NDArray[np.bool_]) -> Iterator[tuple[Positions, Values]]:
    """Numbers of blocks of columns; texts as their codes, NaN where they are missing."""
    for block in read_part(part, plan.wanted, used):
        rows, raw = block.rows, block.raw
        if raw is not None:
            codes = {level: float(code) for code, level in enumerate(plan.levels[int(block.positions[0])] or ())}
            rows = np.full((1, raw.values.size), np.nan)
            rows[0, ~raw.missing] = [codes[value] for value in raw.present.tolist()]
        yield block.positions, rows


def _codes(positions: Positions, values: Values, plan: CodingPlan) -> list[tuple[Positions, NDArray[Any]]]:
    """Codes of columns of numbers, a row for each; those of few levels together."""
    known = [plan.edges[position] for position in positions.tolist()]
    sizes = np.array([_FEW_EDGES + 1 if edges is None else len(edges) for edges in known], np.intp)
    few = np.flatnonzero(sizes <= _FEW_EDGES)
    found: list[tuple[Positions, NDArray[Any]]] = []
    if len(few):
        edges = np.full((len(few), max(1, sizes[few].max())), np.inf)
        for row, place in zip(edges, few.tolist(), strict=True):
            row[: sizes[place]] = known[place]
        codes = np.empty((len(few), values.shape[1]), np.uint8)
        numbers = values if len(few) == len(values) else values[few]
        find_bins(np.ascontiguousarray(numbers), edges, plan.gap[positions[few]], codes)
        found.append((positions[few], codes))
    for place in np.flatnonzero(sizes > _FEW_EDGES).tolist():
        own, row = known[place], values[place]
        gaps = np.isnan(row)
        wide = np.full((1, len(row)), plan.gap[positions[place]], np.uint32)
        wide[0, ~gaps] = row[~gaps] if own is None else np.searchsorted(own, row[~gaps], side="right")
        found.append((positions[[place]], wide))
    return found
