"""
How does it go into a grid search?
==================================

Like any step of scikit-learn. The selector stands in a pipeline, its parameters are
tuned with those of the model, and it sees the training rows of each fold only, so that
the scores can be believed.
"""

# %%
# Criterion and number of features are tuned together, on 13 measurements of wines and
# 40 columns of noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from unirel import BURSelector

wine = load_wine()
noise = np.random.default_rng(0).standard_normal((len(wine.data), 40))
X, y = np.column_stack([wine.data, noise]), wine.target

model = Pipeline(
    [
        ("select", BURSelector(beta=0)),
        ("scale", StandardScaler()),
        ("classify", KNeighborsClassifier()),
    ]
)
grid = {
    "select__criterion": ["mim", "mrmr", "jmi", "jmim"],
    "select__n_features_to_select": [1, 2, 4, 6, 8, 12, 20, 40],
}
search = GridSearchCV(model, grid, cv=5).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# Mean accuracy over the folds for each pair of settings. Too few features lose
# something, too many bring the noise in; between them, criteria that look at more than
# one feature at a time need fewer.

criteria, sizes = grid.values()
scores = search.cv_results_["mean_test_score"].reshape(len(criteria), len(sizes))

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
image = ax.imshow(scores, cmap="viridis", aspect="auto")
for (row, column), value in np.ndenumerate(scores):
    dark = value < (scores.min() + scores.max()) / 2
    color = "white" if dark else "black"
    ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color)
row, column = np.unravel_index(np.argmax(scores), scores.shape)
frame = plt.Rectangle(
    (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="C1", linewidth=3
)
ax.add_patch(frame)
ax.set_xticks(range(len(sizes)), sizes)
ax.set_yticks(range(len(criteria)), criteria)
ax.set(xlabel="features selected", ylabel="criterion")
figure.colorbar(image, label="accuracy")
plt.show()

# %%
# Only the weight of unique relevance and the number of features are in question? Then
# :class:`unirel.BURSelectorCV` does it with one selection per fold: see
# :ref:`sphx_glr_auto_examples_plot_weights.py`.
