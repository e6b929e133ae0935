"""Results as a notebook shows them: small tables with bars, that need neither style sheets nor scripts."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

# Rows that are shown; who wants all of them has to_frame().
_MOST_ROWS = 30
_BAR_WIDTH = 110  # pixels
_BLUE, _ORANGE = "#3b82c4", "#d97b1f"


class Bar(NamedTuple):
    """A number with a bar of a length from 0 to 1 before it."""

    value: float | None
    length: float
    strong: bool = True


Cell = str | int | Bar


def bars(values: Sequence[float | None], *, strong: bool = True) -> list[Bar]:
    """Numbers, the largest of which has the longest bar; one below 0 has none."""
    largest = max((value for value in values if value is not None), default=0.0)
    return [Bar(value, max(0.0, value or 0.0) / largest if largest > 0 else 0.0, strong) for value in values]


def to_html(caption: str, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table under a caption; every text is escaped."""
    shown = rows[:_MOST_ROWS]
    more = f"<tr>{_cell(f'and {len(rows) - len(shown):,} more', len(headers))}</tr>" if len(rows) > len(shown) else ""
    head = "".join(f'<th scope="col" style="text-align: left; padding: 2px 10px">{escape(one)}</th>' for one in headers)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    return (
        '<table style="border-collapse: collapse; font-variant-numeric: tabular-nums">'
        f'<caption style="text-align: left; caption-side: top; padding: 2px 10px">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"
    )


def paragraph(text: str) -> str:
    """Running text."""
    return f"<p>{escape(text)}</p>"


def join(parts: Iterable[str]) -> str:
    """Several pieces one below the other."""
    return f"<div>{''.join(parts)}</div>"


def _cell(cell: Cell, span: int = 1) -> str:
    style = "text-align: left; padding: 2px 10px; white-space: nowrap"
    if not isinstance(cell, Bar):
        return f'<td style="{style}"{f" colspan={span}" if span > 1 else ""}>{escape(str(cell))}</td>'
    if cell.value is None:
        return f'<td style="{style}"></td>'
    width = round(_BAR_WIDTH * min(1.0, cell.length))
    bar = f"display: inline-block; height: 10px; width: {width}px; background: {_BLUE if cell.strong else _ORANGE}"
    room = f"display: inline-block; width: {_BAR_WIDTH}px; margin-right: 8px"
    return f'<td style="{style}"><span style="{room}"><span style="{bar}"></span></span>{cell.value:.3f}</td>'
