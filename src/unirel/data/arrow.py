"""Datasets of Arrow, whose batches are read in this process, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from unirel.data.naming import find_columns
from unirel.data.parts import Part, Rows

# Values of a dataset that are read at a time.
_BATCH = 2**23


def open_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    return ArrowRows(X, y, sample_weight)


def take_columns(X: Any, names: Sequence[str]) -> Any:
    """Some columns, not read yet: a scanner."""
    return X.scanner(columns=list(names))


class ArrowRows(Rows):
    """Batches of a dataset of Arrow; target and weights are columns of it, by name, or arrays."""

    def __init__(self, dataset: Any, y: Any, sample_weight: Any = None, without: Collection[str] = ()) -> None:
        names = list(dataset.schema.names)
        taken = [names[find_columns(one, names, {})[0]] for one in (y, sample_weight) if isinstance(one, str)]
        left_out = {*taken, *without}
        features = [name for name in names if name not in left_out]
        if not features:
            others = ", ".join(map(repr, taken))
            raise ValueError(f"X has 0 feature(s) beside {others} while a minimum of 1 is required.")
        self._dataset, self._y, self._weights = dataset, y, sample_weight
        self._features, self._used = features, [*features, *taken]
        target = y if isinstance(y, str) else str(getattr(y, "name", None) or "y")
        super().__init__(None, (*features, target), sample_weight is not None)
        self.has_names = True

    def __iter__(self) -> Iterator[Part]:
        """All rows; batches of small row groups and files are joined."""
        size, start = max(1024, _BATCH // len(self.names)), 0
        waiting: list[Any] = []
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # Arrow does not give those of a filtered dataset.
            fragments = [self._dataset]
        for fragment in fragments:
            label = _label(fragment)
            for batch in self._batches(fragment, size):
                waiting.append(batch)
                n_rows = sum(one.num_rows for one in waiting)
                if n_rows >= size:
                    yield self._part(waiting, start, label)
                    start, waiting = start + n_rows, []
        if waiting:
            yield self._part(waiting, start, label)
            start += sum(one.num_rows for one in waiting)
        if start == 0:
            raise ValueError("X has 0 sample(s): the dataset has no rows; name other files")
        for name, given in (("y", self._y), ("sample_weight", self._weights)):
            if given is not None and not isinstance(given, str) and len(given) != start:
                raise ValueError(f"X has {start} rows, {name} has {len(given)}; they must describe the same samples")

    def read(self, fragment: Any) -> Part:
        return self._part(list(self._batches(fragment, _BATCH)), 0, _label(fragment))

    def _batches(self, fragment: Any, size: int) -> Iterator[Any]:
        import pyarrow as pa

        options = {"columns": self._used, "batch_size": size, "batch_readahead": 1, "fragment_readahead": 1}
        try:
            if hasattr(fragment, "physical_schema"):
                self._check_schema(fragment)
                options["schema"] = self._dataset.schema
            yield from (batch for batch in fragment.to_batches(**options) if batch.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise OSError(f"{_label(fragment)} cannot be read: {' '.join(str(error).split())[:160]}") from None

    def _check_schema(self, fragment: Any) -> None:
        found = {field.name: field.type for field in fragment.physical_schema}
        for field in self._dataset.schema:
            own, label = found.get(field.name), _label(fragment)
            if own is None:
                raise ValueError(f"the schema changes: {label} has no column {field.name!r}; give all files the same")
            if own != field.type:
                about = f"the schema changes: column {field.name!r} of {label}"
                raise ValueError(f"{about} is {own} instead of {field.type}; give it one type")

    def _part(self, batches: list[Any], start: int, label: str) -> Part:
        import pyarrow as pa

        schema = pa.schema([self._dataset.schema.field(name) for name in self._used])
        table = pa.Table.from_batches(batches, schema)
        y, weights = (
            table.column(given) if isinstance(given, str) else None if given is None else given[start:][: len(table)]
            for given in (self._y, self._weights)
        )
        return Part(
            table.select(self._features), y, None if weights is None else np.asarray(weights, np.float64), label
        )


def _label(fragment: Any) -> str:
    return f"'{getattr(fragment, 'path', 'a table in memory')}'"
