"""A new criterion is a class in one file, a new estimator a file and a name in a list: all else finds them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

SOURCE = Path(__file__).parents[1] / "src" / "unirel"

CRITERION = '''
class Favourite(Criterion, name="favourite"):
    """I(x, s; y) of the newest selected s."""

    fold = "latest"

    def term(self, source, candidates, selected):
        return source.joint(candidates, selected[-1:])
'''

ESTIMATOR = '''
"""Mutual information as if all columns were Gaussian."""

import numpy as np

from unirel.estimation.base import Information


class Correlation(Information):
    """From the determinants of correlation matrices."""

    name = "correlation"

    def mutual_information(self, a, b):
        return self._log_volume(a) + self._log_volume(b) - self._log_volume([*a, *b])

    def entropy(self, column):
        return 0.5 * np.log(2 * np.pi * np.e) + self._log_volume([column])

    def _log_volume(self, block):
        values = self.table.values[list(block)].astype(float)
        return 0.5 * np.linalg.slogdet(np.atleast_2d(np.cov(values)) + 1e-9 * np.eye(len(values)))[1]
'''

PROGRAM = """
import json

import unirel
from sklearn.datasets import load_iris

X, y = load_iris(return_X_y=True)
selector = unirel.BURSelector("favourite", 3, beta=0, mi_estimator="correlation", target_type="continuous").fit(X, y)
path = unirel.selection_path(X, y, selector=selector, criteria="favourite", betas=0)
try:
    unirel.BURSelector("favorite", mi_estimator="correlations").fit(X, y)
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "file": unirel.__file__,
    "selector": selector.order_.tolist(),
    "relevance": selector.relevance_.tolist(),
    "path": path.order("favourite", 0).tolist(),
    "refused": refused,
}))
"""

COMMAND = """
import io, json
from contextlib import redirect_stdout

from unirel.cli import main

def printed(*arguments):
    with redirect_stdout(io.StringIO()) as out:
        assert main(arguments) == 0
    return out.getvalue()

flags = ["-c", "favourite", "--estimator", "correlation", "--target-type", "continuous", "--beta", "0", "-k", "3"]
selected = json.loads(printed("select", "iris", *flags, "--json"))
print(json.dumps({"selected": selected, "help": printed("select", "--help")}))
"""


def add_criterion(package):
    """Add a class to the page of criteria, as a contributor would."""
    page = package / "criteria.py"
    before, after = page.read_text(encoding="utf-8").split("_CRITERIA: dict")
    page.write_text(f"{before}{CRITERION}\n\n_CRITERIA: dict{after}", encoding="utf-8")


def add_estimator(package):
    """Add a file and its name."""
    (package / "estimation" / "correlation.py").write_text(ESTIMATOR, encoding="utf-8")
    listing = package / "estimation" / "__init__.py"
    listing.write_text(listing.read_text(encoding="utf-8").replace('")', '", "correlation")'), encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a program with a package that has one more criterion and estimator, and reads what it prints."""
    folder = tmp_path_factory.mktemp("package")
    # Compiled kernels are kept beside the source, with its times, and go along.
    shutil.copytree(SOURCE, folder / "unirel")
    add_criterion(folder / "unirel")
    add_estimator(folder / "unirel")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}

    def run(program):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = folder
    return run


@pytest.fixture(scope="module")
def found(run):
    """What the library says."""
    found = run(PROGRAM)
    assert found["file"] == str(run.folder / "unirel" / "__init__.py")
    return found


def test_the_selector_knows_them(found):
    import numpy as np
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    correlations = np.corrcoef(X.T, y)[-1, :-1]
    assert found["relevance"] == pytest.approx(-0.5 * np.log(1 - correlations**2), rel=1e-6)
    assert found["selector"][0] == int(np.argmax(np.abs(correlations)))


def test_the_path_knows_them(found):
    assert found["path"] == found["selector"]


def test_a_wrong_name_is_answered_with_theirs(found):
    assert "'favourite'" in found["refused"]


def test_the_command_line_knows_them(run, found):
    told = run(COMMAND)
    assert [feature["feature"] for feature in told["selected"]["features"]] == found["selector"]
    settings = told["selected"]["settings"]
    assert (settings["criterion"], settings["mi_estimator"]) == ("favourite", "correlation")
    assert "|favourite" in told["help"]
    assert "|correlation" in told["help"]
