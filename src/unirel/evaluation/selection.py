"""What can be compared, and how each selector orders the features of the training rows."""

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unirel._runtime import OutOfTime, end_of, until
from unirel.classifiers.registry import Labels, Values
from unirel.criteria import Criterion, make_criterion
from unirel.data.table import Table
from unirel.evaluation.wrappers import Wrapper
from unirel.options import DEFAULT_N_FEATURES, ReadingOptions, SelectorOptions, check_beta, options_of, part_of
from unirel.results import Selection
from unirel.search.base import check_selection
from unirel.search.folds import stop_if_interrupted
from unirel.search.greedy import Searches
from unirel.search.unique import find_boost
from unirel.selectors import BURSelector

Key = tuple[Any, ...]
# Records of finished work.
Found = dict[Key, dict[str, Any]]
# Options that change nothing about the result,
_SILENT = ("n_jobs", "progress", "verbose")
# and those in which selectors may differ and still share every estimate.
_FREE = (*_SILENT, "beta", "unique_relevance", "classifier", "cv")


@dataclass(frozen=True)
class ChosenBeta:
    """A selector whose weight of unique relevance is chosen by validation accuracy, for each classifier.

    Equal accuracies go to the larger mean validation accuracy over all numbers of features, then to the smaller weight.

    Attributes
    ----------
    selector : BURSelector
        The selector; its own beta does not count.
    betas : tuple of float
        Weights to choose from; 0 is the plain criterion.

    Examples
    --------
    >>> from unirel import BURSelector
    >>> from unirel.evaluation import ChosenBeta
    >>> tuned = ChosenBeta(BURSelector("jmi"), betas=(0, 0.1, 0.3))
    """

    selector: BURSelector
    betas: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5)

    def __post_init__(self) -> None:
        if len(self.betas) == 0:
            raise ValueError("betas=() leaves no choice; name at least one weight")
        for beta in self.betas:
            check_beta(beta, "betas")


@dataclass(frozen=True, eq=False)
class OwnSelector:
    """A `BURSelector` as it takes part: its options, and the weights that validation accuracy chooses from."""

    options: SelectorOptions
    betas: tuple[float, ...]

    @property
    def is_boosted(self) -> bool:
        """Whether unique relevance is needed."""
        return max(self.betas) > 0

    @property
    def depends_on_classifier(self) -> bool:
        """Whether every classifier gets an order of its own."""
        return self.is_boosted and self._method == "classifier" and self.options["classifier"] is None

    @property
    def family(self) -> str:
        """What selectors that share estimates have in common."""
        return self._text(name for name in options_of(SelectorOptions) if name not in _FREE)

    def values_key(self, classifier: str) -> tuple[str, ...] | None:
        """What tells apart unique relevances that do not depend on the criterion; None for those that do."""
        if not self.is_boosted or self._method not in ("ksg", "classifier"):
            return None
        if self._method == "ksg" and self.options["max_seconds"] is not None:
            return None  # it is part of what the budget is for
        if self._method == "ksg":
            return ("ksg", self._text(["n_neighbors", "metric", *options_of(ReadingOptions)]))
        trained = f"evaluated {classifier}" if self.options["classifier"] is None else "given"
        # Of many columns it is asked about the most relevant, which nearly every option has a part in.
        others = (name for name in options_of(SelectorOptions) if name not in (*_FREE, "criterion", "max_seconds"))
        return ("classifier", trained, self._text(["classifier", "cv", *others]))

    def read(self, X: Values, y: Labels) -> Table:
        """A table of the training rows."""
        reading: ReadingOptions = {**part_of(ReadingOptions, self.options), "target_kind": "discrete"}
        return Table.from_data(X, y, **reading)

    def description(self) -> dict[str, Any]:
        """What a journal holds to recognise it by."""
        known = {name: identify(value) for name, value in self.options.items() if name not in _SILENT}
        betas = [float(beta) for beta in self.betas]
        return {"kind": "BURSelector", **known, "beta": betas[0] if len(betas) == 1 else betas}

    @property
    def _method(self) -> str:
        unique = self.options["unique_relevance"]
        return unique if isinstance(unique, str) else "given values"

    def _text(self, names: Any) -> str:
        return json.dumps({name: identify(self.options[name]) for name in names})  # type: ignore[literal-required]


@dataclass(frozen=True)
class Peer:
    """A scikit-learn selector or a function, as it takes part."""

    depends_on_classifier: ClassVar[bool] = False

    selector: Any

    def order(self, X: Values, y: Labels, max_features: int, classifier: Any, random_state: int) -> list[int]:
        """Features in order of preference, found on the rows given, whatever the classifier."""
        with _seeded(random_state):
            if hasattr(self.selector, "fit"):
                fitted = clone(self.selector).fit(X, y)
                if isinstance(selection := getattr(fitted, "selection_", None), Selection):
                    stop_if_interrupted([selection])
                found = order_of(fitted, X.shape[1])
            else:
                found = self.selector(X, y, max_features)
        return _check_order(found, X.shape[1])[:max_features]


AnySelector = OwnSelector | Wrapper | Peer


def make_selectors(selectors: Any) -> dict[str, AnySelector]:
    """Selectors by label, whatever they were given as."""
    if not isinstance(selectors, Mapping):
        selectors = {name: name for name in ([selectors] if isinstance(selectors, str) else selectors)}
    if not selectors:
        raise ValueError("selectors is empty; pass at least one, such as {'jmi': BURSelector('jmi')}")
    return {str(label): _make_selector(label, selector) for label, selector in selectors.items()}


def _make_selector(label: Any, selector: Any) -> AnySelector:
    if isinstance(selector, Wrapper):
        return selector
    if isinstance(selector, str | Criterion):
        selector = BURSelector(selector, beta=0.0)
    if isinstance(selector, ChosenBeta):
        return _make_own(selector.selector, selector.betas)
    # A subclass that selects in its own way is a peer like any other.
    if isinstance(selector, BURSelector) and type(selector).fit is BURSelector.fit:
        return _make_own(selector, (selector.beta,))
    if isinstance(selector, type) or not (callable(selector) or hasattr(selector, "fit")):
        raise TypeError(
            f"selector {label!r} is {selector!r}; pass a BURSelector, a ChosenBeta, a Wrapper, the name of a "
            "criterion, an instance of a scikit-learn selector, or a function (X, y, max_features) -> order"
        )
    return Peer(selector)


def _make_own(selector: BURSelector, betas: Sequence[float]) -> OwnSelector:
    options = selector.options()
    make_criterion(options["criterion"])  # refused early if there is none of that name
    return OwnSelector({**options, "verbose": False}, tuple(betas))


def identify_selector(selector: AnySelector) -> Any:
    """What a journal holds to recognise a selector by."""
    if isinstance(selector, OwnSelector):
        return selector.description()
    return identify(selector.selector) if isinstance(selector, Peer) else {"kind": "Wrapper", **asdict(selector)}


def identify(value: Any) -> Any:
    """What JSON can hold and is the same in every session: without addresses, with the names of functions."""
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "__array__"):
        return f"array of sha256 {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, Mapping):
        return {str(key): identify(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [identify(one) for one in value]
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

    key: Key
    selector: OwnSelector
    values: Values | None
    seconds: float  # what finding the values took


def find_order(
    X: Values,
    y: Labels,
    max_features: int,
    key: Key,
    selector: Wrapper | Peer,
    classifier: Any,
    random_state: int,
) -> Found:
    """The order of a wrapper or a peer."""
    started = time.perf_counter()
    order = selector.order(X, y, max_features, classifier, random_state)
    return {key: {"betas": [None], "orders": [order], "seconds": time.perf_counter() - started}}


def find_values(X: Values, y: Labels, max_features: int, key: Key, selector: OwnSelector, classifier: Any) -> Found:
    """Unique relevance that does not depend on the criterion, as boosted.

    `classifier` is the one that is evaluated, for a selector that names none.
    """
    started = time.perf_counter()
    wanted = _n_features(selector.options["n_features_to_select"], max_features)
    options: SelectorOptions = {**selector.options, "n_features_to_select": wanted}
    if options["classifier"] is None:
        options["classifier"] = classifier
    table = selector.read(X, y)
    try:
        with until(end_of(options["max_seconds"])):
            columns = Searches(table, options).columns()
            boost = find_boost(table, options["unique_relevance"], None, columns, options)
    except OutOfTime:
        budget = f"max_seconds={options['max_seconds']:g}"
        raise TimeoutError(f"{budget} was used up before unique relevance was known; give more") from None
    values = [None if np.isnan(value) else value for value in boost.values[: X.shape[1]].tolist()]
    return {key: {"values": values, "seconds": time.perf_counter() - started}}


def find_orders(X: Values, y: Labels, max_features: int, asks: Sequence[Ask]) -> Found:
    """Orders of all selectors of one family, which share every estimate; what they share counts for each of them."""
    started = time.perf_counter()
    first = asks[0].selector
    criterion = make_criterion(first.options["criterion"])
    wanted = _n_features(first.options["n_features_to_select"], max_features)
    options: SelectorOptions = {**first.options, "n_features_to_select": wanted}
    searches = Searches(first.read(X, y), options)
    if len(asks) > 1:
        stop_if_interrupted(searches.run(criterion, [0.0]))
    common = time.perf_counter() - started
    boosting: dict[Any, float] = {}  # seconds for each kind of unique relevance
    found: Found = {}
    for ask in asks:
        unique = ask.selector.options["unique_relevance"] if ask.values is None else ask.values
        kind = unique if isinstance(unique, str) else id(unique)
        started = time.perf_counter()
        if ask.selector.is_boosted and kind not in boosting:
            if isinstance(boost := searches.boost(criterion, unique), Selection):
                stop_if_interrupted([boost])
            boosting[kind] = time.perf_counter() - started
            started = time.perf_counter()
        selections = searches.run(criterion, ask.selector.betas, unique)
        stop_if_interrupted(selections)
        for selection in selections:
            if len(selection) == 0 and selection.complete:
                raise ValueError(f"{ask.key} selects nothing to compare: {selection.reason}; pass a number of features")
            check_selection(selection, wanted)
        seconds = common + ask.seconds + boosting.get(kind, 0.0) + time.perf_counter() - started
        orders = [selection.order[:max_features].tolist() for selection in selections]
        found[ask.key] = {"betas": [float(beta) for beta in ask.selector.betas], "orders": orders, "seconds": seconds}
    return found


def _n_features(wanted: Any, max_features: int) -> Any:
    """As many as are compared, unless a selector has been given a number of its own that is smaller."""
    if not isinstance(wanted, Integral):
        return wanted
    return max_features if wanted == DEFAULT_N_FEATURES else min(int(wanted), max_features)
