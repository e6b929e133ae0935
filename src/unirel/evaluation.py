"""Selectors compared by the models that are trained on what they select."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from narwhals import from_native
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from unirel import _runtime, predictors
from unirel.criteria import CRITERIA, Criterion
from unirel.data.datasets import load
from unirel.data.readers import DiscreteFeatures, TargetType, take_rows
from unirel.data.row_groups import firsts_of, group_numbers, is_same_within, take_groups
from unirel.data.table import Table
from unirel.documents import make_frame
from unirel.estimation.base import Columns, Values
from unirel.inference.differences import PairedDifference, Verdict, paired_difference
from unirel.inference.stability import stability
from unirel.results import plain
from unirel.selectors import BURSelector, BURSelectorCV

__all__ = ["Evaluation", "PairedDifference", "Verdict", "compare", "paired_difference", "stability"]

Row = dict[str, Any]
_FEWEST = 5  # rows of a class that is divided among the parts of a split


def compare(
    datasets: Any,
    selectors: Any,
    models: Any = ("logistic", "knn", "rf"),
    *,
    n_features: int | Sequence[int] = 10,
    n_splits: int = 10,
    test_size: float = 0.2,
    scoring: Any = None,
    discrete_features: DiscreteFeatures = "auto",
    target_type: TargetType = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> "Evaluation":
    """Compare selectors by the scores of models on held-out rows, over random splits of datasets.

    Parameters
    ----------
    datasets : name, (name, X, y), (name, X, y, groups), or list of them
        Names that `unirel.datasets.load` knows, or tables of your own: arrays or frames with numbers, categories and
        missing values; the target may be class labels or numbers. With `groups`, labels of rows that belong together or
        a `RowGroups`, whole groups are held out.
    selectors : list, or mapping from label to selector
        A `BURSelector` or `BURSelectorCV`; the name of a criterion, which means that criterion without a boost; the
        name of a peer: "kbest" (mutual information of each feature), "lasso" (weights of an L1 model), "forest"
        (importances), "rfe" (recursive elimination by a linear model), "lightgbm" (if it is installed); an instance of
        any other scikit-learn selector; or a function ``(X, y, n_features) -> positions, best first``.
    models : list, or mapping from label to model
        Of "logistic", "rf", "knn" and "svm", which for a target of numbers are regressors; or scikit-learn models, such
        as a `GridSearchCV` to tune one.
    n_features : int or sequence of int
        Numbers of features to try; an int stands for all from 1 to it.
    n_splits, test_size : int, float
        Random splits of each dataset, stratified by class, and the share of the rows that is held out to test, and as
        many to choose the number of features; the others are selected from and trained on.
    scoring : str or callable, optional
        As in scikit-learn; accuracy or R2 by default.
    discrete_features, target_type
        Which columns are discrete, and whether the target is, as in `BURSelector`.
    random_state : int
        Seed. Split r is the same however many there are.
    n_jobs, verbose : int, optional, and bool
        Processes, as in scikit-learn, and whether to draw a progress bar on standard error.

    Returns
    -------
    Evaluation
        After Ctrl-C with what was finished, marked incomplete.

    Notes
    -----
    A `BURSelector` gets the training rows as they are. Other selectors get numbers: categories as codes, the median in
    place of missing values; "lasso" and "rfe", which are linear, get what models get, and a feature is as good as the
    best of its columns. Models get categories one-hot encoded, with rare levels merged, and numbers standardised, with
    the median in place of missing values and a column that marks them: all of it fitted to the training rows. A
    selector that selects fewer features than are asked for keeps its last score.

    Examples
    --------
    >>> from unirel import BURSelector
    >>> from unirel.evaluation import compare
    >>> evaluation = compare("wine", {"default": BURSelector(), "lasso": "lasso"}, "knn", n_features=4, n_splits=2)
    >>> len(evaluation.to_frame())
    16
    >>> evaluation.verdict().best_other
    'lasso'
    """
    _runtime.check_whole_number("n_splits", n_splits, 1)
    _runtime.check_whole_number("random_state", random_state, 0)
    _runtime.check_jobs(n_jobs)
    if not 0 < test_size < 0.5:
        raise ValueError(f"test_size={test_size!r} must be above 0 and below 0.5: two such parts are held out")
    chosen, trained = _labelled("selectors", selectors), _labelled("models", models)
    # A tuple of three or four may be a table with its name, or as many names.
    is_table = isinstance(datasets, tuple) and len(datasets) in (3, 4) and not isinstance(datasets[1], str | tuple)
    listed = [datasets] if is_table or isinstance(datasets, str) else datasets
    types = {"discrete_features": discrete_features, "target_type": target_type}
    tables = [_read(dataset, n_features, types) for dataset in listed]
    _check(chosen, trained, tables)
    settings = {"n_splits": n_splits, "test_size": test_size, "random_state": random_state}
    pieces = [(table, split, label) for table in tables for split in range(n_splits) for label in chosen]
    tasks = (delayed(_measure)(*piece, chosen[piece[-1]], trained, scoring, settings) for piece in pieces)
    rows, warned, complete = list[Row](), set[str](), True
    try:
        with _runtime.starting_workers():
            results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        for found, message in _runtime.reported(results, len(pieces), _runtime.progress_of(verbose, "comparing")):
            rows += found
            about = f"{found[0]['dataset']}, {found[0]['selector']}"
            if message and about not in warned:
                warned.add(about)
                _runtime.warn(f"{about}: {message}")
    except KeyboardInterrupt:
        complete = False
    sizes = {table.name: len(table.is_category) for table in tables}
    score_names = {table.name: _score_name(scoring, table.discrete) for table in tables}
    return Evaluation(tuple(rows), sizes, settings, complete, score_names)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a comparison found."""

    rows: tuple[Row, ...]  #: Scores for each dataset, split, selector, model and number of features.
    n_features: Mapping[str, int]  #: How many features each dataset has.
    settings: Mapping[str, Any]  #: Numbers that decide the splits.
    complete: bool = True  #: False if the comparison was interrupted.
    scores: Mapping[str, str] = field(default_factory=dict)  #: What the scores of each dataset are.

    def to_frame(self) -> Any:
        """One row for each dataset, split, selector, model and number of features."""
        return _frame([{name: value for name, value in row.items() if name != "features"} for row in self.rows])

    def outcomes(self) -> list[Row]:
        """For each split the number of features that is best on the validation rows, the smallest of equals.

        `test_score` is the score with that number, `area` the mean test score over all numbers.
        """
        found = []
        for group in _grouped(self.rows, ("dataset", "model", "selector", "split")).values():
            best = max(group, key=lambda row: (row["validation_score"], -row["n_features"]))
            found.append({**best, "area": _mean(group, "test_score")})
        return found

    def summary(self) -> Any:
        """One row for each dataset, model and selector, with means over the splits.

        Test score and its standard deviation, number of features, area, stability of the selected features, and
        seconds of selection.
        """
        rows = []
        for (dataset, model, selector), group in self._groups().items():
            scores = [row["test_score"] for row in group]
            spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
            row: Row = {"dataset": dataset, "model": model, "selector": selector, "n_splits": len(group)}
            row |= {"test_score": float(np.mean(scores)), "test_score_std": spread}
            row |= {name: _mean(group, name) for name in ("n_features", "area")}
            agreement = stability([one["features"] for one in group], self.n_features[dataset])
            rows.append({**row, "stability": agreement, "seconds": _mean(group, "seconds")})
        return _frame(rows)

    def differences(
        self,
        baseline: str | Mapping[str, str] | None = None,
        *,
        metric: str = "test_score",
        confidence_level: float = 0.95,
    ) -> Any:
        """One row for each dataset, model and selector: how it differs from a baseline over the same splits.

        The baseline is a selector, or a mapping from selectors to theirs; the first selector by default. `metric` is
        "test_score", "area" or "n_features". The interval is corrected for rows that splits share, see
        `paired_difference`.
        """
        _runtime.check_choice("metric", metric, ("test_score", "area", "n_features"))
        groups = self._groups()
        labels = list(dict.fromkeys(selector for _, _, selector in groups))
        baseline = labels[0] if baseline is None and labels else baseline
        pairs = baseline if isinstance(baseline, Mapping) else dict.fromkeys(labels, baseline)
        for other in pairs.values():
            _runtime.check_choice("baseline", other, labels)
        overlap = self.settings["test_size"] / (1 - 2 * self.settings["test_size"])
        rows = []
        for (dataset, model, selector), group in groups.items():
            other = pairs.get(selector, selector)
            base = {row["split"]: row[metric] for row in groups.get((dataset, model, other), [])}
            both = [(row[metric], base[row["split"]]) for row in group if row["split"] in base]
            if other != selector and both:
                found = paired_difference(*zip(*both, strict=True), confidence_level=confidence_level, overlap=overlap)
                row = {"dataset": dataset, "model": model, "selector": selector, "baseline": other}
                rows.append(row | found._asdict())
        return _frame(rows)

    def verdict(
        self, selector: str | None = None, *, dataset: str | None = None, confidence_level: float = 0.95
    ) -> Verdict:
        """How a selector, the first by default, compares with the best of the others; as text it is a sentence.

        Scores are means over the models in each split, of the first dataset by default. The best of several others owes
        something to luck, so the comparison is rather too hard on the selector than too kind.
        """
        groups = _grouped(self.outcomes(), ("dataset", "selector", "split"))
        dataset = next(iter(groups))[0] if dataset is None else dataset
        _runtime.check_choice("dataset", dataset, self.n_features)
        means: dict[str, dict[int, float]] = {}
        for (name, label, split), rows in groups.items():
            if name == dataset:
                means.setdefault(label, {})[split] = _mean(rows, "test_score")
        selector = next(iter(means)) if selector is None else selector
        _runtime.check_choice("selector", selector, means)
        others = {label: float(np.mean(list(one.values()))) for label, one in means.items() if label != selector}
        if not others:
            raise ValueError(f"there is no other selector to compare {selector!r} with")
        best = max(others, key=others.__getitem__)
        both = [(score, means[best][split]) for split, score in means[selector].items() if split in means[best]]
        overlap = self.settings["test_size"] / (1 - 2 * self.settings["test_size"])
        found = paired_difference(*zip(*both, strict=True), confidence_level=confidence_level, overlap=overlap)
        models = tuple(dict.fromkeys(row["model"] for row in self.rows))
        return Verdict(selector, best, found, self.scores.get(dataset, "score"), models, confidence_level)

    def average_ranks(self) -> Any:
        """One row for each model and selector: mean rank over datasets by mean test score; 1 is best."""
        means = {key: _mean(group, "test_score") for key, group in self._groups().items()}
        rows = []
        for model in dict.fromkeys(model for _, model, _ in means):
            labels = list(dict.fromkeys(label for _, other, label in means if other == model))
            full = [data for data in self.n_features if all((data, model, label) in means for label in labels)]
            if full:
                scores = np.array([[means[data, model, label] for label in labels] for data in full])
                ranks = stats.rankdata(-scores, axis=1).mean(axis=0).tolist()
                row = {"model": model, "n_datasets": len(full)}
                rows += [row | {"selector": s, "average_rank": rank} for s, rank in zip(labels, ranks, strict=True)]
        return _frame(rows)

    def to_dict(self, baseline: str | Mapping[str, str] | None = None) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON; differences are to that baseline."""
        frames = {"summary": self.summary(), "differences": self.differences(baseline)}
        frames["average_ranks"] = self.average_ranks()
        listed = {name: from_native(frame).rows(named=True) for name, frame in frames.items()}
        known = {"complete": self.complete, "settings": self.settings, **listed, "outcomes": self.outcomes()}
        return dict(plain(known))

    def _groups(self) -> dict[Any, list[Row]]:
        """Outcomes by dataset, model and selector, each in the order in which they were given."""
        groups = _grouped(self.outcomes(), ("dataset", "model", "selector"))
        names = [list(dict.fromkeys(part)) for part in zip(*groups, strict=True)]
        order = sorted(groups, key=lambda key: [known.index(part) for known, part in zip(names, key, strict=True)])
        return {key: groups[key] for key in order}


@dataclass(frozen=True, eq=False)
class _Dataset:
    """A table as its owner has it, and as selectors and models of others need it."""

    name: str
    X: Any
    y: Any  # class numbers, or numbers
    discrete: bool
    types: dict[str, Any]  # of columns and target, one decision for all splits
    codes: Values  # one column for each feature, NaN where a value is missing
    is_category: NDArray[np.bool_]
    sizes: list[int]  # numbers of features to try
    groups: Any = None  # labels of rows that belong together


def _read(dataset: Any, n_features: int | Sequence[int], types: Mapping[str, Any]) -> _Dataset:
    if isinstance(dataset, str):
        bunch = load(dataset)
        dataset = (dataset, bunch.data, bunch.target)
    try:
        name, X, y, *groups = dataset
    except (TypeError, ValueError):
        about = "a dataset must be a name, (name, X, y) or (name, X, y, groups)"
        raise TypeError(f"{about}, but one is {type(dataset).__name__}") from None
    table = Table.from_data(X, y, **types)
    target, discrete = table.target, table.classes is not None
    values = table.codes(target).astype(np.int64) if discrete else table.continuous_block([target])[0]
    if discrete and len(np.unique(values)) < 2:
        raise ValueError(f"dataset {name!r}: y has one class only; choose a target that varies")
    asked = range(1, n_features + 1) if isinstance(n_features, int) else n_features
    sizes = sorted({min(_runtime.check_whole_number("n_features", size, 1), len(table.features)) for size in asked})
    if not sizes:
        raise ValueError("n_features names no number of features to try")
    codes, is_category = predictors.code_matrix(table), table.discrete[: table.n_features]
    decided = table.decided_types(X)
    return _Dataset(str(name), X, values, discrete, decided, codes, is_category, sizes, *groups)


def _labelled(parameter: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        given = given if isinstance(given, list | tuple) else [given]
        given = {one if isinstance(one, str) else type(one).__name__: one for one in given}
    if not given:
        raise ValueError(f"{parameter} is empty; pass at least one")
    return {str(label): one for label, one in given.items()}


def _check(selectors: Mapping[str, Any], models: Mapping[str, Any], tables: Sequence[_Dataset]) -> None:
    names = [table.name for table in tables]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"datasets must be at least one, each with a name of its own, but they are {names}")
    for label, selector in selectors.items():
        if isinstance(selector, str):
            _runtime.check_choice("selectors", selector, (*CRITERIA, *predictors.PEERS))
            predictors.check_installed(selector)
        elif isinstance(selector, type) or not (callable(selector) or hasattr(selector, "fit")):
            raise TypeError(f"selector {label!r} is {selector!r}; see compare for what a selector may be")
        elif getattr(getattr(selector, "selector", selector), "groups", None):
            about = f"selector {label!r} has groups=, but features are compared column by column"
            raise ValueError(f"{about}; pass a table in which a category is one column")
    for model in models.values():
        for table in tables:
            predictors.make_model(model, table.discrete, "models")


def _measure(
    data: _Dataset, split: int, label: str, selector: Any, models: Mapping[str, Any], scoring: Any, settings: Row
) -> tuple[list[Row], str]:
    """Scores of one selector in one split, and what there is to warn of: warnings of other processes are lost."""
    seed = int(np.random.SeedSequence([settings["random_state"], split]).generate_state(1)[0])
    train, validation, test = _split(data, settings["test_size"], seed)
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1), _seeded(seed):
        warnings.simplefilter("always")
        started = time.perf_counter()
        order = _order(selector, data, train)
        seconds = time.perf_counter() - started
        blocks = {feature: _prepared(data, feature, train) for feature in order.tolist()}
        rows = []
        for name, model in models.items():
            scores: dict[int, Row] = {}
            for size in data.sizes:
                used = min(size, len(order))  # fewer if the selector has stopped
                if used not in scores:
                    inputs = np.hstack([blocks[feature] for feature in sorted(order[:used].tolist())])
                    fitted = predictors.fit_model(model, data.discrete, inputs[train], data.y[train])
                    score = check_scoring(fitted, scoring)
                    scores[used] = {
                        key: float(score(fitted, inputs[part], data.y[part]))
                        for key, part in (("validation_score", validation), ("test_score", test))
                    }
                row: Row = {"dataset": data.name, "split": split, "selector": label, "model": name, "n_features": size}
                rows.append({**row, **scores[used], "seconds": seconds, "features": order[:used].tolist()})
    return rows, str(caught[0].message) if caught else ""


def _prepared(data: _Dataset, feature: int, train: Columns) -> Values:
    return predictors.prepare(data.codes[:, feature], bool(data.is_category[feature]), train)


def _score_name(scoring: Any, discrete: bool) -> str:
    return ("accuracy" if discrete else "R2") if scoring is None else scoring if isinstance(scoring, str) else "score"


def _split(data: _Dataset, test_size: float, seed: int) -> tuple[Columns, Columns, Columns]:
    # What is divided are rows, or groups of them, by class if each has one.
    groups = group_numbers(data.groups, len(data.y))
    firsts = np.arange(len(data.y)) if groups is None else firsts_of(groups)
    strata = np.zeros(len(firsts), np.int64)
    if data.discrete and (groups is None or is_same_within(data.y, groups)):
        strata = predictors.strata_of(data.y[firsts], _FEWEST)
    train, rest = train_test_split(np.arange(len(firsts)), test_size=2 * test_size, stratify=strata, random_state=seed)
    validation, test = train_test_split(rest, test_size=0.5, stratify=strata[rest], random_state=seed)
    if groups is None:
        return train, validation, test
    parts = [np.flatnonzero(np.isin(groups, part)) for part in (train, validation, test)]
    return parts[0], parts[1], parts[2]


def _order(selector: Any, data: _Dataset, train: Columns) -> Columns:
    """Features in the order in which the selector prefers them, found on the training rows."""
    if isinstance(selector, Criterion) or (isinstance(selector, str) and selector in CRITERIA):
        selector = BURSelector(selector, beta=0.0)
    n_features, own = data.sizes[-1], dict[str, Any]()
    if isinstance(selector, str) and selector in predictors.LINEAR:
        blocks = [_prepared(data, feature, train)[train] for feature in range(len(data.is_category))]
        return predictors.order_by_columns(selector, blocks, data.y[train], data.discrete, n_features)
    if isinstance(selector, str):
        selector = predictors.make_peer(selector, data.discrete, data.is_category, n_features)
    if isinstance(selector, BURSelector | BURSelectorCV):
        # It knows the types of the columns, and selects as many features as are compared.
        selector, X = clone(selector), take_rows(data.X, train)
        own = {} if data.groups is None else {"groups": take_groups(data.groups, train)}
        searcher = selector
        if isinstance(selector, BURSelectorCV):
            searcher = selector.selector = selector.selector or BURSelector()
        elif isinstance(selector.n_features_to_select, int):
            selector.n_features_to_select = n_features
        undecided = [name for name in data.types if str(getattr(searcher, name)) == "auto"]
        searcher.set_params(**{name: data.types[name] for name in undecided})
    else:
        X = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(data.codes[train])
    return predictors.order_by(selector, X, data.y[train], n_features, len(data.is_category), **own)[:n_features]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, which scikit-learn falls back on, and put it back afterwards."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _frame(rows: Sequence[Row]) -> Any:
    return make_frame({name: [row[name] for row in rows] for name in rows[0]} if rows else {})
