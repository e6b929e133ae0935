"""How long a selection will take, said before the file is read: people wait better when they know for how long."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unirel.cli.files import SUFFIXES, find_delimiter
from unirel.options import DEFAULT_N_FEATURES

# Shorter work is done before anybody has read how long it takes; what is forecast as 7 s may take 10.
WORTH_SAYING = 7.0
# Seconds on a machine of 2024 with two cores: for a start with a page, for each byte of text, for each value that is
# coded and counted, and for each pair of rows at each step with the boost; with neighbours, for each value and step.
_START, _BYTE, _VALUE, _PAIR, _NEIGHBOR = 3.0, 1.2e-8, 1e-7, 3e-8, 1.5e-6
# Weights that the page of a large table compares.
_WEIGHTS = 5
_HEAD = 2**16


class Shape(NamedTuple):
    """What a file seems to hold."""

    n_rows: int
    n_columns: int
    n_bytes: int  # of text; 0 for what is read at once


def guess_shape(source: str) -> Shape | None:
    """Rows and columns of a file, from its size and its beginning; None where these do not say it."""
    path = Path(source)
    if not path.is_file():
        return None
    if SUFFIXES.get(path.suffix.lower()) == "parquet":
        return _shape_of_parquet(path)
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    lines = head.count(b"\n")
    if lines < 2 or b"\x00" in head or head.startswith((b"\x1f\x8b", b"BZh")):
        return None
    text, size = head.decode("utf-8", "replace"), path.stat().st_size
    n_columns = text.split("\n", 1)[0].count(find_delimiter(text)) + 1
    return Shape(round(lines * size / len(head)), n_columns, size)


def _shape_of_parquet(path: Path) -> Shape | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.ParquetFile(path).metadata
    except (pa.ArrowException, OSError):
        return None  # whoever reads it will say what is wrong
    return Shape(about.num_rows, about.num_columns, 0)


def forecast(shape: Shape, options: Mapping[str, Any], *, page: bool) -> dict[str, float]:
    """Seconds that a selection takes, by what would save them; what cannot be saved has no name."""
    wanted = _number(options["n_features_to_select"], DEFAULT_N_FEATURES, shape.n_columns)
    steps = min(wanted, shape.n_columns - 1)  # one column is the target
    n_values, seconds = shape.n_rows * shape.n_columns, {"": _START}
    seconds["a Parquet file"] = _BYTE * shape.n_bytes
    seconds[""] += _VALUE * n_values
    if options["estimator"] == "knn":
        seconds["--estimator binned"] = _NEIGHBOR * n_values * steps
    if _number(options["beta"], 0.5, 1.0) > 0 and options["unique_relevance"] != "none":
        rows = min(shape.n_rows, _number(options["unique_samples"], 2000, shape.n_rows))
        seconds["--unique-samples 1000 or --beta 0"] = _PAIR * rows**2 * steps * (_WEIGHTS if page else 1)
    return seconds


def wait_in_words(shape: Shape, seconds: Mapping[str, float]) -> str:
    """The forecast in a line: how long, and what makes it shorter, what saves most first; empty if it is short."""
    total = sum(seconds.values())
    if total < WORTH_SAYING:
        return ""
    savings = sorted((way for way in seconds if way and seconds[way] > total / 10), key=lambda way: -seconds[way])
    unit, length = ("s", total) if total < 100 else ("min", total / 60)
    faster = f"; faster with {', '.join(savings)}" if savings else ""
    return f"about {shape.n_rows:,} rows, {shape.n_columns:,} columns: this may take {length:.0f} {unit}{faster}"


def _number(given: Any, default: float, everything: float) -> float:
    """What a flag says as a number, before the table is known."""
    if given is None or given in ("all", "none"):
        return everything
    try:
        number = float(given)
    except ValueError:  # "auto", or what will be refused
        return default
    return number
