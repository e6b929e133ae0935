"""`unirel datasets`: which data the library knows by name."""

from unirel.cli import options as o
from unirel.cli.exits import Exit

EXAMPLES = """Examples:

unirel datasets

unirel select breast_cancer
"""


HEADERS = ("name", "n_samples", "n_features", "kind", "source", "title")


def command(as_json: o.AsJson = False) -> int:
    """List the datasets that can be named instead of a file."""
    from unirel.cli.output import print_paragraph, print_table
    from unirel.cli.selection_file import to_json
    from unirel.datasets import describe

    rows = describe()
    if as_json:
        print(to_json({"schema": "unirel/datasets", "version": 1, "datasets": rows}), end="")
        return Exit.OK
    print_table(HEADERS, [[row[header] for header in HEADERS] for row in rows])
    print_paragraph(
        "Those of scikit-learn come with it. For the others set UNIREL_DATA to a folder with <name>.parquet, or be "
        "online if the source is OpenML."
    )
    return Exit.OK
