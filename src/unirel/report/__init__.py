"""A selection as one page of HTML that needs nothing else: `Report`, and `Origin` for where the data come from."""

from typing import TYPE_CHECKING, Any

from unirel.report.origin import Origin

if TYPE_CHECKING:
    from unirel.report.report import Report as Report

__all__ = ["Origin", "Report"]


def __getattr__(name: str) -> Any:
    if name != "Report":
        raise AttributeError(f"module 'unirel.report' has no attribute {name!r}")
    from unirel.report.report import Report  # needs numpy, and whoever only names an origin does not

    return Report
