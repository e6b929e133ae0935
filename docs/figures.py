"""The figures of the front page, from the files of results. A test holds the README to the same ones."""

import csv
import re
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
# How the front page calls selectors and groups of datasets, by what the results call them.
SELECTORS = {
    "unirel (default)": "`BURSelector()`",
    "unirel without boost": "the same without boost",
    "LightGBM: gain": "LightGBM, gain",
    "scikit-learn: lasso path": "lasso path (scikit-learn)",
    "scikit-learn: F ranking": "F ranking (scikit-learn)",
}
GROUPS = {
    "the paper's": "the paper's {} datasets",
    "more, classes": "{} more, classes",
    "more, regression": "{} more, regression",
}
# Lines of the benchmarks whose ratio is quoted: the file, and how the line begins.
SPEEDUPS = {
    "speed_relevance": ("benchmarks.txt", " 10,000 x 100, 2 classes"),
    "speed_regression": ("benchmarks.txt", " 10,000 x 100, continuous target"),
    "speed_unique": ("benchmarks.txt", "  2,600 x 500  "),
    "speed_unique_wide": ("benchmarks.txt", "     72 x 7,070  "),
    "speed_jmi": ("benchmarks_earlier.txt", "jmi, 50 of 500 features, 2,600 rows"),
}


def quality_table():
    """Mean scores by group of datasets and the mean rank over all of them: a header, then a row for each selector."""
    with (RESULTS / "quality_overall.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["datasets"], row["selector"]): row for row in csv.DictReader(file)}
    default = next(iter(SELECTORS))
    titles = [title.format(rows[group, default]["n"]) for group, title in GROUPS.items()]
    table = [["selector", *titles, f"mean rank of {len(SELECTORS)} on all {rows['all', default]['n']}"]]
    for selector, name in SELECTORS.items():
        areas = [float(rows[group, selector]["area 1-10"]) for group in GROUPS]
        rank = float(rows["all", selector]["mean rank 1-10"])
        table.append([name, *(f"{area:.1f}" for area in areas), f"{rank:.1f}"])
    return table


def speedups():
    """How many times as fast as their peers the quoted benchmarks are."""
    found = {}
    for name, (file, beginning) in SPEEDUPS.items():
        lines = (RESULTS / file).read_text(encoding="utf-8").splitlines()
        line = next(line for line in lines if line.startswith(beginning) and re.search(r"[\d.]+x", line))
        ratio = float(re.findall(r"([\d.]+)x", line)[-1])
        found[name] = f"{ratio:,.0f}"
    return found


def path_ratio():
    """How many times as long as its slowest selection a whole path takes."""
    text = (RESULTS / "benchmarks_earlier.txt").read_text(encoding="utf-8")
    ratio = float(re.search(r"dearest single ([\d.]+)", text)[1])
    return f"{ratio:.1f}"


def write_all(folder):
    """Write the table of quality for the front page."""
    with (folder / "quality.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(quality_table())


def substitutions():
    """The ratios, to be used in any page as `|speed_relevance|` and so on."""
    return "\n".join(f".. |{name}| replace:: {value}" for name, value in speedups().items())
