"""`unirel reproduce`: published experiments, run again, beside the published numbers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from unirel.cli import options as o
from unirel.cli.exits import BadInput, Exit

EXAMPLES = """Examples:

unirel reproduce  lists the experiments

unirel reproduce redundancy_sonar --preset small --data FOLDER --output results

unirel reproduce accuracy_ksg --preset full --data FOLDER --journal runs.jsonl --output results
"""


class PresetName(StrEnum):
    """How much to compute."""

    SMOKE = "smoke"
    SMALL = "small"
    FULL = "full"


Name = Annotated[str | None, typer.Argument(metavar="EXPERIMENT", help="Which one; none lists them.")]
Preset = Annotated[PresetName, typer.Option("--preset", help="How much to compute.")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder with <name>.parquet; UNIREL_DATA if not given.")
]
OutputFolder = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where tables are written.")]
JournalFile = Annotated[
    Path | None, typer.Option("--journal", metavar="FILE", help="Keep finished work here, and go on from it.")
]
Datasets = Annotated[str | None, typer.Option("--datasets", metavar="NAMES", help="Only these, separated by commas.")]
Runs = Annotated[int | None, typer.Option("--runs", min=1, metavar="N", help="Another number of random splits.")]
Classifiers = Annotated[
    str | None, typer.Option("--classifiers", metavar="NAMES", help="Only these of rf, knn, svm and logistic.")
]


def command(
    name: Name = None,
    preset: Preset = PresetName.SMALL,
    data: DataFolder = None,
    output: OutputFolder = None,
    journal: JournalFile = None,
    datasets: Datasets = None,
    classifiers: Classifiers = None,
    runs: Runs = None,
    jobs: o.Jobs = 1,
) -> int:
    """Run a published experiment again and print its numbers beside the published ones."""
    from unirel.cli.output import print_table
    from unirel.experiments import EXPERIMENTS, run

    if name is None:
        print_table(("experiment", "about"), sorted(EXPERIMENTS.items()))
        return Exit.OK
    if name not in EXPERIMENTS:
        raise BadInput(f"there is no experiment {name!r}; there are {', '.join(sorted(EXPERIMENTS))}")
    from unirel.work import ProgressBar

    given = {"data_home": data, "output": output, "journal": journal, "n_runs": runs}
    given |= {"datasets": datasets and datasets.split(","), "classifiers": classifiers and classifiers.split(",")}
    chosen: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    tables = run(name, preset=preset.value, n_jobs=jobs, progress=ProgressBar(name), **chosen)
    print(tables.to_markdown(), end="")
    return Exit.OK if tables.complete else Exit.INTERRUPTED
