"""`unirel reproduce`: published experiments, run again, beside the published numbers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from unirel.cli.exits import BadInput, Exit
from unirel.cli.options import takes
from unirel.options import WorkOptions

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
    str | None, typer.Option("--classifiers", metavar="NAMES", help="Only these of rf, knn and svm.")
]


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
    **options: Any,
) -> int:
    """Run a published experiment again and print its numbers beside the published ones."""
    from importlib import import_module

    from unirel.cli.output import print_table

    known = experiments()
    if name is None:
        print_table(("experiment", "about"), sorted(known.items()))
        return Exit.OK
    if name not in known:
        raise BadInput(f"there is no experiment {name!r}; there are {', '.join(sorted(known))}")
    given: dict[str, object] = {"--preset": preset, "--data": data, "--output": output, "--jobs": options["n_jobs"]}
    # Not every experiment knows these.
    given |= {"--journal": journal, "--datasets": datasets, "--classifiers": classifiers, "--runs": runs}
    arguments = [text for option, value in given.items() if value is not None for text in (option, str(value))]
    return int(import_module(f"unirel.experiments.{name}").main(arguments) or Exit.OK)


def experiments() -> dict[str, str]:
    """Names of the experiments, each with the first line about it; none of them is imported for it."""
    import ast

    import unirel.experiments

    found = {}
    for folder in unirel.experiments.__path__:
        for path in Path(folder).glob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
                found[path.stem] = (ast.get_docstring(tree) or "").split("\n")[0]
    return found
