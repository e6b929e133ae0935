"""
What if features have a price?
==============================

A blood count is cheap and a scan is not. None of the criteria that come along knows
about prices; a new one takes fifteen lines. It goes wherever a name of a criterion
goes: selectors, paths, comparisons, with or without boost.
"""

# %%
# A criterion says what the newest selected feature means for every candidate (`term`),
# and how these terms become one number (`fold`). Here it is what JMI asks, less the
# price.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from unirel import BURSelector, Criterion, mutual_information


class Thrifty(Criterion, name="thrifty"):
    """What a candidate tells beside the selected features, less what it costs."""

    fold = "mean"

    def __init__(self, prices=None, exchange=0.01):
        self.prices = prices
        self.exchange = exchange

    def term(self, source, candidates, selected):
        told = source.joint(candidates, selected[-1:])
        return told - self.exchange * np.asarray(self.prices)[candidates]


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
# What is known about the diagnosis against what was paid for it. Both begin with the
# most relevant feature, which is dear. From there the thrifty one learns as much from
# two cheap measurements as the other from a second dear one. Who can pay for more gets
# further in the end.

figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for color, (name, order) in zip(["0.6", "C2"], chosen.items(), strict=True):
    paid = np.cumsum(prices[order])
    told = [mutual_information(X.iloc[:, order[: n + 1]], y) for n in range(len(order))]
    ax.step(paid, told, where="post", color=color, linewidth=2)
    ax.plot(paid, told, "o", color=color, label=name)
    ax.annotate(
        name, (paid[-1], told[-1]), (8, 0), textcoords="offset points", va="center"
    )
ax.set(
    xlabel="paid in all", ylabel="the features tell together (nats)", ylim=(0.45, 0.61)
)
ax.set_xlim(0, 1.12 * max(prices[order].sum() for order in chosen.values()))
plt.show()
