"""Results in words. Advice is given only where the numbers support it."""

import numpy as np
from numpy.typing import NDArray

from unirel.data.table import Table
from unirel.inference.findings import Accuracy, Analysis
from unirel.results import Ending, Redundancy, Selection

# From here on two features are said to be alike.
ALIKE = 0.7
# A loss up to this share of what all features tell together is said to be small, and a curve that falls by less flat.
LITTLE = 0.02
# A feature with more than this share of missing values is named.
_MOSTLY = 0.5
# What methods of unique relevance compare a feature with.
_BOOSTS = {
    "both": "beside a reference set and beside the selected features",
    "reference": "beside a reference set",
    "selected": "beside the selected features",
    "ksg": "beside all other features",
    "classifier": "by the loss of a classifier without it",
}


def selection_in_words(
    selection: Selection, table: Table, analysis: Analysis, target: str, *, alike: bool = True
) -> str:
    """One paragraph: what was selected, what stands out, whether two are alike if wanted, what to be careful about."""
    if len(selection) == 0:
        return f"No feature was selected: {selection.reason}."
    sentences = [
        _opening(selection, table, target),
        _strongest(selection, analysis),
        _together(selection, table, analysis),
        _unique(selection),
        _sampled(selection, table),
        _alike(selection, analysis) if alike else "",
        _mostly_missing(selection, table),
        ending_of(selection),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _opening(selection: Selection, table: Table, target: str) -> str:
    about = table.columns[table.target]
    kind = f"{len(table.classes)} classes" if table.classes is not None else about.kind
    boost = "without boost"
    if selection.beta > 0:
        boost = f"with unique relevance ({boost_in_words(selection)}) at weight {selection.beta:g}"
    n_features, verb = len(table.features), "was" if len(selection) == 1 else "were"
    return (
        f"Of {n_features:,} feature{_s(n_features)}, {len(selection):,} {verb} selected for "
        f"'{target}' ({kind}, {table.n_samples:,} rows) by {selection.criterion} {boost}."
    )


def boost_in_words(selection: Selection) -> str:
    """Beside what a feature must tell something to be called unique."""
    method = str(selection.settings.get("unique_relevance", "reference"))
    return _BOOSTS.get(method, method)


def _sampled(selection: Selection, table: Table) -> str:
    """That unique relevance is known from some of the rows only."""
    method, most = selection.settings.get("unique_relevance"), selection.settings.get("unique_samples")
    if (
        selection.beta == 0
        or method not in ("both", "reference", "selected")
        or most is None
        or most >= table.n_samples
    ):
        return ""
    return f"Unique relevance was estimated from a sample of {most:,} of the {table.n_samples:,} rows."


def _strongest(selection: Selection, analysis: Analysis) -> str:
    relevance = selection.relevance[selection.order]
    if not np.isfinite(relevance).any():
        return ""
    best = int(np.nanargmax(relevance))
    if relevance[best] <= 0:
        return "None of them tells anything about the target by itself."
    most = f" of the {analysis.entropy:.2f} nats there are to know" if analysis.entropy else " nats"
    return f"'{selection.selected_names[best]}' tells most by itself, {relevance[best]:.2f}{most}."


def _together(selection: Selection, table: Table, analysis: Analysis) -> str:
    if analysis.together is None or len(selection) < 2:
        return ""
    n_together, joint = analysis.together
    who = "Together they tell" if n_together == len(selection) else f"The first {n_together} together tell"
    if not is_credible(selection, joint):
        return (
            f"{who} an estimated {joint:.2f} nats, less than one of them alone: with {table.n_samples:,} rows an "
            f"estimate from {n_together} columns is not to be trusted."
        )
    share = f" ({joint / analysis.entropy:.0%} of all there is)" if analysis.entropy else ""
    return f"{who} an estimated {joint:.2f} nats{share}."


def is_credible(selection: Selection, joint: float) -> bool:
    """Whether features together are estimated to tell at least what the best of them tells alone."""
    relevance = selection.relevance[selection.order]
    return not np.isfinite(relevance).any() or joint >= float(np.nanmax(relevance))


def quoted(name: str) -> str:
    """A name as a sentence has it."""
    return f"'{name}'"


def _unique(selection: Selection) -> str:
    if selection.unique_relevance is None or len(selection) < 2:
        return ""
    unique = selection.unique_relevance[selection.order]
    if not np.isfinite(unique).any() or np.nanmax(unique) <= 0:
        return "None of them tells anything that the others do not tell too, as far as can be estimated."
    return f"'{selection.selected_names[int(np.nanargmax(unique))]}' tells most that the others do not tell."


def _alike(selection: Selection, analysis: Analysis) -> str:
    pair = analysis.closest_pair()
    if pair is None:
        return ""
    n_compared, shared = len(analysis.shared), float(analysis.shared[pair])
    first, second = (f"'{analysis.names[position]}'" for position in pair)
    who = "them" if n_compared == len(selection) else f"the first {n_compared}"
    scale = "on a scale from 0 to 1"
    if shared < ALIKE:
        return f"No two of {who} are much alike (at most {shared:.2f} {scale}, {first} and {second})."
    among = "" if n_compared == len(selection) else f" of {who}"
    return f"{first} and {second} are most alike{among} ({shared:.2f} {scale}){_can_go(pair, selection, analysis)}."


def _can_go(pair: tuple[int, int], selection: Selection, analysis: Analysis) -> str:
    """What the others tell about the target without one of two features, if that can be estimated."""
    less = min(pair, key=lambda position: analysis.lost[position])
    joint = np.nan if analysis.together is None else analysis.together[1]
    if np.isnan(analysis.lost[less]) or np.isnan(joint) or not is_credible(selection, joint):
        return ""
    lost = min(max(0.0, float(analysis.lost[less])), float(joint))
    left = f"{joint - lost:.2f} of {joint:.2f} nats about the target"
    others, tell = ("the other", "tells") if len(selection) == 2 else ("the others", "tell")
    if lost <= LITTLE * joint:
        return f"; without '{analysis.names[less]}' {others} still {tell} {left}, so one of the two may do"
    return f"; but without '{analysis.names[less]}' {others} {tell} only {left}"


def _mostly_missing(selection: Selection, table: Table) -> str:
    columns = [table.columns[feature] for feature in selection.order]
    shares = [(f"'{column.name}'", column.n_missing / table.n_samples) for column in columns]
    missing = [f"{name} ({share:.0%})" for name, share in shares if share > _MOSTLY]
    if not missing:
        return ""
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return f"Missing in most rows: {', '.join(missing[:5])}{more}; that a value is missing counts as one of its values."


def ending_of(selection: Selection) -> str:
    """Why a selection ended, where that says something about it."""
    if selection.ending is Ending.NOTHING_ADDS:
        return f"It ended there because {selection.reason}."
    return "" if selection.complete else f"This is incomplete: {selection.reason}."


def redundancy_in_words(result: Redundancy, target: str) -> str:
    """One paragraph about the redundancy of a selection."""
    bound = "" if result.exact and result.complete else "at least "
    n_unique, n_conditional, n_redundant = len(result.unique), len(result.conditional), len(result.redundant)
    going = ", ".join(f"'{result.names[feature]}'" for feature in result.redundant[:5])
    more = f" and {n_redundant - 5} more" if n_redundant > 5 else ""
    remove = f" Without {going}{more} the estimate does not fall." if going else ""
    size, needed = len(result.saturated), "is" if n_conditional == 1 else "are"
    return (
        f"{_saturation(result, target)} Of {size} feature{_s(size)}, {n_unique} tell{_s(n_unique, 's', '')} "
        f"what no other feature tells, {n_conditional} more {needed} needed beside others, "
        f"and {bound}{n_redundant} can go: the redundancy rate is {bound}{result.rate:.0%}.{remove}"
    )


def _saturation(result: Redundancy, target: str) -> str:
    """How many features count, and whether that is where nothing more is learnt: only a flat curve says so."""
    size, n_features = len(result.saturated), int(np.isfinite(result.unique_relevance).sum())
    amount = f"an estimated {result.joint_information:.2f} nats about '{target}'"
    tell = f"The first {size} features tell" if size > 1 else "The first feature tells"
    rest = result.curve[size:]
    if len(rest) == 0:
        if size == n_features or not result.complete:
            return f"{tell} {amount}."
        return f"{tell} {amount}, and the last of them still added to it: more features may tell more."
    if rest.min() >= (1 - LITTLE) * result.joint_information - result.tolerance:
        return f"{tell} {amount}, and nothing more is learnt from the next {len(rest)}."
    return (
        f"{tell} {amount}; with more the estimate falls, which shows its limits: "
        "it does not say that the others tell nothing."
    )


def accuracy_in_words(accuracy: Accuracy) -> list[str]:
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
        found.insert(0, f"{_score(accuracy, scores)} with {n_most:,} feature{_s(n_most)}")
    chance = f"; always naming the most frequent class gives {accuracy.chance:.1%}" if classes else ""
    careful = "The highest point of a curve is a little too good to be true, because it is the best of several."
    return [how, f"Mean and standard deviation: {', '.join(found)}{chance}. {careful}"]


def _score(accuracy: Accuracy, folds: NDArray[np.float64]) -> str:
    """Mean and standard deviation over the folds."""
    form = ".1%" if accuracy.measure == "accuracy" else ".2f"
    return f"{folds.mean():{form}} ± {folds.std():{form}}"


def _s(number: int, one: str = "", more: str = "s") -> str:
    """What a word ends with beside a number."""
    return one if number == 1 else more
