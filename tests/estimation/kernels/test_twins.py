"""Kernels that wait until their twins in numpy have taken some time: both give the same bits."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from unirel.data import jit
from unirel.data.encoding import find_levels
from unirel.data.jit import kernel_after
from unirel.data.kernels import _find_bins, code_levels
from unirel.estimation.kernels import chance
from unirel.estimation.kernels.bins import _find_cut
from unirel.estimation.kernels.chance import COARSE, FINE, NOTHING, Chance, joined
from unirel.estimation.kernels.counts import NO_CHANCE, count_tables, known_n_log_n, sum_tables


def both(function, *arguments):
    """What the kernel and its twin return, and the arguments as each of them leaves them."""
    answers = []
    for one in (function.compiled, function.twin):
        own = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        answers.append((one(*own), own))
    return answers


def assert_same(function, *arguments, filled):
    (result, kernel), (twin_result, twin) = both(function, *arguments)
    assert result == twin_result
    for place in filled:
        np.testing.assert_array_equal(kernel[place], twin[place])
    return kernel


def draw_chance(rng, n_rows, n_groups, precision, weighted):
    sizes = [
        rng.multinomial(n_rows // n_groups, rng.dirichlet(np.ones(rng.integers(1, 8)))).astype(float)
        for _ in range(n_groups)
    ]
    sizes = [own * rng.uniform(0, 2, len(own)) if weighted else own for own in sizes]
    begins = np.concatenate([[0], np.cumsum([len(own) for own in sizes])])
    sizes = np.concatenate(sizes)
    return Chance(sizes, rng.integers(1, 4, len(sizes)).astype(float), begins, precision)


@pytest.mark.parametrize("precision", [FINE, COARSE], ids=["fine", "coarse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_chance_is_the_same(precision, weighted):
    rng = np.random.default_rng(0)
    for n_rows in (5, 40, 70, 300, 1100, 5000):
        own = draw_chance(rng, n_rows, int(rng.integers(1, 6)), precision, weighted)
        begins, n_near, per_root = own._lay_out()
        room, found = np.zeros(chance._ROOM), np.empty(begins[-1])
        assert_same(
            chance._find_excess, np.empty(0), begins, n_near, per_root, *own[:3], chance._KNOWN, precision, room, found,
            filled=[10],
        )  # fmt: skip


def test_chance_of_numbers_of_rows_is_the_same():
    rng = np.random.default_rng(1)
    for n_rows in (12, 900):
        own = draw_chance(rng, n_rows, 1, chance._EXACT, False)
        rows, begins, room = np.floor(rng.uniform(0, n_rows, 30)), np.array([0, 30]), np.zeros(chance._ROOM)
        given = rows, begins, begins, np.empty(0), *own[:3], chance._KNOWN, chance._EXACT, room, np.empty(30)
        assert_same(chance._find_excess, *given, filled=[10])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("corrected", ["not", "within", "about the fixed side too"])
@pytest.mark.parametrize("n_known", [5, 500])
def test_tables_and_their_sums_are_the_same(weighted, corrected, n_known):
    rng = np.random.default_rng(2)
    for n_rows, n_fixed, n_other in ((1, 1, 1), (90, 3, 2), (400, 1, 5), (400, 5, 9)):
        n_levels = rng.integers(1, 9, 6)
        codes = np.array([rng.integers(0, n, n_rows) for n in n_levels]).astype(np.uint8)
        rest = rng.integers(0, n_fixed * n_other, n_rows).astype(np.uint32)
        weights = rng.uniform(0, 3, n_rows) if weighted else None
        starts = np.concatenate([[0], np.cumsum(n_levels * n_fixed * n_other)])
        tables = np.zeros(starts[-1], float if weighted else np.int32)
        given = codes, np.arange(6), rest, n_fixed * n_other, weights, starts[:-1], tables
        tables = assert_same(count_tables, *given, filled=[6])[6]
        of_both = np.bincount(rest, weights, n_fixed * n_other)
        of_fixed, of_other = (
            of_both.reshape(n_fixed, n_other).sum(axis=1),
            of_both.reshape(n_fixed, n_other).sum(axis=0),
        )
        about_fixed = NOTHING if corrected == "within" else Chance.about(of_fixed, COARSE).lookup
        within = Chance.within(of_both, np.arange(0, len(of_both) + 1, n_other)).lookup
        lookup = NO_CHANCE if corrected == "not" else joined(Chance.about(of_other).lookup, within, about_fixed)
        is_known = None if weighted or n_known < 500 else True
        shape = tables, starts[:-1], n_levels, n_fixed, np.empty(n_other, tables.dtype)
        sums = np.zeros((6, 11))
        assert_same(sum_tables, *shape, known_n_log_n(n_known), lookup, sums, is_known, filled=[7])


@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_are_the_same(weighted):
    rng = np.random.default_rng(3)
    for n_rows, n_classes, n_values in ((1, 1, 2), (2, 2, 2), (60, 2, 10), (200, 4, 60), (200, 3, 1)):
        ordered = np.sort(rng.integers(0, n_values, n_rows)).astype(float)
        labels = (rng.random(n_rows) * n_classes).astype(np.int64)
        weights = rng.uniform(0, 2, n_rows) if weighted else np.ones(n_rows)
        room, known = np.zeros((3, max(3, n_classes))), known_n_log_n(100)
        start = n_rows if n_rows == 1 else n_rows // 10  # nothing to cut, or not from the first one on
        given = ordered, labels, weights, start, n_rows, room, known
        (cut, kernel), (twin_cut, twin) = both(_find_cut, *given)
        assert cut == twin_cut
        np.testing.assert_array_equal(kernel[5][[0, 2]], twin[5][[0, 2]])


def test_bins_are_the_same():
    values = np.random.default_rng(5).integers(0, 9, (3, 200)).astype(float)
    values[0, :5] = np.nan
    edges = np.array([[2.0, 4, 7], [0, 5, np.inf], [1, 1, 8]])
    assert_same(
        _find_bins, values, edges, np.full(3, 4), np.empty(64, np.int64), np.empty((3, 200), np.uint8), filled=[4]
    )


NUMBERS = np.array([0.0, -0.0, 1, 2, -1, -2.5, np.nan, np.inf, -np.inf, 3, 4, 5, 6, 7])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint64])
@pytest.mark.parametrize("limit", [3, 20])
def test_levels_are_the_same(monkeypatch, dtype, limit):
    rng = np.random.default_rng(4)
    for n_rows in (1, 30):
        for n_values in (2, 7, len(NUMBERS)):
            values = rng.choice(NUMBERS[:n_values], (4, n_rows))
            if dtype is np.float64:
                values[:, :1].view(np.int64)[:] = 0x7FF8000000000001  # another NaN
            else:
                values = np.nan_to_num(np.abs(values) if dtype is np.uint64 else values, posinf=9, neginf=8)
            found = []
            for one in (code_levels.compiled, code_levels.twin):
                monkeypatch.setattr("unirel.data.encoding.code_levels", one)
                found.append(find_levels(values.astype(dtype), limit, zeros=np.array([True, False, True, False])))
            kernel, twin = found
            few = twin.n_values >= 0
            np.testing.assert_array_equal(few, kernel.n_values >= 0)
            for kernels_own, twins_own in zip(kernel, twin, strict=True):
                np.testing.assert_array_equal(kernels_own[few], twins_own[few])


def test_a_kernel_is_not_needed_until_its_twin_has_taken_time(monkeypatch):
    monkeypatch.setattr(jit, "_PATIENCE", 0.02)
    monkeypatch.setattr(jit, "_PATIENCE_IF_COMPILED", 0.01)
    asked = []

    def twin(number):
        asked.append(number)
        end = time.thread_time() + number / 1000
        while time.thread_time() < end:
            pass
        return number

    function = kernel_after(twin)(lambda number: number)
    assert [function(number) for number in (1, 2, 30, 1, 2)] == [1, 2, 30, 1, 2]
    assert asked == [1, 2, 30]


def test_what_is_on_the_disk_is_loaded_sooner(tmp_path):
    code = """
import sys
import numpy as np
from unirel.data import jit
from unirel.data.kernels import _find_bins
jit._PATIENCE = 1e9
def find():
    _find_bins(np.zeros((1, 2)), np.zeros((1, 1)), np.ones(1, int), np.zeros(2, int), np.zeros((1, 2), np.uint8))
find()
jit._PATIENCE_IF_COMPILED = -1.0
find()
print(len(_find_bins.compiled.signatures))
_find_bins.compiled(np.zeros((1, 2)), np.zeros((1, 1)), np.ones(1, int), np.zeros(2, int), np.zeros((1, 2), np.uint8))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    call = [sys.executable, "-c", code]
    printed = [subprocess.run(call, env=environment, check=True, capture_output=True, text=True).stdout for _ in (0, 1)]
    assert printed == ["0\n", "1\n"]  # the first had to compile it at its end


def test_a_large_array_goes_to_the_kernel_at_once():
    function = kernel_after(lambda values: -1)(lambda values: values.shape[0])
    assert function(np.zeros(jit.FEW_VALUES)) == -1
    assert function(np.zeros(jit.FEW_VALUES + 1)) == jit.FEW_VALUES + 1
