"""DuckDB, Delta and Iceberg give the answer of the same table in memory, and leave nothing behind."""

import numpy as np
import pytest

from tests.data.parts.test_equal import assert_same, make_frame
from tests.data.parts.test_streams import check_all_criteria, check_ctrl_c
from unirel import BURSelector, BURSelectorCV
from unirel.data.readers import is_parted
from unirel.errors import UnirelWarning
from unirel.search.boost import Boost

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("datasketches")
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore:X is read once:unirel.errors.UnirelWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # among themselves
]


def table_of(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def duckdb_of(frame, folder):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    for number in range(3):
        pq.write_table(table_of(frame.iloc[number * 140 : (number + 1) * 140]), folder / f"{number}.parquet")
    return duckdb.sql(f"from '{folder}/*.parquet'")


def delta_of(frame, folder):
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    address = str(folder / f"delta{len(list(folder.iterdir()))}")
    deltalake.write_deltalake(address, table_of(frame))  # at once: files added later come first
    return deltalake.DeltaTable(address)


def iceberg_of(frame, folder):
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="pyiceberg is not installed")
    pytest.importorskip("sqlalchemy", reason="pyiceberg has no catalog in SQLite")
    folder = folder / f"iceberg{len(list(folder.iterdir()))}"
    folder.mkdir()
    catalog = catalogs.load_catalog("test", type="sql", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("space")
    iceberg = catalog.create_table("space.table", schema=table_of(frame).schema)
    iceberg.append(table_of(frame))
    return iceberg


ENGINES = {"duckdb": duckdb_of, "delta": delta_of, "iceberg": iceberg_of}


@pytest.fixture(params=ENGINES, ids=str)
def make(request, tmp_path):
    return lambda frame: ENGINES[request.param](frame, tmp_path)


@pytest.mark.parametrize(("weighted", "n_classes"), [(True, 2), (False, 26)])
def test_all_criteria_plain_and_boosted(make, weighted, n_classes):
    check_all_criteria(make, weighted, n_classes)


def test_transform_and_refusals(make):
    frame = make_frame().drop(columns="weight")
    source = make(frame)
    assert is_parted(source)
    selector = BURSelector("mim", 2, beta=0).fit(source, "y")
    assert selector.feature_names_in_.tolist() == frame.columns[:-1].tolist()
    assert selector.transform(source).read_all().column_names == selector.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="no column 'z'"):
        selector.fit(source, "z")
    with pytest.raises(TypeError, match="cannot be split into folds"):
        BURSelectorCV(selector).fit(source, "y")


def test_a_query_whose_rows_come_in_any_order_is_read_once(tmp_path):
    """Groups come in another order whenever they are asked for: all looks must see the same."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    con = duckdb.connect()
    con.sql("create table t as select i % 5000 as g, random() as a, random() as b from range(40000) r(i)")
    query = con.sql("select avg(a) as a, avg(b) as b, (avg(a) + avg(b) / 4 > 0.62) as y from t group by g")
    with pytest.warns(UnirelWarning, match="X is read once"):
        found = BURSelector("jmi", 2, unique_relevance=Boost(max_samples=300)).fit(query, "y")
    frame = query.df()
    expected = BURSelector("jmi", 2, beta=0).fit(frame.drop(columns="y"), frame["y"])
    assert found.order_.tolist() == expected.order_.tolist() == [0, 1]
    np.testing.assert_allclose(found.relevance_, expected.relevance_, rtol=0.05)


def test_files_of_a_delta_table_that_lack_a_column_and_partitions(tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    frame = make_frame().drop(columns="weight")
    early, late = frame.iloc[:200].drop(columns="b"), frame.iloc[200:]
    folder, by_text = str(tmp_path / "t"), str(tmp_path / "by_text")
    deltalake.write_deltalake(folder, table_of(early))
    deltalake.write_deltalake(folder, table_of(late), mode="append", schema_mode="merge")
    deltalake.write_deltalake(by_text, table_of(frame.assign(text=frame["text"].fillna("none"))), partition_by="text")
    for address in (folder, by_text):
        whole = deltalake.DeltaTable(address).to_pyarrow_dataset().to_table()
        expected = BURSelector("jmi", 3).fit(whole.drop_columns(["y"]), whole.column("y")).selection_
        assert_same([BURSelector("jmi", 3).fit(deltalake.DeltaTable(address), "y").selection_], [expected])


SLOW_QUERY = """
import duckdb, time
def slow(value: float) -> float:
    if value % 100_000 == 0:
        print("batch", flush=True)
        time.sleep(0.1)
    return value
con = duckdb.connect()
con.execute("set threads = 1")
con.create_function("slow", slow)
X = con.sql("select slow(i::double) as a, i % 2 as y from range(1000000000) r(i)")
"""


def test_ctrl_c_stops_a_query_and_leaves_no_file(tmp_path):
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    check_ctrl_c(SLOW_QUERY, tmp_path)
