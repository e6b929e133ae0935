"""
How does it go with a million rows?
===================================

In seconds. Tables are counted in bins, in one pass over the rows; unique relevance,
which needs neighbours, is estimated from a seeded sample of rows. And often a tenth of
the rows would have given the same answer.
"""

# %%
# A million rows and twenty columns in single precision, 80 MB. Four columns matter,
# each less than the one before.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from unirel import BURSelector, relevance

rng = np.random.default_rng(0)
X = rng.standard_normal((1_000_000, 20), dtype=np.float32)
noise = rng.standard_normal(1_000_000, dtype=np.float32)
y = X[:, :4] @ np.array([1, 0.5, 0.25, 0.125], dtype=np.float32) + noise > 0

start = perf_counter()
selector = BURSelector(n_features_to_select=4).fit(X, y)
print(f"selected {selector.order_.tolist()} in {perf_counter() - start:.1f} s")

# %%
# The relevance of every column from ever more rows, and how long it took.

sizes = [1000, 10_000, 100_000, 1_000_000]
found, seconds = [], []
for size in sizes:
    start = perf_counter()
    found.append(relevance(X[:size], y[:size], mi_estimator="binned"))
    seconds.append(perf_counter() - start)
found = np.array(found)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[2, 1]
)
left.fill_between(sizes, found[:, 4:].max(axis=1), 1e-7, color="0.9")
left.text(1.3e3, 3e-5, "16 columns of noise", color="0.4")
for column in range(4):
    left.plot(sizes, found[:, column], marker="o")
    where = (sizes[-1], found[-1, column])
    left.annotate(
        f"column {column}", where, (8, 0), textcoords="offset points", va="center"
    )
left.set(xscale="log", yscale="log", ylim=(1e-6, 1), xlim=(900, 4e6))
left.set(xlabel="rows", ylabel="relevance (nats)")
right.bar(range(4), seconds, color="C2")
right.set_xticks(range(4), [f"{size:,}" for size in sizes], rotation=30)
right.set(xlabel="rows", ylabel="seconds")
plt.show()

# %%
# The estimate of a column of noise shrinks with the number of rows, so weaker and
# weaker features stand out from it. The strong ones are known after a thousand rows.
