"""
Which of 30 measurements are needed?
====================================

The question this library is made for, from a table to an answer. The rows are tumours,
the columns 30 measurements of their cell nuclei, and the target says whether a tumour
is benign. Which few measurements hold the information of all of them?
"""

# %%
# A table and a target go in. Nothing has to be scaled, encoded or seeded.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unirel import BURSelector, mutual_information

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = BURSelector(n_features_to_select=10).fit(X, y)
selector.selection_.to_frame().round(3)

# %%
# Whether the selection is any good is a question for held-out rows. So features are
# selected from the training rows of each fold, once: the first three of ten are what
# a selection of three would be.

model = make_pipeline(StandardScaler(), KNeighborsClassifier())
scores, with_all = [], []
for train, test in StratifiedKFold(5).split(X, y):
    fold = (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test])
    order = BURSelector(n_features_to_select=10).fit(*fold[0]).order_

    def accuracy(columns, fold=fold):
        (X_train, y_train), (X_test, y_test) = fold
        model.fit(X_train.iloc[:, columns], y_train)
        return model.score(X_test.iloc[:, columns], y_test)

    scores.append([accuracy(order[:n]) for n in range(1, 11)])
    with_all.append(accuracy(range(30)))

mean, error = np.mean(scores, axis=0), np.std(scores, axis=0) / np.sqrt(5)
print(
    f"first 3: {mean[2]:.3f}   first 10: {mean[9]:.3f}   all: {np.mean(with_all):.3f}"
)

# %%
# The answer in one picture. On the left are the measurements in the order in which
# they were selected: the relevance of each, and the joint information once it is
# added. Several of them are relevant, and redundant with each other. On the right is
# the accuracy of a simple model with the first one, the first two, and so on.

order = selector.order_
alone = selector.relevance_[order]
together = [mutual_information(X.iloc[:, order[: n + 1]], y) for n in range(10)]
places = np.arange(10)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.barh(places, together, color="C2", alpha=0.25, label="with all above it")
left.barh(places, alone, height=0.5, color="C0", label="by itself")
left.set_yticks(places, X.columns[order])
left.invert_yaxis()
left.set_xlabel("information about the diagnosis (nats)")
left.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)

right.axhline(np.mean(with_all), color="0.5", linestyle="--", linewidth=1)
right.text(1, np.mean(with_all) + 0.001, "all 30", color="0.4")
right.errorbar(range(1, 11), mean, error, marker="o", label="the first measurements")
right.set(xlabel="measurements used", ylabel="accuracy on held-out rows")
right.set_xticks(range(1, 11))
plt.show()
