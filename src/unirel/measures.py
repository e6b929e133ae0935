"""How much columns tell about a target: the public functions."""

from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from unirel.data.parts.opening import open_table
from unirel.data.table import Table
from unirel.estimation.base import Information, make_information
from unirel.estimation.intervals import all_counted, check_interval, interval_of_counts, interval_of_halves
from unirel.options import EstimationOptions, MeasureOptions, ReadingOptions, complete, documented, part_of
from unirel.results import Estimate


@overload
def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    clip: bool = True,
    interval: None = None,
    **options: Unpack[MeasureOptions],
) -> float: ...
@overload
def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    clip: bool = True,
    interval: float,
    **options: Unpack[MeasureOptions],
) -> Estimate: ...


@documented(MeasureOptions)
def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    clip: bool = True,
    interval: float | None = None,
    **options: Unpack[MeasureOptions],
) -> float | Estimate:
    """Mutual information of a block of columns and a target, I(X; y) or I(X; y | Z), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_columns)
        The columns, taken together as one block. A single column may be one-dimensional.
    y : array or series of shape (n_samples,), or array or frame of shape (n_samples, n_targets)
        The target: class labels of any type, or numbers. Several columns, of numbers, are taken together as one block.
    conditional_on : array or frame of shape (n_samples, n_conditions), optional
        The block Z to condition on.
    clip : bool
        Keep the estimate between 0 and the entropy of a discrete target; False gives the raw value.
    interval : float, optional
        Level of an interval to give beside the estimate, such as 0.95.
    {options}

    Returns
    -------
    float
        With `interval` an `Estimate` of value, low and high: from counts by a formula, without the bias of counting;
        from neighbours by 50 halves of the rows.

    See Also
    --------
    relevance : One column at a time.

    Notes
    -----
    For a discrete target the estimate is that of Ross [1]_, for a continuous one that of Kraskov et al. [2]_. Where
    distances tie, it is the mean over all ways to break the ties. Nothing is random.

    References
    ----------
    .. [1] B. C. Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE 9(2).
    .. [2] A. Kraskov, H. Stögbauer, P. Grassberger (2004). Estimating mutual information. Phys. Rev. E 69.

    Examples
    --------
    Two fair coins tell nothing about their exclusive or, one by one, and everything together.

    >>> from unirel import mutual_information
    >>> coins = [[0, 0], [0, 1], [1, 0], [1, 1]] * 250
    >>> parity = [a ^ b for a, b in coins]
    >>> round(mutual_information([a for a, b in coins], parity), 2)
    0.0
    >>> round(mutual_information(coins, parity), 2)
    0.69
    """
    check_interval(interval)
    y, conditional_on, n_others = _split_target(y, conditional_on)
    information = _open(X, y, options, "mutual_information", conditional_on)
    table = information.table
    given, others = np.split(table.given, [len(table.given) - n_others])
    features, target = table.features, [*others.tolist(), table.target]
    value = information.conditional(features, target, given)
    bounded = information.bounded(value, features, target) if clip else value
    if interval is None:
        return bounded
    if all_counted(information, [*features, *given, *target]):
        ends = interval_of_counts(information, [(features, target)], given, interval)
    else:
        columns, n_jobs = np.concatenate([features, table.given]), information.options["n_jobs"]
        places = np.split(np.arange(len(columns)), np.cumsum([len(features), len(given)]))

        def estimate(part: Table) -> NDArray[np.float64]:
            of_part = make_information(part, information.options)
            return np.array([of_part.conditional(places[0], [*places[2], part.target], places[1])])

        ends = interval_of_halves(table, columns, estimate, np.array([value]), interval, n_jobs)
    low, high = (float(end[0]) for end in ends)
    if clip:
        low, high = (information.bounded(end, features, target) for end in (low, high))
    return Estimate(bounded, low, high)


@overload
def relevance(
    X: Any, y: Any, *, clip: bool = True, interval: None = None, **options: Unpack[MeasureOptions]
) -> NDArray[np.float64]: ...
@overload
def relevance(X: Any, y: Any, *, clip: bool = True, interval: float, **options: Unpack[MeasureOptions]) -> Estimate: ...
@documented(MeasureOptions)
def relevance(
    X: Any,
    y: Any,
    *,
    clip: bool = True,
    interval: float | None = None,
    **options: Unpack[MeasureOptions],
) -> NDArray[np.float64] | Estimate:
    """Relevance of every column by itself, I(Xk; y), in nats.

    Parameters
    ----------
    {data}
    clip : bool
        Keep estimates between 0 and the entropy of a discrete target; False gives the raw value.
    interval : float, optional
        Level of intervals to give beside the estimates, such as 0.95; each is of one column, not of all together.
    {options}

    Returns
    -------
    ndarray of shape (n_features,)
        NaN for a column that is ignored. With `interval` an `Estimate` of value, low and high, as in
        `mutual_information`.

    See Also
    --------
    mutual_information : Several columns as one block.
    conditional_relevance : What a column adds to others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import relevance
    >>> relevance(*load_iris(return_X_y=True)).round(2)
    array([0.5 , 0.25, 0.99, 0.99])
    """
    check_interval(interval)
    information = _open(X, y, options, "relevance")
    table = information.table
    values = information.relevance(table.features)

    def finish(ends: NDArray[np.float64]) -> NDArray[np.float64]:
        bounded = information.bounded_pairs(ends, table.features, table.target) if clip else ends
        return table.one_per_feature(bounded)

    if interval is None:
        return finish(values)
    return Estimate(finish(values), *map(finish, _intervals(information, values, interval)))


def _intervals(information: Information, values: NDArray[np.float64], level: float) -> list[NDArray[np.float64]]:
    """Ends of intervals of the relevance of every feature: of those that are counted, and of the others."""
    table = information.table
    counted = np.array([all_counted(information, [feature, table.target]) for feature in table.features])
    low, high = np.empty((2, len(values)))
    if counted.any():
        pairs = [([feature], [table.target]) for feature in table.features[counted]]
        low[counted], high[counted] = interval_of_counts(information, pairs, [], level)
    if not counted.all():
        others = table.features[~counted]

        def estimate(part: Table) -> NDArray[np.float64]:
            return make_information(part, information.options).relevance(np.arange(len(others)))

        n_jobs = information.options["n_jobs"]
        low[~counted], high[~counted] = interval_of_halves(table, others, estimate, values[~counted], level, n_jobs)
    return [low, high]


@documented(MeasureOptions)
def conditional_relevance(
    X: Any,
    y: Any,
    given: Any,
    *,
    clip: bool = True,
    **options: Unpack[MeasureOptions],
) -> NDArray[np.float64]:
    """Relevance of every column when others are known, I(Xk; y | given), in nats.

    Parameters
    ----------
    {data}
    {given}
    clip : bool
        Keep estimates between 0 and the entropy of a discrete target; False gives the raw value.
    {options}

    Returns
    -------
    ndarray of shape (n_features,)
        0 for a column that is among the given ones, NaN for one that is ignored.

    See Also
    --------
    relevance : The same with nothing given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unirel import conditional_relevance
    >>> conditional_relevance(*load_iris(return_X_y=True), given=[2]).round(2)
    array([0.01, 0.  , 0.  , 0.04])
    """
    named = names_columns(given)
    information = _open(X, y, options, "conditional_relevance", None if named else given)
    table = information.table
    known = known_columns(table, given) if named else table.given.tolist()
    values = np.zeros(len(table.features))
    for position, feature in enumerate(table.features):
        if feature not in known:
            values[position] = information.conditional([feature], [table.target], known)
    return table.one_per_feature(information.bounded_pairs(values, table.features, table.target) if clip else values)


@documented(MeasureOptions)
def irrelevance(
    X: Any,
    y: Any,
    **options: Unpack[MeasureOptions],
) -> NDArray[np.float64]:
    """What every column holds beside the target, H(Xk | y) = H(Xk) - I(Xk; y), in nats.

    Parameters
    ----------
    {data}
    {options}

    Returns
    -------
    ndarray of shape (n_features,)
        NaN for a column that is ignored.

    Notes
    -----
    The entropy of a discrete column is that of its frequencies. That of a continuous column is differential
    (Kozachenko and Leonenko 1987): it may be negative, and a change of units by a factor adds the factor's logarithm.
    With ``scale="standard"`` it is that of the standardised column, so that columns compare; with ``scale=None`` that
    of the column as it is. With ``estimator="binned"`` it is that of the bins.

    Examples
    --------
    >>> from unirel import irrelevance
    >>> coin, other = [0, 0, 1, 1] * 250, [0, 1, 0, 1] * 250
    >>> irrelevance([list(pair) for pair in zip(coin, other)], coin).round(2)
    array([0.  , 0.69])
    """
    information = _open(X, y, options, "irrelevance")
    table = information.table
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    entropies = [information.entropy(feature) for feature in table.features]
    return table.one_per_feature(np.array(entropies) - values)


def _open(X: Any, y: Any, options: MeasureOptions, owner: str, conditional_on: Any = None) -> Information:
    """The estimator that the options of a measure ask for, on the table it was given."""
    chosen = complete(MeasureOptions, options, owner)
    reading = part_of(ReadingOptions, chosen)
    if conditional_on is None:
        table, _ = open_table(X, y, reading)
    else:
        table = Table.from_data(X, y, conditional_on=conditional_on, **reading)
    return make_information(table, part_of(EstimationOptions, chosen))


def _split_target(y: Any, conditional_on: Any) -> tuple[Any, Any, int]:
    """A target, what is given, and how many columns of the target were put behind it: of several all but the last."""
    shape: tuple[int, ...] = np.shape(y[:1]) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2:
        return y, conditional_on, 0
    given, columns = None if conditional_on is None else np.asarray(conditional_on), np.asarray(y)
    for name, numbers in (("y", columns), ("conditional_on", given)):
        if numbers is not None and numbers.dtype.kind not in "biuf":
            about = f"y has {shape[1]} columns, so {name} must hold numbers, not {numbers.dtype}"
            raise ValueError(f"{about}; code labels as numbers, or join those of y into one column")
    if n_missing := int(np.isnan(columns).sum()):
        raise ValueError(f"y has {n_missing} missing value{'s' * (n_missing > 1)} (NaN); drop those rows from X and y")
    if given is not None and len(given) != len(columns):
        raise ValueError(
            f"y has {len(columns)} rows, conditional_on has {len(given)}; they must describe the same samples"
        )
    others = columns[:, :-1] if given is None else np.column_stack([given, columns[:, :-1]])
    return columns[:, -1], others, shape[1] - 1


def names_columns(given: Any) -> bool:
    """Whether `given` names columns of X: a name, a position, or a list of them. An array is a column itself."""
    if isinstance(given, str | int | np.integer):
        return True
    return isinstance(given, list | tuple) and all(isinstance(one, str | int | np.integer) for one in given)


def known_columns(table: Table, given: Any) -> list[int]:
    """Positions of the named columns, each once; ignored ones say nothing."""
    return [position for position in dict.fromkeys(table.positions(given)) if position in table.features]
