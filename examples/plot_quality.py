"""
How good are selectors on real tables?
======================================

The area under the curve of scores over numbers of features, for each dataset and
selector, as ``make quality`` has measured it.
"""

# %%
# One row per dataset, one dot per selector, with its standard error over the splits.

import csv
from pathlib import Path

import matplotlib.pyplot as plt

folder = (
    Path("docs/results") if Path("docs/results").is_dir() else Path("../docs/results")
)
with (folder / "quality.csv").open(encoding="utf-8") as file:
    rows = list(csv.DictReader(file))

datasets = list(dict.fromkeys(row["dataset"] for row in rows))
selectors = list(dict.fromkeys(row["selector"] for row in rows))
colors = dict(zip(selectors, plt.get_cmap("tab20").colors, strict=False))

figure, ax = plt.subplots(figsize=(9, 1.5 + 0.45 * len(datasets)), layout="constrained")
for selector in selectors:
    mine = [row for row in rows if row["selector"] == selector]
    heights = [
        datasets.index(row["dataset"])
        + 0.035 * (selectors.index(selector) - len(selectors) / 2)
        for row in mine
    ]
    areas = [float(row["area"]) for row in mine]
    errors = [float(row["standard error"] or "nan") for row in mine]
    size = 9 if selector == "unirel (default)" else 5
    ax.errorbar(
        areas,
        heights,
        xerr=errors,
        fmt="o",
        markersize=size,
        color=colors[selector],
        label=selector,
        linewidth=1,
    )
ax.set_yticks(range(len(datasets)), datasets)
ax.invert_yaxis()
ax.set_xlabel("area: mean score over numbers of features and models, percent")
ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
