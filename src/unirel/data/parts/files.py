"""Parts of rows from files: row groups of a Parquet or Arrow dataset, one after the other, and codes on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from unirel.data.parts.plan import CodingPlan
from unirel.data.parts.rows import RowPlan, RowsOfPart
from unirel.data.parts.scan import Part
from unirel.data.parts.scratch import Scratch
from unirel.data.parts.table import Coded, Found, Kept, Parts, Values
from unirel.data.reading import find_column

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

    def keep(
        self, plan: CodingPlan, n_rows: Sequence[int], grid: Callable[[Values], Values], scratch: Any
    ) -> KeptOnDisk:
        """Write the codes of all rows to a scratch file."""
        coded = Coded.empty(plan.n_levels, sum(n_rows), self.weighted, scratch)
        try:
            for part, start in zip(self._read(), np.cumsum([0, *n_rows[:-1]]).tolist(), strict=True):
                coded.write(start, part, plan, grid)
        except BaseException:  # Ctrl-C too
            coded.files.close()
            raise
        return KeptOnDisk(coded)

    def keep_rows(self, plan: RowPlan, n_rows: Sequence[int], scratch: Any) -> KeptOnDisk:
        """Write all values to a scratch file in one pass, where columns are encoded one at a time."""
        files, columns = Scratch(scratch), plan.columns
        rows = files.empty((plan.heights.sum(), sum(n_rows)), np.float64)
        weights = np.empty(sum(n_rows)) if self.weighted else None
        try:
            for part, start in zip(self._read(), np.cumsum([0, *n_rows[:-1]]).tolist(), strict=True):
                values, own = plan.take(part, columns)
                rows[plan.firsts(columns), start : start + values.shape[1]] = values
                if weights is not None:
                    weights[start : start + values.shape[1]] = own
                files.release()
            plan.encode(rows, columns, weights, files.release)
        except BaseException:  # Ctrl-C too
            files.close()
            raise
        return KeptOnDisk(RowsOfPart(0, rows, files))

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
        found = {field.name: field.type for field in fragment.physical_schema}
        for field in self._dataset.schema:
            if field.name not in found:
                raise ValueError(f"the schema changes: {label} has no column {field.name!r}; give all files the same")
            own = found[field.name]
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


class KeptOnDisk(Kept):
    """All rows in a scratch file."""

    def __init__(self, rows: Coded | RowsOfPart) -> None:
        self.local = rows

    def bring(self, function: Callable[[Any], Any]) -> list[Any]:
        """What a function finds in all rows."""
        return [function(self.local)]

    def close(self) -> None:
        """Delete the file."""
        self.local.files.close()
