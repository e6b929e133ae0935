"""
Which genes separate two leukemias?
===================================

72 patients, 5,000 genes: a hundred times more columns than rows, as in the classic
leukemia data. Genes work in pathways, and the genes of a pathway are redundant. A
ranking fills up with the strongest pathway; a selection takes some of each.
"""

# %%
# The table is synthetic, so the answer is known. Three pathways of 30 genes
# differ between the two diseases: one by much, two by less. All other genes are noise,
# or pathways that are independent of the disease.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import f_classif

from unirel import BURSelector

rng = np.random.default_rng(2)
N_PATIENTS, N_GENES, SIZE = 72, 5000, 30
disease = np.repeat([0, 1], [47, 25])
genes = rng.standard_normal((N_PATIENTS, N_GENES))
pathway = np.full(N_GENES, -1)
for number, effect in enumerate([2.5, 1.8, 1.8, 0, 0, 0]):
    members = slice(number * SIZE, (number + 1) * SIZE)
    activity = rng.standard_normal(N_PATIENTS) + effect * disease
    genes[:, members] = activity[:, None] + 0.4 * genes[:, members]
    pathway[members] = number

# %%
# With more than ten columns for each row only the most relevant 300 are searched,
# since the best of thousands of columns of noise would otherwise look relevant
# (``max_candidates``).

by_rank = np.argsort(-f_classif(genes, disease)[0])[:6]
selected = BURSelector(n_features_to_select=6).fit(genes, disease).order_
for title, chosen in [("F ranking", by_rank), ("BURSelector", selected)]:
    counts = np.bincount(pathway[chosen] + 1, minlength=4)
    others = 6 - sum(counts[1:4])
    print(f"{title:<12} pathways A, B, C: {counts[1:4]}   anything else: {others}")

# %%
# Each row is a gene, each column a patient. On the left, five of six genes are of one
# pathway. On the right there are two of each. This draw is a clear one: of 5,000 genes
# of noise some look relevant on 72 patients, and with weaker effects one of them may be
# selected.

LETTERS = {-1: "noise", 0: "A", 1: "B", 2: "C", 3: "D", 4: "E", 5: "F"}
patients = np.lexsort((genes[:, by_rank[0]], disease))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharex=True, layout="constrained")
for ax, title, chosen in [
    (axes[0], "the six best by F ranking", by_rank),
    (axes[1], "six by BURSelector", selected),
]:
    chosen = chosen[np.argsort(pathway[chosen] % 99, kind="stable")]
    values = genes[np.ix_(patients, chosen)]
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    image = ax.imshow(values.T, aspect="auto", cmap="RdBu_r", vmin=-2.5, vmax=2.5)
    ax.axvline(46.5, color="black", linewidth=1)
    ax.set_yticks(range(6), [f"{LETTERS[pathway[gene]]}" for gene in chosen])
    ax.set(title=title, xlabel="patients: disease 0 | disease 1")
axes[0].set_ylabel("pathway of the gene")
figure.colorbar(image, ax=axes, label="expression (standardised)")
plt.show()
