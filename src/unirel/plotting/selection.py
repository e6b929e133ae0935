"""The score of every feature along a selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from unirel.results import Selection


class SelectionDisplay:
    """Score of each selected feature when it was selected, with its relevance beside it.

    Parameters
    ----------
    selection : Selection
        One of those that `selection_path` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import selection_path
    >>> from unirel.plotting import SelectionDisplay
    >>> path = selection_path(*load_iris(return_X_y=True), criteria="jmi", betas=0.1, n_features_to_select=3)
    >>> display = SelectionDisplay(path.selection("jmi", 0.1)).plot()
    >>> display.ax_.get_xlabel()
    'nats'
    """

    ax_: Any
    figure_: Any

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @classmethod
    def from_selector(cls, selector: Any, ax: Any = None) -> SelectionDisplay:
        """Draw what a fitted selector has selected.

        Parameters
        ----------
        selector : BURSelector
            A fitted one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        SelectionDisplay
        """
        return cls(selector.selection_).plot(ax)

    def plot(self, ax: Any = None) -> SelectionDisplay:
        """Draw one line per feature, first selected on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        SelectionDisplay
            Itself.
        """
        selection = self.selection
        if ax is None:
            from matplotlib import pyplot

            height = min(1.6 + 0.27 * len(selection), 14)
            _, ax = pyplot.subplots(figsize=(7, height), layout="constrained")
        steps = np.arange(len(selection))
        relevance = selection.relevance[selection.order]
        ax.hlines(steps, np.minimum(selection.scores, relevance), np.maximum(selection.scores, relevance), color="0.85")
        ax.scatter(selection.scores, steps, color="#0072B2", label="score when selected", zorder=2)
        ax.scatter(relevance, steps, color="#E69F00", marker="|", s=90, label="relevance by itself", zorder=2)
        ax.set_yticks(steps, [f"{shorten(name)}  {step + 1}" for step, name in enumerate(selection.selected_names)])
        ax.invert_yaxis()
        ax.set_xlabel("nats")
        ax.set_title(f"{selection.criterion}, beta {selection.beta:g}" + _mark(selection), fontsize="medium")
        ax.legend(
            frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12 if len(selection) > 8 else -0.2), ncols=2
        )
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _mark(selection: Selection) -> str:
    return "" if selection.complete else ", incomplete"


def shorten(name: str, longest: int = 28) -> str:
    """A name that fits beside an axis, with signs that matplotlib would read as formulas kept as they are."""
    name = name if len(name) <= longest else name[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return name.replace("$", r"\$")
