"""The pages about parts are run, and print what they say."""

import doctest
from pathlib import Path

import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("datasketches")

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    "page",
    ["larger_than_memory", pytest.param("cluster", marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")])],
)
def test_a_page_prints_what_it_says(page):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(DOCS / f"{page}.rst"), module_relative=False, optionflags=flags)
    assert tried > 5
    assert failed == 0
