"""Files for codes that do not fit into memory: in a folder of their own, deleted when nobody needs it."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_PREFIX = "unirel-scratch-"


class Scratch:
    """A folder of memory-mapped arrays, deleted with this object, at the end of the process, or at the next start.

    Parameters
    ----------
    folder : path, optional
        Where to make it; that of temporary files if None.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        parent = Path(tempfile.gettempdir() if folder is None else folder)
        if not parent.is_dir():
            raise ValueError(f"scratch={str(folder)!r} is no folder; make it first")
        remove_stale(parent)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self._maps: list[mmap.mmap] = []
        # Also called when the process ends, whatever ends it but a kill.
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in a file; like memory, what nobody has written to takes no room."""
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        with (self.path / str(len(self._maps))).open("w+b") as file:
            file.truncate(size)
            self._maps.append(mmap.mmap(file.fileno(), size))
        return np.frombuffer(self._maps[-1], kind).reshape(shape)

    def release(self) -> None:
        """Take what was read or written out of the memory of this process; the system may still have it."""
        for one in self._maps:
            if hasattr(one, "madvise") and hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                one.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Delete the folder now."""
        self._finalizer()


def remove_stale(parent: Path) -> None:
    """Delete the folders of processes that are no more."""
    for folder in parent.glob(f"{_PREFIX}*"):
        found = re.fullmatch(rf"{_PREFIX}(\d+)-.*", folder.name)
        if found and not _runs(int(found[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # It is somebody else's.
        return True
    return True
