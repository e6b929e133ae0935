"""Two genes of Colon that the boost should find, and the ranks of the genes that the paper names.

Runs, numbers of features and classifiers are those of `accuracy_ksg`, and its journal with the same preset serves here.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unirel.classifiers.registry import CLASSIFIERS, Labels, Values
from unirel.datasets import load
from unirel.errors import UnirelWarning
from unirel.evaluation import Outcome
from unirel.evaluation.plan import seed_of, split_rows
from unirel.evaluation.scoring import count_correct
from unirel.experiments import Asked, accuracy_ksg
from unirel.experiments.accuracy import PRESETS, TITLES, Outcomes, Preset, choose_preset, evaluate
from unirel.experiments.tables import ReplayTables, Row, Rows, read_expected
from unirel.options import PUBLISHED
from unirel.search.folds import stop_if_interrupted
from unirel.search.path import selection_path
from unirel.search.unique import unique_relevance

PAIR = ("Hsa.8", "Hsa.1132")
ALGORITHMS = ("MIM-BUR-KSG", "MIM-BUR-REF", "GSA-BUR-KSG", "GSA-BUR-REF")
BOOSTS = {"BUR-KSG": "ksg", "BUR-REF": "reference"}
# How far ranks are followed.
N_RANKS = {"smoke": 10, "small": 30, "medium": 500, "full": 500}
_SEED = 0


def compute(asked: Asked) -> ReplayTables:
    """Both tables."""
    chosen = choose_preset(PRESETS, replace(asked, datasets=("colon",)))
    evaluations = evaluate(chosen, accuracy_ksg.selectors, asked)
    outcomes = Outcomes(evaluations[0])
    subsets = _subsets(outcomes, chosen, asked.data_home)
    complete = evaluations[-1].complete
    named = ("colon", "leukemia") if complete else ()
    ranks = [row for name in named for row in _ranks(name, N_RANKS[asked.preset], asked.data_home, asked.n_jobs)]
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
    return ReplayTables("genes", "Genes", page, tables, complete)


def _subsets(outcomes: Outcomes, preset: Preset, data_home: Any) -> list[Row]:
    """Three rows for each algorithm."""
    bunch = load("colon", data_home)
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, np.int64)
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
        split = split_rows(y, _SEED, outcome.run)
        rest = sorted(set(outcome.features) - set(pair))
        subsets = [np.array(columns, np.intp) for columns in (sorted(outcome.features), rest, sorted({*rest, *pair}))]
        seed = seed_of(_SEED, outcome.run, "classifier")
        # Nothing is left where the pair was all that was selected; the larger class is then the best guess.
        known = [columns for columns in subsets if len(columns)]
        counts = iter(count_correct(CLASSIFIERS[outcome.classifier].classifier, X, y, split, known, seed))
        guess = float(np.mean(y[split.test] == np.bincount(y[split.train]).argmax()))
        found.append([_tuned(next(counts), len(split.test)) if len(columns) else guess for columns in subsets])
    return 100 * np.array(found).reshape(-1, 3)


def _tuned(counts: Any, n_test: int) -> float:
    """Test accuracy of the setting with the best validation accuracy, the first of equals."""
    return float(counts[np.argmax(counts[:, 0]), 1] / n_test)


def _beside(found: Mapping[str, Values], position: int, published: Mapping[str, str] | None) -> Row:
    cells: Row = {}
    for name in ("knn", "svm", "rf"):
        ours = float(found[name][:, position].mean()) if name in found and len(found[name]) else None
        paper = float(published[f"{name}_percent"]) if published else None
        cells[name] = None if ours is None else round(ours, 1)
        cells[f"{name} paper"] = paper
        cells[f"{name} difference"] = None if ours is None or paper is None else round(ours - paper, 1)
    return cells


def _ranks(dataset: str, n_ranks: int, data_home: Any, n_jobs: int | None) -> list[Row]:
    """A row for each named gene and criterion."""
    bunch = load(dataset, data_home)
    names = [str(name).split("_")[0] for name in bunch.feature_names]
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target)
    orders: dict[tuple[str, str], list[int]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnirelWarning)  # No unique relevance at all is an answer here.
        unique = np.asarray(unique_relevance(X, y, metric="euclidean", n_jobs=n_jobs))
        for boost, kind in BOOSTS.items():
            for criterion in TITLES:
                # Without pairs or blocks a ranking of all features costs next to nothing.
                limit = len(names) if criterion == "mim" else min(n_ranks, len(names))
                path = selection_path(
                    X,
                    y,
                    **PUBLISHED,
                    criteria=criterion,
                    betas=(0.0, accuracy_ksg.BETA),
                    n_features_to_select=limit,
                    unique_relevance=unique.clip(0.0) if kind == "ksg" else kind,
                    metric="euclidean",
                    n_jobs=n_jobs,
                )
                stop_if_interrupted(path)
                orders[criterion, "plain"] = list(path.order(criterion, 0.0))
                orders[criterion, boost] = list(path.order(criterion, accuracy_ksg.BETA))
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
