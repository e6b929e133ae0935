"""That kernels are being compiled is said once, and not when they come from the disk."""

import gc
import os
import subprocess
import sys

import pytest

from unirel.kernels._jit import _Listener
from unirel.work import Compiling

CODE = """
from unirel.work import COMPILING, progress_of
progress_of({"progress": None, "verbose": %s}, "testing")
import numpy as np
from unirel.kernels.bins import width_edges
width_edges(np.zeros((1, 2)), 2, np.zeros((1, 1)))
"""


def run(folder, verbose):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    code = CODE % verbose
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stderr


def test_it_is_said_where_the_cache_is_cold(tmp_path):
    assert run(tmp_path / "quiet", False) == ""
    assert run(tmp_path / "cache", True) == "unirel: compiling, once per installation; this takes some seconds\n"
    assert run(tmp_path / "cache", True) == ""


def test_progress_counts_kernels(capsys, monkeypatch):
    now = iter(range(0, 100, 2))
    monkeypatch.setattr("unirel.work.time.monotonic", lambda: float(next(now)))
    compiling = Compiling()
    compiling.announce()
    for _ in range(3):
        compiling.begin()
        compiling.begin()  # one that the first one calls
        compiling.end()
        compiling.end()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "unirel: compiling, once per installation; this takes some seconds"
    assert lines[1] == "unirel: compiling, once per installation: 2 kernels in 4 s"
    assert len(lines) == 4


@pytest.mark.parametrize("collecting", [True, False])
def test_no_garbage_is_collected_meanwhile(collecting, monkeypatch):
    monkeypatch.setattr("unirel.kernels._jit.COMPILING", Compiling())
    listener = _Listener()
    (gc.enable if collecting else gc.disable)()
    try:
        for _ in range(2):
            listener.on_start(None)
            assert not gc.isenabled()
        listener.on_end(None)
        assert not gc.isenabled()
        listener.on_end(None)
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
