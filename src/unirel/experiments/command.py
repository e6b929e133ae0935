"""The command line that replays share."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from unirel.work import ProgressBar

PRESETS = ("smoke", "small", "full")


def run_command(
    name: str, about: str | None, run: Callable[..., Any], arguments: Sequence[str] | None, extra: Sequence[str] = ()
) -> int:
    """Run a replay with the options given; `extra` are those beside the common ones that it knows."""
    try:
        given = vars(_parser(name, about, extra).parse_args(arguments))
        report = run(progress=ProgressBar(name), **{name: value for name, value in given.items() if value is not None})
    except (ImportError, OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    print(report.to_markdown(), end="")
    return 0 if report.complete else 1


class _Parser(argparse.ArgumentParser):
    """Leaves it to the command to say what is wrong, in one line like everything else."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; --help lists what it takes")


def _parser(name: str, about: str | None, extra: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"python -m unirel.experiments.{name}", description=about)
    add = parser.add_argument
    add("--data", dest="data_home", metavar="DIR", help="folder with <name>.parquet; UNIREL_DATA if not given")
    add("--preset", choices=PRESETS, default="small", help="how much to compute")
    add("--jobs", dest="n_jobs", type=int, metavar="JOBS", help="workers; -1 for one for each core")
    add("--output", metavar="DIR", help="folder for CSV and Markdown; nothing is written if not given")
    if "journal" in extra:
        add("--journal", metavar="FILE", help="keep finished work in FILE, one for each dataset, and go on")
    if "datasets" in extra:
        add("--datasets", metavar="NAMES", type=_split, help="only these, separated by commas")
    if "classifiers" in extra:
        add("--classifiers", metavar="NAMES", type=_split, help="only these of rf, knn, svm")
    if "runs" in extra:
        add("--runs", dest="n_runs", type=int, metavar="N", help="another number of random splits")
    return parser


def _split(names: str) -> list[str]:
    return names.split(",")
