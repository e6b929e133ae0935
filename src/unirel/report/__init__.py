"""A selection as one page of HTML that needs nothing else: `Report`, and `Origin` for where the data come from."""

from unirel.report.report import Origin, Report

__all__ = ["Origin", "Report"]
