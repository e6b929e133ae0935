"""Results as tables of a notebook."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

# Rows of a table in a notebook; a frame has all.
_MOST_ROWS = 30
_LEFT = 'style="text-align: left; white-space: nowrap"'


def make_html(caption: str, columns: Mapping[str, Sequence[Any]], bars: Collection[str] = ()) -> str:
    """A table under a caption, with bars before the numbers of some columns; it needs no style sheet and no script."""
    cells = []
    for name, values in columns.items():
        largest = max((value or 0.0 for value in values), default=0.0) if name in bars else 0.0
        cells.append([_cell(value, largest) for value in values[:_MOST_ROWS]])
    rows = ["".join(row) for row in zip(*cells, strict=True)]
    n_more = max(map(len, columns.values()), default=0) - len(rows)
    if n_more > 0:
        rows.append(f"<td {_LEFT} colspan={len(columns)}>and {n_more:,} more</td>")
    head = "".join(f"<th {_LEFT}>{escape(name.replace('_', ' '))}</th>" for name in columns)
    return (
        f"<table><caption {_LEFT}>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
    )


def _cell(value: Any, largest: float) -> str:
    """A cell, with a bar before its number if there is a largest one."""
    text = "" if value is None else f"{value:.3f}" if isinstance(value, float) else escape(str(value))
    if value is None or largest <= 0:
        return f"<td {_LEFT}>{text}</td>"
    bar = f"display: inline-block; height: 10px; width: {round(110 * max(0.0, value) / largest)}px; background: #3b82c4"
    room = "display: inline-block; width: 110px; margin-right: 8px"
    return f'<td {_LEFT}><span style="{room}"><span style="{bar}"></span></span>{text}</td>'
