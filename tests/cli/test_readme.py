"""The README's examples of the command line do what they say."""

import re
import shlex
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def examples():
    section = README.read_text(encoding="utf-8").split("## Command line")[1].split("\n## ")[0]
    block = re.search(r"```bash\n(.*?)```", section, re.S)[1]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("unirel ")]


@pytest.mark.slow
def test_examples_run(unirel, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    monkeypatch.chdir(tmp_path)
    data.data.assign(diagnosis=data.target_names[data.target]).to_csv("measurements.csv", index=False)
    commands = examples()
    assert len(commands) >= 5
    for command in commands:
        done = unirel(*command)
        assert done.code == 0, (command, done.err)
    assert {"page.html", "selection.json", "small.parquet"} <= {path.name for path in tmp_path.iterdir()}


def test_pictures_are_there():
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / picture).is_file(), picture
