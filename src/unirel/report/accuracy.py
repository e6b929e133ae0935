"""How well the first features predict the target, with features selected anew in every fold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from unirel._runtime import Progress, call_apart, check_choice, check_time, check_whole_number, no_progress
from unirel.data.readers import take_rows
from unirel.data.table import Table
from unirel.predictors import MODELS, design_matrix, fit_model, smallest_class, split_rows, standardise
from unirel.report.text import plural
from unirel.results import Selection, plain

Values = NDArray[np.float64]
_FOLDS = 5
# More points than this make no better curve, and every one costs a fit in every fold.
_MOST_SIZES = 30


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Scores on held-out rows, which were used neither for the selection nor for training."""

    method: str  #: What predicts, in words.
    #: "accuracy", the share of rows that are predicted correctly, or "R2", the share of the variance that is explained.
    measure: str
    sizes: tuple[int, ...]  #: Numbers of features.
    scores: Values  #: Of shape (n_folds, n_sizes); NaN where fewer features could be selected in a fold.
    all_features: Values  #: Scores with all features, one for each fold.
    n_features: int  #: How many these are.
    chance: float  #: Score of always predicting the most frequent class or the mean.
    fewer_folds: str = ""  #: Why there are fewer folds than usual; empty if there are not.

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.scores)

    @property
    def means(self) -> Values:
        """Mean over the folds for each number of features."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def deviations(self) -> Values:
        """Standard deviation over the folds for each number of features."""
        return np.asarray(self.scores.std(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON; sizes that some fold did not reach are left out."""
        rows = zip(self.sizes, self.means.tolist(), self.deviations.tolist(), strict=True)
        found = {
            **{name: getattr(self, name) for name in ("method", "measure", "n_folds", "fewer_folds")},
            "curve": [{"n": n, "mean": mean, "deviation": spread} for n, mean, spread in rows if mean == mean],
            "n_features": self.n_features,
            "all_mean": self.all_features.mean(),
            "all_deviation": self.all_features.std(),
            "chance": self.chance,
            "words": accuracy_in_words(self),
        }
        return dict(plain(found))


def check_measures(
    accuracy: str | None, stability: int | None, table: Table, selector: Any, sample_weight: Any = None
) -> None:
    """Refuse early what cannot be measured."""
    if stability is not None:
        check_whole_number("stability", stability, 2)
    asked = f"stability={stability}" if accuracy is None else f"accuracy={accuracy!r}"
    if accuracy is not None:
        check_choice("accuracy", accuracy, MODELS)
    if table.is_parted:
        raise ValueError(f"{asked} needs all rows in memory; measure it on a sample of them")
    if hasattr(selector.unique_relevance, "__len__") and not isinstance(selector.unique_relevance, str):
        raise ValueError(
            f"{asked} selects features anew from some of the rows, which values of unique_relevance found on all rows "
            "do not allow; name a method, such as unique_relevance='reference'"
        )
    if stability is not None and sample_weight is not None:
        raise ValueError(f"stability={stability} cannot be measured with sample_weight; leave one of them out")
    if accuracy is not None and table.classes is None and table.n_samples < 4:
        raise ValueError(f"{asked} needs at least 4 rows, but there are {table.n_samples}")
    repeated = 2 if table.classes is None else int((table.class_sizes > 1).sum())
    if accuracy is not None and repeated < 2:
        raise ValueError(
            f"{asked} needs two classes with at least two rows each, but the target has {repeated}; "
            "merge rare classes, or choose another target"
        )


def pin_types(selector: Any, table: Table, X: Any) -> Any:
    """The selector for some rows of a table: what a column is, is one decision for all of them."""
    include, exclude = table.forced(selector.include, selector.exclude)
    return clone(selector).set_params(**table.decided_types(X), include=include, exclude=exclude)


def measure_accuracy(
    accuracy: str, X: Any, y: Any, table: Table, selection: Selection, selector: Any, progress: Progress = no_progress
) -> Accuracy | None:
    """Cross-validate selecting features and predicting the target from the first n of them; None if there are none.

    In each fold a clone of the selector selects as many features as `selection` has, from the training rows; the model
    is then trained on the same rows with the first feature, the first two, and so on, and scored on the held-out rows.
    """
    if len(selection) == 0:
        return None
    step = -(-len(selection) // _MOST_SIZES)
    sizes = sorted({1, *range(len(selection), 0, -step)})
    discrete = table.classes is not None
    target = table.codes(table.target) if discrete else table.continuous_block([table.target])[0]
    n_folds, fewer_folds = _count_folds(table)
    splits = split_rows(target, discrete, n_folds)
    matrix, columns_of = design_matrix(table)
    chosen = clone(selector).set_params(n_features_to_select=len(selection), max_seconds=None, verbose=False)
    scores = np.full((n_folds, len(sizes) + 1), np.nan)
    for fold, (train, test) in enumerate(splits):
        weights = None if selection.sample_weight is None else selection.sample_weight[train]
        order = clone(chosen).fit(take_rows(X, train), take_rows(y, train), weights).order_
        check_time()  # which would have cut the selection short
        inputs = standardise(matrix, train)
        blocks = [order[:size] if size <= len(order) else None for size in sizes]
        for place, features in enumerate([*blocks, table.features]):
            if features is not None:
                columns = np.concatenate([columns_of[feature] for feature in np.sort(features)])
                scores[fold, place] = call_apart(_score, accuracy, inputs[:, columns], target, train, test, discrete)
            progress(fold * scores.shape[1] + place + 1, scores.size)
    chance = float(table.class_sizes.max() / table.n_samples) if discrete else 0.0
    found = tuple(sizes), scores[:, :-1], scores[:, -1], len(table.features), chance, fewer_folds
    return Accuracy(MODELS[accuracy][0 if discrete else 1], "accuracy" if discrete else "R2", *found)


def _count_folds(table: Table) -> tuple[int, str]:
    """How many folds there can be, and why if they are fewer than usual."""
    if table.classes is None:
        n_folds = min(_FOLDS, table.n_samples // 2)
        return n_folds, f"there are only {table.n_samples} rows" if n_folds < _FOLDS else ""
    smallest, size = smallest_class(table.codes(table.target))
    label = table.classes.tolist()[smallest]
    return min(_FOLDS, size), f"class '{label}' has only {size} rows" if size < _FOLDS else ""


def _score(
    model: str, inputs: Values, target: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp], discrete: bool
) -> float:
    # What is made here needs no checks, which on small tables take longer than the fit; and threads that scikit-learn
    # starts by itself wait for each other more than they work.
    with config_context(assume_finite=True, skip_parameter_validation=True), threadpool_limits(1):
        return float(fit_model(model, discrete, inputs[train], target[train]).score(inputs[test], target[test]))


def accuracy_in_words(accuracy: Accuracy) -> list[str]:
    """Two paragraphs: how it was measured, and what came out."""
    classes = accuracy.measure == "accuracy"
    right, explained = "held-out rows predicted correctly", "the variance of held-out rows explained (R²)"
    folds = f"{'stratified ' if classes else ''}cross-validation in {accuracy.n_folds} folds"
    fewer = f" (no more, because {accuracy.fewer_folds})" if accuracy.fewer_folds else ""
    how = (
        f"Share of {right if classes else explained} by {accuracy.method}, {folds}{fewer}. "
        "In every fold features are selected anew from the training rows only, so those of a fold may differ from "
        "the ones listed. Line: mean over the folds; band: one standard deviation to either side."
    )
    every = f"all {accuracy.n_features:,} features" if accuracy.n_features > 1 else "the only feature"
    found = [f"{_mean_score(accuracy, accuracy.all_features)} with {every}"]
    reached = [(n, fold) for n, fold in zip(accuracy.sizes, accuracy.scores.T, strict=True) if not np.isnan(fold).any()]
    if reached:
        n_most, scores = reached[-1]
        found.insert(0, f"{_mean_score(accuracy, scores)} with {n_most:,} feature{plural(n_most)}")
    chance = f"; always predicting the most frequent class: {100 * accuracy.chance:.1f} %" if classes else ""
    careful = "The highest point of a curve is a little optimistic, because it is the best of several."
    return [how, f"Mean and standard deviation: {', '.join(found)}{chance}. {careful}"]


def _mean_score(accuracy: Accuracy, folds: Values) -> str:
    if accuracy.measure == "accuracy":
        return f"{100 * folds.mean():.1f} ± {100 * folds.std():.1f} %"
    return f"{folds.mean():.2f} ± {folds.std():.2f}"
