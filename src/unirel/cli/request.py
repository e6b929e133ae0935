"""What a command works on: features and a target, from a file or a known dataset."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel._runtime import call_apart
from unirel.cli.cleaning import clean
from unirel.cli.exits import BadInput, Failed
from unirel.cli.files import DataFile, FileTable, TextFormat, check_names, open_dataset, read_table
from unirel.cli.messages import Messages, listed
from unirel.cli.naming import find_kinds, find_name, find_names
from unirel.cli.options import DATA, FIRST, flag, read_options
from unirel.options import ReadingOptions, complete, part_of
from unirel.report.origin import Origin

if TYPE_CHECKING:
    from unirel.data.table import Table


# Neighbours of all rows are looked for more often in some commands than one wants to wait for.
MaxRows = Annotated[
    int, typer.Option("--max-rows", min=2, help="Of more rows a sample of this size is taken, by class.")
]


@dataclass(frozen=True)
class Input:
    """Features, a target, where they come from, and the options with which they are used."""

    X: Any
    y: Any
    origin: Origin
    options: dict[str, Any]  # as the library takes them

    def read(self) -> "Table":
        """The table."""
        from unirel.data.opening import open_table

        return open_table(self.X, self.y, complete(ReadingOptions, part_of(ReadingOptions, self.options), "read"))[0]

    def sampled(self, max_rows: int, seed: int, messages: Messages) -> "Input":
        """The same, or some of the rows with a note, of each class its share, where there are more."""
        n_rows = self.X.num_rows
        if n_rows <= max_rows:
            return self
        import numpy as np

        from unirel.data.sampling import choose_by_class

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what will be said of the sample
            rows = choose_by_class(self.read(), np.arange(n_rows), max_rows, np.random.default_rng(seed))
        messages.note(
            f"took a sample of {len(rows):,} of the {n_rows:,} rows, to be done soon; --max-rows {n_rows} takes all"
        )
        return replace(self, X=self.X.take(rows), y=self.y.take(rows))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the flags say about the data, beside the options of the library."""

    data: DataFile
    target: Annotated[
        str | None,
        flag(FIRST, "The column to explain. Needed for files; datasets know theirs.", "--target", "-t", metavar="COL"),
    ] = None
    drop_missing_target: Annotated[bool, flag(DATA, "Leave out rows without a target.", "--drop-missing-target")] = (
        False
    )
    drop: Annotated[list[str] | None, flag(DATA, "Columns to leave out altogether.", "--drop", metavar="COL,...")] = (
        None
    )
    scheduler: Annotated[
        str | None,
        flag(
            DATA, "A running Dask cluster that reads the files of a pattern.", "--scheduler", metavar="tcp://HOST:PORT"
        ),
    ] = None
    text: TextFormat

    def open(self, options: Mapping[str, Any], messages: Messages, *, in_parts: bool = False) -> Input:
        """Read the data; `options` are those of the library, as they were given on the command line.

        The files of a pattern are not read yet; a command says whether it can do with parts of the rows.
        """
        if self.data != "-" and any(mark in self.data for mark in "*?[") and not Path(self.data).exists():
            if not in_parts:
                raise BadInput(
                    f"'{self.data}' names files that are read in parts, but this needs all rows; name one file"
                )
            X, y, origin = self._pattern()
            return Input(X, y, origin, read_options(options, X.names[:-1]))
        if self.scheduler is not None:
            raise BadInput("--scheduler reads files in parts; pass a pattern in quotes, such as 'data/*.parquet'")
        known = not any(mark in self.data for mark in "/\\.")  # may be the name of a dataset
        if self.data != "-" and known and not Path(self.data).exists():
            X, y, origin = call_apart(self._dataset)
        else:
            X, y, origin = call_apart(self._file, options.get("kinds"), messages)
        return Input(X, y, origin, read_options(options, X.column_names))

    def _dataset(self) -> tuple[Any, Any, Origin]:
        """A dataset that the library knows by name."""
        import numpy as np
        import pyarrow as pa

        from unirel import datasets

        try:
            data = datasets.load(self.data)
        except ValueError as error:
            raise BadInput(f"there is no file '{self.data}', and {error}") from None
        except OSError as error:
            raise Failed(f"there is no file '{self.data}', and the dataset cannot be loaded: {error}") from None
        if self.target not in (None, "target"):
            raise BadInput(f"--target: dataset '{self.data}' has one target, 'target', not {self.target!r}")
        table = pa.table({str(name): np.asarray(data.data)[:, j] for j, name in enumerate(data.feature_names)})
        drop = find_names(self.drop, table.column_names, "--drop")
        lines = (
            "import pandas as pd",
            "from unirel.data.datasets import load",
            f"data = load({self.data!r})",
            f"X = pd.DataFrame(data.data, columns=data.feature_names){f'.drop(columns={drop!r})' if drop else ''}",
            "y = data.target",
        )
        origin = Origin(self.data, "target", dropped=tuple(drop), reading=lines)
        return table.drop_columns(drop), data.target, origin

    def _pattern(self) -> tuple[Any, Any, Origin]:
        """Files that are read in parts, here or on a cluster."""
        from unirel.data.arrow import ArrowRows

        dataset = open_dataset(self.data)
        names = dataset.schema.names
        if self.target is None:
            raise BadInput(f"name the column to explain with --target; the columns are {listed(names, 10)}")
        find_name(self.target, names, "--target")
        drop = find_names(self.drop, names, "--drop")
        if self.target in drop:
            raise BadInput(f"--drop names the target {self.target!r}")
        if self.drop_missing_target:
            raise BadInput("--drop-missing-target takes one file; leave out those rows when the files are written")
        lines = (
            "import pyarrow.dataset as ds",
            "from glob import glob",
            f"X, y = ds.dataset(sorted(glob({self.data!r}))), {self.target!r}",
        )
        origin = Origin(self.data, self.target, dropped=tuple(drop), reading=lines)
        if self.scheduler is None:
            return ArrowRows(dataset, self.target, without=drop), self.target, origin
        return self._on_cluster(dataset, drop), self.target, origin

    def _on_cluster(self, dataset: Any, drop: list[str]) -> Any:
        from unirel.data.dask import DaskRows, connect

        try:
            connect(str(self.scheduler))
        except (OSError, ValueError, ImportError) as error:
            raise Failed(f"--scheduler {self.scheduler} cannot be reached: {error}") from None
        return DaskRows.of_files(dataset, str(self.target), without=drop)

    def _file(self, kinds: list[str] | None, messages: Messages) -> tuple[Any, Any, Origin]:
        file = read_table(self.data, self.text)
        for note in file.notes:
            messages.note(note)
        names = file.table.column_names
        check_names(names)
        if self.target is None:
            likely = listed([f"{name!r} ({about})" for name, about in likely_targets(file.table)], 3, quotes=False)
            raise BadInput(
                f"name the column to explain with --target; likely ones are {likely}; "
                f"the columns are {listed(names, 10)}"
            )
        find_name(self.target, names, "--target")
        drop = find_names(self.drop, names, "--drop")
        if self.target in drop:
            raise BadInput(f"--drop names the target {self.target!r}")
        given = find_kinds(kinds, [name for name in names if name != self.target])
        table, n_without_target = self._with_target(file.table.drop_columns(drop))
        source = "standard input" if self.data == "-" else Path(self.data).name
        if table.num_rows == 0:
            raise BadInput(f"'{source}' has names of columns but no rows")
        cleaned = clean(table, given, self.target)
        for note in cleaned.notes:
            messages.note(note)
        features = cleaned.table.drop_columns([self.target])
        if features.num_columns == 0:
            raise BadInput(f"there is no column beside the target {self.target!r} left")
        if n_without_target:
            messages.note(f"left out {n_without_target} rows without a target")
        origin = Origin(
            source,
            self.target,
            tuple(drop),
            tuple(cleaned.ignored.items()),
            n_without_target,
            reading=tuple(self._snippet(file, cleaned.marks, [*drop, *cleaned.ignored], _dates(cleaned.table))),
        )
        return features, cleaned.table.column(self.target), origin

    def _with_target(self, table: Any) -> tuple[Any, int]:
        """The table without rows that have no target, if that is wanted, and how many these are."""
        import pyarrow.compute as pc

        if not self.drop_missing_target:
            return table, 0
        kept = table.filter(pc.invert(pc.is_null(table.column(self.target), nan_is_null=True)))
        if kept.num_rows == 0:
            raise BadInput(f"the target {self.target!r} has no value at all")
        return kept, table.num_rows - kept.num_rows

    def _snippet(self, file: FileTable, marks: dict[str, str], left_out: list[str], dates: list[str]) -> list[str]:
        """Lines of Python that read the same file."""
        arguments = [repr("data.csv" if self.data == "-" else Path(self.data).name)]
        if file.format != "text":
            reader = "read_parquet" if file.format == "parquet" else "read_feather"
        else:
            reader = "read_csv"
            if file.delimiter != ",":
                arguments.append(f"sep={file.delimiter!r}")
            if file.encoding != "utf-8":
                arguments.append(f"encoding={file.encoding!r}")
            if self.text.decimal == "," or "," in marks.values():
                arguments += ["decimal=','", "thousands='.'"]
            elif marks:
                arguments.append("thousands=','")
            if dates:
                arguments.append(f"parse_dates={dates!r}")
        lines = ["import pandas as pd", f"data = pd.{reader}({', '.join(arguments)})"]
        if self.drop_missing_target:
            lines.append(f"data = data.dropna(subset=[{self.target!r}])")
        return [*lines, f"X, y = data.drop(columns={[self.target, *left_out]!r}), data[{self.target!r}]"]


def _dates(table: Any) -> list[str]:
    """Names of columns that hold dates."""
    import pyarrow as pa

    return [field.name for field in table.schema if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type)]


# Names that people give to what they want to explain.
_TARGETS = (
    "target",
    "class",
    "label",
    "outcome",
    "y",
    "response",
    "result",
    "diagnosis",
    "species",
    "survived",
    "churn",
)


def likely_targets(table: Any) -> list[tuple[str, str]]:
    """Up to three columns that may be what is to be explained, the likeliest first, and what they hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    points: list[tuple[float, str, str]] = []
    for position, name in enumerate(table.column_names):
        column = table.column(name)
        n_values = pc.count_distinct(column).as_py()
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if n_values < 2 or (is_text and 2 * n_values > table.num_rows):
            continue
        few = n_values <= 20
        named = 4 * (name.lower() in _TARGETS) + 2 * any(part in _TARGETS for part in name.lower().split("_"))
        place = 2 * (position == table.num_columns - 1) + (position == 0)
        points.append((named + place + few + is_text, name, f"{n_values} values" if few else "numbers"))
    return [(name, about) for _, name, about in sorted(points, key=lambda one: -one[0])[:3]]
