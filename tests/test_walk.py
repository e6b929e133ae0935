"""How many files a reader has to open to follow one call."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unirel import BURSelector

SOURCE = Path(__file__).parents[1] / "src" / "unirel"
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


def files_of(call):
    """Files whose functions a call runs; kernels, mostly compiled and not seen, do not count."""
    files = set()

    def trace(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCE) and path.parent.name != "kernels":
            files.add(path.relative_to(SOURCE).as_posix())

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return files


@pytest.mark.parametrize(("options", "most"), [({"estimator": "knn"}, 15), ({}, 19)], ids=["neighbours", "default"])
def test_one_selection_walks_through_few_files(options, most):
    """The default counts *and* searches neighbours, so it walks through the files of both estimators."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 12)), columns=[f"c{j}" for j in range(12)])
    y = X["c0"] + X["c1"] > 0
    BURSelector("jmi", **options).fit(X, y)  # what is imported or compiled is not part of the walk
    files = files_of(lambda: BURSelector("jmi", **options).fit(X, y))
    assert len(files) <= most, sorted(files)
    walk = CONTRIBUTING.read_text(encoding="utf-8").split("## The walk of one call")[1].split("## ")[0]
    assert [file for file in sorted(files) if file not in walk and Path(file).name not in walk] == []
