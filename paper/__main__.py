"""``python -m paper [NAME ...]``: compute tables of the paper again, beside the published ones."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from paper.accuracy import CLASSIFIERS, PRESETS, Asked
from paper.datasets import VARIABLE, catalog

NAMES = ("dataset_table", "redundancy_sonar", "accuracy_ksg", "accuracy_clf", "genes")


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if not given.names:
        for name in NAMES:
            print(f"{name:<18}{(import_module(f'paper.{name}').__doc__ or '').splitlines()[0]}")
        return 0
    asked = Asked(
        given.preset,
        given.data,
        given.jobs,
        given.journal,
        _listed(given.datasets),
        _listed(given.classifiers),
        given.runs,
        given.tables_only,
    )
    try:
        for name in NAMES if given.names == ["all"] else given.names:
            tables = import_module(f"paper.{name}").compute(asked)
            if given.output is not None:
                tables.write(given.output)
            print(tables.to_markdown(), end="")
    except KeyboardInterrupt:
        print("interrupted; the same command resumes from its journal", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"python -m paper: {error}", file=sys.stderr)
        return 1
    return 0


def _listed(names: str | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names.split(","))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("names", nargs="*", choices=(*NAMES, "all", []), metavar="NAME", help="tables; none lists them")
    parser.add_argument("--preset", choices=tuple(PRESETS), default="small", help="how much to compute")
    parser.add_argument("--data", metavar="DIR", help=f"folder with <name>.parquet; ${VARIABLE} if not given")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where tables are written")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="keep finished work here, and resume from it")
    parser.add_argument("--datasets", metavar="NAMES", help=f"only these of {', '.join(catalog())}")
    parser.add_argument("--classifiers", metavar="NAMES", help=f"only these of {', '.join(CLASSIFIERS)}")
    parser.add_argument("--runs", type=int, metavar="N", help="another number of random splits")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes")
    parser.add_argument("--tables-only", action="store_true", help="make tables of what the journal holds")
    return parser


if __name__ == "__main__":
    sys.exit(main())
