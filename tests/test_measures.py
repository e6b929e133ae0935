"""The public measures against slow twins, scikit-learn, and what must not change them."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import plugin_entropy, read, unit_of
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from unirel import (
    BURSelector,
    conditional_relevance,
    irrelevance,
    mutual_information,
    relevance,
    selection_path,
    unique_relevance,
)
from unirel.data.table import Table
from unirel.estimation.binned import Binned
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

METRICS = ["auto", "chebyshev", "euclidean", "manhattan"]
SCALES = ["standard", "rank", None]
CLOSE = {"rtol": 0, "atol": 1e-10}
ROUNDING = 1e-14


# Random tables


def with_gaps(rng, values, nothing):
    """The values with about a quarter of them missing."""
    return np.where(rng.random(len(values)) < 0.25, nothing, values)


CONTINUOUS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "grid": lambda rng, n: rng.integers(-3, 4, size=n) * 0.5,
    "large": lambda rng, n: rng.integers(0, 9, size=n) * 1000.0 + 17,
    "counts": lambda rng, n: rng.integers(0, 6, size=n),
    "inflated": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n)),
    "constant": lambda rng, n: np.full(n, 0.1),
    "normal with gaps": lambda rng, n: with_gaps(rng, rng.normal(size=n), np.nan),
    "grid with gaps": lambda rng, n: with_gaps(rng, rng.integers(-3, 4, size=n) * 0.5, np.nan),
    "empty": lambda rng, n: np.full(n, np.nan),
}
DISCRETE = {
    "strings": lambda rng, n: rng.choice(np.array(["red", "green", "blue"], dtype=object), size=n),
    "strings with gaps": lambda rng, n: with_gaps(rng, rng.choice(np.array(["a", "b"], dtype=object), size=n), None),
    "flags": lambda rng, n: rng.random(n) < 0.3,
    "codes": lambda rng, n: rng.integers(0, 4, size=n),
    "codes with gaps": lambda rng, n: with_gaps(rng, rng.integers(0, 3, size=n).astype(float), np.nan),
    "one level": lambda rng, n: np.full(n, "same", dtype=object),
}
STYLES = CONTINUOUS | DISCRETE


def kind_of(style):
    return "discrete" if style in DISCRETE else "continuous"


def as_asked(kinds):
    """Kinds of columns as `discrete_features` takes them."""
    return {name: kind == "discrete" for name, kind in kinds.items()}


def tiny_classes(rng, n):
    """Labels with a class of one sample and a class of two."""
    labels = rng.choice(np.array(["yes", "no"], dtype=object), size=n)
    labels[rng.choice(n, size=3, replace=False)] = ["single", "pair", "pair"]
    return labels


LABELS = {
    "two": lambda rng, n: np.arange(n) % 2,
    "three": lambda rng, n: np.array(["low", "middle", "high"], dtype=object)[np.arange(n) % 3],
    "tiny": tiny_classes,
    "many": lambda rng, n: np.r_[[0, 1], rng.integers(0, max(2, n // 3), size=n - 2)],
}
NUMBERS = {name: CONTINUOUS[name] for name in ("normal", "grid", "inflated")}


@dataclass(frozen=True)
class Case:
    """A random table: raw columns, their kinds, and a target."""

    columns: dict
    kinds: dict
    target: np.ndarray
    target_kind: str

    @property
    def frame(self):
        return pd.DataFrame(self.columns)

    @property
    def options(self):
        return {"discrete_features": as_asked(self.kinds), "target_type": self.target_kind}

    def features(self, scale="standard", dtype=np.float64):
        return [read(raw, self.kinds[name], scale, dtype) for name, raw in self.columns.items()]

    def target_block(self, scale="standard", dtype=np.float64):
        return [read(self.target, self.target_kind, scale, dtype)]


def make_case(rng, n_rows, styles, target_style, duplicated=False):
    """Draw a table with the given styles of columns; about half of the columns follow the target."""
    target_kind = "discrete" if target_style in LABELS else "continuous"
    target = (LABELS | NUMBERS)[target_style](rng, n_rows)
    order = np.argsort(np.unique(target, return_inverse=True)[1], kind="stable")
    columns = {}
    for position, style in enumerate(styles):
        values = STYLES[style](rng, n_rows)
        if rng.random() < 0.5 and style not in ("strings with gaps",):
            followed = np.empty_like(values)
            followed[order] = np.sort(values)
            values = np.where(rng.random(n_rows) < 0.7, followed, values)
        columns[f"c{position}"] = values
    kinds = {f"c{position}": kind_of(style) for position, style in enumerate(styles)}
    if duplicated:
        rows = rng.integers(0, n_rows, size=n_rows)
        rows[:2] = order[0], order[-1]
        columns = {name: values[rows] for name, values in columns.items()}
        target = target[rows]
    return Case(columns, kinds, target, target_kind)


@st.composite
def cases(draw, n_columns=(1, 2, 3, 20), styles=tuple(STYLES), targets=tuple(LABELS | NUMBERS)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from(n_columns))
    chosen = draw(st.lists(st.sampled_from(styles), min_size=size, max_size=size))
    return make_case(rng, draw(st.integers(10, 60)), chosen, draw(st.sampled_from(targets)), draw(st.booleans()))


neighbors = st.integers(1, 5)
metrics = st.sampled_from(METRICS)
scales = st.sampled_from(SCALES)


# Equal to the twins


@pytest.mark.parametrize("metric", METRICS)
@given(cases(targets=tuple(LABELS)), neighbors, scales, st.booleans())
def test_block_and_classes_equal_twin(metric, case, n_neighbors, scale, clip):
    features = case.features(scale)
    knn, options = KNN(n_neighbors, metric, scale), {"n_neighbors": n_neighbors, "metric": metric, "clip": clip}
    ours = mutual_information(case.frame, case.target, clip=clip, mi_estimator=knn, **case.options)
    unit = unit_of(features, scale)
    twin = reference.mutual_information(features, case.target_block(scale), unit=unit, **options)
    assert_allclose(ours, twin, **CLOSE)


@given(cases(targets=tuple(NUMBERS)), neighbors, metrics, scales, st.booleans())
def test_block_and_number_equal_twin(case, n_neighbors, metric, scale, clip):
    knn, options = KNN(n_neighbors, metric, scale), {"n_neighbors": n_neighbors, "metric": metric, "clip": clip}
    ours = mutual_information(case.frame, case.target, clip=clip, mi_estimator=knn, **case.options)
    twin = reference.mutual_information(case.features(scale), case.target_block(scale), **options)
    assert_allclose(ours, twin, **CLOSE)


@given(cases(n_columns=(2, 3, 5)), neighbors, metrics, scales, st.booleans(), st.integers(1, 2))
def test_conditional_relevance_equals_twin(case, n_neighbors, metric, scale, clip, n_given):
    features = case.features(scale)
    n_given = min(n_given, len(features) - 1)
    knn, known = KNN(n_neighbors, metric, scale), list(case.columns)[:n_given]
    ours = conditional_relevance(case.frame, case.target, known, clip=clip, mi_estimator=knn, **case.options)
    options = {"n_neighbors": n_neighbors, "metric": metric, "clip": clip, "unit": unit_of(features, scale)}
    twin = reference.conditional_relevance(features, case.target_block(scale), features[:n_given], **options)
    assert_allclose(ours, twin, **CLOSE)
    assert_array_equal(ours[:n_given], 0.0)


@given(cases(n_columns=(1, 2, 4)), neighbors, metrics, scales, st.booleans(), st.data())
def test_conditional_block_equals_twin(case, n_neighbors, metric, scale, clip, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    styles = data.draw(st.lists(st.sampled_from(list(STYLES)), min_size=1, max_size=3))
    known = pd.DataFrame(
        {f"z{position}": STYLES[style](rng, len(case.target)) for position, style in enumerate(styles)}
    )
    features, knn = case.features(scale), KNN(n_neighbors, metric, scale)
    options = {"n_neighbors": n_neighbors, "metric": metric, "clip": clip, "unit": unit_of(features, scale)}
    ours = mutual_information(
        case.frame, case.target, conditional_on=known, clip=clip, mi_estimator=knn, **case.options
    )
    read_as = Table.from_data(known, case.target, target_type=case.target_kind).columns[: len(styles)]
    given = [read(known[column.name].to_numpy(), column.kind, scale) for column in read_as]
    twin = reference.mutual_information(features, case.target_block(scale), given, **options)
    assert_allclose(ours, twin, **CLOSE)


@given(cases(n_columns=(1, 3, 6)), neighbors, scales, st.booleans(), st.sampled_from([None, "miller-madow", "chance"]))
def test_relevance_equals_twin(case, n_neighbors, scale, clip, correction):
    knn = KNN(n_neighbors, scale=scale, correction=correction)
    ours = relevance(case.frame, case.target, clip=clip, mi_estimator=knn, **case.options)
    options = {"n_neighbors": n_neighbors, "clip": clip, "correction": correction}
    assert_allclose(ours, reference.relevance(case.features(scale), case.target_block(scale), **options), **CLOSE)


@given(
    cases(n_columns=(1, 2, 3, 6)),
    st.sampled_from(["auto", 2, 3, 7]),
    st.booleans(),
    st.sampled_from([None, "miller-madow", "chance"]),
)
def test_bins_equal_twin(case, n_bins, clip, correction):
    twin = {"estimator": "binned", "n_bins": n_bins, "correction": correction, "clip": clip}
    assert_measures_equal_twin(case, Binned(n_bins, correction=correction), clip, twin)


def assert_measures_equal_twin(case, mi_estimator, clip, twin):
    """Every measure, from the options of the library and from those of the twin."""
    features, target = case.features(), case.target_block()
    options = {"mi_estimator": mi_estimator, "clip": clip, **case.options}
    assert_allclose(
        relevance(case.frame, case.target, **options), reference.relevance(features, target, **twin), **CLOSE
    )
    assert_allclose(
        mutual_information(case.frame, case.target, **options),
        reference.mutual_information(features, target, **twin),
        **CLOSE,
    )
    assert_allclose(
        conditional_relevance(case.frame, case.target, ["c0"], **options),
        reference.conditional_relevance(features, target, features[:1], **twin),
        **CLOSE,
    )


@given(
    cases(n_columns=(1, 2, 3, 6), styles=tuple(DISCRETE), targets=tuple(LABELS)),
    st.booleans(),
    st.sampled_from([None, "miller-madow", "chance"]),
    st.sampled_from([Plugin, KNN]),
)
def test_counts_equal_twin(case, clip, correction, estimator):
    twin = {"estimator": estimator.name, "correction": correction, "clip": clip}
    assert_measures_equal_twin(case, estimator(correction=correction), clip, twin)


@given(
    cases(n_columns=(1, 3), styles=tuple(style for style in STYLES if style not in ("constant", "empty"))),
    neighbors,
    scales,
    st.sampled_from(["knn", "binned"]),
)
def test_irrelevance_equals_twin(case, n_neighbors, scale, estimator):
    features = case.features(scale)
    usable = [column.discrete or len(set(column.values[~column.missing])) > 1 for column in features]
    if not all(usable):
        return
    mi_estimator = KNN(n_neighbors, scale=scale) if estimator == "knn" else estimator
    ours = irrelevance(case.frame, case.target, mi_estimator=mi_estimator, **case.options)
    options = {"n_neighbors": n_neighbors, "estimator": estimator}
    assert_allclose(ours, reference.irrelevance(features, case.target_block(scale), **options), rtol=1e-10, atol=1e-10)


@given(
    cases(styles=("normal", "grid", "inflated", "normal with gaps", "grid with gaps", "strings")), neighbors, metrics
)
def test_float32_equals_twin(case, n_neighbors, metric):
    columns = {
        name: values.astype(np.float32) if values.dtype.kind == "f" else values for name, values in case.columns.items()
    }
    case = replace(case, columns=columns)
    single = any(values.dtype.kind == "f" and not np.isnan(values).all() for values in columns.values())
    dtype, tolerance = (np.float32, reference.TOLERANCE_FLOAT32) if single else (np.float64, reference.TOLERANCE)
    options = {"n_neighbors": n_neighbors, "metric": metric, "clip": False}
    knn = KNN(n_neighbors, metric)
    ours = mutual_information(case.frame, case.target, clip=False, mi_estimator=knn, **case.options)
    twin = reference.mutual_information(
        case.features(dtype=dtype),
        case.target_block(dtype=dtype),
        tolerance=tolerance,
        **options,
    )
    assert_allclose(ours, twin, **CLOSE)


@given(cases(n_columns=(1, 2, 3)), scales, st.booleans())
def test_encoded_differences_are_the_raw_ones(case, scale, single):
    frame = case.frame
    dtype = np.float64
    numeric = [name for name in frame if frame[name].dtype.kind in "fiu"]
    if single and frame[numeric].notna().any(axis=None):
        frame = frame.astype(dict.fromkeys(numeric, np.float32))
        case = replace(case, columns={**case.columns, **{name: frame[name].to_numpy() for name in numeric}})
        dtype = np.float32
    table = Table.from_data(frame, case.target, **case.options).scaled(scale)
    columns = case.features(scale, dtype) + case.target_block(scale, dtype)
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    assert table.values.dtype == dtype
    assert len(table.values) == len(columns)
    assert_allclose(table.unit, unit_of(columns[:-1], scale), rtol=1e-6)
    for row, column in zip(table.values.astype(np.float64), columns, strict=True):
        gap = np.abs(row[:, None] - row[None, :])
        expected = reference.differences(column, np.inf)
        largest = np.max(np.abs(column.values.astype(float))) if not column.discrete else 1.0
        assert_allclose(np.where(gap < table.far, gap, np.inf), expected, rtol=0, atol=tolerance * max(1.0, largest))


# Larger tables, where fast paths cut the rows into strips


@pytest.mark.parametrize(("target_style", "n_neighbors"), [("three", 1), ("tiny", 3), ("normal", 8), ("grid", 3)])
def test_relevance_of_larger_tables_equals_twin(target_style, n_neighbors):
    case = make_case(np.random.default_rng(0), 300, list(STYLES), target_style)
    ours = relevance(case.frame, case.target, clip=False, mi_estimator=KNN(n_neighbors), **case.options)
    twin = reference.relevance(case.features(), case.target_block(), clip=False, n_neighbors=n_neighbors)
    assert_allclose(ours, twin, **CLOSE)


PAIRS = [
    ("normal", "normal"),
    ("normal", "grid"),
    ("grid", "large"),
    ("inflated", "normal"),
    ("normal with gaps", "inflated"),
    ("strings", "normal"),
    ("codes with gaps", "grid with gaps"),
    ("constant", "normal"),
]


@pytest.mark.parametrize("styles", PAIRS, ids=" x ".join)
@pytest.mark.parametrize(("target_style", "n_rows"), [("three", 1500), ("tiny", 700), ("normal", 700), ("grid", 400)])
def test_pairs_of_larger_tables_equal_twin(styles, target_style, n_rows):
    case = make_case(np.random.default_rng(n_rows), n_rows, styles, target_style)
    n_neighbors = 3 if n_rows != 700 else 7
    ours = mutual_information(case.frame, case.target, clip=False, mi_estimator=KNN(n_neighbors), **case.options)
    twin = reference.mutual_information(case.features(), case.target_block(), clip=False, n_neighbors=n_neighbors)
    assert_allclose(ours, twin, **CLOSE)


@pytest.mark.parametrize("target_style", ["two", "normal"])
@pytest.mark.parametrize("estimator", ["knn", "binned"])
def test_conditional_relevance_of_larger_tables_equals_twin(target_style, estimator):
    case = make_case(np.random.default_rng(3), 400, ["normal", "grid", "strings", "normal with gaps"], target_style)
    features, twin = case.features(), {"clip": False, "estimator": estimator}
    options = {"clip": False, "mi_estimator": estimator, **case.options}
    for position in range(4):
        assert_allclose(
            conditional_relevance(case.frame, case.target, position, **options),
            reference.conditional_relevance(features, case.target_block(), [features[position]], **twin),
            **CLOSE,
        )


@pytest.mark.parametrize("metric", METRICS)
def test_wide_block_of_larger_table_equals_twin(metric):
    case = make_case(np.random.default_rng(5), 300, ["normal"] * 18 + ["strings", "grid with gaps"], "three")
    ours = mutual_information(case.frame, case.target, clip=False, mi_estimator=KNN(metric=metric), **case.options)
    twin = reference.mutual_information(case.features(), case.target_block(), clip=False, metric=metric)
    assert_allclose(ours, twin, **CLOSE)


# Equal to scikit-learn


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_classes_equal_scikit_learn(n_neighbors, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8)) * 10.0 ** np.arange(-3, 5)
    y = rng.integers(0, n_classes, size=400)
    X[:, :4] += y[:, None] * X[:, :4].std(axis=0)
    ours = relevance(X, y, clip=False, mi_estimator=KNN(n_neighbors=n_neighbors))
    peer = mutual_info_classif(X / X.std(axis=0), y, discrete_features=False, n_neighbors=n_neighbors, random_state=0)
    assert_allclose(np.maximum(ours, 0), peer, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_equal_scikit_learn(n_neighbors, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8)) * 10.0 ** np.arange(-3, 5)
    y = 100 * ((X / X.std(axis=0)) @ np.array([2, 1, 0.5, 0.2, 0, 0, 0, 0]) + rng.normal(size=400))
    ours = relevance(X, y, mi_estimator=KNN(n_neighbors=n_neighbors))
    peer = mutual_info_regression(
        X / X.std(axis=0), y, discrete_features=False, n_neighbors=n_neighbors, random_state=0
    )
    assert_allclose(ours, peer, rtol=0, atol=1e-8)


# What must change nothing


@pytest.fixture(params=["three", "tiny", "normal", "grid"])
def case(request):
    styles = ["normal", "grid", "strings", "normal with gaps", "codes", "inflated"]
    return make_case(np.random.default_rng(11), 150, styles, request.param)


def all_measures(case, **options):
    """Every measure of a table, in one array."""
    options = {**case.options, **options}
    return np.concatenate(
        [
            relevance(case.frame, case.target, **options),
            relevance(case.frame, case.target, mi_estimator="binned", **options),
            conditional_relevance(case.frame, case.target, ["c1"], **options),
            irrelevance(case.frame, case.target, **options),
            [mutual_information(case.frame, case.target, clip=False, **options)],
            [mutual_information(case.frame[["c0", "c1"]], case.target, clip=False, **only(options, "c0", "c1"))],
        ]
    )


def only(options, *names):
    """The options with the kinds of some columns."""
    return {**options, "discrete_features": {name: options["discrete_features"][name] for name in names}}


def test_row_order_changes_nothing(case):
    rows = np.random.default_rng(0).permutation(len(case.target))
    columns = {name: values[rows] for name, values in case.columns.items()}
    shuffled = replace(case, columns=columns, target=case.target[rows])
    assert_allclose(all_measures(shuffled), all_measures(case), rtol=0, atol=1e-12)


def test_column_order_changes_nothing(case):
    names = list(case.columns)[::-1]
    frame = case.frame[names]
    for measure in (relevance, irrelevance):
        expected = measure(case.frame, case.target, **case.options)
        assert_array_equal(measure(frame, case.target, **case.options), expected[::-1])
    expected = conditional_relevance(case.frame, case.target, ["c1", "c2"], **case.options)
    assert_array_equal(conditional_relevance(frame, case.target, ["c1", "c2"], **case.options), expected[::-1])
    for metric in METRICS if case.target_kind == "discrete" else ["auto"]:
        options = {"mi_estimator": KNN(metric=metric), "clip": False, **case.options}
        ours, expected = (mutual_information(data, case.target, **options) for data in (frame, case.frame))
        assert_allclose(ours, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 0.0), (0.001, 0.0), (1.0, 100.0), (-1.0, 0.0), (1e-12, 1e-9)])
def test_units_change_nothing(case, factor, shift):
    columns = {
        name: values * factor + shift if case.kinds[name] == "continuous" else values
        for name, values in case.columns.items()
    }
    changed = all_measures(replace(case, columns=columns))
    binned = slice(6, 12) if factor < 0 else slice(0, 0)  # bins are not symmetric
    keep = np.ones(len(changed), dtype=bool)
    keep[binned] = False
    assert_allclose(changed[keep], all_measures(case)[keep], rtol=0, atol=1e-8)


@pytest.mark.parametrize("metric", METRICS)
def test_units_of_a_block_change_nothing(metric):
    case = make_case(np.random.default_rng(2), 120, ["normal", "grid", "strings", "grid with gaps"], "three")
    columns = {**case.columns, "c0": case.columns["c0"] * 1000, "c1": case.columns["c1"] * 0.001 + 100}
    options = {"mi_estimator": KNN(metric=metric), "clip": False, **case.options}
    ours = mutual_information(pd.DataFrame(columns), case.target, **options)
    assert_allclose(ours, mutual_information(case.frame, case.target, **options), **CLOSE)


def test_names_of_labels_and_levels_change_nothing():
    case = make_case(np.random.default_rng(4), 150, ["normal", "grid", "strings", "normal with gaps"], "three")
    new_labels = {"low": 7, "middle": -2, "high": 0}
    new_levels = {"red": "z", "green": "m", "blue": "a"}
    columns = {**case.columns, "c2": np.array([new_levels[level] for level in case.columns["c2"]], dtype=object)}
    target = np.array([new_labels[label] for label in case.target])
    for metric in METRICS:
        options = {"mi_estimator": KNN(metric=metric), "clip": False, **case.options}
        ours = mutual_information(pd.DataFrame(columns), target, **options)
        assert_allclose(ours, mutual_information(case.frame, case.target, **options), rtol=0, atol=1e-12)
    ours = relevance(pd.DataFrame(columns), target, **case.options)
    assert_allclose(ours, relevance(case.frame, case.target, **case.options), rtol=0, atol=1e-12)


def test_number_of_jobs_changes_no_bit(case):
    assert_array_equal(all_measures(case, n_jobs=2), all_measures(case))


@pytest.mark.parametrize("metric", METRICS)
def test_number_of_jobs_changes_no_bit_of_a_wide_block(metric):
    case = make_case(np.random.default_rng(6), 600, ["normal"] * 10 + ["grid", "strings"], "three")
    options = {"mi_estimator": KNN(metric=metric), "clip": False, **case.options}
    values = {mutual_information(case.frame, case.target, n_jobs=n_jobs, **options) for n_jobs in (None, 1, 2, -1)}
    assert len(values) == 1


def test_second_run_changes_no_bit(case):
    assert_array_equal(all_measures(case), all_measures(case))


def test_input_is_not_changed(case):
    frame, target = case.frame, case.target.copy()
    before = frame.copy(deep=True)
    relevance(frame, target, **case.options)
    mutual_information(frame, target, **case.options)
    pd.testing.assert_frame_equal(frame, before)
    assert_array_equal(target, case.target)


# Special columns


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6, np.nan, "same"])
@pytest.mark.parametrize("target_style", ["three", "normal"])
def test_constant_column_tells_nothing(constant, target_style):
    case = make_case(np.random.default_rng(8), 60, ["normal"], target_style)
    frame = case.frame.assign(constant=constant)
    options = {"target_type": case.target_kind, "clip": False}
    for estimator in ("knn", "binned"):
        values = relevance(frame, case.target, mi_estimator=estimator, **options)
        alone = mutual_information(frame[["constant"]], case.target, mi_estimator=estimator, **options)
        assert [values["constant"], alone] == pytest.approx([0, 0], abs=1e-12)
    assert conditional_relevance(frame, case.target, ["c0"], **options)["constant"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n_rows", [22, 46, 60])
def test_a_constant_text_is_not_less_than_nothing(n_rows):
    """The entropy of a single level rounds below 0 for some numbers of rows, and what is told was cut down to it."""
    frame, target = pd.DataFrame({"a": np.arange(n_rows), "same": ["same"] * n_rows}), np.arange(n_rows) % 3
    for estimator in ("knn", "binned"):
        assert relevance(frame, target, mi_estimator=estimator)["same"] == 0.0
        path = selection_path(frame, target, criteria="mrmr_q", betas=0.0, selector=BURSelector(mi_estimator=estimator))
        assert path.selection("mrmr_q", 0.0).scores[1] == 0.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", SCALES)
def test_constant_column_in_a_block_changes_nothing(metric, scale):
    styles = ["normal", "grid", "strings", "grid with gaps"]
    case = make_case(np.random.default_rng(9), 80, styles, "three")
    kinds = as_asked({**case.kinds, "constant": "continuous"})
    options = {"mi_estimator": KNN(metric=metric, scale=scale), "clip": False, "target_type": "discrete"}
    plain = mutual_information(case.frame, case.target, discrete_features=as_asked(case.kinds), **options)
    for constant in (0.0, 0.1, 1e6):
        frame = case.frame.assign(constant=constant)
        ours = mutual_information(frame, case.target, discrete_features=kinds, **options)
        assert ours == pytest.approx(plain, rel=0, abs=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_constant_column_beside_continuous_ones_changes_nothing(n_columns):
    for target_style in ("three", "normal"):
        case = make_case(np.random.default_rng(9), 80, ["normal"] * n_columns, target_style)
        frame = case.frame.assign(constant=1.5)
        ours = mutual_information(frame, case.target, clip=False, target_type=case.target_kind)
        plain = mutual_information(case.frame, case.target, clip=False, target_type=case.target_kind)
        assert_allclose(ours, plain, rtol=0, atol=1e-12)


def test_duplicated_column_has_the_same_value(case):
    frame = case.frame
    doubled = pd.concat([frame, frame.rename(columns=lambda name: f"{name} again")], axis=1)
    kinds = {**case.kinds, **{f"{name} again": kind for name, kind in case.kinds.items()}}
    for estimator in ("knn", "binned"):
        options = {"discrete_features": as_asked(kinds), "target_type": case.target_kind}
        values = relevance(doubled, case.target, mi_estimator=estimator, **options)
        assert_array_equal(values[: len(case.kinds)], values[len(case.kinds) :])


def test_duplicated_column_in_a_block_adds_nothing_in_the_maximum_norm():
    case = make_case(np.random.default_rng(9), 200, ["normal", "grid", "normal"], "three")
    frame = case.frame
    twice = frame.assign(again=frame["c0"])
    options = {"mi_estimator": KNN(metric="chebyshev"), "clip": False, "discrete_features": False}
    ours = mutual_information(twice, case.target, **options)
    assert ours == mutual_information(frame, case.target, **options)


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize("estimator", [KNN, Binned])
def test_two_level_integers_stay_below_the_entropy_of_the_target(kind, estimator):
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(int)
    X = np.column_stack([y, 1 - y, np.where(rng.random(200) < 0.1, 1 - y, y), rng.integers(0, 2, size=200)])
    options = {"discrete_features": kind == "discrete"}
    limit = plugin_entropy([read(y, "discrete")]) + ROUNDING
    values = relevance(X, y, mi_estimator=estimator(correction=None), **options)
    assert np.all(values <= limit)
    assert np.all(values >= 0)
    assert values[0] == values[1]
    if kind == "discrete":
        assert values[0] == pytest.approx(limit, abs=1e-11)
    assert mutual_information(X, y, mi_estimator=estimator(), **options) <= limit


def test_two_level_integers_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(300, 4)), rng.integers(0, 3, size=300)
    assert_array_equal(relevance(X, y), relevance(X, y, mi_estimator="plugin"))


def test_value_is_capped_by_the_entropy_of_a_discrete_side():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=100)
    X = (y * 100 + rng.normal(size=100))[:, None]
    limit = plugin_entropy([read(y, "discrete")]) + ROUNDING
    assert relevance(X, y)[0] <= limit
    assert relevance(X, y, clip=False)[0] == pytest.approx(limit, abs=0.05)
    assert mutual_information(X, y) <= limit


def test_clip_only_cuts():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 12)), rng.integers(0, 2, size=60)
    raw, clipped = relevance(X, y, clip=False), relevance(X, y)
    assert raw.min() < 0
    assert_array_equal(clipped, np.maximum(raw, 0))


# Identities


def test_chain_rule_is_exact_for_counts():
    case = make_case(np.random.default_rng(0), 200, ["strings", "strings with gaps", "codes"], "three")
    frame, y = case.frame, case.target
    options = {"target_type": "discrete", "discrete_features": True, "clip": False}
    options["mi_estimator"] = KNN(correction=None)
    whole = mutual_information(frame, y, **options)
    parts = [
        mutual_information(frame[["c0"]], y, **options),
        mutual_information(frame[["c1"]], y, conditional_on=frame[["c0"]], **options),
        conditional_relevance(frame, y, ["c0", "c1"], **options)["c2"],
    ]
    assert whole == pytest.approx(sum(parts), abs=1e-12)


@pytest.mark.parametrize("mi_estimator", [KNN(), Binned(n_bins=8)])
def test_roles_of_column_and_target_can_be_swapped(mi_estimator):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=200)
    numbers = labels + rng.normal(size=200)
    # How many bins "auto" means depends on which of them is the target.
    options = {"clip": False, "mi_estimator": mi_estimator}
    forward = relevance(numbers[:, None], labels, target_type="discrete", **options)
    backward = relevance(labels[:, None], numbers, discrete_features=True, target_type="continuous", **options)
    assert_allclose(forward, backward, rtol=0, atol=1e-12)
    other = numbers + rng.normal(size=200)
    assert_allclose(
        relevance(numbers[:, None], other, **options), relevance(other[:, None], numbers, **options), rtol=0, atol=1e-12
    )


def test_one_column_agrees_in_every_way_of_asking(case):
    frame, y = case.frame, case.target
    values = relevance(frame, y, clip=False, **case.options)
    for name in frame:
        options = only({"clip": False, **case.options}, name)
        assert mutual_information(frame[[name]], y, **options) == pytest.approx(values[name], abs=1e-12)


@pytest.mark.parametrize("way", ["name", "position", "names", "positions", "column", "series", "matrix", "frame"])
def test_given_can_be_named_or_handed_over(way):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=120) > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abcd"))
    given_as = {
        "name": "b",
        "position": 1,
        "names": ["b"],
        "positions": [1],
        "column": X[:, 1],
        "series": pl.Series("z", X[:, 1]),
        "matrix": X[:, [1]],
        "frame": frame[["b"]].rename(columns={"b": "z"}),
    }[way]
    values = np.asarray(conditional_relevance(frame, y, given_as, clip=False))
    expected = [mutual_information(X[:, [k]], y, conditional_on=X[:, [1]], clip=False) for k in (0, 2, 3)]
    assert_allclose(values[[0, 2, 3]], expected, rtol=0, atol=1e-12)
    if way in ("name", "position", "names", "positions"):
        assert values[1] == 0


@pytest.mark.parametrize("make", [np.array, pd.Series, lambda codes: np.array(["no", "yes"])[codes]])
def test_column_of_codes_is_no_list_of_positions(make):
    rng = np.random.default_rng(0)
    X, y, codes = rng.normal(size=(120, 3)), rng.integers(0, 2, size=120), rng.integers(0, 2, size=120)
    expected = [mutual_information(X[:, [k]], y, conditional_on=codes, clip=False) for k in range(3)]
    assert_allclose(conditional_relevance(X, y, make(codes), clip=False), expected, rtol=0, atol=1e-12)


def test_nothing_given_is_plain_relevance():
    case = make_case(np.random.default_rng(0), 60, ["normal", "strings"], "two")
    expected = relevance(case.frame, case.target, **case.options)
    assert_array_equal(conditional_relevance(case.frame, case.target, [], **case.options), expected)
    ignored = pd.DataFrame({"name": [f"row {row}" for row in range(60)]})
    assert_array_equal(conditional_relevance(case.frame, case.target, ignored, **case.options), expected)


@pytest.mark.parametrize("target_style", ["three", "normal"])
def test_constant_given_tells_what_nothing_tells(target_style):
    case = make_case(np.random.default_rng(0), 60, ["normal", "strings", "normal"], target_style)
    options = {"clip": False, **case.options}
    values = conditional_relevance(case.frame, case.target, np.ones(60), **options)
    assert_allclose(values, relevance(case.frame, case.target, **options), rtol=0, atol=1e-12)


def test_value_is_capped_by_the_entropy_of_a_discrete_column():
    labels = np.repeat([0, 1], 20)
    numbers = labels * 100 + np.random.default_rng(0).normal(size=40)
    limit = plugin_entropy([read(labels, "discrete")]) + ROUNDING
    options = {"discrete_features": True, "mi_estimator": KNN(10)}
    assert relevance(labels[:, None], numbers, clip=False, **options)[0] > limit - 0.1
    assert relevance(labels[:, None], numbers, **options)[0] <= limit
    assert mutual_information(labels, numbers, **options) <= limit


def test_ignored_column_has_no_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    y = rng.integers(0, 2, size=50)
    values = relevance(frame, y, discrete_features={"a": None})
    assert np.isnan(values["a"])
    assert values["b"] == relevance(frame[["b"]], y)["b"]
    assert np.isnan(irrelevance(frame, y, discrete_features={"a": None})["a"])
    block = mutual_information(frame, y, discrete_features={"a": None}, clip=False)
    assert block == mutual_information(frame[["b"]], y, clip=False)


# Frames


def test_every_frame_gives_the_same_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 1] = rng.integers(0, 3, size=100)
    X[rng.random(100) < 0.1, 2] = np.nan
    y = rng.integers(0, 3, size=100)
    columns = {name: X[:, position] for position, name in enumerate("abc")}
    frames = [
        X,
        np.asfortranarray(X),
        X.tolist(),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col("c").fill_nan(None)),
        pa.table(columns),
    ]
    targets = [y, y.tolist(), pd.Series(y), pl.Series(y), pa.chunked_array([y])]
    expected = all_numbers(X, y)
    for frame in frames:
        assert_array_equal(all_numbers(frame, y), expected)
    for target in targets:
        assert_array_equal(all_numbers(X, target), expected)


def all_numbers(X, y):
    return np.array([*relevance(X, y), *conditional_relevance(X, y, 0), *irrelevance(X, y), mutual_information(X, y)])


def test_every_frame_of_categories_gives_the_same_numbers():
    rng = np.random.default_rng(0)
    colour = rng.choice(np.array(["red", "green", None], dtype=object), size=80).tolist()
    columns = {"colour": colour, "flag": (rng.random(80) < 0.5).tolist(), "size": rng.normal(size=80).tolist()}
    y = rng.choice(np.array(["yes", "no"], dtype=object), size=80).tolist()
    frames = [
        (pd.DataFrame(columns), pd.Series(y)),
        (pd.DataFrame(columns).astype({"colour": "category"}), pd.Series(y, dtype="category")),
        (pd.DataFrame(columns).astype({"flag": "boolean"}), np.array(y, dtype=object)),
        (pl.DataFrame(columns), pl.Series(y)),
        (pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical)), pl.Series(y, dtype=pl.Categorical)),
        (pa.table(columns), pa.chunked_array([y])),
    ]
    expected = all_numbers(*frames[0])
    for frame, target in frames[1:]:
        assert_array_equal(all_numbers(frame, target), expected)


def test_target_may_be_numbers_of_any_type():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(0, 3, size=90)
    expected = relevance(X, y)
    for labels in (y.astype(np.int8), y.astype(bool) * 1 + (y == 2), y.astype(str), [f"class {label}" for label in y]):
        assert_array_equal(relevance(X, labels), expected)


# A target of several columns


BLOCK_ESTIMATORS = ["knn", "gaussian", "binned", "partition", "kde"]


def blocks(n_rows=300):
    """Two columns, two that depend on them, and one to condition on."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(2, n_rows, 2))
    return X, X + noise, rng.normal(size=n_rows)


@pytest.mark.parametrize("estimator", BLOCK_ESTIMATORS)
def test_blocks_can_be_swapped(estimator):
    X, y, z = blocks()
    value = mutual_information(X, y, clip=False, mi_estimator=estimator)
    assert mutual_information(y, X, clip=False, mi_estimator=estimator) == pytest.approx(value, abs=1e-10)
    assert mutual_information(X, y[:, ::-1], clip=False, mi_estimator=estimator) == pytest.approx(value, abs=1e-10)
    assert value > 0.9 * mutual_information(X, y[:, 0], clip=False, mi_estimator=estimator)
    pairs = (X, y), (y, X)
    ways = [mutual_information(*pair, conditional_on=z, clip=False, mi_estimator="gaussian") for pair in pairs]
    assert ways[0] == pytest.approx(ways[1], abs=1e-10)


def test_blocks_equal_the_twin_of_neighbours():
    """KSG-1 from its formula: the k-th joint distance, and how many rows are nearer in each block."""
    X, y, _ = blocks(80)
    distances = [
        np.abs((block / block.std(axis=0))[:, None] - (block / block.std(axis=0))).max(axis=2) for block in (X, y)
    ]
    joint = np.maximum(*distances)
    np.fill_diagonal(joint, np.inf)
    radius = np.sort(joint, axis=1)[:, 2]
    inside = [(distance < radius[:, None]).sum(axis=1) for distance in distances]  # the row itself is one of them
    expected = digamma(80) + digamma(3) - np.mean(digamma(inside[0]) + digamma(inside[1]))
    assert mutual_information(X, y, clip=False) == pytest.approx(expected, abs=1e-10)


def test_every_frame_is_a_target_of_several_columns():
    X, y, z = blocks(100)
    value = mutual_information(X, y)
    conditional = mutual_information(X, y, conditional_on=z)
    for make in (pd.DataFrame, pl.DataFrame, np.ndarray.tolist):
        assert mutual_information(X, make(y)) == value
        assert mutual_information(X, make(y), conditional_on=make(z)) == conditional
        assert mutual_information(X, make(y), conditional_on=make(np.column_stack([z]))) == conditional


def test_interval_of_a_target_of_several_columns():
    X, y, z = blocks()
    for known in (None, z):
        found = mutual_information(X, y, conditional_on=known, mi_estimator="gaussian", confidence_level=0.9)
        assert found.value == mutual_information(X, y, conditional_on=known, mi_estimator="gaussian")
        assert found.low < found.value < found.high


def test_labels_in_several_columns_are_those_of_one_column():
    X, y, _ = blocks()
    labels = (y > 0).astype(int)
    together = mutual_information(X, 2 * labels[:, 0] + labels[:, 1], mi_estimator="binned")
    assert mutual_information(X, labels, mi_estimator="binned") == pytest.approx(together, abs=1e-10)


def test_a_target_of_several_columns_that_cannot_be_used():
    X, y, z = blocks(60)
    with pytest.raises(ValueError, match="y has 2 columns, so y must hold numbers, not object; code labels as numbers"):
        mutual_information(X, pd.DataFrame({"a": ["yes", "no"] * 30, "b": z}))
    with pytest.raises(ValueError, match="y has 2 columns, so conditional_on must hold numbers"):
        mutual_information(X, y, conditional_on=["yes", "no"] * 30)
    with pytest.raises(ValueError, match="y has 60 rows, conditional_on has 59; they must describe the same samples"):
        mutual_information(X, y, conditional_on=z[1:])
    with pytest.raises(ValueError, match="X has 59 rows, y has 60"):
        mutual_information(X[1:], y)
    y[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"y has 1 missing value \(NaN\); drop those rows"):
        mutual_information(X, y)


def test_values_of_a_frame_of_pandas_have_its_names(rng):
    array = rng.normal(size=(60, 3))
    y = array[:, 1] > 0
    frame = pd.DataFrame(array, columns=["a", "b", 7])
    measured = (
        relevance,
        irrelevance,
        unique_relevance,
        partial(conditional_relevance, given=[0]),
        lambda X, y: unique_relevance(X, y, return_std=True)[1],
    )
    for measure in measured:
        plain, named = measure(array, y), measure(frame, y)
        assert type(plain) is np.ndarray
        assert list(named.index) == ["a", "b", 7]
        np.testing.assert_array_equal(np.asarray(named), plain)
        assert type(measure(pl.DataFrame(array, ["a", "b", "c"], orient="row"), y)) is np.ndarray
    assert relevance(frame, y).idxmax() == "b"
    assert type(relevance(frame, y, confidence_level=0.9).low) is np.ndarray
