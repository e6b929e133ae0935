"""Everything that is said about a selection. Advice is given only where the numbers support it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unirel.data.table import Table
from unirel.inference.likeness import REDUNDANT
from unirel.inference.relations import RedundantGroup
from unirel.results import Cause, Ending, Selection
from unirel.search.greedy import SearchSettings, described

if TYPE_CHECKING:
    from unirel.report import Origin, Report
    from unirel.report.accuracy import Accuracy

# Adjusted p-values up to this are called significant.
ALPHA = 0.05
# A change up to this share of joint information, or up to this many nats, is no change.
LITTLE, LEAST_GAIN = 0.02, 0.005
# A feature that determines more than this share of the target's entropy may know the target from elsewhere; below the
# second share its relevance is called low.
_LEAK, _LOW = 0.95, 0.05
# Classes from which on a target of whole numbers may well be meant as a number.
_MANY = 6
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def quoted(name: str) -> str:
    return f"'{name}'"


def named(name: str) -> str:
    """A feature in a sentence: in quotes only where it would not be read as one name."""
    return name if re.fullmatch(r"\w+([ ._-]\w+)*", name) else quoted(name)


def listed(names: Sequence[str], word: str = "and", most: int = 10) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small."""
    if share >= 0.0995 or share <= 0:
        return f"{100 * max(share, 0.0):.0f} %"
    return f"{max(100 * share, 0.1):.1f}".removesuffix(".0") + " %"


def share_of_target(information: float, entropy: float | None) -> float:
    """Information as a share of the target's entropy; of a continuous one the variance it explains if all is normal."""
    return float(min(1.0, max(0.0, information / entropy if entropy else -np.expm1(-2 * information))))


def in_nats(information: float, entropy: float | None, of_several: bool = False) -> str:
    """Information about the target in percent and in nats; of several a mean in percent."""
    if of_several:
        return f"{percent(information)} of the targets' entropies on average"
    share = percent(share_of_target(information, entropy))
    if entropy:
        return f"{share} of the target's entropy ({information:.2f} of {entropy:.2f} nats)"
    return f"{share} ({information:.2f} nats)"


def plural(number: int, one: str = "", more: str = "s") -> str:
    return one if number == 1 else more


class Enough(NamedTuple):
    """How many of the first features are enough, and by which measure."""

    n: int
    by: str  # "accuracy", or "test" of the steps
    rises: bool  # whether the last of all still improved it


def find_enough(report: "Report") -> Enough | None:
    """The fewest features that do about as well as any number of them; None where nothing is known."""
    selection, accuracy = report.selection, report.accuracy
    if accuracy is not None and accuracy.enough is not None:
        return Enough(accuracy.enough, "accuracy", accuracy.enough == accuracy.sizes[accuracy.reached[-1]])
    if not selection.n_supported:
        return None
    last = selection.n_supported == len(selection)
    return Enough(selection.n_supported, "test", last and selection.ending is not Ending.NOTHING_ADDS)


def credible_joint(report: "Report", n: int) -> float | None:
    """Joint information of the first n, if it is neither below the relevance of one of them nor falls up to there."""
    values, relevance = report.analysis.joint_information[:n], report.selection.relevance[report.selection.order[:n]]
    if n == 0 or len(values) < n or not np.isfinite(values[-1]):
        return None
    known = values[np.isfinite(values)]
    lowest = max(float(np.nanmax(relevance, initial=0.0)), (1 - LITTLE) * float(known.max()))
    return float(values[-1]) if values[-1] >= lowest and values[-1] > 0 else None


def headline(report: "Report", enough: Enough | None) -> str:
    selection, accuracy = report.selection, report.accuracy
    if nothing := nothing_found(report):
        return nothing
    if len(selection) == 0:
        return f"No feature was selected: {selection.reason}."
    n_features = len(report.table.features)
    selected = f"{len(selection):,} of {n_features:,} feature{plural(n_features)} selected."
    if enough is not None and enough.by == "accuracy" and accuracy is not None:
        found = f"{_score_at(accuracy, enough.n)} by {accuracy.method}"
        if accuracy.measure == "accuracy":
            found += f" (most frequent class: {100 * accuracy.chance:.1f} %)"
        if enough.rises:
            return f"{selected} With all of them {found}; the last still improved it, so more may do better."
        if accuracy.all_are_better and enough.n < len(selection):
            every = f"all {accuracy.n_features:,} features together reach {_score_of(accuracy, accuracy.all_features)}"
            as_well = "The first one does" if enough.n == 1 else f"The first {enough.n:,} do"
            return f"{selected} {as_well} as well as all {len(selection):,}: {found}; {every}."
        return f"{selected} {_first(enough.n)} enough: {found}."
    return " ".join(filter(None, (selected, _supported(report))))


def _first(n: int) -> str:
    return "The first one is" if n == 1 else f"The first {n:,} are"


def _supported(report: "Report") -> str:
    """After which step nothing is added, and what those up to there carry together."""
    selection = report.selection
    n_selected, n_supported = len(selection), selection.n_supported
    n_carrying = n_selected if n_supported is None else n_supported
    joint = credible_joint(report, n_carrying)
    carry = "" if joint is None else f"{plural(n_carrying, 'carries', 'carry')} "
    carry += "" if joint is None else in_nats(joint, report.analysis.entropy)
    if n_supported is None:
        return f"Together they {carry}." if carry and n_selected > 1 else ""
    if n_supported == 0:
        return "No step adds information that can be told from chance."
    if n_supported < n_selected:
        rest = _steps(list(range(n_supported + 1, n_selected + 1)))
        names = listed([named(name) for name in selection.selected_names[:n_supported]], "and", 5)
        found = f": {names} {carry}" if carry else f", as far as {report.table.n_samples:,} rows show"
        return f"{_first(n_supported)} enough{found}; {rest} nothing detectable."
    together = "" if not carry else f"Together they {carry}. " if n_selected > 1 else f"It {carry}. "
    if selection.ending is Ending.NOTHING_ADDS:
        marked = "; the next in order are listed below them" if len(selection.following) else ""
        return f"{together}No other feature adds anything that can be told from chance{marked}."
    return f"{together}The last still adds detectable information, so more may add to it." * (n_selected > 1)


def _steps(steps: list[int]) -> str:
    """Some steps, and that they add."""
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
        return f"steps {steps[0]}-{steps[-1]} add"
    return f"step{plural(len(steps))} {listed([str(step) for step in steps])} {plural(len(steps), 'adds', 'add')}"


def nothing_found(report: "Report") -> str:
    """That no feature can be told from chance, if neither tests nor a model say otherwise."""
    selection, accuracy, test = report.selection, report.accuracy, report.test
    if selection.n_supported or (test is None and selection.n_supported is None):
        return ""
    if test is not None and test.significant(ALPHA).any():
        return ""
    if accuracy is not None and accuracy.enough is not None:
        return ""
    n_listed = len(selection) or len(selection.following)
    n_tested = len(report.table.features) if test is None else int(np.isfinite(test.p_value).sum())
    kind = "chance of a false discovery" if test is None else "false discovery rate"
    number = _NUMBERS[n_listed] if n_listed < len(_NUMBERS) else f"{n_listed:,}"
    best = f" The {number} listed {plural(n_listed, 'is', 'are')} the best of noise." if n_listed else ""
    return f"No feature can be told from chance ({n_tested:,} tested, {kind} {percent(ALPHA)}).{best}"


def _score_at(accuracy: "Accuracy", n: int) -> str:
    score = _score_of(accuracy, accuracy.losses[:, accuracy.sizes.index(n)])
    if accuracy.measure == "accuracy":
        return f"{score} of held-out rows are predicted correctly"
    return f"{score} of the variance of held-out rows is explained"


def _score_of(accuracy: "Accuracy", losses: NDArray[np.float64]) -> str:
    mean, _ = accuracy.score(losses)
    return f"{100 * mean:.1f} %" if accuracy.measure == "accuracy" else percent(mean)


def selection_in_words(report: "Report") -> str:
    """One paragraph below the headline: what percentages are of, what stands out, what to be careful about."""
    found = (_most_relevant, _most_given_others)
    nothing = bool(nothing_found(report)) or len(report.selection) == 0
    parts = (_target, _classes_from_numbers, *(() if nothing else found), _mostly_missing, _groups, _costs, _ending)
    return " ".join(filter(None, (part(report) for part in parts)))


def _target(report: "Report") -> str:
    table, entropy = report.table, report.analysis.entropy
    if targets := report.selection.targets:
        each = [f"{quoted(name)} ({nats:.2f} nats)" for name, nats in targets.items()]
        means = "percentages are means over the targets of shares of their entropies"
        return f"{len(targets)} targets, {listed(each, most=5)}: {table.n_samples:,} rows; {means}."
    about = f"{quoted(report.origin.target)}: {table.n_samples:,} rows"
    if table.classes is not None:
        bound = "" if entropy is None else f"; percentages are of its entropy, {entropy:.2f} nats"
        return f"{about}, {len(table.classes)} classes{bound}."
    variance = "the explained variance if all is normal (unique: of what the others leave)"
    return f"{about}, continuous; percentages are 1 - exp(-2 I), {variance}."


def _classes_from_numbers(report: "Report") -> str:
    """That a target of numbers is taken as classes, if nobody said so and there are many of them."""
    asked = "several" if report.selection.targets else report.selection.settings.get("target_type", "auto")
    return classes_from_numbers(report.table, asked, "Its {} distinct numbers are")


def classes_from_numbers(table: Table, asked: str, these: str) -> str:
    if asked != "auto" or table.classes is None or table.classes.dtype.kind not in "iuf" or len(table.classes) < _MANY:
        return ""
    values = f"{these.format(len(table.classes))} taken as classes"
    return f"{values}; with target_type='continuous' (--target-type continuous) they count as numbers."


def _most_relevant(report: "Report") -> str:
    selection = report.selection
    relevance = selection.relevance[selection.order]
    if not np.isfinite(relevance).any() or len(selection) < 2:
        return ""
    best = int(np.nanargmax(relevance))
    if relevance[best] <= 0:
        return "None of them is relevant by itself."
    share = percent(share_of_target(float(relevance[best]), report.analysis.entropy))
    return f"Most relevant of them by itself: {named(selection.selected_names[best])} ({share})."


def _most_given_others(report: "Report") -> str:
    """Which feature could least be left out, by its information given the others."""
    given, entropy = report.analysis.given, report.analysis.entropy
    if len(given.value) < 2 or not np.isfinite(given.value).any():
        return ""
    best = int(np.argmax(np.where(given.detectable, np.nan_to_num(given.value), -1.0)))
    if not given.detectable[best]:
        return "Given the others, none of them adds anything detectable."
    value, low, high = (percent(share_of_target(float(values[best]), entropy)) for values in given[:3])
    interval = f"95 % interval {low.removesuffix(' %')} to {high}"
    given_what = f"Given the other {len(given.value) - 1:,}" if len(given.value) > 2 else "Given the other"
    return f"{given_what}, {named(report.selection.selected_names[best])} adds most: {value} ({interval})."


def copies_in_words(report: "Report") -> str:
    """Which steps repeat an earlier one, and which features were passed over as near copies."""
    selection, said = report.selection, []
    names = [named(name) for name in selection.selected_names]
    for group in [group for group in report.analysis.groups if len(group.members) > 1][:3]:
        first, *later = sorted(group.members)
        steps = f"step{plural(len(later))} {listed([str(place + 1) for place in later])}".capitalize()
        copies = plural(len(later), "is a near copy", "are near copies")
        said.append(f"{steps} {copies} of {names[first]} ({similarity_of(group)}){one_is_enough(group, report)}.")
    passed: dict[int, list[str]] = {}
    for copy, feature in selection.same_as.items():
        passed.setdefault(feature, []).append(named(selection.names[copy]))
    found = [f"{listed(some, most=3)} (of {named(selection.names[one])})" for one, some in passed.items()]
    if found:
        said.append(f"Passed over as near copies: {listed(found, most=3)}.")
    return " ".join(said)


def similarity_of(group: RedundantGroup) -> str:
    least = int(100 * group.least) / 100  # what is "or more" must not be rounded up
    return f"{group.measure} {least:.2f}" + (" or more" if len(group.members) > 2 else "")


def one_is_enough(group: RedundantGroup, report: "Report") -> str:
    """That one of a group is enough, or not, if the loss of information about the target was estimated."""
    if not np.isfinite(group.together) or credible_joint(report, len(report.selection)) is None:
        return ""
    lost = max(0.0, group.together - group.without)
    if group.p_value <= ALPHA / len(report.table.features):
        return ", but together they carry more than one of them"
    if group.p_value <= ALPHA or lost > max(LEAST_GAIN, LITTLE * group.together):
        return ""
    entropy = report.analysis.entropy
    left, before = (percent(share_of_target(one, entropy)) for one in (group.together - lost, group.together))
    return (
        f": one is enough ({left} instead of {before} without {plural(len(group.members) - 1, 'the other', 'others')})"
    )


def _mostly_missing(report: "Report") -> str:
    columns = [report.table.columns[feature] for feature in report.selection.order]
    shares = [(quoted(column.name), column.n_missing / report.table.n_samples) for column in columns]
    missing = [f"{name} ({percent(share)})" for name, share in shares if share > 0.5]
    if not missing:
        return ""
    return f"Missing in most rows: {listed(missing, most=5)}; a missing value counts as a level of its own."


def _groups(report: "Report") -> str:
    """Which of the selected features are groups of columns."""
    members = report.selection.members
    chosen = [name for name in report.selection.selected_names if name in members]
    said = [f"{quoted(name)} ({len(members[name])})" for name in chosen]
    return f"Selected as one, with all of their columns: {listed(said)}." if said else ""


def _costs(report: "Report") -> str:
    """What the selected features cost."""
    selection = report.selection
    if selection.costs is None or len(selection) == 0:
        return ""
    rest = ", and what is left of the budget is enough for no other" if selection.ending is Ending.BUDGET else ""
    return f"All selected features cost {selection.total_cost:,.10g}{rest}."


def _ending(report: "Report") -> str:
    """Why a selection is incomplete."""
    return "" if report.selection.complete else f"This is incomplete: {report.selection.reason}."


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
    selection, entropy = report.selection, report.analysis.entropy
    relevance = np.nan_to_num(selection.relevance, nan=-np.inf)
    reasons = []
    for place, feature in enumerate(selection.order.tolist()):
        rank, given = 1 + int((relevance > relevance[feature]).sum()), report.analysis.given.of(place)
        cause = _cause_in_words(report, place, rank)
        sentences = [f"{cause[0].upper()}{cause[1:]}."]
        if np.isfinite(relevance[feature]) and not (place == 0 and rank == 1):
            share = percent(share_of_target(float(relevance[feature]), entropy))
            sentences.append(f"Relevance {share}, {place_of(rank, report.table)}.")
        if selection.n_supported is not None and place >= selection.n_supported:
            sentences.append("No detectable information given those before it.")
        elif given is not None and len(selection) > 1:
            value, low, high = (percent(share_of_target(given[key], entropy)) for key in ("value", "low", "high"))
            interval = f"{value} (95 % interval {low.removesuffix(' %')} to {high})"
            sentences.append(f"Given the others it adds {interval if given['detectable'] else 'nothing detectable'}.")
        sentences += [
            f"Nearly the same as {named(selection.selected_names[group.members[0]])} ({similarity_of(group)})."
            for group in report.analysis.groups
            if place in group.members[1:]
        ]
        reasons.append(Why(cause, " ".join(sentences)))
    return reasons


def place_of(rank: int, table: Table) -> str:
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending} of {len(table.features):,}"


def _cause_in_words(report: "Report", place: int, rank: int) -> str:
    """Which term of the score made a feature enter; that it is unique is said only where that is seen."""
    selection, given = report.selection, report.analysis.given.of(place)
    cause = selection.causes[place] if place < len(selection.causes) else Cause.UNKNOWN
    if cause is Cause.INCLUDED:
        return "included on request"
    if cause in (Cause.REFERENCE, Cause.SELECTED, Cause.UNIQUE):
        if given is not None and given["detectable"]:
            share = percent(share_of_target(given["value"], report.analysis.entropy))
            return f"put ahead by its unique relevance ({share} given the others)"
        return f"scored best by {selection.criterion} and unique relevance together"
    if place == 0 and rank == 1:
        relevance = float(selection.relevance[selection.order[0]])
        return f"most relevant of all ({percent(share_of_target(relevance, report.analysis.entropy))})"
    before = "" if place == 0 else " given the first" if place == 1 else f" given the first {place}"
    return f"scored best by {selection.criterion}{before}"


def why_left_out(feature: int, report: "Report") -> Why:
    """Why a feature is not among the selected ones, as far as the numbers say."""
    selection, entropy = report.selection, report.analysis.entropy
    name, relevance = selection.names[feature], max(0.0, float(np.nan_to_num(selection.relevance[feature])))
    excluded = selection.settings.get("exclude") or ()
    if name in excluded or feature in excluded:
        return Why("excluded on request", "excluded on request")
    place, similar, measure = report.analysis.partners.get(feature, (0, 0.0, ""))
    if similar >= REDUNDANT:
        partner = f"{named(selection.selected_names[place])} ({measure} {similar:.2f})"
        return Why(f"nearly the same as {partner}", "nearly the same as a selected feature")
    if feature in selection.same_as:
        partner = named(selection.names[selection.same_as[feature]])
        return Why(f"passed over as a near copy of {partner}", "nearly the same as a selected feature")
    if feature in selection.following:
        return Why("adds nothing detectable", "next in order, but adding nothing that can be told from chance")
    share = share_of_target(relevance, entropy)
    if share < _LOW:
        return Why(f"low relevance ({percent(share)})", "of low relevance")
    return Why("lower score given the selected features", "with a lower score given the selected features")


def group_in_words(group: RedundantGroup, report: "Report") -> list[str]:
    """What a group is, which of it is the most relevant, and whether that one is enough."""
    names = [named(report.selection.selected_names[place]) for place in group.members]
    best = named(report.selection.selected_names[group.best])
    sentences = []
    if len(names) > 1:
        likeness = f"nearly the same ({similarity_of(group)}){one_is_enough(group, report)}"
        sentences.append(f"{listed(names)} are {likeness}. {best} is the most relevant.")
    if group.others:
        others = listed([f"{named(name)} ({similar:.2f})" for name, similar in group.others], most=5)
        whom = "one of them" if len(names) > 1 else f"{best} by {group.measure}"
        verb, was = plural(len(group.others), "is", "are"), plural(len(group.others), "was", "were")
        sentences.append(f"{others} {verb} nearly the same as {whom} and {was} not selected.")
    return sentences


def snippet(selection: Selection, origin: "Origin") -> str:
    """A program that selects the same features."""
    defaults, arguments, imported = described(SearchSettings()), [], ["BURSelector"]
    for name, value in selection.settings.items():
        if name not in defaults or value == defaults[name]:
            continue
        is_object = isinstance(value, str) and value.endswith(")")
        imported += re.findall(r"^\w+", value) if is_object else []
        missing = value == "given values"
        arguments.append(f"    {name}={'...' if missing else value if is_object else repr(value)},")
    weighted = ", sample_weight" if selection.sample_weight is not None else ""
    weighted += ", groups=groups" if "groups = " in str(origin.reading) else ""
    lines = [f"from unirel import {', '.join(imported)}", *origin.reading, "", "selector = BURSelector("]
    return "\n".join([*lines, *arguments, f").fit(X, y{weighted})", "print(selector.selection_.selected_names)"]) + "\n"
