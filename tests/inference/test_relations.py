"""Which features determine the target."""

import numpy as np
import pytest

from unirel.data.table import open_table
from unirel.inference import relations


def explained(X, y):
    table, _ = open_table(X, y, "auto", "auto", None)
    return relations._explained(table)


@pytest.mark.parametrize("n_rows", [200, 500, 2000])
@pytest.mark.parametrize("place", ["end", "middle", "missing"])
def test_what_tells_a_class_of_two_percent_is_found(n_rows, place, rng):
    X = rng.standard_normal((n_rows, 3))
    start = n_rows // 2 if place == "middle" else n_rows - n_rows // 50
    y = np.full(n_rows, "no")
    y[np.argsort(X[:, 0])[start : start + n_rows // 50]] = "yes"
    X[:, 0] = np.where((y == "yes") & (place == "missing"), np.nan, X[:, 0])
    found = explained(X, y)
    # Of ten rows or fewer in the middle no shorter description of the classes is found.
    assert found[0] > 0.95 or (place == "middle" and n_rows <= 500)
    assert (found[1:] < 0.5).all()
