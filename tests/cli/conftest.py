"""A command line in this process, and a table to try it on."""

import io
import sys
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")


@dataclass
class Finished:
    code: int
    out: str
    err: str

    @property
    def error(self):
        """The one line that says what went wrong."""
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("unirel: ")
        return lines[0].removeprefix("unirel: ")


@pytest.fixture
def unirel(capsys, monkeypatch):
    """Run the command line as `unirel("select", "data.csv", ..., stdin=b"...")`."""
    from unirel._runtime import COMPILING, ProgressBar
    from unirel.cli import main

    # A slow machine must not add lines to what is said.
    monkeypatch.setattr(ProgressBar, "__call__", lambda self, done, total: None)
    monkeypatch.setattr(COMPILING, "announce", lambda: None)

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        return Finished(int(code), *capsys.readouterr())

    return run


def make_columns(n_rows=120):
    """Two features that explain the class, a copy of one of them, noise, and a class with words for names."""
    rng = np.random.default_rng(3)
    a, b, noise = rng.standard_normal((3, n_rows)).round(4)
    label = np.where(a + 0.7 * b > 0, "yes", "no")
    return {"a": a, "b": b, "copy": (a + 0.01 * noise).round(4), "noise": noise, "class": label}


@pytest.fixture
def table(tmp_path):
    """A CSV file."""
    return write_csv(tmp_path / "table.csv", make_columns())


def write_csv(path, columns, delimiter=",", encoding="utf-8"):
    rows = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_bytes(("\n".join(rows) + "\n").encode(encoding))
    return path
