"""A small share of the fuzzer, always the same tables; and the fuzzer itself, which must find what is wrong."""

import itertools

import numpy as np
import pytest
from fuzz import oracle
from fuzz.checks import CHECKS, COUNTS, Case, run
from fuzz.runner import closing_line, differ_in_a_copy, draw, fuzz, fuzz_in_processes, reproducer, shrink
from fuzz.tables import EXTREME, heavy_tails, many_integers, normal, offset, rounded, sentinel

import unirel
from unirel.data.table import Table

SHARE = 160
pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="the oracle needs a long double")


@pytest.mark.parametrize("part", range(8))
def test_a_share_of_the_tables(part):
    for number in range(part, SHARE, 8):
        case = draw(2, number, extreme=False)
        problem = run(case)
        assert problem is None, f"{problem}\n{reproducer(shrink(case))}"


def test_the_share_asks_for_everything():
    cases = [draw(2, number, extreme=False) for number in range(SHARE)]
    assert {case.check for case in cases} == set(CHECKS)
    assert {case.options["criterion"] for case in cases} == set(oracle.CRITERIA)
    assert {case.options["unique_relevance"] for case in cases} == {"both", "reference", "selected", "ksg"}


def test_the_share_has_names_and_levels_of_all_kinds():
    """Whole numbers as names, that are positions of others or not, also beside texts; as many levels as rows."""
    cases = [draw(2, number, extreme=False) for number in range(SHARE)]
    names = [list(case.columns) for case in cases]
    whole = [[name for name in some if isinstance(name, int)] for some in names]
    assert any(0 < len(numbers) < len(some) for numbers, some in zip(whole, names, strict=True))
    assert any(numbers and min(numbers) >= 100 for numbers in whole)
    assert any(numbers and numbers != sorted(numbers) and max(numbers) < 100 for numbers in whole)
    shares = [
        len(set(values)) / case.n_rows
        for case in cases
        for values in case.columns.values()
        if all(isinstance(value, str) for value in values)
    ]
    assert any(0.25 <= share <= 0.5 for share in shares)
    assert any(share > 0.9 for share in shares)


def test_the_oracle_knows_every_criterion():
    from unirel.criteria import CRITERIA

    assert set(oracle.CRITERIA) == set(CRITERIA)


@pytest.mark.parametrize("before", [0, 1, 4])
def test_the_mean_over_orders_is_what_all_orders_give(before):
    for tied in range(1, 6):
        for marked in range(1, tied + 1):
            for wanted in range(1, marked + 1):
                kinds = [True] * marked + [False] * (tied - marked)
                places = [
                    [place for place, kind in enumerate(order, start=1) if kind][wanted - 1]
                    for order in itertools.permutations(kinds)
                ]
                expected = np.mean([float(oracle.psi(before + place)) for place in places])
                assert float(oracle.mean_psi(before, tied, marked, wanted)) == pytest.approx(expected, abs=1e-14)


def test_psi():
    from scipy.special import digamma

    assert [float(oracle.psi(n)) for n in range(1, 50)] == pytest.approx(digamma(np.arange(1, 50)), abs=1e-14)


def test_what_is_wrong_is_found_and_made_small(monkeypatch):
    """A relevance that is wrong for columns with a negative value leaves two rows or so of one column."""
    right = unirel.relevance

    def wrong(X, y, **options):
        values = right(X, y, **options)
        negative = (X.select_dtypes("number") < 0).any()
        return values + np.array([1e-4 if negative.get(name, False) else 0.0 for name in X.columns])

    monkeypatch.setattr(unirel, "relevance", wrong)
    lines = []
    numbers = [n for n in range(200) if draw(3, n, False).check == "relevance"]
    found = next(case for case in (draw(3, n, False) for n in numbers) if run(case) is not None)
    small = shrink(found)
    assert run(small) is not None
    assert small.n_rows <= 6
    assert len(small.columns) == 1
    program = reproducer(small).splitlines()[1:-1]
    exec("\n".join(program), {"print": lines.append})
    assert lines[0].startswith("relevance: ")


def test_the_run_counts_and_says_what_it_did(monkeypatch):
    said = []
    counts = fuzz(60, seed=4, most=5, extreme=False, say=lambda text, **_: said.append(text))
    assert counts["tables"] == sum(count for name, count in counts.items() if name.startswith("of ")) == 5
    line = closing_line(counts, 4, 1.0)
    assert line.startswith("5 tables (")
    assert " 0 wrong, seed 4, 1 s" in line
    assert said == []
    monkeypatch.setitem(CHECKS, "relevance", lambda case: 1 / 0)
    assert fuzz(60, 4, 40, False, failures=1, say=lambda text, **_: said.append(text))["wrong"] == 1
    assert "ZeroDivisionError" in said[0]
    assert "from fuzz.checks import Case, run" in said[0]


@pytest.mark.slow
def test_processes_share_the_tables(capfd):
    assert fuzz_in_processes(2, 60, seed=4, most=6, extreme=False) == 0
    assert capfd.readouterr().out.startswith("6 tables (")


def test_another_process_finds_the_same_bits():
    assert differ_in_a_copy(2, list(range(10)), extreme=False) == []


def test_what_hangs_on_rounding_is_not_decided():
    """Differences of 10 beside 1e10, or of 5 in squares, are as much as ties may differ by; each falls by itself."""
    c0 = [84, 32, 52, 70, 36, 42, 1e10, 5, 29, 68, 5, 78, 46, 10, 81, 56, 32, 62, 74, 96, 90]
    c1 = [44, 55, 66, 1e10, 76, 1, 19, 90, 49, 24, 91, 22, 25, 29, 91, 44, 31, 64, 26, 89, 96]
    target = [0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1]
    before = COUNTS["undecided"]
    assert run(Case("selection", {"c0": c0, "c1": c1}, target, {"criterion": "mrmr"})) is None
    assert COUNTS["undecided"] == before + 1


def test_what_is_far_from_the_limit_is_decided():
    columns = {"c1": [True, True, True, True, False, False], "c2": [30, -20, -45, -1, 28, 43]}
    target = [-953862.7, -953862.5, -953864.7, -953862.7, -953861.5, -953862.9]
    options = {"n_neighbors": 2, "metric": "euclidean", "estimator": "knn", "criterion": "cife"}
    before = COUNTS["undecided"]
    assert run(Case("selection", columns, target, options)) is None
    assert run(Case("selection", columns, [value + 953862 for value in target], options)) is None
    assert COUNTS["undecided"] == before


@pytest.mark.parametrize("kind", [normal, rounded, many_integers, heavy_tails, offset, sentinel, *EXTREME])
@pytest.mark.parametrize("scale", ["standard", "rank"])
def test_what_doubles_round_is_what_the_oracle_supposes(kind, scale):
    for seed in range(10):
        values = kind(np.random.default_rng(seed), 40).astype(float)
        table = Table.from_data(values[:, None], np.arange(40) % 2, discrete_features=False).scaled(scale)
        column = oracle.Column(values.tolist(), "continuous", scale)
        scaled = table.values[0]
        off = np.abs(np.abs(scaled[:, None] - scaled) - column.gaps(oracle.INFINITY))
        noise = column.noise(oracle.INFINITY)
        assert (off <= noise).all()
        assert (noise <= 1e-14 * np.max(column.offsets)).all()


def test_what_is_wrong_is_not_excused_where_something_is_undecided(monkeypatch):
    columns, target = {"c0": [10000000000.0, 35.0, 34.0, 85.0, 71.0, 44.0]}, [1, 0, 1, 1, 0, 1]
    case, before = Case("relevance", columns, target, {"n_neighbors": 2, "clip": False}), COUNTS["undecided"]
    assert run(case) is None
    assert COUNTS["undecided"] == before + 1
    right = unirel.relevance
    monkeypatch.setattr(unirel, "relevance", lambda *given, **options: right(*given, **options) + 1e-6)
    assert run(case).startswith("relevance: ")


def test_a_refusal_without_reason_is_wrong(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("y has one class only: choose another")

    monkeypatch.setattr(unirel, "relevance", refuse)
    assert run(Case("relevance", {"a": [1, 2, 3]}, [0, 1, 0])).startswith("ValueError: y has one class")
    assert run(Case("relevance", {"a": [1, 2, 3]}, [0, 0, 0])) is None


def test_a_quotient_makes_nothing_of_rounding():
    x, s = [0] * 18 + [1] * 10, [0, 1] * 14  # two columns that share nothing, and a target that is the second
    assert run(Case("selection", {"s": s, "x": x}, [*s[:-2], 1, 0], {"criterion": "mrmr_q"})) is None


def test_sums_of_a_path_are_those_of_a_single_selection():
    rng = np.random.default_rng(3)
    columns = {f"c{j}": rng.exponential(size=9).tolist() for j in range(6)}
    for seed in range(20):
        target = np.random.default_rng(seed).permutation([0, 0, 0, 0, 0, 1, 1, 1, 1]).tolist()
        assert run(Case("jobs", columns, target, {"n_bins": 5, "criterion": "jmi3", "unique_relevance": "ksg"})) is None


def test_equal_distances_at_the_limit_of_a_tie_are_moved_together():
    c0 = [63.0, 49.0, 59.0, 59.0, 39.0, 59.0, 59.0, 10000000000.0]
    c1 = [100000000000.0 + rest for rest in (91, 86, 96, 32, 35, 52, 44, 54)]
    options = {"metric": "chebyshev", "method": "reference", "criterion": "condred"}
    assert run(Case("unique", {"c0": c0, "c1": c1}, [1, 1, 1, 0, 0, 1, 0, 1], options)) is None


def test_a_pair_at_the_limit_of_a_tie_is_moved_in_every_block():
    """10 beside 1e10 again, in the block of all but the last column, and then in each of four blocks of one step."""
    c0 = [58, 48, 71, 71, 77, 35, 78, 12, 94, 42, 72, 1e10, 22, 89, 60, 25]
    c1 = [73, 29, 55, -1e12, 41, 25, 67, 37, 90, 1, 64, 90, 46, 5, 60, 0]
    last = [
        -10.1,
        -8.9,
        -9.1,
        -9.4,
        -8.7,
        -9.06,
        -9.7,
        -11.3,
        -10.3,
        -10.403,
        -10.401,
        -11.0,
        -10.09,
        -12.0,
        -9.69,
        -10.0,
    ]
    columns = {"c0": c0, "c1": c1, "c2": c1, "c4": [value / 4 for value in c1], "c5": last}
    target = [1, 1, 1, 0, 0, 1, 0, 1, 0, 2, 1, 1, 0, 0, 1, 0]
    before = COUNTS["undecided"]
    assert run(Case("selection", columns, target, {"n_bins": 3, "criterion": "mrmr"})) is None
    assert COUNTS["undecided"] == before + 1


def test_pairs_at_the_limit_of_a_tie_are_moved_together():
    """Each of three blocks loses the same tie and a fourth another one, before the third of four numbers is right."""
    columns = {"c0": [59, 49, 69, 1e10], "c1": [17, -1e12, 17, 14], "c2": [92, 1e10, 39, 14], "c3": [46, 76, 1e10, 32]}
    before = COUNTS["undecided"]
    assert run(Case("unique", columns, [1, 0, 0, 1])) is None
    assert COUNTS["undecided"] == before + 1


def test_a_ball_of_entropy_reaches_the_last_neighbour():
    case = Case(
        "irrelevance", {"c": [43.0, 96.0, 72.0, 1e10, 60.0, 51.0, 57.0]}, [2, 2, 2, 3, 2, 0, 3], {"n_neighbors": 5}
    )
    assert run(case) is None
