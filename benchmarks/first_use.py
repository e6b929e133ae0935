"""The first answer after an installation, when nothing is compiled yet, and the second one.

Each call has a process of its own, the first one an empty cache of machine code. Seconds are those of the processor,
which other work on the machine changes less than those of the clock beside them. A kernel stands there once for each
combination of types that it is compiled for.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

FIT = "BURSelector().fit"
# Seconds that are wished for of the first call and of the second, on an idle machine, and entry kernels.
LIMITS = {
    FIT: (5.0, 0.5, 6),
    "unirel select breast_cancer -k 6": (6.0, 2.0, 7),
    "unirel report breast_cancer -k 6": (8.0, 3.0, 8),
}

# Reports, on the last line of standard error, the seconds of the call and those that each entry kernel took to compile.
CODE = """
import json, sys, time

started = time.perf_counter()
command = sys.argv[1]
if command == "BURSelector().fit":
    from sklearn.datasets import load_breast_cancer
    from unirel import BURSelector
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)

from numba.core import event

class Listener(event.Listener):
    depth, kernels = 0, []

    def on_start(self, _):
        if self.depth == 0:
            self.begin = time.process_time()
        self.depth += 1

    def on_end(self, found):
        self.depth -= 1
        if self.depth == 0:
            self.kernels.append((found.data["dispatcher"].py_func.__name__, time.process_time() - self.begin))

event.register("numba:compile", Listener())
before, begun = time.process_time(), time.perf_counter()
if command == "BURSelector().fit":
    BURSelector().fit(X, y)
    seconds, elapsed = time.process_time() - before, time.perf_counter() - begun
else:
    from unirel.cli import main
    main(command.split()[1:])
    seconds, elapsed = time.process_time(), time.perf_counter() - started  # with what the imports take
print(json.dumps({"seconds": seconds, "elapsed": elapsed, "kernels": Listener.kernels}), file=sys.stderr)
"""


class Run(NamedTuple):
    """What one call took."""

    seconds: float  # of the processor
    elapsed: float  # of the clock
    kernels: list[tuple[str, float]]  # entry kernels that it compiled, and the seconds of each


def run(command: str, cache: str) -> Run:
    """One call in a process of its own, with a cache of machine code in that folder."""
    # Modules are compiled to bytecode when a package is installed, so here they are kept too.
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    call = [sys.executable, "-c", CODE, command]
    done = subprocess.run(call, check=True, capture_output=True, text=True, env=environment, cwd=Path(cache).parent)
    return Run(**json.loads(done.stderr.splitlines()[-1]))


def main(quick: bool) -> None:
    """Print both calls and the kernels of the first."""
    print("\nfirst use: seconds of the processor and of the clock, with an empty cache of kernels and with a full one")
    print(f"{'':<34}{'first':>6}{'limit':>7}{'clock':>7}{'compiling':>11}{'kernels':>9}{'limit':>7}", end="")
    print(f"{'second':>8}{'limit':>7}{'clock':>7}")
    for command, (limit, second_limit, most) in list(LIMITS.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            first, second = run(command, f"{folder}/cache"), run(command, f"{folder}/cache")
        compiling = sum(seconds for _, seconds in first.kernels)
        print(
            f"{command:<34}{first.seconds:>6.1f}{limit:>7g}{first.elapsed:>7.1f}{compiling:>11.1f}"
            f"{len(first.kernels):>9}{most:>7}{second.seconds:>8.1f}{second_limit:>7g}{second.elapsed:>7.1f}",
            flush=True,
        )
        for name, seconds in [*first.kernels, *((f"{name} again", seconds) for name, seconds in second.kernels)]:
            print(f"    {name:<40}{seconds:>6.2f}")
