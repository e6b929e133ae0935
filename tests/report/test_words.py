"""What is said about a result: advice only where the numbers support it."""

from dataclasses import replace

import numpy as np
import pytest

from unirel import redundancy_analysis
from unirel.data.table import Table
from unirel.options import SelectorOptions, complete
from unirel.report import Origin, Report
from unirel.report.words import redundancy_in_words
from unirel.results import Redundancy


def report_on(X, y, **options):
    chosen = complete(SelectorOptions, options, "report_on")
    return Report.from_table(Table.from_data(X, y), chosen, Origin(), along=False)


def test_of_two_copies_one_may_do(rng):
    a, b = rng.standard_normal((2, 300))
    words = report_on(np.column_stack([a, b, a]), a + b > 0, n_features_to_select=3).words
    assert "'x0' and 'x2' are most alike (1.00 on a scale from 0 to 1)" in words
    assert words.endswith("so one of the two may do.")


def test_columns_that_are_alike_may_both_be_needed(rng):
    """Two nearly equal columns whose difference is the target: how alike they are says nothing about it."""
    a, difference = rng.standard_normal((2, 400))
    X = np.column_stack([a, a + 0.2 * difference])
    report = report_on(X, difference > 0, n_features_to_select=2, n_neighbors=5)
    assert report.analysis.shared[0, 1] > 0.9
    assert "but without" in report.words
    assert "may do" not in report.words


def test_nothing_is_advised_where_the_loss_is_not_known(rng):
    a, b = rng.standard_normal((2, 300))
    report = report_on(np.column_stack([a, b, a]), a + b > 0, n_features_to_select=3)
    unknown = replace(report.analysis, lost=np.full(3, np.nan))
    assert replace(report, analysis=unknown).words.endswith("are most alike (1.00 on a scale from 0 to 1).")


def test_what_was_not_compared_is_not_said_to_be(rng):
    report = report_on(rng.standard_normal((80, 4)), np.arange(80) % 2, n_features_to_select=4)
    first = replace(report.analysis, shared=report.analysis.shared[:2, :2])
    assert "No two of the first 2 are much alike" in replace(report, analysis=first).words


def test_the_loss_is_that_of_mutual_information(rng):
    from unirel import mutual_information

    X = rng.standard_normal((200, 4))
    y = X @ [2, 1, 1, 0] > 0
    report = report_on(X, y, n_features_to_select=4, metric="euclidean")
    order, analysis = report.selection.order, report.analysis
    whole = mutual_information(X[:, order], y, metric="euclidean", clip=False)
    rests = [mutual_information(X[:, np.delete(order, n)], y, metric="euclidean", clip=False) for n in range(4)]
    assert analysis.lost == pytest.approx(whole - np.array(rests))
    assert analysis.together == (4, pytest.approx(whole))
    assert np.isnan(analysis.joint_information[:3]).all()


def test_nothing_is_lost_where_one_feature_tells_all():
    """Both raw estimates are above the entropy of the target: 0.63 of 0.69 nats were said to be left."""
    label = np.array([0, 1] * 100)
    report = report_on(np.column_stack([[2, 3, 1, 5, 2, 7, 1, 2] * 25, label]), label, n_features_to_select=2)
    assert report.analysis.lost[report.selection.order.tolist().index(0)] < 0.004  # what chance gives to a label
    assert "the other still tells 0.69 of 0.69 nats about the target, so one of the two may do" in report.words


def test_columns_that_are_mostly_missing_are_named(rng):
    a, b = rng.standard_normal((2, 200))
    a[30:] = np.nan
    words = report_on(np.column_stack([a, b]), b > 0).words
    assert "Missing in most rows: 'x0' (85%)" in words
    assert "'x1' (" not in words


@pytest.mark.parametrize("step", [1, 3])
def test_after_an_interrupt_nothing_is_said_about_what_was_not_analysed(rng, step):
    def interrupt(done, total):
        if done == step:
            raise KeyboardInterrupt

    a, b = rng.standard_normal((2, 200))
    X = np.column_stack([a, b, a, b])
    report = report_on(X, a + b > 0, n_features_to_select=4, progress=interrupt)
    assert report.interrupted
    assert len(report.selection) == step
    assert not any(word in report.words for word in ("ogether", "alike", "may do"))
    assert report.words.endswith("This is incomplete: interrupted.")


def test_why_it_ended_is_said_of_auto(rng):
    a = rng.standard_normal(300)
    report = report_on(np.column_stack([a, rng.standard_normal((300, 6))]), a > 0, n_features_to_select="auto", beta=0)
    assert (
        "It ended there because no other feature is seen to tell anything beside the 1 selected feature."
        in report.words
    )


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
        (redundancy([0.3, 0.5, 0.5, 0.499], 2, 4), "nothing more is learnt from the next 2."),
        (redundancy([0.3, 0.5, 0.45, 0.4], 2, 4), "with more the estimate falls, which shows its limits"),
        (redundancy([0.3, 0.5, 0.6], 3, 8), "the last of them still added to it: more features may tell more."),
        (redundancy([0.3, 0.5, 0.6], 3, 3), "The first 3 features tell an estimated 0.60 nats about 'y'. Of 3"),
        (redundancy([0.3, 0.5], 2, 8, complete=False), "nats about 'y'. Of 2 features, 1 tells what no other"),
        (redundancy([0.3], 1, 1), "The first feature tells an estimated 0.30 nats about 'y'. Of 1 feature, 1 tells"),
    ],
)
def test_only_a_flat_curve_says_that_nothing_more_is_learnt(result, said):
    words = redundancy_in_words(result, "y")
    assert said in words
    assert ("nothing more is learnt" in words) == ("nothing more is learnt" in said)


def test_features_that_can_go_are_named():
    rng = np.random.default_rng(0)
    strong, noise, weak = rng.standard_normal((3, 400))
    X = np.column_stack([strong, strong, noise, weak])
    words = redundancy_in_words(redundancy_analysis(X, 2 * strong + weak > 0, order=[0, 1, 2, 3]), "y")
    assert "and 2 can go: the redundancy rate is 50%. Without 'x1', 'x2' the estimate does not fall." in words
