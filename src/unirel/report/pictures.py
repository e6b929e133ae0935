"""What the pictures of features against the target show, as plain numbers; a template draws them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data import Mask, Values
from unirel.data.groups import GroupedTable
from unirel.data.readers import as_narwhals, take_columns, take_rows
from unirel.data.table import Table
from unirel.data.weights import choose_by_class

if TYPE_CHECKING:
    from unirel.report import Report

Picture = dict[str, Any]

# Rows that pictures are made of, points of a feature, and features that are drawn, with and without points.
_MOST_ROWS, _MOST_POINTS, MOST_DRAWN, _MOST_STRIPS = 4000, 240, 40, 12
# Classes and levels that are drawn by themselves; the others are drawn as one.
MOST_CLASSES, _MOST_LEVELS = 5, 7
# Bins of a density, and of a curve of means.
_FINE, _COARSE = 32, 12
# Parts of a number as target, whose rows count as one class for pointwise information.
_PARTS = 5
# A level of few rows is judged as if it had this many more that are like all rows.
_PRIOR_ROWS = 5
# Steps of colour from low to high values, and of positions along a strip.
_SHADES, _PLACES = 5, 120
_OTHERS, _MISSING = "others", "missing"


class Sample(NamedTuple):
    """Some rows of a table as pictures need them: the target, and how many rows each stands for."""

    rows: NDArray[np.intp]
    weights: Values
    target: Values  # codes of classes, or numbers
    classes: tuple[str, ...] | None  # None for a number


class Feature(NamedTuple):
    """A feature in the rows of a sample."""

    values: Values  # numbers, or codes of levels
    missing: Mask
    levels: tuple[str, ...] | None  # None for numbers


def read_levels(table: Table, X: Any, features: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """What the levels of discrete features are called, by their codes, as far as the rows are at hand."""
    if X is None or table.is_parted:
        return {}
    found: dict[int, tuple[str, ...]] = {}
    for feature in features:
        if isinstance(table, GroupedTable) and table.names[feature] in table.members:
            found |= {feature: table.level_names[feature]} if feature in table.level_names else {}
        elif table.discrete[feature]:
            codes = table.codes(feature)
            first = np.zeros(int(table.n_levels[feature]), np.intp)
            first[codes[::-1]] = np.arange(len(codes))[::-1]  # the first row of a level is written last
            rows = take_rows(take_columns(X, np.array([feature])), first)
            named = as_narwhals(rows.toarray() if table.is_sparse else rows, "X")
            values = named[:, 0].tolist() if isinstance(named, np.ndarray) else named[:, 0].to_list()
            if table.has_missing[feature]:
                values[-1] = _MISSING
            found[feature] = tuple(f"{one:g}" if isinstance(one, float) else str(one) for one in values)
    return found


def draw_features(report: "Report") -> tuple[list[Picture], list[Picture]]:
    """A picture of each of the first selected features against the target, and the points of the first of them."""
    if report.table.is_parted:  # whose rows are elsewhere
        return [], []
    sample = _take_sample(report)
    pictures, strips = [], []
    for step, position in enumerate(report.selection.order[:MOST_DRAWN].tolist(), start=1):
        feature = _take_feature(report, position, sample)
        known = {"step": step, "name": report.table.names[position]}
        pictures.append({**known, **picture_of(feature, sample)})
        if step <= _MOST_STRIPS:
            strips.append({**known, **_strip(feature, sample)})
    return pictures, strips


def _take_sample(report: "Report") -> Sample:
    table, given = report.table, report.selection.sample_weight
    weights = np.ones(table.n_samples) if given is None else np.asarray(given, np.float64)
    labels = table.target_codes()
    rows = choose_by_class(labels, np.flatnonzero(weights > 0), _MOST_ROWS, np.random.default_rng(0))
    target = labels if labels is not None else table.continuous_block([table.target])[0]
    classes = None if table.classes is None else tuple(map(str, table.classes.tolist()))
    return Sample(rows, weights[rows], np.asarray(target[rows], np.float64), classes)


def _take_feature(report: "Report", position: int, sample: Sample) -> Feature:
    table = report.table
    if table.continuous[position]:
        values = table.continuous_block([position])[0][sample.rows]
        return Feature(values, np.isnan(values), None)
    n_levels = int(table.n_levels[position])
    levels = report.levels.get(position) or tuple(f"level {code + 1}" for code in range(n_levels))
    codes: NDArray[Any] = table.codes(position)[sample.rows]
    missing = (codes == n_levels - 1) & table.has_missing[position]
    if _are_numbers(levels):  # texts of numbers are in the order of texts
        order = sorted(range(n_levels), key=lambda code: (levels[code] == _MISSING, _as_number(levels[code])))
        codes, levels = np.argsort(order)[codes], tuple(levels[code] for code in order)
    return Feature(np.asarray(codes, np.float64), missing, levels)


def picture_of(feature: Feature, sample: Sample) -> Picture:
    """Densities or shares of the classes, or how the mean of a number as target depends on the feature."""
    if sample.classes is not None:
        return _densities(feature, sample) if feature.levels is None else _shares(feature, sample)
    return _means(feature, sample) if feature.levels is None else _level_means(feature, sample)


def largest_classes(sizes: NDArray[Any]) -> list[int]:
    """Classes with a colour of their own in all pictures, in the order of their codes."""
    return sorted(np.argsort(-sizes, kind="stable")[:MOST_CLASSES].tolist())


def _class_sizes(sample: Sample) -> Values:
    return np.asarray(np.bincount(sample.target.astype(np.intp), sample.weights, len(sample.classes or ())), np.float64)


def _densities(feature: Feature, sample: Sample) -> Picture:
    """A density for each of the largest classes, all in the same scale, and the share of missing values in each."""
    edges, whole = _edges(feature)
    heights, missing = [], []
    shown = largest_classes(_class_sizes(sample))
    for code in shown:
        own = sample.target == code
        weights, gone = sample.weights[own], feature.missing[own]
        counts = np.histogram(feature.values[own & ~feature.missing], edges, weights=weights[~gone])[0]
        heights.append((counts if whole else _smooth(counts)) / weights.sum())
        missing.append(float(weights[gone].sum() / weights.sum()))
    top = max(float(np.max(heights)), 1e-12)
    rows = [
        {"label": (sample.classes or ())[code], "heights": _rounded(row / top), "missing": round(gone, 3)}
        for code, row, gone in zip(shown, heights, missing, strict=True)
    ]
    low, high = (edges[0] + 0.5, edges[-1] - 0.5) if whole else (edges[0], edges[-1])
    return {"kind": "densities", "whole": whole, "low": number(low), "high": number(high), "rows": rows}


def _smooth(counts: Values) -> Values:
    padded = np.pad(counts, 1)
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)


def _edges(feature: Feature) -> tuple[Values, bool]:
    """Edges of equally wide bins, and whether each holds one whole number, so that a bar shows it as it is."""
    low, high = _range(feature)
    known = feature.values[~feature.missing]
    if len(known) and (known == np.rint(known)).all():
        # Bins of other widths than whole numbers would hold now more, now fewer of them.
        low, high = np.floor(low), np.ceil(high)
        width = max(1.0, np.ceil((high - low + 1) / _FINE))
        n_bins = int(np.ceil((high - low + 1) / width))
        return low - 0.5 + width * np.arange(n_bins + 1), width == 1
    return np.linspace(low, high, _FINE + 1), False


def _shares(feature: Feature, sample: Sample) -> Picture:
    """Shares of the largest classes, and of all others, in each of the largest levels."""
    sizes, n_classes = _class_sizes(sample), len(sample.classes or ())
    shown, rows = largest_classes(sizes), []
    for label, own in _levels_of(feature, sample):
        counts = np.bincount(sample.target[own].astype(np.intp), sample.weights[own], n_classes)
        shares = [*counts[shown], counts.sum() - counts[shown].sum()] / counts.sum()
        part = counts.sum() / sample.weights.sum()
        rows.append({"label": label, "shares": _rounded(shares), "part": round(float(part), 4)})
    return {"kind": "shares", "rows": rows}


def _means(feature: Feature, sample: Sample) -> Picture:
    """Mean and quartiles of the target in bins of the feature that hold equally many rows."""
    known = ~feature.missing
    values, target, weights = feature.values[known], sample.target[known], sample.weights[known]
    n_bins = int(np.clip(len(values) // 15, 1, _COARSE))
    edges = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins)) if len(values) else np.zeros(0)
    codes = np.searchsorted(edges, values, side="right")
    points = []
    for code in np.unique(codes).tolist():
        own = codes == code
        place = float(np.average(values[own], weights=weights[own]))
        points.append({"x": place, **_spread(target[own], weights[own])})
    gone = _spread(sample.target[~known], sample.weights[~known]) if (~known).any() else None
    low, high = (points[0]["x"], points[-1]["x"]) if points else (0.0, 1.0)
    for point in points:
        point["x"] = round((point["x"] - low) / (high - low), 4) if high > low else 0.5
    bands = [*points, gone] if gone else points
    return {
        "kind": "means",
        "low": number(low),
        "high": number(high),
        "missing": gone,
        "points": points,
        **_axis(bands),
    }


def _level_means(feature: Feature, sample: Sample) -> Picture:
    """Mean and quartiles of the target in each of the largest levels."""
    rows = []
    for label, own in _levels_of(feature, sample):
        part = sample.weights[own].sum() / sample.weights.sum()
        rows.append({"label": label, "part": round(float(part), 4), **_spread(sample.target[own], sample.weights[own])})
    return {"kind": "level means", "rows": rows, **_axis(rows)}


def _levels_of(feature: Feature, sample: Sample) -> list[tuple[str, Mask]]:
    """The largest levels in the order of their codes and all others as one, each with its rows."""
    levels, codes = feature.levels or (), feature.values.astype(np.intp)
    sizes = np.bincount(codes, sample.weights, len(levels))
    n_shown = _MOST_LEVELS + 1 if len(levels) == _MOST_LEVELS + 1 else _MOST_LEVELS
    shown = sorted(np.argsort(-sizes, kind="stable")[:n_shown].tolist())
    found = [(levels[code], codes == code) for code in shown if sizes[code] > 0]
    rest = ~np.isin(codes, shown)
    n_rest = len(np.unique(codes[rest]))
    return [*found, (f"{n_rest} {_OTHERS}", rest)] if n_rest else found


def _spread(values: Values, weights: Values) -> dict[str, float]:
    """The mean, and between which values the middle half of the rows lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, [0.25, 0.75]), len(values) - 1)
    low, high = values[order][places].tolist()
    return {"mean": float(np.average(values, weights=weights)), "lower": low, "upper": high}


def _axis(bands: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The range of what is drawn, and every mean and quartile as a share of it."""
    keys = ("lower", "mean", "upper")
    bottom, top = (
        min(min(one[key] for key in keys) for one in bands),
        max(max(one[key] for key in keys) for one in bands),
    )
    for one in bands:
        one.update({key: round((one[key] - bottom) / (top - bottom), 4) if top > bottom else 0.5 for key in keys})
    return {"bottom": number(bottom), "top": number(top)}


def _range(feature: Feature) -> tuple[float, float]:
    """Between which values nearly all rows are: a few far off would leave no room for the others."""
    known = feature.values[~feature.missing]
    if not len(known):
        return 0.0, 1.0
    low, high = np.quantile(known, [0.01, 0.99]).tolist()
    if high <= low:
        low, high = float(known.min()), float(known.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def pointwise(feature: Feature, sample: Sample) -> Values:
    """How much the value of each row points to its class: log p(y | x) / p(y) in nats, whose mean is information.

    p(y | x) is the share among the other rows of the same level, or among the tenth of the rows whose numbers are
    nearest by rank: a row does not vouch for itself, so that many levels do not seem to know the target. A number as
    target is taken by fifths.
    """
    labels, weights = _labels(sample), sample.weights
    n_classes = int(labels.max()) + 1
    prior = np.bincount(labels, weights, n_classes) / weights.sum()
    indicator = np.zeros((len(labels), n_classes))
    indicator[np.arange(len(labels)), labels] = weights
    if feature.levels is None:
        near = np.zeros_like(indicator)
        for some in (feature.missing, ~feature.missing):
            near[some] = _near_by_rank(feature.values[some], indicator[some])
    else:
        sums = np.zeros((len(feature.levels), n_classes))
        codes = feature.values.astype(np.intp)
        np.add.at(sums, codes, indicator)
        near = sums[codes]
    near = near - indicator
    share = (near + _PRIOR_ROWS * prior) / (near.sum(axis=1, keepdims=True) + _PRIOR_ROWS)
    own = np.arange(len(labels)), labels
    return np.asarray(np.log(share[own] / prior[labels]))


def _labels(sample: Sample) -> NDArray[np.intp]:
    if sample.classes is not None:
        return sample.target.astype(np.intp)
    edges = np.unique(np.quantile(sample.target, np.arange(1, _PARTS) / _PARTS))
    return np.unique(np.searchsorted(edges, sample.target, side="right"), return_inverse=True)[1]


def _near_by_rank(values: Values, indicator: Values) -> Values:
    """Sums of rows over the tenth whose values are nearest by rank, and all that are equal; NaN are all equal."""
    n_rows = len(values)
    if n_rows == 0 or np.isnan(values).all():
        return np.broadcast_to(indicator.sum(axis=0), indicator.shape)
    order = np.argsort(values, kind="stable")
    ranked, reach = values[order], max(5, n_rows // 20)
    first = np.maximum(np.searchsorted(ranked, values, side="left") - reach, 0)
    last = np.minimum(np.searchsorted(ranked, values, side="right") + reach, n_rows)
    sums = np.vstack([np.zeros(indicator.shape[1]), np.cumsum(indicator[order], axis=0)])
    return np.asarray(sums[last] - sums[first])


def _strip(feature: Feature, sample: Sample) -> Picture:
    """Pointwise information of some rows, with the colour of their values."""
    information = pointwise(feature, sample)
    some = np.sort(np.random.default_rng(0).permutation(len(information))[:_MOST_POINTS])
    shades, names = _shades(feature, sample)
    points = list(zip(_rounded(information[some]), shades[some].tolist(), strict=True))
    return {"mean": round(float(np.average(information, weights=sample.weights)), 4), "points": points, "names": names}


def _shades(feature: Feature, sample: Sample) -> tuple[NDArray[np.intp], list[str] | None]:
    """Colours of values from low to high by rank, or of the largest levels, which are named; -1 for what has none."""
    if feature.levels is not None and not _are_numbers(feature.levels):
        codes = feature.values.astype(np.intp)
        sizes = np.bincount(codes, sample.weights, len(feature.levels))
        colors = np.full(len(sizes), -1)
        shown = [code for code in largest_classes(sizes) if sizes[code] > 0]
        colors[shown] = np.arange(len(shown))
        return colors[codes], [feature.levels[code] for code in shown]
    known = np.sort(feature.values[~feature.missing])
    distinct = np.unique(known)
    if len(distinct) <= _SHADES:  # of two values one has the lowest and one the highest colour
        shades = np.rint(np.searchsorted(distinct, feature.values) * (_SHADES - 1) / max(1, len(distinct) - 1))
    else:
        middle = np.searchsorted(known, feature.values, "left") + np.searchsorted(known, feature.values, "right")
        shades = np.minimum(middle * _SHADES // (2 * len(known)), _SHADES - 1)
    return np.where(feature.missing, -1, shades).astype(np.intp), None


def _are_numbers(levels: Sequence[str]) -> bool:
    return all(_as_number(level) is not None for level in levels if level != _MISSING)


def _as_number(level: str) -> float | None:
    try:
        return float({"True": "1", "False": "0"}.get(level, level))
    except ValueError:
        return None


def arrange(strips: Sequence[Picture]) -> Picture:
    """Points of all strips in one scale, side by side where they would cover each other, by their colour."""
    values = np.array([value for strip in strips for value, _ in strip["points"]] or [0.0])
    low, high = (float(one) for one in np.quantile(values, [0.005, 0.995]))
    low, high = min(low, -0.05), max(high, 0.05)
    low, high = low - 0.02 * (high - low), high + 0.02 * (high - low)
    rows = []
    for strip in strips:
        points = np.array(strip["points"], np.float64).reshape(-1, 2)
        places = np.clip((points[:, 0] - low) / (high - low), 0, 1)
        columns = np.rint(places * _PLACES)
        offsets = np.zeros((2, len(points)))
        for column in np.unique(columns).tolist():
            own = np.flatnonzero(columns == column)
            offsets[:, own[np.argsort(points[own, 1], kind="stable")]] = _pile(len(own))
        across, up = np.rint(1000 * places + offsets[0]).astype(int), np.rint(20 + offsets[1]).astype(int)
        shades: dict[int, list[tuple[int, int]]] = {}
        for shade, x, y in zip(points[:, 1].astype(int).tolist(), across.tolist(), up.tolist(), strict=True):
            shades.setdefault(shade, []).append((x, y))
        mean = round((min(max(strip["mean"], low), high) - low) / (high - low), 4)
        rows.append({**strip, "shades": dict(sorted(shades.items())), "mean_place": mean})
    ticks = [{"place": round((tick - low) / (high - low), 4), "label": number(tick)} for tick in _ticks(low, high)]
    return {"rows": rows, "ticks": ticks, "zero": round(-low / (high - low), 4)}


def _pile(n_points: int) -> Values:
    """Where points of one place stand: in columns side by side, each no higher than a strip."""
    n_columns = min(6, -(-n_points // 11))
    row, column = np.divmod(np.arange(n_points), n_columns)
    height = row[-1]
    step = 3.2 if height < 11 else 36 / height
    return np.array([6.5 * (column - (n_columns - 1) / 2), step * (row - height / 2)])


def _ticks(low: float, high: float) -> list[float]:
    """Some round numbers of a range, 0 among them."""
    step = next(size for size in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 1e9) if (high - low) / size <= 6)
    return [round(step * place, 2) for place in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def number(value: float) -> str:
    """A number beside an axis, in few digits."""
    if value != 0 and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _rounded(values: Any) -> list[float]:
    return np.round(np.asarray(values, np.float64), 3).tolist()  # type: ignore[no-any-return]
