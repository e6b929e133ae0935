"""What the displays of selections draw."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib import pyplot
from sklearn.datasets import load_iris

from unirel import BURSelector, relevance, relevance_test, selection_path
from unirel.inference.relations import order_by_similarity
from unirel.plotting import (
    AccuracyDisplay,
    BetaPathDisplay,
    HeatmapDisplay,
    RelevanceDisplay,
    SelectionDisplay,
    SignificanceDisplay,
    label,
)
from unirel.results import Ending, ExchangeablePair, Selection, SelectionPath, Stability

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def path():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return selection_path(
        X, y, selector=BURSelector(n_features_to_select=3), criteria=["mim", "jmi"], betas=[0, 0.1, 0.5]
    )


def draw(display):
    """Draw for real: many mistakes show up only then."""
    display.figure_.canvas.draw()
    return display.ax_


@pytest.fixture(scope="module")
def tested():
    """Two columns that follow the class, and two that do not."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 5)) + y[:, None] * [0, 3, 0, 2, 0]
    return X, y, relevance_test(X, y, discrete_features={4: None}, n_permutations=199)


def test_significance(tested):
    test = tested[2]
    ax = draw(test.plot())
    found, chance = ax.collections[:2]
    assert sorted(found.get_offsets()[:, 0]) == sorted(test.information[[1, 3]])
    assert sorted(chance.get_offsets()[:, 0]) == sorted(test.information[[0, 2]])
    assert len(chance.get_facecolors()) == 0
    assert ax.lines[0].get_xdata()[0] == test.information[[1, 3]].min()
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["x1", "x3"]


def test_significance_of_nothing_has_no_line(tested):
    display = SignificanceDisplay(tested[2]).plot(alpha=0.001, max_features=2)
    ax = draw(display)
    assert not ax.lines
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["significant (0)", "may be chance (4)"]
    assert len(ax.get_yticklabels()) == 2


def test_relevance_with_a_test(tested):
    X, y, test = tested
    selection = BURSelector("jmi", 2, beta=0.1).fit(X[:, :4], y).selection_
    with pytest.raises(ValueError, match="test is about other features than selection"):
        RelevanceDisplay(selection, test)
    test = relevance_test(X[:, :4], y, n_permutations=199)
    ax = draw(RelevanceDisplay(selection, test).plot())
    hollow = ax.collections[2].get_offsets()
    assert sorted(hollow[:, 0]) == sorted(selection.relevance[[0, 2]])
    assert ax.lines[-1].get_xdata()[0] == selection.relevance[[1, 3]].min()
    assert "hollow: may be chance (2)" in [text.get_text() for text in ax.get_legend().get_texts()]


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
    assert sorted(order_by_similarity((shared + shared.T) / 2)) == list(range(size))


def test_accuracy():
    curves = {"jmi": [[0.6, 0.7, 0.8], [0.8, 0.7, 0.8]], "mim": [0.5, 0.5, 0.6]}
    ax = draw(AccuracyDisplay(curves, [1, 5, 10]).plot())
    assert np.allclose(ax.lines[0].get_ydata(), [0.7, 0.7, 0.8])
    assert list(ax.lines[1].get_xdata()) == [1, 5, 10]
    assert len(ax.collections) == 1


def test_accuracy_of_an_evaluation():
    keys = ("dataset", "model", "selector", "split", "n_features")
    cells = [("wine", "knn", one, split, n) for one in ("mim", "jmi") for split in (0, 1) for n in (1, 2, 5)]
    rows = [{**dict(zip(keys, cell, strict=True)), "test_score": 0.1 * n} for n, cell in enumerate(cells)]
    evaluation = SimpleNamespace(rows=rows, scores={"wine": "R2"})
    display = AccuracyDisplay.from_evaluation(evaluation)
    assert display.score == "R2"
    ax = draw(display.plot())
    assert [line.get_label() for line in ax.lines] == ["mim", "jmi"]
    assert display.sizes == [1, 2, 5]
    np.testing.assert_allclose(display.curves["jmi"], [[0.6, 0.7, 0.8], [0.9, 1.0, 1.1]])
    with pytest.raises(ValueError, match="nothing was measured for model='rf'"):
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
    selector = BURSelector("jmi", 2).fit(*load_iris(return_X_y=True))
    assert len(SelectionDisplay.from_selector(selector).ax_.get_yticklabels()) == 2
    assert len(RelevanceDisplay.from_selector(selector).ax_.texts) == 2


def test_names_are_no_formulas(path):
    import dataclasses

    selection = dataclasses.replace(path.selection("jmi", 0.1), names=(r"$\frac$", "_$_^", "x" * 90, r"\alpha$"))
    draw(SelectionDisplay(selection).plot())
    draw(RelevanceDisplay(selection).plot())
    assert len(label("x" * 90)) == 28


def overlapping(figure, texts):
    """Pairs of texts that cover each other."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [
        (name, other)
        for place, (name, box) in enumerate(boxes)
        for other, other_box in boxes[:place]
        if box.shrunk(0.98, 0.9).overlaps(other_box.shrunk(0.98, 0.9))
    ]


@pytest.fixture(scope="module", params=[5, 40, 300])
def long_path(request):
    """Selections of some size of features with long names, from made-up numbers."""
    n = request.param
    rng = np.random.default_rng(n)
    relevance, names = rng.gamma(1.5, 0.1, n + 20), tuple(f"a rather long name of feature {j}" for j in range(n + 20))
    unique, selections = rng.normal(0, 0.01, n + 20), []
    for beta in (0.0, 0.5, 1.0):
        order = np.argsort(-relevance - beta * unique * 10)[:n]
        values = (order, np.sort(rng.gamma(1.5, 0.1, n))[::-1], names, relevance, unique)
        selections.append(Selection("jmim", beta, *values, Ending.ASKED))
    return SelectionPath(tuple(selections))


@pytest.mark.parametrize("kind", ["selection", "relevance", "beta", "heat"])
def test_no_name_covers_another(long_path, kind):
    selection = long_path.selections[1]
    if kind == "selection":
        display = SelectionDisplay(selection).plot()
        texts = display.ax_.get_yticklabels()
    elif kind == "relevance":
        display = RelevanceDisplay(selection).plot()
        texts = display.ax_.texts
        assert all(text.arrow_patch is None for text in texts)  # nothing that could cross
    elif kind == "beta":
        display = BetaPathDisplay(long_path).plot()
        texts = display.ax_.texts
    else:
        shared = np.random.default_rng(0).random((len(selection),) * 2)
        display = HeatmapDisplay((shared + shared.T) / 2, selection.selected_names).plot()
        texts = display.ax_.get_yticklabels()
    assert any(text.get_text() for text in texts)
    assert overlapping(display.figure_, texts) == []
    width, height = display.figure_.get_size_inches()
    assert width <= 7.5
    assert height <= 9.5
    from matplotlib import pyplot

    pyplot.close(display.figure_)


def test_relevance_is_drawn_with_its_interval():
    X, y = load_iris(return_X_y=True)
    selection = BURSelector("jmi", 2, beta=0.1).fit(X, y).selection_
    estimate = relevance(X, y, mi_estimator="binned", confidence_level=0.95)
    display = RelevanceDisplay(selection, interval=estimate).plot()
    draw(display)
    lines = display.ax_.collections[0]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_array_equal(ends, np.column_stack([estimate.low, estimate.high]))


def test_stability():
    names = ("one", "other", "noise", "never")
    selected = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]], bool)
    pairs = (ExchangeablePair(0, 1, 1.0, 0.0),)
    result = Stability(names, selected, selected.mean(axis=0), np.ones(4), 0.3, (0.1, 0.5), 0.95, pairs)
    ax = draw(result.plot())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "other", "noise"]
    assert sorted(bar.get_width() for bar in ax.patches) == [25, 50, 50]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["selected", "exchangeable with another"]
