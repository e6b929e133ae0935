"""A result in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unirel.report.analysis import Analysis
from unirel.results import Selection
from unirel.table import Table

if TYPE_CHECKING:
    from unirel.report.accuracy import Accuracy

# From here on two features are said to be alike, and one is said to be possibly enough.
_ALIKE = 0.7


def describe(selection: Selection, table: Table, analysis: Analysis, target: str) -> str:
    """One paragraph: what was selected, what stands out, what to be careful about."""
    if len(selection) == 0:
        return f"No feature was selected: {selection.reason}."
    sentences = [
        _opening(selection, table, target),
        _strongest(selection, analysis, table),
        _together(analysis, selection, table),
        _unique(selection),
        _alike(analysis),
        _incomplete(selection),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _opening(selection: Selection, table: Table, target: str) -> str:
    about = table.columns[table.target]
    kind = f"{len(table.classes)} classes" if table.classes is not None else about.kind
    boost = "without boost"
    if selection.beta > 0:
        method = selection.settings.get("unique_relevance", "reference")
        boost = f"with unique relevance ({method}) at weight {selection.beta:g}"
    n_features, verb = len(table.features), "was" if len(selection) == 1 else "were"
    return (
        f"Of {n_features:,} feature{'' if n_features == 1 else 's'}, {len(selection):,} {verb} selected for "
        f"'{target}' ({kind}, {table.n_samples:,} rows) by {selection.criterion} {boost}."
    )


def _strongest(selection: Selection, analysis: Analysis, table: Table) -> str:
    relevance = selection.relevance[selection.order]
    if not np.isfinite(relevance).any():
        return ""
    best = int(np.nanargmax(relevance))
    if relevance[best] <= 0:
        return "None of them tells anything about the target by itself."
    most = f" of the {analysis.entropy:.2f} nats there are to know" if analysis.entropy else " nats"
    return f"'{selection.selected_names[best]}' tells most by itself, {relevance[best]:.2f}{most}."


def _together(analysis: Analysis, selection: Selection, table: Table) -> str:
    if not len(analysis.joint_information) or len(selection) < 2:
        return ""
    n_together = len(analysis.joint_information) if len(analysis.joint_information) > 1 else len(selection)
    joint = float(analysis.joint_information[-1])
    who = "Together they tell" if n_together == len(selection) else f"The first {n_together} together tell"
    best = float(np.nanmax(selection.relevance[selection.order]))
    if joint < best:
        return (
            f"{who} an estimated {joint:.2f} nats, less than one of them alone: with {table.n_samples:,} rows this "
            "estimate of so many columns is not to be trusted."
        )
    share = f" ({joint / analysis.entropy:.0%} of all there is)" if analysis.entropy else ""
    return f"{who} an estimated {joint:.2f} nats{share}."


def _unique(selection: Selection) -> str:
    if selection.unique_relevance is None or len(selection) < 2:
        return ""
    unique = selection.unique_relevance[selection.order]
    if not np.isfinite(unique).any() or np.nanmax(unique) <= 0:
        return "None of them tells anything that the others do not tell too, as far as can be estimated."
    return f"'{selection.selected_names[int(np.nanargmax(unique))]}' tells most that the others do not tell."


def _alike(analysis: Analysis) -> str:
    pair = analysis.closest_pair()
    if pair is None:
        return ""
    first, second, shared = pair
    if shared >= _ALIKE:
        return f"'{first}' and '{second}' are most alike ({shared:.2f} on a scale from 0 to 1): one of them may do."
    return f"No two of them are much alike (at most {shared:.2f} on a scale from 0 to 1, '{first}' and '{second}')."


def _incomplete(selection: Selection) -> str:
    if selection.complete:
        return f"It ended there because {selection.reason}." if "shuffled" in selection.reason else ""
    return f"This is incomplete: {selection.reason}."


def describe_accuracy(accuracy: "Accuracy") -> list[str]:
    """Two paragraphs: how it was measured, and what came out."""
    classes = accuracy.measure == "accuracy"
    what = "Share of rows that are predicted correctly" if classes else "Share of the variance that is explained (R²)"
    stratified = ", each with the same shares of the classes" if classes else ""
    fewer = f" (no more, because {accuracy.fewer_folds})" if accuracy.fewer_folds else ""
    how = (
        f"{what} by {accuracy.method}, cross-validated in {accuracy.n_folds} folds{fewer}{stratified}. In every fold "
        "features were selected anew, from the training rows only: the rows that are predicted had no say in the "
        "choice, and the features of a fold may differ from those listed above. The line is the mean over the folds, "
        "the band one standard deviation to either side."
    )
    every = f"all {accuracy.n_features:,} features" if accuracy.n_features > 1 else "the only feature"
    found = [f"{_score(accuracy, accuracy.all_features)} with {every}"]
    reached = [(n, fold) for n, fold in zip(accuracy.sizes, accuracy.scores.T, strict=True) if not np.isnan(fold).any()]
    if reached:
        n_most, scores = reached[-1]
        found.insert(0, f"{_score(accuracy, scores)} with {n_most:,} feature{'' if n_most == 1 else 's'}")
    chance = f"; always naming the most frequent class gives {accuracy.chance:.1%}" if classes else ""
    careful = "The highest point of a curve is a little too good to be true, because it is the best of several."
    return [how, f"Mean and standard deviation: {', '.join(found)}{chance}. {careful}"]


def _score(accuracy: "Accuracy", folds: NDArray[np.float64]) -> str:
    """Mean and standard deviation over the folds."""
    form = ".1%" if accuracy.measure == "accuracy" else ".2f"
    return f"{folds.mean():{form}} ± {folds.std():{form}}"


def quoted(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more
