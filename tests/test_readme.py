"""The README's examples run, and its first command is there."""

import re
from pathlib import Path

import figures
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


def test_the_figures_of_quality_are_those_of_the_results():
    shown = [line.strip("| ").split(" | ") for line in README.splitlines() if line.startswith("| ")]
    for row in figures.quality_table():
        assert row in shown


def test_the_front_page_of_the_docs_has_no_figures_of_its_own():
    index = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    assert "generated/quality.csv" in index
    assert re.findall(r"\d\.\d", index) == []
    assert {name for name in figures.speedups() if f"|{name}|" in index} == {*re.findall(r"\|(\w+)\|", index)}


def test_the_figures_of_speed_are_those_of_the_results():
    begins = "| relevance of", "| the same, continuous", "| unique relevance", "| the same |", "| JMI"
    lines = [next(line for line in README.splitlines() if line.startswith(begin)) for begin in begins]
    assert [line.strip("| ").split(" | ")[-1] for line in lines] == [*figures.speedups().values()]
    assert f"takes {figures.path_ratio()} times as long as" in README
