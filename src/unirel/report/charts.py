"""The interactive charts of a report, as Vega-Lite specifications."""

from typing import Any, NamedTuple

import altair as alt

# Colours that are told apart on light and dark ground, also by people who see few of them.
_MAIN, _OTHER, _MARK = "#3b82c4", "#d97b1f", "#d6456f"
_NEUTRAL = "#8a8f98"
# The page uses what stands along an axis as keys of objects, where names like "constructor" are taken: a mark keeps
# them apart, and the labels leave it out.
_KEY_MARK, _WITHOUT_MARK = "=", "slice(datum.label, 1)"
_HEIGHT = 260  # of a curve
_FEW_SIZES = 10  # each has a tick of its own


def make_charts(summary: dict[str, Any]) -> dict[str, Any]:
    """Specifications by name; a chart with nothing to show is left out."""
    charts = summary["charts"]
    specs: dict[str, Any] = {}
    if charts["order"]:
        specs["order"] = _order(charts["order"], summary["beta"])
    accuracy = summary["accuracy"]
    last = max((row["n"] for row in [*charts["curve"], *(accuracy["curve"] if accuracy else [])]), default=1)
    by_accuracy = bool(accuracy and accuracy["curve"])
    # With both curves, the slider of the accuracy, which stands first, moves both; the number that is enough is marked
    # on the curve that says so.
    start = summary["enough"] or last
    if by_accuracy:
        specs["accuracy"] = _accuracy(accuracy, _Sizes(last, start, summary["enough"], slider=True))
    if charts["curve"]:
        enough = None if by_accuracy else summary["enough"]
        specs["curve"] = _curve(charts["curve"], summary["entropy"], _Sizes(last, start, enough, not by_accuracy))
    if charts["points"]:
        specs["points"] = _points(charts["points"])
    if len(charts["heat"]["names"]) > 1:
        specs["heat"] = _heat(charts["heat"])
    return {name: _finish(chart) for name, chart in specs.items()}


def _order(rows: list[dict[str, Any]], beta: float) -> Any:
    betas = sorted({row["beta"] for row in rows})
    fine = any(round(value * 10, 9) % 1 for value in betas)
    bind = alt.binding_range(min=0, max=1, step=0.01 if fine else 0.1, name="weight of unique relevance, beta ")
    slider = alt.param(name="beta", value=beta, bind=bind)
    n_rows = max(row["step"] for row in rows)
    shown = [{**row, "key": _KEY_MARK + row["name"]} for row in rows]
    chart = (
        alt.Chart(alt.InlineData(values=shown), height=n_rows * max(9, min(24, 900 // n_rows)), width="container")
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y(
                "key:N",
                sort=alt.EncodingSortField("step", op="min", order="ascending"),
                title=None,
                axis=alt.Axis(labelExpr=_WITHOUT_MARK),
            ),
            x=alt.X("score:Q", title="score when selected (nats)", axis=alt.Axis(tickCount=8)),
            color=alt.Color(
                "asked:N",
                scale=alt.Scale(domain=["yes", "no"], range=[_MAIN, _OTHER]),
                legend=alt.Legend(title=f"also selected at beta {beta:g}", orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="feature"),
                alt.Tooltip("step:Q", title="selected as number"),
                alt.Tooltip("beta:Q", title="beta"),
                *_numbers("score", "relevance", "unique"),
                alt.Tooltip("partners:N", title="shares most with"),
            ],
        )
        .properties(description="Bar chart of the selected features in order of selection for one weight")
    )
    if len(betas) < 2:
        return chart
    return chart.transform_filter("datum.low <= beta && beta < datum.high").add_params(slider)


def _numbers(*fields: str) -> list[Any]:
    titles = {"unique": "unique relevance", "joint": "information together"}
    return [alt.Tooltip(f"{field}:Q", title=titles.get(field, field), format=".4f") for field in fields]


class _Sizes(NamedTuple):
    """Numbers of features: the largest, where the slider stands, which one is enough, and whether there is a slider."""

    last: int
    start: int
    enough: int | None
    slider: bool


def _curve(rows: list[dict[str, Any]], entropy: float | None, sizes: _Sizes) -> Any:
    # Above the line of all there is to know there is room for its name.
    top = 1.12 * max(row["joint"] for row in [*rows, {"joint": entropy or 0.0}])
    scale = alt.Scale(domain=[0, top], nice=False) if entropy else alt.Undefined
    y = alt.Y("joint:Q", title="information together (nats)", scale=scale)
    tooltip = [alt.Tooltip("n:Q"), alt.Tooltip("name:N", title="feature added"), *_numbers("joint")]
    words = "'first ' + datum.n + ': ' + format(datum.joint, '.2f') + ' nats, last added ' + datum.name"
    layers = _layers_by_size(rows, y, tooltip, words, sizes)
    if entropy is not None:
        limit = alt.Chart(alt.InlineData(values=[{"joint": entropy, "words": "all there is to know"}]))
        name = limit.mark_text(align="right", baseline="bottom", dy=-3)
        layers.append(limit.mark_rule(color=_NEUTRAL).encode(y="joint:Q"))
        layers.append(name.encode(y="joint:Q", x=alt.value("width"), text="words:N"))
    return _by_size(layers, sizes, "Line chart of what the first features tell together about the target")


def _accuracy(accuracy: dict[str, Any], sizes: _Sizes) -> Any:
    classes = accuracy["measure"] == "accuracy"
    form, title = (".1%", "correct predictions") if classes else (".2f", "variance explained (R²)")
    axis = alt.Axis(format=".0%") if classes else alt.Axis()
    y = alt.Y("mean:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("n:Q"),
        alt.Tooltip("mean:Q", title="mean over the folds", format=form),
        alt.Tooltip("deviation:Q", title="standard deviation", format=form),
    ]
    found = f"': ' + format(datum.mean, '{form}') + ' ± ' + format(datum.deviation, '{form}')"
    words = f"'first ' + datum.n + {found} + '; dashed: all {accuracy['n_features']:,}, {accuracy['all_mean']:{form}}'"
    rows = [
        {**row, "low": row["mean"] - row["deviation"], "high": min(1.0, row["mean"] + row["deviation"])}
        for row in accuracy["curve"]
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=_size_axis(sizes.last))
    band = base.mark_area(color=_MAIN, opacity=0.2).encode(y=alt.Y("low:Q", title=title, axis=axis), y2="high:Q")
    limit = alt.Chart(alt.InlineData(values=[{"mean": accuracy["all_mean"]}]))
    line = limit.mark_rule(color=_OTHER, strokeDash=[8, 4], strokeWidth=2).encode(y="mean:Q")
    layers = [band, line, *_layers_by_size(rows, y, tooltip, words, sizes)]
    return _by_size(layers, sizes, "Line chart of how well the first features predict the target")


def _layers_by_size(
    rows: list[dict[str, Any]], y: alt.Y, tooltip: list[alt.Tooltip], words: str, sizes: _Sizes
) -> list[Any]:
    """A curve over the number of features, with words about the number that the slider is at."""
    base = alt.Chart(alt.InlineData(values=_until_next(rows))).encode(x=_size_axis(sizes.last), tooltip=tooltip)
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
    words = f"{sizes.enough} {'is' if sizes.enough == 1 else 'are'} enough"
    align: Any = "left" if 2 * sizes.enough <= sizes.last else "right"
    # Below the curve there is room, but for the first point of one that does not begin at 0.
    dx, height = (6 if align == "left" else -6), (_HEIGHT - 12 if sizes.enough > 1 else 12)
    name = marked.mark_text(dx=dx, fontSize=13, fontWeight="bold", align=align)
    return [
        *layers,
        marked.mark_point(size=260, color=_MARK, strokeWidth=2.5).encode(y=y),
        name.encode(y=alt.value(height), text=alt.value(words)),
    ]


def _size_axis(last: int) -> alt.X:
    scale = alt.Scale(domain=[0.5, last + 0.5], nice=False)
    # A smallest step is no promise: of two or three features it leaves halves.
    axis = alt.Axis(values=list(range(1, last + 1))) if last <= _FEW_SIZES else alt.Axis(tickMinStep=1)
    return alt.X("n:Q", title="number of features", axis=axis, scale=scale)


def _by_size(layers: list[Any], sizes: _Sizes, description: str) -> Any:
    """One chart of some layers, with or without a slider of its own."""
    bind = alt.binding_range(min=1, max=sizes.last, step=1, name="number of features ")
    slider = alt.param(name="size", value=sizes.start, bind=bind if sizes.slider else alt.Undefined)
    chart = alt.layer(*layers).add_params(slider)
    return chart.properties(description=description, width="container", height=_HEIGHT)


def _until_next(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of a curve; each stands for all numbers of features up to the next, the last one for all above."""
    ends = [row["n"] for row in rows[1:]] + [2**31]
    return [{**row, "next": end} for row, end in zip(rows, ends, strict=True)]


def _points(rows: list[dict[str, Any]]) -> Any:
    sides = _label_sides(rows)
    shown = [
        {**row, "selected": "no" if row["step"] is None else "yes", "label": side}
        for row, side in zip(rows, sides, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=shown), width="container", height=320).encode(
        x=alt.X("relevance:Q", title="relevance by itself (nats)", axis=alt.Axis(tickCount=8)),
        y=alt.Y("unique:Q", title="unique relevance"),
        tooltip=[
            alt.Tooltip("name:N", title="feature"),
            *_numbers("relevance", "unique"),
            alt.Tooltip("partners:N", title="shares most with"),
        ],
    )
    dots = base.mark_circle(size=70, opacity=0.75).encode(
        color=alt.Color(
            "selected:N",
            scale=alt.Scale(domain=["yes", "no"], range=[_MAIN, _NEUTRAL]),
            legend=alt.Legend(title="selected", orient="bottom"),
        ),
    )
    layers = []
    sides_of_text: list[tuple[str, Any, int]] = [("left", "right", -7), ("right", "left", 7)]
    for side, align, dx in sides_of_text:
        if side in sides:
            labels = base.transform_filter(f"datum.label == '{side}'").mark_text(align=align, dx=dx, dy=-3, limit=130)
            layers.append(labels.encode(text="name:N"))
    chart = alt.layer(*layers, dots)  # names must not cover points
    return chart.properties(description="Scatter chart of relevance against unique relevance of the features")


def _label_sides(rows: list[dict[str, Any]]) -> list[str | None]:
    """On which side of its point the name of a selected feature has room; None where it would hide another."""
    widest, uniques = max(row["relevance"] or 0.0 for row in rows) or 1.0, [row["unique"] for row in rows]
    lowest, height = min(uniques), max(uniques) - min(uniques) or 1.0
    sides: list[str | None] = []
    taken: list[tuple[float, float]] = []
    for row in rows:
        x, y = (row["relevance"] or 0.0) / widest, (row["unique"] - lowest) / height
        free = all(abs(y - other_y) > 0.06 or abs(x - other_x) > 0.45 for other_x, other_y in taken)
        if row["step"] is not None and free:
            sides.append("right" if x < 0.5 else "left")
            taken.append((x, y))
        else:
            sides.append(None)
    return sides


def _heat(heat: dict[str, Any]) -> Any:
    keys, step = [_KEY_MARK + name for name in heat["names"]], max(14, min(28, 560 // len(heat["names"])))
    shown = [{**cell, "x": _KEY_MARK + cell["a"], "y": _KEY_MARK + cell["b"]} for cell in heat["cells"]]
    return (
        alt.Chart(alt.InlineData(values=shown), width="container", height=step * len(keys))
        .mark_rect()
        .encode(
            # Whole pixels leave no seams; where cells are narrow, some names give way.
            x=alt.X(
                "x:N",
                sort=keys,
                title=None,
                axis=alt.Axis(labelAngle=-90, labelOverlap=True, labelExpr=_WITHOUT_MARK),
                scale=alt.Scale(round=True),
            ),
            y=alt.Y("y:N", sort=keys, title=None, axis=alt.Axis(labelExpr=_WITHOUT_MARK)),
            color=alt.Color(
                "shared:Q",
                scale=alt.Scale(domain=[0, 1], scheme="viridis"),
                legend=alt.Legend(title="shared", orient="bottom"),
            ),
            tooltip=[
                alt.Tooltip("a:N", title="feature"),
                alt.Tooltip("b:N", title="and"),
                alt.Tooltip("shared:Q", title="share", format=".2f"),
            ],
        )
        .properties(description="Heat map of how much every two selected features share, from 0 to 1")
    )


def _finish(chart: Any) -> dict[str, Any]:
    """The specification with quiet colours and without names that depend on what was drawn before."""
    grey = {"domainColor": _NEUTRAL, "tickColor": _NEUTRAL, "gridColor": _NEUTRAL, "gridOpacity": 0.25}
    # On a phone long names would leave no room for the chart.
    label_limit = {"expr": "containerSize()[0] < 500 ? 120 : 190"}
    config = {
        "background": "transparent",
        "view": {"stroke": None},
        "axis": {
            **grey,
            "labelLimit": label_limit,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "font": "system-ui, sans-serif",
    }
    # Their form never changes, so a test checks it against the schema, once, instead of every page.
    spec: dict[str, Any] = chart.to_dict(validate=False, context={"pre_transform": False})
    spec["config"] = config
    if spec.get("width") == "container":
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
