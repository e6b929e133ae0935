"""
Which columns are relevant in a mixed table?
============================================

Real tables hold numbers, texts, yes and no, missing values and numbers of customers. No
encoding is needed: each column is read as what it is, the kind is shown, and a missing
value is a level of its own.
"""

# %%
# Customers of a shop, and whether they left. Income is often not given, and those who
# do not give it leave more often.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unirel import BURSelector

rng = np.random.default_rng(0)
N = 1500
contract = rng.choice(["monthly", "yearly", "two years"], N, p=[0.5, 0.3, 0.2])
complaints = rng.poisson(1.0, N)
income = rng.lognormal(10, 0.5, N)
income_hidden = rng.random(N) < 0.3
age = rng.integers(18, 80, N)
drive = (
    1.5 * (contract == "monthly")
    + 0.7 * complaints
    + 1.2 * income_hidden
    + 0.04 * np.abs(age - 45)
    + rng.normal(0, 0.8, N)
)
left = np.where(drive > np.median(drive), "left", "stayed")

table = pd.DataFrame(
    {
        "contract": pd.Categorical(contract),
        "complaints": complaints,
        "income": np.where(income_hidden, np.nan, income),
        "age": age,
        "newsletter": rng.random(N) < 0.4,
        "region": rng.choice(["north", "east", "south", "west"], N),
        "distance (km)": rng.gamma(2, 5, N).round(1),
        "customer": [f"C-{number:06d}" for number in rng.permutation(N)],
    }
)
table.head()

# %%
# The names of customers identify rows and predict nothing. They are ignored, with a
# warning that says why.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    selector = BURSelector(n_features_to_select=4).fit(table, left)
for warning in caught:
    print(warning.message)
for column in selector.columns_:
    print(f"{column.name:<14} {column.kind:<11} {column.reason}")

# %%
# The relevance of each column, by kind; the selected ones are numbered in the order of
# selection. Income is relevant only by being missing or not. Age is relevant by its
# distance from 45, which a correlation would not see.

COLORS = {"continuous": "C0", "discrete": "C1", "ignored": "0.8"}
kinds = [column.kind for column in selector.columns_[:-1]]
relevance = np.nan_to_num(selector.relevance_)
places = np.argsort(relevance)

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for kind, color in COLORS.items():
    mine = [place for place, column in enumerate(places) if kinds[column] == kind]
    ax.barh(mine, relevance[places[mine]], color=color, label=kind)
for step, feature in enumerate(selector.order_, start=1):
    place = int(np.flatnonzero(places == feature)[0])
    ax.text(relevance[feature], place, f"  {step}", va="center", weight="bold")
ax.set_yticks(range(len(places)), table.columns[places])
ax.text(0.001, 0, "ignored: every row has a name of its own", va="center", color="0.4")
ax.set_xlabel("relevance (nats)")
ax.legend(title="kind", loc="lower right")
plt.show()
