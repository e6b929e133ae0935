"""
When does relevance mislead?
============================

Where features are redundant. Three features are to predict a target. Two of them are
strong and redundant with each other; the third is weaker and independent of both.
Relevance ranks the third last. Unique relevance, information given all other features,
ranks it first.
"""

# %%
# A hidden quantity is measured twice, with a little noise. The target depends on it
# and, less, on something else.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import unirel

rng = np.random.default_rng(0)
hidden, other = rng.standard_normal((2, 1000))
X = np.column_stack([hidden, hidden + 0.05 * rng.standard_normal(1000), other])
y = 2 * hidden + other > 0

names = ["strong", "near copy", "weak, alone"]
relevance = unirel.relevance(X, y)
unique, error = unirel.unique_relevance(X, y, return_std=True)
for name, alone, own, deviation in zip(names, relevance, unique, error, strict=True):
    values = f"relevance {alone:.3f}   unique relevance {own:.3f} +- {deviation:.3f}"
    print(f"{name:<12} {values}")

# %%
# The two features of highest relevance are the strong one and its copy, which
# together have little more information than one. Given the strong feature the weak one
# is the better choice, and unique relevance says so.

positions = np.arange(3)
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.bar(positions - 0.2, relevance, 0.38, color="0.75", label="relevance")
ax.bar(
    positions + 0.2,
    unique,
    0.38,
    color="C1",
    yerr=error,
    ecolor="0.3",
    label="unique relevance",
)
ax.set_xticks(positions, names)
ax.set_ylabel("nats")
ax.legend()
plt.show()

print(f"strong and near copy:   {unirel.mutual_information(X[:, [0, 1]], y):.3f} nats")
print(f"strong and weak, alone: {unirel.mutual_information(X[:, [0, 2]], y):.3f} nats")

# %%
# The same as a picture: each circle is the information of one feature about the
# target. The circles of the strong feature and its copy lie on top of each other, so
# that neither has an area of its own to speak of. The weak feature's circle is small,
# but nearly all of it is its own.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for x, radius, color in [
    (-0.04, 1.0, "C0"),
    (0.04, 1.0, "C5"),
    (1.35, 0.55, "C1"),
]:
    ax.add_patch(
        plt.Circle((x, 0), radius, facecolor=color, edgecolor="0.2", alpha=0.5)
    )
ax.set(xlim=(-2.2, 3.4), ylim=(-1.15, 1.25), aspect="equal")
ax.axis("off")
ax.annotate(
    "strong", (-0.8, 0.65), (-1.8, 1.05), arrowprops={"arrowstyle": "-"}, ha="center"
)
ax.annotate(
    "near copy", (0.8, 0.65), (1.8, 1.05), arrowprops={"arrowstyle": "-"}, ha="center"
)
ax.text(0, 0, "redundant:\nunique to neither", ha="center", va="center")
ax.annotate(
    "weak, alone:\nunique but for a sliver",
    (1.6, -0.1),
    (2.5, -0.95),
    arrowprops={"arrowstyle": "-"},
    ha="center",
)
plt.show()

# %%
# A picture of areas has its limits. The information of features together can also
# exceed the sum of their relevances, which no overlap of circles can show. Here that is
# so: the weak feature has more information given the strong one than by itself, because
# it decides the cases that the strong one leaves open. The extreme is the exclusive or:
# neither feature has any relevance, and each is indispensable.

sign = rng.uniform(-1, 1, size=(1000, 2))
parity = sign[:, 0] * sign[:, 1] > 0
print("exclusive or: relevance", unirel.relevance(sign, parity).round(3))
print("exclusive or: unique relevance", unirel.unique_relevance(sign, parity).round(3))

# %%
# Given too many features the estimate fails: the information of all of them comes out
# below the relevance of one. A warning says so and names the remedy, unique relevance
# given a small reference set.

crowded = np.column_stack([X, rng.standard_normal((1000, 500))])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    unique = unirel.unique_relevance(crowded, y)
print("given all 503 features:", unique[:3].round(3))
for warning in caught:
    print("warning:", warning.message)

few = unirel.unique_relevance(crowded, y, method="reference", reference=[0, 1, 2])
print(
    "given the first three:",
    few[:3].round(3),
    "noise at most",
    few[3:].max().round(3),
)
