"""Every method of the nearest-neighbour estimator against slow twins, and what must not change it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import unit_of
from test_measures import DISCRETE, LABELS, METRICS, NUMBERS, SCALES, STYLES, Case, make_case

from unirel import UnirelWarning, mutual_information, relevance
from unirel.data.table import Table
from unirel.estimation.base import Changes
from unirel.estimation.knn import KNN

pytestmark = pytest.mark.filterwarnings("ignore::unirel.errors.UnirelWarning")

CLOSE = {"rtol": 0, "atol": 1e-10}
SAME = {"rtol": 0, "atol": 1e-12}
MIXED = ["normal", "grid", "strings", "normal with gaps", "codes", "inflated", "constant", "grid with gaps", "flags"]


@dataclass(frozen=True)
class Problem:
    """A table as the library and as the twins read it, and the options of both."""

    case: Case = field(repr=False)
    scale: str | None = "standard"
    dtype: type = np.float64
    n_neighbors: int = 3
    metric: str = "auto"
    correction: str | None = "chance"
    recipe: tuple = ()  # what `make_case` was asked for, all that a failing test needs to show

    @property
    def n_columns(self):
        return len(self.case.columns)

    @property
    def n_rows(self):
        return len(self.case.target)

    def knn(self, n_jobs=None):
        table = Table.from_data(self.case.frame, self.case.target, **self.case.options)
        knn = KNN(self.n_neighbors, self.metric, self.scale, self.correction).on(table, n_jobs=n_jobs)
        assert knn.table.values.dtype == self.dtype
        return knn

    @property
    def columns(self):
        return self.case.features(self.scale, self.dtype)

    @property
    def target(self):
        return self.case.target_block(self.scale, self.dtype)

    @property
    def options(self):
        """Options of the twins."""
        single = self.dtype is np.float32
        return {
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "correction": self.correction,
            "unit": unit_of(self.columns, self.scale),
            "tolerance": reference.TOLERANCE_FLOAT32 if single else reference.TOLERANCE,
        }


def make_problem(seed, n_rows, styles, target_style, *, duplicated=False, **options):
    case = make_case(np.random.default_rng(seed), n_rows, styles, target_style, duplicated)
    return Problem(case, recipe=(seed, n_rows, styles, target_style, duplicated), **options)


def in_single_precision(problem):
    """The same table with every number in float32; a table without numbers stays as it is."""
    numeric = {name: values for name, values in problem.case.columns.items() if values.dtype.kind in "fiu"}
    columns = {name: values.astype(np.float32) for name, values in numeric.items()}
    if all(np.isnan(values).all() for values in columns.values()):
        return problem
    return replace(problem, case=replace(problem.case, columns=problem.case.columns | columns), dtype=np.float32)


@st.composite
def problems(
    draw,
    n_columns=(2, 3, 4, 7),
    n_rows=(20, 50),
    styles=tuple(STYLES),
    targets=tuple(LABELS | NUMBERS),
    single=(False, False, True),
):
    size = draw(st.sampled_from(n_columns))
    chosen = draw(st.lists(st.sampled_from(styles), min_size=size, max_size=size))
    problem = make_problem(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(*n_rows)),
        chosen,
        draw(st.sampled_from(targets)),
        duplicated=draw(st.booleans()),
        scale=draw(st.sampled_from(SCALES)),
        n_neighbors=draw(st.integers(1, 5)),
        metric=draw(st.sampled_from(METRICS)),
        correction=draw(st.sampled_from([None, "miller-madow", "chance"])),
    )
    return in_single_precision(problem) if draw(st.sampled_from(single)) else problem


def assert_changes_equal_twin(ours, twin):
    before, change, local = twin
    assert_allclose(ours.before, before, **CLOSE)
    assert_allclose(ours.change, change, **CLOSE)
    assert ours.error.shape == ours.change.shape
    if local is None:
        assert np.isnan(ours.error).all()
        return
    local = local[:, ~np.isnan(local[0])]
    assert np.isfinite(ours.error).all()
    assert np.all(ours.error >= local.std(axis=1) / np.sqrt(local.shape[1]) - 1e-9)


def assert_changes_equal(ours, theirs, **closeness):
    for one, other in zip(ours, theirs, strict=True):
        assert_allclose(one, other, **closeness)


def assert_same_bits(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert_array_equal(one, other)


# One column and pairs


@given(problems(n_columns=(2, 3, 6)))
def test_relevance_equals_twin(problem):
    ours = problem.knn().relevance(range(problem.n_columns))
    assert_allclose(ours, reference.relevance(problem.columns, problem.target, clip=False, **problem.options), **CLOSE)


@given(problems(n_columns=(2, 4)))
def test_pairwise_equals_twin_and_is_symmetric(problem):
    columns, knn = problem.columns, problem.knn()
    ours = np.array([knn.pairwise(range(len(columns)), column) for column in range(len(columns))])
    twin = [reference.relevance(columns, [column], clip=False, **problem.options) for column in columns]
    assert_allclose(ours, twin, **CLOSE)
    assert_allclose(ours, ours.T, **SAME)


@pytest.mark.parametrize("style", ["normal", "grid", "strings", "codes with gaps", "inflated", "normal with gaps"])
def test_pairwise_of_larger_table_equals_twin(style):
    problem = make_problem(1, 150, [*STYLES, style], "two", n_neighbors=4)
    columns = problem.columns
    ours = problem.knn().pairwise(range(len(columns)), len(columns) - 1)
    twins = reference.relevance(columns, columns[-1:], clip=False, **problem.options)
    assert_allclose(ours, twins, rtol=0, atol=1e-10 if style not in ("strings", "codes with gaps") else 2e-6)


# Joint with what is selected


@given(problems(n_columns=(4, 8), n_rows=(20, 40)), st.sampled_from([0, 1, 2, 3, 6]))
def test_joint_equals_twin(problem, n_selected):
    columns, target, knn = problem.columns, problem.target, problem.knn()
    n_selected = min(n_selected, len(columns) - 2)
    selected = list(range(n_selected))
    candidates = range(len(columns))  # some of them are selected already
    ours = knn.joint(candidates, selected)
    one_by_one = [knn.mutual_information([candidate, *selected], [knn.table.target]) for candidate in candidates]
    assert_allclose(ours, one_by_one, **CLOSE)
    blocks = [[columns[place] for place in (candidate, *selected)] for candidate in candidates]
    twin = [reference.mutual_information(block, target, clip=False, **problem.options) for block in blocks]
    assert_allclose(ours, twin, **CLOSE)


SELECTED = {
    "continuous": ["normal", "grid", "inflated", "normal", "large", "counts"],
    "discrete": ["strings", "codes", "flags", "codes with gaps", "strings with gaps", "codes"],
    "mixed": ["normal", "strings", "grid with gaps", "codes", "inflated", "flags"],
    "constant first": ["constant", "strings", "normal", "one level", "codes", "empty"],
}


@pytest.mark.parametrize("target_style", ["tiny", "grid"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", SELECTED)
def test_joint_equals_one_by_one(kind, metric, target_style):
    problem = make_problem(2, 100, SELECTED[kind] + list(STYLES), target_style, metric=metric, correction=None)
    knn = problem.knn()
    candidates = np.arange(6, problem.n_columns)
    for n_selected in (1, 2, 3, 6):
        selected = list(range(n_selected))
        one_by_one = [knn.mutual_information([candidate, *selected], [knn.table.target]) for candidate in candidates]
        assert_allclose(knn.joint(candidates, selected), one_by_one, **SAME)


def test_joint_with_nothing_selected_is_relevance():
    problem = make_problem(0, 60, MIXED, "three")
    knn = problem.knn()
    assert_array_equal(knn.joint(range(9), []), knn.relevance(range(9)))
    assert_array_equal(knn.joint(range(9), [6]), knn.relevance(range(9)))  # a constant column


@pytest.mark.parametrize("target_style", ["three", "normal"])
def test_no_candidate_gives_no_value(target_style):
    knn = make_problem(0, 40, MIXED, target_style).knn()
    assert knn.relevance([]).shape == (0,)
    assert knn.pairwise([], 0).shape == (0,)
    for selected in ([], [0], [0, 2]):
        assert knn.joint([], selected).shape == (0,)
        assert knn.with_each(selected, []).change.shape == (0,)


# Given other columns


@given(problems(n_columns=(4, 5), styles=("grid", "counts", "inflated", "normal", "grid with gaps")), st.integers(1, 2))
def test_blocks_and_conditions_equal_twin(problem, n_given):
    """Grids of one unit make ties of several blocks fall together, above all where nothing is scaled."""
    columns, target, knn = problem.columns, problem.target, problem.knn()
    positions = [*range(len(columns)), knn.table.target]
    everything = dict(zip(positions, [*columns, *target], strict=True))
    given = list(range(n_given))
    for a, b in (([2], [3]), ([2, 3], [knn.table.target]), ([3], [2, knn.table.target])):
        blocks = [[everything[position] for position in block] for block in (a, b, given)]
        ours = [knn.mutual_information(a, b), knn.conditional(a, b, given)]
        twin = [
            reference.mutual_information(*blocks[:2], clip=False, **problem.options),
            reference.mutual_information(*blocks, clip=False, **problem.options),
        ]
        assert_allclose(ours, twin, **CLOSE)


# Without each and with each


@given(problems(n_columns=(2, 3, 4, 8)))
def test_without_each_equals_twin(problem):
    ours = problem.knn().without_each(range(problem.n_columns))
    assert_changes_equal_twin(ours, reference.without_each(problem.columns, problem.target, **problem.options))


@given(problems(n_columns=(3, 5, 9)), st.integers(1, 4))
def test_with_each_equals_twin(problem, n_block):
    columns = problem.columns
    n_block = min(n_block, len(columns) - 1)
    ours = problem.knn().with_each(range(n_block), range(n_block, len(columns)))
    twin = reference.with_each(columns[:n_block], columns[n_block:], problem.target, **problem.options)
    assert_changes_equal_twin(ours, twin)


@given(problems(n_columns=(3, 5), styles=tuple(DISCRETE), targets=tuple(LABELS), single=(False,)))
def test_changes_of_all_discrete_blocks_equal_twin(problem):
    columns, knn = problem.columns, problem.knn()
    ours = knn.without_each(range(len(columns)))
    assert_changes_equal_twin(ours, reference.without_each(columns, problem.target, **problem.options))
    ours = knn.with_each([0, 1], range(2, len(columns)))
    assert_changes_equal_twin(ours, reference.with_each(columns[:2], columns[2:], problem.target, **problem.options))


@settings(max_examples=4)
@given(problems(n_columns=(20, 40), n_rows=(60, 120)))
def test_changes_of_wide_blocks_equal_twin(problem):
    columns, knn = problem.columns, problem.knn()
    ours = knn.without_each(range(len(columns)))
    assert_changes_equal_twin(ours, reference.without_each(columns, problem.target, **problem.options))
    ours = knn.with_each(range(10), range(10, len(columns)))
    assert_changes_equal_twin(ours, reference.with_each(columns[:10], columns[10:], problem.target, **problem.options))


@pytest.mark.parametrize(
    ("metric", "target_style"), list(zip(METRICS, ["tiny", "normal", "tiny", "normal"], strict=True))
)
@pytest.mark.parametrize("styles", [["normal"] * 5, MIXED, list(DISCRETE)], ids=["plain", "mixed", "discrete"])
def test_changes_of_larger_tables_equal_twin(styles, metric, target_style):
    problem = make_problem(3, 200, styles, target_style, metric=metric, n_neighbors=5)
    columns, knn = problem.columns, problem.knn()
    ours = knn.without_each(range(len(columns)))
    assert_changes_equal_twin(ours, reference.without_each(columns, problem.target, **problem.options))
    ours = knn.with_each([0, 1, 2], range(len(columns)))  # some candidates are in the block already
    assert_changes_equal_twin(ours, reference.with_each(columns[:3], columns, problem.target, **problem.options))


@pytest.mark.parametrize("target_style", ["three", "normal"])
@pytest.mark.parametrize("metric", ["chebyshev", "manhattan", "euclidean"])
def test_changes_are_differences_of_single_estimates(metric, target_style):
    problem = make_problem(4, 150, MIXED, target_style, metric=metric)
    knn = problem.knn()
    target, block = [knn.table.target], list(range(problem.n_columns))
    whole = knn.mutual_information(block, target)
    without = [knn.mutual_information([*block[:f], *block[f + 1 :]], target) - whole for f in block]
    assert_allclose(knn.without_each(block).change, without, **CLOSE)
    before = knn.mutual_information(block[:3], target)
    with_one = [knn.mutual_information([*block[:3], f], target) - before for f in block]
    ours = knn.with_each(block[:3], block)
    assert_allclose(ours.before, before, **CLOSE)
    assert_allclose(ours.change, with_one, **CLOSE)


def test_all_distances_tie():
    rng = np.random.default_rng(0)
    X = rng.permuted(np.eye(30), axis=0)[:, :6]
    y = np.arange(30) % 2
    for metric in METRICS:
        case = Case({f"c{j}": X[:, j] for j in range(6)}, {f"c{j}": "continuous" for j in range(6)}, y, "discrete")
        problem = Problem(case, metric=metric)
        ours = problem.knn().without_each(range(6))
        assert_changes_equal_twin(ours, reference.without_each(problem.columns, problem.target, **problem.options))


def test_equal_rows_change_nothing():
    case = Case(
        {f"c{j}": np.repeat([0.0, 1.0], 10) for j in range(4)},
        {f"c{j}": "continuous" for j in range(4)},
        np.tile([0, 1], 10),
        "discrete",
    )
    for metric in METRICS:
        for changes in (
            Problem(case, metric=metric).knn().without_each(range(4)),
            Problem(case, metric=metric).knn().with_each([0], [1, 2, 3]),
        ):
            assert_array_equal(changes.change, 0)
            assert np.all(np.isfinite(changes.error))


def test_huge_columns_beside_tiny_ones_keep_their_ties():
    """Subtracting one column from a sum must not leave rounding where the rest ties."""
    rng = np.random.default_rng(5)
    columns = {
        "huge": rng.normal(size=80) * 1e9,
        "grid": rng.integers(0, 3, size=80) * 0.1,
        "fine": rng.integers(0, 3, size=80) * 0.7,
        "tiny": rng.integers(0, 3, size=80) * 1e-6,
    }
    case = Case(columns, dict.fromkeys(columns, "continuous"), rng.integers(0, 2, size=80), "discrete")
    for metric in ("manhattan", "euclidean", "chebyshev"):
        problem = Problem(case, scale=None, metric=metric)
        ours = problem.knn().without_each(range(4))
        assert_changes_equal_twin(ours, reference.without_each(problem.columns, problem.target, **problem.options))


# Some rows only


@pytest.mark.parametrize("target_style", ["tiny", "grid"])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_are_the_centres_of_a_mean(metric, target_style):
    problem = make_problem(6, 120, MIXED, target_style, metric=metric)
    columns, target, knn, options = problem.columns, problem.target, problem.knn(), problem.options
    block, everything = range(len(columns)), np.arange(problem.n_rows)
    assert_same_bits(knn.without_each(block, rows=everything), knn.without_each(block))
    assert_same_bits(knn.with_each([0, 2], block, rows=everything), knn.with_each([0, 2], block))
    rows = np.sort(np.random.default_rng(1).choice(problem.n_rows, size=40, replace=False))
    twin = reference.without_each(columns, target, rows=rows, **options)
    assert_changes_equal_twin(knn.without_each(block, rows=rows), twin)
    twin = reference.with_each([columns[0], columns[2]], columns, target, rows=rows, **options)
    assert_changes_equal_twin(knn.with_each([0, 2], block, rows=rows), twin)


@pytest.mark.parametrize("target_style", ["tiny", "three", "normal"])
def test_order_of_rows_asked_changes_nothing(target_style):
    problem = make_problem(6, 150, MIXED, target_style)
    knn, rows = problem.knn(), np.random.default_rng(2).permutation(150)[:50]
    for ask in (knn.without_each, lambda block, rows: knn.with_each([0, 2], block, rows)):
        assert_changes_equal(ask(range(9), rows), ask(range(9), np.sort(rows)), **SAME)


def test_rows_of_classes_of_one_sample_are_left_out():
    problem = make_problem(6, 60, MIXED, "tiny")
    knn = problem.knn()
    single = np.flatnonzero(problem.case.target == "single")
    rows = np.arange(5, 30)
    expected = knn.without_each(range(9), rows=np.setdiff1d(rows, single))
    assert_same_bits(knn.without_each(range(9), rows=np.union1d(rows, single)), expected)


@pytest.mark.parametrize("target_style", ["three", "normal"])
@pytest.mark.parametrize("metric", ["chebyshev", "manhattan", "euclidean"])
def test_error_is_positive_and_honest(metric, target_style):
    """The change seen from some rows lies within 4 errors of the one seen from all, in at least 95 of 100 tries."""
    styles = ["normal"] * 4 + ["grid", "strings", "inflated"]
    problem = make_problem(7, 300, styles, target_style, metric=metric)
    knn, rng = problem.knn(), np.random.default_rng(0)
    asks = [lambda rows: knn.without_each(range(7), rows), lambda rows: knn.with_each([0, 4], [1, 2, 3, 5, 6], rows)]
    for ask in asks:
        whole = ask(None)
        assert np.all(np.isfinite(whole.error))
        assert np.all(whole.error > 0)
        tries = [ask(np.sort(rng.choice(300, size=60, replace=False))) for _ in range(100)]
        assert all(np.all(np.isfinite(few.error)) and np.all(few.error > 0) for few in tries)
        hits = np.mean([np.abs(few.change - whole.change) <= 4 * few.error for few in tries], axis=0)
        assert np.all(hits >= 0.95)


# What must not change a result


def every_method(knn, n_columns, rows=None):
    """Values of every method, flat, in the order of the columns asked about."""
    columns = range(n_columns)
    results = [
        knn.relevance(columns),
        *(knn.pairwise(columns, column) for column in (0, 2)),
        *(knn.joint(columns, selected) for selected in ([0], [1], [2], [0, 1], [0, 1, 2], [0, 1, 2, 3, 4, 5])),
        *knn.without_each(columns, rows),
        *knn.without_each([0, 1], rows),
        *knn.with_each([0, 1, 2], columns, rows),
        *knn.with_each([2], columns, rows),
        [knn.mutual_information(columns, [knn.table.target])],
        [knn.mutual_information([0, 1], [knn.table.target])],
        [knn.mutual_information([0, 2], [1, 3])],
        [knn.conditional([0, 1], [knn.table.target], [2, 3])],
        [knn.entropy(column) for column in columns],
    ]
    return np.concatenate([np.atleast_1d(result) for result in results])


@pytest.mark.parametrize(("metric", "target_style"), [*((metric, "tiny") for metric in METRICS), ("auto", "normal")])
def test_number_of_jobs_changes_no_bit(metric, target_style):
    problem = make_problem(9, 300, MIXED, target_style, metric=metric)
    rows = np.arange(0, 300, 2)
    expected = every_method(problem.knn(), 9)
    assert_array_equal(every_method(problem.knn(n_jobs=2), 9), expected)
    one, two = (problem.knn(n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_same_bits(one.without_each(range(9), rows), two.without_each(range(9), rows))
    assert_same_bits(one.with_each([0, 2], range(9), rows), two.with_each([0, 2], range(9), rows))


@pytest.mark.parametrize("target_style", ["tiny", "normal", "grid"])
@pytest.mark.parametrize("metric", METRICS)
def test_order_of_rows_changes_nothing(metric, target_style):
    problem = make_problem(10, 140, MIXED, target_style, metric=metric)
    order = np.random.default_rng(1).permutation(140)
    columns = {name: values[order] for name, values in problem.case.columns.items()}
    shuffled = replace(problem, case=replace(problem.case, columns=columns, target=problem.case.target[order]))
    assert_allclose(every_method(shuffled.knn(), 9), every_method(problem.knn(), 9), **SAME)


@pytest.mark.parametrize("target_style", ["tiny", "normal", "grid"])
@pytest.mark.parametrize("metric", METRICS)
def test_order_of_columns_changes_nothing(metric, target_style):
    problem = make_problem(11, 140, MIXED, target_style, metric=metric)
    order = np.random.default_rng(1).permutation(9)
    names = [f"c{place}" for place in order]
    case = replace(problem.case, columns={name: problem.case.columns[name] for name in names})
    ours, shuffled = problem.knn(), replace(problem, case=case).knn()
    place = np.argsort(order)
    assert_allclose(shuffled.relevance(place), ours.relevance(range(9)), **SAME)
    assert_allclose(shuffled.pairwise(place, place[0]), ours.pairwise(range(9), 0), **SAME)
    for selected in ([0], [0, 2], [0, 1, 2, 3]):
        assert_allclose(shuffled.joint(place, place[selected[::-1]]), ours.joint(range(9), selected), **SAME)
        assert_changes_equal(shuffled.with_each(place[selected], place), ours.with_each(selected, range(9)), **SAME)
    theirs = shuffled.without_each(range(9))
    theirs = Changes(theirs.before, theirs.change[place], theirs.error[place])
    assert_changes_equal(theirs, ours.without_each(range(9)), **SAME)


def test_two_rows():
    case = Case({"a": np.array([0.0, 1.0]), "b": np.array([5.0, 5.0])}, dict.fromkeys("ab", "continuous"), None, "")
    for target, kind in ((np.array([0.5, 2.5]), "continuous"), (np.array(["x", "x"], dtype=object), "discrete")):
        if kind == "discrete":
            with pytest.raises(ValueError, match="one class only"):
                Problem(replace(case, target=target, target_kind=kind)).knn()
            continue
        problem = Problem(replace(case, target=target, target_kind=kind))
        assert_allclose(
            problem.knn().relevance([0, 1]),
            reference.relevance(problem.columns, problem.target, clip=False, **problem.options),
            **CLOSE,
        )


# Duplicates


@pytest.mark.parametrize("target_style", ["three", "normal"])
def test_duplicated_column_has_no_unique_part_in_the_maximum_norm(target_style):
    problem = make_problem(12, 200, ["normal", "normal", "grid"], target_style, metric="chebyshev")
    columns = problem.case.columns
    doubled = replace(
        problem.case,
        columns={**columns, "again": columns["c0"]},
        kinds={**problem.case.kinds, "again": "continuous"},
    )
    changes = replace(problem, case=doubled).knn().without_each(range(4))
    assert changes.change[0] == 0
    assert changes.change[3] == 0
    assert changes.change[1] != 0


@pytest.mark.parametrize("metric", ["chebyshev", "manhattan"])
def test_a_block_of_levels_with_a_metric_of_its_own_is_not_counted(rng, metric):
    """Its value is that of neighbours, and so is its interval, which was that of counts."""
    X = rng.integers(0, 3, (200, 2))
    y = X.sum(axis=1) + rng.integers(0, 2, 200) > 2
    knn = KNN(metric=metric).on(Table.from_data(X, y, discrete_features=True))
    assert knn.counts([0, 2])
    assert not knn.counts([0, 1, 2])
    assert KNN().on(knn.table).counts([0, 1, 2])
    found = mutual_information(X, y, mi_estimator=KNN(metric=metric), discrete_features=True, confidence_level=0.95)
    counted = mutual_information(X, y, discrete_features=True, confidence_level=0.95)
    assert found.value != counted.value
    assert (found.low, found.high) != (counted.low, counted.high)


def test_more_neighbours_than_rows_are_named(rng):
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    with pytest.warns(UnirelWarning, match="n_neighbors=8 is more than the 7 other rows; 7 are used"):
        most = relevance(X, y, mi_estimator=KNN(8))
    assert_array_equal(most, relevance(X, y, mi_estimator=KNN(7)))
