"""The long run: ``PYTHONPATH=tests python -m fuzz --seconds 600``; `make fuzz` does it."""

import argparse
import sys

from fuzz.runner import fuzz_in_processes


def main():
    parser = argparse.ArgumentParser(prog="fuzz", description="Random tables against an independent oracle.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on")
    parser.add_argument("--tables", type=int, help="how many tables at most")
    parser.add_argument("--seed", type=int, default=0, help="where to start; other seeds are other tables")
    parser.add_argument("--plain", action="store_true", help="leave out columns that scaling finds hard")
    parser.add_argument("--failures", type=int, default=5, help="stop after that many failures")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the tables")
    given = parser.parse_args()
    extreme = not given.plain
    return fuzz_in_processes(given.jobs, given.seconds, given.seed, given.tables, extreme, given.failures)


if __name__ == "__main__":
    sys.exit(main())
