"""The README's examples run, and its first command is there."""

import csv
import re
from pathlib import Path

import pytest
from newcomer import first_command
from test_docs import Block, commands, run_command, write_measurements

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 2
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert len(namespace["selector"].get_feature_names_out()) == 10


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_commands_run(tmp_path, monkeypatch, capsys):
    for library in ("pandas", "typer", "pyarrow", "vl_convert"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    write_measurements()
    found = [
        words for code in re.findall(r"```bash\n(.*?)```", README, re.S) for words in commands(Block("", "", code, 0))
    ]
    assert len(found) >= 7
    for words in found:
        run_command(words)
    assert {"page.html", "small.parquet"} <= {path.name for path in tmp_path.iterdir()}


def test_the_first_command_is_a_target():
    make, target = first_command(README)
    assert make == "make"
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


# How the README calls selectors and groups of datasets, and how the results do.
SELECTORS = {
    "`BURSelector()`": "unirel (default)",
    "the same without boost": "unirel without boost",
    "LightGBM, gain": "LightGBM: gain",
    "lasso path (scikit-learn)": "scikit-learn: lasso path",
    "F ranking (scikit-learn)": "scikit-learn: F ranking",
}
GROUPS = ("the paper's", "more, classes", "more, regression")


def test_the_figures_of_quality_are_those_of_the_results():
    with (ROOT / "docs" / "results" / "quality_overall.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["datasets"], row["selector"]): row for row in csv.DictReader(file)}
    shown = [line.strip("| ").split(" | ") for line in README.splitlines() if line.startswith("| ")]
    shown = {cells[0]: cells[1:] for cells in shown if cells[0] in SELECTORS}
    assert set(shown) == set(SELECTORS)
    for name, cells in shown.items():
        areas = [float(rows[group, SELECTORS[name]]["area 1-10"]) for group in GROUPS]
        rank = float(rows["all", SELECTORS[name]]["mean rank 1-10"])
        assert cells == [*(f"{area:.1f}" for area in areas), f"{rank:.1f}"]
