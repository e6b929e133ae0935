"""A selection as one page of HTML that needs nothing else: `Report`, and `Origin` for where the data come from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unirel.report.report import Report as Report

__all__ = ["Origin", "Report"]


@dataclass(frozen=True)
class Origin:
    """Where a table comes from and what happened to it before the library saw it."""

    source: str = "data"  #: Name of a file or dataset.
    target: str = "y"  #: Name of the target.
    dropped: tuple[str, ...] = ()  #: Columns left out on request.
    ignored: tuple[tuple[str, str], ...] = ()  #: Columns left out by the reader, and why.
    n_without_target: int = 0  #: Rows left out because they have no target.
    notes: tuple[str, ...] = ()  #: What else the reader of the page should know.
    reading: tuple[str, ...] = ()  #: Lines of Python that give ``X`` and ``y``.


def __getattr__(name: str) -> Any:
    if name != "Report":
        raise AttributeError(f"module 'unirel.report' has no attribute {name!r}")
    from unirel.report.report import Report  # needs numpy, and whoever only names an origin does not

    return Report
