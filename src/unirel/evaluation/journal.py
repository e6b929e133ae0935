"""A journal of finished work, one line for each piece, that survives being killed."""

import hashlib
import json
import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from unirel.data.atomic import write_text
from unirel.errors import UnirelWarning

_FORMAT = 1
_START = b'{"check":'
# Settings by name of what takes part. A piece of work names what it is about and does not depend on the others, so a
# journal may go on with more or fewer of them.
_COMPANY = ("selectors", "classifiers")
Record = dict[str, Any]


class Records:
    """Finished work in memory, found by its key."""

    def __init__(self) -> None:
        self._records: dict[tuple[Any, ...], Record] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._records

    def __getitem__(self, key: tuple[Any, ...]) -> Record:
        return self._records[key]

    def __len__(self) -> int:
        return len(self._records)

    def add(self, key: tuple[Any, ...], record: Record) -> None:
        """Keep a piece of work."""
        self._records[key] = record

    def close(self) -> None:
        """Nothing more will come."""


class Journal(Records):
    """Finished work in a file as well: every line is a JSON object with a checksum, written at once and for good.

    Parameters
    ----------
    path : path
        The file. A new one begins with a header that holds settings and versions; one that exists goes on if its
        settings are the same. Other selectors and classifiers may join, under other names.
    settings : dict
        Everything that decides the results, as JSON holds it.
    versions : dict
        Versions of libraries. Others than those in the header are recorded with a warning.

    Notes
    -----
    A line is written by one call to the system and then forced to the disk. A last line that is cut or damaged, as left
    by a crash, is dropped and its work done again. A damaged line further up is left alone with a warning, and its work
    done again too: pieces of work do not depend on each other. Without a sound header nothing can be trusted, and
    the file is refused, as is a file that is no journal and one that another process is writing.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any], versions: Mapping[str, str]) -> None:
        super().__init__()
        self._path = Path(path)
        is_new = not self._path.exists()
        # Opened before it is read, so that nobody writes in between.
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            _lock(self._file, self._path)
            self._go_on(_plain(settings), dict(versions))
            if is_new:
                _sync_folder(self._path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def add(self, key: tuple[Any, ...], record: Record) -> None:
        """Write a piece of work; when this returns, it is on the disk."""
        self._write(_entry(key, record))
        super().add(key, record)

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)

    def _go_on(self, settings: Any, versions: dict[str, str]) -> None:
        found = read_journal(self._path)
        if found is None:
            os.ftruncate(self._file, 0)
            self._write(_header(settings, versions))
            return
        check_settings(self._path, found.settings, settings)
        if found.n_whole is not None:
            os.ftruncate(self._file, found.n_whole)
        for key, record in found.records.items():
            super().add(key, record)
        self._note_changes(found, settings, versions)

    def _note_changes(self, found: "Contents", settings: Any, versions: dict[str, str]) -> None:
        if found.damaged:
            first, *others = found.damaged
            where = f"{len(found.damaged)} lines, the first is {first}," if others else f"line {first}"
            self._warn(f"{where} is damaged; that work is done again")
        if found.versions != versions:
            changes = "; ".join(_differences(found.versions, versions))
            self._warn(f"it was written with other versions: {changes}; results may differ from those of one version")
            self._write({"type": "versions", "versions": versions})
        if (joined := _join(found.settings, settings)) != found.settings:
            self._write({"type": "settings", "settings": joined})

    def _warn(self, message: str) -> None:
        warnings.warn(f"journal={str(self._path)!r}: {message}", UnirelWarning, stacklevel=7)

    def _write(self, content: Record) -> None:
        line = _line(content).encode()
        written = os.write(self._file, line)
        if written < len(line):
            raise OSError(f"journal={str(self._path)!r}: only {written} of {len(line)} bytes could be written")
        os.fsync(self._file)


class Contents(NamedTuple):
    """What a journal says: the latest settings and versions, all records, and lines that are damaged.

    `n_whole` is how many bytes stand before a last line that is cut, if there is one.
    """

    settings: Any
    versions: dict[str, str]
    records: dict[tuple[Any, ...], Record]
    damaged: list[int]
    n_whole: int | None


def read_journal(path: Path) -> Contents | None:
    """Read a journal without writing to it; None if not even its header was finished."""
    with path.open("rb") as file:
        lines = file.readlines()
    header = _read(lines[0]) if lines else None
    if header is None:
        _check_unreadable(path, lines)
        return None
    if header.get("type") != "header" or header.get("format") != _FORMAT:
        raise ValueError(f"journal={str(path)!r} is of another kind or version; name another file")
    settings, versions = header["settings"], header.get("versions", {})
    records: dict[tuple[Any, ...], Record] = {}
    damaged, n_whole = [], None
    for number, line in enumerate(lines[1:], start=2):
        content = _read(line)
        if content is None and number == len(lines):
            n_whole = sum(map(len, lines[:-1]))
        elif content is None:
            damaged.append(number)
        elif content["type"] == "versions":
            versions = content["versions"]
        elif content["type"] == "settings":
            settings = content["settings"]
        else:
            records[_key(content["key"])] = content["record"]
    return Contents(settings, versions, records, damaged, n_whole)


def _check_unreadable(path: Path, lines: list[bytes]) -> None:
    """Refuse what does not begin with a header, except for one that was never finished."""
    if not lines:
        return
    if not lines[0].startswith(_START) and not _START.startswith(lines[0]):
        raise ValueError(f"journal={str(path)!r} is no journal of unirel; name another file")
    if len(lines) > 1:
        raise ValueError(
            f"journal={str(path)!r}: the first line, which holds the settings, is damaged, so the other "
            f"{len(lines) - 1} lines cannot be trusted; name another file"
        )


def check_settings(path: Path, there: Any, here: Any) -> None:
    """Refuse a journal of other settings."""
    here = _plain(here)
    different = _differences(_join(here, there), _join(there, here))
    if different:
        shown = "; ".join(different[:3]) + (f"; and {len(different) - 3} more" if len(different) > 3 else "")
        raise ValueError(
            f"journal={str(path)!r} was written with other settings: {shown}; "
            "use the same settings, or name another file"
        )


def _join(first: Any, second: Any) -> Any:
    """The second settings, with the selectors and classifiers of both."""
    return {
        **second,
        **{name: {**first[name], **second[name]} for name in _COMPANY if name in first and name in second},
    }


def write_compact(journal: Path, output: Path, kept: Collection[str]) -> None:
    """Write the outcomes of a journal as a journal of their own, with some fields only; it can be gone on from."""
    found = read_journal(journal)
    if found is None:
        return
    lines = [_header(found.settings, found.versions)]
    for key, record in found.records.items():
        if key[0] == "outcome":
            lines.append(_entry(key, {name: value for name, value in record.items() if name in kept}))
    write_text(output, "".join(map(_line, lines)))


def _header(settings: Any, versions: Mapping[str, str]) -> Record:
    return {"type": "header", "format": _FORMAT, "settings": settings, "versions": dict(versions)}


def _entry(key: tuple[Any, ...], record: Record) -> Record:
    return {"type": "record", "key": list(key), "record": record}


def _line(content: Record) -> str:
    text = _dump(content)
    return f'{{"check":"{_check(text)}","content":{text}}}\n'


def _dump(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _plain(settings: Mapping[str, Any]) -> Any:
    """Settings as they come back from a file: tuples as lists, all keys as texts."""
    return json.loads(_dump(settings))


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(line: bytes) -> Record | None:
    """What a line holds; None if it is not whole."""
    if not line.endswith(b"\n"):
        return None
    try:
        read = json.loads(line)
        content: Record = read["content"]
        return content if read["check"] == _check(_dump(content)) else None
    except (ValueError, KeyError, TypeError):
        return None


def _key(key: list[Any]) -> tuple[Any, ...]:
    return tuple(_key(part) if isinstance(part, list) else part for part in key)


def _differences(there: Any, here: Any, name: str = "") -> list[str]:
    """What two settings differ in, one text for each."""
    if isinstance(there, dict) and isinstance(here, dict):
        parts = []
        for key in dict.fromkeys([*there, *here]):
            inner = f"{name}.{key}" if name else str(key)
            if key not in here:
                parts.append(f"{inner} is there but not here")
            elif key not in there:
                parts.append(f"{inner} is here but not there")
            else:
                parts += _differences(there[key], here[key], inner)
        return parts
    return [] if there == here else [f"{name} is {there!r} there and {here!r} here"]


def _lock(file: int, path: Path) -> None:
    """Keep others out; where the system cannot, do without."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"journal={str(path)!r} is being written by another process; wait, or name another") from None
    except OSError:
        return


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
