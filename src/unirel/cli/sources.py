"""What a command is given to read: a dataset by name, one file, files or an address that are read in parts."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from unirel.cli import BadInput, Output
from unirel.cli.columns import leave_out_row_numbers, with_numbers
from unirel.cli.files import (
    ADDRESS,
    FileTable,
    check_size,
    kind_of_file,
    largest,
    read_table,
    shown_name,
    size_in_memory,
)
from unirel.cli.options import Data, find_names, listed, split_names

if TYPE_CHECKING:
    from unirel.data.table import Table
    from unirel.report import Origin

# Names that people give to what they want to explain.
_TARGETS = {"target", "class", "label", "outcome", "y", "response", "result", "diagnosis", "species", "survived"}


@dataclass(frozen=True)
class Input:
    """Features and a target, where they come from, and the kinds of columns that were given."""

    X: Any  # pyarrow.Table, or parts of the rows
    y: Any
    origin: "Origin"
    names: Sequence[str]
    kinds: dict[str, Any]  # the parameters `discrete_features` and `target_type` of the library
    groups: Any = None  # labels of rows that belong together

    @property
    def about(self) -> dict[str, str]:
        return {"source": self.origin.source, "target": self.origin.target}

    def read(self) -> "Table":
        from unirel.data.table import open_table

        return open_table(self.X, self.y, **self.kinds, several=True)[0]


def open_data(data: Data, output: Output, in_parts: bool, several: bool) -> Input:
    name = data.data
    is_file = name == "-" or os.path.exists(name)
    if not is_file and ADDRESS.match(name):
        X, y, origin = _open_address(data, output, in_parts)
    elif not is_file and any(mark in name for mark in "*?["):
        if not in_parts:
            raise BadInput(f"'{name}' names files that are read in parts, but this needs all rows; name one file")
        X, y, origin = _open_pattern(data)
    elif data.scheduler is not None:
        raise BadInput("--scheduler reads files in parts; pass a pattern in quotes, such as 'data/*.parquet'")
    elif not is_file and not any(mark in name for mark in "/\\."):
        X, y, origin = _open_dataset(data)
    else:
        X, y, origin = _open_file(data, output)
    from unirel.report import Origin

    if (n_targets := len(getattr(y, "column_names", [0]))) > 1 and not several:
        raise BadInput(f"--target names {n_targets} columns, but this explains one; name one of them")
    groups = origin.pop("groups", None)
    if data.row_groups is not None and groups is None:
        raise BadInput("--row-groups names a column of one file; pass a file")
    names = X.names[:-1] if isinstance(y, str) else X.column_names  # parts have the target as their last column
    kinds = {"discrete_features": data.discrete_features(names), "target_type": data.target_type}
    return Input(X, y, Origin(**origin), names, kinds, groups)


def _open_dataset(data: Data) -> tuple[Any, Any, dict[str, Any]]:
    from unirel.data.datasets import load

    name = data.data
    try:
        bunch = load(name)
    except ValueError as error:
        raise BadInput(f"there is no file '{name}', and {error}") from None
    if (asked := ", ".join(data.target or ["target"])) != "target":
        raise BadInput(f"--target: dataset '{name}' has one target, 'target', not {asked!r}")
    table = pa.table(list(bunch.data.T), list(bunch.feature_names))
    drop = find_names(data.drop, table.column_names, "--drop")
    lines = [f"from sklearn.datasets import load_{name}", f"X, y = load_{name}(return_X_y=True, as_frame=True)"]
    lines += [f"X = X.drop(columns={drop!r})"] if drop else []
    origin = {"source": name, "target": "target", "dropped": tuple(drop), "reading": tuple(lines)}
    return table.drop_columns(drop), bunch.target, origin


def _open_address(data: Data, output: Output, in_parts: bool) -> tuple[Any, Any, dict[str, Any]]:
    from unirel.data.addresses import is_in_parts, open_parts

    if not is_in_parts(data.data):
        return _open_file(data, output)
    shown = shown_name(data.data)
    if not in_parts:
        raise BadInput(f"'{shown}' is read in parts, but this needs all rows; name one file")
    source, lines = open_parts(data.data)
    return _open_parts(data, source, lines, shown)


def _open_pattern(data: Data) -> tuple[Any, str, dict[str, Any]]:
    """Files that are read in parts, here or on a cluster."""
    import pyarrow.dataset as ds

    files = sorted(glob(data.data, recursive=True))
    if not files:
        raise BadInput(f"there is no file '{data.data}'")
    kinds = [kind_of_file(Path(file).open("rb").read(64), file, "utf-8", f"'{file}'") for file in files]
    for file, kind in zip(files, kinds, strict=True):
        if kind not in ("parquet", "arrow") or kind != kinds[0]:
            raise BadInput(f"'{file}' is {kind}; files that are read in parts must all be Parquet or all be Arrow")
    file = files[0]  # the schema is that of the first
    try:
        for file in files if kinds[0] == "parquet" else ():
            limit = largest(os.path.getsize(file), data.any_size)
            check_size(size_in_memory(file, limit), limit, f"'{file}'")
        dataset = ds.dataset(files, format="parquet" if kinds[0] == "parquet" else "ipc")
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"'{file}' cannot be read: {error}") from None
    lines = ("import pyarrow.dataset as ds", "from glob import glob", f"ds.dataset(sorted(glob({data.data!r})))")
    return _open_parts(data, dataset, lines, shown_name(data.data))


def _open_parts(data: Data, source: Any, lines: tuple[str, ...], shown: str) -> tuple[Any, str, dict[str, Any]]:
    from unirel.data.arrow import ArrowRows, dataset_of
    from unirel.data.dask import DaskRows, connect

    dataset = dataset_of(source)
    (target, *others), drop = _check_columns(data, dataset.schema.names)
    if others:
        raise BadInput(f"--target names {1 + len(others)} columns, but files in parts can have one; name one of them")
    if data.drop_missing_target:
        raise BadInput("--drop-missing-target takes one file; leave out those rows when the files are written")
    if data.scheduler is None:
        parts: Any = ArrowRows(dataset, target, without=drop)
    else:
        try:
            connect(data.scheduler)
        except (OSError, ValueError, ImportError) as error:
            raise OSError(f"--scheduler {data.scheduler} cannot be reached: {error}") from None
        parts = DaskRows.of_files(dataset, target, without=drop)
    reading = (*lines[:-1], f"X, y = {lines[-1]}, {target!r}")
    origin = {"source": shown, "target": target, "dropped": tuple(drop), "reading": reading}
    return parts, target, origin


def _check_columns(data: Data, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The targets, and the columns to drop."""
    if not data.target:
        likely = next((name for name in names if _TARGETS & set(re.split(r"\W|_", name.lower()))), names[-1])
        known = f"it may be {likely!r}; the columns are {listed(names, 10)}"
        raise BadInput(f"name the column to explain with --target; {known}")
    targets, drop = find_names(data.target, names, "--target"), find_names(data.drop, names, "--drop")
    for target in targets:
        if target in drop:
            raise BadInput(f"--drop names the target {target!r}")
    return targets, drop


def _open_file(data: Data, output: Output) -> tuple[Any, Any, dict[str, Any]]:
    file = read_table(data)
    table, source = file.table, "standard input" if data.data == "-" else shown_name(data.data, folder=False)
    targets, drop = _check_columns(data, table.column_names)
    together = find_names(data.row_groups and [data.row_groups], table.column_names, "--row-groups")
    if len(together) > 1 or {*targets, *drop} & {*together}:
        raise BadInput(f"--row-groups {data.row_groups!r} must be one column beside the target that is not dropped")
    table, n_rows = with_numbers(table.drop_columns(drop), targets, output), table.num_rows
    if n_rows == 0:
        raise BadInput(f"'{source}' has names of columns but no rows")
    if data.drop_missing_target:
        for target in targets:
            table = table.filter(pc.invert(pc.is_null(table.column(target), nan_is_null=True)))
            if table.num_rows == 0:
                raise BadInput(f"the target {target!r} has no value at all")
        if table.num_rows < n_rows:
            output.note(f"left out {n_rows - table.num_rows} rows without a target")
    features = table.drop_columns([*targets, *together])
    ignored = leave_out_row_numbers(features, data.discrete_features(features.column_names), output)
    features = features.drop_columns(list(ignored))
    if features.num_columns == 0:
        raise BadInput(f"there is no column beside the target {listed(targets)} left")
    origin = {
        **{"source": source, "target": ", ".join(targets), "dropped": tuple(drop), "ignored": tuple(ignored.items())},
        "n_without_target": n_rows - table.num_rows,
        "reading": _snippet(data, file, targets, [*drop, *ignored, *together]),
    }
    if together:
        origin |= {"groups": table.column(together[0]).to_numpy()}
        origin["reading"] += (f"groups = data[{together[0]!r}]",)
    return features, table.select(targets) if len(targets) > 1 else table.column(targets[0]), origin


def _snippet(data: Data, file: FileTable, targets: list[str], left_out: list[str]) -> tuple[str, ...]:
    """Lines of Python that read the same file."""
    arguments = [repr("data.csv" if data.data == "-" else shown_name(data.data, folder=False))]
    reader = {"parquet": "read_parquet", "text": "read_csv"}.get(file.format, "read_feather")
    if reader == "read_csv":
        dates = [one.name for one in file.table.schema if pa.types.is_date(one.type) or pa.types.is_timestamp(one.type)]
        given = {"sep": file.delimiter, "encoding": data.encoding, "decimal": file.decimal, "parse_dates": dates}
        given |= {"na_values": split_names(data.missing)}
        usual = {"sep": ",", "encoding": "utf-8", "decimal": ".", "parse_dates": [], "na_values": []}
        arguments += [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    lines = ["import pandas as pd", f"data = pd.{reader}({', '.join(arguments)})"]
    if data.drop_missing_target:
        lines.append(f"data = data.dropna(subset={targets!r})")
    chosen = targets if len(targets) > 1 else targets[0]
    return (*lines, f"X, y = data.drop(columns={[*targets, *left_out]!r}), data[{chosen!r}]")
