"""How many files a reader has to open to follow one call."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from unirel import BURSelector
from unirel.cli import main

SOURCE = Path(__file__).parents[1] / "src" / "unirel"
WALK = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## The walk of one call")[1]
KERNELS = {"kernels", "jit"}  # mostly compiled and not seen: they do not count, nor does what calls them


def files_of(call):
    """Files whose functions a call runs; what is imported or compiled on the first call is not part of the walk."""
    call()
    called = set()

    def trace(frame, event, argument):  # of millions of calls: paths are looked at once, at the end
        called.add(frame.f_code.co_filename)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    paths = [Path(name) for name in called if name.startswith(f"{SOURCE}{os.sep}") and name.endswith(".py")]
    return {path.relative_to(SOURCE).as_posix() for path in paths if not KERNELS & {path.parent.name, path.stem}}


def make_frame():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 12)), columns=[f"c{j}" for j in range(12)])
    return X, X["c0"] + X["c1"] > 0


def test_one_selection_walks_through_few_files():
    X, y = make_frame()
    files = files_of(lambda: BURSelector().fit(X, y))
    assert len(files) <= 16, sorted(files)
    walk = WALK.split("`unirel select")[0]
    assert [file for file in sorted(files) if file not in walk] == []


def test_a_page_from_the_command_line_walks_through_few_files(tmp_path, capsys):
    X, y = make_frame()
    X.assign(target=y).to_csv(tmp_path / "table.csv", index=False)
    command = [
        "select",
        str(tmp_path / "table.csv"),
        "-t",
        "target",
        "-k",
        "3",
        "--report",
        str(tmp_path / "page.html"),
    ]
    files = files_of(lambda: main(command))
    assert len(files) <= 47, sorted(files)
    assert [file for file in sorted(files) if file not in WALK.split("## ")[0]] == []
