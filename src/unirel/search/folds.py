"""Select features from the training rows of every fold, and score the first n of them on the test rows."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed

from unirel._runtime import check_beta, check_whole_number, progress_of, quietly, reported
from unirel.data.groups import GroupedTable, members_of
from unirel.data.readers import take_columns, take_rows
from unirel.data.row_groups import check_apart, group_numbers
from unirel.data.table import Table
from unirel.estimation.base import Columns, Values
from unirel.search.costs import Costs, find_costs
from unirel.search.greedy import SearchSettings, select

# Means of the same scores in another order differ by less than this.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Trial:
    X: Any
    y: Any
    labels: NDArray[Any]  # the same as an array
    estimator: Any
    scorer: Any
    table: Table  # all rows
    betas: list[float]
    sizes: list[int]  # ascending
    settings: SearchSettings
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]

    def cross_validate(self, splits: Sequence[Any], n_jobs: int | None, verbose: bool) -> Values:
        """Scores of shape (n_splits, n_betas, n_sizes)."""
        scores = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(self.score)(*split) for split in splits)
        return np.array(list(reported(scores, len(splits), progress_of(verbose, "cross-validating"))))

    def score(self, train: Any, test: Any) -> Values:
        """Scores of one fold, of shape (n_betas, n_sizes); NaN where too few features were selected."""
        rows = np.arange(len(self.labels))
        train, test = rows[train], rows[test]  # which may be masks
        known: dict[bytes, float] = {}  # columns stand in the order of the table, whichever was selected first
        scores = np.full((len(self.betas), len(self.sizes)), np.nan)
        for row, order in zip(scores, self._select(train), strict=True):
            for place, size in enumerate(size for size in self.sizes if size <= len(order)):
                columns = np.sort(np.concatenate(order[:size]))
                if columns.tobytes() not in known:
                    known[columns.tobytes()] = self._score(columns, train, test)
                row[place] = known[columns.tobytes()]
        return scores

    def _select(self, rows: Columns) -> list[list[list[int]]]:
        """Columns of the features in order, for each beta; what there is to warn of is said once, of all rows."""
        settings = copy(self.settings).set_params(**pinned(self.settings, self.table))
        with quietly():
            types = self.table.decided_types(self.X)
            part = Table.from_data(take_rows(self.X, rows), take_rows(self.y, rows), several=True, **types)
            path = select(part, [settings.criterion], self.betas, settings)
        if any(selection.interrupted for selection in path):
            raise KeyboardInterrupt  # which the search has kept to itself: nobody wants the score of half a selection
        return [selection.columns for selection in path]

    def _score(self, columns: Columns, train: Columns, test: Columns) -> float:
        chosen = take_columns(self.X, columns)
        fit_params, score_params = self._of_rows(self.fit_params, train), self._of_rows(self.score_params, test)
        fitted = clone(self.estimator).fit(take_rows(chosen, train), self.labels[train], **fit_params)
        return float(self.scorer(fitted, take_rows(chosen, test), self.labels[test], **score_params))

    def _of_rows(self, params: Mapping[str, Any], rows: Columns) -> dict[str, Any]:
        """Metadata of some rows; what is not given by row stays as it is."""

        def is_by_row(value: Any) -> bool:
            return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == len(self.labels)

        return {name: take_rows(value, rows) if is_by_row(value) else value for name, value in params.items()}


def splitter_of(cv: Any, labels: Any = None, classifier: bool = False, grouped: bool = True) -> Any:
    """The splitter that is meant; a number of folds means one that keeps groups of rows together, if there are some."""
    splitter = check_cv(cv, labels, classifier=classifier)
    if not grouped or not (cv is None or isinstance(cv, Integral)):
        return splitter
    stratified = isinstance(splitter, StratifiedKFold)
    return (StratifiedGroupKFold if stratified else GroupKFold)(splitter.get_n_splits())


def split_rows(
    cv: Any, X: Any, labels: NDArray[Any], classifier: bool, groups: Any, params: Mapping[str, Any]
) -> list[Any]:
    """Rows of every fold, none of which may have rows of a group on both sides; `params` go to the splitter."""
    codes = group_numbers(groups, len(labels))
    splitter = splitter_of(cv, labels, classifier, codes is not None)
    own = {"groups": codes} if codes is not None and "groups" in params else {}
    splits = list(splitter.split(X, labels, **{**params, **own}))
    for train, test in splits if codes is not None else ():
        check_apart(codes, train, test, f"cv={cv!r}")
    return splits


def pinned(settings: SearchSettings, table: Table) -> dict[str, Any]:
    """What the settings say of columns, by positions in the table, for selections from some of its rows."""
    forced, known = table.forced(settings.include, settings.exclude), dict[str, Any]()
    for name, features in zip(("include", "exclude"), forced, strict=True):
        known[name] = [column for feature in features for column in members_of(table, feature)]
    if isinstance(table, GroupedTable):
        known["groups"] = table.pinned
    if (costs := find_costs(settings.costs)) is not None:
        of_features, shares = costs.on(table).costs, dict[int, float]()
        for feature in table.features.tolist():
            columns = members_of(table, feature)
            shares |= dict.fromkeys(columns, float(of_features[feature]) / len(columns))
        known["costs"] = Costs(shares, budget=costs.budget)
    return known


def route(selector: Any, params: Mapping[str, Any]) -> Any:
    """What the splitter, the estimator and the scorer get of what `fit` was given."""
    if get_config()["enable_metadata_routing"]:
        return process_routing(selector, "fit", **params)
    unknown = [name for name in params if name != "groups"]
    if unknown:
        about = f"fit got {', '.join(unknown)}, which is only passed on if metadata routing is enabled"
        raise ValueError(f"{about}: sklearn.set_config(enable_metadata_routing=True)")
    split = Bunch(split={"groups": params.get("groups")})
    return Bunch(estimator=Bunch(fit={}), splitter=split, scorer=Bunch(score={}))


def check_betas(betas: Any) -> list[float]:
    """Weights to try in ascending order, 0 among them."""
    given = [betas] if isinstance(betas, Real) else list(betas)
    return sorted({0.0, *(check_beta(beta, "betas") for beta in given)})


def sizes_to_try(max_features: int, step: int, table: Table, settings: SearchSettings) -> list[int]:
    most, step = check_whole_number("max_features", max_features, 1), check_whole_number("step", step, 1)
    included, excluded = map(set, table.forced(settings.include, settings.exclude))
    if len(included) > most:
        raise ValueError(f"include names {len(included)} features, but max_features={most}; try more features")
    most = max(1, min(most, len(set(table.features.tolist()) - excluded)))
    return sorted(range(most, max(len(included), 1) - 1, -step)) or [most]


def results_of(betas: list[float], sizes: list[int], scores: Values) -> dict[str, NDArray[Any]]:
    flat = scores.reshape(len(scores), -1)
    return {
        "beta": np.repeat(betas, len(sizes)),
        "n_features": np.tile(sizes, len(betas)),
        "mean_test_score": flat.mean(axis=0),
        "std_test_score": flat.std(axis=0),
        **{f"split{number}_test_score": fold for number, fold in enumerate(flat)},
    }


def choose(results: Mapping[str, NDArray[Any]], scores: Values, one_standard_error: bool) -> int:
    """Position of the fewest features, then of the smallest beta, among the best scores."""
    means = results["mean_test_score"]
    if np.isnan(means).all():
        raise TimeoutError("no number of features was reached in every fold; give more with max_seconds=")
    best, slack = int(np.nanargmax(means)), _ROUNDING
    if one_standard_error and len(scores) > 1:
        slack += scores.reshape(len(scores), -1)[:, best].std(ddof=1) / len(scores) ** 0.5
    good = np.flatnonzero(means >= means[best] - slack)
    return int(good[np.lexsort((results["beta"][good], results["n_features"][good]))[0]])
