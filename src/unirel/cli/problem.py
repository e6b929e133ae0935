"""What a command works on: features and a target, from a file or a known dataset."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirel.cli.columns import clean
from unirel.cli.exits import BadInput, Failed
from unirel.cli.files import FileTable, TextFormat, check_names, read_table
from unirel.cli.messages import Messages

if TYPE_CHECKING:
    from unirel.table import Table


@dataclass
class Problem:
    """Features, a target, and what is to be known about where they come from."""

    X: Any
    y: Any
    source: str  # name without folders
    target: str
    dropped: list[str] = field(default_factory=list)  # asked for with --drop
    ignored: dict[str, str] = field(default_factory=dict)  # left out before the library saw them, and why
    n_without_target: int = 0
    snippet: list[str] = field(default_factory=list)  # how to get X and y in Python

    @property
    def n_features(self) -> int:
        """Number of columns beside the target."""
        return int(self.X.shape[1])


@dataclass(frozen=True)
class Request:
    """What the shared options say about the data."""

    data: str
    target: str | None = None
    drop: Sequence[str] = ()
    kinds: Sequence[str] = ()
    drop_missing_target: bool = False
    text: TextFormat = field(default_factory=TextFormat)


def open_problem(request: Request, messages: Messages) -> Problem:
    """Read the data that a command was given."""
    if request.data != "-" and not Path(request.data).exists() and _may_be_dataset(request.data):
        return _open_dataset(request)
    file = read_table(request.data, request.text)
    for note in file.notes:
        messages.note(note)
    return _from_file(file, request, messages)


def _may_be_dataset(name: str) -> bool:
    return not any(mark in name for mark in "/\\") and "." not in name


def _from_file(file: FileTable, request: Request, messages: Messages) -> Problem:
    table, source = file.table, "standard input" if request.data == "-" else Path(request.data).name
    names = table.column_names
    check_names(names)
    if request.target is None:
        raise BadInput(f"name the column to explain with --target; the columns are {_some(names)}")
    find(request.target, names, "--target")
    drop = [find(name, names, "--drop") for name in split_names(request.drop, names)]
    if request.target in drop:
        raise BadInput(f"--drop names the target {request.target!r}")
    given = parse_kinds(request.kinds, [name for name in names if name != request.target])
    table, n_without_target = _with_target(table.drop_columns(drop), request)
    if table.num_rows == 0:
        raise BadInput(f"'{source}' has names of columns but no rows")
    cleaned = clean(table, given.keys(), request.target)
    for note in cleaned.notes:
        messages.note(note)
    features = cleaned.table.drop_columns([request.target])
    if features.num_columns == 0:
        raise BadInput(f"there is no column beside the target {request.target!r} left")
    problem = Problem(features, cleaned.table.column(request.target), source, request.target, drop, cleaned.ignored)
    problem.n_without_target = n_without_target
    problem.snippet = _snippet(file, request, cleaned.marks, [*drop, *cleaned.ignored])
    if n_without_target:
        messages.note(f"left out {n_without_target} rows without a target")
    return problem


def _with_target(table: Any, request: Request) -> tuple[Any, int]:
    """The table without rows that have no target, if that is wanted."""
    import pyarrow.compute as pc

    if not request.drop_missing_target:
        return table, 0
    missing = pc.is_null(table.column(request.target), nan_is_null=True)
    kept = table.filter(pc.invert(missing))
    if kept.num_rows == 0:
        raise BadInput(f"the target {request.target!r} has no value at all")
    return kept, table.num_rows - kept.num_rows


def read_problem(problem: Problem, kinds: Sequence[str] | None, target_kind: str, messages: Messages) -> "Table":
    """The table of a problem; what the library ignores becomes a note."""
    from unirel.table import Table

    given = parse_kinds(kinds, problem.X.column_names)
    with messages.catching_warnings():
        return Table.from_data(problem.X, problem.y, kinds=given or None, target_kind=target_kind)  # type: ignore[arg-type]


def find(name: str, names: Sequence[str], option: str) -> str:
    """A name that is there; the error names what it may have been meant to be."""
    import difflib

    if name in names:
        return name
    close = difflib.get_close_matches(name, names) or [other for other in names if other.lower() == name.lower()]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"the columns are {_some(names)}"
    raise BadInput(f"{option}: there is no column {name!r}; {hint}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def split_names(values: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Names given one by one or with commas between them; a name may have commas itself."""
    result: list[str] = []
    for value in values or ():
        result += [value] if value in names else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(result))


def parse_kinds(values: Sequence[str] | None, names: Sequence[str]) -> dict[str, Any]:
    """Kinds of columns as ``col=kind,...``; a name may have = and commas itself."""
    kinds: dict[str, Any] = {}
    for value in values or ():
        rest = value
        while rest:
            head, separator, rest = _cut_kind(rest)
            if not separator:
                raise BadInput(f"--kinds {value!r} must look like column=discrete, or several with commas between them")
            name, _, kind = head.rpartition("=")
            if kind not in ("continuous", "discrete", "ignored"):
                raise BadInput(f"--kinds: {kind!r} is no kind; it can be continuous, discrete or ignored")
            kinds[find(name.strip(), names, "--kinds")] = kind
    return kinds


def _cut_kind(text: str) -> tuple[str, bool, str]:
    """The first ``name=kind``, whether there is one, and the rest."""
    import re

    match = re.match(r"(.+?=\s*\w+)\s*(?:,|$)", text)
    return (match[1], True, text[match.end() :].strip()) if match else (text, False, "")


def _open_dataset(request: Request) -> Problem:
    """A dataset that the library knows by name."""
    try:
        from unirel import datasets
    except ImportError:
        raise BadInput(f"there is no file '{request.data}'") from None
    try:
        data = datasets.load(request.data)
    except ValueError as error:
        raise BadInput(f"there is no file '{request.data}', and {error}") from None
    except OSError as error:
        raise Failed(f"there is no file '{request.data}', and the dataset cannot be loaded: {error}") from None
    target = "target"
    if request.target not in (None, target):
        raise BadInput(f"--target: dataset '{request.data}' has one target, {target!r}, not {request.target!r}")
    features = as_table(data)
    drop = [find(name, features.column_names, "--drop") for name in split_names(request.drop, features.column_names)]
    lines = [
        "import pandas as pd",
        "from unirel.datasets import load",
        f"data = load({request.data!r})",
        f"X = pd.DataFrame(data.data, columns=data.feature_names){f'.drop(columns={drop!r})' if drop else ''}",
        "y = data.target",
    ]
    return Problem(features.drop_columns(drop), data.target, request.data, target, drop, snippet=lines)


def as_table(data: Any) -> Any:
    """Features of a dataset as a pyarrow table, with their names."""
    import numpy as np
    import pyarrow as pa

    return pa.table({str(name): np.asarray(data.data)[:, j] for j, name in enumerate(data.feature_names)})


def _snippet(file: FileTable, request: Request, marks: dict[str, str], left_out: list[str]) -> list[str]:
    """Lines of Python that read the same file."""
    name = "data.csv" if request.data == "-" else Path(request.data).name
    if file.format != "text":
        reader = "read_parquet" if file.format == "parquet" else "read_feather"
        lines = [f"data = pd.{reader}({name!r})"]
    else:
        options = [repr(name)]
        if file.delimiter != ",":
            options.append(f"sep={file.delimiter!r}")
        if file.encoding != "utf-8":
            options.append(f"encoding={file.encoding!r}")
        if request.text.decimal == "," or "," in marks.values():
            options += ["decimal=','", "thousands='.'"]
        elif marks:
            options.append("thousands=','")
        lines = [f"data = pd.read_csv({', '.join(options)})"]
    if request.drop_missing_target:
        lines.append(f"data = data.dropna(subset=[{request.target!r}])")
    lines.append(f"X, y = data.drop(columns={[request.target, *left_out]!r}), data[{request.target!r}]")
    return ["import pandas as pd", *lines]
