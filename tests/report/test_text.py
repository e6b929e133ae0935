"""What is said about a selection: only what the numbers support."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from unirel import Binned, BURSelector, redundancy_analysis
from unirel.data.table import Table
from unirel.inference.likeness import REDUNDANT
from unirel.inference.relations import Given, analyse, explain
from unirel.report import Origin, Report
from unirel.report.accuracy import Accuracy
from unirel.report.explain import explanation_in_words, redundancy_in_words
from unirel.report.text import find_enough, group_in_words, warnings_of, why_selected
from unirel.results import Cause, Ending, Redundancy


def report_on(X, y, page=False, **parameters):
    return Report.from_table(Table.from_data(X, y), BURSelector(**parameters), Origin(), page=page)


def with_selection(report, **changes):
    return replace(report, path=replace(report.path, selections=(replace(report.selection, **changes),)))


# What is alike


def test_of_two_copies_one_is_enough(rng):
    a, b = rng.standard_normal((2, 300))
    X = np.column_stack([a, b, a])
    report = report_on(X, a + b > 0, n_features_to_select=3, include=[0, 1, 2])
    first, second = report.paragraphs()
    assert second.endswith("Significant by themselves: 3 of the 3 selected (3 tested, false discovery rate 5 %).")
    assert "Step 3 is a near copy of x0 (rank correlation 1.00): one is enough (" in first


def test_columns_that_are_alike_may_both_be_needed(rng):
    """Two nearly equal columns whose difference is the target: how alike they are says nothing about it."""
    a, difference = rng.standard_normal((2, 400))
    X = np.column_stack([a, a + 0.2 * difference])
    report = report_on(X, difference > 0, n_features_to_select=2, include=[0, 1])
    (group,) = report.analysis.groups
    assert group.least > 0.9
    words = " ".join(report.paragraphs())
    assert "Step 2 is a near copy of x0 (rank correlation 0.9" in words
    assert "but together they carry more than one of them" in words
    assert "enough" not in words


def in_lots(rng, n_lots=20, size=30):
    """Two measurements that are constant within production lots and have nothing to do with each other, and a third."""
    lots = np.repeat(np.arange(n_lots), size)
    a, b = rng.permutation(n_lots) + 0.5, rng.permutation(n_lots) + 0.25
    while abs(np.corrcoef(a, b)[0, 1]) > 0.1:
        b = rng.permutation(n_lots) + 0.25
    return np.column_stack([a[lots], b[lots], rng.standard_normal(len(lots))])


def test_what_varies_with_the_same_batches_is_not_alike(rng):
    X = in_lots(rng)
    y = X[:, 0] + X[:, 1] + X[:, 2] > np.median(X.sum(axis=1))
    report = report_on(X, y, n_features_to_select=3, include=[0, 1, 2])
    assert report.analysis.shared[0, 1] == pytest.approx(abs(spearmanr(X[:, 0], X[:, 1]).statistic))
    assert report.analysis.groups == ()
    assert "copy" not in " ".join(report.paragraphs())
    said = explanation_in_words(explain(report.table, report.selection, 0), report)
    assert said[-1] == "Varies with the same batches as x1."


def test_two_numbers_are_compared_by_rank_correlation(rng):
    """Living area and basement: equal in houses of one floor, so that bins share much, but the ranks do not."""
    basement, other = rng.gamma(4, 250, (2, 800))
    area = np.where(rng.random(800) < 0.5, basement, other + 500)
    report = report_on(np.column_stack([area, basement]), area + 0.3 * basement, n_features_to_select=2)
    correlation = abs(spearmanr(area, basement).statistic)
    assert correlation < 0.6
    assert [row["shared"] for row in report.rows()] == pytest.approx([correlation] * 2)
    assert "copy" not in " ".join(report.paragraphs())


def test_categories_are_compared_in_both_directions(rng):
    """Codes of which one has many more levels: that it determines the other does not make them alike."""
    fine = rng.integers(0, 8, 800)
    X = np.array([[f"f{one}", f"c{one // 4}"] for one in fine], dtype=object)
    report = report_on(X, rng.random(800) < 0.1 + 0.1 * fine, n_features_to_select=2)
    assert report.analysis.shared[0, 1] == pytest.approx(1 / 3, abs=0.05)
    assert report.analysis.groups == ()
    fine, coarse = (explanation_in_words(explain(report.table, report.selection, one), report)[-1] for one in (0, 1))
    assert fine == "It largely determines x1."
    assert coarse == "Largely determined by x0."


def test_features_that_were_passed_over_are_named(measured):
    order = measured.selection.order.tolist()
    left = [feature for feature in range(6) if feature not in order]
    assert left
    said = with_selection(measured, same_as=dict.fromkeys(left, order[0])).paragraphs()[0]
    names = [measured.selection.names[feature] for feature in left]
    assert f"Passed over as near copies: {' and '.join(names)} (of {measured.selection.names[order[0]]})." in said


def test_joint_information_that_is_not_credible_is_not_used(rng):
    a, b = rng.standard_normal((2, 300))
    report = with_selection(report_on(np.column_stack([a, b]), a + b > 0, n_features_to_select=2), n_supported=None)
    assert "Together they carry " in report.paragraphs()[0]
    for curve in ([np.nan, 0.01], [0.69, 0.5]):  # below the relevance of one of them; falling
        assert "carr" not in with_curve(report, *curve).paragraphs()[0]


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
    X = rng.standard_normal((200, 4))
    report = report_on(X, X.sum(axis=1) > 0, n_features_to_select=4, beta=0)
    assert report.interrupted
    assert len(report.selection) == step
    assert not any(word in report.words for word in ("ogether", "copy", "enough"))
    assert report.words.endswith("This is incomplete: interrupted.")


def test_that_nothing_else_adds_is_said_of_auto(rng):
    a = rng.standard_normal(300)
    report = report_on(np.column_stack([a, rng.standard_normal((300, 6))]), a > 0, n_features_to_select="auto", beta=0)
    assert (
        report.paragraphs()[0]
        .split("No other feature adds anything that can be told from chance")[1]
        .startswith((".", ";"))
    )


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
    assert find_enough(with_selection(measured, n_supported=3)) == (3, "test", False)
    assert find_enough(with_selection(measured, n_supported=4)) == (4, "test", True)
    assert find_enough(with_selection(measured, n_supported=4, ending=Ending.NOTHING_ADDS)) == (4, "test", False)
    assert find_enough(with_selection(measured, n_supported=0)) is None
    assert find_enough(with_selection(measured, n_supported=None)) is None
    accuracy = with_wrong([30, 20, 19, 21], 20, 4)
    # The best accuracy is 0.81, of three features; two lose 0.01 +- 0.02.
    assert find_enough(replace(measured, accuracy=accuracy)) == (2, "accuracy", False)


def with_wrong(wrong, wrong_with_all, n_features):
    """Of a hundred rows, so many wrong with one feature, two, and so on, not all the same; half of them by chance."""
    rows, numbers = np.arange(100)[:, np.newaxis], np.array([*wrong, wrong_with_all])
    losses = ((rows + 2 * np.arange(len(numbers))) % 100 < numbers).astype(float)
    sizes, chance = tuple(range(1, len(wrong) + 1)), (np.arange(100) < 50) * 1.0
    return Accuracy("trees", "accuracy", sizes, losses[:, :-1], losses[:, -1], n_features, chance)


def test_fewer_are_not_called_enough_where_all_features_do_better(measured):
    accuracy = with_wrong([30, 20, 19, 21], 9, 6)
    found = replace(measured, accuracy=accuracy).to_dict()["headline"]
    assert found.endswith(
        "The first 2 do as well as all 4: 80.0 % of held-out rows are predicted correctly by trees "
        "(most frequent class: 50.0 %); "
        "all 6 features together reach 91.0 %."
    )


@pytest.mark.parametrize("curve", [[0.3, 0.5, 0.6, 0.605], [0.3, 0.6, 0.5, 0.4]])
def test_no_number_comes_from_joint_information(measured, curve):
    unknown = with_curve(with_selection(measured, n_supported=None), *curve)
    assert unknown.to_dict()["enough"] is None
    assert "enough" not in unknown.to_dict()["headline"]


@pytest.mark.parametrize(
    ("n_supported", "said"),
    [
        (1, "The first one is enough: {} carries 52 % of the target's entropy (0.36 of 0.69 nats); steps 2-4 add noth"),
        (2, "The first 2 are enough: {} and {} carry 80 % of the target's entropy (0.55 of 0.69 nats); steps 3 and 4"),
        (3, "The first 3 are enough, as far as 400 rows show; step 4 adds nothing detectable."),
        (4, "4 of 7 features selected. The last still adds detectable information, so more may add to it."),
        (0, "4 of 7 features selected. No step adds information that can be told from chance."),
    ],
)
def test_the_headline_says_after_which_step_nothing_is_added(measured, n_supported, said):
    report = with_curve(with_selection(measured, n_supported=n_supported), 0.36, 0.55, 0.5, 0.4)
    relevance = np.minimum(report.selection.relevance, 0.35)
    headline = with_selection(report, relevance=relevance).to_dict()["headline"]
    assert said.format(*measured.selection.selected_names) in headline


# Single features and groups


def test_a_group_of_three(measured):
    group = measured.analysis.groups[0]
    names = {measured.selection.selected_names[place] for place in group.members}
    assert names == {"x0", "x2", "x4"}
    assert group.least >= REDUNDANT
    relevance = measured.selection.relevance[measured.selection.order]
    assert group.best == max(group.members, key=lambda place: relevance[place])
    words = " ".join(group_in_words(group, measured))
    assert "are nearly the same (rank correlation 0.99 or more)" in words


def test_a_feature_that_is_redundant_was_left_out_for_that(measured):
    said = measured.to_dict()
    why = {row["name"]: row["why"] for row in said["features"]}
    left, kept = ("x1", "x5") if why["x1"].startswith("nearly") else ("x5", "x1")
    assert why[left].startswith(f"nearly the same as {kept} (rank correlation 0.99)")
    assert why["x3"].startswith("low relevance")
    headings = {reason["heading"]: reason["names"] for reason in said["left_out"]}
    assert headings["nearly the same as a selected feature"] == [left]
    assert any("'x6' has the same value in every row" in warning for warning in said["warnings"])


def test_that_one_is_enough_takes_evidence(measured):
    report = with_curve(measured, 0.3, 0.5, 0.6, 0.6)

    def said(**changes):
        known = {"together": 0.6, "without": 0.6, "p_value": 0.5, "others": ()}
        return " ".join(group_in_words(replace(measured.analysis.groups[0], **known | changes), report))

    assert ": one is enough (87 % instead of 87 % without others)." in said()
    for changes in ({"together": np.nan}, {"without": 0.5}, {"p_value": 0.01}, {"p_value": 1e-9}):
        assert "enough" not in said(**changes)
    assert "but together they carry more than one of them" in said(p_value=1e-9)
    falling = with_curve(measured, 0.3, 0.8, 0.6, 0.6)
    assert "enough" not in " ".join(group_in_words(measured.analysis.groups[0], falling))


def given(*values):
    """Information given the others; what is above 0 is detectable."""
    found = np.array(values)
    return Given(found, found / 2, found * 2, found > 0)


def test_unique_relevance_of_zero_is_no_reason(measured):
    entered = with_selection(measured, causes=(Cause.CRITERION, *[Cause.REFERENCE] * 3), n_supported=3)
    report = replace(entered, analysis=replace(entered.analysis, given=given(0.0, 0.0, 0.0208, np.nan)))
    why = why_selected(report)
    assert why[1].words == why[3].words == "scored best by mim and unique relevance together"
    assert why[2].words == "put ahead by its unique relevance (3 % given the others)"
    assert "Given the others it adds nothing detectable." in why[1].heading
    assert "Given the others it adds 3 % (95 % interval 1.5 to 6 %)." in why[2].heading
    assert "No detectable information given those before it." in why[3].heading
    assert "Given the other 3, " in report.words


def test_information_given_the_others_is_that_of_the_closed_form(rng):
    """Of two numbers of correlation r and their sum with noise, by the partial correlation."""
    a, b, noise, other = rng.standard_normal((4, 3000))
    y = a + 0.5 * b + noise
    report = report_on(np.column_stack([a, b, other]), y, n_features_to_select=3, include=[0, 1, 2])
    found = report.analysis.given
    assert found.detectable.tolist() == [True, True]  # the third is not supported
    expected = np.log([2.0, 1.25]) / 2  # variances of what is left without and with each
    assert found.value == pytest.approx(expected, rel=0.15)
    assert ((found.low < expected) & (expected < found.high)).all()
    assert [row["supported"] for row in report.rows()] == [True, True, False]


def test_neighbours_see_what_no_line_does(rng):
    X = rng.standard_normal((600, 3))
    report = report_on(X, (X[:, 0] > 0) ^ (X[:, 1] > 0), n_features_to_select=3, include=[0, 1, 2])
    for n, found in ((2, [True, True]), (3, [True, True, False]), (None, [True, True, False])):
        selection = replace(report.selection, n_supported=n)
        assert analyse(report.table, selection).given.detectable.tolist() == found


def test_what_a_line_does_not_see_is_not_said_to_be_nothing(rng):
    x, noise = rng.standard_normal((2, 600))
    report = report_on(np.column_stack([x, noise]), x**2 + 0.1 * noise, n_features_to_select=2, include=[0, 1])
    assert report.rows()[0]["given_others"] is None


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
    noise = SimpleNamespace(
        adjusted=adjusted, p_value=adjusted, settings={}, significant=lambda alpha: adjusted <= alpha
    )
    measured = with_selection(measured, n_supported=0)
    said = replace(measured, test=noise).to_dict()
    nothing = "No feature can be told from chance (7 tested, false discovery rate 5 %). The four listed are the best of"
    assert said["headline"] == f"{nothing} noise."
    assert said["features"][0]["significant"] == "no"
    predicting = with_wrong([10, 8], 10, 4)  # by features that matter together
    assert "predicted correctly" in replace(measured, test=noise, accuracy=predicting).to_dict()["headline"]


@pytest.mark.parametrize("wanted", [3, "auto"])
def test_a_table_of_noise_is_said_to_be_one_before_anything_else(rng, wanted):
    report = report_on(rng.standard_normal((200, 12)), np.arange(200) % 2, n_features_to_select=wanted)
    said = report.paragraphs()
    n_listed = {3: "three", 10: "ten"}[len(report.rows()) + len(report.following_rows())]
    nothing = "No feature can be told from chance (12 tested, false discovery rate 5 %)."
    assert said[0] == f"{nothing} The {n_listed} listed are the best of noise."
    assert not any(word in " ".join(said) for word in ("carr", "relevant", "Given", "enough", "Significant"))


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

    assert said(2).startswith("x2: 2nd of 4 by relevance (") or said(2).startswith("x2: 1st of 4 by relevance (")
    assert " % of the target's entropy alone), not selected. Given the 2 selected features it adds nothing" in said(2)
    assert "Nearly the same as x0 (rank correlation 1.00) and could take its place (" in said(2)
    assert "Not like any of them (the closest is x" in said(3)
    assert ", selected in step 2. Given x0 it adds " in said(1)
