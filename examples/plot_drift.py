"""
Which features have changed since training?
===========================================

A model was trained on one table and is used on another. Columns get other units,
sensors break, and some columns are filled in when the answer is known already. Which
features have lost or gained information about the target?
"""

# %%
# The first half of the rows is what a model was trained on. In the second half three
# things have happened: a radius is measured in inches, a sensor returns noise, and an
# error of measurement is written down by somebody who knows the diagnosis.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from unirel import compare_relevance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_old, X_new, y_old, y_new = train_test_split(X, y, test_size=0.5, random_state=0)

rng = np.random.default_rng(0)
X_new = X_new.copy()
X_new["worst radius"] /= 2.54
X_new["worst concave points"] = rng.permutation(X_new["worst concave points"])
X_new["symmetry error"] += 0.02 * y_new

# %%
# The broken sensor has lost its information, the leak has gained some, and another unit
# changes nothing: the order of the values is the same. All other features have about as
# much information as before, as far as 284 rows can tell.

change = compare_relevance(X_old, y_old, X_new, y_new)
print(change.to_frame().iloc[change.order[:4]].round(4).to_string(index=False))
change.plot()
plt.show()
