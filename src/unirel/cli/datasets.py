"""`unirel datasets`: which data the library knows by name."""

from unirel.cli.exits import Exit
from unirel.cli.options import takes
from unirel.cli.output import Printing

EXAMPLES = """Examples:

unirel datasets

unirel select breast_cancer
"""

COLUMNS = ("name", "n_samples", "n_features", "kind", "source", "title")
WORDS = (
    "Those of scikit-learn come with it. For the others set UNIREL_DATA to a folder with <name>.parquet, or be online "
    "if the source is OpenML."
)


@takes()
def command(printing: Printing) -> int:
    """List the datasets that can be named instead of a file."""
    from unirel.datasets import describe

    datasets = describe()
    rows = [[dataset[name] for name in COLUMNS] for dataset in datasets]
    printing.show("datasets", {"datasets": datasets}, COLUMNS, rows, WORDS)
    return Exit.OK
