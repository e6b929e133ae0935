"""Rows in several places: what maps a function over the parts and adds up what it finds, whichever engine has them.

This is all that a table in parts knows of an engine. One that reads in this process is a `LocalRows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from unirel._runtime import map_tasks

Function = Callable[..., Any]
Add = Callable[[list[Any]], Any]

# Pieces into which the work on kept parts is cut.
_TASKS = 8


class Part(NamedTuple):
    """Some rows as they were read: features, target, and weights if there are any."""

    X: Any
    y: Any
    weights: Any = None
    label: str = ""  # what an error calls it


class Parts(ABC):
    """Parts in a fixed order."""

    @abstractmethod
    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order.

        With `each` it gets an entry of that as well, and a part whose entry is None is left out.
        """

    @abstractmethod
    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up in any order."""


class Kept(Parts):
    """What was made of parts and stays where they are, in files that can be taken out of memory."""

    @abstractmethod
    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> Kept:
        """Change parts by what is found in all of them together, a block at a time.

        ``take(part, block)`` gives what is needed of a part, ``encode(taken, block)`` what is to be put into each part,
        and ``put(part, block, piece)`` does so.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back everything."""


class Rows(Parts):
    """Parts of a table as they are read, each a `Part`.

    Attributes
    ----------
    names : tuple of str
        Features and, last, the target.
    numbered : mapping
        Positions of features whose name is a whole number.
    weighted : bool
        Whether rows have weights.
    """

    is_parted = True
    names: tuple[str, ...]
    numbered: Mapping[int, int] = {}
    weighted: bool

    @abstractmethod
    def keep(self, function: Function) -> Kept:
        """What a function makes of every part, kept where that is."""


class LocalRows(Rows, Iterable[Part]):
    """Parts that are read in this process, one after the other."""

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order."""
        if each is None:
            return [function(part) for part in self]
        return [function(part, own) for part, own in zip(self, each, strict=True) if own is not None]

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up as it comes."""
        return reduce(lambda total, one: add([total, one]), map(function, self))

    def keep(self, function: Function) -> LocalKept:
        """What a function makes of every part."""
        return LocalKept(self.map(function))


class LocalKept(Kept):
    """What was made of parts, in files that are mapped to the memory of this process."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order."""
        pairs = zip(self._parts, [()] * len(self._parts) if each is None else ((own,) for own in each), strict=True)
        return [ask(part, *own, function=function) for part, own in pairs if own != (None,)]

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up in threads."""
        groups = [self._parts[start::_TASKS] for start in range(min(_TASKS, len(self._parts)))]
        return add(map_tasks(partial(ask_all, function=function, add=add), groups, n_jobs))

    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> LocalKept:
        """Change parts in place."""
        for block in blocks:
            pieces = encode([take(part, block) for part in self._parts], block)
            for part, piece in zip(self._parts, pieces, strict=True):
                put(part, block, piece)
                part.files.release()
        return self

    def close(self) -> None:
        """Give the files up, which are deleted with the last array."""
        self._parts = []


def ask(part: Any, *each: Any, function: Function) -> Any:
    """What a function finds in a part, which leaves memory then if it is in files."""
    found = function(part, *each)
    if not isinstance(part, Part):
        part.files.release()
    return found


def ask_all(parts: list[Any], *, function: Function, add: Add) -> Any:
    """What a function finds in some parts, added up as it comes."""
    return add([reduce(lambda total, one: add([total, one]), (ask(part, function=function) for part in parts))])
