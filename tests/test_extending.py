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
import io, json, sys
from contextlib import redirect_stdout

import unirel
from sklearn.datasets import load_iris
from unirel.cli import main

def printed(*arguments):
    with redirect_stdout(io.StringIO()) as out:
        assert main(arguments) == 0
    return out.getvalue()

X, y = load_iris(return_X_y=True)
options = {"estimator": "correlation", "target_kind": "continuous", "n_features_to_select": 3}
selector = unirel.BURSelector("favourite", beta=0, **options).fit(X, y)
path = unirel.selection_path(X, y, criteria="favourite", betas=0, **options)
flags = ["-c", "favourite", "--estimator", "correlation", "--target-kind", "continuous", "--beta", "0", "-k", "3"]
print(json.dumps({
    "file": unirel.__file__,
    "selector": selector.order_.tolist(),
    "relevance": selector.relevance_.tolist(),
    "path": path.order("favourite", 0).tolist(),
    "command": json.loads(printed("select", "iris", *flags, "--json")),
    "help": printed("select", "--help"),
    "doc": unirel.BURSelector.__doc__,
}))
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
def found(tmp_path_factory):
    """What a package with one more criterion and estimator says."""
    folder = tmp_path_factory.mktemp("package")
    # Compiled kernels are kept beside the source, with its times, and go along.
    shutil.copytree(SOURCE, folder / "unirel")
    add_criterion(folder / "unirel")
    add_estimator(folder / "unirel")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["file"] == str(folder / "unirel" / "__init__.py")
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


def test_the_command_line_knows_them(found):
    assert [feature["feature"] for feature in found["command"]["features"]] == found["selector"]
    assert (found["command"]["criterion"], found["command"]["settings"]["estimator"]) == ("favourite", "correlation")
    assert "|favourite" in found["help"]
    assert "|correlation" in found["help"]


def test_the_documentation_knows_them(found):
    assert '"favourite"}' in found["doc"]
    assert '"correlation"}' in found["doc"]
