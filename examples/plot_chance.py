"""
Is a random category relevant?
==============================

No. But counted from a table of its levels and the classes of a target, its estimate
grows with the number of levels, and a selector without a correction selects a postcode
first. Here are four estimates for categories that are independent of the target, and
what that does to a selection.
"""

# %%
# 1,000 rows, two classes, and random categories of 2 to 1,000 levels; each point is the
# mean over 40 of them. The plug-in estimate rises towards the entropy of the target.
# Miller and Madow's correction is right while all cells are well filled. scikit-learn's
# estimate of a discrete column is the plug-in one. The correction by the mean under
# chance is right for any number of levels, up to a different value in every row.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_selection import mutual_info_classif

import unirel
from unirel import KNN, Binned

rng = np.random.default_rng(0)
N_ROWS, N_COLUMNS = 1000, 40
LEVELS = [2, 4, 8, 16, 32, 64, 125, 250, 500, 1000]
y = rng.integers(0, 2, size=N_ROWS)


def mean_relevance(X, correction):
    values = unirel.relevance(
        X,
        y,
        clip=False,
        mi_estimator=KNN(correction=correction),
        discrete_features=True,
    )
    return values.mean()


found = {
    "plug-in": [],
    "Miller-Madow": [],
    "scikit-learn": [],
    "corrected for chance": [],
}
for n_levels in LEVELS:
    X = rng.integers(0, n_levels, size=(N_ROWS, N_COLUMNS))
    found["plug-in"].append(mean_relevance(X, None))
    found["Miller-Madow"].append(mean_relevance(X, "miller-madow"))
    theirs = mutual_info_classif(X, y, discrete_features=True)
    found["scikit-learn"].append(theirs.mean())
    found["corrected for chance"].append(mean_relevance(X, "chance"))

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
styles = {
    "plug-in": "o-",
    "Miller-Madow": "s-",
    "scikit-learn": "x",
    "corrected for chance": "D-",
}
for name, values in found.items():
    ax.plot(LEVELS, values, styles[name], label=name, markersize=6)
ax.axhline(0, color="0.4", linestyle="--", linewidth=1, label="truth")
ax.set(
    xscale="log", xlabel="levels of a random category", ylabel="mean relevance (nats)"
)
ax.set_title("1,000 rows, two classes, independent columns")
ax.legend()
plt.show()

# %%
# The same in a selection: three weak signals, and a random postcode, city and number.

frame = pd.DataFrame(
    {f"signal {k}": rng.normal(size=N_ROWS) + 0.5 * y for k in range(3)}
)
frame["postcode"] = rng.integers(0, 300, size=N_ROWS).astype(str)
frame["city"] = rng.integers(0, 60, size=N_ROWS).astype(str)
frame["number"] = rng.normal(size=N_ROWS)

for correction in (None, "chance"):
    selector = unirel.BURSelector(
        n_features_to_select=6, mi_estimator=Binned(correction=correction)
    )
    selector.fit(frame, y)
    order = ", ".join(frame.columns[selector.order_])
    print(f"correction={correction!r}: {order}")

# %%
# What is taken off is the mean over all orders of the rows, so an estimate of noise
# still scatters, the more the more levels there are. Whether a column is relevant
# at all is a question for a test (:func:`unirel.relevance_test`).

X = np.column_stack([rng.integers(0, 250, size=(N_ROWS, 200))])
values = unirel.relevance(X, y, clip=False, discrete_features=True)
print(
    f"200 categories of 250 levels: mean {values.mean():+.4f}, "
    f"standard deviation {values.std():.4f}, largest {values.max():.4f} nats"
)
