"""
Features that can go
====================

A selection that keeps adding features reaches a size from which nothing more is learnt. Which of the features up to
there are needed? :func:`unirel.redundancy_analysis` follows the joint information along a selection and splits the
features into those with information of their own, those that are needed beside others, and those that can go.
"""

# %%
# A table with a known answer: two features that matter, a copy of the first, and a feature of noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import unirel
from unirel.plotting import RedundancyDisplay

rng = np.random.default_rng(0)
strong, noise, weak = rng.standard_normal((3, 400))
X = np.column_stack([strong, strong, noise, weak])
y = 2 * strong + weak > 0
unirel.redundancy_analysis(X, y, order=[0, 1, 2, 3])

# %%
# Measurements of cell nuclei: the features in order of their relevance alone, so that many of them repeat others. The
# curve falls after its peak, which shows the limits of the estimate and not of the features: with more columns points
# move apart, and neighbours tell less.

data = load_breast_cancer(as_frame=True)
result = unirel.redundancy_analysis(data.data, data.target, criterion="mim", beta=0)
RedundancyDisplay(result).plot()
plt.show()

# %%
# The same as a table.

result.to_frame().head(len(result.saturated)).round(3)
