"""Extraneous columns of the benchmark of validity, and the shares of them that it reports."""

import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
from benchmarks import validity  # noqa: E402

MADE = ["random", "corrupted", "second-order"]
F_RANKING, MI_RANKING = "scikit-learn: F ranking", "scikit-learn: MI ranking"


@pytest.fixture
def mixed(rng):
    """Twelve columns of numbers, the last of which is constant and the first of which has gaps, and two categories."""
    numbers = rng.gamma(2.0, size=(2000, 12)) * np.arange(1, 13)
    numbers[:, 11], numbers[:40, 0] = 7.0, np.nan
    X = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(12)])
    X["city"] = pd.Categorical(rng.choice(["a", "b", "c"], 2000, p=[0.6, 0.3, 0.1]))
    return X.assign(word=rng.choice(["on", "off", None], 2000))


@pytest.mark.parametrize(
    ("extraneous", "n_made"), [("none", 0), ("random", 14), ("corrupted", 12), ("second-order", 12)]
)
def test_each_column_that_it_can_be_made_of_has_one_extraneous_one(mixed, extraneous, n_made):
    both, is_extraneous = validity.with_extraneous(mixed, extraneous, split=0)
    assert is_extraneous.sum() == n_made
    assert both.columns.is_unique
    pd.testing.assert_frame_equal(both.loc[:, ~is_extraneous][list(mixed)], mixed)


@pytest.mark.parametrize("extraneous", MADE)
def test_they_depend_on_the_split_and_on_nothing_else(mixed, extraneous):
    first, again, other = (validity.with_extraneous(mixed, extraneous, split)[0] for split in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other[list(first)])
    # Columns stand in no order that tells which are extraneous.
    assert list(first) != list(other)


def test_random_columns_are_independent_of_the_table(mixed, rng):
    made = validity.random_columns(mixed, rng)
    numbers, own = validity.numbers_of(mixed).drop(columns="x11").fillna(0.0), made.drop(columns=["city", "word"])
    correlations = np.corrcoef(numbers.to_numpy().T, own.to_numpy().T)[:11, 11:]
    assert np.abs(correlations).max() < 4.5 / 2000**0.5
    for name in ("city", "word"):
        assert made[name].dtype == mixed[name].dtype
        assert made[name].value_counts(dropna=False).to_dict() == mixed[name].value_counts(dropna=False).to_dict()
        both_on_top = ((made[name] == "a") & (mixed[name] == "a")) | ((made[name] == "on") & (mixed[name] == "on"))
        top = (mixed[name].isin(["a", "on"])).mean()
        assert both_on_top.mean() == pytest.approx(top**2, abs=0.03)


def test_corrupted_columns_are_half_column_half_noise(mixed):
    made = validity.corrupted_columns(mixed, np.random.default_rng(5))
    noise = np.random.default_rng(5).normal(size=(2000, 12))
    for j in range(12):
        x = mixed[f"x{j}"]
        known = [value for value in x if value == value]
        mean = sum(known) / len(known)
        spread = (sum((value - mean) ** 2 for value in known) / len(known)) ** 0.5 or 1.0
        expected = [((value - mean) / spread + e) / 2 for value, e in zip(x, noise[:, j], strict=True)]
        np.testing.assert_allclose(made[f"x{j}"], expected, atol=1e-12)


def test_second_order_columns_are_products_with_another_column(mixed, rng):
    made = validity.products(mixed, rng)
    numbers = validity.numbers_of(mixed)
    assert list(made) == list(numbers)
    for name in made:
        others = [other for other in numbers if made[name].equals(numbers[name] * numbers[other])]
        assert len(others) == 1
        assert others != [name]


@pytest.fixture
def fixed(monkeypatch):
    """A selector that takes an extraneous column at every third step, and is asked for what it should be."""
    asked = []

    def order(X, y, n_features, kind):
        asked.append((X.shape, n_features))
        extraneous = [j for j, name in enumerate(X) if name.startswith(tuple(MADE))]
        original = [j for j in range(X.shape[1]) if j not in extraneous]
        steps = range(n_features)
        return [(extraneous if step % 3 == 2 and extraneous else original).pop() for step in steps]

    monkeypatch.setitem(validity.SELECTORS, "fixed", order)
    return asked


def test_share_is_that_among_the_first_selected(fixed, rng):
    X = pd.DataFrame(rng.normal(size=(60, 14)), columns=[f"x{j}" for j in range(14)])
    record = validity.measure(("wine", 0, "fixed"), ("classes", X, np.arange(60) % 2))
    # 60 % of the rows select, of at most as many features as there are original columns.
    assert fixed == [((36, 14), 14), *[((36, 28), 14)] * 3]
    assert record["none"]["picks"] == [0] * 14
    for extraneous in MADE:
        assert record[extraneous]["picks"] == [int(step % 3 == 2) for step in range(14)]
        row = next(row for row in validity.summarise([record], []) if row["extraneous"] == extraneous)
        assert row["share of first 10"] == pytest.approx(100 * 3 / 10)
        assert row["share of first 40"] == pytest.approx(100 * 4 / 14, abs=0.05)
        lost = record["none"]["area"] - record[extraneous]["area"]
        assert row["lost"] == pytest.approx(100 * lost, abs=0.005)


def test_means_and_standard_errors_are_over_tables_that_all_were_tried_on():
    def row(dataset, selector, share):
        shares = {"share of first 10": share, "share of first 40": share / 2, "lost": -share}
        return {"extraneous": "random", "dataset": dataset, "selector": selector, "splits": 2} | shares

    shares = {"wine": 10.0, "sonar": 20.0, "digits": 60.0}
    rows = [row(name, F_RANKING, share) for name, share in shares.items()]
    rows += [row("wine", MI_RANKING, 1.0), row("sonar", MI_RANKING, 2.0), row("digits", MI_RANKING, 3.0)]
    rows += [row("diabetes", F_RANKING, 100.0)]
    better, worse = validity.overall(rows)
    assert (better["selector"], worse["selector"]) == (MI_RANKING, F_RANKING)
    assert worse["datasets"] == 3
    assert worse["share of first 10"] == worse["share of first 40"] * 2 == -worse["lost"] == 30.0
    variance = ((10 - 30) ** 2 + (20 - 30) ** 2 + (60 - 30) ** 2) / 2
    assert worse["error, share of first 10"] == pytest.approx((variance / 3) ** 0.5, abs=0.05)


@pytest.mark.slow
def test_one_selector_is_measured_again_and_the_rows_of_others_stay(tmp_path, monkeypatch, capsys):
    def run(journal, *selectors):
        arguments = ["--datasets", "wine", "--selectors", ";".join(selectors), "--splits", "1"]
        files = ["--journal", str(tmp_path / journal), "--output", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["validity", *arguments, *files])
        validity.main()
        return pd.read_csv(tmp_path / "validity.csv"), capsys.readouterr().out

    first, _ = run("journal", F_RANKING, MI_RANKING)
    assert len(first) == len(MADE) * 2
    again, printed = run("journal", F_RANKING, MI_RANKING)
    assert "1 of" not in printed
    pd.testing.assert_frame_equal(again, first)

    monkeypatch.setitem(validity.SELECTORS, F_RANKING, lambda X, y, n_features, kind: np.arange(n_features))
    after, printed = run("another journal", F_RANKING)
    assert "1 of 1: ('wine', 0, 'scikit-learn: F ranking')" in printed
    ours, theirs = (after["selector"] == name for name in (F_RANKING, MI_RANKING))
    pd.testing.assert_frame_equal(after[theirs], first[theirs])
    assert not after[ours].equals(first[ours])
    over = pd.read_csv(tmp_path / "validity_overall.csv")
    assert set(over["extraneous"]) == set(MADE)
    assert (tmp_path / "validity.md").read_text(encoding="utf-8").count(MI_RANKING) == 2 * len(MADE)
