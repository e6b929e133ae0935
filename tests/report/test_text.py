"""What is said about a selection: only what the numbers support."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from unirel import Binned, BURSelector, redundancy_analysis
from unirel.data.table import Table
from unirel.inference.relations import REDUNDANT, RedundantGroup, explain
from unirel.report import Origin, Report
from unirel.report.accuracy import Accuracy
from unirel.report.explain import explanation_in_words, redundancy_in_words
from unirel.report.text import find_enough, group_in_words, warnings_of, why_selected
from unirel.results import Cause, Redundancy


def report_on(X, y, page=False, **parameters):
    return Report.from_table(Table.from_data(X, y), BURSelector(**parameters), Origin(), page=page)


# The paragraph


def test_of_two_copies_one_is_enough(rng):
    a, b = rng.standard_normal((2, 300))
    report = report_on(np.column_stack([a, b, a]), a + b > 0, n_features_to_select=3)
    _, group, significance = report.paragraphs()
    assert significance.startswith("Significant by themselves: 3 of the 3 selected features")
    assert group.startswith("'x0' and 'x2' are redundant with each other (rank correlation 1.00): one is enough (")
    assert "information about the target with 'x0' alone of them: 0." in group


def test_columns_that_are_alike_may_both_be_needed(rng):
    """Two nearly equal columns whose difference is the target: how alike they are says nothing about it."""
    a, difference = rng.standard_normal((2, 400))
    report = report_on(np.column_stack([a, a + 0.2 * difference]), difference > 0, n_features_to_select=2)
    (group,) = report.analysis.groups
    assert group.least > 0.9
    words = " ".join(report.paragraphs())
    assert "are nearly the same" in words
    assert "but the others add information" in words
    assert "enough" not in words


def test_that_none_are_redundant_is_said_with_the_closest_pair(rng):
    X = rng.standard_normal((80, 4))
    report = report_on(X, X[:, 0] > 0, n_features_to_select=4)
    assert "No two of them are redundant with each other (normalised MI at most 0." in report.words
    first = replace(report.analysis, shared=report.analysis.shared[:2, :2])
    assert "No two of the first 2 are redundant" in replace(report, analysis=first).words


def test_joint_information_that_is_not_credible_is_not_used(rng):
    a, b = rng.standard_normal((2, 300))
    report = report_on(np.column_stack([a, b]), a + b > 0, n_features_to_select=2)
    assert "Together they carry an estimated 0." in report.words
    low = replace(report.analysis, joint_information=np.array([np.nan, 0.01]))
    assert "Their joint information cannot be estimated from 300 rows" in replace(report, analysis=low).words


def test_columns_that_are_mostly_missing_are_named(rng):
    a, b = rng.standard_normal((2, 200))
    a[30:] = np.nan
    words = report_on(np.column_stack([a, b]), b > 0).words
    assert "Missing in most rows: 'x0' (85 %);" in words


@pytest.mark.parametrize("step", [1, 3])
def test_after_an_interrupt_nothing_is_said_about_what_was_not_analysed(rng, step, monkeypatch):
    from unirel.search import steps as search_steps

    best, steps = search_steps._best, []

    def interrupted(*given):
        steps.append(best(*given))
        if len(steps) > step:
            raise KeyboardInterrupt
        return steps[-1]

    monkeypatch.setattr(search_steps, "_best", interrupted)
    a, b = rng.standard_normal((2, 200))
    report = report_on(np.column_stack([a, b, a, b]), a + b > 0, n_features_to_select=4, beta=0, keep_copies=True)
    assert report.interrupted
    assert len(report.selection) == step
    assert not any(word in report.words for word in ("ogether", "redundant", "enough"))
    assert report.words.endswith("This is incomplete: interrupted.")


def test_why_it_ended_is_said_of_auto(rng):
    a = rng.standard_normal(300)
    report = report_on(np.column_stack([a, rng.standard_normal((300, 6))]), a > 0, n_features_to_select="auto", beta=0)
    ending = "It ended there because no other feature adds detectable information about the target given the 1 selected"
    assert ending in report.words


# How many are enough


@pytest.fixture(scope="module")
def measured():
    """Three columns of one quantity, another one, noise and a constant; the first four are selected."""
    rng = np.random.default_rng(0)
    a, b, *rest = rng.standard_normal((7, 400))
    X = np.column_stack([a, b, a + 0.05 * rest[0], rest[1], a + 0.05 * rest[2], b + 0.1 * rest[3], np.ones(400)])
    return report_on(X, 1.5 * a + b > 0, page=True, beta=0.0, criterion="mim", n_features_to_select=4, keep_copies=True)


def with_curve(report, *curve):
    return replace(report, analysis=replace(report.analysis, joint_information=np.array(curve)))


def test_how_many_are_enough(measured):
    assert find_enough(with_curve(measured, 0.3, 0.55, 0.6, 0.605)) == (3, "information", False)
    assert find_enough(with_curve(measured, *[np.nan] * 4)) is None
    assert find_enough(with_curve(measured, 0.003, 0.0055, 0.006, 0.006)) is None  # below the best relevance
    assert find_enough(with_curve(measured, 0.3, 0.6, 0.5, 0.4)) is None  # the estimate fails with more features
    scores = np.array([[0.7, 0.8, 0.81, 0.80], [0.72, 0.82, 0.85, 0.86]])
    accuracy = Accuracy("x", "accuracy", (1, 2, 3, 4), scores, scores[:, 0], 4, 0.5)
    # The best mean is 0.83 +- 0.02.
    assert find_enough(replace(measured, accuracy=accuracy)) == (2, "accuracy", False)


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ([0.3, 0.55, 0.55, 0.54], "The first 2 are enough, as far as 400 rows show: 0.55 of 0.69 nats (80 %)"),
        ([0.3, 0.4, 0.5, 0.6], "of information about 'y'; the last still added to it."),
        ([0.3, 0.6, 0.5, 0.4], "4 of 7 features selected."),
        ([np.nan] * 4, "4 of 7 features selected."),
    ],
)
def test_the_headline_says_what_the_curve_says(measured, curve, said):
    headline = with_curve(measured, *curve).to_dict()["headline"]
    assert said in headline
    assert ("enough" in headline) == ("enough" in said)


# Single features and groups


def test_a_group_of_three(measured):
    group = measured.analysis.groups[0]
    names = {measured.selection.selected_names[place] for place in group.members}
    assert names == {"x0", "x2", "x4"}
    assert group.least >= REDUNDANT
    relevance = measured.selection.relevance[measured.selection.order]
    assert group.best == max(group.members, key=lambda place: relevance[place])
    words = " ".join(group_in_words(group, measured.selection))
    assert "are redundant with each other (rank correlation 0.99 or more)" in words
    assert "one is enough" in words


def test_a_feature_that_is_redundant_was_left_out_for_that(measured):
    said = measured.to_dict()
    why = {row["name"]: row["why"] for row in said["features"]}
    left, kept = ("x1", "x5") if why["x1"].startswith("redundant") else ("x5", "x1")
    assert why[left].startswith(f"redundant with '{kept}' (rank correlation 0.99)")
    assert why["x3"].startswith("low relevance")
    headings = {reason["heading"]: reason["names"] for reason in said["left_out"]}
    assert headings["redundant with a selected feature"] == [left]
    assert any("'x6' has the same value in every row" in warning for warning in said["warnings"])


def test_that_one_is_enough_takes_evidence(measured):
    selection, group = measured.selection, measured.analysis.groups[0]
    unknown = RedundantGroup(group.members, group.best, group.least, group.measure, ())
    assert "enough" not in " ".join(group_in_words(unknown, selection))
    needed = " ".join(group_in_words(replace(unknown, together=2.0, without=1.0), selection))
    assert "enough" not in needed
    assert "1.00 of 2.00 nats" in needed
    incredible = replace(unknown, together=0.01, without=0.01)
    assert "enough" not in " ".join(group_in_words(incredible, selection))


def test_what_adds_nothing_is_not_said_to_add(measured):
    entered = replace(measured.selection, causes=(Cause.CRITERION, *[Cause.SELECTED] * 3))
    report = replace(measured, path=replace(measured.path, selections=(entered,)))
    assert [why.words for why in why_selected(with_curve(report, 0.5, 0.5, 0.5, 0.5))][1:] == [
        "put ahead by its estimated information given the first",
        "put ahead by its estimated information given the first 2",
        "put ahead by its estimated information given the first 3",
    ]
    rising = why_selected(with_curve(report, 0.1, 0.2, 0.3, 0.4))
    assert rising[3].words == "adds information given the first 3"
    assert "Joint information rises by 0.10 to 0.40 nats." in rising[3].heading


def test_unique_relevance_of_zero_is_no_reason(measured):
    unique = np.zeros(7)
    unique[measured.selection.order[2]] = 0.03
    entered = replace(measured.selection, causes=(Cause.REFERENCE,) * 4, unique_relevance=unique)
    report = with_curve(replace(measured, path=replace(measured.path, selections=(entered,))), *[np.nan] * 4)
    words = [why.words for why in why_selected(report)]
    assert words[2] == "put ahead by its unique relevance (0.03 nats given the reference features)"
    assert words[1] == "scored best by mim with unique relevance"


def test_rare_levels_are_not_called_alike():
    """Two columns of many levels seem to share nearly everything when they are counted as they stand."""
    rng = np.random.default_rng(0)
    X = np.array([[f"a{rng.integers(80)}", f"b{rng.integers(80)}"] for _ in range(300)], dtype=object)
    report = report_on(X, rng.integers(0, 2, 300), n_features_to_select=2, beta=0, mi_estimator=Binned(correction=None))
    assert report.analysis.shared[0, 1] < 0.3
    assert report.analysis.groups == ()
    assert not any("leak" in warning for warning in warnings_of(report))


@pytest.mark.parametrize("kind", ["classes", "rare class", "numbers"])
def test_a_leak_is_named(kind):
    rng = np.random.default_rng(0)
    a, noise = rng.standard_normal((2, 300))
    y = a if kind == "numbers" else np.where(a > (0 if kind == "classes" else 1.9), "yes", "no")
    leak = a + 0.01 * noise if kind == "numbers" else 5 * (y == "yes") + 0.1 * noise
    X = np.column_stack([leak, a + 2 * noise, noise])
    leaks = [one for one in warnings_of(report_on(X, y)) if "leak" in one]
    assert len(leaks) == 1
    assert leaks[0].startswith("'x0' may leak the target: alone it determines ")
    assert not any("leak" in warning for warning in warnings_of(report_on(X[:, 1:], y)))


def test_whole_numbers_that_all_differ_look_like_an_identifier():
    rng = np.random.default_rng(0)
    number = rng.permutation(200) + 1000
    warnings = warnings_of(report_on(np.column_stack([number, rng.standard_normal(200)]), number > 1100))
    assert any("'x0' looks like an identifier" in warning for warning in warnings)


def test_nothing_significant_is_the_headline(measured):
    adjusted = np.full(7, 0.4)
    noise = SimpleNamespace(adjusted=adjusted, p_value=adjusted, significant=lambda alpha: adjusted <= alpha)
    said = replace(measured, test=noise).to_dict()
    assert said["headline"].startswith("No feature can be told from chance (7 tested by themselves, false discovery")
    assert said["features"][0]["significant"] == "no"
    scores = np.array([[0.9, 0.9], [0.92, 0.95]])
    predicting = Accuracy("x", "accuracy", (1, 2), scores, scores[:, 0], 4, 0.5)  # by features that matter together
    assert "predicted correctly" in replace(measured, test=noise, accuracy=predicting).to_dict()["headline"]


def test_a_table_of_noise_is_said_to_be_one_before_anything_else(rng):
    report = report_on(rng.standard_normal((200, 12)), np.arange(200) % 2, n_features_to_select=3)
    said = report.paragraphs()
    assert said[0].startswith("No feature can be told from chance (12 tested by themselves, false discovery rate 5 %)")
    assert "carry" not in " ".join(said)
    assert "most relevant" not in " ".join(said)


@pytest.mark.parametrize(
    ("n_values", "target_type", "is_said"), [(17, "auto", True), (17, "discrete", False), (3, "auto", False)]
)
def test_marks_that_are_taken_as_classes_are_named(rng, n_values, target_type, is_said):
    marks = rng.integers(0, n_values, 300)
    X = np.column_stack([marks + rng.standard_normal(300), rng.standard_normal(300)])
    table = Table.from_data(X, marks, target_type=target_type)
    report = Report.from_table(table, BURSelector(target_type=target_type), Origin(), page=False)
    assert ("Its 17 distinct numbers are taken as classes; with target_type='continuous'" in report.words) == is_said


# Redundancy


def redundancy(curve, n_saturated, n_features, complete=True):
    order = np.arange(len(curve))
    return Redundancy(
        order=order,
        curve=np.array(curve),
        saturated=order[:n_saturated],
        unique=order[:1],
        conditional=order[1:n_saturated],
        redundant=order[:0],
        reduced_information=curve[n_saturated - 1],
        unique_relevance=np.zeros(n_features),
        names=tuple("abcdefgh")[:n_features],
        tolerance=0.0,
        exact=complete,
        complete=complete,
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (redundancy([0.3, 0.5, 0.5, 0.499], 2, 4), "and the next 2 add nothing."),
        (redundancy([0.3, 0.5, 0.45, 0.4], 2, 4), "with more the estimate falls, which shows its limits"),
        (redundancy([0.3, 0.5, 0.6], 3, 8), "the last of them still added to it: more features may carry more."),
        (redundancy([0.3, 0.5, 0.6], 3, 3), "carry an estimated 0.60 nats of information about 'y'. Of 3 features"),
        (redundancy([0.3, 0.5], 2, 8, complete=False), "Of 2 features, 1 has unique relevance, 1 more is needed"),
        (redundancy([0.3], 1, 1), "The first feature carries an estimated 0.30 nats of information about 'y'. Of 1"),
    ],
)
def test_only_a_flat_curve_says_that_nothing_is_added(result, said):
    words = redundancy_in_words(result, "y")
    assert said in words
    assert ("add nothing" in words) == ("add nothing" in said)


def test_redundant_features_are_named():
    rng = np.random.default_rng(0)
    strong, noise, weak = rng.standard_normal((3, 400))
    X = np.column_stack([strong, strong, noise, weak])
    words = redundancy_in_words(redundancy_analysis(X, 2 * strong + weak > 0, order=[0, 1, 2, 3]), "y")
    assert (
        "and 2 are redundant: the redundancy rate is 50 %. Without 'x1' and 'x2' the estimate does not fall." in words
    )


# One feature


def test_what_one_feature_adds(rng):
    a, b, noise = rng.standard_normal((3, 300))
    X, y = np.column_stack([a, b, a + 0.01 * noise, noise]), 2 * a + b > 0
    report = report_on(X, y, n_features_to_select=2, beta=0, exclude=[2, 3])

    def said(feature):
        return " ".join(explanation_in_words(explain(report.table, report.selection, feature), report))

    assert said(2).startswith("'x2': relevance 0.")
    assert "of 4; not selected." in said(2)
    assert "it adds nothing detectable. It could replace 'x0' (normalised MI 1.00): 0." in said(2)
    assert "It is redundant with none of them" in said(3)
    assert "; selected in step 2. Given 'x0' it adds 0." in said(1)
