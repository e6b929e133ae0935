"""Rows in several places: what maps a function over the parts and adds up what it finds, whichever engine has them.

A table in parts knows no more of an engine than `Rows`, which each has in a file of its own. Beside its class that has
``open_rows(X, y, sample_weight)`` and ``take_columns(X, selector)``, for `ENGINES` in `readers`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel._runtime import map_tasks
from unirel.data.readers import numbered_names

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


class Rows:
    """Parts in a fixed order, as they are read or as something was made of them, here or somewhere else.

    In this process those that are read are looked at one after the other, and what was made of them is a list.
    """

    is_parted = True
    has_names = False  # whether the columns had names before

    def __init__(
        self, parts: list[Any] | None, names: tuple[str, ...] = (), weighted: bool = False, numbered: Sequence[Any] = ()
    ) -> None:
        self._parts = parts  # None if they are read whenever they are looked at
        self.names = names  # features and, last, the target
        self.weighted, self.numbered = weighted, numbered_names(numbered)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts or ())

    @property
    def feature_names(self) -> dict[str, NDArray[Any]]:
        """What scikit-learn sets of a table whose columns have names."""
        return {"feature_names_in_": np.array(self.names[:-1], object)} if self.has_names else {}

    def map(self, function: Function, each: Sequence[Any] | None = None) -> list[Any]:
        """What a function finds in every part, in their order."""
        # With `each` it gets an entry of that as well, and a part whose entry is None is left out.
        look = self._task(partial(ask, function=function))
        if each is None:
            return self._finish([look(part) for part in self])
        return self._finish([look(part, own) for part, own in zip(self, each, strict=True) if own is not None])

    def add(self, function: Function, add: Add, n_jobs: int | None = None) -> Any:
        """What a function finds in every part, added up in any order."""

        def total(parts: Iterable[Any]) -> Any:
            return reduce(lambda before, one: add([before, one]), (ask(part, function=function) for part in parts))

        known = self._parts
        groups: list[Any] = [self] if known is None else [known[n::_TASKS] for n in range(min(_TASKS, len(known)))]
        return add(map_tasks(total, groups, n_jobs))

    def keep(self, function: Function) -> Rows:
        """What a function makes of every part, kept where that is, in files that can be taken out of memory."""
        make = self._task(function)
        return self._kept([make(part) for part in self])

    def exchange(self, take: Function, encode: Function, put: Function, blocks: Sequence[Any]) -> Rows:
        """Change what was made of parts by what is found in all of them together, a block at a time."""
        # ``take(part, block)`` gives what is needed of a part, ``encode(taken, block)`` what is to be put into each
        # part, and ``put(part, block, piece)`` does so and returns the part.
        take, encode, put = map(self._task, (take, encode, put))
        changed = self._changeable()
        for block in blocks:
            found = encode([take(part, block) for part in self], block)
            changed = [put(part, block, found[place]) for place, part in enumerate(changed)]
        return self._kept(changed)

    @staticmethod
    def _task(function: Function) -> Function:
        """A function that is called where its arguments are: here and at once."""
        return function

    def _finish(self, tasks: list[Any]) -> list[Any]:
        return tasks

    def _kept(self, tasks: list[Any]) -> Rows:
        """What tasks have made, which stays where it is."""
        return Rows(tasks)

    def _changeable(self) -> list[Any]:
        """Parts that something can be put into."""
        return list(self)

    def rest(self) -> None:
        """Give up what is kept for reading again, which is made again then."""

    def close(self) -> None:
        """Give everything up: files are deleted with the last array, and workers forget what they keep."""
        self._parts = []


def ask(part: Any, *each: Any, function: Function) -> Any:
    """What a function finds in a part, which leaves memory then if it is in files."""
    found = function(part, *each)
    if not isinstance(part, Part):
        part.release()
    return found


def selected_names(selector: Any, names: Sequence[str]) -> list[str]:
    """Names of the selected columns, which must all be there."""
    fitted = getattr(selector, "feature_names_in_", names)
    selected = [str(fitted[place]) for place in selector.get_support(indices=True).tolist()]
    for name in selected:
        if name not in names:
            raise ValueError(f"X has no column {name!r}, which was selected in fit")
    return selected


def no_room(size: int, error: OSError) -> OSError:
    about = f"the folder of temporary files, {tempfile.gettempdir()!r}, cannot hold {size / 1e6:,.1f} MB"
    return OSError(f"{about}: {error.strerror or error}; name another one in TMPDIR")
