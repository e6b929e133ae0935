"""The interactive charts of a report, as Vega-Lite specifications."""

from typing import Any

# Colours that are told apart on light and dark ground, also by people who see few of them.
_MAIN, _OTHER, _MARK = "#3b82c4", "#d97b1f", "#b03a5b"
_NEUTRAL = "#8a8f98"


def make_charts(summary: dict[str, Any]) -> dict[str, Any]:
    """Specifications by name; a chart with nothing to show is left out."""
    charts = summary["charts"]
    specs: dict[str, Any] = {}
    if charts["order"]:
        specs["order"] = _order(charts["order"], summary["beta"])
    if charts["curve"]:
        specs["curve"] = _curve(charts["curve"], summary["entropy"])
    if charts["points"]:
        specs["points"] = _points(charts["points"])
    if len(charts["heat"]["names"]) > 1:
        specs["heat"] = _heat(charts["heat"])
    return {name: _finish(chart) for name, chart in specs.items()}


def _order(rows: list[dict[str, Any]], beta: float) -> Any:
    import altair as alt

    betas = sorted({row["beta"] for row in rows})
    fine = any(round(value * 10, 9) % 1 for value in betas)
    bind = alt.binding_range(min=0, max=1, step=0.01 if fine else 0.1, name="weight of unique relevance, beta ")
    slider = alt.param(name="beta", value=beta, bind=bind)
    n_rows = max(row["step"] for row in rows)
    chart = (
        alt.Chart(alt.InlineData(values=rows), height=n_rows * max(9, min(24, 900 // n_rows)), width="container")
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y("name:N", sort=alt.EncodingSortField("step", op="min", order="ascending"), title=None),
            x=alt.X("score:Q", title="score when selected (nats)"),
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
    import altair as alt

    titles = {"unique": "unique relevance", "joint": "information together"}
    return [alt.Tooltip(f"{field}:Q", title=titles.get(field, field), format=".4f") for field in fields]


def _curve(rows: list[dict[str, Any]], entropy: float | None) -> Any:
    import altair as alt

    last = rows[-1]["n"]
    bind = alt.binding_range(min=1, max=last, step=1, name="number of features ")
    slider = alt.param(name="size", value=last, bind=bind)
    base = alt.Chart(alt.InlineData(values=rows), width="container", height=260).encode(
        x=alt.X(
            "n:Q",
            title="number of features",
            axis=alt.Axis(tickMinStep=1),
            scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
        ),
        tooltip=[alt.Tooltip("n:Q"), alt.Tooltip("name:N", title="feature added"), *_numbers("joint")],
    )
    y = alt.Y("joint:Q", title="information together (nats)")
    line = base.mark_line(color=_MAIN, strokeWidth=2).encode(y=y)
    points = base.mark_circle(size=60, opacity=1).encode(
        y=y, color=alt.condition("datum.n <= size", alt.value(_MAIN), alt.value(_NEUTRAL))
    )
    chosen = base.transform_filter("datum.n == size")
    rule = chosen.mark_rule(color=_MARK, strokeDash=[4, 3])
    words = "'first ' + datum.n + ': ' + format(datum.joint, '.2f') + ' nats, last added ' + datum.name"
    text = chosen.transform_calculate(words=words).mark_text(align="left", baseline="top", fontSize=13, limit=300)
    layers = [line, points, rule, text.encode(text="words:N", x=alt.value(0), y=alt.value(-20))]
    if entropy is not None:
        limit = alt.Chart(alt.InlineData(values=[{"joint": entropy, "words": "all there is to know"}]))
        layers.append(limit.mark_rule(color=_NEUTRAL).encode(y="joint:Q"))
        layers.append(
            limit.mark_text(align="right", baseline="top", dy=4).encode(
                y="joint:Q", x=alt.value("width"), text="words:N"
            )
        )
    chart = alt.layer(*layers).add_params(slider)
    return chart.properties(description="Line chart of what the first features tell together about the target")


def _points(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    sides = _label_sides(rows)
    shown = [
        {**row, "selected": "no" if row["step"] is None else "yes", "label": side}
        for row, side in zip(rows, sides, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=shown), width="container", height=320).encode(
        x=alt.X("relevance:Q", title="relevance by itself (nats)"),
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
    layers = [dots]
    places: list[tuple[str, Any, int]] = [("left", "right", -7), ("right", "left", 7)]
    for side, align, dx in places:
        labels = base.transform_filter(f"datum.label == '{side}'").mark_text(align=align, dx=dx, dy=-3, limit=150)
        layers.append(labels.encode(text="name:N"))
    chart = alt.layer(*layers)
    return chart.properties(description="Scatter chart of relevance against unique relevance of the features")


def _label_sides(rows: list[dict[str, Any]]) -> list[str | None]:
    """On which side of its point the name of a selected feature has room; None where it would hide another."""
    widest, (low, high) = max(row["relevance"] or 0.0 for row in rows) or 1.0, _range([row["unique"] for row in rows])
    sides: list[str | None] = []
    taken: list[tuple[float, float]] = []
    for row in rows:
        place = ((row["relevance"] or 0.0) / widest, (row["unique"] - low) / (high - low or 1.0))
        side = "right" if place[0] < 0.5 else "left"
        free = all(abs(place[1] - y) > 0.06 or abs(place[0] - x) > 0.45 for x, y in taken)
        sides.append(side if row["step"] is not None and free else None)
        if sides[-1]:
            taken.append(place)
    return sides


def _range(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _heat(heat: dict[str, Any]) -> Any:
    import altair as alt

    names, step = heat["names"], max(14, min(28, 560 // len(heat["names"])))
    return (
        alt.Chart(alt.InlineData(values=heat["cells"]), width=alt.Step(step), height=alt.Step(step))
        .mark_rect()
        .encode(
            x=alt.X("a:N", sort=names, title=None, axis=alt.Axis(labelAngle=-60)),
            y=alt.Y("b:N", sort=names, title=None),
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
    config = {
        "background": None,
        "view": {"stroke": None},
        "axis": {**grey, "labelLimit": 190, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "font": "system-ui, sans-serif",
    }
    spec: dict[str, Any] = chart.to_dict(context={"pre_transform": False})
    spec["config"] = config
    if spec.get("width") == "container":
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
