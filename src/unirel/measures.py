"""How much columns tell about a target: the public functions."""

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from unirel.information.base import Information, make_information
from unirel.options import EstimationOptions, MeasureOptions, ReadingOptions, complete, documented, part_of
from unirel.parts.opening import open_table
from unirel.table import Table


@documented(MeasureOptions)
def mutual_information(
    X: Any,
    y: Any,
    *,
    conditional_on: Any = None,
    clip: bool = True,
    **options: Unpack[MeasureOptions],
) -> float:
    """Mutual information of a block of columns and a target, I(X; y) or I(X; y | Z), in nats.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_columns)
        The columns, taken together as one block. A single column may be one-dimensional.
    y : array or series of shape (n_samples,)
        The target: class labels of any type, or numbers.
    conditional_on : array or frame of shape (n_samples, n_conditions), optional
        The block Z to condition on.
    clip : bool
        Keep the estimate between 0 and the entropy of a discrete target; False gives the raw value.
    {options}

    Returns
    -------
    float

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
    >>> coins = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25
    >>> parity = [a ^ b for a, b in coins]
    >>> round(mutual_information([a for a, b in coins], parity), 3)
    0.0
    >>> round(mutual_information(coins, parity), 3)
    0.693
    """
    information = _open(X, y, options, "mutual_information", conditional_on)
    table = information.table
    target = [table.target]
    if conditional_on is None:
        value = information.mutual_information(table.features, target)
    else:
        value = information.conditional(table.features, target, table.given)
    return information.bounded(value, table.features, target) if clip else value


@documented(MeasureOptions)
def relevance(
    X: Any,
    y: Any,
    *,
    clip: bool = True,
    **options: Unpack[MeasureOptions],
) -> NDArray[np.float64]:
    """Relevance of every column by itself, I(Xk; y), in nats.

    Parameters
    ----------
    {data}
    clip : bool
        Keep estimates between 0 and the entropy of a discrete target; False gives the raw value.
    {options}

    Returns
    -------
    ndarray of shape (n_features,)
        NaN for a column that is ignored.

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
    information = _open(X, y, options, "relevance")
    table = information.table
    values = information.relevance(table.features)
    return _one_per_feature(table, information.bounded_pairs(values, table.features, table.target) if clip else values)


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
    given : name, position or list of them, or array or frame of shape (n_samples, n_conditions)
        What is known: a list names columns of `X`, an array or frame holds columns with the same rows.
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
    named = _names_columns(given)
    information = _open(X, y, options, "conditional_relevance", None if named else given)
    table = information.table
    known = _known_columns(table, given) if named else table.given.tolist()
    values = np.zeros(len(table.features))
    for position, feature in enumerate(table.features):
        if feature not in known:
            values[position] = information.conditional([feature], [table.target], known)
    return _one_per_feature(table, information.bounded_pairs(values, table.features, table.target) if clip else values)


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
    >>> coin, other = [0, 0, 1, 1] * 25, [0, 1, 0, 1] * 25
    >>> irrelevance([list(pair) for pair in zip(coin, other)], coin).round(3)
    array([0.   , 0.693])
    """
    information = _open(X, y, options, "irrelevance")
    table = information.table
    values = information.bounded_pairs(information.relevance(table.features), table.features, table.target)
    entropies = [information.entropy(feature) for feature in table.features]
    return _one_per_feature(table, np.array(entropies) - values)


def _open(X: Any, y: Any, options: MeasureOptions, owner: str, conditional_on: Any = None) -> Information:
    """The estimator that the options of a measure ask for, on the table it was given."""
    chosen = complete(MeasureOptions, options, owner)
    reading = part_of(ReadingOptions, chosen)
    if conditional_on is None:
        table, _ = open_table(X, y, reading)
    else:
        table = Table.from_data(X, y, conditional_on=conditional_on, **reading)
    return make_information(table, part_of(EstimationOptions, chosen))


def _one_per_feature(table: Table, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread values of the features in use over all features; ignored ones get NaN."""
    result = np.full(table.n_features, np.nan)
    result[table.features] = values
    return result


def _names_columns(given: Any) -> bool:
    """Whether `given` names columns of X: a name, a position, or a list of them. An array is a column itself."""
    if isinstance(given, str | int | np.integer):
        return True
    return isinstance(given, list | tuple) and all(isinstance(one, str | int | np.integer) for one in given)


def _known_columns(table: Table, given: Any) -> list[int]:
    """Positions of the named columns, each once; ignored ones say nothing."""
    return [position for position in dict.fromkeys(table.positions(given)) if position in table.features]
