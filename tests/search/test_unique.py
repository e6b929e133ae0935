"""Unique relevance against its definition and slow twins, what must not change it, and what it says about itself."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from test_measures import LABELS, NUMBERS, STYLES, make_case

from unirel import UnirelWarning, mutual_information, relevance, unique_relevance
from unirel.data.table import Table
from unirel.estimation.knn import KNN
from unirel.predictors import ClassifierLoss

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

METRICS = ["chebyshev", "euclidean", "manhattan"]
CLOSE = {"rtol": 0, "atol": 1e-10}
SAME = {"rtol": 0, "atol": 1e-12}
MIXED = ["normal", "grid", "strings", "normal with gaps", "codes", "inflated", "flags", "grid with gaps"]


@st.composite
def cases(draw, n_columns, n_rows, targets=tuple(LABELS | NUMBERS)):
    """Random tables: ties, categories, missing values, constant columns, repeated rows, both kinds of target."""
    size = draw(st.sampled_from(n_columns))
    styles = draw(st.lists(st.sampled_from(list(STYLES)), min_size=size, max_size=size))
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(*n_rows)),
        styles,
        draw(st.sampled_from(targets)),
        draw(st.booleans()),
    )


metrics = st.sampled_from(METRICS)
scales = st.sampled_from(["standard", "rank"])  # unscaled, what a mismatch costs depends on the columns of the block
neighbors = st.builds(KNN, st.integers(1, 5), metrics, scales)


def types_of(case, names=None):
    """How a table is read that has some of the columns."""
    discrete = {name: case.kinds[name] == "discrete" for name in (case.columns if names is None else names)}
    return {"discrete_features": discrete, "target_type": case.target_kind}


def joint(case, names, neighbors):
    """I(columns; y), raw."""
    if not names:
        return 0.0
    frame = case.frame[list(names)]
    return mutual_information(frame, case.target, mi_estimator=neighbors, clip=False, **types_of(case, names))


def by_definition(case, neighbors):
    """I(Omega; y) - I(Omega without Xk; y), one estimate after the other."""
    names = list(case.columns)
    rests = [[other for other in names if other != name] for name in names]
    return joint(case, names, neighbors) - np.array([joint(case, rest, neighbors) for rest in rests])


def by_twin(case, neighbors):
    """The same with the slow twins."""
    options = {"n_neighbors": neighbors.n_neighbors, "metric": neighbors.metric, "clip": False}
    features, target = case.features(neighbors.scale), case.target_block(neighbors.scale)
    rests = [[*features[:place], *features[place + 1 :]] for place in range(len(features))]
    after = [reference.mutual_information(rest, target, **options) for rest in rests]
    return reference.mutual_information(features, target, **options) - np.array(after)


def mixed_case(seed=0, n_rows=150, target="three", styles=MIXED):
    return make_case(np.random.default_rng(seed), n_rows, styles, target)


def of_case(case, **options):
    return unique_relevance(case.frame, case.target, **(types_of(case) | {"clip": False} | options))


# Equal to the definition


@given(cases((3, 4, 10), (20, 70)), neighbors)
def test_equals_definition(case, neighbors):
    assert_allclose(of_case(case, method=neighbors), by_definition(case, neighbors), **CLOSE)


@pytest.mark.parametrize(
    ("target", "metric"),
    [("two", "chebyshev"), ("many", "euclidean"), ("normal", "manhattan"), ("inflated", "chebyshev")],
)
def test_forty_columns_equal_definition(target, metric):
    styles = [list(STYLES)[position % len(STYLES)] for position in range(40)]
    case = mixed_case(5, 200, target, styles)
    assert_allclose(of_case(case, method=KNN(metric=metric)), by_definition(case, KNN(metric=metric)), **CLOSE)


@given(cases((3, 5, 8), (20, 50)), neighbors)
def test_equals_twin(case, neighbors):
    assert_allclose(of_case(case, method=neighbors), by_twin(case, neighbors), **CLOSE)


@given(cases((2,), (20, 100)), neighbors)
def test_two_columns_equal_definition_and_twin(case, neighbors):
    # A discrete column that is left alone beside labels is counted, in all three ways.
    ours = of_case(case, method=neighbors)
    assert_allclose(ours, by_definition(case, neighbors), **CLOSE)
    assert_allclose(ours, by_twin(case, neighbors), **CLOSE)


@pytest.mark.parametrize(("styles", "metric"), [(["normal"] * 6, "chebyshev"), (MIXED, "manhattan")])
def test_auto_is_one_metric_for_all_blocks(styles, metric):
    case = mixed_case(styles=styles)
    assert_array_equal(of_case(case), of_case(case, method=KNN(metric=metric)))


def test_one_column_is_its_relevance(rng):
    x, y = rng.normal(size=(100, 1)), np.arange(100) % 2
    assert_allclose(unique_relevance(x, y, clip=False), relevance(x, y, clip=False), **SAME)


@pytest.mark.parametrize("target", ["three", "normal"])
def test_constant_and_empty_columns_have_none_and_change_nothing(target):
    case = mixed_case(target=target, styles=["normal", "constant", "grid", "empty", "strings", "one level"])
    varying = ["c0", "c2", "c4"]
    ours = np.asarray(of_case(case))
    assert_array_equal(ours[[1, 3, 5]], 0.0)
    alone = unique_relevance(case.frame[varying], case.target, clip=False, **types_of(case, varying))
    assert_allclose(ours[[0, 2, 4]], alone, **SAME)


# What must not change it


METHODS = {
    **{metric: {"method": KNN(metric=metric)} for metric in METRICS},
    "reference": {"method": "reference", "reference": ["c0", "c2", "c4"]},
}
any_method = pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
any_target = pytest.mark.parametrize("target", ["three", "normal"])


@any_target
@any_method
def test_order_of_rows_is_irrelevant(rng, options, target):
    case = mixed_case(target=target)
    order = rng.permutation(len(case.target))
    shuffled = unique_relevance(case.frame.iloc[order], case.target[order], clip=False, **types_of(case), **options)
    assert_allclose(shuffled, of_case(case, **options), **SAME)


@any_target
@any_method
def test_order_of_columns_is_irrelevant(rng, options, target):
    case = mixed_case(target=target)
    order = rng.permutation(len(case.columns))
    names = [list(case.columns)[position] for position in order]
    shuffled = unique_relevance(case.frame[names], case.target, clip=False, **types_of(case), **options)
    assert_allclose(shuffled, of_case(case, **options).iloc[order], **SAME)


@any_target
@any_method
def test_units_are_irrelevant(options, target):
    case = mixed_case(target=target)
    frame = case.frame
    for position, name in enumerate(name for name, kind in case.kinds.items() if kind == "continuous"):
        frame[name] = frame[name] * 10.0 ** (3 * position - 4) + 7 * position
    y = case.target if target == "three" else case.target * 1000 - 3
    changed = unique_relevance(frame, y, clip=False, **types_of(case), **options)
    assert_allclose(changed, of_case(case, **options), **CLOSE)


@any_method
def test_names_of_labels_and_levels_are_irrelevant(options):
    case = mixed_case()
    names = {"low": "z", "middle": "a", "high": "m"}
    frame = case.frame.assign(c2=case.frame["c2"].map({"red": 3, "green": 1, "blue": 2}))
    renamed = unique_relevance(frame, [names[label] for label in case.target], clip=False, **types_of(case), **options)
    assert_allclose(renamed, of_case(case, **options), **SAME)


@any_target
@any_method
def test_n_jobs_is_irrelevant_to_the_last_bit(options, target):
    case = mixed_case(n_rows=500, target=target)
    single = of_case(case, n_jobs=1, return_std=True, **options)
    for ours, theirs in zip(of_case(case, n_jobs=3, return_std=True, **options), single, strict=True):
        assert_array_equal(ours, theirs)


def test_kind_of_frame_is_irrelevant(frame):
    case = mixed_case(styles=["normal", "grid", "flags", "inflated"])
    discrete = [place for place, kind in enumerate(case.kinds.values()) if kind == "discrete"]
    ours = unique_relevance(frame(case.columns), case.target, discrete_features=discrete)
    assert_array_equal(ours, of_case(case, clip=True))


# Some rows as centres


def with_signal(rng, n_rows=300):
    """Eight columns: strong ones, an interaction, noise, and a near copy."""
    X = rng.normal(size=(n_rows, 8))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    X[:, 7] = X[:, 0] + 0.1 * rng.normal(size=n_rows)
    return X, signal


@any_target
@any_method
def test_all_rows_as_centres_is_the_full_answer(options, target):
    case = mixed_case(target=target)
    full = of_case(case, return_std=True, **options)
    for max_queries in (len(case.target), len(case.target) + 1):
        part = of_case(case, max_queries=max_queries, return_std=True, **options)
        for ours, theirs in zip(part, full, strict=True):
            assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize(
    "options",
    [*({"method": KNN(metric=metric)} for metric in METRICS), {"method": "reference", "reference": [0, 1, 2, 4]}],
    ids=[*METRICS, "reference"],
)
def test_standard_error_covers_the_full_answer(rng, options, kind):
    X, signal = with_signal(rng)
    y = signal > 0 if kind == "discrete" else signal
    full = unique_relevance(X, y, clip=False, **options)
    covered = np.zeros(8)
    for seed in range(40):
        part, error = unique_relevance(X, y, clip=False, max_queries=60, random_state=seed, return_std=True, **options)
        covered += np.abs(part - full) <= 4 * error
    assert np.all(covered[full != 0] >= 38)


def test_standard_error_is_no_larger_than_it_must_be(rng):
    # The spread over random choices of centres, less what is lost by drawing without replacement.
    X, signal = with_signal(rng, 1000)
    draws = [
        unique_relevance(X, signal > 0, clip=False, max_queries=100, random_state=seed, return_std=True)
        for seed in range(60)
    ]
    spread = np.std([values for values, _ in draws], axis=0) / np.sqrt(1 - 100 / 1000)
    stated = np.mean([error for _, error in draws], axis=0)
    strong = [1, 2, 3]
    assert np.all(stated[strong] < 1.6 * spread[strong])
    assert np.all(stated > 0.7 * spread)


def test_choice_of_centres_is_seeded(rng):
    X, signal = with_signal(rng)
    first, again, other = (
        unique_relevance(X, signal, clip=False, max_queries=50, random_state=seed) for seed in (3, 3, 4)
    )
    assert_array_equal(first, again)
    assert np.any(first != other)


# Constructed examples


def copies_and_lone(rng, n_rows=600):
    """Two equal strong columns and a weaker lone one, and the sum that makes the target."""
    strong, lone = rng.normal(size=(2, n_rows))
    return np.column_stack([strong, strong, lone]), 2 * strong + lone


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize("metric", METRICS)
def test_copies_have_none_and_a_lone_feature_has(rng, metric, kind):
    X, signal = copies_and_lone(rng)
    y = signal > 0 if kind == "discrete" else signal
    values, error = unique_relevance(X, y, clip=False, return_std=True, method=KNN(metric=metric))
    alone = relevance(X, y)
    assert alone[2] < 0.5 * alone[0]
    if metric == "chebyshev" or kind == "continuous":
        assert_array_equal(values[:2], 0.0)
    assert np.all(np.abs(values[:2]) < 4 * error[:2])
    assert values[2] > 0.1
    assert values[2] > 5 * np.abs(values[:2]).max()


@pytest.mark.parametrize("members", [[0, 1], [0, 1, 2]])
def test_copies_have_none_within_a_reference(rng, members):
    X, signal = copies_and_lone(rng)
    values = unique_relevance(X, signal > 0, method="reference", reference=members)
    assert np.all(np.abs(values[:2]) < 0.03)
    assert values[2] > 0.1


@pytest.mark.parametrize("classifier", ["logistic", "knn", "svm", "rf"])
def test_copies_have_none_for_a_classifier(rng, classifier):
    X, signal = copies_and_lone(rng, 300)
    forest = RandomForestClassifier(20, random_state=0)
    values = unique_relevance(X, signal > 0, method=ClassifierLoss(forest if classifier == "rf" else classifier))
    assert values[2] == 1.0
    assert np.all(values[:2] < 0.25)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("with_noise", [False, True])
def test_exclusive_or_of_signs_needs_both(rng, metric, with_noise):
    X = rng.uniform(-1, 1, size=(800, 2 + with_noise))
    values = unique_relevance(X, X[:, 0] * X[:, 1] > 0, clip=False, method=KNN(metric=metric))
    assert np.all(values[:2] > 0.2)
    assert np.all(values[2:] < 0.05)


@pytest.mark.parametrize("metric", ["auto", "euclidean", "manhattan"])
@pytest.mark.parametrize("with_noise", [False, True])
def test_exclusive_or_of_bits_needs_both(rng, metric, with_noise):
    X = rng.integers(0, 2, size=(800, 2 + with_noise))
    values = unique_relevance(X, X[:, 0] ^ X[:, 1], clip=False, method=KNN(metric=metric))
    assert_allclose(values[:2], np.log(2), atol=0.05)
    assert np.all(np.abs(values[2:]) < 0.05)


def test_exclusive_or_within_a_reference(rng):
    X = rng.uniform(-1, 1, size=(800, 4))
    y = X[:, 0] * X[:, 1] > 0
    for members in ([0, 1], [0, 1, 2]):
        values = unique_relevance(X, y, method="reference", reference=members)
        assert np.all(values[:2] > 0.2)
        assert np.all(values[2:] < 0.05)
    assert unique_relevance(X, y, method="reference", reference=[0])[1] > 0.2


@pytest.fixture(scope="module")
def breast_cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("metric", METRICS)
def test_many_features_of_unscaled_data_have_some(breast_cancer, metric):
    assert np.sum(unique_relevance(*breast_cancer, method=KNN(metric=metric)) > 0) > 10


@pytest.mark.parametrize("metric", METRICS)
def test_a_thousand_times_any_column_gives_the_same(breast_cancer, metric):
    X, y = breast_cancer
    values = unique_relevance(X, y, clip=False, method=KNN(metric=metric))
    for column in range(0, 30, 1 if metric == "chebyshev" else 7):
        factors = np.where(np.arange(30) == column, 1000.0, 1.0)
        assert_allclose(unique_relevance(X * factors, y, clip=False, method=KNN(metric=metric)), values, **SAME)


# Given a reference set


def given_reference(case, members, neighbors):
    """Differences of single estimates: without a member, or with another column."""
    known = joint(case, members, neighbors)
    return np.array(
        [
            known - joint(case, [other for other in members if other != name], neighbors)
            if name in members
            else joint(case, [*members, name], neighbors) - known
            for name in case.columns
        ]
    )


@settings(max_examples=30)
@given(cases((4, 6, 12), (30, 120)), st.data())
def test_reference_equals_differences_of_single_estimates(case, data):
    # Two columns that surely vary: what is left of a reference with one discrete column may have to be counted.
    rng = np.random.default_rng(7)
    normal = {name: rng.normal(size=len(case.target)) for name in ("c0", "c1")}
    kinds = case.kinds | dict.fromkeys(normal, "continuous")
    case = replace(case, columns=case.columns | normal, kinds=kinds)
    others = data.draw(st.lists(st.sampled_from(list(case.columns)[2:]), unique=True, max_size=4))
    members = data.draw(st.permutations(["c0", "c1", *others]))
    ours = of_case(case, method="reference", reference=members)
    assert_allclose(ours, given_reference(case, members, KNN(10, "euclidean")), **CLOSE)


@pytest.mark.parametrize("metric", METRICS)
def test_reference_takes_metric_and_neighbours(metric):
    case, members = mixed_case(), ["c0", "c1", "c4"]
    ours = of_case(case, method=KNN(4, metric), reference=members)
    assert_allclose(ours, given_reference(case, members, KNN(4, metric)), **CLOSE)


def test_reference_of_all_columns_is_the_definition():
    case = mixed_case()
    ours = of_case(case, method="reference", reference=list(case.columns))
    assert_allclose(ours, of_case(case, method=KNN(10, "euclidean")), **SAME)


def test_reference_by_name_position_and_repeated():
    case = mixed_case()
    expected = of_case(case, method="reference", reference=["c0", "c1", "c4"])
    for members in ([0, 1, 4], np.array([0, 1, 4]), ["c0", 1, "c4", 0], (0, 1, -4)):
        assert_array_equal(of_case(case, method="reference", reference=members), expected)
    single = of_case(case, method="reference", reference=["c0"])
    assert_array_equal(of_case(case, method="reference", reference="c0"), single)


# Options


def test_clipping(rng):
    X, signal = with_signal(rng)
    y = signal > 0
    raw = unique_relevance(X, y, clip=False)
    assert raw.min() < 0
    assert_array_equal(unique_relevance(X, y), np.maximum(raw, 0))
    assert_array_equal(unique_relevance(X, y, clip=True), np.maximum(raw, 0))
    beside = unique_relevance(X, y, method="reference", reference=[0, 1, 2])
    assert beside.min() < 0
    clipped = unique_relevance(X, y, method="reference", reference=[0, 1, 2], clip=True)
    assert_array_equal(clipped, np.maximum(beside, 0))


def test_classifier_can_be_an_estimator_that_has_no_truth_value_before_it_is_fitted(rng):
    X, signal = copies_and_lone(rng, 60)
    forest = RandomForestClassifier(n_estimators=3, random_state=0)  # its len() raises
    values = unique_relevance(X, signal > 0, method=ClassifierLoss(forest))
    assert np.isfinite(values).all()


def test_losses_of_a_classifier_are_stretched_from_0_to_1(rng):
    X, signal = copies_and_lone(rng, 200)
    values = unique_relevance(X, signal > 0, method="classifier")
    losses = ClassifierLoss().losses(Table.from_data(X, signal > 0))
    assert (values.min(), values.max()) == (0.0, 1.0)
    assert_allclose(values, (losses - losses.min()) / np.ptp(losses), **SAME)


@any_method
def test_standard_errors_come_on_request(options):
    case = mixed_case()
    values, error = of_case(case, return_std=True, **options)
    assert_array_equal(values, of_case(case, **options))
    assert values.shape == error.shape == (len(case.columns),)
    assert np.all(error > 0)
    _, coarser = of_case(case, return_std=True, max_queries=30, **options)
    assert np.all(coarser > error)


def test_neighbours_by_default(rng):
    X, signal = with_signal(rng)
    y = signal > 0
    assert_array_equal(unique_relevance(X, y), unique_relevance(X, y, method=KNN(n_neighbors=3)))
    expected = unique_relevance(X, y, method=KNN(10, "euclidean"), reference=[0, 1, 2])
    assert_array_equal(unique_relevance(X, y, method="reference", reference=[0, 1, 2]), expected)


@pytest.mark.parametrize("options", [{}, {"method": "reference", "reference": ["a", "b"]}], ids=["ksg", "reference"])
def test_ignored_column_has_none(rng, options):
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    y = X["a"] + X["c"] > 0
    with_id = X.assign(b2=[f"person {row}" for row in range(80)])[["a", "b", "b2", "c", "d"]]
    values, error = map(np.asarray, unique_relevance(with_id, y, clip=False, return_std=True, **options))
    assert np.isnan(values[2])
    assert np.isnan(error[2])
    assert_allclose(np.delete(values, 2), unique_relevance(X, y, clip=False, **options), **SAME)


def test_missing_values_everywhere_are_no_trouble(rng):
    X = np.where(rng.random((60, 6)) < 0.5, np.nan, rng.normal(size=(60, 6)))
    for y in (np.arange(60) % 2, rng.normal(size=60)):
        for options in ({}, {"method": "reference", "reference": [0, 1, 2]}):
            values, error = unique_relevance(X, y, return_std=True, **options)
            assert np.all(np.isfinite(values))
            assert np.all(np.isfinite(error))


# Warnings


def test_all_zero_warning_names_a_remedy_that_helps(rng):
    X, y = rng.integers(0, 3, size=(100, 40)), np.arange(100) % 2
    X[:, 0] = np.where(rng.random(100) < 0.8, y, X[:, 0])
    with pytest.warns(UnirelWarning, match="0 for all 40 features.*metric='euclidean'"):
        values = unique_relevance(X, y, method=KNN(metric="chebyshev"))
    assert_array_equal(values, 0.0)
    assert unique_relevance(X, y, method=KNN(metric="euclidean")).max() > 0


def test_incredible_joint_warning_names_a_remedy_that_helps(rng):
    X = rng.normal(size=(60, 300))
    y = X[:, 17] > 0
    with pytest.warns(UnirelWarning, match="all 300 features.*'x17'.*method='reference'") as caught:
        unique_relevance(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = unique_relevance(X, y, method="reference", reference=[17, 18])
    assert np.argmax(values) == 17


def test_nothing_to_warn_of(rng):
    X, signal = with_signal(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (signal > 0, signal):
            unique_relevance(X, y)
            unique_relevance(X, y, method="reference", reference=[0, 1, 2])
        unique_relevance(X[:, :1], signal > 0)


# Errors


WRONG = {
    "method": ({"method": "magic"}, "method='magic' is not one of 'ksg', 'reference', 'classifier'"),
    "clip": ({"clip": "below"}, "clip='below' is not one of True, False, 'auto'"),
    "metric": ({"method": KNN(metric="cosine")}, "metric='cosine' is not one of"),
    "neighbours": ({"method": KNN(n_neighbors=0)}, "n_neighbors=0 must be a whole number from 1"),
    "reference without a method": ({"reference": ["a"]}, "reference= goes with method='reference' or a KNN"),
    "no reference": ({"method": "reference"}, "needs reference="),
    "unknown name": ({"method": "reference", "reference": ["shoe"]}, "no column 'shoe'"),
    "unknown position": ({"method": "reference", "reference": [4]}, "column 4 is out of range: X has 4 columns"),
    "empty reference": ({"method": "reference", "reference": []}, "names no usable column"),
    "one query": ({"max_queries": 1}, "max_queries=1 must be a whole number from 2"),
    "broken queries": ({"max_queries": 10.5}, "max_queries=10.5 must be a whole number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_named(rng, name):
    options, message = WRONG[name]
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        unique_relevance(X, np.arange(40) % 2, **options)


def test_reference_of_ignored_columns_only_is_refused(rng):
    X = pd.DataFrame({"a": rng.normal(size=60), "id": [f"person {row}" for row in range(60)]})
    with pytest.raises(ValueError, match="names no usable column"):
        unique_relevance(X, np.arange(60) % 2, method="reference", reference=["id"])
