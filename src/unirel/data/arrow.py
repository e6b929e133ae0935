"""Rows of an Arrow dataset, such as Parquet files, read one batch after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from unirel.data.columns import find_columns
from unirel.data.parts import LocalRows, Part

# Values that are read at a time.
_BATCH = 2**23


class ArrowRows(LocalRows):
    """Batches of a dataset.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Files of one schema, perhaps with a filter.
    y : str or array of shape (n_samples,)
        Name of the column to explain, or its values.
    sample_weight : str or array of shape (n_samples,), optional
        Name of the column of weights, which is no feature then, or the weights.
    without : collection of str
        Columns that are left out.
    """

    def __init__(self, dataset: Any, y: Any, sample_weight: Any = None, without: Collection[str] = ()) -> None:
        names = list(dataset.schema.names)
        taken = [names[find_columns(one, names, {})[0]] for one in (y, sample_weight) if isinstance(one, str)]
        left_out = {*taken, *without}
        features = [name for name in names if name not in left_out]
        if not features:
            raise ValueError(
                f"X has 0 feature(s) beside {', '.join(map(repr, taken))} while a minimum of 1 is required."
            )
        self._dataset, self._y, self._weights = dataset, y, sample_weight
        self._features, self._used = features, [*features, *taken]
        self.names = (*features, y if isinstance(y, str) else str(getattr(y, "name", None) or "y"))
        self.weighted = sample_weight is not None

    def __iter__(self) -> Iterator[Part]:
        """All rows; batches of small row groups and files are joined."""
        import pyarrow as pa

        size, start = max(1024, _BATCH // len(self.names)), 0
        waiting: list[Any] = []
        label = ""
        for batch, label in self._batches(size):
            waiting.append(batch)
            n_rows = sum(one.num_rows for one in waiting)
            if n_rows >= size:
                yield self._part(pa.Table.from_batches(waiting), start, label)
                start, waiting = start + n_rows, []
        if waiting:
            table = pa.Table.from_batches(waiting)
            yield self._part(table, start, label)
            start += table.num_rows
        if start == 0:
            raise ValueError("X has 0 sample(s): the dataset has no rows; name other files")
        for name, given in (("y", self._y), ("sample_weight", self._weights)):
            if given is not None and not isinstance(given, str) and len(given) != start:
                raise ValueError(f"X has {start} rows, {name} has {len(given)}; they must describe the same samples")

    def _batches(self, size: int) -> Iterator[tuple[Any, str]]:
        """Batches that are not empty, and what errors call where they come from."""
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # Arrow does not give those of a filtered dataset.
            fragments = [self._dataset]
        for fragment in fragments:
            yield from self._batches_of(fragment, size)

    def _batches_of(self, fragment: Any, size: int) -> Iterator[tuple[Any, str]]:
        import pyarrow as pa

        options = {"columns": self._used, "batch_size": size, "batch_readahead": 1, "fragment_readahead": 1}
        label = f"'{getattr(fragment, 'path', 'a table in memory')}'"
        try:
            if hasattr(fragment, "physical_schema"):
                self._check_schema(fragment, label)
                options["schema"] = self._dataset.schema
            yield from ((batch, label) for batch in fragment.to_batches(**options) if batch.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise OSError(f"{label} cannot be read: {' '.join(str(error).split())[:160]}") from None

    def read(self, fragment: Any) -> Part:
        """A part of its own of a fragment."""
        import pyarrow as pa

        found = list(self._batches_of(fragment, _BATCH))
        schema = pa.schema([self._dataset.schema.field(name) for name in self._used])
        return self._part(pa.Table.from_batches([batch for batch, _ in found], schema), 0, f"'{fragment.path}'")

    def _check_schema(self, fragment: Any, label: str) -> None:
        found = {field.name: field.type for field in fragment.physical_schema}
        for field in self._dataset.schema:
            own = found.get(field.name)
            if own is None:
                raise ValueError(f"the schema changes: {label} has no column {field.name!r}; give all files the same")
            if own != field.type:
                words = f"is {own} instead of {field.type}"
                raise ValueError(f"the schema changes: column {field.name!r} of {label} {words}; give it one type")

    def _part(self, table: Any, start: int, label: str) -> Part:
        def column(given: Any) -> Any:
            if given is None or isinstance(given, str):
                return None if given is None else table.column(given)
            return given[start : start + table.num_rows]

        weights = column(self._weights)
        weights = weights.to_numpy() if isinstance(self._weights, str) else weights
        return Part(table.select(self._features), column(self._y), weights, label)
