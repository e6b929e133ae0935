"""Tables elsewhere: files in stores and on servers, tables of Delta and Iceberg, files of DuckDB.

Who may read them is for their own libraries to know: credentials come from where these look for them.
"""

import io
import os
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_WILD = re.compile(r"[*?\[]")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Where pyarrow knows no store, fsspec asks these for it.
_STORES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}


def without_secrets(address: str) -> str:
    """An address as it may be shown: without a password, and without a query, which may be a signature."""
    if "://" not in address:
        return address
    url = urlsplit(address)
    query = f"?{url.query}" if url.scheme not in ("http", "https") and url.query else ""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}{query}"


def is_in_parts(address: str) -> bool:
    """Whether it names what is read in parts, not one file."""
    if "://" not in address:
        return True
    return not address.lower().startswith(("http://", "https://")) and _WILD.search(address) is not None


def fetch(address: str) -> io.BytesIO:
    """One file, whole."""
    if address.lower().startswith(("http://", "https://")):
        _check_server(address, address)
        url = urlsplit(address)
        user, _, host = url.netloc.rpartition("@")
        request = Request(url._replace(netloc=host, fragment="").geturl())
        if user:  # It is for that server only, not for one that it may lead to.
            request.add_unredirected_header("Authorization", f"Basic {b64encode(unquote_to_bytes(user)).decode()}")
        with build_opener(_Redirected).open(request, timeout=60) as response:
            return io.BytesIO(response.read())
    store, path = _store_of(address)
    with store.open_input_file(path) as file:
        return io.BytesIO(file.read())


class _Redirected(HTTPRedirectHandler):
    def redirect_request(self, request: Any, file: Any, code: int, message: str, headers: Any, address: str) -> Any:
        _check_server(address, request.full_url)
        return super().redirect_request(request, file, code, message, headers, address)


def _check_server(address: str, asked: str) -> None:
    """Refuse what anybody on the way could read or change, but for servers on this machine."""
    url, asked_for = urlsplit(address), urlsplit(asked)
    if url.scheme != "https" and not (asked_for.scheme == url.scheme == "http" and url.hostname in _LOOPBACK):
        raise ValueError(f"'{without_secrets(address)}' is not encrypted; give an address that begins with https://")


def open_parts(address: str) -> tuple[Any, tuple[str, ...]]:
    """What is read in parts, and lines of Python that open the same, the last an expression."""
    if "://" in address:
        return _open_pattern(address)
    kind, _, rest = address.partition(":")
    library, open_it = _KINDS[kind.lower()]
    try:
        return open_it(rest)
    except ImportError:
        raise ValueError(f"{kind}: {_needs(library)}") from None
    except Exception as error:  # Each library has its own.
        raise ValueError(f"'{address}' cannot be opened: {' '.join(str(error).split())[:200]}") from None


def _needs(library: str) -> str:
    return f"needs the library {library}, which is not installed: pip install {library}"


def _open_delta(path: str) -> tuple[Any, tuple[str, ...]]:
    from deltalake import DeltaTable

    return DeltaTable(path), ("from deltalake import DeltaTable", f"DeltaTable({path!r})")


def _open_iceberg(name: str) -> tuple[Any, tuple[str, ...]]:
    from pyiceberg.catalog import load_catalog

    catalog, _, table = name.partition(".")
    lines = ("from pyiceberg.catalog import load_catalog", f"load_catalog({catalog!r}).load_table({table!r})")
    return load_catalog(catalog).load_table(table), lines


def _open_duckdb(rest: str) -> tuple[Any, tuple[str, ...]]:
    """A table or a query, which can change nothing: the file is opened for reading, and only SELECT is run."""
    import duckdb

    file, _, asked = rest.partition("::")
    if not os.path.isfile(file):
        raise ValueError(f"there is no file '{file}'")
    connection = duckdb.connect(file, read_only=True)
    if not asked.strip():
        tables = ", ".join(repr(row[0]) for row in connection.sql("show tables").fetchall()[:10])
        raise ValueError(f"name a table of it or a query, duckdb:FILE::TABLE; there are {tables or 'none'}")
    lines = ("import duckdb", f"file = duckdb.connect({file!r}, read_only=True)")
    if re.fullmatch(r"[\w.]+", asked):
        return connection.table(asked), (*lines, f"file.table({asked!r})")
    statements = connection.extract_statements(asked)
    if len(statements) != 1 or not str(statements[0].type).endswith("SELECT"):
        raise ValueError("give one query that only reads, such as 'duckdb:file.db::select * from t'")
    return connection.sql(asked), (*lines, f"file.sql({asked!r})")


_KINDS: dict[str, tuple[str, Callable[[str], tuple[Any, tuple[str, ...]]]]] = {
    "delta": ("deltalake", _open_delta),
    "iceberg": ("pyiceberg", _open_iceberg),
    "duckdb": ("duckdb", _open_duckdb),
}


def _open_pattern(address: str) -> tuple[Any, tuple[str, ...]]:
    """Parquet or Arrow files of a store, as a dataset."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow import fs

    first = _WILD.search(address)
    base, _, pattern = address[: first.start()].rpartition("/") if first else (address, "", "")
    pattern += address[first.start() :] if first else ""
    try:
        store, root = _store_of(base)
        root = root.rstrip("/")
        found = store.get_file_info(fs.FileSelector(root, recursive="/" in pattern or "**" in pattern))
        wanted = _expression(pattern)
        files = sorted(
            one.path for one in found if one.type == fs.FileType.File and wanted.fullmatch(one.path[len(root) + 1 :])
        )
        if not files:
            raise ValueError(f"there is no file '{without_secrets(address)}'")
        with store.open_input_file(files[0]) as file:
            kind = "parquet" if file.read(4) == b"PAR1" else "ipc"
        dataset = ds.dataset(files, filesystem=store, format=kind)
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"'{without_secrets(address)}' cannot be read: {' '.join(str(error).split())[:200]}") from None
    return dataset, ("import pyarrow.dataset as ds", f"ds.dataset({without_secrets(base)!r}, format={kind!r})")


def _expression(pattern: str) -> re.Pattern[str]:
    """Names that a pattern means: * and ? are no slash, ** is anything."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    cut = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return re.compile("".join(parts.get(one) or (one if one.startswith("[") else re.escape(one)) for one in cut))


def _store_of(address: str) -> tuple[Any, str]:
    """The file system of an address, of pyarrow or else of fsspec, and the path in it."""
    import pyarrow as pa
    from pyarrow import fs

    scheme = address.partition(":")[0].lower()
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(address)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # It does not know them, or was built without.
        pass
    needed = _STORES.get(scheme, "fsspec")
    try:
        from fsspec.core import url_to_fs

        store, path = url_to_fs(address)
    except ImportError:
        raise ValueError(
            f"{scheme}:// needs the library {needed}, which is not installed: pip install {needed}"
        ) from None
    except ValueError:
        known = ", ".join(f"{one}://" for one in ("s3", "gs", "az", "https"))
        raise ValueError(f"{scheme}:// is not known; known are {known}, delta:, iceberg: and duckdb:") from None
    return fs.PyFileSystem(fs.FSSpecHandler(store)), path
