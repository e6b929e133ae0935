"""
How many features, and how much boost?
======================================

Two numbers are left to choose: how many features to keep, and how much unique relevance
weighs. Both can be chosen by validation with the model that will use the features, at
the cost of one search per fold.
"""

# %%
# A table with five useful features, a noisy copy of each, and 30 columns of noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel import BURSelector, BURSelectorCV, datasets

planted = datasets.make_planted(
    400, n_informative=5, n_copies=5, n_noise=30, random_state=1
)
estimator = make_pipeline(StandardScaler(), LogisticRegression())
chosen = BURSelectorCV(
    estimator,
    selector=BURSelector("mim"),
    betas=(0, 0.3, 0.6, 0.9),
    max_features=10,
    cv=5,
    one_standard_error=True,
).fit(planted.data, planted.target)
print(f"chosen: {chosen.n_features_} features, beta {chosen.best_beta_}")
useful = set(planted.informative) & set(chosen.order_.tolist())
print(f"useful ones among them: {len(useful)} of 5")

# %%
# One curve for each weight. Without boost this criterion is a ranking, which takes
# features and their copies alike; the more unique relevance weighs, the longer the
# copies wait, and the sooner the curve is at its top. The best point of all is usually
# the best by chance, so the fewest features within one standard error of it are taken.

results = {name: np.asarray(values) for name, values in chosen.cv_results_.items()}
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for beta in np.unique(results["beta"]):
    mine = results["beta"] == beta
    label = "no boost" if beta == 0 else f"beta {beta:g}"
    ax.plot(
        results["n_features"][mine],
        results["mean_test_score"][mine],
        marker="o",
        markersize=4,
        color="0.6" if beta == 0 else None,
        label=label,
    )
winner = (results["beta"] == chosen.best_beta_) & (
    results["n_features"] == chosen.n_features_
)
score = results["mean_test_score"][winner][0]
ax.plot(chosen.n_features_, score, "o", markersize=14, fillstyle="none", color="black")
ax.annotate(
    "chosen",
    (chosen.n_features_, score),
    (30, -35),
    textcoords="offset points",
    arrowprops={"arrowstyle": "-", "shrinkB": 8},
)
ax.set(xlabel="features used", ylabel="accuracy, cross-validated")
ax.legend()
plt.show()
