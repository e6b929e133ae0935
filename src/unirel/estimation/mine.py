"""Mutual information from a classifier that tells rows as they are from rows that are put together at random."""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp
from sklearn.neural_network import MLPClassifier

from unirel.data.table import Table
from unirel.estimation.base import Values
from unirel.estimation.blocks import BlockInformation, Side

Critic = Callable[[Values, Values], Values]

_SEED, _LAYERS, _BATCH, _STEP, _PENALTY = 0, (32, 32), 200, 0.005, 0.1
# Lessons, and orders of the rows that are shuffled in each, all different, so that nothing is learnt of one order.
_LESSONS, _ORDERS = 8, 5
# Other rows that each row is put together with where the bound is taken, and the largest odds of a critic.
_SHIFTS, _LARGEST_ODDS = 10, 1e12


class MINE(BlockInformation):
    """The bound of Donsker and Varadhan, as in MINE (Belghazi et al. 2018), with a small neural network as the critic.

    The network learns on one half of the rows to tell pairs as they are from pairs of shuffled rows; T is the logarithm
    of its odds, which would be that of the ratio of densities if it had learnt everything. On the other half

        I(A; B) >= mean of T over the rows - log( mean of exp T over pairs of different rows ),

    and the mean of both ways round is taken. What the network has not learnt is missing, and what it has learnt by
    heart counts against it, so that the value of noise may be far below 0. Numbers are normal scores and levels
    indicators. Seeds are fixed: the same table gives the same value.
    """

    name = "mine"

    @classmethod
    def check(cls, table: Table) -> None:
        super().check(table)
        if table.n_samples < 4:
            rows = f"needs at least 4 rows, X has {table.n_samples}"
            raise ValueError(f"mi_estimator='mine' {rows}; pass mi_estimator='knn'")

    def estimate_blocks(self, a: Side, b: Side) -> float:
        x, y = inputs(a), inputs(b)
        halves = np.array_split(np.random.default_rng(_SEED).permutation(len(x)), 2)
        bounds = [
            donsker_varadhan(train_critic(x[seen], y[seen]), x[held_out], y[held_out])
            for seen, held_out in (halves, halves[::-1])
        ]
        return float(np.mean(bounds))


def inputs(side: Side) -> Values:
    """What the network sees of a block, one row for each row: scores and indicators, all of mean 0 and variance 1."""
    indicators = [row == level for row in side.levels for level in np.unique(row)]
    columns = np.array([*side.scores, *indicators], np.float64)
    columns = columns[np.ptp(columns, axis=1) > 0]  # A column of one value and missing ones is an indicator only.
    columns -= columns.mean(axis=1, keepdims=True)
    return np.asarray((columns / columns.std(axis=1, keepdims=True)).T)


def train_critic(x: Values, y: Values) -> Critic:
    """Logarithms of the odds that a row of x and a row of y belong together, learnt from rows that do."""
    rng, together = np.random.default_rng(_SEED), np.repeat([True, False], _ORDERS * len(x))
    network = MLPClassifier(
        _LAYERS, learning_rate_init=_STEP, alpha=_PENALTY, batch_size=min(_BATCH, 2 * len(x)), random_state=_SEED
    )
    for _ in range(_LESSONS):
        orders = [np.arange(len(y))] * _ORDERS + [rng.permutation(len(y)) for _ in range(_ORDERS)]
        pairs = np.column_stack([np.tile(x, (2 * _ORDERS, 1)), y[np.concatenate(orders)]])
        network.partial_fit(pairs, together, classes=[False, True])

    def critic(x: Values, y: Values) -> Values:
        apart, odds_on = np.clip(network.predict_proba(np.column_stack([x, y])), 1 / _LARGEST_ODDS, 1).T
        return np.asarray(np.log(odds_on / apart))

    return critic


def donsker_varadhan(critic: Critic, x: Values, y: Values) -> float:
    """The bound that a critic gives for some rows; pairs of different rows are those of shifted y."""
    shifts = np.unique(np.linspace(1, len(x) - 1, min(_SHIFTS, len(x) - 1)).astype(int))
    others = np.concatenate([critic(x, np.roll(y, shift, axis=0)) for shift in shifts.tolist()])
    return float(critic(x, y).mean() - logsumexp(others) + np.log(len(others)))
