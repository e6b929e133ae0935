"""Is the answer good? Scores of models on what selectors choose, ours beside those that people use instead.

`python -m benchmarks.quality --data DIR [--splits 5] [--journal FILE] [--output DIR]`, or `make quality`. DIR has the
paper's tables, and more in its folder `more`, as parquet files whose last column is `target`. Finished pieces are kept
in the journal, so a run that was stopped goes on. In each split 60 % of the rows select features and train, 40 % score.
A score is accuracy or R2, and 0 where it is less: a model that is worse than a constant counts as one that is not.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import rankdata, wilcoxon
from sklearn import datasets as sklearn_datasets
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks.quality_selectors import OURS, PEERS, Order, imputed, is_category, one_hot

MOST_ROWS, MOST_FEATURES, MOST_LEVELS, FEWEST_OF_CLASS = 2_500, 40, 20, 5
# Beyond 10 features every second, then every fourth number: the curve is flat there.
SIZES = [*range(1, 11), *range(12, 21, 2), *range(24, 41, 4)]
DEFAULT = "unirel (default)"
SELECTORS = OURS | PEERS
MODELS = {
    "classes": (KNeighborsClassifier(5), LinearDiscriminantAnalysis(), DecisionTreeClassifier(random_state=0)),
    "numbers": (KNeighborsRegressor(5), Ridge(), DecisionTreeRegressor(random_state=0, min_samples_leaf=5)),
}
AREAS = {"1-10": 10, "1-40": 40}
Table = tuple[np.ndarray, np.ndarray]
Frame = tuple[str, pd.DataFrame, np.ndarray]
Key = tuple[str, int, str]


def _small_classes() -> Table:
    """Digits with ten rows of each class, of which six select and train."""
    X, y = sklearn_datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == label), 10, replace=False) for label in range(10)])
    return X[rows], y[rows]


def _classes(*options: int, **more: float) -> Callable[[], Table]:
    n_samples, n_features, n_informative, seed = options
    return lambda: sklearn_datasets.make_classification(
        n_samples, n_features, n_informative=n_informative, n_redundant=n_informative, random_state=seed, **more
    )


def _friedman(n_samples: int, n_features: int, seed: int) -> Callable[[], Table]:
    return lambda: sklearn_datasets.make_friedman1(n_samples, n_features, noise=1.0, random_state=seed)


def _linear(*options: int, **more: float) -> Callable[[], Table]:
    n_samples, n_features, n_informative, seed = options
    return lambda: sklearn_datasets.make_regression(
        n_samples, n_features, n_informative=n_informative, random_state=seed, **more
    )


MAKE: dict[str, Callable[[], Table]] = {
    "synthetic, 300 x 100": _classes(300, 100, 6, 1),
    "synthetic, 200 x 2,000": _classes(200, 2000, 5, 2, class_sep=1.5),
    "synthetic, 1,500 x 60, 5 classes": _classes(1500, 60, 8, 3, n_classes=5),
    "digits, 6 rows per class": _small_classes,
    "friedman 1, 500 x 30": _friedman(500, 30, 4),
    "linear, 300 x 100": _linear(300, 100, 10, 5, noise=30.0),
    "friedman 1, 200 x 200": _friedman(200, 200, 6),
    "low rank, 400 x 80": _linear(400, 80, 8, 7, effective_rank=15, noise=2),
}
SYNTHETIC = dict(zip(MAKE, ["classes"] * 4 + ["numbers"] * 4, strict=True))
PAPER = dict.fromkeys(("colon", "sonar", "madelon", "leukemia", "isolet", "gas_sensor"), "classes")
MORE = {
    **dict.fromkeys(("adult", "arcene", "arrhythmia", "covtype_100k", "diabetes130", "lymphoma"), "classes"),
    **dict.fromkeys(("prostate_ge", "spambase", "warppie10p"), "classes"),
    **dict.fromkeys(("california_housing", "communities_crime", "ames", "blog_feedback"), "numbers"),
    **dict.fromkeys(("chicago_ridership", "hotel_rates", "nirsoil", "permeability"), "numbers"),
    **dict.fromkeys(("riboflavin", "student_por", "tecator"), "numbers"),
}
BUILT_IN = {"breast_cancer": "classes", "wine": "classes", "digits": "classes", "diabetes": "numbers"}
GROUPS = {"paper": PAPER, "more": MORE, "sklearn": BUILT_IN, "synthetic": SYNTHETIC}
KINDS = PAPER | MORE | BUILT_IN | SYNTHETIC


def load_table(name: str, data_home: str | None) -> Frame:
    """Kind of the target, features and target, cut to some rows where there are many."""
    X, y = _read(name, data_home)
    rows = np.arange(len(y))
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
    if KINDS[name] == "classes":
        _, label, count = np.unique(y[rows], return_inverse=True, return_counts=True)
        # Both sides of a split need rows of each class.
        rows = rows[count[label] >= FEWEST_OF_CLASS]
    return KINDS[name], X.iloc[rows].reset_index(drop=True), y[rows]


def _read(name: str, data_home: str | None) -> tuple[pd.DataFrame, np.ndarray]:
    if name in MAKE:
        X, y = MAKE[name]()
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y
    if name in BUILT_IN:
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True, as_frame=True)
        return X, y.to_numpy()
    table = pd.read_parquet(path_of(name, data_home))
    return table.iloc[:, :-1], table["target"].to_numpy()


def path_of(name: str, data_home: str | None) -> Path:
    """The file of a table that is neither synthetic nor scikit-learn's."""
    folder = Path(data_home or os.environ.get("UNIREL_DATA", "."))
    return (folder / "more" if name in MORE else folder) / f"{name}.parquet"


def measure(key: Key, table: Frame) -> dict[str, Any]:
    """The record of a piece: order, score of each model for each number of features, near copies and seconds."""
    (name, split, selector), (kind, X, y) = key, table
    train, test = split_rows(kind, y, split)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        order = SELECTORS[selector](X.iloc[train], y[train], min(MOST_FEATURES, X.shape[1]), kind)
        seconds = time.perf_counter() - start
        order = np.asarray(order, np.intp)
        scores = scores_of(order, kind, X, y, train, test)
        copies = share_of_copies(X.iloc[train, order[:10]])
    record = {"dataset": name, "split": split, "selector": selector, "order": order.tolist()}
    return record | {"scores": np.round(scores, 5).tolist(), "copies": copies, "seconds": round(seconds, 4)}


def split_rows(kind: str, y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that select and train, and rows that score."""
    strata = y if kind == "classes" else None
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, stratify=strata, random_state=split)
    return train, test


def scores_of(
    order: np.ndarray, kind: str, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> list[list[float]]:
    """Score of each model for each number of features, in their order of selection."""
    blocks = [encoded(X.iloc[:, j], train) for j in order[:MOST_FEATURES]]
    sizes = [size for size in SIZES if size <= X.shape[1]]

    def score(model: Any, size: int) -> float:
        # A selector that names too few features keeps the score of what it has.
        columns = np.hstack(blocks[:size] or [np.zeros((len(y), 1))])
        # Some models refuse columns that are all constant, as some selectors choose them.
        if np.ptp(columns[train], axis=0).max() == 0:
            model = DummyClassifier() if kind == "classes" else DummyRegressor()
        return max(0.0, float(clone(model).fit(columns[train], y[train]).score(columns[test], y[test])))

    return [[score(model, size) for size in sizes] for model in MODELS[kind]]


def encoded(column: pd.Series, train: np.ndarray) -> np.ndarray:
    """The columns that stand for one feature: a standardised number, or one for each frequent level."""
    if is_category(column):
        return one_hot(column, train, MOST_LEVELS)
    values = imputed(column.to_numpy(float, na_value=np.nan)[:, None], train)
    return (values - values[train].mean()) / (values[train].std() or 1.0)


def share_of_copies(picks: pd.DataFrame) -> float:
    """Share of columns whose rank correlation with an earlier one exceeds 0.9; categories are no copies."""
    numbers = picks.loc[:, [not is_category(column) for _, column in picks.items()]]
    alike = np.nan_to_num(np.abs(numbers.corr(method="spearman").to_numpy())) > 0.9
    return float(np.tril(alike, -1).any(axis=1).sum() / max(1, picks.shape[1]))


def areas_of(order: np.ndarray, kind: str, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[float]:
    """Mean score over numbers of features for each model."""
    return [float(np.mean(curve)) for curve in scores_of(order, kind, pd.DataFrame(X), y, train, test)]


def suits(order: Order, kind: str, X: pd.DataFrame, _: np.ndarray) -> bool:
    """Whether a selector is tried on a table: some take hours on many columns, some know classes only."""
    known = getattr(order, "kinds", ("classes", "numbers"))
    return kind in known and X.shape[1] <= getattr(order, "most_columns", 10**6)


def read_journal(path: Path) -> dict[Key, dict[str, Any]]:
    """Records of finished pieces; a line that was torn as a run stopped is none."""
    records = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[record["dataset"], record["split"], record["selector"]] = record
    return records


def measured(
    keys: list[Key], tables: dict[str, Frame], journal: Path, n_jobs: int, piece: Callable[..., Any] = measure
) -> Iterator[dict[str, Any]]:
    """Records of pieces as they finish, each a line of the journal by then."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    torn = journal.exists() and journal.read_bytes()[-1:] not in (b"", b"\n")
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    with journal.open("a", encoding="utf-8") as file:
        file.write("\n" if torn else "")
        for record in pool(delayed(piece)(key, tables[key[0]]) for key in keys):
            file.write(json.dumps(record) + "\n")
            file.flush()
            yield record


def run(names: list[str], selectors: list[str], given: argparse.Namespace) -> dict[Key, dict[str, Any]]:
    """All pieces, those in the journal not again; one split of everything before the next."""
    tables = {name: load_table(name, given.data) for name in names}
    suited = [(name, selector) for selector in selectors for name in names if suits(SELECTORS[selector], *tables[name])]
    wanted = [(name, split, selector) for split in range(given.splits) for name, selector in suited]
    records = read_journal(given.journal)
    missing = [key for key in wanted if key not in records]
    for done, record in enumerate(measured(missing, tables, given.journal, given.jobs), start=1):
        key = record["dataset"], record["split"], record["selector"]
        records[key] = record
        areas = ", ".join(f"{100 * area(record, most):.1f}" for most in AREAS.values())
        print(f"{done} of {len(missing)}: {key}: areas {areas}, {record['seconds']:.2f} s", flush=True)
    return {key: records[key] for key in wanted}


def area(record: dict[str, Any], most: int) -> float:
    """Mean score over models and numbers of features up to one."""
    n_sizes = sum(size <= most for size in SIZES)
    return float(np.mean([curve[:n_sizes] for curve in record["scores"]]))


def summarise(found: dict[Key, dict[str, Any]], known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each dataset and selector: of what was found, or else as it is known."""
    rows = {(row["dataset"], row["selector"]): row for row in known}
    pieces: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for (name, _, selector), record in found.items():
        pieces.setdefault((name, selector), []).append(record)
    rows |= {key: _row_of(*key, own) for key, own in pieces.items()}
    return [rows[name, selector] for name in KINDS for selector in SELECTORS if (name, selector) in rows]


def _row_of(name: str, selector: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": name, "task": KINDS[name], "selector": selector, "splits": len(records)}
    for title, most in AREAS.items():
        values = 100 * np.array([area(record, most) for record in records])
        error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
        row |= {f"area {title}": round(float(values.mean()), 2), f"error {title}": round(float(error), 2)}
    copies = 100 * float(np.mean([record["copies"] for record in records]))
    seconds = float(np.median([record["seconds"] for record in records]))
    return row | {"copies": round(copies, 1), "seconds": round(seconds, 3)}


def groups() -> dict[str, list[str]]:
    """Names of datasets by the title of their group."""

    def of(known: Iterable[str], kind: str) -> list[str]:
        return [name for name in known if KINDS[name] == kind]

    return {
        "the paper's": list(PAPER),
        "more, classes": of(MORE, "classes"),
        "more, regression": of(MORE, "numbers"),
        "scikit-learn's": list(BUILT_IN),
        "synthetic": list(SYNTHETIC),
        "all classes": of(KINDS, "classes"),
        "all regression": of(KINDS, "numbers"),
        "all": list(KINDS),
    }


def overall(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each group and selector, by mean rank.

    It is over the datasets where all took part that are tried everywhere. A selector that is not has a row beside
    these, over fewer: compare its "ahead by" rather than its area.
    """
    known = {(row["dataset"], row["selector"]): row for row in rows}
    selectors = [selector for selector in SELECTORS if any(row["selector"] == selector for row in rows)]
    everywhere = [selector for selector in selectors if not hasattr(SELECTORS[selector], "kinds")]
    found = []
    for title, group in groups().items():
        own = []
        for selector in selectors:
            rivals = list(dict.fromkeys([*everywhere, selector]))
            names = [name for name in group if all((name, rival) in known for rival in rivals)]
            if names:
                own.append({"datasets": title, "n": len(names)} | _over(known, names, rivals, selector))
        found += sorted(own, key=lambda row: row["mean rank 1-40"])
    return found


def _over(known: dict[tuple[str, str], dict[str, Any]], names: list[str], rivals: list[str], selector: str) -> dict:
    """What a selector reached on some tables, and how far the default is ahead of it there."""
    position, row = rivals.index(selector), {"selector": selector}
    means = {t: np.array([[known[name, s][f"area {t}"] for s in rivals] for name in names]) for t in AREAS}
    row |= {f"area {t}": round(float(means[t][:, position].mean()), 2) for t in AREAS}
    row |= {f"mean rank {t}": round(float(rankdata(-means[t], axis=1)[:, position].mean()), 2) for t in AREAS}
    row |= {f"default ahead by ({t})": None for t in AREAS} | {"default better on": "", "p": None}
    if DEFAULT in rivals and selector != DEFAULT:
        ahead = {t: means[t][:, rivals.index(DEFAULT)] - means[t][:, position] for t in AREAS}
        row |= {f"default ahead by ({t})": round(float(ahead[t].mean()), 2) for t in AREAS}
        row["default better on"] = f"{int((ahead['1-40'] > 0).sum())} of {len(names)}"
        if len(names) > 4 and np.any(ahead["1-40"]):
            row["p"] = float(f"{wilcoxon(ahead['1-40']).pvalue:.2g}")
    return row | {"copies": round(float(np.mean([known[name, selector]["copies"] for name in names])), 1)}


def read_rows(folder: Path | None, name: str) -> list[dict[str, Any]]:
    """Rows of an earlier run, which stay unless they are measured anew."""
    path = None if folder is None else folder / f"{name}.csv"
    return [] if path is None or not path.exists() else pd.read_csv(path).to_dict("records")


def markdown(rows: list[dict[str, Any]]) -> str:
    shown = [["" if pd.isna(value) else str(value) for value in row.values()] for row in rows]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *shown] if rows else []
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(title: str, rows: list[dict[str, Any]], over: list[dict[str, Any]], folder: Path | None, name: str) -> None:
    """Print what was found, over datasets and by dataset, and keep it in files of a name."""
    page = "\n\n".join([f"# {title}", "Over datasets:", markdown(over), "By dataset:", markdown(rows)]) + "\n"
    print(page)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for file, table in ((name, rows), (f"{name}_overall", over)):
            pd.DataFrame(table).to_csv(folder / f"{file}.csv", index=False, lineterminator="\n")
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


def asked_names(text: str | None, known: Iterable[str], parser: argparse.ArgumentParser) -> list[str]:
    """Names between semicolons, groups by their members; all that are known if none is asked for."""
    if text is None:
        return list(known)
    names = [name for part in text.split(";") for name in GROUPS.get(part.strip(), [part.strip()])]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown: {'; '.join(unknown)}. Known are: {'; '.join(known)}")
    return list(dict.fromkeys(names))


def parser_of(prog: str, description: str, splits: int, journal: str) -> argparse.ArgumentParser:
    """The command line that benchmarks of selectors on these tables share."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--data", metavar="DIR", help="folder with the parquet files; UNIREL_DATA if not given")
    parser.add_argument("--datasets", metavar="NAMES", help=f"only these, between semicolons; or {', '.join(GROUPS)}")
    parser.add_argument("--selectors", metavar="NAMES", help="only these, between semicolons")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--journal", type=Path, default=Path(journal))
    parser.add_argument("--output", type=Path, metavar="DIR", help="for tables; rows there stay unless measured")
    return parser


def present(names: list[str], given: argparse.Namespace, parser: argparse.ArgumentParser) -> list[str]:
    """Those of some datasets that there is a file of; one that was asked for must have it."""
    absent = [name for name in names if name in PAPER | MORE and not path_of(name, given.data).exists()]
    if absent and given.datasets:
        parser.error(f"no file of {'; '.join(absent)}; give the folder with --data or UNIREL_DATA")
    if absent:
        print(f"left out, as there is no file: {'; '.join(absent)}", flush=True)
    return [name for name in names if name not in absent]


def main() -> None:
    parser = parser_of("python -m benchmarks.quality", __doc__, splits=5, journal="build/quality.jsonl")
    given = parser.parse_args()
    names = present(asked_names(given.datasets, KINDS, parser), given, parser)
    found = run(names, asked_names(given.selectors, SELECTORS, parser), given)
    rows = summarise(found, read_rows(given.output, "quality"))
    write("Quality of selectors", rows, overall(rows), given.output, "quality")


if __name__ == "__main__":
    main()
