"""The first answer after an installation, when nothing is compiled yet, and the second one.

Each call has a process of its own, the first one an empty cache of machine code. Seconds are those of the processor,
which other work on the machine changes less than those of the clock. A kernel stands there once for each combination
of types that it is compiled for.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
from pathlib import Path

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
before = time.process_time()
if command == "BURSelector().fit":
    BURSelector().fit(X, y)
    seconds = time.process_time() - before
else:
    from unirel.cli import main
    main(command.split()[1:])
    seconds = time.process_time()  # with what the imports take
print(json.dumps({"seconds": seconds, "kernels": Listener.kernels}), file=sys.stderr)
"""


def run(command: str, cache: str) -> tuple[float, list[tuple[str, float]]]:
    """Seconds of one call, and of every entry kernel that it compiles."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    call = [sys.executable, "-c", CODE, command]
    done = subprocess.run(call, check=True, capture_output=True, text=True, env=environment, cwd=Path(cache).parent)
    report = json.loads(done.stderr.splitlines()[-1])
    return report["seconds"], report["kernels"]


def main(quick: bool) -> None:
    """Print both calls and the kernels of the first."""
    print("\nfirst use: seconds of the processor, with an empty cache of kernels and with a full one")
    print(f"{'':<38}{'first':>7}{'limit':>7}{'compiling':>11}{'kernels':>9}{'limit':>7}{'second':>9}{'limit':>7}")
    for command, (limit, second_limit, most) in list(LIMITS.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            cache = f"{folder}/cache"
            first, kernels = run(command, cache)
            second, compiled_again = run(command, cache)
        compiling = sum(seconds for _, seconds in kernels)
        print(
            f"{command:<38}{first:>7.1f}{limit:>7g}{compiling:>11.1f}{len(kernels):>9}{most:>7}"
            f"{second:>9.1f}{second_limit:>7g}",
            flush=True,
        )
        for name, seconds in [*kernels, *((f"{name} again", seconds) for name, seconds in compiled_again)]:
            print(f"    {name:<40}{seconds:>6.2f}")
