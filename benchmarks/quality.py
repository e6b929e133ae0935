"""Is the answer good? Accuracy of models on what selectors choose, ours beside those that people use instead.

`python -m benchmarks.quality --data DIR [--splits 5] [--journal FILE] [--output DIR]`, or `make quality`. Finished
pieces are kept in the journal, so a run that was stopped goes on. In each split 60 % of the rows select features and
train, 40 % score.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata, wilcoxon
from sklearn import datasets as sklearn_datasets
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks.quality_selectors import OURS, PEERS, Order
from unirel.datasets import load
from unirel.evaluation.journal import Journal
from unirel.experiments.tables import ReplayTables
from unirel.folds import score_prefixes

MOST_ROWS, MOST_FEATURES = 2_500, 40
# Beyond 10 features every second, then every fourth number: the curve is flat there.
SIZES = [*range(1, 11), *range(12, 21, 2), *range(24, 41, 4)]
DEFAULT = "unirel (default)"
MODELS = {
    "classes": (KNeighborsClassifier(5), LinearDiscriminantAnalysis(), DecisionTreeClassifier(random_state=0)),
    "numbers": (KNeighborsRegressor(5), Ridge(), DecisionTreeRegressor(random_state=0, min_samples_leaf=5)),
}
PAPER = ("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor")
Table = tuple[np.ndarray, np.ndarray]


def _small_classes() -> Table:
    """Digits with ten rows of each class, of which six select and train."""
    X, y = sklearn_datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == label), 10, replace=False) for label in range(10)])
    return X[rows], y[rows]


def _made(*options: int, **more: float) -> Callable[[], Table]:
    n_samples, n_features, n_informative, seed = options
    return lambda: sklearn_datasets.make_classification(
        n_samples, n_features, n_informative=n_informative, n_redundant=n_informative, random_state=seed, **more
    )


# The trial that chose the weights had the paper's datasets; whether it had the others is not recorded, and these made
# designs it cannot have had.
MADE: dict[str, tuple[str, Callable[[], Table]]] = {
    "made, 300 x 100": ("classes", _made(300, 100, 6, 1)),
    "made, 200 x 2,000": ("classes", _made(200, 2000, 5, 2, class_sep=1.5)),
    "made, 1,500 x 60, 5 classes": ("classes", _made(1500, 60, 8, 3, n_classes=5)),
    "digits, 6 rows per class": ("classes", _small_classes),
    "friedman 1, 500 x 30": ("numbers", lambda: sklearn_datasets.make_friedman1(500, 30, noise=1.0, random_state=4)),
    "linear, 300 x 100": (
        "numbers",
        lambda: sklearn_datasets.make_regression(300, 100, n_informative=10, noise=30.0, random_state=5),
    ),
    "friedman 1, 200 x 200": ("numbers", lambda: sklearn_datasets.make_friedman1(200, 200, noise=1.0, random_state=6)),
    "low rank, 400 x 80": (
        "numbers",
        lambda: sklearn_datasets.make_regression(400, 80, n_informative=8, effective_rank=15, noise=2, random_state=7),
    ),
}
BUILT_IN = {"breast_cancer": "classes", "wine": "classes", "digits": "classes", "diabetes": "numbers"}
NAMES = (*PAPER, *BUILT_IN, *MADE)


def load_table(name: str, data_home: str | None) -> tuple[str, np.ndarray, np.ndarray]:
    """Kind of the target, features and target, cut to some rows where there are many."""
    if name in MADE:
        kind, make = MADE[name]
        X, y = make()
    else:
        bunch = load(name, data_home)
        kind, X, y = BUILT_IN.get(name, "classes"), np.asarray(bunch.data, float), np.asarray(bunch.target)
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
        X, y = X[rows], y[rows]
    return kind, X, y


def measure(name: str, data_home: str | None, split: int, selector: str) -> dict[str, object]:
    """Area under the curve of scores over numbers of features, for each model, and the seconds of the selection."""
    kind, X, y = load_table(name, data_home)
    strata = y if kind == "classes" else None
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, stratify=strata, random_state=split)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        order = np.asarray((OURS | PEERS)[selector](X[train], y[train], min(MOST_FEATURES, X.shape[1]), kind), np.intp)
        seconds = time.perf_counter() - start
        return {"areas": areas_of(order, kind, X, y, train, test), "seconds": seconds}


def areas_of(order: np.ndarray, kind: str, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> list:
    """Mean score over numbers of features, in their order of selection, for each model."""
    sizes = [size for size in SIZES if size <= min(MOST_FEATURES, X.shape[1])]

    def score_of(model: object, columns: np.ndarray) -> float:
        known, unknown = X[np.ix_(train, columns)], X[np.ix_(test, columns)]
        # Some models refuse columns that are all constant, as some selectors choose them.
        if np.ptp(known, axis=0).max() == 0:
            model = DummyClassifier() if kind == "classes" else DummyRegressor()
        return float(model.fit(known, y[train]).score(unknown, y[test]))

    def score(model: object) -> float:
        fitted = make_pipeline(StandardScaler(), clone(model))
        curve = score_prefixes([order], sizes, lambda columns: score_of(fitted, columns))[0]
        # A selector that names too few features keeps the score of what it has.
        return float(np.mean(np.where(np.isnan(curve), np.nanmax(curve, initial=-1.0), curve)))

    return [score(model) for model in MODELS[kind]]


def suits(order: Order, kind: str, X: np.ndarray, _: np.ndarray) -> bool:
    """Whether a selector is tried on a table: some take hours on many columns, some know classes only."""
    known = getattr(order, "kinds", ("classes", "numbers"))
    return kind in known and X.shape[1] <= getattr(order, "most_columns", 10**6)


def run(
    names: list[str], selectors: list[str], data_home: str | None, n_splits: int, journal: Path, n_jobs: int
) -> dict:
    """All pieces, those in the journal not again; by dataset, selector and split."""
    versions = {"format": "1"}
    with Journal(journal, {"sizes": SIZES, "most_rows": MOST_ROWS}, versions) as records:
        asked = {selector: order for selector, order in (OURS | PEERS).items() if selector in selectors}
        tables = {name: load_table(name, data_home) for name in names}
        suited = [
            (name, selector)
            for name, table in tables.items()
            for selector, order in asked.items()
            if suits(order, *table)
        ]
        wanted = [(name, split, selector) for split in range(n_splits) for name, selector in suited]
        missing = [key for key in wanted if key not in records]
        pool = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)
        tasks = (delayed(measure)(name, data_home, split, selector) for name, split, selector in missing)
        for done, (key, record) in enumerate(zip(missing, pool(tasks), strict=True), start=1):
            records.add(key, record)
            print(f"{done} of {len(missing)}: {key}", flush=True)
        return {key: records[key] for key in wanted}


def summarise(found: dict, known: list[dict]) -> list[dict]:
    """A row for each dataset and selector: of what was found, or else as it is known."""
    rows = {(row["dataset"], row["selector"]): row for row in known}
    for name, selector in dict.fromkeys((name, selector) for name, _, selector in found):
        own = [record for (n, _, s), record in found.items() if (n, s) == (name, selector)]
        values = 100 * np.array([np.mean(record["areas"]) for record in own])
        error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
        seconds = float(np.median([record["seconds"] for record in own]))
        row = {"dataset": name, "selector": selector, "splits": len(own), "area": round(values.mean(), 2)}
        rows[name, selector] = row | {"standard error": round(error, 2), "seconds": round(seconds, 3)}
    return [rows[name, selector] for name in NAMES for selector in OURS | PEERS if (name, selector) in rows]


def overall(rows: list[dict]) -> list[dict]:
    """A row for each selector over the datasets of a group, where all took part."""
    areas = {(row["dataset"], row["selector"]): float(row["area"]) for row in rows}
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    return [row for group in groups_of(names).items() for row in _over(areas, *group)]


def _read_rows(folder: Path | None) -> list[dict]:
    """Rows of an earlier run, which stay unless they are measured anew."""
    path = None if folder is None else folder / "quality.csv"
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def groups_of(names: list[str]) -> dict[str, list[str]]:
    """Datasets that had a part in the choice of the default, and those that had none."""
    paper = [name for name in names if name in PAPER]
    built_in = [name for name in names if name in BUILT_IN]
    made = [name for name in names if name in MADE]
    numbers = [name for name in names if MADE.get(name, ("",))[0] == "numbers" or BUILT_IN.get(name) == "numbers"]
    groups = {"the paper's (had a part in the choice)": paper, "scikit-learn's": built_in, "made (no part)": made}
    groups["continuous targets (of the two above)"] = numbers
    return {title: group for title, group in (groups | {"all": names}).items() if group}


def _over(areas: dict, title: str, names: list[str]) -> list[dict]:
    everywhere = [s for s in OURS | PEERS if all((name, s) in areas for name in names)]
    means = np.array([[areas[name, selector] for selector in everywhere] for name in names])
    ranks = np.mean([rankdata(-row) for row in means], axis=0)
    rows = []
    for position in np.argsort(ranks, kind="stable"):
        selector = everywhere[position]
        difference = means[:, everywhere.index(DEFAULT)] - means[:, position]
        row = {"datasets": title, "n": len(names), "selector": selector, "area": round(means[:, position].mean(), 2)}
        row |= {"mean rank": round(ranks[position], 2), "default ahead by": round(difference.mean(), 2)}
        row["default better on"] = f"{int((difference > 0).sum())} of {len(names)}" if selector != DEFAULT else ""
        tested = selector != DEFAULT and len(names) > 4 and np.any(difference)
        rows.append(row | {"p": float(f"{wilcoxon(difference).pvalue:.2g}") if tested else None})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with the paper's datasets; UNIREL_DATA if not given")
    parser.add_argument("--datasets", metavar="NAMES", help="only these, separated by semicolons")
    parser.add_argument("--selectors", metavar="NAMES", help="only these, separated by semicolons")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--journal", type=Path, default=Path("build/quality.jsonl"))
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="where tables are written; rows there stay unless measured"
    )
    given = parser.parse_args()
    names = given.datasets.split(";") if given.datasets else list(NAMES)
    given.journal.parent.mkdir(parents=True, exist_ok=True)
    selectors = given.selectors.split(";") if given.selectors else [*OURS, *PEERS]
    pieces = run(names, selectors, given.data, given.splits, given.journal, given.jobs)
    rows = summarise(pieces, _read_rows(given.output))
    over = overall(rows)
    page = [__doc__.split("\n")[0], "Over datasets:", over, "By dataset:", rows]
    found = ReplayTables("quality", "Quality of selectors", page, {"quality": rows, "quality_overall": over})
    print(found.to_markdown())
    if given.output is not None:
        found.write(given.output)


if __name__ == "__main__":
    main()
