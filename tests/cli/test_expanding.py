"""A small file that becomes a huge one is refused, unless it is asked for."""

import bz2
import gzip

import pytest

from unirel.cli import files

ROWS = b"a,b,class\n" + b"".join(b"%d,%d,%s\n" % (i % 7, i % 5, b"yes" if i % 3 else b"no") for i in range(2000))


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    monkeypatch.setattr(files, "_EXPANDED", 10_000)
    monkeypatch.setattr(files, "_TIMES", 20)
    monkeypatch.setattr(files, "_BLOCK", 4096)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_bomb_is_refused(unirel, tmp_path, compress, source):
    content = compress(ROWS * 20)
    path = tmp_path / "bomb.csv"
    path.write_bytes(content)
    given = ("-",) if source == "standard input" else (path,)
    options = {"stdin": content} if source == "standard input" else {}
    finished = unirel("relevance", *given, "--target", "class", **options)
    assert finished.code == 2
    assert "when it is decompressed, far more than tables do; if it is one, pass --any-size" in finished.error


def test_it_is_read_if_it_is_asked_for(unirel, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BLOCK", 2**20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    assert unirel("relevance", path, "--target", "class").code == 2
    assert unirel("relevance", path, "--target", "class", "--any-size").code == 0


def test_a_table_that_is_compressed_well_is_no_bomb(unirel, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BLOCK", 2**20)
    monkeypatch.setattr(files, "_EXPANDED", 2 * len(ROWS))
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    assert unirel("relevance", path, "--target", "class").code == 0


def test_a_parquet_file_of_equal_values_is_a_bomb_too(unirel, tmp_path):
    """A run of equal values is stored as one: some hundred bytes became gigabytes."""
    import pyarrow as pa
    from pyarrow import parquet

    n_rows = 100_000
    path = tmp_path / "bomb.parquet"
    parquet.write_table(pa.table({"a": pa.array([1.5] * n_rows), "class": pa.array([0] * n_rows)}), path)
    assert path.stat().st_size < 5000
    done = unirel("relevance", path, "-t", "class")
    assert done.code == 2
    assert "far more than tables do; if it is one, pass --any-size" in done.error
    assert "one class only" in unirel("relevance", path, "-t", "class", "--any-size").error
