"""The second look: what every column is, known from the first one, and the codes of the rows of a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.data.coding import FEATURE, TARGET, Facts, decide
from unirel.data.parts.scan import MOST_LEVELS, Part, Scan, Seen, Wanted, number_blocks, open_part
from unirel.data.reading import CONTINUOUS, DISCRETE, IGNORED, UNKNOWN, Positions, Source, open_source
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
            raise ValueError(f"column {name!r} has more than {MOST_LEVELS:,} levels; make it 'continuous' or 'ignored'")
        facts.kinds[column] = kind
        facts.n_values[column] = n_values
        facts.n_missing[column] = 0 if kind == IGNORED else seen.n_missing
        facts.explain(column, reason)
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


def sorted_levels(levels: dict[Any, int]) -> list[Any]:
    """Levels in the order of their codes; categories of several types have no order but that of their texts."""
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=str)


@dataclass(frozen=True)
class CodingPlan:
    """How the rows of every part are coded.

    Attributes
    ----------
    wanted : Wanted
        What was asked for.
    kinds : ndarray of int8
        Kind of every column, the target last.
    edges : list of ndarray or None
        For columns of numbers: the code of a value is how many of these it reaches.
    levels : list of list or None
        For columns of texts: the code of a value is its place.
    n_levels : ndarray of int64
        Levels of every column, one of them for missing values if there are any.
    gap : ndarray of int64
        Code of a missing value.
    """

    wanted: Wanted
    kinds: NDArray[np.int8]
    edges: list[Values | None]
    levels: list[list[Any] | None]
    n_levels: NDArray[np.int64]
    gap: NDArray[np.int64]

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


def encode_part(part: Part, plan: CodingPlan, columns: Positions | None = None) -> list[tuple[Positions, NDArray[Any]]]:
    """Codes of the rows of a part, in blocks: which columns, and a row for each of them."""
    found = []
    for positions, values in _blocks(part, plan, columns):
        found += _codes(positions, values, plan)
    return found


def values_of_part(part: Part, plan: CodingPlan, columns: Positions) -> Values:
    """Some columns of the rows of a part as numbers: codes of discrete columns, values of continuous ones."""
    n_rows = open_part(part, plan.wanted)[0].shape[0]
    values, places = np.zeros((n_rows, len(columns))), np.zeros(len(plan.kinds), np.intp)
    places[columns] = np.arange(len(columns))
    for positions, found in _blocks(part, plan, columns):
        continuous = plan.kinds[positions] == CONTINUOUS
        values[:, places[positions[continuous]]] = found[continuous].T
        for own, codes in _codes(positions[~continuous], found[~continuous], plan):
            values[:, places[own]] = codes.T
    return values


def target_codes(part: Part, plan: CodingPlan) -> NDArray[Any]:
    """Codes of a discrete target."""
    source, column = open_source(part.y, "y", "y"), len(plan.kinds) - 1
    ((positions, values),) = _blocks_of(source, column, np.ones(1, bool), plan)
    return np.asarray(_codes(positions, values, plan)[0][1][0])


def _blocks(part: Part, plan: CodingPlan, columns: Positions | None) -> list[tuple[Positions, Values]]:
    """Numbers of blocks of columns; texts as their codes, NaN where they are missing."""
    used = plan.kinds != IGNORED
    if columns is not None:
        used &= np.isin(np.arange(len(used)), columns)
    features, target = open_part(part, plan.wanted)
    return _blocks_of(features, 0, used, plan) + _blocks_of(target, len(used) - 1, used[-1:], plan)


def _blocks_of(source: Source, start: int, used: NDArray[np.bool_], plan: CodingPlan) -> list[tuple[Positions, Values]]:
    found = [(start + positions, rows) for positions, rows, _ in number_blocks(source, used)]
    for position in source.others:
        if used[position]:
            raw, levels = source.read(position), plan.levels[start + position]
            if levels is None:
                row = np.where(raw.missing, np.nan, raw.values.astype(np.float64))
            else:
                codes = {level: float(code) for code, level in enumerate(levels)}
                row = np.full(raw.values.size, np.nan)
                row[~raw.missing] = [codes[value] for value in raw.present.tolist()]
            found.append((np.array([start + position]), row[None]))
    return found


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
