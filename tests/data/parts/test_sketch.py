"""Quantile sketches of parts: exact for few values, and within the stated error for many."""

import pickle
from functools import partial

import numpy as np
import pytest

from unirel.data import CONTINUOUS, DISCRETE, UNKNOWN
from unirel.data.parts import Part
from unirel.data.scan import SKETCH_SIZE, Wanted, merge, scan_part, sketched_edges
from unirel.estimation.binned import bin_edges

pytest.importorskip("datasketches")


def scan(values, cuts, weights=None, kind=CONTINUOUS):
    unit = 0.0 if weights is None else weights.sum() / len(weights)
    wanted = Wanted(("x0", "y"), np.array([kind, DISCRETE], np.int8), unit)
    starts, stops = [0, *cuts], [*cuts, len(values)]
    parts = [
        Part(values[a:b, None], np.arange(b - a) % 2, None if weights is None else weights[a:b], "a part")
        for a, b in zip(starts, stops, strict=True)
    ]
    scans = [pickle.loads(pickle.dumps(scan_part(part, wanted))) for part in parts]
    return merge([merge(scans[:2], wanted), *scans[2:]], wanted).columns[0]


def test_edges_of_few_values_are_those_of_memory(rng):
    for values in (rng.normal(size=1500), rng.integers(0, 30, 900).astype(float), np.append(rng.random(100), np.nan)):
        for strategy in ("quantile", "uniform"):
            found = sketched_edges(scan(values, [10, 10, 77]), 8, strategy)
            np.testing.assert_array_equal(found, bin_edges(values, 8, strategy))


def test_a_column_that_has_few_levels_in_every_part_but_many_in_all(rng):
    values = np.repeat(np.arange(40.0), 25)
    seen = scan(values, [250, 500, 750], kind=UNKNOWN)
    assert seen.levels is None
    np.testing.assert_array_equal(sketched_edges(seen, 5, "quantile"), bin_edges(values, 5))


@pytest.mark.parametrize("order", ["as they come", "sorted"])
def test_ranks_of_edges_are_within_the_stated_error(order, rng):
    values = rng.normal(size=200_000)
    values = np.sort(values) if order == "sorted" else values
    edges = sketched_edges(scan(values, list(range(20_000, 200_000, 20_000))), 8, "quantile")
    ranks = np.searchsorted(np.sort(values), edges) / len(values)
    from datasketches import kll_doubles_sketch

    stated = kll_doubles_sketch.get_normalized_rank_error(SKETCH_SIZE, False)
    assert stated < 0.0014
    # It holds in 99 of 100 sketches; three times as much would be a fault.
    assert np.abs(ranks - np.arange(1, 8) / 8).max() < 3 * stated


def test_weights_move_edges(rng):
    values = rng.random(1000)
    weights = np.where(values < 0.5, 3.0, 1.0)
    found = sketched_edges(scan(values, [300, 301], weights), 4, "quantile")
    np.testing.assert_allclose(found, bin_edges(values, 4, sample_weight=weights), atol=0.02)


@pytest.mark.parametrize(
    ("other", "message"),
    [("number", "holds numbers and texts in different parts"), ("name", "partition 1 differs in column 'a'")],
)
def test_a_schema_that_changes_is_an_error_of_one_line(other, message):
    import pandas as pd

    wanted = Wanted(("a", "y"), np.array([UNKNOWN, DISCRETE], np.int8), 0.0)
    parts = [pd.DataFrame({"a": ["p", "q"]}), pd.DataFrame({"a": [1, 2]} if other == "number" else {"b": ["p", "q"]})]
    with pytest.raises((ValueError, TypeError), match=message):
        merge([scan_part(Part(part, np.array([0, 1]), None, "partition 1"), wanted) for part in parts], wanted)


def test_merging_leaves_its_parts_as_they_were(rng):
    wanted = Wanted(("x0", "y"), np.array([CONTINUOUS, DISCRETE], np.int8), 0.0)
    look = partial(scan_part, wanted=wanted)
    scans = [look(Part(rng.random((50, 1)), np.arange(50) % 2)) for _ in range(2)]
    before = [one.columns[0].sketch for one in scans]
    from datasketches import kll_doubles_sketch

    assert kll_doubles_sketch.deserialize(merge(scans, wanted).columns[0].sketch).n == 100
    assert [one.columns[0].sketch for one in scans] == before
