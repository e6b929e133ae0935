"""The folders are the architecture: a module imports from its own layer and from those before it, never upwards."""

import ast
import sys
from pathlib import Path

import pytest

import unirel

SOURCE = Path(__file__).parents[1] / "src" / "unirel"

# From the bottom up, each with the libraries it may import. The standard library is always allowed.
LAYERS = {
    "_version": [],
    "errors": [],
    "_runtime": ["joblib", "tqdm"],
    "documents": ["numpy", "narwhals", "pandas"],
    "results": ["numpy"],
    "data": [
        "numpy",
        "scipy",
        "numba",
        "narwhals",
        "pyarrow",
        "pandas",
        "sklearn",
        "dask",
        "distributed",
        "datasketches",
        "deltalake",
        "duckdb",
        "fsspec",
        "pyiceberg",
        "pyspark",
    ],
    "estimation": ["numpy", "scipy", "numba", "sklearn"],
    "criteria": ["numpy"],
    "predictors": ["numpy", "scipy", "sklearn", "lightgbm"],
    "search": ["numpy", "scipy", "sklearn", "threadpoolctl"],
    "measures": ["numpy"],
    "inference": ["numpy", "scipy", "sklearn", "joblib"],
    "selectors": ["numpy", "scipy", "sklearn", "joblib"],
    "evaluation": ["numpy", "scipy", "sklearn", "joblib", "pandas", "narwhals", "threadpoolctl"],
    "plotting": ["numpy", "scipy", "matplotlib"],
    "report": ["numpy", "scipy", "sklearn", "altair", "jinja2", "markupsafe", "vl_convert", "threadpoolctl"],
    "cli": ["numpy", "narwhals", "pyarrow", "pandas", "sklearn", "typer", "click", "rich", "matplotlib"],
}
ORDER = list(LAYERS)
TOP_LEVEL = {
    "__init__",
    "_runtime",
    "_version",
    "criteria",
    "documents",
    "errors",
    "evaluation",
    "measures",
    "predictors",
    "results",
    "selectors",
}


def layer_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_names(path):
    """Dotted names that `path` imports anywhere, also by a string that begins with the name of the package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} is relative; imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            name = ast.unparse(node.args[0]).strip("f'\"")
            yield node.lineno, name


def violations(path):
    layer = layer_of(path)
    for line, name in imported_names(path):
        package, _, rest = name.partition(".")
        if package == "unirel":
            home = f"{unirel._HOME.get(rest, name)}.{rest}".removeprefix("unirel.")
            if ORDER.index(home.split(".")[0]) > ORDER.index(layer):
                yield f"{path.name}:{line} imports {name}, which stands above '{layer}'"
        elif package not in sys.stdlib_module_names and package not in LAYERS[layer]:
            yield f"{path.name}:{line} imports {package}; '{layer}' may import {', '.join(LAYERS[layer])}"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_is_imported_from_above(path):
    if path != SOURCE / "__init__.py":  # it names what is public, and imports nothing until it is asked for
        assert not list(violations(path))


def test_the_top_level_holds_what_it_should_and_nothing_else():
    assert {path.stem for path in SOURCE.glob("*.py")} == TOP_LEVEL
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(LAYERS) - TOP_LEVEL


def test_the_house_is_small():
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert sum(sizes.values()) <= 23_100
    assert len(sizes) <= 105
    assert {path.name: size for path, size in sizes.items() if size > 450} == {}
