"""Columns that are named on the command line: by themselves, with commas between them, or with a kind."""

import difflib
import re
from collections.abc import Sequence
from typing import Any

from unirel.cli.exits import BadInput
from unirel.cli.messages import listed


def find_names(values: Sequence[str] | None, names: Sequence[str], flag: str) -> list[str]:
    """Names of columns that are there, each once, of those that were given with a flag."""
    return [find_name(name, names, flag) for name in split_names(values, names)]


def find_name(name: str, names: Sequence[str], flag: str) -> str:
    """A name that is there; the error says what it may have been meant to be."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names) or [other for other in names if other.lower() == name.lower()]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"the columns are {listed(names, 10)}"
    raise BadInput(f"{flag}: there is no column {name!r}; {hint}")


def split_names(values: Sequence[str] | None, names: Sequence[str] = ()) -> list[str]:
    """Names given one by one or with commas between them, each once; a name that is there may have commas itself."""
    result: list[str] = []
    for value in values or ():
        result += [value] if value in names else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(result))


def find_kinds(values: Sequence[str] | None, names: Sequence[str], flag: str = "--kinds") -> dict[str, Any]:
    """Kinds of columns as ``col=kind,...``; a name may have = and commas itself."""
    kinds: dict[str, Any] = {}
    for value in values or ():
        rest = value
        while rest:
            match = re.match(r"(.+?)=\s*(\w+)\s*(?:,\s*|$)", rest)
            if match is None:
                raise BadInput(f"{flag} {value!r} must look like column=discrete, or several with commas between them")
            name, kind = match.groups()
            if kind not in ("continuous", "discrete", "ignored"):
                raise BadInput(f"{flag}: {kind!r} is no kind; it can be continuous, discrete or ignored")
            kinds[find_name(name.strip(), names, flag)] = kind
            rest = rest[match.end() :].strip()
    return kinds
