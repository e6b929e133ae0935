"""`unirel datasets`: which data the library knows by name."""

from unirel.cli.exits import Exit
from unirel.cli.options import takes
from unirel.cli.output import Printing

EXAMPLES = """Examples:

unirel datasets

unirel select breast_cancer
"""

COLUMNS = ("name", "n_samples", "n_features", "n_classes", "title")
WORDS = "These come with scikit-learn; any other data are read from a file."


@takes()
def command(printing: Printing) -> int:
    """List the datasets that can be named instead of a file."""
    from unirel.data.datasets import describe

    datasets = describe()
    rows = [[dataset[name] for name in COLUMNS] for dataset in datasets]
    printing.show("datasets", {"datasets": datasets}, COLUMNS, rows, WORDS)
    return Exit.OK
