"""Estimators of mutual information. A new one is one file here, called after it, and its name in `ESTIMATORS`."""

ESTIMATORS: tuple[str, ...] = ("knn", "plugin", "binned", "gaussian", "partition", "kde", "mine")
