"""How many extraneous columns do selectors choose? As many as there are original ones are added, of three kinds.

`python -m benchmarks.validity --data DIR [--selectors NAMES] [--splits 2] [--journal FILE] [--output DIR]`, on tables,
selectors and splits of `benchmarks.quality`. After Cherepanova et al. (2023), "A performance-driven benchmark for
feature selection in tabular deep learning". A share is that of extraneous columns among the first 10 and the first 40
features that are selected, at most as many as there are original columns. Lost is how many points of area the same
selector has less than without extraneous columns. Rows of the output that are not measured stay as they are, so a
single selector can be measured again, with a journal of its own.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.quality import (
    KINDS,
    MOST_FEATURES,
    SELECTORS,
    Frame,
    Key,
    area,
    asked_names,
    load_table,
    measured,
    parser_of,
    present,
    read_journal,
    read_rows,
    scores_of,
    split_rows,
    write,
)
from benchmarks.quality_selectors import is_category

# All of the paper's and of "more" with 10 to 500 columns of numbers, and fewer of categories.
TABLES = (
    *("sonar", "madelon", "gas_sensor", "arrhythmia", "covtype_100k", "spambase"),
    *("communities_crime", "blog_feedback", "chicago_ridership", "hotel_rates", "tecator"),
)
COMPARED = (
    *("unirel (default)", "unirel without boost", "scikit-learn: MI ranking", "scikit-learn: F ranking"),
    *("scikit-learn: lasso path", "scikit-learn: forest importance", "LightGBM: gain"),
)
FIRST = (10, MOST_FEATURES)
Row = dict[str, Any]


def random_columns(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Gaussian noise for each column of numbers; the values of each category in another order."""

    def made(column: pd.Series) -> Any:
        return column.array[rng.permutation(len(X))] if is_category(column) else rng.normal(size=len(X))

    return pd.DataFrame({name: made(column) for name, column in X.items()}, index=X.index)


def corrupted_columns(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Half of each column of numbers, standardised, and half Gaussian noise."""
    numbers = numbers_of(X)
    spread = numbers.std(ddof=0).replace(0.0, 1.0)
    return 0.5 * (numbers - numbers.mean()) / spread + 0.5 * rng.normal(size=numbers.shape)


def products(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Each column of numbers times another one, drawn at random."""
    numbers = numbers_of(X)
    n_columns = numbers.shape[1]
    others = (np.arange(n_columns) + rng.integers(1, n_columns, n_columns)) % n_columns
    return numbers * numbers.to_numpy()[:, others]


def numbers_of(X: pd.DataFrame) -> pd.DataFrame:
    """The columns that are no categories; a missing value stays one in what is made of it."""
    return X.loc[:, [not is_category(column) for _, column in X.items()]].astype(float)


EXTRANEOUS: dict[str, Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]] = {
    "none": lambda X, _: X.iloc[:, :0],
    "random": random_columns,
    "corrupted": corrupted_columns,
    "second-order": products,
}


def with_extraneous(X: pd.DataFrame, extraneous: str, split: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Original and extraneous columns, and which are extraneous; shuffled, as many selectors break ties by position."""
    rng = np.random.default_rng([split, list(EXTRANEOUS).index(extraneous)])
    made = EXTRANEOUS[extraneous](X, rng)
    both = pd.concat([X, made.add_prefix(f"{extraneous} ")], axis=1)
    positions = rng.permutation(both.shape[1])
    return both.iloc[:, positions], positions >= X.shape[1]


def measure(key: Key, table: Frame) -> dict[str, Any]:
    """The record of a piece: for each kind of extraneous columns, which of the selected are such, and the area."""
    (name, split, selector), (kind, X, y) = key, table
    train, test = split_rows(kind, y, split)
    n_features = min(MOST_FEATURES, X.shape[1])
    record: dict[str, Any] = {"dataset": name, "split": split, "selector": selector}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for extraneous in EXTRANEOUS:
            both, is_extraneous = with_extraneous(X, extraneous, split)
            order = np.asarray(SELECTORS[selector](both.iloc[train], y[train], n_features, kind), np.intp)
            scores = scores_of(order, kind, both, y, train, test)
            found = {"picks": is_extraneous[order].astype(int).tolist(), "area": area({"scores": scores}, n_features)}
            record[extraneous] = found
    return record


def share(picks: list[int], first: int) -> float:
    """Percentage of extraneous columns among the first that are selected."""
    return 100 * float(np.mean(picks[:first]))


def run(names: list[str], selectors: list[str], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Records of all pieces, those in the journal not again; one split of everything before the next."""
    tables = {name: load_table(name, given.data) for name in names}
    wanted = [(name, split, s) for split in range(given.splits) for s in selectors for name in names]
    records = read_journal(given.journal)
    missing = [key for key in wanted if key not in records]
    for done, record in enumerate(measured(missing, tables, given.journal, given.jobs, measure), start=1):
        key = record["dataset"], record["split"], record["selector"]
        records[key] = record
        shares = [f"{kind} {share(record[kind]['picks'], MOST_FEATURES):.1f}" for kind in EXTRANEOUS if kind != "none"]
        print(f"{done} of {len(missing)}: {key}: {', '.join(shares)}", flush=True)
    return [records[key] for key in wanted]


def summarise(records: list[dict[str, Any]], known: list[Row]) -> list[Row]:
    """A row for each kind of extraneous columns, dataset and selector: of what was measured, or else as it is known."""
    rows = {(row["extraneous"], row["dataset"], row["selector"]): row for row in known}
    pieces: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        pieces.setdefault((record["dataset"], record["selector"]), []).append(record)
    kinds = [kind for kind in EXTRANEOUS if kind != "none"]
    rows |= {(kind, *key): _row_of(kind, *key, own) for kind in kinds for key, own in pieces.items()}
    keys = [(kind, name, selector) for kind in kinds for name in KINDS for selector in SELECTORS]
    return [rows[key] for key in keys if key in rows]


def _row_of(extraneous: str, name: str, selector: str, records: list[dict[str, Any]]) -> Row:
    row: Row = {"extraneous": extraneous, "dataset": name, "selector": selector, "splits": len(records)}
    for first in FIRST:
        shares = [share(record[extraneous]["picks"], first) for record in records]
        row[f"share of first {first}"] = round(float(np.mean(shares)), 1)
    lost = [100 * (record["none"]["area"] - record[extraneous]["area"]) for record in records]
    return row | {"lost": round(float(np.mean(lost)), 2)}


def overall(rows: list[Row]) -> list[Row]:
    """Means over the datasets that all selectors have been tried on, with standard errors over these."""
    table = pd.DataFrame(rows)
    tried = table.groupby("dataset")["selector"].nunique()
    common = table[table["dataset"].isin(tried.index[tried == table["selector"].nunique()])]
    found = []
    for (extraneous, selector), own in common.groupby(["extraneous", "selector"], sort=False):
        row: Row = {"extraneous": extraneous, "selector": selector, "datasets": len(own)}
        for column in [*(f"share of first {first}" for first in FIRST), "lost"]:
            error = own[column].std(ddof=1) / len(own) ** 0.5
            row |= {column: round(own[column].mean(), 1), f"error, {column}": round(error, 1)}
        found.append(row)
    kinds, by = list(EXTRANEOUS), f"share of first {MOST_FEATURES}"
    return sorted(found, key=lambda row: (kinds.index(row["extraneous"]), row[by]))


def main() -> None:
    parser = parser_of("python -m benchmarks.validity", __doc__, splits=2, journal="build/validity.jsonl")
    given = parser.parse_args()
    names = asked_names(given.datasets, KINDS, parser) if given.datasets else list(TABLES)
    compared = [name for name in COMPARED if name in SELECTORS]
    selectors = asked_names(given.selectors, SELECTORS, parser) if given.selectors else compared
    rows = summarise(run(present(names, given, parser), selectors, given), read_rows(given.output, "validity"))
    write("Validity of selections, in percent", rows, overall(rows), given.output, "validity")


if __name__ == "__main__":
    main()
