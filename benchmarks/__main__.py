"""Run the benchmarks named on the command line, or all of them."""

import argparse
import importlib
import pkgutil

import numba
import numpy as np
import scipy
import sklearn

import benchmarks
import unirel

# What is no benchmark of time: helpers, and what has commands of its own, such as quality, which takes hours.
OTHERS = ("__main__", "timing", "quality", "quality_selectors", "quality_bins", "designs", "truth", "truth_tasks")
OTHERS += ("tabarena", "validity", "levels", "intervals", "advice")
NAMES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in OTHERS]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time unirel beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes only, to see that everything runs")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print(
        f"unirel {unirel.__version__}, numpy {np.__version__}, numba {numba.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}; one thread each; ~ marks a time extrapolated from a part of the work"
    )
    for name in arguments.names or NAMES:
        importlib.import_module(f"benchmarks.{name}").main(arguments.quick)


if __name__ == "__main__":
    main()
