"""The protocol of the accuracy tables: splits, tuned classifiers, and outcomes in a journal.

In each run the rows are split at random, by class, into 60 % to train, 20 % to validate and 20 % to test. A selector
orders the features by the training rows. With the first n features of that order, for each n, every setting of a
classifier is trained on the training rows and tried on the validation rows. The n with the best validation accuracy
(ties: the smallest n, then the smallest setting) gives the test accuracy.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from unirel.predictors import standardise

Values = NDArray[np.float64]
Labels = NDArray[np.int64]
Rows = NDArray[np.intp]
SEED = 0
CLASSIFIERS = ("rf", "knn", "svm")
_TREES, _NEIGHBORS, _COSTS = range(10, 101, 5), range(3, 50, 2), (0.001, 0.01, 0.1, 1.0, 10.0)


class Split(NamedTuple):
    train: Rows
    validation: Rows
    test: Rows


def split_rows(y: Labels, run: int) -> Split:
    seed = seed_of(run, "split")
    train, others = train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=seed)
    validation, test = train_test_split(others, test_size=0.5, stratify=y[others], random_state=seed)
    return Split(train, validation, test)


def seed_of(run: int, purpose: str) -> int:
    """A seed that depends on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{SEED} {run} {purpose}".encode()).digest()[:4], "little")


def settings_of(classifier: str, n_train: int) -> list[Any]:
    """Settings to try with that many training rows: trees, neighbours or costs, smallest first."""
    if classifier == "knn":
        return [number for number in _NEIGHBORS if number <= n_train] or [n_train]
    return list(_TREES if classifier == "rf" else _COSTS)


def predict(classifier: str, X: Values, y: Labels, rows: Values, seed: int) -> Labels:
    """Classes of `rows` by each setting, of shape (n_settings, n_rows); a grid costs one fit where that is exact."""
    settings = settings_of(classifier, len(y))
    if classifier == "svm":
        return np.array([LinearSVC(dual=False, C=cost).fit(X, y).predict(rows) for cost in settings])
    if classifier == "knn":
        found = KNeighborsClassifier(settings[-1]).fit(X, y).kneighbors(rows, return_distance=False)
        votes = np.cumsum(y[found][:, :, None] == np.arange(y.max() + 1), axis=1)
        return np.array([np.argmax(votes[:, number - 1], axis=1) for number in settings])
    # A forest of fewer trees consists of the first trees of a larger one with the same seed.
    forest = RandomForestClassifier(settings[-1], random_state=seed, n_jobs=1).fit(X, y)
    sums = list(accumulate(tree.predict_proba(rows) for tree in forest.estimators_))
    # Divided as a forest does, since a division may round two sums to a tie.
    return np.array([forest.classes_[np.argmax(sums[size - 1] / size, axis=1)] for size in settings])


def count_correct(classifier: str, X: Values, y: Labels, split: Split, columns: Sequence[int], seed: int) -> Labels:
    """Correct predictions of validation and test rows, of shape (n_settings, 2)."""
    inputs = X[:, np.sort(columns)]
    if classifier != "rf":
        inputs = standardise(inputs, split.train)
    others = np.concatenate([split.validation, split.test])
    right = predict(classifier, inputs[split.train], y[split.train], inputs[others], seed) == y[others]
    return np.stack([part.sum(axis=1) for part in np.split(right, [len(split.validation)], axis=1)], axis=1)


class Selector(Protocol):
    """What takes part: orders of features by the training rows, each with its weight of unique relevance."""

    def orders(
        self, X: Values, y: Labels, max_features: int, classifier: str, seed: int, known: dict[Any, Any]
    ) -> list[tuple[float | None, list[int]]]:
        """Orders to choose from by validation accuracy; `known` keeps what selectors of a run share."""

    def suits(self, classifier: str) -> bool:
        """Whether it works with a classifier."""


@dataclass(frozen=True)
class Outcome:
    """What one selector achieved with one classifier in one run on one dataset.

    Accuracies are those of the number of features and the setting that are best on the validation rows, areas the mean
    accuracy over all numbers of features, seconds those of the selection.
    """

    dataset: str
    run: int
    selector: str
    classifier: str
    beta: float | None
    n_features: int
    setting: Any
    validation_accuracy: float
    test_accuracy: float
    validation_area: float
    test_area: float
    features: tuple[int, ...]
    seconds: float

    @property
    def key(self) -> tuple[str, int, str, str]:
        return (self.dataset, self.run, self.selector, self.classifier)


class Data(NamedTuple):
    name: str
    X: Values
    y: Labels
    max_features: int


def measure(
    data: Data,
    run: int,
    selectors: Mapping[str, Selector],
    classifiers: Sequence[str],
    grid: Callable[[int], list[int]],
    done: Iterable[tuple[str, int, str, str]] = (),
) -> list[Outcome]:
    """Outcomes of one run, but for those that are done."""
    split, found = split_rows(data.y, run), []
    X, y = data.X[split.train], data.y[split.train]
    known: dict[Any, Any] = {}  # what selectors share: unique relevance, and counts of subsets that several try
    for label, selector in selectors.items():
        for classifier in classifiers:
            if not selector.suits(classifier) or (data.name, run, label, classifier) in done:
                continue
            started = time.perf_counter()
            orders = selector.orders(X, y, data.max_features, classifier, seed_of(run, "selector"), known)
            seconds = time.perf_counter() - started
            best: Outcome | None = None
            for beta, order in orders:
                outcome = _choose(data, run, split, classifier, order, grid(len(order)), known)
                outcome |= {"selector": label, "beta": beta, "seconds": seconds}
                one = Outcome(dataset=data.name, run=run, classifier=classifier, **outcome)
                best = one if best is None else max(best, one, key=_preference)
            if best is not None:
                found.append(best)
    return found


def _preference(outcome: Outcome) -> tuple[float, float, float]:
    return outcome.validation_accuracy, outcome.validation_area, -(outcome.beta or 0.0)


def _choose(
    data: Data, run: int, split: Split, classifier: str, order: list[int], sizes: list[int], known: dict[Any, Any]
) -> dict[str, Any]:
    """The number of features and the setting that are best on the validation rows."""
    counts = []
    for size in sizes:
        key = (classifier, frozenset(order[:size]))
        if key not in known:
            seed = seed_of(run, "classifier")
            known[key] = count_correct(classifier, data.X, data.y, split, order[:size], seed)
        counts.append(known[key])
    validation, test = np.moveaxis(np.array(counts), -1, 0)  # of shape (n_sizes, n_settings)
    chosen = validation.argmax(axis=1)  # the first of equals is the smallest
    positions = np.arange(len(sizes))
    best = int(validation.max(axis=1).argmax())
    valid = validation[positions, chosen] / len(split.validation)
    tested = test[positions, chosen] / len(split.test)
    return {
        "n_features": sizes[best],
        "setting": settings_of(classifier, len(split.train))[chosen[best]],
        "validation_accuracy": float(valid[best]),
        "test_accuracy": float(tested[best]),
        "validation_area": float(valid.mean()),
        "test_area": float(tested.mean()),
        "features": tuple(order[: sizes[best]]),
    }


def evaluate(
    data: Data,
    selectors: Mapping[str, Selector],
    classifiers: Sequence[str],
    n_runs: int,
    grid: Callable[[int], list[int]],
    table: str,
    journal: Path | None = None,
    n_jobs: int | None = None,
) -> list[Outcome]:
    """Outcomes of all runs: those of the journal, and those that are missing there, which are appended to it."""
    found = [] if journal is None else [one for one in read_journal(journal, table) if one.dataset == data.name]
    done = {one.key for one in found}
    tasks = (delayed(measure)(data, run, selectors, classifiers, grid, done) for run in range(n_runs))
    for outcomes in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
        if journal is not None:
            append(journal, table, outcomes)
        found += outcomes
    wanted = {
        (data.name, run, label, classifier): None
        for run in range(n_runs)
        for label, selector in selectors.items()
        for classifier in classifiers
        if selector.suits(classifier)
    }
    by_key = {one.key: one for one in found}
    return [by_key[key] for key in wanted]


def read_journal(path: Path, table: str) -> list[Outcome]:
    """Outcomes of a table with its preset, one JSON object on each line; half a line at the end is cut off."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        path.write_bytes(whole)
    records = [json.loads(line) for line in whole.splitlines()]
    mine = [record for record in records if record.pop("table") == table]
    return [Outcome(**{**record, "features": tuple(record["features"])}) for record in mine]


def append(path: Path, table: str, outcomes: Iterable[Outcome]) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps({"table": table, **asdict(outcome)}) + "\n" for outcome in outcomes)
