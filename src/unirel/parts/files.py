"""Parts of rows from files: row groups of a Parquet or Arrow dataset, one after the other, and codes on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirel.coding import empty_matrices, find_places
from unirel.parts.plan import Plan, encode_part
from unirel.parts.scan import Part
from unirel.parts.scratch import Scratch
from unirel.parts.table import Coded, Found, Kept, Parts, Values
from unirel.reading import find_column

# Values that are read at a time.
_BATCH = 2**23


class FileParts(Parts):
    """Row groups of a dataset.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Files of one schema.
    y : str or array of shape (n_samples,)
        Name of the column to explain, or its values.
    sample_weight : str or array of shape (n_samples,), optional
        Name of the column of weights, which is no feature then, or the weights.
    without : collection of str
        Columns that are left out.
    """

    def __init__(self, dataset: Any, y: Any, sample_weight: Any = None, without: Collection[str] = ()) -> None:
        names = list(dataset.schema.names)
        taken = [names[find_column(one, names)] for one in (y, sample_weight) if isinstance(one, str)]
        features = [name for name in names if name not in taken and name not in without]
        if not features:
            raise ValueError(
                f"X has 0 feature(s) beside {', '.join(map(repr, taken))} while a minimum of 1 is required."
            )
        self._dataset, self._y, self._weights = dataset, y, sample_weight
        self._features, self._used = features, {*features, *taken}
        self.names = (*features, y if isinstance(y, str) else str(getattr(y, "name", None) or "y"))
        self.weighted = sample_weight is not None

    def look(self, function: Callable[..., Found], each: Sequence[Any] | None = None) -> list[Found]:
        """What a function finds in every part, in their order."""
        if each is None:
            return [function(part) for part in self._read()]
        pairs = zip(self._read(), each, strict=True)
        return [function(part, own) for part, own in pairs if own is not None]

    def add(self, function: Callable[[Part], Found], add: Callable[[list[Found]], Found]) -> Found:
        """What a function finds in every part, added up as it comes."""
        total = None
        for part in self._read():
            total = function(part) if total is None else add([total, function(part)])
        if total is None:
            raise ValueError("X has 0 sample(s): the dataset has no rows; name other files")
        return total

    def keep(self, plan: Plan, n_rows: Sequence[int], grid: Callable[[Values], Values], scratch: Any) -> _KeptOnDisk:
        """Write the codes of all rows to a scratch file."""
        files = Scratch(scratch)
        try:
            return self._write(plan, n_rows, grid, files)
        except BaseException:  # Ctrl-C too
            files.close()
            raise

    def _write(
        self, plan: Plan, n_rows: Sequence[int], grid: Callable[[Values], Values], files: Scratch
    ) -> _KeptOnDisk:
        matrices = empty_matrices(plan.n_levels, sum(n_rows), files.empty)
        weights = files.empty((sum(n_rows),), np.float64) if self.weighted else None
        widths, places = find_places(plan.n_levels)
        start = 0
        for part, size in zip(self._read(), n_rows, strict=True):
            for positions, codes in encode_part(part, plan):
                for width, matrix in enumerate(matrices):
                    mine = widths[positions] == width
                    matrix[places[positions[mine]], start : start + size] = codes[mine]
            if weights is not None:
                weights[start : start + size] = grid(np.asarray(part.weights, np.float64))
            start += size
            files.release()
        return _KeptOnDisk(files, plan.n_levels, matrices, weights)

    def _read(self) -> Iterator[Part]:
        """All rows, some at a time."""
        import pyarrow as pa

        start = 0
        for fragment in self._dataset.get_fragments():
            label = f"'{getattr(fragment, 'path', 'a table in memory')}'"
            try:
                self._check_schema(fragment, label)
                for batch in fragment.to_batches(
                    schema=self._dataset.schema,
                    columns=[name for name in self._dataset.schema.names if name in self._used],
                    batch_size=max(1024, _BATCH // len(self.names)),
                    batch_readahead=1,
                    fragment_readahead=1,
                ):
                    if batch.num_rows:
                        yield self._part(pa.Table.from_batches([batch]), start, label)
                        start += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise OSError(f"{label} cannot be read: {' '.join(str(error).split())[:160]}") from None

    def _check_schema(self, fragment: Any, label: str) -> None:
        found, expected = fragment.physical_schema, self._dataset.schema
        for field in expected:
            if field.name not in found.names:
                raise ValueError(f"the schema changes: {label} has no column {field.name!r}; give all files the same")
            own = found.field(field.name).type
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


class _KeptOnDisk(Kept):
    """Codes of all rows in a scratch file."""

    def __init__(
        self, files: Scratch, n_levels: NDArray[np.int64], matrices: list[NDArray[Any]], weights: Values | None
    ) -> None:
        self.files = files
        self.local = Coded(n_levels, matrices, weights)

    def release(self) -> None:
        """Take codes out of memory; they are read again when they are needed."""
        self.files.release()

    def close(self) -> None:
        """Delete the file."""
        self.files.close()
