"""How well the first features predict the target, with features selected anew in every fold."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from unirel._runtime import Progress, call_apart, check_choice, check_time, check_whole_number, no_progress
from unirel.data.readers import take_rows
from unirel.data.row_groups import open_groups, take_groups
from unirel.data.table import Table
from unirel.data.weights import choose_by_class
from unirel.estimation.blocks import joint_codes
from unirel.predictors import MODELS, design_matrix, fit_model, quick_models, split_rows, standardise
from unirel.report.text import plural
from unirel.results import Selection, plain
from unirel.search.boost import Boost, find_kind

Values = NDArray[np.float64]
Rows = NDArray[np.intp]
AUTO = "auto"
_FOLDS = 5
# Numbers of features between which a curve is a line: each costs a fit in every fold.
_SIZES = sorted({int(step * 10**digits) for digits in range(7) for step in (1, 1.5, 2, 3, 5, 7)})
# By default: rows that are drawn of a larger table, rows from which unique relevance is estimated in a fold, the fewest
# rows, and how many values and features a model of all features may have, since trees take long on more.
_MOST_ROWS, _BOOST_ROWS, _FEWEST_ROWS, _MOST_VALUES, _MOST_FEATURES = 3000, 500, 20, 2**20, 2000
# A score is better than chance if it exceeds it by this many standard errors. And the share of what the best number of
# features gains over chance that fewer may lose: what cannot be told from nothing may still be much.
_SURE, _LITTLE = 2.0, 0.05


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Scores of a model on held-out rows, which were used neither for the selection nor for training.

    By default two models are measured: this is the one whose best mean score is higher, the other one is in `others`.
    """

    method: str  #: What predicts, in words.
    #: "accuracy", the share of rows that are predicted correctly, or "R2", the share by which the squared error is
    #: less than that of the mean of the training rows.
    measure: str
    sizes: tuple[int, ...]  #: Numbers of features.
    #: Of shape (n_rows, n_sizes): 1 for a wrong class, the squared error of a number; NaN where fewer features could be
    #: selected.
    losses: Values
    all_features: Values  #: Losses with all features, one for each row; NaN if that would take too long.
    n_features: int  #: How many these are.
    by_chance: Values  #: Losses of always predicting the most frequent class or the mean of the training rows.
    weights: Values | None = None  #: Of the rows; None if all are equal.
    n_folds: int = _FOLDS  #: Number of folds.
    fewer_folds: str = ""  #: Why there are fewer folds than usual; empty if there are not.
    grouped: bool = False  #: Whether rows of a group are in the same fold.
    n_rows: int | None = None  #: How many rows were drawn of a larger table; None if all were used.
    others: "tuple[Accuracy, ...]" = ()  #: Other models on the same folds and sizes.

    def gain(self, losses: Values, other: Values) -> tuple[float, float]:
        """By how much the score is higher with some losses than with others, and its standard error over the rows.

        The rows are paired: what is hard for both numbers of features does not count. For R2 the mean loss by chance,
        by which differences are divided, errs too, so its rows count as they do in a quotient of means.
        """
        share = np.full(len(losses), 1 / len(losses)) if self.weights is None else self.weights / self.weights.sum()
        rows, scale = other - losses, 1.0 if self.measure == "accuracy" else float(share @ self.by_chance) or 1.0
        gained = float(share @ rows) / scale
        rows = rows / scale - gained * (1.0 if self.measure == "accuracy" else self.by_chance / scale)
        return gained, float(np.sqrt(np.square(share * rows).sum()))

    def score(self, losses: Values) -> tuple[float, float]:
        """Accuracy or R2 of some losses, and its standard error."""
        return self.gain(losses, np.ones(len(losses)) if self.measure == "accuracy" else self.by_chance)

    @property
    def chance(self) -> float:
        """Score of always predicting the most frequent class or the mean."""
        return self.score(self.by_chance)[0]

    @property
    def means(self) -> Values:
        """Score for each number of features."""
        return np.array([self.score(losses)[0] for losses in self.losses.T])

    @property
    def errors(self) -> Values:
        """Standard error of the score for each number of features."""
        return np.array([self.score(losses)[1] for losses in self.losses.T])

    @property
    def reached(self) -> Rows:
        """Positions of the sizes that were reached in every fold."""
        return np.flatnonzero(np.isfinite(self.means))

    @property
    def best(self) -> int | None:
        """Position of the size with the highest score; None if no size was reached in every fold."""
        return int(self.reached[np.argmax(self.means[self.reached])]) if len(self.reached) else None

    @property
    def enough(self) -> int | None:
        """The recommended number of features: the fewest that lose no more than one standard error, and little.

        What they lose is their distance to the best score, and its standard error that of the paired difference; little
        is a twentieth of what the best gains over chance. None if no number of features predicts better than chance.
        """
        if (best := self.best) is None:
            return None
        gained, error = self.gain(self.losses[:, best], self.by_chance)
        if gained <= _SURE * error:
            return None
        for place in self.reached:
            lost, error = self.gain(self.losses[:, best], self.losses[:, place])
            if lost <= min(error, _LITTLE * gained):
                break
        return int(self.sizes[place])

    @property
    def all_are_better(self) -> bool:
        """Whether all features score higher than the largest selection, by more than one standard error."""
        if not len(self.reached):
            return False
        gained, error = self.gain(self.all_features, self.losses[:, self.reached[-1]])
        return gained > error

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, fit for JSON; sizes that some fold did not reach are left out."""
        found = {
            **{name: getattr(self, name) for name in ("measure", "n_folds", "fewer_folds", "n_rows", "n_features")},
            **self._curve(),
            "chance": self.chance,
            "enough": self.enough,
            "others": [other._curve() for other in self.others],
            "words": accuracy_in_words(self),
        }
        return dict(plain(found))

    def _curve(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"n": self.sizes, "mean": self.means, "error": self.errors}
        mean, error = self.score(self.all_features)
        known = bool(np.isfinite(mean))
        return {
            "method": self.method,
            "curve": [{name: values[place] for name, values in columns.items()} for place in self.reached],
            "all_mean": mean if known else None,
            "all_error": error if known else None,
        }


def check_measures(
    accuracy: str | None, stability: int | None, table: Table, selector: Any, sample_weight: Any = None
) -> None:
    """Refuse early what was asked for and cannot be measured."""
    if accuracy is not None:
        check_choice("accuracy", accuracy, (AUTO, *MODELS))
    if stability is not None:
        check_whole_number("stability", stability, 2)
        if why := _why_not_anew(table, selector):
            raise ValueError(f"stability={stability} {why}")
        if sample_weight is not None:
            raise ValueError(f"stability={stability} cannot be measured with sample_weight; leave one of them out")
    if accuracy not in (None, AUTO) and (why := _why_not_anew(table, selector) or _why_not_split(table, None, 2, 4)):
        raise ValueError(f"accuracy={accuracy!r} {why}")


def why_unmeasured(table: Table, selector: Any, sample_weight: Values | None) -> str:
    """Why the accuracy that is shown by default is left out, as "it" would go on; empty if it is not."""
    return _why_not_anew(table, selector) or _why_not_split(table, sample_weight, _FOLDS, _FEWEST_ROWS)


def _why_not_anew(table: Table, selector: Any) -> str:
    if table.is_parted:
        return "needs all rows in memory; measure it on a sample of them"
    if hasattr(selector.unique_relevance, "__len__") and not isinstance(selector.unique_relevance, str):
        return (
            "selects features anew from some of the rows, which values of unique_relevance found on all rows "
            "do not allow; name a method, such as unique_relevance='reference'"
        )
    return ""


def _why_not_split(table: Table, weights: Values | None, fewest_of_class: int, fewest: int) -> str:
    rows = _counted_rows(table, weights)
    if table.n_targets > 1:
        return f"is measured for one target, but y has {table.n_targets}; pass one column of y"
    if table.classes is None:
        return f"needs at least {fewest} rows, but there are {len(rows)}" if len(rows) < fewest else ""
    repeated = int((np.bincount(table.codes(table.target)[rows]) >= fewest_of_class).sum())
    if repeated > 1:
        return ""
    each = {2: "two", _FOLDS: "five"}[fewest_of_class]
    return (
        f"needs two classes with at least {each} rows each, but the target has {repeated}; "
        "merge rare classes, or choose another target"
    )


def _counted_rows(table: Table, weights: Values | None) -> Rows:
    return np.arange(table.n_samples) if weights is None else np.flatnonzero(weights > 0)


def pin_types(selector: Any, table: Table, X: Any) -> Any:
    """A selector for some rows of a table: what a column is, is one decision for all of them."""
    from unirel.search.folds import pinned
    from unirel.selectors import BURSelector  # slow to import

    own = copy(selector) if isinstance(selector, BURSelector) else BURSelector(**selector.get_params(deep=False))
    return own.set_params(**table.decided_types(X), **pinned(selector, table))


class _Rows:
    """The rows that accuracy is measured on, with their target and weights."""

    def __init__(
        self, X: Any, y: Any, table: Table, rows: Rows, sample_weight: Values | None, groups: Any = None
    ) -> None:
        self.together = None if groups is None else open_groups(groups)
        self.groups: Rows | None = None
        if self.together is not None:
            codes = self.together.codes(table.n_samples, fewest=2)
            self.groups = np.unique(codes[rows], return_inverse=True)[1]
        self.X, self.y, self.table, self.rows = X, y, table, rows
        self.weights = None if sample_weight is None else sample_weight[rows]
        self.discrete = table.classes is not None
        self.target = (table.codes(table.target) if self.discrete else table.continuous_block([table.target])[0])[rows]

    @property
    def units(self) -> NDArray[Any]:
        """The target of what can be in different folds: of every row, or once of every group that has a class."""
        if self.groups is None:
            return self.target
        pairs = [self.groups, self.target] if self.discrete else [self.groups]
        return np.asarray(self.target[np.unique(joint_codes(pairs, len(self.rows)), return_index=True)[1]])

    def select(self, selector: Any, train: Rows) -> Rows:
        """Features in the order of their selection from the training rows."""
        from sklearn.base import clone

        rows, weights = self.rows[train], None if self.weights is None else self.weights[train]
        together = {} if self.together is None else {"groups": take_groups(self.together, rows)}
        chosen = clone(selector).fit(take_rows(self.X, rows), take_rows(self.y, rows), weights, **together)
        order: Rows = chosen.selection_.order
        check_time()  # which would have cut the selection short
        return order


def measure_accuracy(
    accuracy: str,
    X: Any,
    y: Any,
    table: Table,
    selection: Selection,
    selector: Any,
    progress: Progress = no_progress,
    groups: Any = None,
) -> Accuracy | None:
    """Cross-validate selecting features and predicting the target from the first n of them; None if there are none.

    In each fold a clone of the selector selects as many features as `selection` has, from the training rows; the models
    are then trained on the same rows with the first feature, the first two, and so on, and scored on the held-out rows.
    "auto" stands for two quick models on a sample of the rows.
    """
    from sklearn.base import clone

    if len(selection) == 0:
        return None
    rows = counted = _counted_rows(table, selection.sample_weight)
    if auto := accuracy == AUTO:
        rows = choose_by_class(table.target_codes(), counted, _MOST_ROWS, np.random.default_rng(0))
        selector = with_quick_boost(selector)
    data = _Rows(X, y, table, rows, selection.sample_weight, groups)
    models = quick_models(data.discrete) if auto else {MODELS[accuracy][0 if data.discrete else 1]: accuracy}
    sizes = [*(n for n in _SIZES if n < len(selection)), len(selection)]
    n_folds, fewer_folds = _count_folds(table, data.units, "rows" if groups is None else "groups of rows")
    if n_folds < 2:  # a single group has all rows of a class
        return None
    chosen = clone(selector).set_params(n_features_to_select=len(selection), max_seconds=None, verbose=False)
    n_features = len(table.features)
    with_all = not auto or (n_features <= _MOST_FEATURES and len(rows) * n_features <= _MOST_VALUES)
    losses = _cross_validate(data, chosen, list(models.values()), sizes, with_all, n_folds, progress)
    grouped, drawn = data.groups is not None, len(rows) if len(rows) < len(counted) else None
    about = data.weights, n_folds, fewer_folds, grouped, drawn
    measure = "accuracy" if data.discrete else "R2"
    found = [
        Accuracy(method, measure, tuple(sizes), own[:, 1:-1], own[:, -1], n_features, own[:, 0], *about)
        for method, own in zip(models, losses, strict=True)
    ]
    found.sort(key=lambda one: np.inf if one.best is None else -one.means[one.best])
    return replace(found[0], others=tuple(found[1:]))


def with_quick_boost(selector: Any) -> Any:
    """A selector whose unique relevance is from fewer rows, for what would take several times as long as all rows."""
    kind = find_kind(selector.settings())
    if not isinstance(kind, Boost) or (kind.max_samples is not None and kind.max_samples <= _BOOST_ROWS):
        return selector
    return copy(selector).set_params(unique_relevance=Boost(kind.kind, _BOOST_ROWS))


def _count_folds(table: Table, target: NDArray[Any], rows: str) -> tuple[int, str]:
    """How many folds there can be, and why if they are fewer than usual: each shall have rows of two classes."""
    if table.classes is None:
        n_folds = min(_FOLDS, len(target) // 2)
        return n_folds, f"there are only {len(target)} {rows}" if n_folds < _FOLDS else ""
    sizes = np.bincount(target, minlength=len(table.classes))
    second = int(np.argsort(-sizes, kind="stable")[1])
    label, size = table.classes.tolist()[second], int(sizes[second])
    return min(_FOLDS, size), f"class '{label}' has only {size} {rows}" if size < _FOLDS else ""


def _cross_validate(
    data: _Rows, selector: Any, models: list[Any], sizes: list[int], with_all: bool, n_folds: int, progress: Progress
) -> Values:
    """Losses by each model of each row, held out, with no features, with each number of them and, last, with all."""
    losses = np.full((len(models), len(data.target), len(sizes) + 2), np.nan)
    splits, orders = list(split_rows(data.target, data.discrete, n_folds, data.groups)), []
    total = n_folds * (1 + len(models) * (len(sizes) + 2))
    for done, (train, _) in enumerate(splits, start=1):
        orders.append(data.select(selector, train))
        progress(done, total)
    features = data.table.features if with_all else np.unique(np.concatenate(orders))
    matrix, columns_of = design_matrix(data.table, features, data.rows)
    # Threads that scikit-learn starts by itself wait for each other more than they work.
    with threadpool_limits(1):
        for split, order in zip(splits, orders, strict=True):
            inputs = standardise(matrix, split[0])
            blocks = {place: order[:size] for place, size in enumerate([0, *sizes]) if size <= len(order)}
            for place, block in (blocks | ({len(sizes) + 1: features} if with_all else {})).items():
                columns = np.concatenate([np.zeros(0, np.intp), *(columns_of[one] for one in np.sort(block))])
                for number, model in enumerate(models):
                    losses[number, split[1], place] = call_apart(_losses, data, model, inputs[:, columns], *split)
                    done += 1
                    progress(done, total)
    progress(total, total)
    return losses


def _losses(data: _Rows, model: Any, inputs: Values, train: Rows, test: Rows) -> Values:
    from sklearn import config_context

    # What is made here needs no checks, which on small tables take longer than the fit.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        weights = None if data.weights is None else data.weights[train]
        fitted = fit_model(model, data.discrete, inputs[train], data.target[train], weights)
        predicted = np.ravel(fitted.predict(inputs[test]))
    wrong = predicted != data.target[test] if data.discrete else np.square(predicted - data.target[test])
    return np.asarray(wrong, np.float64)


def accuracy_in_words(accuracy: Accuracy) -> list[str]:
    """Two paragraphs: what came out, and how it was measured."""
    classes, n = accuracy.measure == "accuracy", accuracy.enough
    what = "Accuracy" if classes else "R²"
    if n is None or accuracy.best is None:
        found = f"No number of features predicts better than chance ({what} {_number(accuracy, accuracy.chance)})."
    else:
        largest = accuracy.sizes[accuracy.reached[-1]]
        parts = [f"{what} {_at(accuracy, accuracy.losses[:, accuracy.sizes.index(n)])} with {_features(n)}"]
        if largest != n:
            parts.append(f"{_at(accuracy, accuracy.losses[:, accuracy.reached[-1]])} with {_features(largest)}")
        if np.isfinite(accuracy.all_features).all() and accuracy.n_features > largest:
            parts.append(f"{_at(accuracy, accuracy.all_features)} with all {accuracy.n_features:,}")
        chance = f"; most frequent class {_number(accuracy, accuracy.chance)}" if classes else ""
        more = " More features than were selected would do better." if accuracy.all_are_better else ""
        found = f"{', '.join(parts)} ({accuracy.method}; ± standard error{chance}).{more}"
    return [found, _how(accuracy)]


def _how(accuracy: Accuracy) -> str:
    methods = " and ".join(one.method for one in (accuracy, *accuracy.others))
    together = " Rows of a group are in the same fold." if accuracy.grouped else ""
    stratified = "stratified " if accuracy.measure == "accuracy" else ""
    fewer = f" (no more, because {accuracy.fewer_folds})" if accuracy.fewer_folds else ""
    sample = "" if accuracy.n_rows is None else f" of a sample of {accuracy.n_rows:,} rows"
    return (
        f"Measured with {methods} by {stratified}cross-validation in {accuracy.n_folds} folds{fewer}{sample}."
        f"{together} In every fold features are selected anew from the training rows, so they may differ from those "
        "listed. Recommended is the fewest features that lose at most one standard error, and little, against the best "
        "number."
    )


def _features(n: int) -> str:
    return f"{n:,} feature{plural(n)}"


def _at(accuracy: Accuracy, losses: Values) -> str:
    mean, error = accuracy.score(losses)
    return f"{100 * mean:.1f} ± {100 * error:.1f} %" if accuracy.measure == "accuracy" else f"{mean:.2f} ± {error:.2f}"


def _number(accuracy: Accuracy, score: float) -> str:
    return f"{100 * score:.1f} %" if accuracy.measure == "accuracy" else f"{score:.2f}"
