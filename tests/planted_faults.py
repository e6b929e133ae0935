"""Whether the quick tests notice faults: 20 are planted, one at a time, in a copy of the tree.

`make planted` prints which test has caught each of them. The tests that are most likely to notice run first, then all
others; a fault that none of them notices is missed, and lacks a test.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# What a copy does without: it is large, or says where the checkout is.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "build", "dist", "_build", "generated")
# This test finds every fault, since it compares texts.
COMPARES_TEXTS = "tests/test_planted_faults.py"


class Fault(NamedTuple):
    """A piece of text in a file of the package, which occurs there once, what is written instead, and where to look."""

    name: str
    file: str
    text: str
    instead: str
    near: str  # the tests that run first: a file in the folder of tests, or a test of it

    @property
    def path(self):
        return Path("src/unirel") / self.file

    def planted(self, source):
        """The source with the fault in it."""
        if source.count(self.text) != 1:
            raise ValueError(f"{self.name}: {self.text!r} occurs {source.count(self.text)} times in {self.path}")
        return source.replace(self.text, self.instead)


FAULTS = (
    Fault(
        "the point itself is counted in its ball",
        "estimation/kernels/line.py",
        "upper - lower - 1",
        "upper - lower",
        "estimation/kernels/test_line.py::test_ross_on_line",
    ),
    Fault(
        "all classes count as the own one where distances tie",
        "estimation/kernels/ties.py",
        "ross_term(n_neighbors, count_both(own, limits)",
        "ross_term(n_neighbors, count_both(distances, limits)",
        "estimation/kernels/test_subsets.py::test_nested",
    ),
    Fault(
        "margins of target and fixed columns are swapped",
        "estimation/binned.py",
        "margins.xs + margins.sy - margins.s - margins.xsy",
        "margins.xy + margins.sy - margins.y - margins.xsy",
        "estimation/test_chance.py::test_many_columns_given_others_equal_twin",
    ),
    Fault(
        "chance is not subtracted within levels",
        "estimation/binned.py",
        "margins.xsy - margins.x_by_chance_within_s",
        "margins.xsy",
        "estimation/test_chance.py::test_many_columns_given_others_equal_twin",
    ),
    Fault(
        "the last row of the last word is lost",
        "estimation/kernels/bitsets.py",
        "range(64 * whole, n_rows)",
        "range(64 * whole, n_rows - 1)",
        "estimation/kernels/test_counts.py::test_bits_equal_direct_counting",
    ),
    Fault(
        "a quantile that a rank just reaches is no edge",
        "data/kernels.py",
        "n_bins * ranks / weights >= shares",
        "n_bins * ranks / weights > shares",
        "estimation/test_binned.py::test_equal_frequency",
    ),
    Fault(
        "a missing value is in the lowest bin",
        "data/kernels.py",
        "reached[row] if numbers[row] == numbers[row] else n_bins[place]",
        "reached[row]",
        "estimation/test_binned.py::test_codes_are_bins_of_every_column",
    ),
    Fault(
        "columns named by whole numbers lose their names",
        "data/readers.py",
        "numbered=numbered_names(frame.columns)",
        "numbered={}",
        "data/test_table.py",
    ),
    Fault(
        "unique relevance is found without weights",
        "search/greedy.py",
        "columns, self._settings, self._sample_weight\n",
        "columns, self._settings, None\n",
        "test_selectors.py::test_whole_weights_are_repeated_rows",
    ),
    Fault(
        "ties are broken to the highest column",
        "search/steps.py",
        "np.flatnonzero(tied)[0]",
        "np.flatnonzero(tied)[-1]",
        "search/test_greedy.py::test_of_two_copies_the_first_wins",
    ),
    Fault(
        "beta is ignored",
        "search/boost.py",
        "beta *= self.credit",
        "beta = 0.5 * self.credit",
        "search/test_boost.py::test_blend_equals_formula",
    ),
    Fault(
        "weights stay behind when the target is permuted",
        "search/stopping.py",
        "np.divide(terms, self._roots), left * self._roots",
        "np.divide(terms, self._roots), left / self._roots",
        "search/test_stopping.py::test_weights_decide_which_relation_is_tested",
    ),
    Fault(
        "a p-value may be 0",
        "estimation/permutation.py",
        "(self.reached + 1) / (self.used + 1)",
        "self.reached / self.used",
        "inference/test_tests.py::test_p_values_are_those_of_plain_calls_of_relevance",
    ),
    Fault(
        "a mean is divided by one term too many",
        "criteria.py",
        "folded / n_selected",
        "folded / (n_selected + 1)",
        "search/test_greedy.py::test_order_equals_twin",
    ),
    Fault(
        "the loss has the wrong sign",
        "predictors.py",
        "float(-np.log(",
        "float(np.log(",
        "test_predictors.py::test_equals_a_plain_loop",
    ),
    Fault(
        "tasks do not look at the clock",
        "_runtime.py",
        "        check_time()\n        return function(task)\n",
        "        return function(task)\n",
        "test_budget.py::test_the_clock_is_looked_at_before_every_task",
    ),
    Fault(
        "a file is written in place",
        "_runtime.py",
        "        yield temporary\n        temporary.replace(path)\n",
        "        yield path\n",
        "data/test_atomic.py",
    ),
    Fault(
        "NaN is a text in JSON",
        "documents.py",
        "None if np.isnan(value) else str(value)",
        "str(value)",
        "test_results.py::test_not_a_number_is_none",
    ),
    Fault(
        "names are not escaped in the page",
        "report/page.py",
        "autoescape=True",
        "autoescape=False",
        "report/test_report.py::test_names_are_escaped",
    ),
    Fault(
        "the exit code forgets an interrupt",
        "cli/__init__.py",
        "Exit.INTERRUPTED if heard or code is None",
        "Exit.INTERRUPTED if code is None",
        "cli/test_interrupts.py",
    ),
)


def caught_by(fault, folder):
    """The first test that fails with a fault in a copy of the tree; None if all pass."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)  # times of files too, by which compiled kernels are found
    path = folder / fault.path
    path.write_text(fault.planted(path.read_text(encoding="utf-8")), encoding="utf-8")
    near = f"tests/{fault.near}"
    return run_tests(folder, near) or run_tests(folder, near.partition("::")[0]) or run_tests(folder, "-n", "auto")


def run_tests(folder, *arguments):
    """The first test that fails; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--ignore={COMPARES_TEXTS}"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run([*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    if failed is None:
        raise RuntimeError(f"the tests cannot be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="the faults whose name has this in it")
    wanted = parser.parse_args().only or ""
    faults, n_caught = [fault for fault in FAULTS if wanted in fault.name], 0
    for fault in faults:
        with tempfile.TemporaryDirectory() as folder:
            test = caught_by(fault, Path(folder) / "tree")
        n_caught += test is not None
        print(f"{fault.path}: {fault.name}: {f'caught by {test}' if test else 'missed'}", flush=True)
    print(f"{n_caught} of {len(faults)} caught")
    sys.exit(n_caught < len(faults))


if __name__ == "__main__":
    main()
