"""Tables of replays: the published ones read, ours written."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from unirel.data.atomic import write_text
from unirel.evaluation import Outcome
from unirel.evaluation.journal import write_compact

# What a compact journal keeps of an outcome: all but the curves.
COMPACT = [part.name for part in fields(Outcome) if part.name not in ("grid", "validation_curve", "test_curve")]
Row = dict[str, Any]
Rows = Sequence[Row]


@dataclass(frozen=True)
class ReplayTables:
    """What a replay found.

    Attributes
    ----------
    name, title : str
        Of the file, and on top of the page.
    page : list of str or of tables
        What the page says, with tables between the paragraphs.
    tables : dict
        Rows of each CSV file, by its name without suffix.
    complete : bool
        False if it was interrupted.
    journals : dict
        Journals of its outcomes, by the name of the file that a compact copy is written to.
    """

    name: str
    title: str
    page: Sequence[str | Rows]
    tables: Mapping[str, Rows]
    complete: bool = True
    journals: Mapping[str, Path] = field(default_factory=dict)

    def to_markdown(self) -> str:
        """The page."""
        parts = [f"# {self.title}"]
        if not self.complete:
            parts.append("**Interrupted: what is missing has no numbers.**")
        parts += [part if isinstance(part, str) else to_markdown(part) for part in self.page]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables that are not empty as CSV and the page as Markdown; each appears whole or not at all."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        texts = {f"{name}.csv": to_csv(rows) for name, rows in self.tables.items()}
        texts[f"{self.name}.md"] = self.to_markdown()
        written = {Path(folder) / name: text for name, text in texts.items() if text}
        for path, text in written.items():
            write_text(path, text)
        for name, journal in self.journals.items():
            write_compact(journal, Path(folder) / name, COMPACT)
        return [*written, *(Path(folder) / name for name in self.journals)]


def read_expected(name: str) -> list[dict[str, str]]:
    """A table of the paper."""
    text = files("unirel.experiments").joinpath("expected", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


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
    """The same as a Markdown table."""
    if not rows:
        return "(nothing)"
    cells = [[_escape(value) for value in row.values()] for row in rows]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(value: Any) -> str:
    return "" if value is None else str(value).replace("|", r"\|")
