"""What is to be compared: datasets, splits, and the names of all pieces of work."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from unirel.classifiers.registry import Classifier, Labels, Values, make_tuned
from unirel.datasets import load
from unirel.evaluation.selection import AnySelector, Key, OwnSelector, identify, identify_selector, make_selectors
from unirel.evaluation.wrappers import Wrapper
from unirel.options import CLASSIFIER_NAMES, check_whole_number

Rows = NDArray[np.intp]


class Split(NamedTuple):
    """Rows of one run, in random order."""

    train: Rows
    validation: Rows
    test: Rows


def split_rows(y: Labels, random_state: int, run: int) -> Split:
    """Rows to train on (60 %), to validate and to test with (20 % each), at random within each class."""
    seed = seed_of(random_state, run, "split")
    train, others = train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=seed)
    validation, test = train_test_split(others, test_size=0.5, stratify=y[others], random_state=seed)
    return Split(train, validation, test)


def seed_of(random_state: int, run: int, purpose: str) -> int:
    """A seed that depends on nothing else."""
    digest = hashlib.sha256(f"{random_state} {run} {purpose}".encode()).digest()
    return int.from_bytes(digest[:4], "little")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of numbers and its classes, ready for classifiers."""

    name: str
    X: Values
    y: Labels
    max_features: int


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is to be compared; units of work and what they depend on are named by keys."""

    datasets: list[Dataset]
    selectors: dict[str, AnySelector]
    classifiers: dict[str, Classifier]
    n_grid: Literal["all"] | int | Sequence[int]
    random_state: int

    def settings(self) -> dict[str, Any]:
        """What decides the results, as JSON holds it."""
        return {
            "datasets": {dataset.name: _fingerprint(dataset) for dataset in self.datasets},
            "selectors": {label: identify_selector(selector) for label, selector in self.selectors.items()},
            "classifiers": {name: identify(classifier) for name, classifier in self.classifiers.items()},
            "max_features": {dataset.name: dataset.max_features for dataset in self.datasets},
            "n_grid": self.n_grid,
            "random_state": self.random_state,
            "split": "stratified 60/20/20",
        }

    def baselines(self) -> dict[str, str]:
        """The plain selector of the criterion of each boosted one."""
        ours = {label: one for label, one in self.selectors.items() if isinstance(one, OwnSelector)}
        plain = {one.family: label for label, one in reversed(ours.items()) if not one.is_boosted}
        return {label: plain[one.family] for label, one in ours.items() if one.is_boosted and one.family in plain}

    def units(self, runs: Iterable[int]) -> Iterator[Key]:
        """Keys of all outcomes."""
        runs = list(runs)
        for dataset in self.datasets:
            yield from self.units_of(dataset, runs)

    def units_of(self, dataset: Dataset, runs: Iterable[int]) -> Iterator[Key]:
        """Keys of the outcomes on one dataset."""
        for run in runs:
            for label, selector in self.selectors.items():
                for name, classifier in self.classifiers.items():
                    if not isinstance(selector, Wrapper) or selector.suits(classifier):
                        yield ("outcome", dataset.name, run, label, name)

    def selection_key(self, unit: Key) -> Key:
        """Key of the orders that an outcome depends on."""
        _, dataset, run, label, classifier = unit
        depends = self.selectors[label].depends_on_classifier
        return ("selection", dataset, run, label, classifier if depends else None)

    def values_key(self, selection: Key) -> Key | None:
        """Key of the unique relevance that orders depend on."""
        _, dataset, run, label, classifier = selection
        selector = self.selectors[label]
        key = selector.values_key(classifier) if isinstance(selector, OwnSelector) else None
        return None if key is None else ("values", dataset, run, *key)

    def grid(self, n_features: int) -> list[int]:
        """Numbers of features to try."""
        tried: Iterable[int]
        if isinstance(self.n_grid, Sequence) and not isinstance(self.n_grid, str):
            tried = (size for size in self.n_grid if size < n_features)
        else:
            step = 1 if self.n_grid == "all" else self.n_grid
            tried = range(step, n_features + 1, step)
        return sorted({1, n_features, *tried})


def make_plan(
    datasets: Any,
    selectors: Any,
    classifiers: Any,
    max_features: int | Mapping[str, int],
    n_grid: Literal["all"] | int | Sequence[int],
    random_state: int,
    data_home: Any,
) -> Plan:
    """Check and read all that was asked for."""
    if n_grid != "all":
        several = isinstance(n_grid, Sequence) and not isinstance(n_grid, str)
        for size in n_grid if several else [n_grid]:  # type: ignore[union-attr]
            check_whole_number("n_grid", size, 1, or_name="all")
    chosen, trained = make_selectors(selectors), _make_classifiers(classifiers)
    for label, selector in chosen.items():
        if isinstance(selector, Wrapper) and not any(map(selector.suits, trained.values())):
            raise ValueError(f"selector {label!r}: {selector.method!r} suits none of {', '.join(trained)}; add 'rf'")
    if isinstance(datasets, str) or (isinstance(datasets, tuple) and len(datasets) == 3 and _is_table(datasets)):
        datasets = [datasets]
    tables = [_make_dataset(dataset, max_features, data_home) for dataset in datasets]
    names = [table.name for table in tables]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"datasets must be at least one, each with a name of its own, but they are {names}")
    return Plan(tables, chosen, trained, n_grid, random_state)


def _make_classifiers(classifiers: Any) -> dict[str, Classifier]:
    """Classifiers by name: a name, names, or a mapping from names of your own to names, estimators or `Tuned`."""
    if isinstance(classifiers, str):
        classifiers = [classifiers]
    if not isinstance(classifiers, Mapping):
        classifiers = {name: name for name in classifiers}
    if not classifiers:
        raise ValueError(f"classifiers is empty; name at least one of {', '.join(map(repr, CLASSIFIER_NAMES))}")
    return {str(name): make_tuned(classifier) for name, classifier in classifiers.items()}


def _is_table(dataset: tuple[Any, ...]) -> bool:
    return isinstance(dataset[0], str) and not isinstance(dataset[1], str | tuple)


def _make_dataset(dataset: Any, max_features: int | Mapping[str, int], data_home: Any) -> Dataset:
    if isinstance(dataset, str):
        bunch = load(dataset, data_home)
        dataset = (dataset, bunch.data, bunch.target)
    try:
        name, data, target = dataset
    except (TypeError, ValueError):
        raise TypeError(f"a dataset must be a name or (name, X, y), but one is {type(dataset).__name__}") from None
    X, y = _read_numbers(name, data), _read_classes(name, target)
    if len(X) != len(y):
        raise ValueError(f"dataset {name!r}: X has {len(X)} rows, y has {len(y)}; they must describe the same samples")
    wanted = max_features.get(name) if isinstance(max_features, Mapping) else max_features
    if wanted is None:
        raise ValueError(f"max_features has no number for dataset {name!r}")
    return Dataset(str(name), X, y, min(check_whole_number("max_features", wanted, 1), X.shape[1]))


def _read_numbers(name: str, data: Any) -> Values:
    try:
        X = np.array(data, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"dataset {name!r}: X must hold numbers only; encode other columns first") from error
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"dataset {name!r}: X must be a table of rows and columns, but its shape is {X.shape}")
    if not np.isfinite(X).all():
        column = int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])
        raise ValueError(f"dataset {name!r}: column {column} of X has missing or infinite values; fill them first")
    return X


def _read_classes(name: str, target: Any) -> Labels:
    labels = np.asarray(target)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"dataset {name!r}: y must be one class for each row, but its shape is {labels.shape}")
    classes, y, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"dataset {name!r}: y has one class only; choose a target that varies")
    if sizes.min() < 5:
        rare = classes[int(sizes.argmin())]
        raise ValueError(
            f"dataset {name!r}: class {rare!s} has {sizes.min()} of {len(y)} rows, but a split into 60/20/20 needs 5 "
            "of each; merge rare classes, and bin a continuous target"
        )
    return y.astype(np.int64)


def _fingerprint(dataset: Dataset) -> dict[str, Any]:
    digest = hashlib.sha256(dataset.X.astype("<f8").tobytes())
    digest.update(dataset.y.astype("<i8").tobytes())
    n_samples, n_features = dataset.X.shape
    return {"n_samples": n_samples, "n_features": n_features, "sha256": digest.hexdigest()}
