"""Datasets by name: those of scikit-learn, files in a folder, then OpenML."""

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from sklearn import datasets as builtin
from sklearn.utils import Bunch

from unirel.datasets.catalog import Entry, checksum, find_entry
from unirel.errors import UnirelWarning

VARIABLE = "UNIREL_DATA"


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a dataset by its name.

    Parameters
    ----------
    name : str
        Any that `describe` lists: those of the paper, such as "sonar", and of scikit-learn, such as "wine".
    data_home : path, optional
        Folder with files ``<name>.parquet`` whose last column is ``target``; by default the one that the environment
        variable ``UNIREL_DATA`` names.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` of shape (n_samples, n_features), ``target``, ``feature_names``, ``target_names`` if known, ``name``,
        ``DESCR``, ``source`` and, for a file, the ``frame`` it holds.

    Notes
    -----
    scikit-learn's datasets come with it. Others are looked for in the folder, where shape and checksum of the values
    must be those of the catalogue, then on OpenML, where the shape must be. OpenML has no copy of colon and leukemia as
    the paper used them, and of isolet only the whole set, of which the paper used a part; a warning says so.
    scikit-learn keeps what it downloads in its own folder.

    Examples
    --------
    >>> from unirel.datasets import load
    >>> load("iris").data.shape
    (150, 4)
    """
    entry = find_entry(name)
    if entry.builtin:
        return _load_builtin(entry)
    folder = home(data_home)
    if folder is not None and (path := folder / f"{entry.name}.parquet").is_file():
        return _load_file(entry, path)
    return _load_openml(entry, folder)


def home(data_home: str | os.PathLike[str] | None) -> Path | None:
    """The folder with files, if one is named; it has to exist."""
    given = data_home if data_home is not None else os.environ.get(VARIABLE) or None
    if given is None:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        origin = "data_home" if data_home is not None else f"${VARIABLE}"
        raise FileNotFoundError(f"{origin}={str(given)!r} is no folder; name the one that holds <name>.parquet")
    return folder


def is_here(entry: Entry, data_home: str | os.PathLike[str] | None) -> bool:
    """Whether a dataset can be loaded without asking OpenML."""
    folder = home(data_home)
    return bool(entry.builtin) or (folder is not None and (folder / f"{entry.name}.parquet").is_file())


def _load_builtin(entry: Entry) -> Bunch:
    bunch = getattr(builtin, entry.builtin)()
    return _bunch(
        entry,
        bunch.data,
        bunch.target,
        list(map(str, bunch.feature_names)),
        source="scikit-learn",
        DESCR=bunch.DESCR,
        target_names=[str(name) for name in bunch.get("target_names", [])],
    )


def _load_file(entry: Entry, path: Path) -> Bunch:
    frame = _read_parquet(path)
    if not frame.columns or frame.columns[-1] != "target":
        last = repr(frame.columns[-1]) if frame.columns else "missing"
        raise ValueError(f"{path}: the last column must be 'target', but it is {last}")
    data, target = frame[:, :-1].to_numpy(), frame["target"].to_numpy()
    _check_shape(entry.name, data.shape, (entry.n_samples, entry.n_features), str(path))
    found = checksum(data, target) if entry.sha256 else ""
    if found != entry.sha256:
        raise ValueError(
            f"{path}: the values are not those of {entry.name}: their sha256 is {found}, "
            f"the catalogue has {entry.sha256}; replace the file"
        )
    return _bunch(entry, data, target, frame.columns[:-1], source=str(path), frame=nw.to_native(frame))


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    for library in ("pandas", "polars", "pyarrow"):
        if find_spec(library) is not None and (library != "pandas" or find_spec("pyarrow") is not None):
            try:
                return nw.read_parquet(str(path), backend=library)
            except Exception as error:  # Each library has its own errors for a broken file.
                raise ValueError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from error
    raise ImportError(f"reading {path} needs pyarrow or polars; install one of them")


def _load_openml(entry: Entry, folder: Path | None) -> Bunch:
    where = f"there is no {entry.name}.parquet in {folder}" if folder else "no folder with files is named"
    remedy = f"pass data_home=, or set ${VARIABLE} to a folder that holds {entry.name}.parquet"
    if entry.openml is None:
        raise FileNotFoundError(f"{entry.name}: {where}, and OpenML has no copy of it; {remedy}")
    try:
        bunch = builtin.fetch_openml(data_id=entry.openml.id, as_frame=False, parser="liac-arff")
    except OSError as error:  # A URLError is one of these.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConnectionError(
            f"{entry.name}: {where}, and OpenML (data id {entry.openml.id}) cannot be reached ({reason}); {remedy}"
        ) from error
    origin = f"OpenML, data id {entry.openml.id}"
    _check_shape(entry.name, bunch.data.shape, (entry.openml.n_samples, entry.openml.n_features), origin)
    if entry.openml.n_samples != entry.n_samples:
        warnings.warn(
            f"{entry.name} from OpenML has {entry.openml.n_samples} rows; the paper used {entry.n_samples} of them, "
            f"so results will differ; {remedy}",
            UnirelWarning,
            stacklevel=3,
        )
    labels, target = np.unique(np.asarray(bunch.target).astype(str), return_inverse=True)
    names = list(map(str, bunch.feature_names))
    return _bunch(entry, np.asarray(bunch.data, float), target, names, source=origin, target_names=labels.tolist())


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, int], origin: str) -> None:
    if tuple(found) != expected:
        raise ValueError(
            f"{origin}: {name} should have {expected[0]} rows and {expected[1]} features, but there are {found[0]} "
            f"rows and {found[1]} features"
        )


def _bunch(entry: Entry, data: Any, target: Any, feature_names: list[str], **others: Any) -> Bunch:
    facts: dict[str, Any] = {"DESCR": entry.title, "target_names": list(entry.target_names), **others}
    if not facts["target_names"]:
        del facts["target_names"]
    return Bunch(data=data, target=target, feature_names=feature_names, name=entry.name, **facts)
