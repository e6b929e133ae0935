"""What can be compared, and how each selector orders the features of the training rows."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unirel.boost import REFERENCE_SIZE, Boost, BoostOptions, find_boost
from unirel.criteria import make_criterion
from unirel.criteria.base import Criterion
from unirel.evaluation.classifiers import Labels, Values
from unirel.evaluation.wrappers import Wrapper
from unirel.information import ESTIMATORS, make_information
from unirel.information.knn import Metric
from unirel.information.memo import Memo
from unirel.options import check_choice
from unirel.search import Limits, search
from unirel.table import Table
from unirel.unique import METHODS

# X of the training rows, their classes as numbers from 0 on, and how many features at most -> positions, best first.
OrderFunction = Callable[[Values, Labels, int], Sequence[int]]


@dataclass(frozen=True)
class Selector:
    """A criterion of unirel, plain or boosted by unique relevance.

    Attributes
    ----------
    criterion : name or Criterion
        "mim", "mrmr", "jmi", "jmim", "cmim", "gsa", or an instance.
    beta : float
        Weight of unique relevance; 0 is the plain criterion.
    unique_relevance : {"reference", "ksg", "classifier"}
        What is boosted.
    classifier : name or estimator, optional
        What to train for "classifier"; by default the classifier that is being evaluated.
    estimator : {"knn", "plugin", "binned"}
        How mutual information is estimated.
    beta_choices : tuple of float, optional
        Weights among which validation accuracy chooses, for each classifier; instead of `beta`. Equal accuracies go to
        the larger mean validation accuracy over all numbers of features, then to the smaller weight.
    n_neighbors, metric, cv
        As in `unirel.selection_path`.

    Examples
    --------
    >>> from unirel.evaluation import Selector
    >>> plain, boosted = Selector("jmi"), Selector("jmi", 0.1)
    >>> tuned = Selector("jmi", beta_choices=(0, 0.1, 0.3, 0.5))
    """

    criterion: str | Criterion
    beta: float = 0.0
    unique_relevance: Literal["reference", "ksg", "classifier"] = "reference"
    classifier: Any = None
    estimator: str = "knn"
    beta_choices: tuple[float, ...] | None = None
    n_neighbors: int = 3
    metric: Metric = "auto"
    cv: Any = 5

    def __post_init__(self) -> None:
        make_criterion(self.criterion)
        check_choice("unique_relevance", self.unique_relevance, METHODS)
        check_choice("estimator", self.estimator, ESTIMATORS)
        for beta in self.betas:
            if not isinstance(beta, Real) or not 0 <= beta <= 1:
                raise ValueError(f"beta={beta!r} is out of range; it must be from 0 (no boost) to 1")
        if not self.betas:
            raise ValueError("beta_choices=() leaves no choice; name at least one weight, or pass beta")

    @property
    def betas(self) -> tuple[float, ...]:
        """Weights to try."""
        return (self.beta,) if self.beta_choices is None else tuple(self.beta_choices)

    @property
    def is_boosted(self) -> bool:
        """Whether unique relevance is needed."""
        return max(self.betas) > 0

    @property
    def depends_on_classifier(self) -> bool:
        """Whether every classifier gets an order of its own."""
        return self.is_boosted and self.unique_relevance == "classifier" and self.classifier is None

    @property
    def family(self) -> tuple[Any, ...]:
        """What selectors that share estimates have in common."""
        return (describe_object(self.criterion), self.estimator, self.n_neighbors, self.metric)

    def values_key(self, classifier: str) -> tuple[Any, ...] | None:
        """What tells apart unique relevances that do not depend on the criterion; None for those that do."""
        if not self.is_boosted or self.unique_relevance == "reference":
            return None
        if self.unique_relevance == "ksg":
            return ("ksg", self.n_neighbors, self.metric)
        trained = f"evaluated {classifier}" if self.classifier is None else describe_object(self.classifier)
        return ("classifier", trained, describe_object(self.cv))


@dataclass(frozen=True)
class Peer:
    """A scikit-learn selector or a function, as it takes part."""

    selector: Any

    def order(self, X: Values, y: Labels, max_features: int, random_state: int) -> list[int]:
        """Features in order of preference, found on the rows given."""
        with _seeded(random_state):
            if hasattr(self.selector, "fit"):
                found = order_of(clone(self.selector).fit(X, y), X.shape[1])
            else:
                found = self.selector(X, y, max_features)
        return _check_order(found, X.shape[1])[:max_features]


AnySelector = Selector | Wrapper | Peer


def make_selectors(selectors: Any) -> dict[str, AnySelector]:
    """Selectors by label, whatever they were given as."""
    if not isinstance(selectors, Mapping):
        selectors = {name: name for name in ([selectors] if isinstance(selectors, str) else selectors)}
    if not selectors:
        raise ValueError("selectors is empty; pass at least one, such as {'jmi': Selector('jmi')}")
    return {str(label): _make_selector(label, selector) for label, selector in selectors.items()}


def _make_selector(label: Any, selector: Any) -> AnySelector:
    if isinstance(selector, Selector | Wrapper | Peer):
        return selector
    if isinstance(selector, str | Criterion):
        return Selector(selector)
    if isinstance(selector, tuple):
        return Selector(*selector)
    if isinstance(selector, type) or not (callable(selector) or hasattr(selector, "fit")):
        raise TypeError(
            f"selector {label!r} is {selector!r}; pass a Selector, a Wrapper, the name of a criterion, "
            "an instance of a scikit-learn selector, or a function (X, y, max_features) -> order"
        )
    return Peer(selector)


def describe_selector(selector: AnySelector) -> Any:
    """What a journal holds to recognise a selector by."""
    if isinstance(selector, Peer):
        return describe_object(selector.selector)
    plain = {name: value if _is_plain(value) else describe_object(value) for name, value in _facts(selector).items()}
    return {"kind": type(selector).__name__, **plain}


def _facts(selector: Selector | Wrapper) -> dict[str, Any]:
    if isinstance(selector, Wrapper):
        return asdict(selector)
    facts = {name: getattr(selector, name) for name in Selector.__dataclass_fields__}
    return {**facts, "beta_choices": list(selector.betas) if selector.beta_choices is not None else None}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list)


def describe_object(value: Any) -> str:
    """A text that is the same in every session: without addresses, with the names of functions."""
    if isinstance(value, str):
        return value
    if isinstance(value, Criterion):
        return f"{type(value).__module__}.{type(value).__qualname__} {vars(value)!r}"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", re.sub(r"\s+", " ", repr(value)))


def order_of(fitted: Any, n_features: int) -> NDArray[np.intp]:
    """Features in order of preference of a fitted scikit-learn selector.

    By `order_` if there is one, else by `ranking_` or `scores_`, which order all features, however many it selected;
    else those that it selected, by the importances or weights of its `estimator_` if it has one. Ties go to the lowest
    position.
    """
    if hasattr(fitted, "order_"):
        return np.asarray(fitted.order_, np.intp)
    if hasattr(fitted, "ranking_"):
        return np.argsort(fitted.ranking_, kind="stable")
    scores = getattr(fitted, "scores_", None)
    if scores is not None and np.shape(scores) == (n_features,):
        return _descending(np.asarray(scores, float))
    if not hasattr(fitted, "get_support"):
        raise TypeError(
            f"{type(fitted).__name__} tells no order: it has no order_, ranking_, scores_ or get_support(); "
            "wrap it in a function (X, y, max_features) -> order"
        )
    support = np.asarray(fitted.get_support(), bool)
    order = _descending(_importances(getattr(fitted, "estimator_", None), n_features))
    selected: NDArray[np.intp] = order[support[order]]
    return selected


def _importances(estimator: Any, n_features: int) -> Values:
    weights = getattr(estimator, "feature_importances_", getattr(estimator, "coef_", None))
    if weights is None or np.shape(weights)[-1:] != (n_features,):
        return np.zeros(n_features)
    total: Values = np.abs(np.atleast_2d(weights)).sum(axis=0)
    return total


def _descending(scores: Values) -> NDArray[np.intp]:
    return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")


def _check_order(order: Any, n_features: int) -> list[int]:
    found = np.asarray(order)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(f"an order must be a list of positions, at least one, but it is {order!r}")
    if len(np.unique(found)) < len(found) or found.min() < 0 or found.max() >= n_features:
        raise ValueError(f"an order must name each position from 0 to {n_features - 1} at most once: {found.tolist()}")
    positions: list[int] = found.tolist()
    return positions


@contextmanager
def _seeded(random_state: int) -> Iterator[None]:
    """Seed numpy's global generator, which scikit-learn falls back on, and put it back afterwards."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(random_state)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


class Ask(NamedTuple):
    """One selector of a family, with the unique relevance it needs unless that depends on the criterion."""

    key: tuple[Any, ...]
    selector: Selector
    values: Values | None
    seconds: float  # what finding the values took


class Found(NamedTuple):
    """Orders of features that one selector made, one for each beta; peers and wrappers have none."""

    key: tuple[Any, ...]
    betas: list[float | None]
    orders: list[list[int]]
    seconds: float


def find_values(X: Values, y: Labels, selector: Selector, classifier: Any) -> tuple[Values, float]:
    """Unique relevance that does not depend on the criterion, as boosted, and the seconds it took."""
    started = time.perf_counter()
    trained = classifier if selector.classifier is None else selector.classifier
    options = BoostOptions(
        selector.unique_relevance, trained, selector.cv, n_neighbors=selector.n_neighbors, metric=selector.metric
    )
    boost = find_boost(_table(X, y), options, None)
    return boost.values[: X.shape[1]], time.perf_counter() - started


def find_orders(X: Values, y: Labels, asks: Sequence[Ask], max_features: int) -> list[Found]:
    """Orders of all selectors of one family, which share every estimate."""
    started = time.perf_counter()
    first = asks[0].selector
    table = _table(X, y)
    options = {"n_neighbors": first.n_neighbors, "metric": first.metric}
    memo = Memo(make_information(first.estimator, table, options))
    criterion = make_criterion(first.criterion)
    plain = search(memo, criterion, Limits(max(max_features, REFERENCE_SIZE))).order.tolist()
    common = time.perf_counter() - started
    reference: Boost | None = None
    reference_seconds = 0.0
    found = []
    for ask in asks:
        started = time.perf_counter()
        boost = None if ask.values is None else Boost(np.append(ask.values, np.nan))
        extra = ask.seconds
        if ask.selector.is_boosted and boost is None:
            if reference is None:
                kind = BoostOptions("reference", metric=first.metric)
                reference = find_boost(table, kind, plain[:REFERENCE_SIZE])
                reference_seconds = time.perf_counter() - started
                started = time.perf_counter()
            boost, extra = reference, reference_seconds
        orders = [
            search(memo, criterion, Limits(max_features), beta=beta, boost=boost).order.tolist()
            if beta > 0
            else plain[:max_features]
            for beta in ask.selector.betas
        ]
        seconds = common + extra + time.perf_counter() - started
        found.append(Found(ask.key, [float(beta) for beta in ask.selector.betas], orders, seconds))
    return found


def _table(X: Values, y: Labels) -> Table:
    return Table.from_data(X, y, target_kind="discrete")
