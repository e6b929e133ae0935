"""Standard streams that are closed, full or not UTF-8, file names that are not, and names that steer a terminal."""

import io
import json
import os
import subprocess
import sys

import pytest
from cli.conftest import make_columns, write_csv

PROGRAM = [sys.executable, "-c", "import sys; from unirel.cli import main; sys.exit(main())"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def redirect(monkeypatch, encoding, terminal=False):
    """Standard output with another encoding; its bytes."""

    class Stream(io.TextIOWrapper):
        def isatty(self):
            return terminal

    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Stream(content, encoding=encoding))
    return content


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("way", ["table", "--json", "--csv"])
def test_outputs_that_are_not_utf_8(unirel, tmp_path, monkeypatch, encoding, way):
    columns = make_columns()
    columns["größe → ∞"] = columns.pop("a")
    path = write_csv(tmp_path / "data.csv", columns)
    content = redirect(monkeypatch, encoding)
    flags = ["--include", "größe → ∞", *([] if way == "table" else [way])]
    done = unirel("select", path, "-t", "class", "-k", 2, *flags)
    assert (done.code, done.err) == (0, "")
    text = content.getvalue().decode(encoding)
    if way == "--json":
        assert json.loads(text)["features"][0]["name"] == "größe → ∞"
    assert encoding != "utf-8" or "größe → ∞" in text
    if way == "table" and encoding != "utf-8":
        assert "-----" in text
        assert "####" in text


def test_help_for_an_output_that_is_ascii(unirel, monkeypatch):
    content = redirect(monkeypatch, "ascii")
    assert unirel("select", "--help").code == 0
    assert b"--target" in content.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_csv_cannot_steer_the_terminal(unirel, tmp_path, monkeypatch, terminal):
    columns = make_columns()
    columns["\x1b[31mred\u202e"] = columns.pop("a")
    path = write_csv(tmp_path / "data.csv", columns)
    content = redirect(monkeypatch, "utf-8", terminal)
    assert unirel("relevance", path, "-t", "class", "--csv").code == 0
    assert (b"\x1b" in content.getvalue()) == (not terminal)
    assert (b"\\x1b[31mred" in content.getvalue()) == terminal


def run(command, *, cwd, shell=""):
    """Run the program in a shell, with what closes or redirects its streams."""
    words = " ".join(f"'{word}'" for word in [*PROGRAM, *command])
    return subprocess.run(["sh", "-c", f"{words} {shell}"], cwd=cwd, capture_output=True, timeout=120, check=False)


@posix
@pytest.mark.parametrize(
    ("command", "shell", "code", "error"),
    [
        (
            ["relevance", "-", "-t", "class"],
            "<&-",
            2,
            b"unirel: standard input is closed, so there is nothing to read\n",
        ),
        (["--version"], "2>&-", 0, b""),
        (["relevance", "nothing.csv", "-t", "class"], "2>&-", 2, b""),
        (["relevance", "nothing.csv", "-t", "class"], "<&- >&-", 1, b"unirel: standard output is closed"),
        (["--version"], ">/dev/full", 1, b"unirel: No space left on device\n"),
    ],
)
def test_closed_and_full_streams(tmp_path, command, shell, code, error):
    done = run(command, cwd=tmp_path, shell=shell)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(error)
    assert done.stderr.count(b"\n") == bool(error)


def test_a_closed_pipe_is_no_error():
    with subprocess.Popen([*PROGRAM, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text here")
def test_file_names_that_are_not_utf_8(unirel, table, tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/d\xff.csv")
    saved = os.fsdecode(os.fsencode(tmp_path) + b"/s\xff.json")
    os.rename(table, name)
    done = unirel("select", name, "-t", "class", "-k", 2, "--json", "--save", saved)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["data"]["source"] == "d\ufffd.csv"
    assert unirel("select", name, "-t", "class", "-k", 2).code == 0
    done = unirel("apply", saved, name, "-o", os.fsdecode(os.fsencode(tmp_path) + b"/o\xff.csv"))
    assert done.code == 0
    assert "\\xdcff" in done.error
    assert "there is no file" in unirel("select", name + "x", "-t", "class").error
