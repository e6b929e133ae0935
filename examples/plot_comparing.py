"""
Which selector serves my model best?
====================================

Ask your data, and ask fairly: the same splits for all selectors, features selected from
the training rows, the number of features chosen on validation rows, the score taken on
test rows. That is what :func:`unirel.evaluation.compare` does, with any selector.
"""

# %%
# Six useful features, six noisy copies, 40 columns of noise, and four ways to select.
# A selector of scikit-learn takes part as it is.

import matplotlib.pyplot as plt
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif

from unirel import BURSelector, datasets
from unirel.evaluation import compare
from unirel.plotting import AccuracyDisplay

planted = datasets.make_planted(
    500, n_informative=6, n_copies=6, n_noise=40, random_state=3
)
evaluation = compare(
    [("planted", planted.data, planted.target)],
    {
        "BURSelector": BURSelector(),
        "the same without boost": BURSelector(beta=0),
        "F ranking": SelectKBest(f_classif),
        "MI ranking": SelectKBest(mutual_info_classif),
    },
    ["knn"],
    n_features=12,
    n_splits=6,
)
summary = evaluation.summary()
summary[["selector", "test_score", "n_features", "stability"]].round(3)

# %%
# Mean test accuracy for every number of features; the bands are standard errors over
# the splits. Six features are informative, and a selector that sees copies has them at
# six. A ranking needs about twice as many to have one of each, and then it has
# the copies too, whose noise averages out: where twelve features cost nothing, the F
# ranking is as good.

AccuracyDisplay.from_evaluation(evaluation).plot()
plt.show()

# %%
# The differences split by split, with a confidence interval that is corrected for the
# rows that splits share, and a test.

differences = evaluation.differences("the same without boost")
differences[["selector", "mean", "low", "high", "p_value"]].round(3)
