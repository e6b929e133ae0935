"""The truth of the designs that methods of unique relevance are judged by, and how the judgement is put in short."""

import numpy as np
import pytest

from benchmarks.designs import DESIGNS, METHODS, in_time, linear, monotone, shorten, xor
from unirel import mutual_information


def test_truth_of_the_linear_design(rng):
    """Variance of the target that least squares without a feature leaves, beside that with all of them."""
    X, y, truth = linear(rng, 100_000, 7)

    def left(columns):
        return np.var(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])

    found = [0.5 * np.log(left(np.delete(X, k, axis=1)) / left(X)) for k in range(7)]
    np.testing.assert_allclose(found, truth, rtol=0, atol=0.01)
    assert (truth > 0).sum() == 3


def test_monotone_transforms_keep_the_truth_and_the_order():
    (plain, y, truth), (turned, z, same) = (make(np.random.default_rng(0), 50, 6) for make in (linear, monotone))
    np.testing.assert_array_equal(truth, same)
    np.testing.assert_array_equal(np.argsort(plain, axis=0), np.argsort(turned, axis=0))
    np.testing.assert_array_equal(np.argsort(y), np.argsort(z))


def test_truth_of_the_exclusive_or(rng):
    X, y, truth = xor(rng, 100_000, 3)
    both = mutual_information(X[:, :2] > 0, y)
    assert truth[:2] == pytest.approx([both, both], abs=0.01)
    assert mutual_information(X[:, 2] > 0, y, conditional_on=X[:, :2] > 0) == pytest.approx(truth[2], abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_value_for_each_feature(method):
    X, y, _ = linear(np.random.default_rng(0), 80, 6)
    values = METHODS[method](X, y)
    assert values.shape == (6,)
    assert np.isfinite(values).all()


def test_what_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr("benchmarks.designs.LIMIT", 0.05)
    assert in_time(lambda: {"mean": sum(range(10))}) == {"mean": 45}

    def forever():
        while True:
            pass

    assert in_time(forever) is None


def test_the_table_in_short():
    """From the least N on, all larger ones are right, too; what was not measured is said."""
    right, ahead, wrong = {"mean": "0.2"}, {"mean": "0.1"}, {"mean": "0.1", "found": "0.5"}
    of_sizes = {5: [right, ahead, right, right], 20: [wrong, ahead, ahead, ahead], 100: [right, wrong], 400: []}
    rows = [
        {"design": design, "method": method, "M": m, "N": n, "truth": "0.22", "found": "1.0", "runs": bool(own)} | own
        for design in DESIGNS
        for method in METHODS
        for m, found in of_sizes.items()
        for n, own in zip((100, 300, 1000, 3000), found + [{}] * (4 - len(found)), strict=True)
    ]
    header, first, *_ = shorten(rows)
    assert header[:3] == ["design", "method", "5 features"]
    assert first[2:] == ["100 / 1,000", "300 / no", "no / no (up to 300)", "left out"]
