"""How many bins for a continuous target? Scores with 8, with 4, and with what "auto" means, on fifteen tables.

`python -m benchmarks.quality_bins --data DIR [--splits 4] [--jobs 1] [--output DIR]`. None of these tables is among
those of `benchmarks.quality`, whose models, sizes and splits it shares: the choice was made here, and is judged there.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata, wilcoxon
from sklearn import datasets
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.quality import MOST_FEATURES, Table, areas_of
from benchmarks.quality_selectors import PEERS, Order, ours
from paper.datasets import load
from paper.tables import ReplayTables
from unirel import Binned

SELECTORS: dict[str, Order] = {
    "8 bins": ours(mi_estimator=Binned(8)),
    "4 bins": ours(mi_estimator=Binned(4)),
    "auto": ours(),
    "auto, no boost": ours(beta=0),
    "8 bins, no boost": ours(mi_estimator=Binned(8), beta=0),
    **{name: PEERS[name] for name in ("scikit-learn: lasso path", "scikit-learn: F ranking")},
}


def _among_noise(X: np.ndarray, y: np.ndarray, n_columns: int, seed: int) -> Table:
    """Standardised columns, and others that have nothing to do with them."""
    noise = np.random.default_rng(seed).normal(size=(len(y), n_columns))
    return np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), noise]), y


def _interactions(n_samples: int, seed: int) -> Table:
    """A product, a sine and an absolute value; ten columns have a noisy copy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 60))
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * np.abs(X[:, 4]) + 0.3 * rng.normal(size=n_samples)
    X[:, 10:20] = X[:, :10] + 0.3 * rng.normal(size=(n_samples, 10))
    return X, y


def _column(name: str, position: int, n_rows: int) -> Callable[[str | None], Table]:
    """One column of a dataset, from those that are not nearly the same."""

    def make(data_home: str | None) -> Table:
        X = datasets.load_breast_cancer().data if name == "breast_cancer" else load(name, data_home).data
        X = np.asarray(X, float)
        X = X[np.random.default_rng(0).choice(len(X), min(n_rows, len(X)), replace=False)]
        y, rest = X[:, position], np.delete(X, position, axis=1)
        with np.errstate(invalid="ignore"):  # constant columns
            alike = np.abs(np.corrcoef(rest.T, y)[-1, :-1])
        return rest[:, np.nan_to_num(alike) < 0.9], y

    return make


def _linear(*shape: int, seed: int, **more: float) -> Callable[[str | None], Table]:
    return lambda _: datasets.make_regression(*shape[:2], n_informative=shape[2], random_state=seed, **more)


def _friedman(n_samples: int, n_features: int, seed: int, noise: float = 1.0) -> Callable[[str | None], Table]:
    return lambda _: datasets.make_friedman1(n_samples, n_features, noise=noise, random_state=seed)


def _digits(_: str | None) -> Table:
    """The number that an image shows, a trifle blurred."""
    X, y = datasets.load_digits(return_X_y=True)
    return X[:700], y[:700] + 0.01 * np.random.default_rng(0).normal(size=700)


TABLES: dict[str, Callable[[str | None], Table]] = {
    "friedman 1, 300 x 50": _friedman(300, 50, 14),
    "friedman 1, 150 x 400": _friedman(150, 400, 15),
    "friedman 1, 2,000 x 30": _friedman(2000, 30, 16, noise=2.0),
    "friedman 2, 250 x 60": lambda _: _among_noise(*datasets.make_friedman2(250, noise=50, random_state=17), 56, 17),
    "friedman 3, 400 x 40": lambda _: _among_noise(*datasets.make_friedman3(400, noise=0.1, random_state=18), 36, 18),
    "linear, 200 x 60": _linear(200, 60, 15, seed=19, noise=60),
    "linear, 100 x 300": _linear(100, 300, 6, seed=20, noise=20),
    "low rank, 300 x 120": _linear(300, 120, 10, seed=21, effective_rank=10, noise=1),
    "interactions, 400 x 60": lambda _: _interactions(400, 22),
    "interactions, 1,500 x 60": lambda _: _interactions(1500, 23),
    "column 10 of sonar": _column("sonar", 10, 208),
    "column 7 of gas_sensor": _column("gas_sensor", 7, 800),
    "column 100 of isolet": _column("isolet", 100, 600),
    "column 9 of breast_cancer": _column("breast_cancer", 9, 569),
    "number in digits": _digits,
}


def measure(name: str, data_home: str | None, split: int) -> dict[str, float]:
    """Area in percent of every selector."""
    X, y = TABLES[name](data_home)
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, random_state=split)
    found = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for selector, order in SELECTORS.items():
            chosen = np.asarray(order(X[train], y[train], min(MOST_FEATURES, X.shape[1]), "numbers"), np.intp)
            found[selector] = 100 * float(np.mean(areas_of(chosen, "numbers", X, y, train, test)))
    return found


def summarise(found: dict[str, list[dict[str, float]]]) -> tuple[list[dict], list[dict]]:
    """A row for each table, and one for each selector."""
    means = np.array([[np.mean([one[s] for one in splits]) for s in SELECTORS] for splits in found.values()])
    by_table = [
        {"table": name, **dict(zip(SELECTORS, np.round(row, 1).tolist(), strict=True))}
        for name, row in zip(found, means, strict=True)
    ]
    ranks, first = np.mean([rankdata(-row) for row in means], axis=0), means[:, 0]
    rows = []
    for position, selector in enumerate(SELECTORS):
        row = {
            "selector": selector,
            "area": round(means[:, position].mean(), 2),
            "mean rank": round(ranks[position], 2),
        }
        gain = means[:, position] - first
        row |= {"ahead of 8 bins by": round(gain.mean(), 2), "better on": f"{int((gain > 0).sum())} of {len(gain)}"}
        rows.append(row | {"p": float(f"{wilcoxon(gain).pvalue:.2g}") if np.any(gain) else None})
    return rows, by_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality_bins", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with the paper's datasets; UNIREL_DATA if not given")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, metavar="DIR", help="where tables are written")
    given = parser.parse_args()
    keys = [(name, split) for name in TABLES for split in range(given.splits)]
    pool = Parallel(n_jobs=given.jobs, return_as="generator", batch_size=1)
    found: dict[str, list[dict[str, float]]] = {}
    for key, areas in zip(keys, pool(delayed(measure)(name, given.data, split) for name, split in keys), strict=True):
        found.setdefault(key[0], []).append(areas)
        print(f"{key}: {areas}", flush=True)
    rows, by_table = summarise(found)
    page = [__doc__.split("\n")[0], "Over tables:", rows, "By table:", by_table]
    tables = ReplayTables("quality_bins", "Bins for continuous targets", page, {"quality_bins": rows})
    print(tables.to_markdown())
    if given.output is not None:
        tables.write(given.output)


if __name__ == "__main__":
    main()
