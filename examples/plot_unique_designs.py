"""
Which method finds unique relevance?
====================================

Unique relevance is information given *all* other features. On three designs it is
known exactly: a linear one, the same after monotone transforms, and an exclusive or.
Here are the estimates of each method, for 5 to 400 features and 100 to 3,000 samples,
as ``python -m benchmarks.designs`` has measured it.
"""

# %%
# The mean estimate over the features that have any unique relevance, as a share of the
# truth. A method that finds the truth is at the dashed line.

import csv
from pathlib import Path

import matplotlib.pyplot as plt

folder = (
    Path("docs/results") if Path("docs/results").is_dir() else Path("../docs/results")
)
with (folder / "unique_designs.csv").open(encoding="utf-8") as file:
    rows = [row for row in csv.DictReader(file) if row["runs"] != "0"]

designs, widths, methods = (
    list(dict.fromkeys(row[name] for row in rows)) for name in ("design", "M", "method")
)
figure, axes = plt.subplots(
    len(designs),
    len(widths),
    figsize=(10, 7),
    sharex=True,
    sharey=True,
    layout="constrained",
)
for design, line in zip(designs, axes, strict=True):
    for width, ax in zip(widths, line, strict=True):
        for method in methods:
            key = (design, width, method)
            mine = [r for r in rows if (r["design"], r["M"], r["method"]) == key]
            shares = [float(row["mean"]) / float(row["truth"]) for row in mine]
            samples = [int(row["N"]) for row in mine]
            ax.plot(samples, shares, "o-", ms=4, label=method)
        ax.axhline(1, color="0.5", linestyle="--", linewidth=0.8, zorder=0)
        ax.axhline(0, color="0.9", linewidth=0.8, zorder=0)
        ax.set_xscale("log")
        ax.spines[["top", "right"]].set_visible(False)
        if design == designs[0]:
            ax.set_title(f"{width} features")
    line[0].set_ylabel(f"{design}\nestimate / truth")
for ax in axes[-1]:
    ax.set_xlabel("samples")
axes[0, -1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
