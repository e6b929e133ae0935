"""
Which pictures does a selection have?
=====================================

Which features were selected, their relevance, which of them are redundant, and what the
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
report = Report.from_data(X, y, selector=BURSelector("jmi", 12, beta=0.1))

# %%
# The score of each feature when it was selected, and its relevance. JMI judges pairs:
# "worst concave points" comes second, though two features that are redundant with the
# first one are more relevant.

SelectionDisplay(report.selection).plot()
plt.show()

# %%
# Relevance against unique relevance.

RelevanceDisplay(report.selection).plot()
plt.show()

# %%
# Normalised mutual information of every two of them. Radius, perimeter and area are
# redundant with each other.

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
