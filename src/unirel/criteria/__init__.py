"""Criteria. A new one is one file here, called after it, and its name in `CRITERIA`."""

CRITERIA: tuple[str, ...] = ("mim", "mrmr", "jmi", "jmim", "cmim", "gsa")
