"""The command line that replays share."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from unirel.progress import ProgressBar

PRESETS = ("smoke", "small", "full")


def run_command(
    name: str, about: str | None, run: Callable[..., Any], arguments: Sequence[str] | None, extra: Sequence[str] = ()
) -> int:
    """Run a replay with the options given; `extra` are those of "datasets", "classifiers" and "runs" that it knows."""
    options = vars(_parser(name, about, extra).parse_args(arguments))
    try:
        report = run(
            options.pop("data"),
            options.pop("preset"),
            options.pop("journal"),
            options.pop("jobs"),
            options.pop("output"),
            ProgressBar(name),
            **{parameter: value for parameter, value in options.items() if value is not None},
        )
    except (ImportError, OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    print(report.to_markdown(), end="")
    return 0 if report.complete else 1


def _parser(name: str, about: str | None, extra: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m unirel.experiments.{name}", description=about)
    parser.add_argument("--data", metavar="DIR", help="folder with <name>.parquet; UNIREL_DATA if not given")
    parser.add_argument("--preset", choices=PRESETS, default="small", help="how much to compute")
    parser.add_argument("--jobs", type=int, default=None, help="workers; -1 for one for each core")
    parser.add_argument("--journal", metavar="FILE", help="keep finished work in FILE, one for each dataset, and go on")
    parser.add_argument("--output", metavar="DIR", help="folder for CSV and Markdown; nothing is written if not given")
    if "datasets" in extra:
        parser.add_argument("--datasets", metavar="NAMES", type=_split, help="only these, separated by commas")
    if "classifiers" in extra:
        parser.add_argument("--classifiers", metavar="NAMES", type=_split, help="only these of rf, knn, svm")
    if "runs" in extra:
        parser.add_argument("--runs", dest="n_runs", type=int, metavar="N", help="another number of random splits")
    return parser


def _split(names: str) -> list[str]:
    return names.split(",")
