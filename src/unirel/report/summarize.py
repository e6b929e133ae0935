"""Everything a report says, as plain data."""

import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unirel.report.analysis import Analysis
from unirel.report.words import describe, describe_accuracy
from unirel.results import Selection, SelectionPath
from unirel.table import Column, Table

if TYPE_CHECKING:
    from unirel.report.accuracy import Accuracy

# Rows of the table and points of the chart of all features; the selected ones are always among them.
_MOST_ROWS, _MOST_POINTS = 1000, 500
_MOST_IGNORED = 100
_LIBRARIES = ("unirel", "numpy", "scipy", "numba", "scikit-learn")
# Settings that are shown only if they say something.
_DEFAULTS: dict[str, Any] = {
    "classifier": None,
    "correction": None,
    "include": [],
    "exclude": [],
    "max_seconds": None,
    "cv": 5,
}


@dataclass(frozen=True)
class Origin:
    """Where a table comes from and what happened to it before the library saw it.

    Attributes
    ----------
    source : str
        Name of a file or dataset.
    target : str
        Name of the target.
    dropped : tuple of str
        Columns left out on request.
    ignored : tuple of (name, reason)
        Columns left out by the reader.
    n_without_target : int
        Rows left out because they have no target.
    notes : tuple of str
        What else the reader should know.
    reading : tuple of str
        Lines of Python that give ``X`` and ``y``.
    kinds : mapping
        Kinds of columns that were given.
    target_kind : str
        Kind of the target that was given.
    """

    source: str = "data"
    target: str = "y"
    dropped: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    n_without_target: int = 0
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    target_kind: str = "auto"


def summarize(
    table: Table, path: SelectionPath, analysis: Analysis, origin: Origin, accuracy: "Accuracy | None" = None
) -> dict[str, Any]:
    """Plain lists, numbers and strings; the first selection of the path is the one that was asked for."""
    selection = path.selections[0]
    rows = _features(table, selection, analysis)
    return {
        "source": origin.source,
        "target": origin.target,
        "complete": selection.complete,
        "reason": selection.reason,
        "words": describe(selection, table, analysis, origin.target),
        "asked": _asked(selection, origin),
        "data": _data(table, origin),
        "features": rows[:_MOST_ROWS],
        "n_features": len(rows),
        "n_selected": len(selection),
        "charts": {
            "order": _orders(path, table, analysis),
            "curve": _curve(analysis, selection),
            "points": _points(rows),
            "heat": _heat(analysis),
        },
        "beta": selection.beta,
        "entropy": analysis.entropy,
        "accuracy": None if accuracy is None else {**accuracy.to_dict(), "words": describe_accuracy(accuracy)},
        "notes": list(origin.notes),
        "settings": _settings(selection),
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "snippet": snippet(selection, origin),
    }


def _asked(selection: Selection, origin: Origin) -> list[tuple[str, str]]:
    wanted = selection.settings.get("n_features_to_select", len(selection))
    boost = "none"
    if selection.beta > 0:
        boost = f"{selection.settings.get('unique_relevance')}, weight {selection.beta:g}"
    return [
        ("data", origin.source),
        ("column to explain", origin.target),
        ("features wanted", f"{wanted:g}" if isinstance(wanted, int | float) else str(wanted)),
        ("criterion", selection.criterion),
        ("unique relevance", boost),
    ]


def _data(table: Table, origin: Origin) -> dict[str, Any]:
    features = table.columns[: table.n_features]
    used = [column for column in features if column.kind != "ignored"]
    incomplete = sorted((column for column in used if column.n_missing), key=lambda column: -column.n_missing)
    ignored = [*origin.ignored, *((column.name, column.reason) for column in features if column.kind == "ignored")]
    about = table.columns[table.target]
    classes = None
    if table.classes is not None:
        counts = np.bincount(table.codes(table.target))
        classes = [
            {"label": str(label), "rows": int(n)} for label, n in zip(table.classes.tolist(), counts, strict=True)
        ]
    return {
        "rows": table.n_samples,
        "rows_without_target": origin.n_without_target,
        "kinds": dict(sorted(Counter(column.kind for column in used).items())),
        "columns_with_missing": len(incomplete),
        "missing": [{"name": column.name, "rows": column.n_missing} for column in incomplete[:10]],
        "ignored": [{"name": name, "reason": reason} for name, reason in ignored[:_MOST_IGNORED]],
        "n_ignored": len(ignored),
        "dropped": list(origin.dropped),
        "target_kind": about.kind,
        "target_reason": about.reason,
        "classes": classes,
    }


def _features(table: Table, selection: Selection, analysis: Analysis) -> list[dict[str, Any]]:
    """One row per feature: the selected ones in order, then the others, most relevant first."""
    steps = {int(feature): step for step, feature in enumerate(selection.order, start=1)}
    chosen = [int(feature) for feature in selection.order]
    rest = [int(feature) for feature in table.features if int(feature) not in steps]
    rest.sort(key=lambda feature: (-np.nan_to_num(selection.relevance[feature], nan=-1.0), feature))
    return [_feature(table.columns[f], f, steps.get(f), selection, analysis) for f in [*chosen, *rest]]


def _feature(
    column: Column, feature: int, step: int | None, selection: Selection, analysis: Analysis
) -> dict[str, Any]:
    partners = [] if step is None else analysis.partners(step - 1)
    return {
        "step": step,
        "name": column.name,
        "kind": column.kind,
        "missing": column.n_missing,
        "score": None if step is None else _number(selection.scores[step - 1]),
        "relevance": _number(selection.relevance[feature]),
        "unique": None if selection.unique_relevance is None else _number(selection.unique_relevance[feature]),
        "partner": partners[0][0] if partners else None,
        "shared": partners[0][1] if partners else None,
        "partners": _listed(partners),
    }


def _listed(partners: list[tuple[str, float]]) -> str:
    return "; ".join(f"{name} ({shared:.2f})" for name, shared in partners)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _orders(path: SelectionPath, table: Table, analysis: Analysis) -> list[dict[str, Any]]:
    """One row per weight and selected feature; each weight stands for all that are nearer to it than to another."""
    asked = path.selections[0]
    places = {int(feature): place for place, feature in enumerate(asked.order)}
    selections = sorted(path, key=lambda selection: selection.beta)
    middles = [(a.beta + b.beta) / 2 for a, b in pairwise(selections)]
    rows = []
    for selection, low, high in zip(selections, [-1.0, *middles], [*middles, 2.0], strict=True):
        for feature in selection.to_dict()["features"]:
            place = places.get(feature["feature"])
            row = {key: feature[key] for key in ("step", "name", "score", "relevance")}
            partners = _listed([] if place is None else analysis.partners(place))
            rows.append(
                {
                    **row,
                    "unique": feature["unique_relevance"],
                    "beta": selection.beta,
                    "low": low,
                    "high": high,
                    "asked": "yes" if place is not None else "no",
                    "partners": partners or "not compared",
                }
            )
    return rows


def _curve(analysis: Analysis, selection: Selection) -> list[dict[str, Any]]:
    names = selection.selected_names
    values: NDArray[np.float64] = analysis.joint_information
    if len(values) < 2:
        return []
    return [{"n": n, "name": names[n - 1], "joint": value} for n, value in enumerate(values.tolist(), start=1)]


def _points(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = [row for row in rows if row["unique"] is not None][:_MOST_POINTS]
    return [{key: row[key] for key in ("step", "name", "relevance", "unique", "partners")} for row in known]


def _heat(analysis: Analysis) -> dict[str, Any]:
    """Pairs of the selected features, those that share much side by side."""
    from unirel.plotting.heatmap import cluster

    size = min(len(analysis.shared), 40)
    shared = analysis.shared[:size, :size]
    order = cluster(shared)
    names = [analysis.names[place] for place in order]
    cells = [
        {"a": analysis.names[i], "b": analysis.names[j], "shared": round(float(shared[i, j]), 4)}
        for i in order
        for j in order
        if i != j
    ]
    return {"names": names, "cells": cells}


def _settings(selection: Selection) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in selection.settings.items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }


def snippet(selection: Selection, origin: Origin) -> str:
    """A program that selects the same features."""
    settings = selection.settings
    boosted = ["unique_relevance", "classifier"] if selection.beta > 0 else []
    wanted = ["n_features_to_select", *boosted, "estimator", "n_neighbors", "metric", "include", "exclude"]
    arguments = [f"criteria={selection.criterion!r}", f"betas={selection.beta!r}"]
    arguments += [
        f"{name}={settings[name]!r}"
        for name in wanted
        if name in settings and not (name in _DEFAULTS and settings[name] == _DEFAULTS[name])
    ]
    if origin.kinds:
        arguments.append(f"kinds={dict(origin.kinds)!r}")
    if origin.target_kind != "auto":
        arguments.append(f"target_kind={origin.target_kind!r}")
    lines = ["import unirel", *origin.reading, "", "path = unirel.selection_path(", "    X,", "    y,"]
    lines += [f"    {argument}," for argument in arguments]
    lines += [")", f"selection = path.selection({selection.criterion!r}, {selection.beta!r})"]
    return "\n".join([*lines, "print(selection.selected_names)"]) + "\n"
