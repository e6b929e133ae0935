"""Everything that is said about a selection. Advice is given only where the numbers support it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unirel.data.table import Table
from unirel.inference.relations import REDUNDANT, RedundantGroup
from unirel.results import Cause, Ending, Selection
from unirel.search.boost import Boost

if TYPE_CHECKING:
    from unirel.report import Report
    from unirel.report.accuracy import Accuracy

# Adjusted p-values up to this are called significant.
ALPHA = 0.05
# A change up to this share of joint information, or up to this many nats, is no change; a curve that falls by more than
# the last of these shares shows the limits of the estimate.
LITTLE, LEAST_GAIN, _FALL = 0.02, 0.005, 0.05
# A feature that determines more than this share of the target's entropy may know the target from elsewhere; below the
# second share its relevance is called low.
_LEAK, _LOW = 0.95, 0.05
# Classes from which on a target of whole numbers may well be meant as a number.
_MANY = 6
# What unique relevance is conditional on.
_GIVEN = {
    "both": "given a reference set and given the selected features",
    "reference": "given a reference set",
    "selected": "given the selected features",
    "ksg": "given all other features",
    "classifier": "by the loss of a classifier without it",
}


def quoted(name: str) -> str:
    return f"'{name}'"


def listed(names: Sequence[str], word: str = "and", most: int = 10) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small."""
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{max(100 * share, 0.1):.1f} %"


def in_nats(information: float, entropy: float | None) -> str:
    """Information about the target, beside its entropy if that bounds it."""
    if not entropy:
        return f"{information:.2f} nats"
    return f"{information:.2f} of {entropy:.2f} nats ({percent(min(1.0, information / entropy))})"


def plural(number: int, one: str = "", more: str = "s") -> str:
    return one if number == 1 else more


class Enough(NamedTuple):
    """How many of the first features are enough, and by which curve."""

    n: int
    by: str  # "accuracy" or "information"
    rises: bool  # whether the curve still rises at its end


def find_enough(report: "Report") -> Enough | None:
    """The fewest features that do about as well as any number of them; None where nothing is known."""
    # By accuracy: within one standard error of the best mean. By information: within 2 % of the largest estimate, if
    # the estimate does not fall with more features.
    accuracy = report.accuracy
    if accuracy is not None and np.isfinite(accuracy.means).any():
        known = np.flatnonzero(np.isfinite(accuracy.means))
        best = int(known[np.argmax(accuracy.means[known])])
        error = accuracy.scores[:, best].std(ddof=1) / np.sqrt(accuracy.n_folds) if accuracy.n_folds > 1 else 0.0
        place = int(known[np.argmax(accuracy.means[known] >= accuracy.means[best] - error)])
        return Enough(accuracy.sizes[place], "accuracy", place == known[-1])
    curve = report.analysis.curve
    if len(curve) < 2 or not is_credible(report.selection, curve.max()) or curve[-1] < (1 - _FALL) * curve.max():
        return None
    place = int(np.argmax(curve >= (1 - LITTLE) * curve.max()))
    return Enough(place + 1, "information", place == len(curve) - 1)


def is_credible(selection: Selection, joint: float) -> bool:
    """Whether joint information is estimated to be at least the relevance of the best feature."""
    relevance = selection.relevance[selection.order]
    return bool(joint > 0) and (not np.isfinite(relevance).any() or bool(joint >= np.nanmax(relevance)))


def headline(report: "Report", enough: Enough | None) -> str:
    selection, analysis, accuracy = report.selection, report.analysis, report.accuracy
    n_selected, n_features = len(selection), len(report.table.features)
    if n_selected == 0:
        return f"No feature was selected: {selection.reason}."
    selected = f"{n_selected:,} of {n_features:,} feature{plural(n_features)} selected."
    predicts = accuracy is not None and bool((accuracy.means - accuracy.deviations > accuracy.chance).any())
    if not predicts and (nothing := nothing_significant(report)):
        return nothing
    if enough is None:
        return selected
    first, it_is = ("first one", "is") if enough.n == 1 else (f"first {enough.n:,}", "are")
    if enough.by == "accuracy" and accuracy is not None:
        found = f"{_score_at(accuracy, enough.n)} by {accuracy.method}"
        if enough.rises:
            return f"{selected} With all of them {found}; the last still improved it, so more may do better."
        return f"{selected} The {first} {it_is} enough: {found}."
    curve, target = analysis.curve, quoted(report.origin.target)
    joint = in_nats(float(curve[enough.n - 1]), analysis.entropy)
    if enough.rises:
        who = "Together they" if len(curve) == n_selected else f"The first {len(curve):,} together"
        return f"{selected} {who} carry {joint} of information about {target}; the last still added to it."
    return (
        f"{selected} The {first} {it_is} enough, as far as {report.table.n_samples:,} rows show: "
        f"{joint} of information about {target}; more of them add nothing detectable."
    )


def nothing_significant(report: "Report") -> str:
    """That no feature can be told from chance, if that is so."""
    if report.test is None or report.test.significant(ALPHA).any():
        return ""
    tested = f"{_n_tested(report):,} tested by themselves, false discovery rate {percent(ALPHA)}"
    return f"No feature can be told from chance ({tested}): the {len(report.selection):,} selected may be noise."


def _n_tested(report: "Report") -> int:
    return 0 if report.test is None else int(np.isfinite(report.test.p_value).sum())


def _score_at(accuracy: "Accuracy", n: int) -> str:
    mean = float(accuracy.means[accuracy.sizes.index(n)])
    if accuracy.measure == "accuracy":
        return f"{100 * mean:.1f} % of held-out rows are predicted correctly"
    return f"{percent(mean)} of the variance of held-out rows is explained"


def selection_in_words(report: "Report") -> str:
    """One paragraph: what was selected, what stands out, what to be careful about."""
    if len(report.selection) == 0:
        return f"No feature was selected: {report.selection.reason}."
    found = (_most_relevant, _together, _unique, _least_redundant)
    parts = (_opening, _classes_from_numbers, *(() if nothing_significant(report) else found), _mostly_missing, _ending)
    return " ".join(filter(None, (part(report) for part in parts)))


def _opening(report: "Report") -> str:
    selection, table = report.selection, report.table
    about = table.columns[table.target]
    kind = f"{len(table.classes)} classes" if table.classes is not None else about.kind
    boost, method = "without boost", str(selection.settings.get("unique_relevance", "both"))
    if selection.beta > 0:
        given = next((words for kind, words in _GIVEN.items() if kind in method.lower()), f"by {method}")
        boost = f"with unique relevance ({given}) at weight {selection.beta:g}"
    n_features, verb = len(table.features), plural(len(selection), "was", "were")
    return (
        f"Of {n_features:,} feature{plural(n_features)}, {len(selection):,} {verb} selected for "
        f"{quoted(report.origin.target)} ({kind}, {table.n_samples:,} rows) by {selection.criterion} {boost}."
    )


def _classes_from_numbers(report: "Report") -> str:
    """That a target of numbers is taken as classes, if nobody said so and there are many of them."""
    asked = report.selection.settings.get("target_type", "auto")
    return classes_from_numbers(report.table, asked, "Its {} distinct numbers are")


def classes_from_numbers(table: Table, asked: str, these: str) -> str:
    if asked != "auto" or table.classes is None or table.classes.dtype.kind not in "iuf" or len(table.classes) < _MANY:
        return ""
    values = f"{these.format(len(table.classes))} taken as classes"
    return f"{values}; with target_type='continuous' (--target-type continuous) they count as numbers."


def _most_relevant(report: "Report") -> str:
    selection = report.selection
    relevance = selection.relevance[selection.order]
    if not np.isfinite(relevance).any():
        return ""
    best = int(np.nanargmax(relevance))
    if relevance[best] <= 0:
        return "None of them is relevant by itself."
    amount = in_nats(float(relevance[best]), report.analysis.entropy)
    return f"{quoted(selection.selected_names[best])} is the most relevant: {amount}."


def _together(report: "Report") -> str:
    selection, curve = report.selection, report.analysis.joint_information
    known = np.flatnonzero(np.isfinite(curve))
    if len(known) == 0 or len(selection) < 2:
        return ""
    size, joint = int(known[-1]) + 1, float(curve[known[-1]])
    if not is_credible(selection, joint):
        below = f"the estimate for {size} columns, {joint:.2f} nats, is below the relevance of one of them"
        return f"Their joint information cannot be estimated from {report.table.n_samples:,} rows: {below}."
    who = "Together they" if size == len(selection) else f"The first {size} together"
    return f"{who} carry an estimated {in_nats(joint, report.analysis.entropy)} of information about the target."


def _unique(report: "Report") -> str:
    selection = report.selection
    if selection.unique_relevance is None or len(selection) < 2:
        return ""
    unique, method = selection.unique_relevance[selection.order], str(selection.settings.get("unique_relevance"))
    given = re.search(r"max_samples=(\d+)", method)  # settings have an object as it is written
    by_boost = method in ("both", "reference", "selected")
    most = int(given[1]) if given else Boost().max_samples if by_boost else None
    sample = f" (from a sample of {most:,} rows)" if most and most < report.table.n_samples else ""
    if not np.isfinite(unique).any() or np.nanmax(unique) <= LITTLE * (report.analysis.entropy or 1.0):
        return f"None of them has detectable unique relevance{sample}."
    best = int(np.nanargmax(unique))
    name = quoted(selection.selected_names[best])
    return f"{name} has the largest unique relevance, {unique[best]:.2f} nats{sample}."


def _least_redundant(report: "Report") -> str:
    shared = report.analysis.shared
    pairs = np.where(np.triu(np.ones(shared.shape, bool), 1), shared, -1.0)
    if len(shared) < 2 or pairs.max() >= REDUNDANT or any(len(group.members) > 1 for group in report.analysis.groups):
        return ""
    first, second = (report.analysis.names[place] for place in np.unravel_index(int(pairs.argmax()), pairs.shape))
    who = "them" if len(shared) == len(report.selection) else f"the first {len(shared)}"
    most = f"normalised MI at most {pairs.max():.2f}, {quoted(first)} and {quoted(second)}"
    return f"No two of {who} are redundant with each other ({most})."


def _mostly_missing(report: "Report") -> str:
    columns = [report.table.columns[feature] for feature in report.selection.order]
    shares = [(quoted(column.name), column.n_missing / report.table.n_samples) for column in columns]
    missing = [f"{name} ({percent(share)})" for name, share in shares if share > 0.5]
    if not missing:
        return ""
    return f"Missing in most rows: {listed(missing, most=5)}; a missing value counts as a level of its own."


def _ending(report: "Report") -> str:
    """Why a selection ended, where that says something about it."""
    selection = report.selection
    if selection.ending is Ending.NOTHING_ADDS:
        return f"It ended there because {selection.reason}."
    return "" if selection.complete else f"This is incomplete: {selection.reason}."


def warnings_of(report: "Report") -> list[str]:
    """What to look at before the answer is believed."""
    table, target = report.table, quoted(report.origin.target)
    said = [ending] if (ending := _ending(report)) else []
    explained = sorted(report.analysis.explained.items(), key=lambda item: -item[1])
    what = f"{target}'s entropy" if table.classes is not None else f"the variance of {target}"
    for feature, share in [item for item in explained if item[1] > _LEAK][:5]:
        said.append(
            f"{quoted(table.names[feature])} may leak the target: alone it determines {percent(min(1.0, share))} of "
            f"{what}. If it is known only once {target} is, leave it out."
        )
    if numbered := [quoted(table.names[feature]) for feature in report.analysis.numbered]:
        said.append(
            f"{listed(numbered, most=5)} look{plural(len(numbered), 's', '')} like an identifier: whole numbers, all "
            f"different. What {plural(len(numbered), 'its', 'their')} values say may not hold for new rows."
        )
    if constant := [quoted(table.names[column]) for column in table.features if table.n_levels[column] == 1]:
        said.append(f"{listed(constant, most=5)} {plural(len(constant), 'has', 'have')} the same value in every row.")
    return said


class Why(NamedTuple):
    """Why a feature was or was not selected: in a few words, and in a paragraph or by a heading shared with others."""

    words: str
    heading: str


def why_selected(report: "Report") -> list[Why]:
    """For every selected feature what made it enter; the paragraph has the numbers that show it."""
    selection, curve = report.selection, report.analysis.curve
    relevance = np.nan_to_num(selection.relevance, nan=-np.inf)
    reasons = []
    for place, feature in enumerate(selection.order.tolist()):
        rank = 1 + int((relevance > relevance[feature]).sum())
        gain = float(curve[place] - curve[place - 1]) if 0 < place < len(curve) else None
        adds = None if gain is None else gain >= max(LEAST_GAIN, LITTLE * float(curve[place - 1]))
        cause = _cause_in_words(selection, place, rank, adds)
        sentences = [f"{cause[0].upper()}{cause[1:]}."]
        if adds:
            sentences.append(f"Joint information rises by {gain:.2f} to {curve[place]:.2f} nats.")
        elif adds is not None:
            sentences.append("No detectable gain in joint information.")
        if np.isfinite(relevance[feature]) and not (place == 0 and rank == 1):
            sentences.append(f"Relevance {max(0.0, relevance[feature]):.2f} nats, {place_of(rank, report.table)}.")
        sentences += [
            f"Nearly the same as {quoted(selection.selected_names[group.members[0]])} ({_similarity(group)})."
            for group in report.analysis.groups
            if place in group.members[1:]
        ]
        reasons.append(Why(cause, " ".join(sentences)))
    return reasons


def place_of(rank: int, table: Table) -> str:
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending} of {len(table.features):,}"


def _cause_in_words(selection: Selection, place: int, rank: int, adds: bool | None) -> str:
    """Which term of the score made a feature enter; that it adds information is said only where that is seen."""
    cause = selection.causes[place] if place < len(selection.causes) else Cause.UNKNOWN
    given = "given the first" if place == 1 else f"given the first {place}"
    if cause is Cause.INCLUDED:
        return "included on request"
    if cause is Cause.SELECTED:
        return f"adds information {given}" if adds else f"put ahead by its estimated information {given}"
    if cause in (Cause.REFERENCE, Cause.UNIQUE) and selection.unique_relevance is not None:
        unique = float(selection.unique_relevance[selection.order[place]])
        if adds is not False and unique >= LEAST_GAIN:
            others = "reference" if cause is Cause.REFERENCE else "other"
            return f"put ahead by its unique relevance ({unique:.2f} nats given the {others} features)"
        return f"scored best by {selection.criterion} with unique relevance"
    if place == 0:
        relevance = max(0.0, float(selection.relevance[selection.order[0]]))
        return f"most relevant of all ({relevance:.2f} nats)" if rank == 1 else f"scored best by {selection.criterion}"
    return f"scored best by {selection.criterion} {given}"


def why_left_out(feature: int, report: "Report") -> Why:
    """Why a feature is not among the selected ones, as far as the numbers say."""
    selection, entropy = report.selection, report.analysis.entropy
    name, relevance = selection.names[feature], max(0.0, float(np.nan_to_num(selection.relevance[feature])))
    excluded = selection.settings.get("exclude") or ()
    if name in excluded or feature in excluded:
        return Why("excluded on request", "excluded on request")
    place, similar, measure = report.analysis.partners.get(feature, (0, 0.0, ""))
    if similar >= REDUNDANT:
        partner = f"{quoted(selection.selected_names[place])} ({measure} {similar:.2f})"
        return Why(f"redundant with {partner}", "redundant with a selected feature")
    share = relevance / entropy if entropy else -np.expm1(-2 * relevance)
    if share < _LOW:
        return Why(f"low relevance ({relevance:.2f} nats)", "of low relevance")
    return Why("lower score given the selected features", "with a lower score given the selected features")


def group_in_words(group: RedundantGroup, selection: Selection) -> list[str]:
    """What a group is, which of it is the most relevant, and whether that one is enough."""
    names = [quoted(selection.selected_names[place]) for place in group.members]
    best = quoted(selection.selected_names[group.best])
    sentences = []
    if len(names) > 1:
        sentences.append(f"{listed(names)} are {_likeness(group, selection, best)} {best} is the most relevant.")
    if group.others:
        others = listed([f"{quoted(name)} ({similar:.2f})" for name, similar in group.others], most=5)
        whom = "one of them" if len(names) > 1 else f"{best} by {group.measure}"
        verb, was = plural(len(group.others), "is", "are"), plural(len(group.others), "was", "were")
        sentences.append(f"{others} {verb} redundant with {whom} and {was} not selected.")
    return sentences


def _similarity(group: RedundantGroup) -> str:
    least = int(100 * group.least) / 100  # what is "or more" must not be rounded up
    return f"{group.measure} {least:.2f}" + (" or more" if len(group.members) > 2 else "")


def _likeness(group: RedundantGroup, selection: Selection, best: str) -> str:
    """That one of a group is enough, or not, if the loss of information about the target can be estimated."""
    if not np.isfinite(group.together) or not is_credible(selection, group.together):
        return f"nearly the same ({_similarity(group)})."
    lost = max(0.0, group.together - group.without)
    left = f"information about the target with {best} alone of them: {group.together - lost:.2f} of "
    left += f"{group.together:.2f} nats"
    if lost <= max(LEAST_GAIN, LITTLE * group.together):
        return f"redundant with each other ({_similarity(group)}): one is enough ({left})."
    return f"nearly the same ({_similarity(group)}), but the others add information ({left})."


def stability_in_words(report: "Report") -> str:
    """How much the selections from parts of the rows agree."""
    found = report.stability
    if found is None or len(report.selection) == 0:
        return ""
    agreement = (
        f"Their stability is {found.index:.2f} (interval {found.interval[0]:.2f} to {found.interval[1]:.2f}): 1 means "
        "the same features every time, 0 no more agreement than chance gives."
    )
    if np.isnan(found.index):
        agreement = "They all select the same."
    return (
        f"The selection was repeated on {len(found.selected)} random halves of the rows (subsamples). {agreement} "
        "A half has fewer rows, so shares are rather too low. A stable feature need not be a good one."
    )


def exchangeable_in_words(report: "Report") -> str:
    """Pairs of features that stand in for each other in the subsamples."""
    pairs = () if report.stability is None else report.stability.exchangeable[:5]
    return " ".join(
        f"{quoted(report.table.names[pair.one])} and {quoted(report.table.names[pair.other])} stand in for each other: "
        f"one of them is in {percent(pair.either)} of the subsamples, both in {percent(pair.both)}."
        for pair in pairs
    )


def significance_in_words(report: "Report") -> str:
    """Which of the selected features are significant by themselves."""
    if report.test is None or len(report.selection) == 0:
        return ""
    order, names = report.selection.order, report.table.names
    tested = order[np.isfinite(report.test.adjusted[order])]
    if len(tested) == 0:
        return ""
    if nothing := nothing_significant(report):
        return nothing
    unsure = [quoted(names[feature]) for feature in tested[~report.test.significant(ALPHA)[tested]]]
    found = (
        f"Significant by themselves: {len(tested) - len(unsure):,} of the {len(tested):,} selected features "
        f"(permutation test of all {_n_tested(report):,} features, counted in bins, false discovery rate "
        f"{percent(ALPHA)})."
    )
    if not unsure:
        return found
    return (
        f"{found} Not significant: {listed(unsure)}; their relevance may be chance. Such a feature can still matter "
        "together with others, or there are too few rows to detect it."
    )


def unsure_of(feature: int, report: "Report") -> list[str]:
    """What makes a selected feature unsure: its relevance may be chance, or another one takes its place."""
    said = []
    test, stability = report.test, report.stability
    if test is not None and test.adjusted[feature] > ALPHA:
        adjusted = f"{test.adjusted[feature]:.2g} adjusted for {_n_tested(report):,} features"
        said.append(f"Not significant by itself: p = {test.p_value[feature]:.2g}, {adjusted}.")
    pairs = [] if stability is None else [pair for pair in stability.exchangeable if feature in pair[:2]]
    others = [
        f"{quoted(report.table.names[pair.other if pair.one == feature else pair.one])} (one of them in "
        f"{percent(pair.either)} of subsamples, both in {percent(pair.both)})"
        for pair in pairs[:3]
    ]
    return [*said, f"Exchangeable with {listed(others, 'or')}."] if others else said
