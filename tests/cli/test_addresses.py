"""Tables elsewhere: the same as of a file here, and one line that says what is wrong or missing."""

import http.server
import json
import threading
from functools import partial

import pandas as pd
import pytest

from tests.data.parts.test_files import write
from unirel.cli import main
from unirel.data.addresses import _expression, _store_of, without_secrets

pytest.importorskip("datasketches")
pa = pytest.importorskip("pyarrow")
fs = pytest.importorskip("pyarrow.fs")
pytestmark = pytest.mark.filterwarnings("ignore:X is read once:unirel.errors.UnirelWarning")


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "bucket" / "data"
    folder.mkdir(parents=True)
    write(folder)
    pd.read_parquet(folder / "1.parquet").to_csv(folder / "table.csv", index=False)
    return folder


def select(address, capsys, *more):
    code = main(["select", address, "-t", "y", "-k", "2", "--json", *more])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found = json.loads(printed.out)
    return [(feature["name"], feature["score"]) for feature in found["features"]], found


def refusal(address, capsys, command="select"):
    assert main([command, address, "-t", "y"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.fixture
def server(data, monkeypatch):
    """Loopback only; what is asked for below /away is elsewhere."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/locked.csv" and self.headers["Authorization"] == "Basic dXNlcjpoaWQvZGVu":  # user:hid/den
                self.path = "/table.csv"
            if self.path == "/away":
                self.send_response(302)
                self.send_header("Location", "http://example.invalid/table.csv")
                self.end_headers()
            else:
                super().do_GET()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(data))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def stores(data, monkeypatch):
    """Stores that are a folder here."""
    store = fs.SubTreeFileSystem(str(data.parents[1]), fs.LocalFileSystem())

    def store_of(address):
        scheme, _, path = address.partition("://")
        return (store, path) if scheme in ("s3", "gs") else _store_of(address)

    monkeypatch.setattr("unirel.data.addresses._store_of", store_of)


@pytest.mark.parametrize("scheme", ["s3", "gs", "file"])
def test_a_pattern_of_a_store_is_read_in_parts(scheme, data, stores, capsys):
    expected, _ = select(str(data / "*.parquet"), capsys)
    address = f"file://{data}/*.parquet" if scheme == "file" else f"{scheme}://bucket/**/[0-9].parquet"
    found, about = select(address, capsys)
    assert found == expected
    assert about["data"]["rows"] == 150
    assert about["data"]["source"] == address
    assert "there is no file 's3://bucket/data/*.arrow'" in refusal("s3://bucket/data/*.arrow", capsys)
    assert "needs all rows; name one file" in refusal("s3://bucket/data/*.parquet", capsys, "redundancy")


@pytest.mark.parametrize("name", ["table.csv", "1.parquet"])
def test_one_file_of_a_store_or_a_server_is_read_as_one_here(name, data, server, stores, capsys):
    expected, _ = select(str(data / name), capsys)
    for address in (f"gs://bucket/data/{name}", f"http://{server}/{name}?token=hidden"):
        found, about = select(address, capsys)
        assert found == expected
        assert about["data"]["source"] == address.partition("?")[0]
    if name == "table.csv":
        assert select(f"http://user:hid%2Fden@{server}/locked.csv", capsys)[0] == expected
        assert "hidden" not in json.dumps(about)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://example.invalid/table.csv", "'http://example.invalid/table.csv' is not encrypted; give"),
        ("http://{server}/away", "'http://example.invalid/table.csv' is not encrypted; give"),
        ("http://user:hidden@{server}/nothing.csv", "/nothing.csv' cannot be read: HTTP Error 404"),
        ("s3://bucket/data/nothing.csv", "'s3://bucket/data/nothing.csv' cannot be read"),
        ("az://box/*.parquet", "az:// needs the library adlfs, which is not installed: pip install adlfs"),
        ("what://box/*.parquet", "what:// is not known; known are s3://, gs://, az://, https://, delta:, iceberg: and"),
        ("delta:folder", "delta: needs the library deltalake, which is not installed: pip install deltalake"),
        ("iceberg:shop.sales", "iceberg: needs the library pyiceberg, which is not installed: pip install pyiceberg"),
        ("duckdb:file.db::t", "duckdb: needs the library duckdb, which is not installed: pip install duckdb"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(address, message, server, stores, capsys, monkeypatch):
    for name in ("adlfs", "deltalake", "pyiceberg.catalog", "duckdb"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    if not address.startswith(("http", "s3", "delta", "iceberg", "duckdb")):
        pytest.importorskip("fsspec")
    found = refusal(address.format(server=server), capsys)
    assert message in found
    assert "hidden" not in found


def test_a_file_whose_name_is_like_an_address_is_that_file(data, capsys, monkeypatch):
    monkeypatch.chdir(data)
    (data / "table.csv").rename("delta:table.csv")
    assert select("delta:table.csv", capsys)[1]["data"]["rows"] == 50


def test_secrets_of_an_address_are_not_shown():
    assert without_secrets("https://a:b@host:1/c.csv?sig=d#e") == "https://host:1/c.csv"
    assert without_secrets("s3://key:secret@box/a?.parquet") == "s3://box/a?.parquet"
    assert without_secrets("delta:folder?") == "delta:folder?"


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.parquet", ["a.parquet"], ["a/b.parquet", "aparquet"]),
        ("**/*.parquet", ["a.parquet", "a/b/c.parquet"], ["a.csv"]),
        ("a?[0-2].x", ["ab1.x"], ["ab3.x", "a/1.x"]),
        ("a+(b).x", ["a+(b).x"], ["aab.x"]),
    ],
)
def test_patterns_mean_what_they_mean_here(pattern, matching, others):
    assert [name for name in [*matching, *others] if _expression(pattern).fullmatch(name)] == matching


@pytest.mark.engines
@pytest.mark.parametrize("asked", ["t", "main.t", "select * from t where a < 9", "from t"])
def test_a_table_or_a_query_of_a_duckdb_file(asked, data, capsys):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    file = data / "file.db"
    with duckdb.connect(str(file)) as connection:
        connection.sql(f"create table t as from '{data}/*.parquet'")
    expected, _ = select(str(data / "*.parquet"), capsys)
    found, about = select(f"duckdb:{file}::{asked}", capsys)
    assert found == expected
    assert about["data"]["source"] == f"duckdb:{file}::{asked}"


@pytest.mark.engines
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("", "cannot be opened: name a table of it or a query, duckdb:FILE::TABLE; there are 't'"),
        ("::u", "cannot be opened: Catalog Error: Table with name u does not exist"),
        ("::drop table t", "give one query that only reads"),
        ("::copy t to '{file}.csv'", "give one query that only reads"),
        ("::select 1; drop table t", "give one query that only reads"),
        ("::select z from t", "cannot be opened: Binder Error"),
    ],
)
def test_a_duckdb_file_is_only_read(asked, message, data, capsys):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    file = data / "file.db"
    with duckdb.connect(str(file)) as connection:
        connection.sql("create table t as select 1 as a, 2 as y")
    before = file.read_bytes()
    assert message.format(file=file) in refusal(f"duckdb:{file}{asked.format(file=file)}", capsys)
    assert file.read_bytes() == before
    assert [path.name for path in data.iterdir() if path.name.startswith("file.db")] == ["file.db"]
    assert "there is no file" in refusal(f"duckdb:{data}/other.db::t", capsys)


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_of_delta_and_iceberg(data, tmp_path, capsys, monkeypatch):
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="pyiceberg is not installed")
    expected, _ = select(str(data / "*.parquet"), capsys)
    table = pa.concat_tables(pa.Table.from_pandas(pd.read_parquet(data / f"{n}.parquet")) for n in range(3))
    table = table.replace_schema_metadata(None).combine_chunks()
    deltalake.write_deltalake(str(data / "delta"), table)
    assert select(f"delta:{data}/delta", capsys)[0] == expected
    assert f"'delta:{data}/other' cannot be opened" in refusal(f"delta:{data}/other", capsys)
    for name, value in (("TYPE", "sql"), ("URI", f"sqlite:///{tmp_path}/c.db"), ("WAREHOUSE", f"file://{tmp_path}")):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", __import__("pyiceberg.utils.config").utils.config.Config())
    catalog = catalogs.load_catalog("shop")
    catalog.create_namespace("sales")
    catalog.create_table("sales.t", schema=table.schema).append(table)
    assert select("iceberg:shop.sales.t", capsys)[0] == expected
    assert "'iceberg:shop.sales.u' cannot be opened" in refusal("iceberg:shop.sales.u", capsys)
