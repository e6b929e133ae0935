"""Files of a pattern, which are read in parts."""

import json

import pytest

from tests.data.parts.test_files import write
from unirel._runtime import OutOfTime
from unirel.cli import main

pytest.importorskip("datasketches")
pytest.importorskip("pyarrow.dataset")


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def test_the_command_line_reads_files_of_a_pattern(data, capsys):
    write(data)
    pattern = str(data / "*.parquet")
    assert main(["select", pattern, "-t", "y", "-k", "2", "--json", "--drop", "c"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [feature["name"] for feature in found["features"]] == ["a", "b"]
    assert found["data"]["rows"] == 150
    assert main(["relevance", pattern, "-t", "y"]) == 0
    capsys.readouterr()
    for arguments, message in (
        (["select", str(data / "*.csv"), "-t", "y"], "there is no file"),
        (["select", pattern], "name the column to explain with --target"),
        (["redundancy", pattern, "-t", "y"], "needs all rows; name one file"),
        (
            ["select", str(data / "0.parquet"), "-t", "y", "--scheduler", "tcp://127.0.0.1:1"],
            "pass a pattern in quotes",
        ),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


def test_the_file_that_cannot_be_read_is_named(data, capsys):
    write(data)
    (data / "1.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    assert main(["select", str(data / "*.parquet"), "-t", "y"]) == 2
    assert "1.parquet' cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(KeyboardInterrupt, 130, "interrupted; 2 features so far"), (OutOfTime, 0, "incomplete: the time budget")],
)
def test_what_was_selected_before_the_end_is_printed(data, capsys, monkeypatch, error, code, words):
    """Nothing is compared then: that would take the rows, which are elsewhere."""
    write(data, extra=1.0)

    def stop(*_, **__):
        raise error

    monkeypatch.setattr("unirel.search.greedy.find_blend", stop)
    assert main(["select", f"{data}/*.parquet", "--target", "y", "-k", "2", "--json"]) == code
    out, err = capsys.readouterr()
    assert json.loads(out)["features"][0]["name"] == "a"
    assert words in err
