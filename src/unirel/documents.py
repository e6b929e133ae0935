"""Results as frames with names, and as documents of JSON that are read back exactly: nothing is unpickled or run."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from unirel._version import __version__

VERSION = 1  # of the documents
_NOT_FINITE = ("nan", "inf", "-inf")  # numbers that JSON does not have
# Where a document has its fields, exactly as they are; all else in it is for readers.
_FIELDS = "fields"


def plain(value: Any) -> Any:
    """A value as JSON has it: NaN is None, an infinite number 'inf' or '-inf', what JSON does not have its `repr`."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    if isinstance(value, str):  # as an Ending is
        return str(value)
    return value if value is None or isinstance(value, int | float) else repr(value)


class Result:
    """A result with a row for each of some features: what its table, its file and its figure are made from.

    A subclass says what its columns are, which of them a notebook shows with bars, and which Display of
    `unirel.plotting` draws it: that stands above results, so the package is asked for it.
    """

    settings: Mapping[str, Any]
    _drawn_by: ClassVar[str]
    _bars: ClassVar[tuple[str, ...]]
    _caption: Any  # what stands above the table of a notebook
    _listed: ClassVar[tuple[str, ...]] = ()  # what `to_dict` has beside the rows and the settings

    def __init_subclass__(cls, drawn_by: str, bars: tuple[str, ...] = ()) -> None:
        cls._drawn_by, cls._bars = drawn_by, bars

    def to_frame(self) -> Any:
        """One row per feature, as a frame of pandas, or of polars where there is no pandas."""
        return make_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON: NaN is None."""
        columns = self._columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return dict(plain({**self._summary(), "features": rows, "settings": self.settings}))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw it on matplotlib axes, or on a new figure, with the options of its Display, which is returned."""
        return getattr(sys.modules["unirel"].plotting, self._drawn_by)(self).plot(ax, **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._caption})"

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def _summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._listed}

    def _notebook(self) -> dict[str, list[Any]]:
        return {name: values for name, values in self._columns().items() if name != "feature"}

    def _repr_html_(self) -> str:
        return str(sys.modules["unirel"].plotting.make_html(self._caption, self._notebook(), self._bars))


def make_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas frame, or a polars one where there is no pandas."""
    import narwhals as nw

    for library in ("pandas", "polars"):
        with suppress(ImportError):
            return nw.from_dict(dict(columns), backend=library).to_native()
    raise ImportError("a data frame needs pandas or polars; install one of them, or use to_dict()")


def name_features(values: NDArray[np.float64], X: Any, name: str) -> Any:
    """One value for each feature: a Series with the names of the columns for a frame of pandas, else the array."""
    return _pandas().Series(values, index=X.columns, name=name) if _is_pandas(X) else values


def name_classes(values: NDArray[np.float64], X: Any, classes: Any) -> Any:
    """A row for each feature and a column for each class: likewise a frame with names, or the array."""
    return _pandas().DataFrame(values, X.columns, classes) if _is_pandas(X) else values


def _is_pandas(X: Any) -> bool:
    return _pandas() is not None and isinstance(X, _pandas().DataFrame)


def _pandas() -> Any:
    return sys.modules.get("pandas")  # if it is not there, neither is a frame of it


def write_document(kind: str, content: Mapping[str, Any], plain: bool = False) -> str:
    """A document of a kind for people and programs, the same every time; a plain one has ASCII characters only."""
    head = {"schema": f"unirel/{kind}", "version": VERSION, "unirel": __version__}
    return json.dumps({**head, **content}, indent=2, ensure_ascii=plain, allow_nan=False) + "\n"


def read_document(source: Any, kind: str) -> dict[str, Any]:
    """A document of a kind, from its text or from the file at a path."""
    is_path = isinstance(source, os.PathLike)
    label = f"'{source}'" if is_path else "the text (a file is read by its pathlib.Path)"
    try:
        content = json.loads(Path(source).read_bytes() if is_path else source)
        schema, version = content["schema"], content["version"]
    except (ValueError, TypeError, LookupError, RecursionError):
        schema, version = None, None
    if schema != f"unirel/{kind}":
        raise ValueError(f"{label} is no {kind}; write one with `unirel select --save` or {kind.capitalize()}.to_json")
    if version != VERSION:
        raise ValueError(f"{label} has version {version!r}, this program reads {VERSION}; update unirel")
    return dict(content)


class Saved:
    """A result that is written to a document and read back."""

    _kind: ClassVar[str]

    def to_json(self) -> str:
        """A document of JSON: what `to_dict` has, for readers, and all fields exactly, for `from_json`."""
        return write_document(self._kind, {**self.to_dict(), **self.saved_fields()}, plain=True)  # type: ignore[attr-defined]

    @classmethod
    def from_json(cls, source: str | bytes | os.PathLike[str]) -> Self:
        """The result that `to_json`, or `unirel select --save`, has written: a text, or a path to read it from.

        All fields are equal to those that were written, to the last bit. Nothing of it is unpickled or run, and what
        does not belong together is refused.
        """
        content = read_document(source, cls._kind)
        given, wanted = content.get(_FIELDS), get_type_hints(cls)
        if not isinstance(given, Mapping):
            remedy = "select again, or take the columns that its features name"
            raise ValueError(f"the {cls._kind} was written by an older version, without its fields; {remedy}")
        found = {}
        for one in fields(cls):  # type: ignore[arg-type]
            if one.name in given:
                try:
                    found[one.name] = _restored(given[one.name], wanted[one.name])
                except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
                    raise ValueError(f"{one.name} of the {cls._kind} cannot be read; it was changed") from None
            elif one.default is MISSING and one.default_factory is MISSING:
                raise ValueError(f"{one.name} of the {cls._kind} is missing; it was changed")
        result = cls(**found)
        result._check_fields()
        return result

    def saved_fields(self) -> dict[str, Any]:
        """What a document must have to be read back."""
        return {_FIELDS: {one.name: _exact(getattr(self, one.name)) for one in fields(self)}}  # type: ignore[arg-type]

    def _check_fields(self) -> None:
        """Refuse fields that do not belong together."""


def _exact(value: Any) -> Any:
    """A value as JSON has it, from which `_restored` makes the same again."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _exact(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _restored(value: Any, kind: Any) -> Any:
    """What `_exact` was given, a value of this type; what is none raises an error."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None and NoneType in arguments else _restored(value, arguments[0])
    if origin is np.ndarray:
        dtype = get_args(arguments[1])[0]
        one = float if issubclass(dtype, np.floating) else int
        of_rows = [_restored(item, kind if isinstance(item, list) else one) for item in _listed(value)]
        return np.array(of_rows, dtype)
    if origin is tuple:
        return tuple(_restored(item, arguments[0]) for item in _listed(value))
    if origin is not None:  # a mapping
        return {_key(key, arguments[0]): _restored(item, arguments[1]) for key, item in value.items()}
    if kind is float and (value in _NOT_FINITE or type(value) is int):
        return float(value)
    if kind is not Any and issubclass(kind, Enum):
        return kind(value)
    if kind is not Any and type(value) is not kind:
        raise TypeError
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _key(key: str, kind: type) -> Any:
    """JSON has texts as keys."""
    return kind(key)
