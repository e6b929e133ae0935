"""Every fault of `planted_faults.py` can still be planted; the program itself takes long."""

import ast

import pytest
from planted_faults import FAULTS, ROOT


def test_there_are_twenty_faults():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault):
    ast.parse(fault.planted((ROOT / fault.path).read_text(encoding="utf-8")))
    file, _, test = fault.near.partition("::")
    assert f"def {test}" in (ROOT / "tests" / file).read_text(encoding="utf-8")
