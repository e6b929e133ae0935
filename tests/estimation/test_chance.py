"""What counted information is by chance: against all orders of the rows, scikit-learn, and tables of pure noise."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import reference
from numpy.testing import assert_allclose
from reference import read
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import unirel
from unirel.data.table import Table
from unirel.estimation.binned import Binned
from unirel.estimation.kernels import chance, counts
from unirel.estimation.kernels.chance import COARSE, FINE, Chance, expected_information
from unirel.estimation.kernels.counts import known_n_log_n
from unirel.estimation.knn import KNN
from unirel.estimation.plugin import Plugin
from unirel.inference.likeness import compare

looked_up_by_chance = reference.from_python(counts.by_chance)


def by_chance(number, lookup, group):
    entries, begins, n_near, per_root = lookup
    return looked_up_by_chance(number, entries, *begins[group : group + 2], n_near[group], per_root[group])


added_up, expanded = reference.from_python(chance._added_up), reference.from_python(chance._expanded)
KNOWN = known_n_log_n(512)


def draw_columns(rng, n_rows):
    """Two columns with ties, rare levels and, now and then, a single level."""
    n_levels = rng.integers(1, min(n_rows, 60) + 1, size=2)
    return [np.minimum(*rng.integers(0, levels, size=(2, n_rows))) for levels in n_levels]


def sizes_of(codes):
    return np.bincount(codes).astype(float)  # of levels that are not in use too


# The expectation


@pytest.mark.parametrize("n_rows", range(1, 8))
@pytest.mark.parametrize("seed", range(3))
def test_the_mean_over_all_orders(n_rows, seed):
    x, y = draw_columns(np.random.default_rng([n_rows, seed]), n_rows)
    target = [read(y, "discrete")]
    values = [
        reference.plugin([read(x[list(order)], "discrete")], target, correction=None)
        for order in permutations(range(n_rows))
    ]
    assert expected_information(sizes_of(x), sizes_of(y)) == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 4000))
    x, y = draw_columns(rng, n_rows)
    expected = expected_mutual_information(contingency_matrix(x, y), n_rows)
    assert expected_information(sizes_of(x), sizes_of(y)) == pytest.approx(expected, abs=1e-10)
    assert expected_information(sizes_of(y), sizes_of(x)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n_rows", [2_000, 50_000, 1_000_000])
def test_the_series_goes_on_where_adding_up_ends(n_rows):
    """Where the series begins, it is as far from the sum as is said there; where a level has nearly all rows, too."""
    for a in (n_rows // 2, n_rows // 3, 900, n_rows - 5, 150):
        for mean, precision, error in ((101, FINE, 4e-10), (300, FINE, 1e-11), (11, COARSE, 1e-5 * a)):
            b, negligible = min(-(-mean * n_rows // a), n_rows), precision.negligible
            if (found := a * b / n_rows) < 400:
                added = added_up(a, b, n_rows, KNOWN, negligible)
                assert abs(expanded(a, b, found, n_rows, negligible, np.empty(13)) - added) < error


@pytest.mark.parametrize("sizes", [[3, 4], [300, 200, 1], [70_000, 29_000, 995, 5], [12_000_000, 8_000_000, 40]])
def test_what_is_looked_up_is_what_is_found(sizes):
    sizes = np.array(sizes, float)
    found, n_rows = Chance.about(sizes), int(sizes.sum())
    rows, lookup = np.unique(np.geomspace(1, n_rows, 400).astype(int)), found.lookup
    looked_up = np.array([by_chance(int(one), lookup, 0) for one in rows])
    # Levels of that many rows are at most n_rows / rows, and each adds its error, divided by n_rows.
    error = np.abs(looked_up - found.of(rows.astype(float))) / rows
    assert error.max() < 1e-11 * len(sizes)
    assert by_chance(0, lookup, 0) == 0
    assert len(lookup[0]) < 80_000


@pytest.mark.parametrize("n_rows", [200, 20_000])
def test_what_is_looked_up_within_levels(n_rows):
    """Groups of very different size, one of them empty, and classes that are missing in some."""
    rng = np.random.default_rng(n_rows)
    sizes = (np.array([[60, 30, 10], [1, 0, 0], [0, 0, 0], [0, 5, 95]]) * n_rows // 200).astype(float)
    found = Chance.within(sizes.ravel(), np.arange(0, 13, 3))
    for group in (0, 1, 3):
        total = int(sizes[group].sum())
        rows = rng.integers(0, total + 1, size=30)
        exact = Chance.about(sizes[group]).of(rows.astype(float))
        assert_allclose(found.of(rows, np.repeat([0, 30], [group + 1, 4 - group])), exact, rtol=0, atol=1e-12)
        looked_up = [by_chance(int(one), found.lookup, group) for one in rows]
        assert (np.abs(looked_up - exact) / np.maximum(rows, 1)).max() < 3e-6


def test_between_whole_numbers_it_is_between():
    found = Chance.about(np.array([30.5, 20.25]))
    values = [by_chance(size, found.lookup, 0) for size in (3.0, 3.5, 4.0)]
    assert values[1] == pytest.approx((values[0] + values[2]) / 2)
    whole = Chance.about(np.array([30.0, 20.0]))
    for size in (3.0, 10.0, 40.0):
        near = Chance.about(np.array([30.0, 20.0]) + 1e-9).of(np.array([size - 1e-9, size + 1e-9]))
        assert_allclose(near, whole.of(np.array([size, size])), rtol=0, atol=1e-6)
    assert_allclose(found.of(np.array([0.0, 50.75])), [0, 0], rtol=0, atol=0.05)


# Nothing is told by what has nothing to do with the target


def targets(rng, n_rows):
    twenty = np.sort(np.r_[0, 0, rng.integers(1, 20, size=n_rows - 2)])  # the first class has two rows
    return {
        "two classes": (np.arange(n_rows) % 2, "discrete"),
        "twenty, one tiny": (twenty, "discrete"),
        "numbers": (rng.normal(size=n_rows), "continuous"),
    }


@pytest.mark.parametrize("target", ["two classes", "twenty, one tiny", "numbers"])
@pytest.mark.parametrize("n_rows", [60, 500, 5000])
def test_the_mean_of_noise_is_nothing(n_rows, target):
    rng = np.random.default_rng([n_rows, 7])
    y, kind = targets(rng, n_rows)[target]
    for n_levels in (2, 8, 50, n_rows // 4, n_rows):
        columns = rng.integers(0, n_levels, size=(n_rows, 200))
        if n_levels == n_rows:
            columns = np.argsort(rng.random((n_rows, 200)), axis=0)
        table = Table.from_data(columns, y, discrete_features=True, target_type=kind)
        values = Binned().on(table).relevance(range(200))
        assert abs(values.mean()) <= 3 * values.std(ddof=1) / 200**0.5 + 1e-12
        if n_levels == n_rows:
            assert np.abs(values).max() < 1e-12


@pytest.mark.parametrize("correction", ["chance", "miller-madow", None])
def test_many_columns_given_others_equal_twin(correction):
    """All at once, as tests ask for them; the criteria ask for sums."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(90, 6)), rng.integers(0, 3, 90)
    columns, target = [read(column, "discrete") for column in X.T], [read(y, "discrete")]
    information = Plugin(correction=correction).on(Table.from_data(X, y, discrete_features=True))
    for given in ([4], [4, 5]):
        known = [columns[position] for position in given]
        expected = [reference.plugin([column], target, known, correction) for column in columns[:4]]
        assert_allclose(information.conditional_relevance(range(4), given), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_more_levels_are_no_advantage(weighted):
    """Weights with fractions: nearly. They stand for fewer rows, of which rare levels then seem to have too few."""
    rng = np.random.default_rng(1)
    y, weights = np.arange(800) % 3, rng.exponential(size=800) if weighted else None
    for n_levels in (2, 8, 60):
        table = Table.from_data(rng.integers(0, n_levels, size=(800, 200)), y, discrete_features=True)
        plain = Plugin(correction=None).on(table, sample_weight=weights).relevance(range(200)).mean()
        values = Plugin().on(table, sample_weight=weights).relevance(range(200))
        off = (0.25 if n_levels == 60 else 0.03) * plain if weighted else 0.0
        assert -off < values.mean() + 3 * values.std(ddof=1) / 200**0.5
        assert values.mean() < 3 * values.std(ddof=1) / 200**0.5


def test_weights_of_any_scale_are_the_same():
    rng = np.random.default_rng(2)
    X, y, weights = rng.integers(0, 9, size=(300, 4)), np.arange(300) % 3, rng.random(300)
    values = [
        Binned().on(Table.from_data(X, y, discrete_features=True), sample_weight=weights * scale).joint(range(3), [3])
        for scale in (1.0, 1e-3 / weights.sum(), 1e5, 1e200)
    ]
    for other in values[1:]:
        assert_allclose(other, values[0], rtol=0, atol=1e-7)


def test_a_name_in_every_row_tells_nothing():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"name": [f"row {k % 150}" for k in range(300)], "number": rng.normal(size=300)})
    frame["id"] = rng.permutation(300)
    options = {"discrete_features": {"name": True, "id": True}, "clip": False}
    for y in (np.arange(300) % 2, rng.normal(size=300)):
        assert unirel.relevance(frame, y, mi_estimator="binned", **options)["id"] == pytest.approx(0, abs=1e-12)
    y = rng.integers(0, 2, size=300)
    ours, plain = (unirel.relevance(frame, y, mi_estimator=KNN(correction=one), **options) for one in ("chance", None))
    assert ours["name"] < 0.05 < 0.3 < plain["name"]


def test_values_are_shown_from_0_on_and_compared_as_they_are():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 60, size=(200, 12)), np.arange(200) % 2
    raw = unirel.relevance(X, y, clip=False, discrete_features=True)
    assert (raw < 0).sum() > 2
    selector = unirel.BURSelector("mim", 12, beta=0.0, discrete_features=True).fit(X, y)
    assert_allclose(selector.relevance_, np.maximum(raw, 0), rtol=0, atol=1e-12)
    assert selector.order_.tolist() == np.argsort(-raw).tolist()


def test_copies_share_everything():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 12, size=2000)
    table = Table.from_data(
        np.column_stack([x, (x + 5) % 12, rng.integers(0, 12, size=2000)]), x % 2, discrete_features=True
    )
    shared = compare(table, np.array([1, 2]), np.array([0])).shared[:, 0]
    assert shared[0] == pytest.approx(1)
    assert shared[1] < 0.1


# Random columns beside real ones


def noisy_table(rng, n_rows):
    """Six weak signals, three of them categories, and random categories of 5 to N / 4 levels beside random numbers."""
    y = rng.integers(0, 2, size=n_rows)
    frame = {f"signal {k}": rng.normal(size=n_rows) + (0.55 + 0.05 * k) * y for k in range(3)}
    for k in range(3, 6):
        frame[f"signal {k}"] = np.where(rng.random(n_rows) < 0.5, y, rng.integers(0, 2, size=n_rows)) + 2 * (
            rng.random(n_rows) < 0.5
        )
    for n_levels in (5, 20, 60, n_rows // 4):
        frame[f"random {n_levels}"] = rng.integers(0, n_levels, size=n_rows)
    frame |= {f"random number {k}": rng.normal(size=n_rows) for k in range(4)}
    frame = pd.DataFrame(frame)
    categories = [name for name in frame if frame[name].dtype.kind == "i"]
    return frame.astype(dict.fromkeys(categories, "str")), y


@pytest.mark.parametrize("criterion", ["cmim", "jmim", "jmi"])
@pytest.mark.parametrize("n_rows", [300, 1000, 5000])
def test_signals_come_before_random_categories(n_rows, criterion):
    for seed in range(10 if n_rows < 5000 else 4):
        frame, y = noisy_table(np.random.default_rng([n_rows, seed]), n_rows)
        selector = unirel.BURSelector(criterion, 6, beta=0.0).fit(frame, y)
        names = frame.columns[selector.order_]
        n_signals = sum(name.startswith("signal") for name in names)
        assert n_signals == 6 if n_rows > 300 else n_signals >= 5
        plain = unirel.BURSelector(criterion, 4, beta=0.0, mi_estimator=Binned(correction=None)).fit(frame, y)
        assert any(name.startswith("random") for name in frame.columns[plain.order_])


@pytest.mark.parametrize("seed", range(3))
def test_signals_come_before_random_categories_by_default(seed):
    frame, y = noisy_table(np.random.default_rng(seed), 1000)
    names = frame.columns[unirel.BURSelector(n_features_to_select=6).fit(frame, y).order_]
    assert all(name.startswith("signal") for name in names)


REAL = {"diabetes130": "discrete", "hotel_rates": "continuous", "adult": "discrete"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REAL)
def test_no_random_column_comes_first_on_real_tables(name, data_home):
    """Six draws of rows of each table: none among the first six, and at most one among all first tens."""
    if not (path := data_home / "more" / f"{name}.parquet").is_file():
        pytest.skip(f"no {path.name}")
    table, found = pd.read_parquet(path), []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(table), 5000, replace=False))
        frame = table.iloc[rows].reset_index(drop=True)
        y = frame.pop("target").to_numpy()
        frame["RANDOM_zip"] = rng.integers(0, 900, size=5000).astype(str)
        frame["RANDOM_city"] = rng.integers(0, 150, size=5000).astype(str)
        frame["RANDOM_num"] = rng.normal(size=5000)
        order = unirel.BURSelector(n_features_to_select=10, target_type=REAL[name]).fit(frame, y).order_
        found += [place for place, column in enumerate(order, 1) if frame.columns[column].startswith("RANDOM")]
    assert all(place > 6 for place in found)
    assert len(found) <= 1
