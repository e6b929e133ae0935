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


def _repeated_text(path, length, as_list=False):
    """A file of three thousand texts, two of which differ; each is stored once."""
    import pyarrow as pa
    from pyarrow import parquet

    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 1500, pa.int32()), pa.array(["a" * length, "b" * length]))
    columns = {"a": texts, "class": pa.array([0, 1, 1] * 1000)}
    if as_list:
        columns["lists"] = pa.ListArray.from_arrays(pa.array(range(3001), pa.int32()), texts)
    options = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 2**26}
    parquet.write_table(pa.table(columns), path, **options)


@pytest.mark.parametrize("name", ["one.parquet", "*.parquet"])
@pytest.mark.parametrize("as_list", [False, True])
def test_a_parquet_file_of_repeated_long_texts_is_a_bomb_too(unirel, tmp_path, monkeypatch, name, as_list):
    """Less than a kilobyte became three gigabytes: a text of a dictionary is stored once, however often it is there."""
    monkeypatch.setattr(files, "_EXPANDED", 2**28)
    path = tmp_path / "one.parquet"
    _repeated_text(path, 1_000_000, as_list)
    assert path.stat().st_size < 2000
    done = unirel("relevance", tmp_path / name, "-t", "class")
    assert done.code == 2
    assert "far more than tables do; if it is one, pass --any-size" in done.error


@pytest.mark.parametrize("name", ["one.parquet", "*.parquet"])
def test_a_parquet_file_of_repeated_short_texts_is_a_table(unirel, tmp_path, monkeypatch, name):
    """A limit that all texts would exceed if they were as long as their dictionary, and that they do not."""
    monkeypatch.setattr(files, "_EXPANDED", 100_000)
    _repeated_text(tmp_path / "one.parquet", 10)
    assert unirel("relevance", tmp_path / name, "-t", "class", "--estimator", "binned").code == 0
