"""What the displays of selections draw."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib import pyplot
from sklearn.datasets import load_iris

from unirel import relevance, selection_path
from unirel.plotting import (
    AccuracyDisplay,
    BetaPathDisplay,
    HeatmapDisplay,
    RelevanceDisplay,
    SelectionDisplay,
)
from unirel.plotting.base import shorten
from unirel.results import side_by_side

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def path():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return selection_path(X, y, criteria=["mim", "jmi"], betas=[0, 0.1, 0.5], n_features_to_select=3)


def draw(display):
    """Draw for real: many mistakes show up only then."""
    display.figure_.canvas.draw()
    return display.ax_


def test_selection(path):
    selection = path.selection("jmi", 0.1)
    ax = draw(SelectionDisplay(selection).plot())
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        f"{name}  {step}" for step, name in enumerate(selection.selected_names, start=1)
    ]
    assert np.array_equal(ax.collections[1].get_offsets()[:, 0], selection.scores)


def test_relevance(path):
    selection = path.selection("jmi", 0.1)
    ax = draw(RelevanceDisplay(selection).plot(max_labels=2))
    assert [text.get_text() for text in ax.texts] == selection.selected_names[:2]
    assert len(ax.collections[0].get_offsets()) == 1
    assert len(ax.collections[1].get_offsets()) == 3


def test_relevance_needs_unique_relevance(path):
    with pytest.raises(ValueError, match=r"beta=0 boosts nothing"):
        RelevanceDisplay(path.selection("jmi", 0))


def test_beta_path(path):
    ax = draw(BetaPathDisplay(path, "mim").plot())
    first = path.selection("mim", 0).selected_names
    assert [text.get_text() for text in ax.texts][:3] == first
    for line, feature in zip(ax.lines[:3], path.order("mim", 0), strict=True):
        ranks = [list(path.order("mim", beta)).index(feature) + 1 if feature in path.order("mim", beta) else np.nan
                 for beta in (0, 0.1, 0.5)]  # fmt: skip
        assert np.array_equal(line.get_ydata(), ranks, equal_nan=True)


def test_beta_path_needs_several_weights(path):
    with pytest.raises(ValueError, match=r"criterion='gsa' is not on the path; there are mim, jmi"):
        BetaPathDisplay(path, "gsa")
    single = type(path)(path.selections[:1])
    with pytest.raises(ValueError, match="one beta only"):
        BetaPathDisplay(single)


def test_heatmap():
    shared = np.array([[1, 0.1, 0.9, 0.2], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0.2, 0.8, 0.1, 1]])
    display = HeatmapDisplay(shared, ["a", "b", "c", "d"]).plot()
    ax = draw(display)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert abs(names.index("a") - names.index("c")) == 1
    assert abs(names.index("b") - names.index("d")) == 1
    cells = ax.images[0].get_array()
    assert cells[names.index("a"), names.index("c")] == 0.9
    assert np.ma.getmaskarray(np.ma.masked_invalid(cells)).diagonal().all()


def test_heatmap_checks_shape():
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but there are 3 names"):
        HeatmapDisplay(np.eye(2), ["a", "b", "c"])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 30])
def test_clusters_hold_every_feature_once(size, rng):
    shared = rng.random((size, size))
    assert sorted(side_by_side((shared + shared.T) / 2)) == list(range(size))


def test_accuracy():
    curves = {"jmi": [[0.6, 0.7, 0.8], [0.8, 0.7, 0.8]], "mim": [0.5, 0.5, 0.6]}
    ax = draw(AccuracyDisplay(curves, [1, 5, 10]).plot())
    assert np.allclose(ax.lines[0].get_ydata(), [0.7, 0.7, 0.8])
    assert list(ax.lines[1].get_xdata()) == [1, 5, 10]
    assert len(ax.collections) == 1


def test_accuracy_of_an_evaluation():
    from unirel.evaluation import compare

    evaluation = compare("iris", {"mim": "mim", "jmi": "jmi"}, ["knn"], n_runs=2, max_features=3)
    display = AccuracyDisplay.from_evaluation(evaluation)
    ax = draw(display.plot())
    assert [line.get_label() for line in ax.lines] == ["mim", "jmi"]
    assert display.curves["mim"].shape == (2, 3)
    with pytest.raises(ValueError, match="no outcome for classifier='rf'"):
        AccuracyDisplay.from_evaluation(evaluation, "rf")


def test_accuracy_checks_lengths():
    with pytest.raises(ValueError, match="2 sizes"):
        AccuracyDisplay({"a": [0.1, 0.2, 0.3]}, [1, 2])
    with pytest.raises(ValueError, match="no curve"):
        AccuracyDisplay({})


def test_given_axes_are_used(path):
    figure, axes = pyplot.subplots(1, 3)
    selection = path.selection("jmi", 0.1)
    for display, ax in zip(
        (SelectionDisplay(selection), RelevanceDisplay(selection), BetaPathDisplay(path)), axes, strict=True
    ):
        assert display.plot(ax) is display
        assert (display.ax_, display.figure_) == (ax, figure)


def test_from_selector():
    from unirel import BURSelector

    selector = BURSelector("jmi", 2).fit(*load_iris(return_X_y=True))
    assert len(SelectionDisplay.from_selector(selector).ax_.get_yticklabels()) == 2
    assert len(RelevanceDisplay.from_selector(selector).ax_.texts) == 2


def test_names_are_no_formulas(path):
    import dataclasses

    selection = dataclasses.replace(path.selection("jmi", 0.1), names=(r"$\frac$", "_$_^", "x" * 90, r"\alpha$"))
    draw(SelectionDisplay(selection).plot())
    draw(RelevanceDisplay(selection).plot())
    assert len(shorten("x" * 90)) == 28


def test_relevance_is_drawn_with_its_interval():
    X, y = load_iris(return_X_y=True)
    selection = selection_path(X, y, criteria="jmi", betas=0.1, n_features_to_select=2).selection("jmi", 0.1)
    estimate = relevance(X, y, estimator="binned", interval=0.95)
    display = RelevanceDisplay(selection, estimate).plot()
    draw(display)
    lines = display.ax_.collections[0]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_array_equal(ends, np.column_stack([estimate.low, estimate.high]))
