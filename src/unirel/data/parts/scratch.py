"""Files for codes that do not fit into memory: without a name, so that nothing is left whatever ends the process."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch:
    """Memory-mapped arrays in files of a folder; the system deletes them with the last array, or with the process.

    Parameters
    ----------
    folder : path, optional
        Where to make them; that of temporary files if None.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder
        self._folder = Path(tempfile.gettempdir() if folder is None else folder)
        if not self._folder.is_dir():
            raise ValueError(f"scratch={str(folder)!r} is no folder; make it first")
        self._maps: list[mmap.mmap] = []

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in a file."""
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        try:
            # Its name, if it ever has one, is gone before anything is written: not even a kill leaves a file behind.
            with tempfile.TemporaryFile(prefix="unirel-scratch-", dir=self._folder) as file:
                _take_room(file.fileno(), size)
                self._maps.append(mmap.mmap(file.fileno(), size))
        except OSError as error:
            about = f"scratch={str(self._folder)!r} cannot hold {size / 1e6:,.1f} MB: {error.strerror or error}"
            raise OSError(f"{about}; name another folder") from None
        return np.frombuffer(self._maps[-1], kind).reshape(shape)

    def release(self) -> None:
        """Take what was read or written out of the memory of this process; the system may still have it."""
        for one in self._maps:
            if hasattr(one, "madvise") and hasattr(mmap, "MADV_DONTNEED"):  # not on every system
                one.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Give the files up; they go with the last array."""
        self._maps.clear()


def _take_room(file: int, size: int) -> None:
    """Make a file that large, and find out now whether the disk is full: writing to a mapped one would crash."""
    os.ftruncate(file, size)
    if not hasattr(os, "posix_fallocate"):  # not on every system
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a disk that cannot say
            raise
