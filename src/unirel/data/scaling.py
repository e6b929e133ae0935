"""Numbers whose differences mean something: scaled columns, with levels and missing values far from each other."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.encoding import DenseColumns
from unirel.data.values import CONTINUOUS, DISCRETE, IGNORED

Scale = Literal["standard", "rank"] | None
Values = NDArray[np.float64]

# Columns are scaled together in blocks of about this many values, few enough to stay in the cache.
_BLOCK = 2**15
# Numbers below this can be squared and added up; squares of numbers below the other vanish, or lose digits.
_SAFE, _TINY = 1e100, 1e-150


class Scaled(NamedTuple):
    """All columns as rows of one matrix, see `Table`."""

    values: NDArray[np.floating[Any]]
    far: float
    unit: float


def scale_columns(dense: DenseColumns, n_features: int, scale: Scale) -> Scaled:
    """Scale all columns, of which the first are features."""
    kinds, has_gaps = dense.facts.kinds, dense.facts.n_missing > 0
    dtype = _find_dtype(dense, n_features)
    values = np.zeros(dense.codes.shape, dtype)
    variances = np.full(len(values), np.nan)
    largest = 0.0
    for columns in dense.sections(np.flatnonzero((kinds == CONTINUOUS) & ~has_gaps)):
        rows = dense.numbers_of(columns)
        step = max(1, _BLOCK // rows.shape[1])
        for block in (slice(start, start + step) for start in range(0, len(rows), step)):
            variances[columns[block]] = _scale_rows(rows[block], scale)
        values[columns] = rows
        largest = max(largest, rows.max(), -rows.min())
    gaps = np.flatnonzero((kinds == CONTINUOUS) & has_gaps)
    for columns in dense.sections(gaps):
        for column, row in zip(columns.tolist(), dense.numbers_of(columns), strict=True):
            present = row[np.newaxis, ~np.isnan(row)]
            if present.size:
                variances[column] = _scale_rows(present, scale)[0]
                largest = max(largest, present.max(), -present.min())
            row[~np.isnan(row)] = present[0]
            values[column] = row
    # The least power of two, from 2 on, above twice the largest continuous value.
    far = max(2.0, float(np.ldexp(1.0, np.frexp(2 * float(dtype.type(largest)))[1])))
    for column in gaps.tolist():
        values[column, np.isnan(values[column])] = 4 * far
    for columns in dense.sections(np.flatnonzero(kinds == DISCRETE)):
        values[columns] = dense.codes_of(columns) * (2 * far)
    return Scaled(values, far, _find_unit(variances[:n_features]) if scale is None else 1.0)


def find_overflow(dense: DenseColumns, n_features: int, scale: Scale) -> tuple[int, str] | None:
    """A column whose scaled values, or squares of their differences, would not be finite or would vanish, and how."""
    largest = dense.largest
    if scale == "standard":
        for column in np.flatnonzero(largest >= _SAFE).tolist():
            row = dense.numbers_of(np.array([column]))
            if not np.isfinite(_standardise(row[:, ~np.isnan(row[0])])).all():
                about = f"overflows when it is scaled (largest value {largest[column]:.3g})"
                return column, f"{about}; divide it by a constant"
    if scale is None:
        facts, dtype = dense.facts, _find_dtype(dense, n_features)
        n_levels = int((facts.n_values + (facts.n_missing > 0))[facts.kinds == DISCRETE].max(initial=0))
        # Estimators sum squares of differences over columns, and those must stay finite too.
        limit = np.sqrt(np.finfo(dtype).max) / (4 * max(4, n_levels, len(facts.kinds)))
        with np.errstate(over="ignore"):
            largest = largest.astype(dtype).astype(np.float64)
        for column in np.flatnonzero(largest >= limit).tolist():
            return column, f"overflows (largest value {largest[column]:.3g}); divide it by a constant"
        for column in np.flatnonzero((largest > 0) & (largest < _TINY)).tolist():
            about = f"vanishes when it is squared (largest value {largest[column]:.3g})"
            return column, f"{about}; multiply it by a constant, or leave scale='standard'"
    return None


def _find_dtype(dense: DenseColumns, n_features: int) -> np.dtype[Any]:
    """Single precision if all numeric features have it, else double."""
    part = slice(n_features)
    present = dense.facts.n_missing[part] < dense.codes.shape[1]
    numeric = dense.numeric[part] & present & (dense.facts.kinds[part] != IGNORED)
    return np.dtype(np.float32 if numeric.any() and dense.single[part][numeric].all() else np.float64)


def _scale_rows(rows: NDArray[np.float64], scale: str | None) -> NDArray[np.float64]:
    """Scale rows without missing values in place; return the variances of those that are left alone and vary."""
    if scale is None:
        ordered = np.sort(rows, axis=1)
        return np.asarray(np.where(ordered[:, 0] < ordered[:, -1], ordered.var(axis=1), np.nan))
    if scale == "rank":
        from scipy.stats import rankdata  # slow to import

        rows[:] = rankdata(rows, axis=1)
    _standardise(rows)
    return np.full(len(rows), np.nan)


def _standardise(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shift rows in place by their medians and divide them by their deviations; not finite for an overflow.

    A median is a value of the row, so that the values around it are shifted without rounding, and equal differences
    stay equal however far away others are: subtracting a mean that one huge value has carried off would tear them
    apart. Sums are taken over sorted values, so the order of the samples cannot show.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.maximum(-rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True))
        # Squares of tiny values vanish, but units must not matter; a power of two changes no digit.
        rows /= np.where(largest < 1e-100, np.ldexp(1.0, np.frexp(largest)[1]), 1)
        ordered = np.sort(rows, axis=1)
        middle = ordered[:, [(rows.shape[1] - 1) // 2]]
        rows -= middle
        ordered -= middle
        ordered -= ordered.sum(axis=1, keepdims=True) / rows.shape[1]
        deviations = np.sqrt((ordered * ordered).sum(axis=1, keepdims=True) / rows.shape[1])
        deviations[~rows.any(axis=1)] = 1
        rows /= deviations
    return np.asarray(deviations)


def _find_unit(variances: NDArray[np.float64]) -> float:
    """Root mean square of the standard deviations of the continuous features that vary."""
    known = variances[~np.isnan(variances)]
    # Columns of tiny values may have a variance that vanishes; a unit of 0 would make categories equal.
    mean = float(np.mean(known)) if len(known) else 0.0
    return mean**0.5 if mean > 0 else 1.0
