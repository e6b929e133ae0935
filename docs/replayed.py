"""What the pages about the paper say of committed results: sentences, tables and a picture made from their files."""

import re
from pathlib import Path
from typing import NamedTuple

from paper import accuracy_clf, accuracy_ksg
from paper.accuracy import CLASSIFIERS, DATASETS, TITLES
from paper.conclusions import beside, conclude
from paper.tables import read_rows, to_csv

RESULTS = Path(__file__).parents[1] / "paper" / "results"


class Committed(NamedTuple):
    """A replay with a committed journal of outcomes: how many runs were wanted, and what the page shows."""

    n_runs: int
    datasets: tuple[str, ...] = DATASETS


# By file name.
COMMITTED = {
    "accuracy_ksg": Committed(accuracy_ksg.TABLE.presets["medium"].n_runs),
    "accuracy_clf": Committed(accuracy_clf.TABLE.presets["medium"].n_runs),
    "full/accuracy_ksg": Committed(accuracy_ksg.TABLE.presets["full"].n_runs, ("colon", "sonar", "leukemia")),
}


def read(name):
    return read_rows(RESULTS / f"{name}.csv")


def conclusions(name):
    """A list of sentences."""
    return "\n".join(f"- {sentence}" for sentence in conclude(read(name), read(f"{name}_pooled"))) + "\n"


def conclusions_of_datasets():
    """How far the percentages of features with unique relevance are from the paper's."""
    rows = read("dataset_table")
    each = [f"{row['dataset']} {row['ur_auto']} or {row['ur_euclidean']} (paper {row['paper_ur']})" for row in rows]
    nearest = [min(abs(float(row[f"difference_{one}"])) for one in ("auto", "euclidean")) for row in rows]
    apart = [abs(float(row["ur_auto"]) - float(row["ur_euclidean"])) for row in rows]
    return (
        f"- Percent of features with UR above 0, by the metric `auto` or the euclidean one: {', '.join(each)}.\n"
        f"- The nearer of the two is from {min(nearest):.1f} to {max(nearest):.1f} points from the paper's, and they "
        f"differ from each other by up to {max(apart):.1f} points.\n"
    )


def conclusions_of_genes():
    """Whether the boosts find two genes, what these are worth, and where the genes are that the paper names."""
    subsets, ranks = read("genes_subsets"), read("genes_ranks")
    wholes = [row for row in subsets if row["subset"] == "S"]
    chosen = ", ".join(f"{row['algorithm']} in {row['selected either']}" for row in wholes)
    told = [f"Runs and classifiers in which one of the two genes was selected: {chosen}."]
    for subset in ("S without both", "S with both"):
        others = [row for row in subsets if row["subset"] == subset]
        told.append(f"{subset} instead of S changes test accuracy by {_changes(wholes, others)} points.")
    genes = {row["gene"]: row["UR"] for row in ranks}
    above = [f"{gene} (rank {rank})" for gene, rank in genes.items() if rank != "none"]
    told.append(f"UR above 0: {len(above)} of the {len(genes)} named genes{', ' * bool(above)}{', '.join(above)}.")
    for boost in ("BUR-KSG", "BUR-REF"):
        moved = [(_rank(row["plain"]), _rank(row[boost])) for row in ranks]
        up, down = sum(after < before for before, after in moved), sum(after > before for before, after in moved)
        far = sum(before == after == float("inf") for before, after in moved)
        told.append(
            f"{boost} brings a named gene forward in {up} of {len(moved)} cases, a gene and a criterion each, and back "
            f"in {down}; in {far} it is farther behind than was looked, with and without."
        )
    first = {row["gene"]: [] for row in ranks}
    for row in ranks:
        first[row["gene"]] += [f"{row['criterion']} {row['plain']}"] if _rank(row["plain"]) <= 10 else []
    named = [f"{gene} ({', '.join(places)})" for gene, places in first.items() if places]
    told.append(f"Among the first ten without any boost: {', '.join(named) or 'none of them'}.")
    return "\n".join(f"- {sentence}" for sentence in told) + "\n"


def _changes(before, after):
    """Differences of accuracy, for each classifier that was run."""
    told = []
    for name in CLASSIFIERS:
        pairs = [(float(one[name]), float(other[name])) for one, other in zip(before, after, strict=True) if one[name]]
        if pairs:
            changes = [other - one for one, other in pairs]
            told.append(f"{min(changes):+.1f} to {max(changes):+.1f} ({name})")
    return ", ".join(told)


def _rank(text):
    return float("inf") if text.startswith(">") else float(text)


def what_was_run(name):
    """Splits that are done, for each dataset and classifier."""
    runs, wanted = read(f"{name}_runs"), COMMITTED[name].n_runs
    rows = []
    for dataset in COMMITTED[name].datasets:
        done = {
            one: len({row["run"] for row in runs if (row["dataset"], row["classifier"]) == (dataset, one)})
            for one in CLASSIFIERS
        }
        rows.append({"dataset": dataset} | {one: _splits(n, wanted) for one, n in done.items()})
    return to_csv(rows)


def _splits(done, wanted):
    return f"{done} of {wanted}" if 0 < done < wanted else str(done or "not run")


def draw_differences(name, path):
    """What the boost changes in every cell, theirs beside ours."""
    from matplotlib.figure import Figure

    cells = {(row["classifier"], row["algorithm"], row["dataset"]): row for row in read(name) if row["paper_change"]}
    boost = next(iter(cells))[1].split("-", 1)[1]
    lines = [(classifier, title) for classifier in CLASSIFIERS for title in TITLES.values()]
    names = COMMITTED[name].datasets
    figure = Figure(figsize=(9.5, 6.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, column, words in ((left, "paper_change", "the paper"), (right, "change", "here")):
        found = [[cells[one, f"{title}-{boost}", data][column] for data in names] for one, title in lines]
        numbers = [[float(text) if text else float("nan") for text in row] for row in found]
        image = ax.imshow(numbers, cmap="RdBu", vmin=-4, vmax=4, aspect="auto")
        ax.set_facecolor("0.85")
        ax.set_title(f"{boost} minus plain, {words}")
        ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
        for y, row in enumerate(numbers):
            for x, value in enumerate(row):
                text = "" if value != value else f"{value:+.1f}" if abs(value) >= 0.05 else "0"
                ax.text(x, y, text, ha="center", va="center", fontsize=8, color="white" if abs(value) > 3 else "black")
        for y in (4.5, 9.5):
            ax.axhline(y, color="white", linewidth=3)
    left.set_yticks(range(len(lines)), [f"{title}, {classifier}" for classifier, title in lines])
    not_run = not all(row["change"] for row in cells.values() if row["dataset"] in names)
    label = "points of test accuracy" + "; grey was not run" * not_run
    figure.colorbar(image, ax=[left, right], label=label, shrink=0.6)
    figure.savefig(path, metadata={"Date": None})


def hours():
    """Processor time of what was run, in hours, from the file that holds what was measured."""
    return f"{sum(float(row['processor seconds']) for row in read('hours')) / 3600:.1f}"


def hours_table():
    """Where these hours went, and what a split took with the trees of our own that grew then."""
    groups = {}
    for row in read("hours"):
        name, preset, datasets = re.match(r"(\w+) --preset (\w+)(?: --datasets (\S+))?", row["command"]).groups()
        groups.setdefault((name, preset, (datasets or "").replace(",", ", ")), []).append(row)
    rows = []
    for (name, preset, datasets), lines in groups.items():
        hours = sum(float(line["processor seconds"]) for line in lines) / 3600
        today = [line for line in lines if line["command"].endswith("(our trees)")]
        # A command with --runs did the next split, one without did all of them.
        n_all = COMMITTED[name if preset == "medium" else f"{preset}/{name}"].n_runs if today else 0
        n_splits = sum(1 if "--runs" in line["command"] else n_all for line in today)
        seconds = sum(float(line["processor seconds"]) for line in today)
        rows.append(
            {
                "command": name,
                "preset": preset,
                "datasets": datasets,
                "times given": len(lines),
                "hours": f"{hours:.2f}",
                "minutes of a split": f"{seconds / n_splits / 60:.1f}" if today else "",
            }
        )
    return rows


def write_all(folder):
    """Everything that the pages include."""
    for name, committed in COMMITTED.items():
        start = name.replace("/", "_")
        (folder / f"{start}_conclusions.txt").write_text(conclusions(name), encoding="utf-8")
        (folder / f"{start}_run.csv").write_text(what_was_run(name), encoding="utf-8")
        rows = beside(cell for cell in read(name) if cell["dataset"] in committed.datasets)
        (folder / f"{start}_beside.csv").write_text(to_csv(rows), encoding="utf-8")
        draw_differences(name, folder / f"{start}_differences.svg")
    (folder / "genes_conclusions.txt").write_text(conclusions_of_genes(), encoding="utf-8")
    (folder / "dataset_table_conclusions.txt").write_text(conclusions_of_datasets(), encoding="utf-8")
    (folder / "hours.csv").write_text(to_csv(hours_table()), encoding="utf-8")
    (folder / "hours.txt").write_text(f".. |hours| replace:: {hours()}\n", encoding="utf-8")
