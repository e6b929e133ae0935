"""What `import unirel` does, and does not do."""

import ast
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

import unirel

HEAVY = ["numba", "numpy", "scipy", "sklearn", "joblib", "narwhals", "pandas", "polars", "pyarrow", "matplotlib"]


def run(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    ).stdout.split()


def test_import_loads_nothing_heavy():
    loaded = run("import sys, unirel; print(*{name.split('.')[0] for name in sys.modules})")
    assert "unirel" in loaded
    assert not set(HEAVY) & set(loaded)


def test_a_short_command_on_a_file_imports_what_it_needs(tmp_path):
    rows = [f"{n % 7}.5,{n * 37 % 101}.25,{n % 2}" for n in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,y", *rows]))
    code = "import sys; from unirel.cli import main; main(['select', sys.argv[1], '-t', 'y', '--json'])"
    code += "; print(*{name for name in sys.modules}, file=sys.stderr)"
    command = [sys.executable, "-c", code, str(tmp_path / "table.csv")]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stderr.split()
    assert "unirel.search.greedy" in loaded
    # These take most of what a short command takes.
    assert not {"sklearn", "scipy.stats", "pandas", "matplotlib", "altair"} & set(loaded)


def test_import_writes_no_file(tmp_path):
    code = "import unirel, unirel.estimation.kernels; dir(unirel); unirel.__version__"
    run(
        code,
        HOME=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path),
        NUMBA_CACHE_DIR=str(tmp_path),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert not list(tmp_path.rglob("*"))


def test_star_import_works_and_compiles_nothing(tmp_path):
    assert run("from unirel import *; print(relevance.__name__)", NUMBA_CACHE_DIR=str(tmp_path)) == ["relevance"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_dir_lists_every_public_name():
    assert set(unirel.__all__) <= set(dir(unirel))
    assert {"mutual_information", "relevance", "conditional_relevance", "irrelevance"} <= set(unirel.__all__)


@pytest.mark.parametrize("name", unirel.__all__)
def test_every_public_name_loads(name):
    assert getattr(unirel, name) is getattr(unirel, name)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'unirel' has no attribute 'relevanse'"):
        _ = unirel.relevanse


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(unirel.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.asname: node.module for node in block.body for alias in node.names}
    assert typed == unirel._HOME


# Versions that are known to fail: every command, or so said their makers.
TOO_OLD = {"typer": (0, 19, 0), "pytest-xdist": (3, 6, 0)}


def test_every_dependency_has_one_lower_bound_that_is_not_known_to_fail():
    from lower_bounds import lower_bounds

    bounds = lower_bounds()
    assert {"numpy", "numba", "scikit-learn", "narwhals", "typer", "pandas"} <= set(bounds)
    for name, version in TOO_OLD.items():
        assert tuple(map(int, bounds[name].split("."))) > version


def test_version_is_the_installed_one():
    assert unirel.__version__ == importlib.metadata.version("unirel")
