"""`unirel reproduce`: published experiments, run again, beside the published numbers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unirel.cli.exits import BadInput, Exit
from unirel.cli.interrupts import interrupts
from unirel.cli.options import takes
from unirel.experiments import EXPERIMENTS, PresetName
from unirel.options import WorkOptions

EXAMPLES = """Examples:

unirel reproduce  lists the experiments

unirel reproduce redundancy_sonar --preset small --data FOLDER --output results

unirel reproduce accuracy_ksg --preset full --data FOLDER --journal runs.jsonl --output results

unirel reproduce accuracy_ksg --preset full --data FOLDER --journal runs.jsonl --verify 5
"""


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
TablesOnly = Annotated[
    bool, typer.Option("--tables-only", help="Compute nothing; make tables of what the journal holds.")
]
Verify = Annotated[
    int | None,
    typer.Option("--verify", min=1, metavar="N", help="Compute N random pieces of the journal again and compare."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides which pieces --verify takes.")]


@takes(WorkOptions, n_jobs=1)
def command(
    name: Name = None,
    preset: Preset = PresetName.SMALL,
    data: DataFolder = None,
    output: OutputFolder = None,
    journal: JournalFile = None,
    datasets: Datasets = None,
    classifiers: Classifiers = None,
    runs: Runs = None,
    tables_only: TablesOnly = False,
    verify: Verify = None,
    seed: Seed = 0,
    **options: Any,
) -> int:
    """Run a published experiment again and print its numbers beside the published ones."""
    from unirel._runtime import ProgressBar
    from unirel.cli.output import print_table
    from unirel.experiments import run

    if name is None:
        print_table(("experiment", "about"), [(name, one.about) for name, one in EXPERIMENTS.items()])
        return Exit.OK
    if name not in EXPERIMENTS:
        raise BadInput(f"there is no experiment {name!r}; there are {', '.join(sorted(EXPERIMENTS))}")
    lists = {"datasets": datasets and datasets.split(","), "classifiers": classifiers and classifiers.split(",")}
    given: dict[str, Any] = {"journal": journal, "n_runs": runs, "tables_only": tables_only or None, **lists}
    given = {option: value for option, value in given.items() if value is not None}
    for option in given:
        if option not in EXPERIMENTS[name].options:
            raise BadInput(f"{name} does not take --{option.removeprefix('n_').replace('_', '-')}")
    given |= {"preset": preset, "data_home": data, "progress": ProgressBar(name), **options}
    if verify is not None:
        return _verify(name, verify, seed, given)
    tables = run(name, output=output, **given)
    if not tables.complete:
        interrupts.answer()
    print(tables.to_markdown(), end="")
    return Exit.OK if tables.complete else Exit.INTERRUPTED


def _verify(name: str, n_units: int, seed: int, given: dict[str, Any]) -> int:
    """Print a line for each piece of the journal that was computed again."""
    from unirel.experiments import verify

    found = verify(name, n_units, seed=seed, **given)
    for one in found:
        print(one.in_words())
    n_different = sum(bool(one.differences) for one in found)
    print(f"{len(found) - n_different} of {len(found)} equal to the digit")
    return Exit.FAILED if n_different else Exit.OK
