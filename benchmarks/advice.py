"""Does the advice of a report hold? Its number of features on rows it has not seen, and the likeness it speaks of.

`python -m benchmarks.advice --data DIR [--splits 3] [--journal FILE] [--output DIR]`, on the tables and splits of
`benchmarks.quality`. In each split the report sees 60 % of the rows. The model that it names is then trained on them
with every number of features that it compared, and scored on the other rows. Lost is how much less the recommended
number scores than the best one, in standard errors of a score on the rows of one split; what is best is known only
afterwards, so a little is lost by chance. A statement that two features are alike is supported if their rank
correlation or their adjusted mutual information in ten bins is at least 0.8, on all rows.
"""

import re
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.quality import (
    MORE,
    Frame,
    Key,
    asked_names,
    encoded,
    load_table,
    markdown,
    measured,
    parser_of,
    present,
    read_journal,
    split_rows,
)
from benchmarks.quality_selectors import is_category
from unirel import BURSelector
from unirel.predictors import quick_models
from unirel.report import Report

SUPPORTED, N_BINS = 0.8, 10
# How a report says of a feature that it is like another, whose name follows.
LIKE = re.compile(r"(?:nearly the same as|near copy of|near copies of|redundant with) ", re.IGNORECASE)
Row = dict[str, Any]


def measure(key: Key, table: Frame) -> Row:
    """What a report recommends and says of likeness in one split, and the scores that judge it."""
    (name, split, _), (kind, X, y) = key, table
    train, test = split_rows(kind, y, split)
    selector = BURSelector(target_type="discrete" if kind == "classes" else "continuous", n_jobs=1)
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        report = Report.from_data(X.iloc[train], y[train], selector=selector)
        record = {"dataset": name, "split": split, "selector": "report", "why": report.no_accuracy}
        if report.accuracy is not None:
            record |= _judged(report, kind, X, y, train, test)
    answer = report.to_dict()
    alike = [{"a": a, "b": b, **likeness(X[a], X[b])} for a, b in sorted(set(pairs_of(answer)))]
    return record | {"alike": alike, "seconds": round(time.process_time() - start, 2)}


def _judged(report: Report, kind: str, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Row:
    accuracy: Any = report.accuracy
    found = accuracy.to_dict()
    sizes = [row["n"] for row in found["curve"]]
    model = quick_models(kind == "classes")[accuracy.method]
    blocks = [encoded(X.iloc[:, feature], train) for feature in report.selection.order]
    constant = np.full(len(test), pd.Series(y[train]).mode()[0] if kind == "classes" else y[train].mean())
    held = {0: _score(kind, constant, y[test])}
    for size in sizes:
        columns = np.hstack(blocks[:size])
        held[size] = _score(kind, model.fit(columns[train], y[train]).predict(columns[test]), y[test])
    means = {one.method: np.round(one.means, 5).tolist() for one in (accuracy, *accuracy.others)}
    scores = {size: [round(value, 5) for value in pair] for size, pair in held.items()}
    return {"enough": accuracy.enough, "method": accuracy.method, "held": scores, "sizes": sizes, "means": means}


def _score(kind: str, predicted: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy or R2, and its standard error over the rows."""
    if kind == "classes":
        rows = (predicted == y).astype(float)
        return float(rows.mean()), float(rows.std() / len(y) ** 0.5)
    squares, spread = (y - predicted) ** 2, (y - y.mean()) ** 2
    lost = squares.mean() / spread.mean()
    # To the first order, what each row adds to the quotient of two means.
    rows = (squares - lost * spread) / spread.mean()
    return float(1 - lost), float(rows.std() / len(y) ** 0.5)


def pairs_of(answer: Row) -> Iterator[tuple[str, str]]:
    """Names of every two features that the answer of a report calls alike."""
    names = sorted((row["name"] for row in answer["features"]), key=len, reverse=True)
    for group in answer["groups"]:
        members = [member["name"] for member in group["members"]]
        yield from combinations(members, 2)
        # A feature that was not selected is like one of the members.
        yield from ((members[0], other) for other in group["others"] if len(members) == 1)
    for row in answer["features"]:
        for said in (row["why"], row["heading"]):
            for match in LIKE.finditer(said):
                rest = said[match.end() :].lstrip("'\"")
                yield from ((row["name"], name) for name in [n for n in names if rest.startswith(n)][:1])


def likeness(a: pd.Series, b: pd.Series) -> Row:
    """Rank correlation, 0 for categories, and adjusted mutual information in bins."""
    numbers = not is_category(a) and not is_category(b)
    rank = abs(a.astype(float).corr(b.astype(float), method="spearman")) if numbers else 0.0
    shared = adjusted_mutual_info_score(_levels(a), _levels(b))
    return {"rank": round(float(np.nan_to_num(rank)), 3), "adjusted": round(float(shared), 3)}


def _levels(column: pd.Series) -> np.ndarray:
    binned = column
    if not is_category(column) and column.nunique() > N_BINS:
        binned = pd.qcut(column.astype(float).rank(), N_BINS, duplicates="drop")
    return pd.factorize(binned, use_na_sentinel=False)[0]


def row_of(name: str, records: list[Row]) -> Row:
    """The line of a table: how much its advice loses, and how many statements of likeness are not supported."""
    alike = [pair for record in records for pair in record["alike"]]
    bad = [pair for pair in alike if max(pair["rank"], pair["adjusted"]) < SUPPORTED]
    judged = [record for record in records if not record["why"]]
    row: Row = {"dataset": name, "task": MORE[name], "splits": len(records), "recommended": "", "best": ""}
    row |= {"score": None, "best score": None, "standard error": None, "lost": None}
    if judged:
        row |= lost_by([record["enough"] or 0 for record in judged], judged)
    return row | {"alike": len(alike), "not supported": "; ".join(f"{pair['a']} ~ {pair['b']}" for pair in bad)}


def lost_by(numbers: list[int], records: list[Row]) -> Row:
    """What some numbers of features, one for each split, lose against the one that is best over the splits."""
    held = [{int(size): pair for size, pair in record["held"].items()} for record in records]
    shared = sorted(set.intersection(*(set(one) for one in held)))
    means = {size: float(np.mean([one[size][0] for one in held])) for size in shared}
    best = max(means, key=means.__getitem__)
    score = float(np.mean([one[n][0] for one, n in zip(held, numbers, strict=True)]))
    error = float(np.mean([one[best][1] for one in held]))
    lost = (means[best] - score) / error if error else 0.0
    shown = {"score": score, "best score": means[best], "standard error": error}
    row: Row = {"recommended": ", ".join(map(str, numbers)), "best": best}
    return row | {title: round(value, 3) for title, value in shown.items()} | {"lost": round(lost, 2)}


def main() -> None:
    parser = parser_of("python -m benchmarks.advice", __doc__, splits=3, journal="build/advice.jsonl")
    given = parser.parse_args()
    names = present(asked_names(given.datasets, MORE, parser), given, parser)
    tables = {name: load_table(name, given.data) for name in names}
    wanted: list[Key] = [(name, split, "report") for split in range(given.splits) for name in names]
    records = read_journal(given.journal)
    missing = [key for key in wanted if key not in records]
    for done, record in enumerate(measured(missing, tables, given.journal, given.jobs, measure), start=1):
        records[record["dataset"], record["split"], "report"] = record
        print(f"{done} of {len(missing)}: {record['dataset']}, {record['seconds']:.1f} s", flush=True)
    rows = [row_of(name, [records[key] for key in wanted if key[0] == name]) for name in names]
    print(markdown(rows))
    if given.output is not None:
        given.output.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(given.output / "advice.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
