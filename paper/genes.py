"""Two genes of Colon that the boost should find, and the ranks of the genes that the paper names.

Runs, numbers of features and classifiers are those of `accuracy_ksg`, and its journal with the same preset serves here.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paper import accuracy_ksg
from paper.accuracy import PRESETS, TITLES, Asked, Outcomes, Preset, choose_preset
from paper.datasets import load
from paper.protocol import Labels, Outcome, Values, count_correct, seed_of, split_rows
from paper.selectors import Criterion
from paper.tables import ReplayTables, Row, Rows, read_expected
from unirel import KNN, UnirelWarning, unique_relevance

PAIR = ("Hsa.8", "Hsa.1132")
ALGORITHMS = ("MIM-BUR-KSG", "MIM-BUR-REF", "GSA-BUR-KSG", "GSA-BUR-REF")
BOOSTS = {"BUR-KSG": "ksg", "BUR-REF": "reference"}
# How far ranks are followed.
N_RANKS = {"smoke": 10, "small": 30, "medium": 500, "full": 500}


def compute(asked: Asked) -> ReplayTables:
    """Both tables."""
    chosen = choose_preset(PRESETS, replace(asked, datasets=("colon",)))
    outcomes = Outcomes(accuracy_ksg.TABLE.outcomes("colon", chosen, asked))
    subsets = _subsets(outcomes, chosen, asked.data)
    ranks = [row for name in ("colon", "leukemia") for row in _ranks(name, N_RANKS[asked.preset], asked.data)]
    page: list[str | Rows] = [
        f"Settings: preset {asked.preset}: {chosen.in_words(outcomes.n_runs())} Three neighbours, euclidean distances.",
        f"Test accuracy on Colon in percent with the genes that were selected (S), without {' and '.join(PAIR)}, "
        "and with both of them, beside the paper's; and in how many runs, over the classifiers, S has one of them. "
        "BUR-REF is not in the paper.",
        subsets,
        "Rank in the selection from all rows, without and with the boost (beta 0.1), and by unique relevance (UR) "
        "alone if that is above 0. An entry such as > 30 was not among that many. MIM without boost ranks by "
        "relevance. Once I(S; y) of GSA has reached its limit, ranks follow the order of the columns.",
        ranks,
    ]
    tables = {"genes_subsets": subsets, "genes_ranks": ranks}
    return ReplayTables("genes", "Genes", page, tables)


def _subsets(outcomes: Outcomes, preset: Preset, folder: Any) -> list[Row]:
    """Three rows for each algorithm."""
    bunch = load("colon", folder)
    X, y = np.asarray(bunch.data, float), np.unique(bunch.target, return_inverse=True)[1]
    pair = [list(bunch.feature_names).index(name) for name in PAIR]
    paper = {(row["algorithm"], " without " in row["subset"]): row for row in read_expected("colon_two_genes")}
    rows = []
    for algorithm in ALGORITHMS:
        groups = {name: list(outcomes.of("colon", name, algorithm).values()) for name in preset.classifiers}
        found = {name: _accuracies(X, y, group, pair) for name, group in groups.items()}
        chosen = [outcome for group in groups.values() for outcome in group]
        row: Row = {"algorithm": algorithm, "n_runs": preset.n_runs}
        row["selected either"] = f"{sum(bool(set(pair) & set(one.features)) for one in chosen)} of {len(chosen)}"
        for position, subset in enumerate(("S", "S without both", "S with both")):
            published = paper.get((algorithm, position == 1)) if position < 2 else None
            rows.append({**row, "subset": subset, **_beside(found, position, published)})
    return rows


def _accuracies(X: Values, y: Labels, group: Sequence[Outcome], pair: Sequence[int]) -> Values:
    """Test accuracies in percent, a row for each outcome: of its features, without the pair, and with it."""
    found = []
    for outcome in group:
        split, seed = split_rows(y, outcome.run), seed_of(outcome.run, "classifier")
        rest = sorted(set(outcome.features) - set(pair))
        accuracies = []
        for columns in (sorted(outcome.features), rest, sorted({*rest, *pair})):
            if columns:
                counts = count_correct(outcome.classifier, X, y, split, columns, seed)
                # Of the setting with the best validation accuracy, the first of equals.
                accuracies.append(float(counts[np.argmax(counts[:, 0]), 1] / len(split.test)))
            else:  # the pair was all that was selected; the larger class is then the best guess
                accuracies.append(float(np.mean(y[split.test] == np.bincount(y[split.train]).argmax())))
        found.append(accuracies)
    return 100 * np.array(found).reshape(-1, 3)


def _beside(found: Mapping[str, Values], position: int, published: Mapping[str, str] | None) -> Row:
    cells: Row = {}
    for name in ("knn", "svm", "rf"):
        ours = float(found[name][:, position].mean()) if name in found and len(found[name]) else None
        paper = float(published[f"{name}_percent"]) if published else None
        cells[name] = None if ours is None else round(ours, 1)
        cells[f"{name} paper"] = paper
        cells[f"{name} difference"] = None if ours is None or paper is None else round(ours - paper, 1)
    return cells


def _ranks(dataset: str, n_ranks: int, folder: Any) -> list[Row]:
    """A row for each named gene and criterion."""
    bunch = load(dataset, folder)
    names = [str(name).split("_")[0] for name in bunch.feature_names]
    X, y = np.asarray(bunch.data, float), np.unique(bunch.target, return_inverse=True)[1]
    orders: dict[tuple[str, str], list[int]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)  # no unique relevance at all is an answer here
        neighbors = KNN(metric="euclidean", correction=None)
        unique = np.asarray(unique_relevance(X, y.astype(str), method=neighbors))
        known: dict[Any, Any] = {("unique", "ksg", None): unique.clip(0.0)}
        for criterion in TITLES:
            # Without pairs or blocks a ranking of all features costs next to nothing.
            limit = len(names) if criterion == "mim" else min(n_ranks, len(names))
            for boost, kind in {"plain": "none", **BOOSTS}.items():
                selector = Criterion(criterion, kind, (accuracy_ksg.BETA,), "euclidean")
                ((_, orders[criterion, boost]),) = selector.orders(X, y, limit, "", 0, known)
    order_by_unique = [int(position) for position in np.argsort(-unique, kind="stable") if unique[position] > 0]
    rows = []
    for gene in [row["feature"] for row in read_expected("interpretable_features") if row["dataset"] == dataset]:
        position = names.index(gene)
        for criterion, title in TITLES.items():
            row: Row = {"dataset": dataset, "gene": gene, "features": len(names), "criterion": title}
            row["UR"] = _rank(order_by_unique, position) if position in order_by_unique else "none"
            rows.append(row | {name: _rank(orders[criterion, name], position) for name in ("plain", *BOOSTS)})
    return rows


def _rank(order: Sequence[int], position: int) -> str:
    return str(order.index(position) + 1) if position in order else f"> {len(order)}"
