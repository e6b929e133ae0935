"""The six datasets of the paper: what is known of each, from a folder with files, then from OpenML."""

import hashlib
import os
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from unirel._runtime import check_choice
from unirel.errors import UnirelWarning

VARIABLE = "UNIREL_DATA"


@dataclass(frozen=True)
class Entry:
    """What is known of a dataset before it is loaded; `openml` is the id and the shape of a copy on OpenML."""

    name: str
    title: str
    kind: str
    n_samples: int
    n_features: int
    target_names: tuple[str, ...]
    sha256: str
    paper: dict[str, Any]
    openml: dict[str, int] | None = None


def catalog() -> dict[str, Entry]:
    text = Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8")
    return {name: Entry(name, **facts) for name, facts in tomllib.loads(text).items()}


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """Features, target and names, from ``<name>.parquet`` in a folder or in $UNIREL_DATA, else from OpenML.

    The last column of a file is ``target``; shape and checksum of its values must be those of the catalogue. OpenML has
    no copy of colon and leukemia as the paper used them, and all of isolet, of which the paper used a part.
    """
    entries = catalog()
    check_choice("dataset", name, entries)
    entry, path = entries[name], path_of(name, folder)
    return _load_file(entry, path) if path is not None else _load_openml(entry)


def path_of(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file of a dataset, if there is one."""
    given = folder if folder is not None else os.environ.get(VARIABLE) or None
    if given is None:
        return None
    if not Path(given).is_dir():
        raise FileNotFoundError(f"{str(given)!r} is no folder; name the one that holds <name>.parquet")
    path = Path(given) / f"{name}.parquet"
    return path if path.is_file() else None


def checksum(data: Any, target: Any) -> str:
    """Sha256 of the values: rows of 8-byte floats, then 8-byte labels, little-endian, whatever the file format."""
    digest = hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(target, dtype="<i8").tobytes())
    return digest.hexdigest()


def _load_file(entry: Entry, path: Path) -> Bunch:
    table = pyarrow.parquet.read_table(path)
    *names, last = table.column_names
    if last != "target":
        raise ValueError(f"{path}: the last column must be 'target', but it is {last!r}")
    columns = [column.to_numpy() for column in table.columns]
    data, target = np.column_stack(columns[:-1]), columns[-1]
    _check_shape(entry.name, data.shape, (entry.n_samples, entry.n_features), str(path))
    if (found := checksum(data, target)) != entry.sha256:
        raise ValueError(f"{path}: the values are not those of {entry.name}: their sha256 is {found}")
    return Bunch(data=data, target=target, feature_names=names, target_names=list(entry.target_names), source=str(path))


def _load_openml(entry: Entry) -> Bunch:
    remedy = f"pass --data, or set ${VARIABLE} to a folder that holds {entry.name}.parquet"
    if entry.openml is None:
        raise FileNotFoundError(f"there is no {entry.name}.parquet, and OpenML has no copy of it; {remedy}")
    try:
        bunch = fetch_openml(data_id=entry.openml["id"], as_frame=False, parser="liac-arff")
    except OSError as error:
        raise ConnectionError(f"OpenML has {entry.name} but cannot be reached ({error}); {remedy}") from error
    shape = (entry.openml["n_samples"], entry.openml["n_features"])
    _check_shape(entry.name, bunch.data.shape, shape, "OpenML")
    if shape[0] != entry.n_samples:
        message = f"{entry.name} from OpenML has {shape[0]} rows; the paper used {entry.n_samples} of them"
        warnings.warn(f"{message}, so results will differ; {remedy}", UnirelWarning, stacklevel=3)
    labels, target = np.unique(np.asarray(bunch.target).astype(str), return_inverse=True)
    names = list(map(str, bunch.feature_names))
    facts = {"feature_names": names, "target_names": labels.tolist(), "source": "OpenML"}
    return Bunch(data=np.asarray(bunch.data, float), target=target, **facts)


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, int], origin: str) -> None:
    if tuple(found) != expected:
        raise ValueError(f"{origin}: {name} should have the shape {expected}, but it is {tuple(found)}")
