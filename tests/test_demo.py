"""The demo: what it prints and the page it writes."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("vl_convert")

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


def test_demo_prints_features_and_writes_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.main(tmp_path / "build")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Selecting 10 features")  # before the wait
    assert lines[2].startswith("Breast cancer: 569 samples, 30 features; 10 selected")
    assert lines[-1] == "Report: build/breast_cancer.html"
    assert sum(bool(re.match(r" +\d+  \w", line)) for line in lines) == 10
    page = (tmp_path / "build" / "breast_cancer.html").read_text(encoding="utf-8")
    assert 'id="chart-accuracy"' in page
    assert "worst concave points" in page
