"""
How good are selectors on real tables?
======================================

The area under the curve of scores over 1 to 10 features, for each dataset and
selector, as ``make quality`` has measured it: how many points each is ahead of the
default, or behind it.
"""

# %%
# One row per dataset, one dot per selector, with its standard error over the splits.
# What is more than 15 points behind stands at the edge, as an arrow.

import csv
from pathlib import Path

import matplotlib.pyplot as plt

DEFAULT, EDGE = "unirel (default)", -15
COLORS = {
    DEFAULT: "black",
    "LightGBM: gain": "tab:blue",
    "scikit-learn: lasso path": "tab:orange",
    "scikit-learn: F ranking": "tab:red",
}
folder = (
    Path("docs/results") if Path("docs/results").is_dir() else Path("../docs/results")
)
with (folder / "quality.csv").open(encoding="utf-8") as file:
    rows = [row for row in csv.DictReader(file) if row["selector"] in COLORS]

datasets = list(dict.fromkeys(row["dataset"] for row in rows))
default = {
    r["dataset"]: float(r["area 1-10"]) for r in rows if r["selector"] == DEFAULT
}

figure, ax = plt.subplots(figsize=(9, 1 + 0.4 * len(datasets)), layout="constrained")
for position, (selector, color) in enumerate(COLORS.items()):
    mine = [row for row in rows if row["selector"] == selector]
    shift = 0.1 * (position - len(COLORS) / 2)
    heights = [datasets.index(row["dataset"]) + shift for row in mine]
    ahead = [float(row["area 1-10"]) - default[row["dataset"]] for row in mine]
    errors = [float(row["error 1-10"] or "nan") for row in mine]
    for x, y, error in zip(ahead, heights, errors, strict=True):
        shown = x > EDGE
        error = error if shown else 0
        form = "o" if shown else "<"
        ax.errorbar(max(x, EDGE), y, xerr=error, fmt=form, ms=5, color=color, lw=1)
    ax.plot([], [], "o", color=color, label=selector)
for line in range(1, len(datasets)):
    ax.axhline(line - 0.5, color="0.9", linewidth=0.8, zorder=0)
ax.axvline(0, color="0.7", linewidth=0.8, zorder=0)
ax.set_yticks(range(len(datasets)), datasets)
ax.set_ylim(len(datasets) - 0.5, -0.5)
ax.set_xlim(EDGE - 0.7, None)
ax.set_xlabel("points of area ahead of the default")
ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
