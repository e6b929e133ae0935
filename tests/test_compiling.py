"""How many kernels are compiled, and what happens meanwhile: it is said once, no garbage is collected, Ctrl-C waits."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.compiler_lock import global_compiler_lock

from unirel._runtime import Compiling
from unirel.data.jit import _files, _Listener

CODE = """
from unirel._runtime import COMPILING, Compiling, progress_of
Compiling._SECONDS = %s
progress_of(%s, "testing")
import numpy as np
from unirel.data.kernels import _find_bins
_find_bins.compiled(np.zeros((1, 2)), np.zeros((1, 1)), np.ones(1, int), np.zeros(2, int), np.zeros((1, 2), np.uint8))
"""


SAID = "unirel: compiling what is used here for the first time; it is kept for later calls\n"


def run(folder, verbose, seconds=0.001):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    code = CODE % (seconds, verbose)
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stderr


def test_it_is_said_where_the_cache_is_cold(tmp_path):
    assert run(tmp_path / "quiet", False) == ""
    assert run(tmp_path / "cache", True) == SAID
    assert run(tmp_path / "cache", True) == ""


def test_it_is_not_said_if_it_is_soon_done(tmp_path):
    assert run(tmp_path, True, seconds=1000) == ""


# Runs a fit and two commands, and prints after each every kernel as often as there are types it was compiled for.
KERNELS = """
import contextlib, io, sys
from numba.core.dispatcher import Dispatcher
from sklearn.datasets import load_breast_cancer
from unirel import BURSelector
from unirel.cli import main

def print_kernels():
    modules = [module for name, module in sys.modules.items() if name.startswith("unirel.")]
    known = {getattr(one, "compiled", one) for module in modules for one in vars(module).values() if callable(one)}
    kernels = [one for one in known if isinstance(one, Dispatcher)]
    print(*(one.py_func.__name__ for one in kernels for _ in one.signatures))

BURSelector().fit(*load_breast_cancer(return_X_y=True, as_frame=True))
print_kernels()
for command in ("select", "report"):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([command, "breast_cancer", "-k", "6"]) == 0
    print_kernels()
"""


def test_few_kernels_are_compiled_for_the_first_answers(tmp_path):
    call = [sys.executable, "-c", KERNELS]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # what is on the disk is loaded sooner
    printed = subprocess.run(call, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment).stdout
    fit, select, report = (line.split() for line in printed.splitlines())
    # What counts has twins in numpy, which are quick enough here; a busy machine may be short of patience.
    assert "_count_in_classes" in fit
    assert len(fit) <= 2, fit
    assert len(select) <= 3, select
    assert len(report) <= 4, report


CUT = """
import numpy as np
from unirel.estimation.kernels import bins
from unirel.estimation.kernels.counts import known_n_log_n

bins._find_cut = bins._find_cut.compiled
values, labels, edges = np.arange(40.0)[None], np.arange(40)[None] // 20, np.zeros((1, 4))
print(*bins.description_edges(values, np.array([40]), labels, np.ones((1, 40)), 2, known_n_log_n(1), edges))
"""


def test_an_edit_of_what_a_kernel_calls_is_seen(tmp_path):
    """Numba itself compares only the file of the kernel, and ran on with old machine code."""
    package = tmp_path / "unirel"
    shutil.copytree(Path(__file__).parents[1] / "src" / "unirel", package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def number_of_edges():
        command = [sys.executable, "-c", CUT]
        return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

    assert number_of_edges() == 1
    called = package / "estimation" / "kernels" / "counts.py"
    text = called.read_text(encoding="utf-8")
    called.write_text(text.replace("    return number * np.log(number)", "    return 0.0"), encoding="utf-8")
    assert number_of_edges() == 0


def test_every_file_with_kernels_is_looked_at():
    package = Path(__file__).parents[1] / "src" / "unirel"
    users = {
        path
        for path in package.rglob("*.py")
        if "import unirel.data.jit" in (text := path.read_text()) or "unirel.data.jit import" in text
    }
    assert len(users) > 5
    assert users <= set(_files)


def test_it_is_said_once_after_a_second_of_compiling(capsys, monkeypatch):
    """It was said of every kernel, however soon it was done, and as if there were no other one to come."""
    clock = [100.0]
    monkeypatch.setattr("unirel._runtime.time.monotonic", lambda: clock[0])
    compiling = Compiling()

    def compile_for(seconds):
        compiling.begin()
        compiling.begin()  # what the kernel calls
        clock[0] += seconds
        compiling.end()
        compiling.end()
        clock[0] += 50  # other work
        return capsys.readouterr().err

    assert compile_for(3.0) == ""  # nobody wants to know
    compiling = Compiling()
    compiling.announce()
    assert [compile_for(0.6), compile_for(0.6), compile_for(5.0)] == ["", SAID, ""]
    compiling.announce()  # by another command of the process
    assert compile_for(5.0) == ""


@pytest.mark.parametrize("collecting", [True, False])
def test_no_garbage_is_collected_meanwhile(collecting, monkeypatch):
    monkeypatch.setattr("unirel.data.jit.COMPILING", Compiling())
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


def test_ctrl_c_is_held_back_while_numba_works():
    """And raised as soon as it is done, whatever was nested; another handler than Python's own has its turn then."""
    reached = []

    def compile_two():
        with global_compiler_lock:
            with global_compiler_lock:
                signal.raise_signal(signal.SIGINT)
            reached.append("inside")

    with pytest.raises(KeyboardInterrupt):
        compile_two()
    assert reached == ["inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, lambda *_: reached.append("theirs"))
    try:
        with global_compiler_lock:
            signal.raise_signal(signal.SIGINT)
            reached.append("inside again")
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == ["inside", "inside again", "theirs"]


INTERRUPTED = """
import signal
import numpy as np
from llvmlite.binding import executionengine

find = executionengine.ExecutionEngine._find_module_ptr  # which LLVM calls

def interrupted(self, pointer):
    signal.raise_signal(signal.SIGINT)
    return find(self, pointer)

executionengine.ExecutionEngine._find_module_ptr = interrupted
from unirel import relevance

try:
    relevance(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.slow
def test_ctrl_c_in_a_callback_of_the_compiler_is_heard(tmp_path):
    """It would be printed and forgotten there: a fit went on to its end after Ctrl-C."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("heard\n", "")
