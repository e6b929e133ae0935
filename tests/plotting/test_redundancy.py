"""The figure of a redundancy analysis."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unirel.plotting import RedundancyDisplay
from unirel.results import Redundancy

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def pyplot():
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture
def result():
    return Redundancy(
        order=np.array([3, 0, 2, 1]),
        curve=np.array([0.1, 0.2, 0.3, 0.25]),
        saturated=np.array([3, 0, 2]),
        unique=np.array([3]),
        conditional=np.array([0]),
        redundant=np.array([2]),
        reduced_information=0.31,
        unique_relevance=np.array([0.0, 0.0, -0.1, 0.1]),
        names=("a", "b", "c", "d"),
        tolerance=0.0,
        exact=True,
        complete=True,
    )


def test_draws_the_curve_with_every_role_marked(result, pyplot):
    display = RedundancyDisplay(result).plot()
    ax = display.ax_
    assert display.figure_ is ax.figure
    assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([[1, 2, 3, 4], result.curve]))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["unique (1)", "conditional (1)", "redundant (1)", "after saturation (1)", "saturation"]
    places = [collection.get_offsets().tolist() for collection in ax.collections]
    assert places == [[[1, 0.1]], [[2, 0.2]], [[3, 0.3]], [[4, 0.25]]]
    assert ax.lines[1].get_xdata() == [3, 3]
    assert "(nats)" in ax.get_ylabel()
    assert ax.get_title() == "redundancy rate 33.3 % (1 of 3)"


def test_colours_and_markers_differ(result, pyplot):
    collections = RedundancyDisplay(result).plot().ax_.collections
    assert len({tuple(collection.get_facecolor()[0]) for collection in collections}) == 4
    assert len({collection.get_paths()[0].vertices.tobytes() for collection in collections}) == 4


def test_draws_on_given_axes_and_leaves_out_what_is_not_there(result, pyplot):
    _, ax = pyplot.subplots()
    whole = replace(result, order=result.saturated, curve=result.curve[:3])
    display = RedundancyDisplay(whole)
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert not any("after" in text.get_text() for text in ax.get_legend().get_texts())


def test_title_says_what_is_a_bound(result, pyplot):
    title = RedundancyDisplay(replace(result, exact=False, complete=False)).plot().ax_.get_title()
    assert title == "redundancy rate at least 33.3 % (1 of 3), incomplete"
