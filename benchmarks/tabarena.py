"""unirel among the selectors of TabArena's feature-selection benchmark.

There a selector derives from `AbstractFeatureSelector` (of the module `BASE` below) and answers
`_fit_feature_scoring(X=, y=, time_limit=)` with a score for each feature, of which the largest `max_features` are
selected. An instance is a generator of features that AutoGluon runs last:

    from benchmarks.tabarena import UnirelFeatureSelector

    TabularPredictor(label="class").fit(
        train_data, _feature_generator_kwargs={"post_generators": [UnirelFeatureSelector(max_features=10)]}
    )

For its pipelines by name, import the class in a module of its folder `ag` and add that to `NAME_TO_MODULE_MAP`.
"""

from importlib import import_module
from typing import Any

from unirel import BURSelector

BASE = "tabarena.benchmark.feature_selection_methods.abstract.abstract_feature_selector"
TARGET_KINDS = {
    **dict.fromkeys(("binary", "multiclass", "softclass"), "discrete"),
    **dict.fromkeys(("regression", "quantile"), "continuous"),
}


class UnirelScoring:
    """What unirel answers; the base class of TabArena brings `max_features` and, in later versions, `problem_type`."""

    name = "UnirelFeatureSelector"
    feature_scoring_method = True
    max_features: int

    def _fit_feature_scoring(self, *, X: Any, y: Any, time_limit: float | None = None) -> dict[str, float]:
        problem_type = getattr(self, "problem_type", None)
        selector = BURSelector(
            n_features_to_select=min(self.max_features, X.shape[1]),
            max_seconds=time_limit,
            target_type=TARGET_KINDS.get(problem_type, "auto"),
        )
        try:
            selector.fit(X, y)
        except TimeoutError:
            # Features without a score are drawn at random there, and counted as such.
            return {}
        return scores_of(selector, list(X.columns))


def scores_of(selector: BURSelector, names: list[str]) -> dict[str, float]:
    """Larger scores for what was selected earlier, since scores of steps need not fall; then the others by relevance.

    A selection that ran out of time has fewer features than wanted, which is why the others have a score.
    """
    scores = {name: float(1 - rank) for name, rank in zip(names, selector.ranking_, strict=True)}
    return scores | {names[j]: float(len(selector.order_) - step) for step, j in enumerate(selector.order_)}


def __getattr__(name: str) -> Any:
    """The selector, made when it is asked for, as its base class needs TabArena; of this module, to be pickled."""
    if name != UnirelScoring.name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        base = import_module(BASE).AbstractFeatureSelector
    except ImportError as error:
        raise ImportError(f"{name} needs {BASE}: install TabArena with its feature-selection benchmark") from error
    globals()[name] = type(name, (UnirelScoring, base), {"__module__": __name__, "__doc__": UnirelScoring.__doc__})
    return globals()[name]
