"""Tables: the published ones read, ours written as CSV and Markdown."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirel._runtime import write_text

EXPECTED = Path(__file__).with_name("expected")
Row = dict[str, Any]
Rows = Sequence[Row]


@dataclass(frozen=True)
class ReplayTables:
    """What a replay found: a page with tables between its paragraphs, and rows of CSV files by name."""

    name: str
    title: str
    page: Sequence[str | Rows]
    tables: Mapping[str, Rows]

    def to_markdown(self) -> str:
        parts = [part if isinstance(part, str) else to_markdown(part) for part in self.page]
        return "\n\n".join([f"# {self.title}", *parts]) + "\n"

    def write(self, folder: str | Path) -> None:
        """Write the page and the tables that are not empty; each file appears whole or not at all."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        texts = {f"{name}.csv": to_csv(rows) for name, rows in self.tables.items()}
        texts[f"{self.name}.md"] = self.to_markdown()
        for name, text in texts.items():
            if text:
                write_text(Path(folder) / name, text)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read_expected(name: str) -> list[dict[str, str]]:
    """A table of the paper."""
    return read_rows(EXPECTED / f"{name}.csv")


def to_csv(rows: Rows) -> str:
    """Rows that all have the columns of the first; None is an empty cell, no rows are an empty text."""
    if not rows:
        return ""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def to_markdown(rows: Rows) -> str:
    if not rows:
        return "(nothing)"
    cells = [["" if value is None else str(value).replace("|", r"\|") for value in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(rows[0]), ["---"] * len(rows[0]), *cells])
