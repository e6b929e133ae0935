"""What is said about one feature, about a test of all of them, and about the redundancy of a selection."""

import numpy as np

from unirel.inference.relations import REDUNDANT, Explanation
from unirel.report import Report
from unirel.report.text import LEAST_GAIN, LITTLE, in_nats, is_credible, listed, percent, place_of, plural, quoted
from unirel.results import Redundancy, RelevanceTest, Selection


def explanation_in_words(found: Explanation, report: Report) -> list[str]:
    """Information of one feature, alone and given the selected ones, and which of them it could replace."""
    chosen = "not selected" if found.step is None else f"selected in step {found.step}"
    place = place_of(found.rank, report.table)
    said = [f"{quoted(found.name)}: relevance {in_nats(found.relevance, found.entropy)}, {place}; {chosen}."]
    if not found.names:
        return said
    other = "" if found.step is None else "other "
    who = f"the {len(found.names)} {other}selected features" if len(found.names) > 1 else quoted(found.names[0])
    gain = found.with_all - found.alone
    if gain >= max(LEAST_GAIN, LITTLE * found.alone):
        said.append(f"Given {who} it adds {gain:.2f} nats: {found.with_all:.2f} instead of {found.alone:.2f}.")
    else:
        said.append(f"Given {who} ({found.alone:.2f} nats) it adds nothing detectable.")
    return [*said, _replaces(found, report.selection)]


def _replaces(found: Explanation, selection: Selection) -> str:
    """Which selected features could be left out for it: those that share much with it and are not missed."""
    if not is_credible(selection, found.alone):
        return "Which of them it could replace cannot be said: their joint information is not estimated well."
    can_go = (found.shared >= REDUNDANT) & (found.instead >= (1 - LITTLE) * found.alone)
    places = sorted(np.flatnonzero(can_go).tolist(), key=lambda place: -found.shared[place])[:3]
    if places:
        left = min(found.alone, *found.instead[places])
        names = [f"{quoted(found.names[place])} (normalised MI {found.shared[place]:.2f})" for place in places]
        return f"It could replace {listed(names, 'or')}: {left:.2f} of {found.alone:.2f} nats stay."
    if (found.shared >= REDUNDANT).any():
        return "It is redundant with some of them, but in their place information would be lost."
    return f"It is redundant with none of them (normalised MI at most {found.shared.max():.2f})."


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
