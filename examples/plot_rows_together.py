"""
What if a patient has several rows?
===================================

Forty patients, twenty-five rows of each, and a diagnosis for each patient. A column
that says nothing about the diagnosis, but differs from patient to patient, seems to
say a lot: whoever knows the patient knows the diagnosis. What is a test worth that
counts every row as independent of all others?
"""

# %%
# Two hundred such tables, in which there is nothing to find, and one column of each is
# tested twice: once as if rows were independent, and once with ``groups=patients``,
# which permutes the diagnoses of whole patients.

import matplotlib.pyplot as plt
import numpy as np

from unirel import relevance_test

patients = np.repeat(np.arange(40), 25)
options = {"mi_estimator": "binned", "n_permutations": 199, "max_exceedances": None}

p_values = []
for seed in range(200):
    rng = np.random.default_rng(seed)
    column = rng.normal(size=(40, 1))[patients]
    diagnosis = rng.permutation(np.arange(40) % 2)[patients]
    rows = relevance_test(column, diagnosis, **options).p_value[0]
    groups = relevance_test(column, diagnosis, groups=patients, **options).p_value[0]
    p_values.append((rows, groups))
rows, groups = np.array(p_values).T

for name, values in {"rows": rows, "patients": groups}.items():
    share = np.mean(values <= 0.05)
    print(f"{name} are permuted: p-values up to 0.05 in {share:.0%} of tables")

# %%
# Without a relation p-values are spread evenly from 0 to 1, along the dashed line. By
# rows all are as small as they can be. By patients they follow the line or stay below
# it: equal values, of which forty patients have many, count as reached.

figure, axes = plt.subplots(figsize=(6, 3.6))
axes.plot([0, 1], [0, 1], "--", color="0.6", label="no relation")
for values, name in ((rows, "rows are permuted"), (groups, "patients are permuted")):
    axes.plot(np.sort(values), np.arange(1, 201) / 200, label=name)
axes.set(xlabel="p-value", ylabel="share of tables up to it", xlim=(-0.02, 1))
axes.legend(loc="lower right")
figure.tight_layout()
plt.show()
