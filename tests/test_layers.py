"""Who may import whom: each layer only what its line names, and no layer one that stands below it."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unirel"

# From the bottom up. The standard library and a layer's own package are always allowed.
LAYERS = {
    "_version": [],
    "errors": [],
    "atomic": [],
    "frames": [],
    "notebook": [],
    "weights": ["numpy"],
    "work": ["joblib"],
    "options": ["unirel.criteria.CRITERIA", "unirel.estimation.ESTIMATORS", "unirel._runtime"],
    "results": ["numpy", "unirel.data.frames", "unirel.notebook"],
    "findings": ["numpy", "scipy", "unirel.results"],
    "kernels": ["numpy", "numba", "unirel._runtime"],
    "reading": ["numpy", "narwhals", "unirel.options"],
    "coding": ["numpy", "unirel._runtime", "unirel.options", "unirel.estimation.kernels", "unirel.data.reading"],
    "sparse": ["numpy", "unirel.data.reading", "unirel.data.coding"],
    "table": [
        "numpy",
        "unirel.errors",
        "unirel.options",
        "unirel.data.reading",
        "unirel.data.coding",
        "unirel.data.sparse",
    ],
    "parts": [
        "numpy",
        "pyarrow",
        "dask",
        "distributed",
        "datasketches",
        "unirel.options",
        "unirel.estimation.kernels",
        "unirel.data.reading",
        "unirel.data.coding",
        "unirel.data.table",
        "unirel.data.weights",
    ],
    "information": [
        "numpy",
        "scipy.sparse",
        "scipy.spatial",
        "scipy.special",
        "sklearn.neural_network",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.estimation.kernels",
        "unirel.data.reading",
        "unirel.data.coding",
        "unirel.data.sparse",
        "unirel.data.table",
        "unirel.data.weights",
        "unirel.data.parts",
    ],
    "intervals": ["numpy", "unirel._runtime", "unirel.data.table", "unirel.estimation"],
    "measures": [
        "numpy",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.data.parts",
        "unirel.estimation",
        "unirel.estimation.intervals",
    ],
    "significance": [
        "numpy",
        "scipy.special",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.measures",
    ],
    "sampling": ["numpy", "unirel.data.reading", "unirel.data.table", "unirel.data.parts", "unirel.data.weights"],
    "classifiers": [
        "numpy",
        "scipy",
        "sklearn",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.estimation.kernels",
        "unirel.data.table",
    ],
    "criteria": ["numpy", "unirel.options"],
    "unique": [
        "numpy",
        "unirel.results",
        "unirel.estimation.intervals",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.data.table",
        "unirel.data.parts",
        "unirel.estimation",
        "unirel.data.sampling",
        "unirel.classifiers",
    ],
    "evidence": [
        "numpy",
        "scipy.special",
        "unirel.data.weights",
        "unirel._runtime",
        "unirel.data.table",
        "unirel.data.parts",
        "unirel.estimation",
        "unirel.data.sampling",
    ],
    "search": [
        "numpy",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.criteria",
        "unirel.search.unique",
        "unirel.search.stopping",
    ],
    "path": [
        "numpy",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.parts",
        "unirel.criteria",
        "unirel.search.greedy",
    ],
    "analysis": [
        "numpy",
        "scipy",
        "unirel.errors",
        "unirel.options",
        "unirel.results",
        "unirel.inference.findings",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.data.sampling",
    ],
    "redundancy": [
        "numpy",
        "unirel.errors",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.criteria",
        "unirel.search.unique",
        "unirel.search.greedy",
    ],
    "folds": [
        "numpy",
        "unirel.errors",
        "unirel.options",
        "unirel.results",
        "unirel.data.reading",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.criteria",
        "unirel.search.greedy",
    ],
    "selectors": [
        "numpy",
        "scipy",
        "sklearn",
        "unirel.errors",
        "unirel.options",
        "unirel.results",
        "unirel.data.reading",
        "unirel.data.table",
        "unirel.data.parts",
        "unirel.criteria",
        "unirel.search.greedy",
        "unirel._runtime",
    ],
    "selector_cv": [
        "numpy",
        "sklearn",
        "unirel._runtime",
        "unirel.options",
        "unirel.data.reading",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.search.greedy",
        "unirel.search.folds",
        "unirel.selectors",
    ],
    "datasets": ["numpy", "narwhals", "sklearn", "unirel.errors", "unirel.options", "unirel.search.unique"],
    "evaluation": [
        "numpy",
        "scipy",
        "sklearn",
        "joblib",
        "unirel.data.atomic",
        "unirel.errors",
        "unirel.data.frames",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.measures",
        "unirel.classifiers",
        "unirel.criteria",
        "unirel.search.unique",
        "unirel.search.greedy",
        "unirel.search.folds",
        "unirel.selectors",
        "unirel.datasets",
    ],
    "stability": [
        "numpy",
        "scipy",
        "sklearn",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.data.reading",
        "unirel.data.table",
        "unirel.evaluation",
    ],
    "experiments": [
        "numpy",
        "unirel.errors",
        "unirel.data.atomic",
        "unirel.options",
        "unirel.results",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.classifiers",
        "unirel.search.unique",
        "unirel.search.greedy",
        "unirel.search.path",
        "unirel.inference.redundancy",
        "unirel.search.folds",
        "unirel.selectors",
        "unirel.datasets",
        "unirel.evaluation",
    ],
    "plotting": ["numpy", "matplotlib", "unirel.results", "unirel.inference.findings"],
    "report": [
        "numpy",
        "sklearn",
        "threadpoolctl",
        "jinja2",
        "altair",
        "unirel.errors",
        "unirel.data.atomic",
        "unirel.notebook",
        "unirel._runtime",
        "unirel.options",
        "unirel.results",
        "unirel.inference.findings",
        "unirel.data.table",
        "unirel.estimation",
        "unirel.classifiers",
        "unirel.inference.tests",
        "unirel.search.greedy",
        "unirel.inference.relations",
        "unirel.search.folds",
        "unirel.selectors",
        "unirel.inference.stability",
    ],
    "cli": [
        "numpy",
        "typer",
        "rich",
        "pyarrow",
        "unirel._version",
        "unirel.errors",
        "unirel.data.atomic",
        "unirel._runtime",
        "unirel.options",
        "unirel.data.table",
        "unirel.data.parts",
        "unirel.estimation",
        "unirel.results",
        "unirel.inference.findings",
        "unirel.inference.tests",
        "unirel.inference.relations",
        "unirel.inference.redundancy",
        "unirel.data.sampling",
        "unirel.datasets",
        "unirel.evaluation",
        "unirel.experiments",
        "unirel.report",
        "unirel.BURSelector",
    ],
    "__init__": ["unirel._version"],
}
# Lists of names, which import nothing: options must know them before anything else is loaded.
NAMES = {
    "unirel.criteria.CRITERIA",
    "unirel.estimation.ESTIMATORS",
    "unirel.BURSelector",
    "unirel.selection_stability",
}
# What is run, not imported.
PROGRAMS = {"experiments/__main__.py"}


def layer_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_names(path):
    """Dotted names that `path` imports anywhere, except for type checkers only."""
    nodes = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = ["unirel", *path.relative_to(SOURCE).parts]
            start = parents[: len(parents) - node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        nodes.extend(ast.iter_child_nodes(node))


def is_within(name, allowed):
    return name == allowed or name.startswith(allowed + ".")


def violations(path):
    layer = layer_of(path)
    allowed = [*LAYERS[layer], f"unirel.{layer}"]
    for line, name in sorted(imported_names(path)):
        if name.split(".")[0] not in sys.stdlib_module_names and not any(is_within(name, a) for a in allowed):
            yield f"{path.name}:{line} imports {name}; '{layer}' may import {', '.join(allowed)}"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_what_its_layer_may(path):
    if path.relative_to(SOURCE).as_posix() in PROGRAMS:
        return
    layer = layer_of(path)
    assert layer in LAYERS, f"'{layer}' has no line in LAYERS: add one that says what it may import"
    assert not list(violations(path))


def test_a_layer_names_only_layers_above_it():
    seen = set()
    for layer, allowed in LAYERS.items():
        below = [name for name in allowed if name.startswith("unirel.") and name not in seen | NAMES]
        assert not below, f"'{layer}' names {below}, which the table lists later"
        seen.add(f"unirel.{layer}")


def test_every_line_of_the_table_exists():
    assert {layer_of(path) for path in SOURCE.rglob("*.py")} == set(LAYERS)


def test_a_forbidden_import_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    path = tmp_path / "table.py"
    path.write_text(
        "import numpy as np\nfrom .errors import UnirelWarning\nfrom . import measures\ndef f():\n    import pandas"
    )
    assert [message.split(";")[0] for message in violations(path)] == [
        "table.py:3 imports unirel.measures",
        "table.py:5 imports pandas",
    ]


def test_contributing_shows_the_layers_as_they_are():
    """Every layer has a row in the table, and imports nothing from a row below its own."""
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("## The layers")[1].split("## ")[0]
    rows = [row.split("|")[2] for row in table.splitlines() if row.startswith("| ") and "`" in row]
    row_of = {name.strip("`/"): number for number, row in enumerate(rows) for name in row.split()}
    shown = [layer for layer in LAYERS if not layer.startswith("_")]
    assert sorted(row_of) == sorted(shown)
    for layer in shown:
        imported = {name.split(".")[1] for name in LAYERS[layer] if name.startswith("unirel.") and name not in NAMES}
        assert [name for name in imported if row_of.get(name, 0) > row_of[layer]] == [], layer


def test_a_class_name_means_one_thing():
    homes = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert twice == {}
