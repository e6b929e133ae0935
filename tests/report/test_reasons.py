"""Why features were taken or left out, how many are enough, and what to be careful about: said only with evidence."""

from dataclasses import replace

import numpy as np
import pytest

from unirel.data.table import Table
from unirel.inference.findings import Accuracy, RepeatedGroup
from unirel.inference.relations import REPEATED
from unirel.options import SelectorOptions, complete
from unirel.report import Origin, Report
from unirel.report.reasons import find_enough, group_in_words, why_taken
from unirel.results import Cause


def report_on(X, y, along=True, **options):
    chosen = complete(SelectorOptions, options, "report_on")
    return Report.from_table(Table.from_data(X, y), chosen, Origin(), along=along)


@pytest.fixture(scope="module")
def measured():
    """One thing measured three times, another one, and noise; the first four are selected."""
    rng = np.random.default_rng(0)
    a, b, *rest = rng.standard_normal((7, 400))
    X = np.column_stack([a, b, a + 0.05 * rest[0], rest[1], a + 0.05 * rest[2], b + 0.1 * rest[3], np.ones(400)])
    return report_on(X, 1.5 * a + b > 0, beta=0.0, criterion="mim", n_features_to_select=4)


def test_one_thing_measured_three_times(measured):
    group = measured.surroundings.groups[0]
    names = {measured.selection.selected_names[place] for place in group.members}
    assert names == {"x0", "x2", "x4"}
    assert group.least >= REPEATED
    relevance = measured.selection.relevance[measured.selection.order]
    assert group.best == max(group.members, key=lambda place: relevance[place])
    words = " ".join(group_in_words(group, measured.selection))
    assert "are nearly one thing measured three times" in words
    assert "so one of them may do" in words


def test_a_feature_that_repeats_a_selected_one_was_left_out_for_it(measured):
    said = measured.to_dict()
    why = {row["name"]: row["why"] for row in said["features"]}
    left, kept = ("x1", "x5") if why["x1"].startswith("repeats") else ("x5", "x1")
    assert why[left].startswith(f"repeats '{kept}'")
    assert why["x3"].startswith("tells little by itself")
    headings = {reason["heading"]: reason["names"] for reason in said["left_out"]}
    assert headings["repeat a selected feature"] == [left]
    assert any("'x6' has the same value in every row" in warning for warning in said["warnings"])


def test_that_one_may_do_takes_evidence(measured):
    selection, group = measured.selection, measured.surroundings.groups[0]
    unknown = RepeatedGroup(group.members, group.best, group.least, (), np.nan, np.nan)
    assert "may do" not in " ".join(group_in_words(unknown, selection))
    needed = replace(unknown, together=2.0, left=1.0)
    words = " ".join(group_in_words(needed, selection))
    assert "may do" not in words
    assert "tells only 1.00 of 2.00 nats" in words
    incredible = replace(unknown, together=0.01, left=0.01)
    assert "may do" not in " ".join(group_in_words(incredible, selection))


def test_rare_levels_are_not_called_alike():
    """Two columns of many levels seem to share nearly everything when they are counted as they stand."""
    rng = np.random.default_rng(0)
    X = np.array([[f"a{rng.integers(80)}", f"b{rng.integers(80)}"] for _ in range(300)], dtype=object)
    y = rng.integers(0, 2, 300)
    for correction, shared in ((None, 1.0), ("chance", 0.5)):
        report = report_on(X, y, n_features_to_select=2, beta=0.0, correction=correction)
        assert shared - 0.5 <= report.analysis.shared[0, 1] <= shared
        assert report.surroundings.groups == ()
        assert not any("leak" in warning for warning in report.to_dict()["warnings"])


@pytest.mark.parametrize("continuous", [False, True])
def test_a_leak_is_named(continuous):
    rng = np.random.default_rng(0)
    a, noise = rng.standard_normal((2, 300))
    y = a if continuous else np.where(a > 0, "yes", "no")
    X = np.column_stack([a + 0.01 * noise if continuous else 5 * (a > 0) + 0.1 * noise, a + 2 * noise, noise])
    leaks = [one for one in report_on(X, y).to_dict()["warnings"] if "leak" in one]
    assert len(leaks) == 1
    assert leaks[0].startswith("'x0' may leak the target: by itself it tells ")
    honest = report_on(X[:, 1:], y).to_dict()["warnings"]
    assert not any("leak" in warning for warning in honest)


def test_whole_numbers_that_all_differ_look_like_an_identifier():
    rng = np.random.default_rng(0)
    number = rng.permutation(200) + 1000
    warnings = report_on(np.column_stack([number, rng.standard_normal(200)]), number > 1100).to_dict()["warnings"]
    assert any("'x0' looks like an identifier" in warning for warning in warnings)


def test_what_adds_nothing_is_not_said_to_add(measured):
    selection, analysis = measured.selection, measured.analysis
    flat = replace(analysis, joint_information=np.full(4, 0.5))
    rising = replace(analysis, joint_information=np.array([0.1, 0.2, 0.3, 0.4]))
    entered = replace(selection, causes=(Cause.CRITERION, *[Cause.SELECTED] * 3))
    assert [why.words for why in why_taken(entered, flat)][1:] == [
        "was put ahead by what it may add to the first",
        "was put ahead by what it may add to the first two",
        "was put ahead by what it may add to the first three",
    ]
    assert [why.words for why in why_taken(entered, rising)][3] == "adds what the first three do not tell"
    assert "0.40 nats together, 0.10 more" in why_taken(entered, rising)[3].heading


def test_how_many_are_enough(measured):
    selection, analysis = measured.selection, measured.analysis
    curve = np.array([0.3, 0.55, 0.6, 0.605])
    assert find_enough(selection, replace(analysis, joint_information=curve), None)[:3] == (3, "information", False)
    unknown = replace(analysis, joint_information=np.full(4, np.nan))
    assert find_enough(selection, unknown, None) is None
    incredible = replace(analysis, joint_information=curve / 100)
    assert find_enough(selection, incredible, None) is None
    scores = np.array([[0.7, 0.8, 0.81, 0.80], [0.72, 0.82, 0.85, 0.86]])
    accuracy = Accuracy("x", "accuracy", (1, 2, 3, 4), scores, scores[:, 0], 4, 0.5)
    # The best mean is 0.83 +- 0.02.
    assert find_enough(selection, analysis, accuracy)[:3] == (2, "accuracy", False)


def test_the_headline_says_what_the_curve_says(measured):
    def headline(*curve):
        analysis = replace(measured.analysis, joint_information=np.array(curve))
        return replace(measured, analysis=analysis).to_dict()["headline"]

    assert headline(0.3, 0.55, 0.55, 0.54).startswith(
        "Of the 4 selected features, the first 2 tell as much about 'y' as more of them do, as far as 400 rows show: "
    )
    assert headline(0.3, 0.4, 0.5, 0.6).endswith("; the last still added to it.")
    assert headline(*[np.nan] * 4) == "Of 7 features 4 were selected to tell about 'y'."
