"""Everything a report says, as plain data."""

import platform
from collections import Counter
from importlib.metadata import version
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from unirel.data.table import Table
from unirel.inference.findings import Accuracy, Analysis, Surroundings, ordered_by_likeness
from unirel.options import SelectorOptions, is_default, options_of
from unirel.report.certainty import Certainty
from unirel.report.origin import Origin
from unirel.report.reasons import (
    find_enough,
    group_in_words,
    headline,
    known_curve,
    warnings_of,
    why_left_out,
    why_taken,
)
from unirel.report.words import accuracy_in_words, boost_in_words
from unirel.results import Selection, SelectionPath

# Rows of the table and points of the chart of all features; the selected ones are always among them.
_MOST_ROWS, _MOST_POINTS = 1000, 500
_MOST_IGNORED, _MOST_COMPARED = 100, 40
# Names that are listed where others like them were left out.
_MOST_NAMED = 12
# Columns of the table of all features: key, title, whether it holds numbers. A column is one line here and one value in
# every row.
COLUMNS = (
    ("step", "step", True),
    ("name", "name", False),
    ("relevance", "relevance", True),
    ("unique", "unique relevance", True),
    ("significant", "significant", False),
    ("selected_in", "selected in", True),
    ("why", "why", False),
    ("partner", "most redundant with", False),
    ("shared", "shared", True),
    ("kind", "kind", False),
    ("missing", "missing", True),
)
# Columns that are shown only if somebody has looked.
MAYBE = ("significant", "selected_in")
_LIBRARIES = ("unirel", "numpy", "scipy", "numba", "scikit-learn")


def summarize(
    table: Table,
    path: SelectionPath,
    analysis: Analysis,
    surroundings: Surroundings,
    origin: Origin,
    accuracy: Accuracy | None,
    certainty: Certainty,
) -> dict[str, Any]:
    """Plain lists, numbers and strings; the first selection of the path is the one that was asked for."""
    selection = path.selections[0]
    rows = summarize_features(table, selection, analysis, surroundings, certainty)
    data = summarize_data(table, origin)
    enough = find_enough(selection, analysis, accuracy)
    return {
        "headline": headline(selection, table, analysis, accuracy, origin.target, enough),
        "enough": None if enough is None else enough.n,
        "warnings": warnings_of(selection, table, surroundings, origin.target),
        "groups": _groups(selection, analysis, surroundings),
        "left_out": _left_out(rows),
        "certainty": certainty.words(selection),
        "columns": [list(column) for column in COLUMNS if _is_shown(column[0], rows)],
        "source": origin.source,
        "target": origin.target,
        "complete": selection.complete,
        "reason": selection.reason,
        "asked": _asked(selection, origin),
        "data": {**data, "ignored": data["ignored"][:_MOST_IGNORED]},
        "features": rows[:_MOST_ROWS],
        "n_features": len(rows),
        "n_selected": len(selection),
        "charts": {
            "order": _orders(path, analysis),
            "curve": _curve(analysis),
            "points": _points(rows),
            "heat": _heat(analysis),
        },
        "beta": selection.beta,
        "entropy": analysis.entropy,
        "accuracy": None if accuracy is None else {**accuracy.to_dict(), "words": accuracy_in_words(accuracy)},
        "notes": list(origin.notes),
        "settings": {name: str(value) for name, value in selection.settings.items() if value not in (None, [], {})},
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "snippet": _snippet(selection, origin),
    }


def _is_shown(key: str, rows: list[dict[str, Any]]) -> bool:
    return key not in MAYBE or any(row[key] is not None for row in rows)


def _asked(selection: Selection, origin: Origin) -> list[tuple[str, str]]:
    wanted = selection.settings.get("n_features_to_select", len(selection))
    boost = "none"
    if selection.beta > 0:
        boost = f"{boost_in_words(selection)}, weight {selection.beta:g}"
    return [
        ("data", origin.source),
        ("column to explain", origin.target),
        ("features wanted", f"{wanted:g}" if isinstance(wanted, int | float) else str(wanted)),
        ("criterion", selection.criterion),
        ("unique relevance", boost),
    ]


def summarize_data(table: Table, origin: Origin) -> dict[str, Any]:
    """What is to be known about the rows and columns."""
    features = table.columns[: table.n_features]
    used = [column for column in features if column.kind != "ignored"]
    incomplete = sorted((column for column in used if column.n_missing), key=lambda column: -column.n_missing)
    ignored = [*origin.ignored, *((column.name, column.reason) for column in features if column.kind == "ignored")]
    about = table.columns[table.target]
    classes = None
    if table.classes is not None:
        counts = table.class_sizes.tolist()
        classes = [{"label": str(label), "rows": n} for label, n in zip(table.classes.tolist(), counts, strict=True)]
    return {
        "rows": table.n_samples,
        "rows_without_target": origin.n_without_target,
        "kinds": dict(sorted(Counter(column.kind for column in used).items())),
        "columns_with_missing": len(incomplete),
        "missing": [{"name": column.name, "rows": column.n_missing} for column in incomplete[:10]],
        "ignored": [{"name": name, "reason": reason} for name, reason in ignored],
        "n_ignored": len(ignored),
        "dropped": list(origin.dropped),
        "target_kind": about.kind,
        "target_reason": about.reason,
        "classes": classes,
    }


def summarize_features(
    table: Table,
    selection: Selection,
    analysis: Analysis,
    surroundings: Surroundings,
    certainty: Certainty,
    *,
    others: bool = True,
) -> list[dict[str, Any]]:
    """One row per feature: the selected ones in order, then the others if wanted, most relevant first."""
    chosen: list[int] = selection.order.tolist()
    relevance = np.nan_to_num(selection.relevance, nan=-1.0)
    rest = sorted(
        set(table.features.tolist() if others else ()).difference(chosen),
        key=lambda feature: (-relevance[feature], feature),
    )
    taken = why_taken(selection, analysis)
    rows = []
    for position, feature in enumerate([*chosen, *rest]):
        is_chosen = position < len(chosen)
        partners = analysis.partners(position) if is_chosen else []
        column, unique = table.columns[feature], selection.unique_relevance
        why = taken[position] if is_chosen else why_left_out(feature, selection, surroundings, analysis)
        rows.append(
            {
                "step": position + 1 if is_chosen else None,
                "name": column.name,
                "kind": column.kind,
                "missing": column.n_missing,
                "score": _number(selection.scores[position]) if is_chosen else None,
                "relevance": _number(selection.relevance[feature]),
                "unique": None if unique is None else _number(unique[feature]),
                "significant": certainty.significant(feature),
                "selected_in": certainty.selected_in(feature),
                "partner": partners[0][0] if partners else None,
                "shared": partners[0][1] if partners else None,
                "partners": _listed(partners),
                "why": why.words,
                "heading": why.heading,
                "unsure": certainty.sentences(feature, selection) if is_chosen else [],
            }
        )
    return rows


def _groups(selection: Selection, analysis: Analysis, surroundings: Surroundings) -> list[dict[str, Any]]:
    """Features that repeat each other, the best of each group marked."""
    return [
        {
            "members": [
                {"step": place + 1, "name": selection.selected_names[place], "best": place == group.best}
                for place in group.members
            ],
            "others": [name for name, _ in group.others],
            "words": group_in_words(group, selection),
        }
        for group in surroundings.groups
    ]


def _left_out(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Features that were not selected, by reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["step"] is None:
            found.setdefault(row["heading"], []).append(row["name"])
    return [
        {"heading": heading, "names": names[:_MOST_NAMED], "n": len(names)}
        for heading, names in sorted(found.items(), key=lambda item: -len(item[1]))
    ]


def _listed(partners: list[tuple[str, float]]) -> str:
    return "; ".join(f"{name} ({shared:.2f})" for name, shared in partners)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _orders(path: SelectionPath, analysis: Analysis) -> list[dict[str, Any]]:
    """One row per weight and selected feature; each weight stands for all that are nearer to it than to another."""
    asked = {feature: position for position, feature in enumerate(path.selections[0].order.tolist())}
    selections = sorted(path, key=lambda selection: selection.beta)
    middles = [(a.beta + b.beta) / 2 for a, b in pairwise(selections)]
    rows = []
    for selection, low, high in zip(selections, [-1.0, *middles], [*middles, 2.0], strict=True):
        for feature in selection.to_dict()["features"]:
            position = asked.get(feature["feature"])
            partners = _listed([] if position is None else analysis.partners(position))
            rows.append(
                {
                    **{key: feature[key] for key in ("step", "name", "score", "relevance")},
                    "unique": feature["unique_relevance"],
                    "beta": selection.beta,
                    "low": low,
                    "high": high,
                    "asked": "no" if position is None else "yes",
                    "partners": partners or "not compared",
                }
            )
    return rows


def _curve(analysis: Analysis) -> list[dict[str, Any]]:
    """What the first features tell together, as far as all smaller numbers of features are known too."""
    values = known_curve(analysis).tolist()
    if len(values) < 2:
        return []
    named = zip(analysis.names, values, strict=False)
    return [{"n": n, "name": name, "joint": value} for n, (name, value) in enumerate(named, start=1)]


def _points(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = [row for row in rows if row["unique"] is not None][:_MOST_POINTS]
    return [{key: row[key] for key in ("step", "name", "relevance", "unique", "partners")} for row in known]


def _heat(analysis: Analysis) -> dict[str, Any]:
    """Pairs of the first selected features, those that share much side by side."""
    shared = analysis.shared[:_MOST_COMPARED, :_MOST_COMPARED]
    order = ordered_by_likeness(shared)
    cells = [
        {"a": analysis.names[i], "b": analysis.names[j], "shared": round(float(shared[i, j]), 4)}
        for i, j in permutations(order, 2)
    ]
    return {"names": [analysis.names[position] for position in order], "cells": cells}


def _snippet(selection: Selection, origin: Origin) -> str:
    """A program that selects the same features."""
    arguments = [f"criteria={selection.criterion!r},", f"betas={selection.beta!r},"]
    arguments += [
        _argument(name, value)
        for name, value in selection.settings.items()
        if name == "n_features_to_select" or not is_default(name, value)
    ]
    lines = ["import unirel", *origin.reading, "", "path = unirel.selection_path(", "    X,", "    y,"]
    lines += [f"    {argument}" for argument in arguments]
    lines += [")", f"selection = path.selection({selection.criterion!r}, {selection.beta!r})"]
    return "\n".join([*lines, "print(selection.selected_names)"]) + "\n"


def _argument(name: str, value: Any) -> str:
    """An option as it is given; what has no name of its own is left to the reader."""
    choices = options_of(SelectorOptions)[name].choices
    return f"{name}=...,  # {value}" if choices and value not in choices else f"{name}={value!r},"
