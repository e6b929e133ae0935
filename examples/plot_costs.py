"""
What does information cost?
===========================

Tests in a clinic do not cost the same, and columns of 0 and 1 that are one category go
together. With groups and costs the score per cost decides, as far as the budget goes.
"""

# %%
# A scan tells most about a diagnosis, two blood values together nearly as much, and a
# few questions something. The ward is one of six, in six columns.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unirel import BURSelector, Costs, mutual_information

rng = np.random.default_rng(0)
n_rows = 2000
severity = rng.normal(size=n_rows)
ward = rng.integers(0, 6, n_rows)


def reading(noise):
    return severity + noise * rng.normal(size=n_rows)


X = pd.DataFrame(
    {
        "scan": reading(0.5),
        "blood 1": reading(1.0),
        "blood 2": reading(1.0),
        "pain": np.round(reading(1.5)),
        "sleep": np.round(reading(2.0)),
        "age": rng.normal(60, 10, n_rows),
    }
).join(pd.get_dummies(ward, prefix="ward", dtype=int))
y = np.where(severity + 0.6 * (ward % 3 - 1) > 0, "ill", "well")

# %%
# The group is one feature, and `transform` gives all of its columns. Without costs the
# scan comes first; with them what is cheap does, and the scan no longer fits.

groups = {"ward": "ward_*"}
costs = Costs({"scan": 300, "blood *": 40, "pain": 2, "sleep": 2}, budget=120)
plain = BURSelector(n_features_to_select="auto", groups=groups).fit(X, y)
cheap = BURSelector(n_features_to_select="auto", groups=groups, costs=costs).fit(X, y)
print(plain.selection_.selected_names)
print(cheap.selection_.to_frame()[["name", "cost", "total_cost"]])
print(cheap.transform(X).columns.tolist())

# %%
# What the first features tell together, against what they cost.

prices = Costs(costs.prices)
free = BURSelector(n_features_to_select="all", groups=groups).fit(X, y)
priced = BURSelector(n_features_to_select="all", groups=groups, costs=prices)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for label, selector in {"score": free, "score per cost": priced.fit(X, y)}.items():
    selection = selector.selection_
    known = dict(zip(priced.selection_.order, priced.selection_.costs, strict=True))
    spent = np.cumsum([0, *(known[feature] for feature in selection.order)])
    blocks = [
        np.concatenate(selection.columns[:n]) for n in range(1, len(selection) + 1)
    ]
    told = [0, *(mutual_information(X.iloc[:, block], y) for block in blocks)]
    (line,) = ax.step(spent, told, where="post", label=f"best {label} first")
    ax.plot(spent, told, "o", ms=4, color=line.get_color())
ax.axvline(120, color="0.6", ls=":", lw=1)
ax.annotate("budget", (120, 0.02), xytext=(4, 0), textcoords="offset points")
ax.set(xlabel="cost of the first features", ylabel="joint information (nats)", ylim=0)
ax.legend(loc="lower right")
plt.show()
