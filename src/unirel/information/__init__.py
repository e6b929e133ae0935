"""Estimators of mutual information. A new one is one file and one line in `ESTIMATORS`."""

from typing import Any

from unirel.errors import check_choice
from unirel.information.base import Information
from unirel.information.binned import Binned
from unirel.information.knn import KNN
from unirel.information.plugin import Plugin
from unirel.table import Table

ESTIMATORS: dict[str, type[Information]] = {estimator.name: estimator for estimator in (KNN, Plugin, Binned)}


def make_information(estimator: str, table: Table, options: dict[str, Any]) -> Information:
    """Build an estimator by name; of `options` it is given those that it knows."""
    check_choice("estimator", estimator, ESTIMATORS)
    chosen = ESTIMATORS[estimator]
    chosen.check(table)
    known = chosen.__init__.__kwdefaults__ or {}
    return chosen(table, **{name: value for name, value in options.items() if name in known})
