"""Why: how many features are enough, what made each one enter, what was left out, what to be careful about."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unirel.data.table import Table
from unirel.inference.findings import Accuracy, Analysis, Explanation, RepeatedGroup, Surroundings
from unirel.inference.relations import REPEATED
from unirel.report.words import ALIKE, LITTLE, ending_of, is_credible, quoted
from unirel.results import Cause, Selection

# A feature that by itself tells more than this share of all there is to know may know the target from elsewhere.
_TOO_MUCH = 0.95
# Below this share of it a feature is said to tell little by itself.
_LITTLE_ALONE = 0.05
# What a feature must add to be said to add something, in nats.
_LEAST_GAIN = 0.005
_NUMBERS = ("no", "once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times")


class Enough(NamedTuple):
    """How many of the first features are enough, and by which curve."""

    n: int
    by: str  # "accuracy" or "information"
    rises: bool  # whether the curve still rises at its end


def find_enough(selection: Selection, analysis: Analysis, accuracy: Accuracy | None) -> Enough | None:
    """The fewest features that do about as well as any number of them; None where nothing is known.

    By accuracy: within one standard error of the best mean. By information: within 2 % of the largest estimate.
    """
    if accuracy is not None:
        known = np.flatnonzero(np.isfinite(accuracy.means))
        if len(known):
            means, best = accuracy.means[known], int(known[np.argmax(accuracy.means[known])])
            error = (
                float(accuracy.scores[:, best].std(ddof=1) / np.sqrt(accuracy.n_folds)) if accuracy.n_folds > 1 else 0
            )
            place = int(known[np.argmax(means >= accuracy.means[best] - error)])
            return Enough(accuracy.sizes[place], "accuracy", place == known[-1])
    curve = known_curve(analysis)
    if len(curve) < 2 or curve.max() <= 0 or not is_credible(selection, curve.max()):
        return None
    place = int(np.argmax(curve >= (1 - LITTLE) * curve.max()))
    return Enough(place + 1, "information", place == len(curve) - 1)


def known_curve(analysis: Analysis) -> Any:
    """What the first n features tell together, as far as all smaller numbers of features are known too."""
    known = np.logical_and.accumulate(np.isfinite(analysis.joint_information))
    return analysis.joint_information[known]


def headline(
    selection: Selection,
    table: Table,
    analysis: Analysis,
    accuracy: Accuracy | None,
    target: str,
    enough: Enough | None,
) -> str:
    """The answer in one sentence."""
    n_selected = len(selection)
    if n_selected == 0:
        return f"No feature was selected: {selection.reason}."
    if enough is None:
        verb = "were" if n_selected > 1 else "was"
        return f"Of {len(table.features):,} features {n_selected:,} {verb} selected to tell about '{target}'."
    those = f"the {n_selected:,} selected features" if n_selected > 1 else "the selected feature"
    first = "the first one" if enough.n == 1 else f"the first {enough.n:,}"
    if enough.by == "accuracy" and accuracy is not None:
        score = _score_at(accuracy, enough.n)
        if enough.rises:
            return f"With {those} {score}; it still rose with the last, so more may do better."
        return f"Of {those}, {first} {'does' if enough.n == 1 else 'do'} as well as more: {score}."
    curve = known_curve(analysis)
    joint = float(curve[enough.n - 1])
    share = f", {min(1.0, joint / analysis.entropy):.0%} of all there is to know" if analysis.entropy else ""
    if enough.rises:
        who = those if len(curve) == n_selected else f"the first {len(curve):,} of {those}"
        return f"Together {who} tell {joint:.2f} nats about '{target}'{share}; the last still added to it."
    tells = "tells" if enough.n == 1 else "tell"
    return (
        f"Of {those}, {first} {tells} as much about '{target}' as more of them do, as far as "
        f"{table.n_samples:,} rows show: {joint:.2f} nats{share}."
    )


def _score_at(accuracy: Accuracy, n: int) -> str:
    mean = float(accuracy.means[accuracy.sizes.index(n)])
    if accuracy.measure == "accuracy":
        return f"{mean:.1%} of rows are predicted correctly"
    return f"{mean:.0%} of the variance is explained"


class Why(NamedTuple):
    """Why a feature was or was not selected: in a few words, and in a paragraph or by a heading shared with others."""

    words: str
    heading: str


def why_taken(selection: Selection, analysis: Analysis) -> list[Why]:
    """For every selected feature what made it enter; the paragraph has the numbers that show it."""
    curve = known_curve(analysis)
    known = np.nan_to_num(selection.relevance, nan=-np.inf)
    reasons = []
    for place, feature in enumerate(selection.order.tolist()):
        rank = 1 + int((known > known[feature]).sum())
        gain = float(curve[place] - curve[place - 1]) if 0 < place < len(curve) else None
        adds = None if gain is None else gain >= max(_LEAST_GAIN, LITTLE * float(curve[place - 1]))
        cause = _cause_in_words(selection, place, rank, adds)
        sentences = [f"{cause[0].upper()}{cause[1:]}."]
        if adds:
            sentences.append(f"With it they tell {curve[place]:.2f} nats together, {gain:.2f} more.")
        elif adds is not None:
            sentences.append("All together they are not seen to tell more with it.")
        if np.isfinite(known[feature]) and not (place == 0 and rank == 1):
            sentences.append(f"By itself it tells {max(0.0, known[feature]):.2f} nats ({_place(rank)}).")
        if 0 < place < len(analysis.shared):
            other = int(np.argmax(analysis.shared[place, :place]))
            shared = float(analysis.shared[place, other])
            if shared >= REPEATED:
                sentences.append(f"It repeats much of {quoted(analysis.names[other])} ({shared:.2f}).")
        reasons.append(Why(cause, " ".join(sentences)))
    return reasons


def _place(rank: int) -> str:
    if rank == 1:
        return "most of all"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending} of all"


def _cause_in_words(selection: Selection, place: int, rank: int, adds: bool | None) -> str:
    """Which term of the score made a feature enter; that it adds something is said only where that is seen."""
    cause = selection.causes[place] if place < len(selection.causes) else Cause.UNKNOWN
    before = "the first" if place == 1 else f"the first {_in_letters(place)}"
    if cause is Cause.INCLUDED:
        return "was asked for"
    if cause is Cause.SELECTED:
        does = "does" if place == 1 else "do"
        return f"adds what {before} {does} not tell" if adds else f"was put ahead by what it may add to {before}"
    if cause in (Cause.REFERENCE, Cause.UNIQUE):
        unique = selection.unique_relevance
        others = "the other strong features do not" if cause is Cause.REFERENCE else "no other feature tells"
        if adds is not False and unique is not None and unique[selection.order[place]] > 0:
            return f"tells what {others}"
        return "was put ahead by its unique relevance"
    if place == 0:
        alone = max(0.0, float(selection.relevance[selection.order[0]]))
        return f"tells most by itself ({alone:.2f} nats)" if rank == 1 else f"scored best by {selection.criterion}"
    return f"scored best by {selection.criterion} after {before}"


def _in_letters(number: int) -> str:
    words = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if number < len(words) else f"{number:,}"


def why_left_out(feature: int, selection: Selection, surroundings: Surroundings, analysis: Analysis) -> Why:
    """Why a feature is not among the selected ones, as far as the numbers say."""
    name, relevance = selection.names[feature], max(0.0, float(np.nan_to_num(selection.relevance[feature])))
    excluded = selection.settings.get("exclude") or ()
    if name in excluded or feature in excluded:
        return Why("left out on request", "left out on request")
    place, shared = surroundings.partners.get(feature, (0, 0.0))
    if shared >= ALIKE:
        partner = f"{quoted(selection.selected_names[place])} ({shared:.2f})"
        if shared >= REPEATED:
            return Why(f"repeats {partner}", "repeat a selected feature")
        return Why(f"is much like {partner}", "are much like a selected feature")
    told = relevance / analysis.entropy if analysis.entropy else -np.expm1(-2 * relevance)
    if told < _LITTLE_ALONE:
        return Why(f"tells little by itself ({relevance:.2f} nats)", "tell little by themselves")
    return Why("scored lower beside those selected", "scored lower beside those selected")


def group_in_words(group: RepeatedGroup, selection: Selection) -> list[str]:
    """What a group is, which of it is the best, and whether that one may do."""
    names = [quoted(selection.selected_names[place]) for place in group.members]
    best = quoted(selection.selected_names[group.best])
    sentences = []
    if len(names) > 1:
        times = _NUMBERS[len(names)] if len(names) < len(_NUMBERS) else f"{len(names)} times"
        who = "They share" if len(names) == 2 else "Every two of them share at least"
        sentences.append(
            f"{listed(names)} are nearly one thing measured {times}. {who} {group.least:.2f} on a scale from 0 to 1."
        )
        sentences.append(f"{best} tells most about the target by itself.")
        sentences += _may_do(group, selection, best)
    if group.others:
        others = listed([f"{quoted(name)} ({shared:.2f})" for name, shared in group.others[:5]])
        more = f" and {len(group.others) - 5} more" if len(group.others) > 5 else ""
        whom = "one of them" if len(names) > 1 else best
        verb, was = ("repeats", "was") if len(group.others) == 1 else ("repeat", "were")
        sentences.append(f"{others}{more} {verb} {whom} and {was} not selected.")
    return sentences


def _may_do(group: RepeatedGroup, selection: Selection, best: str) -> list[str]:
    """Advice to keep one, or not to, if what is lost about the target can be estimated."""
    if np.isnan(group.together) or not is_credible(selection, group.together):
        return []
    lost = max(0.0, group.together - group.left)
    left = f"{group.together - lost:.2f} of {group.together:.2f} nats"
    if lost <= LITTLE * group.together:
        return [f"With {best} as the only one of them the selection still tells {left}, so one of them may do."]
    return [f"But with {best} as the only one of them the selection tells only {left}: the others add to it."]


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def warnings_of(selection: Selection, table: Table, surroundings: Surroundings, target: str) -> list[str]:
    """What to look at before the answer is believed."""
    said = [f"This is incomplete: {selection.reason}."] if not selection.complete else []
    said += [ending_of(selection)] if selection.complete and ending_of(selection) else []
    leaks = sorted(
        ((share, name_of(table, f)) for f, share in surroundings.told.items() if share > _TOO_MUCH), reverse=True
    )
    for share, name in leaks[:5]:
        said.append(
            f"{name} may leak the target: by itself it tells {min(1.0, share):.0%} of all there is to know about "
            f"'{target}'. If it is known only once '{target}' is, leave it out."
        )
    numbered = [name_of(table, feature) for feature in surroundings.numbered]
    if numbered:
        verb, it = ("looks", "it") if len(numbered) == 1 else ("look", "they")
        said.append(
            f"{listed(numbered[:5])} {verb} like an identifier: whole numbers, all different. "
            f"What {it} tell{'s' if it == 'it' else ''} may not hold for new rows."
        )
    constant = [column for column in table.features if table.n_levels[column] == 1]
    if constant:
        verb = "has" if len(constant) == 1 else "have"
        more = f" and {len(constant) - 5:,} more" if len(constant) > 5 else ""
        names = [name_of(table, column) for column in constant[:5]]
        said.append(f"{listed(names) if not more else ', '.join(names)}{more} {verb} the same value in every row.")
    return said


def name_of(table: Table, feature: int) -> str:
    """The name of a feature in quotes."""
    return quoted(table.names[feature])


def explanation_in_words(found: Explanation, selection: Selection, table: Table, target: str) -> list[str]:
    """What one feature tells, beside whom, and whom it could replace."""
    name, of = quoted(found.name), f" of the {found.entropy:.2f} nats there are to know" if found.entropy else " nats"
    chosen = "was not selected" if found.step is None else f"was selected as number {found.step}"
    place = _place(found.rank).replace("of all", f"of {len(table.features):,}")
    said = [f"{name} tells {found.relevance:.2f}{of} about '{target}' by itself ({place}); it {chosen}."]
    if not found.names:
        return said
    other = "" if found.step is None else "other "
    who = f"the {len(found.names)} {other}selected features" if len(found.names) > 1 else quoted(found.names[0])
    gain = found.with_all - found.alone
    if gain >= max(_LEAST_GAIN, LITTLE * found.alone):
        said.append(f"Beside {who} it adds {gain:.2f} nats: {found.with_all:.2f} instead of {found.alone:.2f}.")
    else:
        said.append(
            f"It is not seen to add to what {who} tell{'s' if len(found.names) == 1 else ''} ({found.alone:.2f} nats)."
        )
    return [*said, _replaces(found, selection)]


def _replaces(found: Explanation, selection: Selection) -> str:
    """Which selected features could go for it: those that share much with it and are not missed."""
    if not is_credible(selection, found.alone):
        return "Whom it could replace cannot be said: what they tell together is not estimated well from these rows."
    can_go = (found.shared >= ALIKE) & (found.instead >= (1 - LITTLE) * found.alone)
    places = sorted(np.flatnonzero(can_go).tolist(), key=lambda place: -found.shared[place])[:3]
    if places:
        left = min(found.alone, *found.instead[places])
        names = listed([quoted(found.names[place]) for place in places], "or")
        return f"It could take the place of {names}: {left:.2f} of {found.alone:.2f} nats stay."
    if (found.shared >= ALIKE).any():
        return "It shares much with some of them, but in their place less would be told."
    return "It shares much with none of them, so there is none that it could stand for."
