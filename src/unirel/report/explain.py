"""What is said about one feature, about a test of all of them, and about the redundancy of a selection."""

import numpy as np

from unirel.inference.likeness import Relation
from unirel.inference.relations import Explanation
from unirel.report import Report
from unirel.report.text import LITTLE, listed, named, percent, place_of, plural, quoted, share_of_target
from unirel.results import Redundancy, RelevanceTest

_SAID = {
    Relation.DETERMINED: "Largely determined by",
    Relation.DETERMINES: "It largely determines",
    Relation.BATCHES: "Varies with the same batches as",
}


def explanation_in_words(found: Explanation, report: Report) -> list[str]:
    """Information of one feature, alone and given the selected ones, and what it repeats."""
    share = percent(share_of_target(found.relevance, found.entropy))
    of_what = "of the target's entropy" if found.entropy else "of the target's variance"
    place = f"{place_of(found.rank, report.table)} by relevance ({share} {of_what} alone)"
    said = [
        f"{named(found.name)}: {place}, {'not selected' if found.step is None else f'selected in step {found.step}'}."
    ]
    if not found.names:
        return said
    return [*said, _given(found, len(report.selection)), *_likeness(found)]


def _given(found: Explanation, n_selected: int) -> str:
    other, n_others = ("", n_selected) if found.step is None else ("other ", n_selected - 1)
    first = "first " if len(found.names) < n_others else ""
    who = f"the {first}{len(found.names)} {other}selected features" if len(found.names) > 1 else named(found.names[0])
    if found.given is None:
        return f"What it adds given {who} cannot be told from these rows."
    if not found.given["detectable"]:
        return f"Given {who} it adds nothing detectable."
    value, low, high = (percent(share_of_target(found.given[key], found.entropy)) for key in ("value", "low", "high"))
    return f"Given {who} it adds {value} (95 % interval {low.removesuffix(' %')} to {high})."


def _likeness(found: Explanation) -> list[str]:
    """What it is nearly the same as, with what stays if it takes that place, and what else can be said of it."""
    places = sorted(range(len(found.names)), key=lambda place: -found.shared[place])
    said = [
        f"Nearly the same as {named(found.names[place])} ({found.measures[place]} {found.shared[place]:.2f})"
        f"{_in_its_place(found, place)}."
        for place in places
        if found.relations[place] is Relation.SAME
    ][:3]
    for relation, words in _SAID.items():
        names = [named(found.names[place]) for place in places if found.relations[place] is relation]
        said += [f"{words} {listed(names, most=3)}."] if names else []
    return said or [_nearest(found, places[0])]


def _nearest(found: Explanation, place: int) -> str:
    figure = f"{found.measures[place]} {found.shared[place]:.2f}"
    return f"Not like any of them (the closest is {named(found.names[place])}, {figure})."


def _in_its_place(found: Explanation, place: int) -> str:
    """What stays of the information of the others about the target, where that is estimated to be hardly less."""
    if not found.alone > 0 or found.instead[place] < (1 - LITTLE) * found.alone:
        return ""
    left, before = (percent(share_of_target(one, found.entropy)) for one in (found.instead[place], found.alone))
    return f" and could take its place ({left} instead of {before} together)"


def tested_in_words(tested: RelevanceTest, alpha: float, target: str) -> str:
    """What a test found, and what its numbers mean."""
    n_tested, n_found = int((~np.isnan(tested.adjusted)).sum()), int(tested.significant(alpha).sum())
    found = f"None of {n_tested:,} features is significant: their relevance may be chance."
    if n_found:
        found = f"{n_found:,} of {n_tested:,} features are significant, at a false discovery rate of {alpha:.0%}."
    return (
        f"{found} The p-value of a feature is how often one that is independent of '{target}' would seem at least as "
        "relevant; the adjusted value allows for the number of features. A feature that is not significant may still "
        "matter: there may be too few rows to see it, or it is relevant only together with others."
    )


def redundancy_in_words(result: Redundancy, target: str) -> str:
    bound = "" if result.exact and result.complete else "at least "
    n_unique, n_conditional, n_redundant = len(result.unique), len(result.conditional), len(result.redundant)
    names = [quoted(result.names[feature]) for feature in result.redundant]
    removed = f" Without {listed(names, most=5)} the estimate does not fall." if names else ""
    size = len(result.saturated)
    return (
        f"{_saturation(result, target)} Of {size} feature{plural(size)}, {n_unique} {plural(n_unique, 'has', 'have')} "
        f"unique relevance, {n_conditional} more {plural(n_conditional, 'is', 'are')} needed given the others, and "
        f"{bound}{n_redundant} {plural(n_redundant, 'is', 'are')} redundant: the redundancy rate is "
        f"{bound}{percent(result.rate)}.{removed}"
    )


def _saturation(result: Redundancy, target: str) -> str:
    """How many features count, and whether joint information is saturated there: only a flat curve says so."""
    size, n_features = len(result.saturated), int(np.isfinite(result.unique_relevance).sum())
    first = f"The first {size} features carry" if size > 1 else "The first feature carries"
    said = f"{first} an estimated {result.joint_information:.2f} nats of information about {quoted(target)}"
    rest = result.curve[size:]
    if len(rest) == 0:
        if size == n_features or not result.complete:
            return f"{said}."
        return f"{said}, and the last of them still added to it: more features may carry more."
    if rest.min() >= (1 - LITTLE) * result.joint_information - result.tolerance:
        return f"{said}, and the next {len(rest)} add nothing."
    limits = "which shows its limits: it does not say that the others carry nothing"
    return f"{said}; with more the estimate falls, {limits}."
