"""
Which class is a feature for?
=============================

A feature may tell one class from all others and say nothing about the rest. With
``per_class=True``, :func:`unirel.relevance` gives the information of every feature
about "this class or not", for all classes from one pass over the rows.
"""

# %%
# Thirteen measurements of wines from three growers. Proline is for the first grower,
# the colour for the second, hue and flavanoids are for the third.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import unirel

data = load_wine(as_frame=True)
X, y = data.data, data.target.map("grower {}".format)
told = unirel.relevance(X, y, mi_estimator="binned", per_class=True)
told = told.loc[told.max(axis=1).sort_values().index]

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
image = ax.imshow(told, cmap="Blues", aspect="auto", origin="lower")
for (row, column), value in np.ndenumerate(told):
    color = "white" if value > 0.3 else "black"
    ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color)
ax.set_xticks(range(3), told.columns)
ax.set_yticks(range(len(told)), told.index)
figure.colorbar(image, label="information about this class or not (nats)")
plt.show()

# %%
# A selection says for which class each feature is. The first ones share the classes
# among them: what one has told, another need not repeat.

selection = unirel.BURSelector(n_features_to_select=4).fit(X, y).selection_
print(selection.to_frame()[["name", "relevance", "for_class"]].round(2))
