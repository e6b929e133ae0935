"""
What if the target is a number?
===============================

Nothing changes. The target may be a quantity, and the relation may have any shape: a
feature whose effect goes up and then down has no correlation with the target and still
has a high relevance.
"""

# %%
# A target made of ten features, of which five matter, each in another way; and near
# copies of two of them.

import matplotlib.pyplot as plt
import numpy as np

import unirel
from unirel import BURSelector

rng = np.random.default_rng(0)
X = rng.random((1500, 10))
y = (
    10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    + 60 * (X[:, 2] - 0.5) ** 2
    + 10 * X[:, 3]
    + 5 * X[:, 4]
    + rng.standard_normal(1500)
)
X = np.column_stack([X, X[:, [3, 0]] + 0.02 * rng.standard_normal((1500, 2))])
names = [
    *["wave 1", "wave 2", "valley", "line", "weak line"],
    *["noise"] * 5,
    *["line, copy", "wave 1, copy"],
]

# %%
# Five features are asked for, and the five that matter are found. A ranking by
# correlation takes a copy instead of the valley. The valley is deep here. With a third
# of its depth the default took the copy of the line in its place: a weak relation of
# that shape is not found among five.

selected = BURSelector(n_features_to_select=5).fit(X, y).order_
correlation = np.abs(np.corrcoef(X.T, y)[-1, :-1])
print("selected:         ", ", ".join(names[feature] for feature in selected))
best = np.argsort(-correlation)[:5]
print("most correlated:  ", ", ".join(names[feature] for feature in best))

# %%
# The valley as it is, and what both measures make of it. (Around 0 both scatter: that
# is what columns of noise show.)

relevance = unirel.relevance(X, y)
places = np.arange(12)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.scatter(X[:, 2], y, s=6, alpha=0.5)
edges = np.linspace(0, 1, 16)
bins = np.digitize(X[:, 2], edges) - 1
means = [y[bins == number].mean() for number in range(15)]
left.plot((edges[1:] + edges[:-1]) / 2, means, color="C1", linewidth=3, label="mean")
left.set(xlabel="valley", ylabel="target")
left.set_title(f"correlation {np.corrcoef(X[:, 2], y)[0, 1]:.2f}")
left.legend()

right.barh(places - 0.2, correlation, 0.38, color="0.75", label="correlation, absolute")
right.barh(places + 0.2, relevance, 0.38, color="C0", label="relevance (nats)")
for step, feature in enumerate(selected, start=1):
    where = (max(relevance[feature], correlation[feature]) + 0.02, feature)
    right.text(*where, f"{step}", va="center", weight="bold")
right.set_yticks(places, names)
right.invert_yaxis()
right.set_title("bold: the order of selection")
right.legend(loc="center right", bbox_to_anchor=(1, 0.4))
plt.show()
