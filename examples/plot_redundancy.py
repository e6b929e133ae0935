"""
Which features are redundant, and can go?
=========================================

A selection that keeps adding features reaches a size from which nothing more is gained.
Which of the features up to there are needed? :func:`unirel.redundancy_analysis` follows
the joint information along a selection and splits the features into those with
unique relevance, those that are needed given others, and those that can go.
"""

# %%
# A table with a known answer: two features that matter, a copy of the first, and a
# feature of noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unirel
from unirel import BURSelector
from unirel.plotting import RedundancyDisplay

rng = np.random.default_rng(0)
strong, noise, weak = rng.standard_normal((3, 400))
X = np.column_stack([strong, strong, noise, weak])
y = 2 * strong + weak > 0
unirel.redundancy_analysis(X, y, order=[0, 1, 2, 3])

# %%
# Measurements of cell nuclei: the features in order of their relevance alone, so that
# many of them are redundant. The curve falls after its peak, which shows the limits of
# the estimate and not of the features: with more columns points move apart, and
# neighbours are less alike.

data = load_breast_cancer(as_frame=True)
result = unirel.redundancy_analysis(
    data.data,
    data.target,
    selector=BURSelector(
        "mim", beta=0, unique_relevance="reference", mi_estimator="knn"
    ),
)
RedundancyDisplay(result).plot()
plt.show()

# %%
# The same as a table.

result.to_frame().head(len(result.saturated)).round(3)

# %%
# And the features that can go: do they? Nearest neighbours, cross-validated, with all
# 30 features, with those up to saturation, and with these less the redundant ones.

needed = [feature for feature in result.saturated if feature not in result.redundant]
sets = {
    "all": range(30),
    "saturated": result.saturated,
    "less the redundant": needed,
    "the redundant alone": result.redundant,
}
model = make_pipeline(StandardScaler(), KNeighborsClassifier())
figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for place, features in enumerate(sets.values()):
    scores = cross_val_score(model, data.data.iloc[:, list(features)], data.target)
    error = scores.std() / np.sqrt(len(scores))
    ax.errorbar(scores.mean(), place, xerr=error, fmt="o", markersize=9, capsize=4)
    ax.annotate(
        f"{len(features)} features",
        (scores.mean(), place),
        (0, 9),
        textcoords="offset points",
        ha="center",
    )
ax.set_yticks(range(len(sets)), sets)
ax.set(xlabel="accuracy", ylim=(3.6, -0.8))
plt.show()
