"""Names, types, numbers and paths that nobody expects: one line and exit code 2, or the right thing."""

import json
import os
import stat
import time
from pathlib import Path

import pytest
from cli.test_files import columns_of, csv_bytes, selected

from unirel.cli import BadInput
from unirel.cli.files import read_table
from unirel.cli.options import File

TOO_MANY = 99999999999999999999


def write(path, columns):
    path.write_bytes(csv_bytes(columns))
    return path


def names_in(path):
    return read_table(File(data=str(path))).table.column_names


def renamed(**names):
    return {names.get(name, name): values for name, values in columns_of().items()}


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x1c", "\x1d", "\x1e", "\x0b", "\x0c"])
@pytest.mark.parametrize("name", ["a{}b", "{}a", "a{}"])
def test_names_may_hold_what_some_take_for_the_end_of_a_line(tmp_path, mark, name):
    assert names_in(write(tmp_path / "data.csv", renamed(a=name.format(mark))))[0] == name.format(mark)


def test_a_quoted_name_may_hold_the_end_of_a_line(tmp_path):
    assert names_in(write(tmp_path / "data.csv", renamed(a='"a\r\nb"')))[0] == "a\r\nb"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_three_ways(unirel, tmp_path, end):
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns_of()).replace(b"\n", end.encode()))
    assert selected(unirel("select", path, "-t", "class", "-k", 1, "--json")) == ["a"]


def test_a_column_without_a_name_gets_one_that_is_free(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(columns_of()).replace(b"a,noise,class", b"column 2,,class"))
    assert names_in(path) == ["column 2", "column 2_", "class"]
    path.write_bytes(csv_bytes(columns_of()).replace(b"a,noise,class", b",column 1,class"))
    assert names_in(path) == ["column 1_", "column 1", "class"]


@pytest.mark.parametrize("encoding", ["base64", "hex", "rot13", "zlib", "undefined", "idna", ""])
def test_what_is_no_encoding_of_text(unirel, table, encoding):
    done = unirel("select", table, "-t", "class", "--encoding", encoding)
    assert done.code == 2
    assert "is not known as an encoding of text" in done.error


def test_more_neighbors_than_can_be_counted(unirel, table):
    done = unirel("relevance", table, "-t", "class", "--neighbors", TOO_MANY)
    assert done.code == 2
    assert f"--neighbors {TOO_MANY} must be a whole number from 1 to" in done.error


def union_table():
    import pyarrow as pa

    columns = columns_of()
    n_rows = len(columns["a"])
    parts = pa.array([0] * n_rows, pa.int8()), pa.array(range(n_rows), pa.int32())
    return pa.table({**columns, "either": pa.UnionArray.from_dense(*parts, [pa.array(columns["a"])])})


def test_union_columns(unirel, tmp_path):
    import pyarrow as pa

    table, path = union_table(), tmp_path / "data.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    done = unirel("select", path, "-t", "class")
    assert done.code == 2
    assert done.error.startswith("column 'either' is of type dense_union")
    assert unirel("select", path, "-t", "either").error.startswith("y is of type dense_union")
    assert selected(unirel("select", path, "-t", "class", "--drop", "either", "-k", 1, "--json")) == ["a"]


def save(unirel, table, path, **changes):
    """A saved selection, changed by hand."""
    assert unirel("select", table, "-t", "class", "-k", 2, "--save", path, "-q").code == 0
    changes = changes or {"features": [{"name": "a"}, {"name": "b"}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_a_format_that_cannot_hold_a_type(unirel, table, tmp_path):
    import pyarrow as pa

    path = tmp_path / "data.arrow"
    with pa.ipc.new_file(str(path), union_table().schema) as writer:
        writer.write_table(union_table())
    chosen = save(unirel, table, tmp_path / "s.json", features=[{"name": "either"}])
    done = unirel("apply", chosen, path, "-o", tmp_path / "out.parquet")
    assert done.code == 2
    assert "cannot hold what was selected" in done.error
    assert not (tmp_path / "out.parquet").exists()


def test_file_names_that_are_too_long(unirel, table, tmp_path):
    long, chosen = "x" * 5000, save(unirel, table, tmp_path / "s.json")
    for arguments in [
        ("select", table, "-t", "class", "--save", f"{long}.json"),
        ("select", table, "-t", "class", "--save", f"{long}/s.json"),
        ("apply", long, table, "-o", tmp_path / "out.csv"),
        ("apply", chosen, table, "-o", f"{long}.csv"),
    ]:
        done = unirel(*arguments)
        assert done.code == 2
        assert "too long" in done.error
        assert len(done.error) < 400


def test_a_very_long_name_is_not_said_in_full(unirel, table, tmp_path):
    name = "n" * 1_000_000
    chosen = save(unirel, table, tmp_path / "s.json", features=[{"name": name}, {"name": "b"}])
    done = unirel("apply", chosen, table, "-o", tmp_path / "out.csv")
    assert done.code == 2
    assert "lacks columns that were selected: 'nnnn" in done.error
    assert len(done.error) < 500
    # What is said behind the name is there to be read.
    assert unirel("select", table, "-t", name).error.endswith("the columns are 'a', 'b', 'copy', 'noise', 'class'")


def test_a_link_stays_and_what_it_leads_to_is_written(unirel, table, tmp_path):
    chosen = save(unirel, table, tmp_path / "s.json")
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.csv", tmp_path / "link.csv"
    target.write_text("before")
    link.symlink_to(Path("elsewhere") / "real.csv")
    for _ in range(2):
        assert unirel("apply", chosen, table, "-o", link, "-q").code == 0
        assert link.is_symlink()
        assert target.read_text().startswith("a,b\n")
        target.unlink()  # the second time the link leads nowhere yet
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_file_is_not_replaced(unirel, table, tmp_path):
    import threading

    pipe, heard = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    chosen = save(unirel, table, tmp_path / "s.json")
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    assert unirel("apply", chosen, table, "-o", pipe, "-q").code == 0
    reader.join(10)
    assert heard[0].startswith("a,b\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("kind", ["long", "unnamed", "repeated"])
def test_wide_files_are_read_in_time_that_grows_with_their_width(tmp_path, kind):
    """Long names were refused; unnamed columns and one name twice took minutes."""
    n_columns = 20_000 if kind == "long" else 50_000
    names = ["" if kind == "unnamed" else f"{j}{'x' * 120 * (kind == 'long')}" for j in range(n_columns)]
    if kind == "repeated":
        names[-1] = names[0]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *[",".join(["1"] * n_columns)] * 2]))
    started = time.monotonic()
    if kind == "repeated":
        with pytest.raises(BadInput, match="duplicate column names: '0'"):
            names_in(path)
    else:
        assert len(names_in(path)) == n_columns
    assert time.monotonic() - started < 20  # a second or two
