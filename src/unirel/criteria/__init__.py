"""Criteria. A new one is one file here, called after it, and its name in `CRITERIA`."""

CRITERIA: tuple[str, ...] = (
    *("mim", "mrmr", "jmi", "jmim", "cmim", "gsa"),
    *("mrmr_q", "mifs", "cife", "icap", "condred", "betagamma", "disr", "njmim", "jmi3", "cmi"),
)
