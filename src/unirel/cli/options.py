"""Options that several commands share, each named once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from unirel.cli.exits import BadInput

_DATA = "Data"
_METHOD = "Method"
_OUTPUT = "Output"


class CriterionName(StrEnum):
    """Criteria by name; a test holds them equal to those of the library, which is slow to import."""

    MIM = "mim"
    MRMR = "mrmr"
    JMI = "jmi"
    JMIM = "jmim"
    CMIM = "cmim"
    GSA = "gsa"


class UniqueMethod(StrEnum):
    """Kinds of unique relevance."""

    REFERENCE = "reference"
    KSG = "ksg"
    CLASSIFIER = "classifier"
    NONE = "none"


class ClassifierName(StrEnum):
    """Classifiers by name."""

    LOGISTIC = "logistic"
    RF = "rf"
    KNN = "knn"
    SVM = "svm"


class EstimatorName(StrEnum):
    """Estimators by name."""

    KNN = "knn"
    BINNED = "binned"
    PLUGIN = "plugin"


class MetricName(StrEnum):
    """Metrics by name."""

    AUTO = "auto"
    CHEBYSHEV = "chebyshev"
    MANHATTAN = "manhattan"
    EUCLIDEAN = "euclidean"


class TargetKindName(StrEnum):
    """What a target can be."""

    AUTO = "auto"
    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A CSV, TSV, Parquet or Arrow file, compressed or not; - for standard input; or the name of a dataset.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to explain. Needed for files; datasets know theirs.",
        rich_help_panel=_DATA,
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out rows without a target.", rich_help_panel=_DATA),
]
TargetKind = Annotated[
    TargetKindName,
    typer.Option("--target-kind", help="Whether the target is a class or a number.", rich_help_panel=_DATA),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kinds",
        metavar="COL=KIND,...",
        help="Kinds of columns where the guess is wrong: continuous, discrete or ignored.",
        rich_help_panel=_DATA,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL,...", help="Columns to leave out altogether.", rich_help_panel=_DATA),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="What separates the fields of a text file; found if not given.",
        rich_help_panel=_DATA,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Encoding of a text file; found if not given.", rich_help_panel=_DATA
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="CHAR",
        help="Decimal mark of a text file, . or , ; found if not given.",
        rich_help_panel=_DATA,
    ),
]
NFeatures = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--n-features",
        metavar="20|0.2|auto",
        help="How many features, which share of them, or as many as beat shuffled copies. 10 if not given.",
        rich_help_panel=_METHOD,
    ),
]
Criterion = Annotated[
    CriterionName, typer.Option("--criterion", "-c", help="What candidates are scored by.", rich_help_panel=_METHOD)
]
Beta = Annotated[
    float,
    typer.Option("--beta", min=0.0, max=1.0, help="Weight of unique relevance, 0 for none.", rich_help_panel=_METHOD),
]
UniqueRelevance = Annotated[
    UniqueMethod,
    typer.Option("--unique-relevance", "-u", help="How unique relevance is found.", rich_help_panel=_METHOD),
]
Classifier = Annotated[
    ClassifierName | None,
    typer.Option(
        "--classifier",
        help="What to train for --unique-relevance classifier; logistic if not given.",
        rich_help_panel=_METHOD,
    ),
]
Estimator = Annotated[
    EstimatorName,
    typer.Option(
        "--estimator", help="How information is estimated; binned is fastest on many rows.", rich_help_panel=_METHOD
    ),
]
Neighbors = Annotated[
    int, typer.Option("--neighbors", min=1, help="Nearest neighbours of the estimator.", rich_help_panel=_METHOD)
]
Metric = Annotated[MetricName, typer.Option("--metric", help="Distance in blocks of columns.", rich_help_panel=_METHOD)]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="COL,...", help="Features to select first.", rich_help_panel=_METHOD),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="COL,...", help="Features never to select.", rich_help_panel=_METHOD),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        "--max-seconds", min=0.0, metavar="SECONDS", help="Print what there is after so long.", rich_help_panel=_METHOD
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the little that is random.", rich_help_panel=_METHOD)]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="Threads; -1 for one for each core.", rich_help_panel=_METHOD),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress.", rich_help_panel=_OUTPUT)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=_OUTPUT)]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV.", rich_help_panel=_OUTPUT)]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE.json", help="Write the selection to a file for `unirel apply`.", rich_help_panel=_OUTPUT
    ),
]
Accuracy = Annotated[
    ClassifierName | None,
    typer.Option(
        "--accuracy",
        help="Show in the --report how well this classifier predicts with 1, 2, ... features; knn is quick.",
        rich_help_panel=_OUTPUT,
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a page to look at and to send.", rich_help_panel=_OUTPUT),
]


def check_one_format(as_json: bool, as_csv: bool) -> None:
    """Refuse `AsJson` and `AsCsv` together."""
    if as_json and as_csv:
        raise BadInput("--json and --csv are two ways to print; choose one")
