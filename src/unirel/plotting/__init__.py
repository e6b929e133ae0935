"""Figures of results. A Display computes nothing: it draws a result, and keeps the axes it drew on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from html import escape
from itertools import cycle
from typing import Any, Self

import numpy as np

from unirel.inference.relations import Analysis, order_by_similarity
from unirel.plotting.display import (
    BLUE,
    COLORS,
    FAINT,
    NORMAL,
    ORANGE,
    QUIET,
    RED,
    SMALL,
    TITLE,
    WIDTH,
    Display,
    draw_threshold,
    label,
    thinned,
)
from unirel.plotting.drift import RelevanceChangeDisplay
from unirel.plotting.interactions import InteractionsDisplay
from unirel.results import Estimate, Redundancy, RelevanceTest, Selection, SelectionPath, Stability

__all__ = [
    "AccuracyDisplay",
    "BetaPathDisplay",
    "HeatmapDisplay",
    "InteractionsDisplay",
    "RedundancyDisplay",
    "RelevanceChangeDisplay",
    "RelevanceDisplay",
    "SelectionDisplay",
    "SignificanceDisplay",
    "StabilityDisplay",
]

# Where a name can stand beside its point: away from it in points, and how it is aligned there.
_SIDES = ((6, 0, "left", "center"), (-6, 0, "right", "center"), (0, 6, "center", "bottom"), (0, -6, "center", "top"))
# When all colours are used, other lines, so that many curves are told apart.
_LINES = ("-", "--", ":", "-.")
# Colour and marker of each role: either is enough to tell them apart.
_ROLES: dict[str, dict[str, Any]] = {
    "unique": {"color": BLUE, "marker": "o"},
    "conditional": {"color": ORANGE, "marker": "s"},
    "redundant": {"color": RED, "marker": "X"},
    "after saturation": {"edgecolors": QUIET, "facecolors": "white", "marker": "."},
}
# Rows of a table in a notebook; a frame has all.
_MOST_ROWS = 30
_LEFT = 'style="text-align: left; white-space: nowrap"'


@dataclass(eq=False)
class SelectionDisplay(Display):
    """Score of each selected feature when it was selected, with its relevance."""

    selection: Selection  #: One of those that `selection_path` returns, or that of a fitted selector.

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> Self:
        """Draw what a fitted selector has selected."""
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one line per feature, first selected on top, on `ax` or on a new figure, and return itself."""
        selection, n_rows = self.selection, len(self.selection)
        ax = self._start(ax, 1.3 + 0.2 * n_rows)
        steps, scores, relevance = np.arange(n_rows), selection.scores, selection.relevance[selection.order]
        size = float(np.clip(1600 / max(1, n_rows), 6, 36))
        ax.hlines(steps, np.minimum(scores, relevance), np.maximum(scores, relevance), color=FAINT)
        ax.scatter(scores, steps, color=BLUE, s=size, label="score when selected", zorder=2)
        ax.scatter(relevance, steps, color=ORANGE, marker="|", s=2 * size, label="relevance", zorder=2)
        names = [f"{label(name)}  {step + 1}" for step, name in enumerate(selection.selected_names)]
        ax.set_yticks(steps, thinned(names))
        ax.set(ylim=(n_rows - 0.4, -0.6), xlabel="nats")
        mark = "" if selection.complete else ", incomplete"
        ax.set_title(f"{selection.criterion}, beta {selection.beta:g}{mark}", fontsize=TITLE, loc="right")
        self._legend(above=True)
        return self


@dataclass(eq=False)
class BetaPathDisplay(Display):
    """One line per feature: its rank in the selection for every weight of unique relevance."""

    path: SelectionPath  #: Selections for at least two weights.
    criterion: str | None = None  #: Which criterion to draw; the first one by default.

    def __post_init__(self) -> None:
        known = self.path.criteria
        self.criterion = known[0] if self.criterion is None else self.criterion
        if self.criterion not in known:
            raise ValueError(f"criterion={self.criterion!r} is not on the path; there are {', '.join(known)}")
        drawn = [one for one in self.path if one.criterion == self.criterion]
        self.selections = sorted(drawn, key=lambda one: one.beta)
        if len(self.selections) < 2:
            raise ValueError("the path has one beta only; pass several betas to selection_path")

    def plot(self, ax: Any = None, *, max_features: int = 40) -> Self:
        """Draw the lines of the features selected first, at most `max_features`, named where they begin and end."""
        longest = max(map(len, self.selections))
        size = min(longest, max_features)
        ax = self._start(ax, 1.5 + 0.2 * size)
        betas = np.array([selection.beta for selection in self.selections])
        first, last = self.selections[0], self.selections[-1]
        # Features that are selected at the first weight have colours; later arrivals are grey.
        colors = dict(zip(first.order.tolist(), cycle(COLORS), strict=False))
        ranks = np.full((len(first.names), len(betas)), np.nan)  # NaN: not among the first
        for position, selection in enumerate(self.selections):
            ranks[selection.order[:size], position] = np.arange(1, min(size, len(selection)) + 1)
        for feature in dict.fromkeys(one for selection in self.selections for one in selection.order[:size].tolist()):
            ax.plot(betas, ranks[feature], "o-", color=colors.get(feature, QUIET), markersize=3.5, linewidth=1.4)
        for selection, side, away in ((first, "right", -6), (last, "left", 6)):
            for rank, feature in enumerate(selection.order[:size], start=1):
                place = {"textcoords": "offset points", "ha": side, "va": "center", "fontsize": 7.5, "color": "0.25"}
                ax.annotate(label(first.names[feature], 24), (selection.beta, rank), (away, 0), **place)
        ax.set(ylim=(size + 0.6, 0.4), yticks=[], xlabel="weight of unique relevance (beta)")
        ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
        ax.margins(x=0.42)
        few = "" if longest <= size else f" ({size} of {longest})"
        ax.set_title(f"{self.criterion}: rank of every feature, first selected on top{few}", fontsize=TITLE)
        ax.spines["left"].set_visible(False)
        return self


@dataclass(eq=False)
class RelevanceDisplay(Display):
    """Relevance of every feature against its unique relevance; the selected ones are named."""

    selection: Selection  #: A boosted one, so that unique relevance is known.
    #: What `relevance_test` says of the same features: those whose relevance may be chance are hollow, and there is a
    #: line at the least relevance that is significant.
    test: RelevanceTest | None = None
    _: KW_ONLY
    alpha: float = 0.05  #: Features with an adjusted value up to this are significant.
    #: Relevance with its interval, as ``relevance(X, y, confidence_level=0.95)`` gives it, to be drawn as a line.
    interval: Estimate | None = None

    def __post_init__(self) -> None:
        if self.selection.unique_relevance is None:
            given = f"beta={self.selection.beta:g}"
            raise ValueError(f"{given} boosts nothing, so unique relevance is not known; pass beta > 0")
        if self.test is not None and self.test.names != self.selection.names:
            raise ValueError("test is about other features than selection; test the table that was selected from")

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> Self:
        """Draw the features that a fitted selector with beta above 0 has seen."""
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None, *, max_labels: int = 8) -> Self:
        """Draw one point per feature; the `max_labels` features selected first are named, where there is room."""
        ax = self._start(ax, 4.6)
        selection = self.selection
        x, y = selection.relevance, np.asarray(selection.unique_relevance)
        chosen = np.zeros(len(x), bool)
        chosen[selection.order] = True
        area = float(np.clip(4000 / len(x), 10, 34))
        ax.axhline(0, color=FAINT, linewidth=1, zorder=0)
        if self.interval is not None:
            ax.hlines(y, self.interval.low, self.interval.high, color=FAINT, linewidth=1.2, zorder=0, label="interval")
        others = f"others ({np.count_nonzero(~chosen)})"
        ax.scatter(x[~chosen], y[~chosen], color=QUIET, s=area, linewidths=0, alpha=0.7, label=others)
        ax.scatter(x[chosen], y[chosen], color=BLUE, s=1.3 * area, label=f"selected ({chosen.sum()})", zorder=2)
        if self.test is not None:
            significant = self.test.significant(self.alpha)
            chance = ~significant & ~np.isnan(self.test.adjusted)
            ax.scatter(x[chance], y[chance], facecolors="white", edgecolors="none", s=9, zorder=3)
            hollow = f"hollow: may be chance ({np.count_nonzero(chance)})"
            ax.scatter([], [], facecolors="none", edgecolors=QUIET, label=hollow)
            draw_threshold(ax, x[significant])
        ax.margins(x=0.06, y=0.08)
        ax.set(xlabel="relevance (nats)", ylabel="unique relevance")
        self._legend(above=True)
        self._name(selection.order[:max_labels], np.column_stack([x, y]))
        return self

    def _name(self, features: Any, points: Any) -> None:
        """Write names beside points, each where it covers no other name and no other selected point, or not at all."""
        ax = self.ax_
        ax.figure.draw_without_rendering()  # where things are is known only when they have found their places
        spots = ax.transData.transform(points[self.selection.order])
        taken: list[Any] = []
        for feature in features:
            others = spots[~np.isclose(spots, ax.transData.transform(points[feature])).all(axis=1)]
            for across, up, align, stand in _SIDES:
                place = {"textcoords": "offset points", "fontsize": SMALL, "ha": align, "va": stand}
                text = ax.annotate(label(self.selection.names[feature], 24), points[feature], (across, up), **place)
                box = text.get_window_extent().padded(2)
                inside = ax.bbox.count_contains(box.get_points()) == 2  # of its corners
                if inside and not box.count_contains(others) and not box.count_overlaps(taken):
                    taken.append(box)
                    break
                text.remove()


@dataclass(eq=False)
class HeatmapDisplay(Display):
    """Normalised mutual information of every two selected features, similar ones side by side."""

    shared: Any  #: Of every two features: from 0 if they are independent to 1 where each determines the other.
    names: Sequence[str]  #: Names of the features.
    order_: list[int] = field(init=False, repr=False)  #: Features in the order in which they are drawn.

    def __post_init__(self) -> None:
        self.shared = np.asarray(self.shared, dtype=np.float64)
        if self.shared.shape != (len(self.names), len(self.names)):
            raise ValueError(f"shared has shape {self.shared.shape}, but there are {len(self.names)} names")

    @classmethod
    def from_analysis(cls, analysis: Analysis, ax: Any = None) -> Self:
        """Draw the features that the analysis of a report has compared."""
        return cls(analysis.shared, analysis.names[: len(analysis.shared)]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one cell per pair on `ax` or on a new figure, and return itself."""
        size = len(self.names)
        # Room for names and for the scale, and a square of cells that are as large as they can be.
        side = min(WIDTH - 2.4, 1.0 + 0.3 * size)
        ax = self._start(ax, side + 1.6, side + 2.8)
        self.order_ = order_by_similarity(self.shared)
        cells = self.shared[np.ix_(self.order_, self.order_)].copy()
        np.fill_diagonal(cells, np.nan)  # a feature determines itself
        image = ax.imshow(cells, vmin=0, vmax=1, cmap="viridis")
        names = thinned([label(self.names[feature], 20) for feature in self.order_])
        ax.set_xticks(range(size), names, rotation=90)
        ax.set_yticks(range(size), names)
        ax.tick_params(length=0, labelsize=SMALL if size <= 20 else 7)
        ax.spines[["left", "bottom"]].set_visible(False)
        for (row, column), value in np.ndenumerate(cells):
            if size <= 12 and row != column:
                color = "white" if value < 0.6 else "black"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=25)
        bar.set_label("normalised mutual information", size=NORMAL)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_visible(False)
        return self


@dataclass(eq=False)
class SignificanceDisplay(Display):
    """Features by their information about the target, most first; those that may be chance are hollow."""

    test: RelevanceTest  #: What `relevance_test` or `conditional_test` returns.

    def plot(self, ax: Any = None, *, alpha: float = 0.05, max_features: int = 30) -> Self:
        """Draw one point for each of the `max_features` with most information, and a line at the least significant one.

        A feature with an adjusted value up to `alpha` is significant; the legend counts all.
        """
        test = self.test
        tested = np.flatnonzero(~np.isnan(test.adjusted))
        shown = tested[np.argsort(-test.information[tested], kind="stable")][:max_features]
        ax = self._start(ax, 1.2 + 0.24 * len(shown))
        significant, heights = test.significant(alpha), np.arange(len(shown), 0, -1)
        for found, face, edge, words in ((True, BLUE, BLUE, "significant"), (False, "none", QUIET, "may be chance")):
            drawn = significant[shown] == found
            text = f"{words} ({np.count_nonzero(significant[tested] == found)})"
            x, y = test.information[shown][drawn], heights[drawn]
            ax.scatter(x, y, facecolors=face, edgecolors=edge, label=text, zorder=2)
        draw_threshold(ax, test.information[significant])
        ax.set_yticks(heights, [label(test.names[feature]) for feature in shown])
        ax.set_xlabel("information given the others (nats)" if test.given else "relevance (nats)")
        ax.margins(x=0.08)
        ax.grid(axis="y", color="0.92")
        self._legend()
        return self


@dataclass(eq=False)
class StabilityDisplay(Display):
    """Share of the subsamples in which each feature is selected, the most frequent features on top."""

    result: Stability  #: What `selection_stability` returns.

    def plot(self, ax: Any = None, *, max_features: int = 30) -> Self:
        """Draw one bar per feature that is ever selected, of at most `max_features` features."""
        result = self.result
        shown = [feature for feature in result.order.tolist() if result.frequency[feature] > 0][:max_features]
        ax = self._start(ax, 1.6 + 0.27 * len(shown))
        places = np.arange(len(shown))
        exchanged = np.isin(shown, [feature for pair in result.exchangeable for feature in pair[:2]])
        for drawn, color, text in ((~exchanged, BLUE, "selected"), (exchanged, ORANGE, "exchangeable with another")):
            if drawn.any():
                shares = 100 * result.frequency[np.array(shown)[drawn]]
                ax.barh(places[drawn], shares, color=color, height=0.7, label=text)
        ax.set_yticks(places, [label(result.names[feature]) for feature in shown])
        ax.invert_yaxis()
        ax.set(xlim=(0, 100), xlabel="selected in % of subsamples")
        ax.set_title(result.in_numbers, fontsize=TITLE)
        if exchanged.any():
            self._legend()
        return self


@dataclass(eq=False)
class RedundancyDisplay(Display):
    """Joint information along a selection, with unique, conditional and redundant features marked."""

    result: Redundancy  #: What `redundancy_analysis` returns.

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve on `ax` or on a new figure, and return itself."""
        ax, result = self._start(ax, 4.0), self.result
        sizes, roles = np.arange(1, len(result.order) + 1), np.array(result.roles)
        area = float(np.clip(2400 / len(sizes), 6, 45))  # many marks must stay apart
        ax.plot(sizes, result.curve, color=FAINT, linewidth=1, zorder=1)
        for role, style in _ROLES.items():
            drawn = roles == role
            if drawn.any():
                text = f"{role} ({np.count_nonzero(drawn)})"
                ax.scatter(sizes[drawn], result.curve[drawn], label=text, s=area, linewidths=0.8, zorder=2, **style)
        ax.axvline(len(result.saturated), color=QUIET, linestyle="--", linewidth=1, zorder=0, label="saturation")
        ax.set(xlabel="selected features", ylabel="joint information I(S; y) (nats)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        bound, mark = "" if result.exact else "at least ", "" if result.complete else ", incomplete"
        counts = f"{len(result.redundant)} of {len(result.saturated)}"
        ax.set_title(f"redundancy rate {bound}{100 * result.rate:.3g} % ({counts}){mark}", fontsize=TITLE)
        self._legend()
        return self


@dataclass(eq=False)
class AccuracyDisplay(Display):
    """Mean accuracy of selectors for every number of features, with its standard error over the splits."""

    curves: Mapping[str, Any]  #: Accuracies of each selector, of shape (n_splits, n_sizes) or (n_sizes,).
    sizes: Sequence[int] | None = None  #: Numbers of features; 1, 2, ... by default.
    score: str = "accuracy"  #: What the values are.

    def __post_init__(self) -> None:
        self.curves = {name: np.atleast_2d(np.asarray(values, np.float64)) for name, values in self.curves.items()}
        if not self.curves:
            raise ValueError("there is no curve to draw")
        lengths = {values.shape[1] for values in self.curves.values()}
        self.sizes = list(range(1, max(lengths) + 1)) if self.sizes is None else list(self.sizes)
        if lengths != {len(self.sizes)}:
            raise ValueError(f"curves have {sorted(lengths)} values, but there are {len(self.sizes)} sizes")

    @classmethod
    def from_evaluation(cls, evaluation: Any, model: str | None = None, dataset: str | None = None) -> Self:
        """Take the test scores that `unirel.evaluation.compare` returns, of the first model and dataset or others."""
        model = evaluation.rows[0]["model"] if model is None else model
        dataset = evaluation.rows[0]["dataset"] if dataset is None else dataset
        rows = [row for row in evaluation.rows if (row["model"], row["dataset"]) == (model, dataset)]
        if not rows:
            raise ValueError(f"nothing was measured for model={model!r}, dataset={dataset!r}")
        curves: dict[str, dict[int, list[float]]] = {}
        for row in rows:
            curves.setdefault(row["selector"], {}).setdefault(row["split"], []).append(row["test_score"])
        sizes = sorted({row["n_features"] for row in rows})
        curves_of = {name: list(splits.values()) for name, splits in curves.items()}
        return cls(curves_of, sizes, evaluation.scores.get(dataset, "accuracy"))

    def plot(self, ax: Any = None) -> Self:
        """Draw one curve per selector on `ax` or on a new figure, and return itself."""
        ax = self._start(ax, 4.2)
        styles = cycle((line, color) for line in _LINES for color in COLORS)
        for (name, values), (line, color) in zip(self.curves.items(), styles, strict=False):
            mean = values.mean(axis=0)
            ax.plot(self.sizes, mean, line, color=color, label=name, linewidth=1.8)
            if len(values) > 1:
                error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
                ax.fill_between(self.sizes, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
        ax.set(xlabel="number of features", ylabel=self.score)
        ax.xaxis.get_major_locator().set_params(integer=True)
        self._legend()
        return self


def make_html(caption: str, columns: Mapping[str, Sequence[Any]], bars: Collection[str] = ()) -> str:
    """A table under a caption, with bars before the numbers of some columns; it needs no style sheet and no script."""
    largest = {name: max((value or 0.0 for value in columns.get(name, ())), default=0.0) for name in bars}
    cells = [
        [_cell(value, largest.get(name, 0.0)) for value in values[:_MOST_ROWS]] for name, values in columns.items()
    ]
    rows = ["".join(row) for row in zip(*cells, strict=True)]
    n_more = max(map(len, columns.values()), default=0) - len(rows)
    if n_more > 0:
        rows.append(f"<td {_LEFT} colspan={len(columns)}>and {n_more:,} more</td>")
    head = "".join(f"<th {_LEFT}>{escape(name.replace('_', ' '))}</th>" for name in columns)
    return (
        f"<table><caption {_LEFT}>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
    )


def _cell(value: Any, largest: float) -> str:
    """A cell, with a bar before its number if there is a largest one."""
    text = "" if value is None else f"{value:.3f}" if isinstance(value, float) else escape(str(value))
    if value is None or largest <= 0:
        return f"<td {_LEFT}>{text}</td>"
    bar = f"display: inline-block; height: 10px; width: {round(110 * max(0.0, value) / largest)}px; background: #3b82c4"
    room = "display: inline-block; width: 110px; margin-right: 8px"
    return f'<td {_LEFT}><span style="{room}"><span style="{bar}"></span></span>{text}</td>'
