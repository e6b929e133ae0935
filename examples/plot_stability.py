"""
Would other rows give the same features?
========================================

Another sample of rows from the same source gives another selection. How different it is
says how far a list of features can be trusted. So select again from many subsamples,
and count.
"""

# %%
# Twenty times four fifths of the rows, with a selector that boosts unique relevance
# and with a plain ranking.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from unirel import BURSelector, selection_stability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selectors = {
    "BURSelector": BURSelector(n_features_to_select=6),
    "ranking (mim)": BURSelector("mim", 6, beta=0),
}
supports = {}
for name, selector in selectors.items():
    found = selection_stability(
        X, y, selector=selector, n_subsamples=20, sample_fraction=0.8
    )
    supports[name] = found.selected
    print(f"{name:<14} stability {found.index:.2f}")

# %%
# One column per subsample, one row per feature that was ever selected, a dot where it
# was. Full rows can be relied on. The ranking is steadier, and takes the size of the
# nuclei four times over: steady is not the same as good. The other takes their texture
# as well. Which measure of their size it takes depends on the rows, since any will do:
# perimeter, radius and area take turns.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
for number, (ax, (name, support)) in enumerate(
    zip(axes, supports.items(), strict=True)
):
    share = support.mean(axis=0)
    features = np.argsort(-share, kind="stable")[: np.count_nonzero(share)]
    for place, feature in enumerate(features):
        taken = np.flatnonzero(support[:, feature])
        strength = 0.25 + 0.75 * share[feature]
        ax.scatter(
            taken, np.full(len(taken), place), color=f"C{number}", alpha=strength
        )
        ax.text(20.3, place, f"{share[feature]:.0%}", va="center", fontsize="small")
    ax.set_yticks(range(len(features)), X.columns[features])
    ax.invert_yaxis()
    ax.set(title=name, xlabel="subsample", xlim=(-1, 22.5), xticks=[0, 10, 19])
plt.show()
