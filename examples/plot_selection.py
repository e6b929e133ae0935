"""
Pictures of a selection
=======================

Which features were selected, how much they tell, which of them are alike, and what the weight of unique relevance
changes. Every picture is drawn from a result; nothing is computed for it.
"""

# %%
# One call selects features for several weights of unique relevance.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import unirel
from unirel.plotting import AccuracyDisplay, BetaPathDisplay, HeatmapDisplay, RelevanceDisplay, SelectionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
path = unirel.selection_path(X, y, criteria="jmi", betas=[0, 0.1, 0.2, 0.3, 0.5, 0.7, 1], n_features_to_select=12)
selection = path.selection("jmi", 0.1)

# %%
# The score of each feature when it was selected, beside its relevance. JMI judges pairs, so a weak feature can score
# high in good company: "worst smoothness" comes second.

SelectionDisplay(selection).plot()
plt.show()

# %%
# What a feature tells by itself against what only it tells.

RelevanceDisplay(selection).plot()
plt.show()

# %%
# How much every two of them have in common. Radius, perimeter and area are one thing measured three times.

from unirel.report.analysis import analyse  # noqa: E402
from unirel.table import Table  # noqa: E402

HeatmapDisplay.from_analysis(analyse(Table.from_data(X, y), selection.order, {}))
plt.show()

# %%
# The more unique relevance weighs, the further the redundant ones fall.

BetaPathDisplay(path).plot()
plt.show()

# %%
# Whether it helps is a question for rows that nobody has seen.

from unirel.evaluation import compare  # noqa: E402

selectors = {"mim": "mim", "mim boosted": unirel.BURSelector("mim", beta=0.3), "jmi": "jmi"}
evaluation = compare([("breast_cancer", X.to_numpy(), y.to_numpy())], selectors, ["knn"], n_runs=5, max_features=12)
AccuracyDisplay.from_evaluation(evaluation).plot()
plt.show()
