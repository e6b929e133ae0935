"""How sure a selection is: which features are significant, and how often they are selected."""

from typing import TYPE_CHECKING

import numpy as np

from unirel.report.text import ALPHA, listed, nothing_found, percent, quoted

if TYPE_CHECKING:
    from unirel.report import Report


def certainty_in_words(report: "Report") -> list[str]:
    """All that is said of it."""
    said = (significance_in_words(report), stability_in_words(report), exchangeable_in_words(report))
    return [one for one in said if one]


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
    rows = "groups of rows" if "groups" in found.settings else "rows"
    return (
        f"The selection was repeated on {len(found.selected)} random halves of the {rows} (subsamples). {agreement} "
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
    if nothing_found(report):
        return ""
    unsure = [quoted(names[feature]) for feature in tested[~report.test.significant(ALPHA)[tested]]]
    permuted = report.test.settings.get("permuted")
    how = f"; permuted are {permuted}" if permuted else ""
    found = (
        f"Significant by themselves: {len(tested) - len(unsure):,} of the {len(tested):,} selected "
        f"({_n_tested(report):,} tested, false discovery rate {percent(ALPHA)}{how})."
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


def _n_tested(report: "Report") -> int:
    return 0 if report.test is None else int(np.isfinite(report.test.p_value).sum())
