"""
What if features have a price?
==============================

A blood count is cheap and a scan is not. None of the criteria that come along knows
about prices; a new one takes fifteen lines. It goes wherever a name of a criterion
goes: selectors, paths, comparisons, with or without boost.
"""

# %%
# A criterion says what the newest selected feature means for every candidate (`term`),
# and how these terms become one number (`fold`). Here it is JMI less the price.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from unirel import BURSelector, Criterion, mutual_information


class Thrifty(Criterion, name="thrifty", fold="mean"):
    """Information of a candidate with each selected feature, less its price."""

    def __init__(self, prices=None, exchange=0.01):
        self.prices = prices
        self.exchange = exchange

    def term(self, source, candidates, selected):
        joint = source.joint(candidates, selected[-1:])
        return joint - self.exchange * np.asarray(self.prices)[candidates]


# %%
# Measurements of cell nuclei. Say that means are cheap, errors cost more, and the
# worst of all cells most, since one has to look at all of them.

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target
prices = np.select(
    [X.columns.str.startswith("mean"), X.columns.str.endswith("error")], [1, 3], 10
)

chosen = {}
for name, criterion in {"jmi": "jmi", "thrifty": Thrifty(prices, 0.005)}.items():
    chosen[name] = BURSelector(criterion, 8, beta=0).fit(X, y).order_
    print(f"{name:<8} {', '.join(X.columns[chosen[name]][:5])}, ...")

# %%
# Information about the diagnosis against what was paid for it. Both begin with the
# most relevant feature, which is expensive. From there two cheap measurements add as
# much as a second expensive one; with more to spend, the criterion without prices gets
# further in the end.

figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for color, (name, order) in zip(["0.6", "C2"], chosen.items(), strict=True):
    paid = np.cumsum(prices[order])
    joint = [
        mutual_information(X.iloc[:, order[: n + 1]], y) for n in range(len(order))
    ]
    ax.step(paid, joint, where="post", color=color, linewidth=2)
    ax.plot(paid, joint, "o", color=color, label=name)
    ax.annotate(
        name, (paid[-1], joint[-1]), (8, 0), textcoords="offset points", va="center"
    )
ax.set(xlabel="paid in all", ylabel="joint information (nats)", ylim=(0.45, 0.61))
ax.set_xlim(0, 1.12 * max(prices[order].sum() for order in chosen.values()))
plt.show()
