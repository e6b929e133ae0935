"""What is known about each dataset before it is loaded."""

import difflib
import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Paper:
    """What the paper says about a dataset; `unique_relevance` is the percentage of features that have any."""

    n_samples: int
    n_features: int
    n_classes: int
    unique_relevance: float


@dataclass(frozen=True)
class OpenML:
    """A copy on OpenML."""

    id: int
    n_samples: int
    n_features: int


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue; `builtin` names a function of `sklearn.datasets`."""

    name: str
    title: str
    kind: str
    n_samples: int
    n_features: int
    n_classes: int | None = None  # None for a continuous target
    target_names: tuple[str, ...] = ()
    sha256: str = ""
    paper: Paper | None = None
    openml: OpenML | None = None
    builtin: str = ""


@cache
def catalog() -> dict[str, Entry]:
    """All datasets, those of the paper first."""
    text = files("unirel.datasets").joinpath("catalog.toml").read_text(encoding="utf-8")
    return {name: _entry(name, facts) for name, facts in tomllib.loads(text).items()}


def find_entry(name: Any) -> Entry:
    """The line of one dataset; an unknown name is refused with those that there are."""
    known = catalog()
    if isinstance(name, str) and name in known:
        return known[name]
    close = difflib.get_close_matches(str(name).lower().replace("-", "_"), known)
    guess = f"did you mean {' or '.join(map(repr, close))}? There are" if close else "there are"
    raise ValueError(f"there is no dataset {name!r}; {guess} {', '.join(known)}")


def checksum(data: NDArray[Any], target: NDArray[Any]) -> str:
    """Sha256 of the values: rows of 8-byte floats, then 8-byte labels, little-endian, whatever the file format."""
    digest = hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(target, dtype="<i8").tobytes())
    return digest.hexdigest()


def _entry(name: str, facts: dict[str, Any]) -> Entry:
    plain = {key: value for key, value in facts.items() if key not in ("paper", "openml", "target_names")}
    labels = tuple(facts.get("target_names", ()))
    return Entry(
        name,
        **{"n_classes": len(labels) or None, **plain},
        target_names=labels,
        paper=Paper(**facts["paper"]) if "paper" in facts else None,
        openml=OpenML(**facts["openml"]) if "openml" in facts else None,
    )
