"""Criteria. A new one is one file and its name in `CRITERIA`."""

from unirel.criteria.base import Criterion
from unirel.criteria.cmim import CMIM
from unirel.criteria.gsa import GSA
from unirel.criteria.jmi import JMI
from unirel.criteria.jmim import JMIM
from unirel.criteria.mim import MIM
from unirel.criteria.mrmr import MRMR
from unirel.errors import check_choice

CRITERIA: dict[str, type[Criterion]] = {criterion.name: criterion for criterion in (MIM, MRMR, JMI, JMIM, CMIM, GSA)}


def make_criterion(criterion: str | Criterion) -> Criterion:
    """A criterion by its name, or as it is."""
    if isinstance(criterion, Criterion):
        return criterion
    check_choice("criterion", criterion, CRITERIA)
    return CRITERIA[criterion]()
