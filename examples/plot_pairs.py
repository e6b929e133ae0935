"""
Which features matter only together?
====================================

A switch and a lever may each say nothing about a lamp, and both together everything. A
ranking of single features passes over such pairs. So all pairs are looked at, and
tested.
"""

# %%
# A machine fails where heat and pressure do not fit each other: both high or both low
# is fine. Wear makes it fail more often, whatever the others are. Forty other readings
# say nothing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unirel import interactions, relevance_test

rng = np.random.default_rng(0)
n_rows = 1500
readings = pd.DataFrame(
    rng.normal(size=(n_rows, 40)), columns=[f"reading {j}" for j in range(40)]
)
X = pd.DataFrame(
    rng.normal(size=(n_rows, 3)), columns=["heat", "pressure", "wear"]
).join(readings)
mismatch = (X["heat"] > 0) != (X["pressure"] > 0)
risk = np.where(mismatch, 0.75, 0.15) + 0.15 * X["wear"]
y = np.where(rng.random(n_rows) < risk, "failed", "fine")

# %%
# One by one, only wear is seen to matter.

test = relevance_test(X, y, mi_estimator="binned")
print([name for name, found in zip(X, test.significant(), strict=True) if found])

# %%
# Of 903 pairs one is significant, and it is the right one. Its information is in
# neither of the two by itself: there is no grey in its bar. What the next ones seem to
# have is what the best of 903 pairs of noise have.

found = interactions(X, y)
print(found.to_frame()[["first", "second", "synergy", "adjusted"]].head(3))
found.plot(max_pairs=8)
plt.show()

# %%
# Why: the left half of the plane fails as often as the right one, and the upper half as
# often as the lower one. Only both readings say in which quarter a machine is.

figure, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
for label in ("fine", "failed"):
    rows = y == label
    ax.scatter(X["heat"][rows], X["pressure"][rows], s=8, alpha=0.6, lw=0, label=label)
ax.set(xlabel="heat", ylabel="pressure", aspect="equal")
ax.legend(loc="upper left", frameon=True, markerscale=2)
plt.show()
