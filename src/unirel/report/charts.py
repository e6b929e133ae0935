"""The charts of a report: interactive ones as Vega-Lite specifications, and what the others show as plain numbers."""

from itertools import pairwise, permutations
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from unirel.inference.likeness import REDUNDANT, order_by_similarity
from unirel.report import Report, text

Rows = list[dict[str, Any]]

# Colours that are told apart on light and dark ground, also by people who see few of them.
_MAIN, _OTHER, _MARK, _NEUTRAL = "#3b82c4", "#d97b1f", "#d6456f", "#8a8f98"
# The page uses what stands along an axis as keys of objects, where names like "constructor" are taken: a mark keeps
# them apart, and the labels leave it out.
_KEY_MARK, _WITHOUT_MARK = "=", "slice(datum.label, 1)"
_HEIGHT = 260  # of a curve
_FEW_SIZES = 10  # each has a tick of its own
# Points of the chart of all features, selected ones first; features of the heat map.
_MOST_POINTS, _MOST_COMPARED = 500, 40
_TITLES = {
    **{"name": "feature", "partners": "most similar to", "a": "feature", "b": "and", "shared": "similarity"},
    **{"unique_relevance": "unique relevance", "joint": "joint information", "error": "standard error"},
}
_TEXTS, _EXACT = {"name", "partners", "a", "b", "method"}, {"n", "step", "beta"}


def n_first(report: Report) -> int:
    """How many of the first features are ticked when the page opens: those that are enough, if that is known."""
    selection, answer = report.selection, report.to_dict()
    if answer["headline"] == text.nothing_found(report):
        return 0
    return int(answer["enough"] or selection.n_supported or len(selection))


def make_charts(report: Report) -> dict[str, Any]:
    """Specifications by name; a chart with nothing to show is left out."""
    answer, analysis = report.to_dict(), report.analysis
    accuracy, curve = answer["accuracy"], analysis.curve.tolist()
    by_accuracy = bool(accuracy and accuracy["curve"])
    last = max([1, len(curve), *(row["n"] for row in (accuracy["curve"] if accuracy else []))])
    # With both curves, the slider of the accuracy, which stands first, moves both; the number that is enough is marked
    # on the curve that says so.
    start, enough = min(last, max(1, n_first(report))), answer["enough"]
    points = [row for row in answer["features"] if row["unique_relevance"] is not None][:_MOST_POINTS]
    charts: dict[str, Any] = {}
    if orders := _order_rows(report):
        charts["order"] = _order(orders, answer["beta"])
    if by_accuracy:
        charts["accuracy"] = _accuracy(accuracy, _Sizes(last, start, enough, slider=True))
    if len(curve) > 1:
        rows = [{"n": n, "name": analysis.names[n - 1], "joint": value} for n, value in enumerate(curve, start=1)]
        sizes = _Sizes(last, start, None if by_accuracy else enough, slider=not by_accuracy)
        charts["curve"] = _curve(rows, analysis.entropy, sizes)
    if report.selection.costs is not None and len(curve):
        charts["money"] = _money(report)
    if points:
        charts["points"] = _points(points)
    if len(analysis.shared) > 1:
        charts["heat"] = _heat(report)
    return {name: _finish(chart) for name, chart in charts.items()}


def _tips(*fields: str, form: str = ".4f") -> list[alt.Tooltip]:
    """What is shown where one points at: texts, numbers that count, and estimates, which are rounded."""
    return [
        alt.Tooltip(
            f"{field}:{'N' if field in _TEXTS else 'Q'}",
            title=_TITLES.get(field, field),
            format=alt.Undefined if field in _TEXTS | _EXACT else form,
        )
        for field in fields
    ]


def _color(field: str, title: str, **scale: Any) -> alt.Color:
    return alt.Color(field, scale=alt.Scale(**scale), legend=alt.Legend(title=title, orient="bottom", labelLimit=0))


def _order_rows(report: Report) -> Rows:
    """One row per weight and selected feature; each weight stands for all that are nearer to it than to another."""
    asked = {feature: place for place, feature in enumerate(report.selection.order.tolist())}
    partners = [row["partners"] for row in report.rows()]
    selections = sorted(report.path, key=lambda selection: selection.beta)
    middles = [(a.beta + b.beta) / 2 for a, b in pairwise(selections)]
    return [
        {
            **{key: row[key] for key in ("step", "name", "score", "relevance", "unique_relevance")},
            "beta": selection.beta,
            "low": low,
            "high": high,
            "asked": "yes" if row["feature"] in asked else "no",
            "partners": partners[asked[row["feature"]]] if row["feature"] in asked else "not compared",
        }
        for selection, low, high in zip(selections, [-1.0, *middles], [*middles, 2.0], strict=True)
        for row in selection.to_dict()["features"]
    ]


def _order(rows: Rows, beta: float) -> Any:
    betas = sorted({row["beta"] for row in rows})
    fine = any(round(value * 10, 9) % 1 for value in betas)
    bind = alt.binding_range(min=0, max=1, step=0.01 if fine else 0.1, name="weight of unique relevance, beta ")
    n_rows = max(row["step"] for row in rows)
    by_step = alt.EncodingSortField("step", op="min", order="ascending")
    chart = (
        alt.Chart(_keyed(rows, key="name"), height=n_rows * max(9, min(24, 900 // n_rows)), width="container")
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y("key:N", sort=by_step, title=None, axis=alt.Axis(labelExpr=_WITHOUT_MARK)),
            x=alt.X("score:Q", title="score when selected (nats)", axis=alt.Axis(tickCount=8)),
            color=_color("asked:N", f"also selected at beta {beta:g}", domain=["yes", "no"], range=[_MAIN, _OTHER]),
            tooltip=_tips("name", "step", "beta", "score", "relevance", "unique_relevance", "partners"),
        )
        .properties(description="Bar chart of the selected features in order of selection for one weight")
    )
    if len(betas) < 2:
        return chart
    slider = alt.param(name="beta", value=beta, bind=bind)
    return chart.transform_filter("datum.low <= beta && beta < datum.high").add_params(slider)


def _keyed(rows: Rows, **keys: str) -> alt.InlineData:
    """Rows with names that may stand along an axis: the value of a field, marked."""
    marked = [{**row, **{key: _KEY_MARK + row[field] for key, field in keys.items()}} for row in rows]
    return alt.InlineData(values=marked)


class _Sizes(NamedTuple):
    """Numbers of features: the largest, where the slider stands, which one is enough, and whether there is a slider."""

    last: int
    start: int
    enough: int | None
    slider: bool

    @property
    def axis(self) -> alt.X:
        # A smallest step is no promise: of two or three features it leaves halves.
        few = self.last <= _FEW_SIZES
        axis = alt.Axis(values=list(range(1, self.last + 1))) if few else alt.Axis(tickMinStep=1)
        scale = alt.Scale(domain=[0.5, self.last + 0.5], nice=False)
        return alt.X("n:Q", title="number of features", axis=axis, scale=scale)


def _curve(rows: Rows, entropy: float | None, sizes: _Sizes) -> Any:
    # Above the line of the target's entropy there is room for its name.
    top = 1.12 * max(entropy or 0.0, *(row["joint"] for row in rows))
    scale = alt.Scale(domain=[0, top], nice=False) if entropy else alt.Undefined
    y = alt.Y("joint:Q", title="joint information (nats)", scale=scale)
    words = "'first ' + datum.n + ': ' + format(datum.joint, '.2f') + ' nats, last added ' + datum.name"
    low = max(row["joint"] for row in rows) < 0.3 * top
    layers = _layers_by_size(rows, y, _tips("n", "name", "joint"), words, sizes, low)
    if entropy is not None:
        limit = alt.Chart(alt.InlineData(values=[{"joint": entropy, "words": "entropy of the target"}]))
        name = limit.mark_text(align="right", baseline="bottom", dy=-3)
        layers.append(limit.mark_rule(color=_NEUTRAL).encode(y="joint:Q"))
        layers.append(name.encode(y="joint:Q", x=alt.value("width"), text="words:N"))
    return _by_size(layers, sizes, "Line chart of the joint information of the first features about the target")


def _money(report: Report) -> Any:
    """Joint information of the first features against what they cost, in steps."""
    analysis, costs = report.analysis, report.selection.costs
    known = zip(analysis.names, analysis.curve.tolist(), [] if costs is None else costs.cumsum().tolist(), strict=False)
    rows = [{"n": n, "name": name, "joint": joint, "cost": cost} for n, (name, joint, cost) in enumerate(known, 1)]
    places = [{"step": row["n"], "relevance": row["cost"], "unique_relevance": row["joint"]} for row in rows]
    rows = [{**row, "label": side} for row, side in zip(rows, _label_sides(places), strict=True)]
    base = alt.Chart(alt.InlineData(values=rows), width="container", height=_HEIGHT).encode(
        x=alt.X("cost:Q", title="cost of the first features", scale=alt.Scale(zero=True)),
        y=alt.Y("joint:Q", title="joint information (nats)", scale=alt.Scale(zero=True)),
        tooltip=_tips("n", "name", "cost", "joint"),
    )
    line = base.mark_line(color=_MAIN, strokeWidth=2, interpolate="step-after")
    named = base.encode(text="name:N")
    left = named.transform_filter("datum.label == 'left'").mark_text(align="right", dx=-7, dy=12, limit=150)
    right = named.transform_filter("datum.label == 'right'").mark_text(align="left", dx=7, dy=12, limit=150)
    layers = alt.layer(line, left, right, base.mark_circle(size=60, opacity=1, color=_MAIN))
    return layers.properties(description="Line chart of the joint information of the first features against their cost")


def _accuracy(accuracy: dict[str, Any], sizes: _Sizes) -> Any:
    classes = accuracy["measure"] == "accuracy"
    form, title = (".1%", "accuracy on held-out rows") if classes else (".2f", "R² on held-out rows")
    axis = alt.Axis(format=".0%") if classes else alt.Axis()
    models = [accuracy, *accuracy["others"]]
    rows = [
        {
            **row,
            "method": one["method"],
            "low": row["mean"] - row["error"],
            "high": min(1.0, row["mean"] + row["error"]),
        }
        for one in models
        for row in one["curve"]
    ]
    y = alt.Y("mean:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
    color = _color("method:N", "", domain=[one["method"] for one in models], range=[_MAIN, _OTHER][: len(models)])
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=sizes.axis, color=color)
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=title, axis=axis), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=y)
    found = f"': ' + format(datum.mean, '{form}') + ' ± ' + format(datum.error, '{form}')"
    known = accuracy["all_mean"] is not None
    every = f" + '; dashed: all {accuracy['n_features']:,}, {accuracy['all_mean']:{form}}'" if known else ""
    limit = alt.Chart(alt.InlineData(values=[{"mean": accuracy["all_mean"]}] if known else []))
    dashed = limit.mark_rule(color=_MAIN, strokeDash=[8, 4], strokeWidth=2).encode(y="mean:Q")
    own = [row for row in rows if row["method"] == accuracy["method"]]
    tips = _tips("n", "method", "mean", "error", form=form)
    layers = [band, dashed, line, *_layers_by_size(own, y, tips, f"'first ' + datum.n + {found}{every}", sizes)]
    return _by_size(layers, sizes, "Line chart of how well the first features predict the target")


def _layers_by_size(
    rows: Rows, y: alt.Y, tooltip: list[alt.Tooltip], words: str, sizes: _Sizes, low: bool = False
) -> list[Any]:
    """A curve over the number of features, with words about the number that the slider is at."""
    # Each point stands for all numbers of features up to the next, the last one for all above.
    ends = [row["n"] for row in rows[1:]] + [2**31]
    until_next = [{**row, "next": end} for row, end in zip(rows, ends, strict=True)]
    base = alt.Chart(alt.InlineData(values=until_next)).encode(x=sizes.axis, tooltip=tooltip)
    reached = alt.condition("datum.n <= size", alt.value(_MAIN), alt.value(_NEUTRAL))
    chosen = base.transform_filter("datum.n <= size && size < datum.next")
    text = chosen.transform_calculate(words=words).mark_text(align="left", baseline="top", fontSize=12, limit=340)
    layers = [
        base.mark_line(color=_MAIN, strokeWidth=2).encode(y=y),
        base.mark_circle(size=60, opacity=1).encode(y=y, color=reached),
        chosen.mark_rule(color=_MARK, strokeDash=[4, 3]),
        text.encode(text="words:N", x=alt.value(0), y=alt.value(-20)),
    ]
    if sizes.enough is None:
        return layers
    marked = base.transform_filter(f"datum.n == {sizes.enough}")
    left = 2 * sizes.enough <= sizes.last
    name = marked.mark_text(dx=6 if left else -6, fontSize=13, fontWeight="bold", align="left" if left else "right")
    enough = f"{sizes.enough} recommended"
    # Below the curve there is room, unless it is low, or for the first point of one that does not begin at 0.
    height = alt.value(_HEIGHT - 12 if sizes.enough > 1 and not low else _HEIGHT / 2 if low else 12)
    ring = marked.mark_point(size=260, color=_MARK, strokeWidth=2.5).encode(y=y)
    return [*layers, ring, name.encode(y=height, text=alt.value(enough))]


def _by_size(layers: list[Any], sizes: _Sizes, description: str) -> Any:
    bind = alt.binding_range(min=1, max=sizes.last, step=1, name="number of features ")
    slider = alt.param(name="size", value=sizes.start, bind=bind if sizes.slider else alt.Undefined)
    return alt.layer(*layers).add_params(slider).properties(description=description, width="container", height=_HEIGHT)


def _points(rows: Rows) -> Any:
    keys = ("name", "relevance", "unique_relevance", "partners")
    shown = [
        {**{key: row[key] for key in keys}, "selected": "no" if row["step"] is None else "yes", "label": side}
        for row, side in zip(rows, _label_sides(rows), strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=shown), width="container", height=320).encode(
        x=alt.X("relevance:Q", title="relevance (nats)", axis=alt.Axis(tickCount=8)),
        y=alt.Y("unique_relevance:Q", title="unique relevance"),
        tooltip=_tips("name", "relevance", "unique_relevance", "partners"),
    )
    color = _color("selected:N", "selected", domain=["yes", "no"], range=[_MAIN, _NEUTRAL])
    dots = base.mark_circle(size=70, opacity=0.75).encode(color=color)
    named = base.encode(text="name:N")
    left = named.transform_filter("datum.label == 'left'").mark_text(align="right", dx=-7, dy=-3, limit=130)
    right = named.transform_filter("datum.label == 'right'").mark_text(align="left", dx=7, dy=-3, limit=130)
    chart = alt.layer(left, right, dots)  # names must not cover points
    return chart.properties(description="Scatter chart of relevance against unique relevance of the features")


def _label_sides(rows: Rows) -> list[str | None]:
    """On which side of its point the name of a selected feature has room; None where it would hide another."""
    uniques = [row["unique_relevance"] for row in rows]
    widest = max(row["relevance"] or 0.0 for row in rows) or 1.0
    lowest, height = min(uniques), max(uniques) - min(uniques) or 1.0
    sides: list[str | None] = []
    taken: list[tuple[float, float]] = []
    for row in rows:
        x, y = (row["relevance"] or 0.0) / widest, (row["unique_relevance"] - lowest) / height
        free = all(abs(y - other_y) > 0.06 or abs(x - other_x) > 0.45 for other_x, other_y in taken)
        sides.append(("right" if x < 0.5 else "left") if row["step"] is not None and free else None)
        if sides[-1]:
            taken.append((x, y))
    return sides


def _heat(report: Report) -> Any:
    shared, names = report.analysis.shared[:_MOST_COMPARED, :_MOST_COMPARED], report.analysis.names
    order = order_by_similarity(shared)
    cells = [{"a": names[i], "b": names[j], "shared": round(float(shared[i, j]), 4)} for i, j in permutations(order, 2)]
    keys = [_KEY_MARK + names[place] for place in order]
    # Whole pixels leave no seams; where cells are narrow, some names give way.
    across = alt.Axis(labelAngle=-90, labelOverlap=True, labelExpr=_WITHOUT_MARK)
    return (
        alt.Chart(_keyed(cells, x="a", y="b"), width="container", height=len(keys) * max(14, min(28, 560 // len(keys))))
        .mark_rect()
        .encode(
            x=alt.X("x:N", sort=keys, title=None, axis=across, scale=alt.Scale(round=True)),
            y=alt.Y("y:N", sort=keys, title=None, axis=alt.Axis(labelExpr=_WITHOUT_MARK)),
            color=_color("shared:Q", "similarity", domain=[0, 1], scheme="viridis"),
            tooltip=_tips("a", "b", "shared", form=".2f"),
        )
        .properties(description="Heat map of the normalised mutual information of every two selected features")
    )


def _finish(chart: Any) -> dict[str, Any]:
    """The specification with quiet colours and without names that depend on what was drawn before."""
    plain = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    grey = {"domainColor": _NEUTRAL, "tickColor": _NEUTRAL, "gridColor": _NEUTRAL, "gridOpacity": 0.25}
    # On a phone long names would leave no room for the chart.
    limit = {"labelLimit": {"expr": "containerSize()[0] < 500 ? 120 : 190"}}
    # Their form never changes, so a test checks it against the schema, once, instead of every page.
    spec: dict[str, Any] = chart.to_dict(validate=False, context={"pre_transform": False})
    style = {"background": "transparent", "view": {"stroke": None}, "axis": {**grey, **limit, **plain}, "legend": plain}
    spec["config"] = {**style, "font": "system-ui, sans-serif"}
    return {**spec, "autosize": {"type": "fit-x", "contains": "padding"}}


def waterfall(report: Report) -> dict[str, Any] | None:
    """What stays unknown of the target after each selected feature, as far as joint information is credible.

    It is the entropy of class labels, or the share of the variance of a number's normal scores, 1 - exp(-2 I).
    """
    curve, entropy = report.analysis.curve, report.analysis.entropy
    credible = [n for n in range(2, len(curve) + 1) if text.credible_joint(report, n) is not None]
    if not credible or text.nothing_found(report):
        return None
    curve = curve[: credible[-1]]
    # More features have no less information: what an estimate falls short of is its error.
    known = np.maximum.accumulate(np.maximum(0.0, curve))
    left = 1 - np.minimum(1.0, known / entropy) if entropy else np.exp(-2 * known)
    before = [1.0, *left[:-1].tolist()]
    rows = [
        {"step": step, "name": name, "before": round(one, 4), "after": round(other, 4)}
        for step, (name, one, other) in enumerate(
            zip(report.analysis.names, before, left.tolist(), strict=False), start=1
        )
    ]
    more = len(report.selection) - len(curve)
    return {"rows": rows, "left": round(float(left[-1]), 4), "entropy": entropy, "more": more}


def tree(report: Report) -> dict[str, Any] | None:
    """How similar selected features are, as a tree: what hangs below a joint is at least as similar as it says."""
    shared = report.analysis.shared
    if len(shared) < 3:
        return None
    distances = np.clip(1 - (shared + shared.T) / 2, 0, 1)
    joints = linkage(squareform(distances, checks=False), "complete", optimal_ordering=len(shared) <= 40)
    leaves = leaves_list(joints).tolist()
    # Where each joint stands: how far from full similarity, and between which rows.
    places = [(0.0, float(leaves.index(leaf))) for leaf in range(len(shared))]
    links = []
    for one, other, distance, _ in joints.tolist():
        (x_one, y_one), (x_other, y_other) = places[int(one)], places[int(other)]
        places.append((distance, (y_one + y_other) / 2))
        link = {"from": (x_one, y_one), "to": (x_other, y_other), "distance": round(distance, 4)}
        links.append({**link, "redundant": distance <= 1 - REDUNDANT + 1e-9})
    return {"leaves": leaves, "links": links, "redundant": REDUNDANT}
