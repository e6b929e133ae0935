"""
Are rounded columns a problem?
==============================

Measurements are rounded, counts are whole numbers, and many columns are mostly zero.
Estimates from nearest neighbours then meet distances that tie. Here they are held
against values that are known: what they are on average, how much they scatter, and
where they cannot be trusted.
"""

# %%
# A column and a target that are independent of each other, with 2,000 rows,
# rounded to ever fewer decimals. The truth is 0 whatever the rounding. The bars show
# the spread over 60 samples.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.feature_selection import mutual_info_regression

import unirel

DECIMALS = [8, 4, 3, 2, 1, 0]
N_SAMPLES, N_REPEATS = 2000, 60


def information(x, y, target_type="continuous"):
    """I(x; y), as it was estimated and with x taken as continuous."""
    (value,) = unirel.relevance(
        x, y, clip=False, discrete_features=False, target_type=target_type
    )
    return value


def estimates(rho, decimals, n_samples=N_SAMPLES, n_repeats=N_REPEATS):
    """Information of a column about a number and about its sign, in some samples."""
    values = []
    for seed in range(n_repeats):
        x, noise = np.random.default_rng(seed).standard_normal((2, n_samples))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        x = np.round(x, decimals)[:, None]
        number = information(x, np.round(y, decimals))
        label = information(x, y > 0, "discrete")
        values.append([number, label])
    return np.array(values)


def draw(ax, values, label, offset=0.0, **style):
    mean, spread = np.mean(values, axis=1), np.std(values, axis=1)
    ax.errorbar(
        np.arange(len(mean)) + offset,
        mean,
        spread,
        fmt="o",
        capsize=3,
        label=label,
        **style,
    )


independent = np.array([estimates(0, decimals) for decimals in DECIMALS])
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
draw(ax, independent[..., 0], "number", -0.06, color="C0")
draw(ax, independent[..., 1], "two classes", 0.06, color="C1")
ax.axhline(0, color="0.4", linestyle="--", linewidth=1, label="truth")
ax.set(
    xlabel="decimals kept",
    ylabel="information (nats)",
    xticks=range(len(DECIMALS)),
    xticklabels=DECIMALS,
)
ax.set_title("independent columns")
ax.legend()
plt.show()

# %%
# The same for columns with a correlation of 0.8. Rounding to whole numbers throws
# information away, and the estimate follows the exact value, which quadrature gives.


def exact(rho, step):
    """Information of two rounded normal columns, by quadrature over one of them."""
    edges = (np.arange(-np.ceil(8 / step), np.ceil(8 / step) + 2) - 0.5) * step
    x = np.linspace(-8, 8, 4001)
    cell = np.clip(np.digitize(x, edges) - 1, 0, len(edges) - 2)
    below = norm.cdf((edges - rho * x[:, None]) / np.sqrt(1 - rho**2))
    joint = np.zeros((len(edges) - 1, len(edges) - 1))
    np.add.at(joint, cell, np.diff(below) * norm.pdf(x)[:, None] * (x[1] - x[0]))
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    used = joint > 0
    return np.sum(joint[used] * np.log(joint[used] / product[used]))


dependent = np.array([estimates(0.8, decimals)[:, 0] for decimals in DECIMALS])
truth = [exact(0.8, max(10.0**-decimals, 0.05)) for decimals in DECIMALS]
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
draw(ax, dependent, "estimate", color="C0")
ax.plot(truth, "_", markersize=24, color="0.2", label="exact value")
ax.set(
    xlabel="decimals kept",
    ylabel="information (nats)",
    xticks=range(len(DECIMALS)),
    xticklabels=DECIMALS,
    ylim=0,
)
ax.set_title("correlation 0.8")
ax.legend(loc="lower left")
plt.show()

# %%
# No noise was added, and no seed was asked for. scikit-learn breaks ties with noise,
# so that its values depend on ``random_state``: the same rounded columns, forty seeds.
# Its values scatter about the one that is computed here.

rng = np.random.default_rng(1)
x, y = np.round(rng.standard_normal((2, N_SAMPLES)), 0)
x += np.round(0.5 * y)
seeds = [
    mutual_info_regression(x[:, None] / x.std(), y / y.std(), random_state=seed)[0]
    for seed in range(40)
]
ours = information(x[:, None], y)
print(f"unirel       {ours:.4f}")
print(f"scikit-learn {np.mean(seeds):.4f} on average")
print(f"             {min(seeds):.4f} to {max(seeds):.4f}")

# %%
# **Where it cannot be trusted.** Ties do no harm as long as the neighbours of a row
# are near compared with what the relation looks like. They are not when the relation
# is finer than the rounding or than the distance between neighbours: what was rounded
# away cannot be estimated, and a strong relation of few rows is underestimated,
# rounded or not. Here the target is the column itself with a little noise, 200 rows.

noises = np.array([1.0, 0.3, 0.1, 0.03, 0.01])
found = []
for noise in noises:
    samples = [
        np.random.default_rng(seed).standard_normal((2, 200)) for seed in range(10)
    ]
    pairs = [(np.round(x, 2)[:, None], np.round(x + noise * e, 2)) for x, e in samples]
    found.append([information(*pair) for pair in pairs])

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
draw(ax, np.array(found), "estimate, 2 decimals", color="C0")
ax.plot(
    0.5 * np.log(1 + 1 / noises**2),
    "_",
    markersize=24,
    color="0.2",
    label="value before rounding",
)
ax.set(
    xlabel="noise of the target",
    ylabel="information (nats)",
    xticks=range(len(noises)),
    xticklabels=noises,
    ylim=0,
)
ax.set_title("a relation finer than the neighbours, 200 rows")
ax.legend(loc="upper left")
plt.show()
