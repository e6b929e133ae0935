"""A selection as one page of HTML that needs nothing else: `Report`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unirel.report.report import Report as Report

__all__ = ["Report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'unirel.report' has no attribute {name!r}")
    from unirel.report.report import Report

    return Report
