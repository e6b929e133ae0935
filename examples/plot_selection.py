"""
Which pictures does a selection have?
=====================================

Which features were selected, how much they tell, which of them are alike, and what the
weight of unique relevance changes. Every picture is drawn from a result; nothing is
computed for it.
"""

# %%
# A report selects features for several weights of unique relevance and compares them.
# Here it is not printed as a page: its results are drawn one by one.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from unirel import BURSelector
from unirel.evaluation import compare
from unirel.plotting import (
    AccuracyDisplay,
    BetaPathDisplay,
    HeatmapDisplay,
    RelevanceDisplay,
    SelectionDisplay,
)
from unirel.report import Report

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
report = Report.from_data(X, y, criterion="jmi", beta=0.1, n_features_to_select=12)

# %%
# The score of each feature when it was selected, beside its relevance. JMI judges
# pairs: "worst concave points" comes second, though two features that repeat the first
# one are more relevant.

SelectionDisplay(report.selection).plot()
plt.show()

# %%
# What a feature tells by itself against what only it tells.

RelevanceDisplay(report.selection).plot()
plt.show()

# %%
# How much every two of them have in common. Radius, perimeter and area are one thing
# measured three times.

HeatmapDisplay.from_analysis(report.analysis)
plt.show()

# %%
# The more unique relevance weighs, the further the redundant ones fall.

BetaPathDisplay(report.path).plot()
plt.show()

# %%
# Whether it helps is a question for held-out rows.

selectors = {
    "mim": BURSelector("mim", beta=0),
    "mim boosted": BURSelector("mim", beta=0.3),
    "jmi": BURSelector("jmi", beta=0),
}
evaluation = compare(
    [("breast_cancer", X.to_numpy(), y.to_numpy())],
    selectors,
    ["knn"],
    n_features=12,
    n_splits=5,
)
AccuracyDisplay.from_evaluation(evaluation).plot()
plt.show()
