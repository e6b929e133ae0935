"""
Which features tell about several targets?
==========================================

One questionnaire, one set of sensors or one blood sample often has to answer several
questions. With several columns of ``y``, features are selected that tell most about all
of them: the mean over the targets of information divided by the entropy of its target.
"""

# %%
# Twelve measurements of wines, and two things to know: which of three growers a wine is
# from, a class, and how much alcohol it has, a number.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

import unirel

data = load_wine(as_frame=True)
X = data.data.drop(columns="alcohol")
Y = pd.DataFrame(
    {"grower": data.target.map("grower {}".format), "alcohol": data.data["alcohol"]}
)
selection = unirel.BURSelector(n_features_to_select=5).fit(X, Y).selection_
print(
    selection.to_frame()[
        ["name", "relevance", "relevance_grower", "relevance_alcohol"]
    ].round(2)
)

# %%
# For the growers alone other features are selected than for the alcohol alone.

for name in Y:
    alone = unirel.BURSelector(n_features_to_select=5).fit(X, Y[name]).selection_
    print(f"{name}: {', '.join(alone.selected_names)}")
print(f"both: {', '.join(selection.selected_names)}")

# %%
# Every measurement with its share of the entropy of each target. Those that are
# selected for both are numbered in their order.

shares = pd.DataFrame(selection.relevance_per_target, X.columns, Y.columns) / pd.Series(
    selection.targets
)
order = shares.mean(axis=1).sort_values().index
steps = {
    name: f"{step}. {name}"
    for step, name in enumerate(selection.selected_names, start=1)
}

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
left = 0
for name in Y:
    part = shares.loc[order, name] / len(Y.columns)
    ax.barh(range(len(order)), part, left=left, label=name)
    left = left + part
ax.set_yticks(range(len(order)), [steps.get(name, name) for name in order])
for label in ax.get_yticklabels():
    label.set_fontweight("bold" if label.get_text() in steps.values() else "normal")
ax.set_xlabel("share of the targets' entropies, the mean of both")
ax.legend(frameon=False, loc="lower right")
plt.show()
