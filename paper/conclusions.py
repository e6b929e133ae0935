"""What accuracy tables show, in words that are made from their numbers: the same whichever way they come out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def conclude(cells: Sequence[Row], pooled: Sequence[Row]) -> list[str]:
    """Sentences about the rows of `make_cells` and `make_pooled`, as computed or as read from a file."""
    told = []
    for group in dict.fromkeys(row["group"] for row in pooled):
        rows = {row["over"]: row for row in pooled if row["group"] == group and _number(row["n"])}
        if "all" in rows:
            told.append(_overall(group, rows["all"]))
            told += _parts(group, {over: row for over, row in rows.items() if over != "all"})
    for boost in dict.fromkeys(cell["algorithm"].split("-", 1)[1] for cell in cells if _has(cell, "paper_change")):
        told += _wins(boost, [cell for cell in cells if cell["algorithm"].endswith(f"-{boost}")])
    return [*told, *_levels(cells)]


def _overall(group: str, row: Row) -> str:
    area = "" if row["area_low"] in ("", None) else f"; in area by {_interval(row, 'area_')}"
    return (
        f"{group}: over {int(_number(row['n']))} runs it changes test accuracy by {_interval(row)}{area}: "
        f"{_verdict(row)} in accuracy, {_verdict(row, 'area_')} in area."
    )


def _parts(group: str, rows: Mapping[str, Row]) -> list[str]:
    """Which datasets, classifiers and criteria stand out."""
    told = []
    for verdict in ("a gain", "a loss"):
        found = [f"{over} ({_interval(row)})" for over, row in rows.items() if _verdict(row) == verdict]
        if found:
            told.append(f"{group}: {verdict} beyond noise for {', '.join(found)}; {len(rows)} parts were looked at.")
    return told or [f"{group}: none of its {len(rows)} parts has an interval without 0."]


def _wins(boost: str, cells: Sequence[Row]) -> list[str]:
    theirs = [_number(cell["paper_change"]) for cell in cells if _has(cell, "paper_change")]
    ours = [_number(cell["change"]) for cell in cells if _has(cell, "change")]
    beyond = [cell for cell in cells if _has(cell, "low")]
    sides = [sum(_verdict(cell) == side for cell in beyond) for side in ("a gain", "a loss")]
    return [
        f"{boost} against the plain criterion, cell by cell: the paper has {_count(theirs)}; ours, where run, "
        f"{_count(ours)}; the interval is above 0 in {sides[0]} and below 0 in {sides[1]} of these."
    ]


def _count(changes: Sequence[float]) -> str:
    wins, losses = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    equal = len(changes) - wins - losses
    counted = f"a gain in {wins}, a loss in {losses} and no difference in {equal} of {len(changes)} cells"
    return f"{counted}, {_points(sum(changes) / len(changes))} on average" if changes else counted


def _levels(cells: Sequence[Row]) -> list[str]:
    """How far our accuracies are from the paper's, by dataset."""
    told = []
    for dataset in dict.fromkeys(cell["dataset"] for cell in cells if _has(cell, "difference")):
        found = [_number(c["difference"]) for c in cells if c["dataset"] == dataset and _has(c, "difference")]
        told.append(f"{dataset}: {min(found):+.1f} to {max(found):+.1f}")
    return [f"Our accuracy minus the paper's, in points, over algorithms and classifiers: {'; '.join(told)}."] * bool(
        told
    )


def _verdict(row: Row, prefix: str = "") -> str:
    if not _has(row, f"{prefix}low"):
        return "too few runs to tell"
    low, high = _number(row[f"{prefix}low"]), _number(row[f"{prefix}high"])
    return "a gain" if low > 0 else "a loss" if high < 0 else "within noise"


def _interval(row: Row, prefix: str = "") -> str:
    change = _points(_number(row[f"{prefix}change"]))
    if not _has(row, f"{prefix}low"):
        return change
    return f"{change} ({_number(row[f'{prefix}low']):+.2f} to {_number(row[f'{prefix}high']):+.2f})"


def _points(change: float) -> str:
    return f"{round(change, 2) + 0.0:+.2f} points"  # no minus before 0


def _has(row: Row, name: str) -> bool:
    return row[name] not in ("", None)


def _number(value: Any) -> float:
    return float(value)


def beside(cells: Iterable[Row]) -> list[dict[str, Any]]:
    """A row for each cell of the paper that has a plain one beside it: theirs, ours, and what the boost changes."""
    cells = list(cells)
    plain = {(cell["classifier"], cell["algorithm"], cell["dataset"]): cell for cell in cells}
    rows = []
    for cell in cells:
        if not _has(cell, "paper_change"):
            continue
        base = plain[cell["classifier"], cell["baseline"], cell["dataset"]]
        interval = f"{cell['low']} to {cell['high']}" if _has(cell, "low") else ""
        rows.append(
            {"classifier": cell["classifier"], "algorithm": cell["algorithm"], "dataset": cell["dataset"]}
            | {"runs": cell["n_runs"], "plain, theirs": base["paper_accuracy"], "plain, ours": base["accuracy"]}
            | {"boosted, theirs": cell["paper_accuracy"], "boosted, ours": cell["accuracy"]}
            | {"ours - theirs": cell["difference"], "boost, theirs": cell["paper_change"]}
            | {"boost, ours": cell["change"], "95 % interval": interval}
        )
    return rows
