"""
Which estimator comes near the truth?
=====================================

Tables are drawn from distributions whose information is known exactly, and every
estimator is compared with it. ``python -m benchmarks.truth`` has measured it.
"""

# %%
# The mean distance from the truth over the tasks of a group, against the number of
# rows. A line that does not fall belongs to an estimator that misses something for any
# number of rows.

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

folder = (
    Path("docs/results") if Path("docs/results").is_dir() else Path("../docs/results")
)
with (folder / "truth.csv").open(encoding="utf-8") as file:
    records = list(csv.DictReader(file))

estimators = list(dict.fromkeys(record["estimator"] for record in records))
groups = list(dict.fromkeys(record["group"] for record in records))
rows = sorted({int(record["rows"]) for record in records})


def distance(group, estimator, n_rows):
    """Mean distance of the mean estimates from the truth, in nats."""
    wanted = (group, estimator, str(n_rows))
    errors = [
        abs(float(record["error"]))
        for record in records
        if (record["group"], record["estimator"], record["rows"]) == wanted
    ]
    return np.mean(errors)


figure, axes = plt.subplots(
    2, 3, figsize=(9, 5.6), sharex=True, sharey=True, layout="constrained"
)
for ax, group in zip(axes.flat, groups, strict=False):
    for estimator in estimators:
        distances = [distance(group, estimator, n_rows) for n_rows in rows]
        ax.loglog(rows, distances, "o-", markersize=4, label=estimator)
    n_tasks = len({record["task"] for record in records if record["group"] == group})
    ax.set_title(f"{group} ({n_tasks} tasks)", fontsize="medium")
    ax.axhline(0.03, color="0.8", linewidth=0.8, zorder=0)
for ax in axes[:, 0]:
    ax.set_ylabel("distance (nats)")
for ax in axes.flat[-3:]:
    ax.set_xlabel("rows")
axes.flat[2].tick_params(labelbottom=True)
handles, labels = axes.flat[0].get_legend_handles_labels()
axes.flat[-1].axis("off")
axes.flat[-1].legend(handles, labels, loc="center", title="estimator")
plt.show()

# %%
# The grey line is 0.03 nats. Errors of single tasks are in :doc:`../truth`.
