"""The benchmarks run, and every line of their tables has a ratio."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.timing import HEADER

ROOT = Path(__file__).parents[1]
RATIO = re.compile(r"\s\d+\.\d+x\s")
DIFFERENCE = re.compile(r"\d\.\de[+-]\d\d$")


def run_benchmarks(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


# Those that compare with a peer; the rest start a process for every number.
# They start processes of their own and compile, so they are not part of the quick tests.
pytestmark = pytest.mark.slow

COMPARED = [name for name in NAMES if name not in ("memory", "reading", "cluster", "first_use", "large")]


def tables(output):
    """Title and lines of each table, which ends with an empty line."""
    lines = output.splitlines()
    for place, line in enumerate(lines):
        if line == HEADER:
            end = lines.index("", place) if "" in lines[place:] else len(lines)
            yield lines[place - 1], lines[place + 1 : end]


def test_a_quick_run_ends_well_and_agrees_with_the_peers():
    """One test, since two workers of pytest would each run the benchmarks."""
    quick = run_benchmarks("--quick", *COMPARED)
    assert quick.returncode == 0, quick.stderr
    assert quick.stderr == ""
    assert quick.stdout.startswith("unirel ")
    found = list(tables(quick.stdout))
    assert len(found) >= len(COMPARED)
    for title, lines in found:
        compared = [line for line in lines if "per row and pair" not in line]
        assert compared, title
        for line in compared:
            assert RATIO.search(line), line
            assert DIFFERENCE.search(line), line
    differences = [float(match.group()) for line in quick.stdout.splitlines() if (match := DIFFERENCE.search(line))]
    assert differences
    assert max(differences) < 1e-8


def test_a_quick_run_of_the_others_ends_well():
    finished = run_benchmarks("--quick", *(name for name in NAMES if name not in COMPARED))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("unirel ")


def test_unknown_name_is_refused():
    finished = run_benchmarks("nonsense")
    assert finished.returncode == 2
    assert "unknown benchmark nonsense" in finished.stderr
    assert all(name in finished.stderr for name in NAMES)
    assert finished.stdout == ""
