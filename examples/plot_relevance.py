"""
How relevant is each feature?
=============================

:func:`unirel.relevance` estimates the mutual information of each feature and the
target, in nats, for all columns at once. Here the table holds measurements of cell
nuclei and the target says whether the tumour was benign.
"""

# %%
# Features and target are read as they are: no scaling by hand, no random seed.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import unirel

data = load_breast_cancer()
relevance = unirel.relevance(data.data, data.target)  # a Series, for a frame of pandas

# %%
# No feature can exceed the entropy of the target, the dashed line: one that reached it
# would determine the diagnosis alone.

shares = np.bincount(data.target) / len(data.target)
entropy = -np.sum(shares * np.log(shares))

order = np.argsort(relevance)
figure, ax = plt.subplots(figsize=(7, 7), layout="constrained")
ax.barh(data.feature_names[order], relevance[order], color="C0")
ax.axvline(entropy, linestyle="--", color="0.4", label="entropy of the target")
ax.set_xlabel("relevance (nats)")
ax.margins(y=0.01)
ax.legend(loc="lower right")
plt.show()

# %%
# Several of the best features are redundant: they measure the size of the nuclei. The
# relevance of each feature given the best one is its conditional relevance.

best = int(np.argmax(relevance))
left = unirel.conditional_relevance(data.data, data.target, [best])

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ax.scatter(relevance, left)
ax.set_xlabel("relevance (nats)")
ax.set_ylabel(f"relevance given '{data.feature_names[best]}' (nats)")
plt.show()
