"""Tables of replays: the published ones read, ours written."""

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from unirel.atomic import write_text

Row = dict[str, Any]


def read_expected(name: str) -> list[dict[str, str]]:
    """A table of the paper."""
    text = files("unirel.experiments").joinpath("expected", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def to_csv(rows: Sequence[Row]) -> str:
    """Rows that all have the columns of the first; None is an empty cell, no rows are an empty text."""
    if not rows:
        return ""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """The same as a Markdown table."""
    if not rows:
        return "(nothing)"
    cells = [[_escape(value) for value in row.values()] for row in rows]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(value: Any) -> str:
    return "" if value is None else str(value).replace("|", r"\|")


def write_texts(folder: str | Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files by name, empty ones left out; each appears whole or not at all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = {Path(folder) / name: text for name, text in texts.items() if text}
    for path, text in written.items():
        write_text(path, text)
    return list(written)
