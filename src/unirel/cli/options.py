"""The flags that commands share, in groups: a parameter of a command that is a group stands for all of its flags."""

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unirel.cli import BadInput, as_number
from unirel.criteria import CRITERIA
from unirel.data.naming import is_pattern, is_type, matching
from unirel.estimation import ESTIMATORS
from unirel.inference import REDUNDANCY_FEATURES, REDUNDANCY_ORDER

if TYPE_CHECKING:
    from unirel.search.greedy import SearchSettings

# Panels of the help: flags that most people use stand first, under no heading of their own.
FIRST = None
DATA, METHOD, OUTPUT = "More about the data", "More about the method", "More about the output"
_ORDER = ("target", "n_features", "report", "save", "plot", "json")
METRICS = ("auto", "chebyshev", "manhattan", "euclidean")
BOOSTS = ("both", "reference", "selected", "ksg", "classifier", "none")
CLASSIFIERS = ("logistic", "rf", "knn", "svm")
_FORCED = ("--include", "--exclude", "--group", "--cost")  # the library knows their types and patterns
_ABOUT_DATA = (
    "A CSV, TSV, Parquet or Arrow file, compressed or not; - for standard input; a pattern in quotes for Parquet "
    "or Arrow files that are read in parts; an address: s3://, gs://, az://, https://, delta:, iceberg:, duckdb:; or "
    "the name of a dataset."
)


def flag(
    default: Any, words: str, short: str = "", *, panel: str | None = None, among: Collection[str] = (), **more: Any
) -> Any:
    """A field of a group that is a flag of the same name; `among` are the values that it can have."""
    if among:
        more |= {"metavar": "|".join(among), "callback": _checking(among), "autocompletion": lambda: list(among)}

    def option(name: str) -> Any:
        return typer.Option(name, *short.split(), help=words, rich_help_panel=panel, **more)

    return dataclasses.field(default=default, metadata={"option": option})


def _checking(among: Collection[str]) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        if value is not None and value.lower() not in among:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, among))}.")
        return value and value.lower()

    return check


_data, _method, _output = (partial(flag, panel=panel) for panel in (DATA, METHOD, OUTPUT))
_argument = partial(typer.Argument, show_default=False)
# What one command alone is given is a parameter of it, not of a group.
Feature = Annotated[str, _argument(metavar="FEATURE", help="The column to look at.")]
NewData = Annotated[str, _argument(metavar="NEW", help="A later table with the same columns, as DATA.")]
SavedSelection = Annotated[str, _argument(metavar="SELECTION", help="What `unirel select --save` wrote.")]
_page = partial(typer.Option, metavar="FILE.html")
ReportFile = Annotated[Path | None, _page(help="Write a page to look at and to send.")]
OutputFile = Annotated[Path | None, _page("--output", "-o", help="Where to; named after the data if not given.")]


@dataclass(frozen=True, kw_only=True)
class File:
    """Where a table is, and how a text file is written; None is found out."""

    data: str = dataclasses.field(metadata={"option": lambda _: _argument(metavar="DATA", help=_ABOUT_DATA)})
    delimiter: str | None = _data(None, "Field separator; found if not given.", metavar="CHAR")
    decimal: str | None = _data(None, "Decimal mark, . or , ; found if not given.", metavar="CHAR")
    encoding: str = _data("utf-8", "Encoding of text.", metavar="NAME")
    missing: list[str] | None = _data(None, "Further texts that stand for missing values.", metavar="TEXT,...")
    any_size: bool = _data(False, "Read a compressed or Parquet file however large it becomes.")

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.separator) != 1:
            raise BadInput(f"--delimiter {self.delimiter!r} must be one character, or \\t for a tab")
        if self.decimal not in (None, ".", ","):
            raise BadInput(f"--decimal {self.decimal!r} must be . or ,")
        try:
            b"a".decode(self.encoding, "replace")  # some of what codecs know, such as base64, is no text
        except (LookupError, UnicodeError):
            raise BadInput(
                f"--encoding {self.encoding!r} is not known as an encoding of text; try utf-8, cp1252 or utf-16"
            ) from None

    @property
    def separator(self) -> str:
        """The delimiter, a tab if it is spelt out; empty if it is not given."""
        return (self.delimiter or "").replace("\\t", "\t")


@dataclass(frozen=True, kw_only=True)
class Data(File):
    """A table, which column of it is to be explained, and what the others are."""

    target: list[str] | None = flag(
        None,
        "The column to explain, of a selection also several. Needed for files; datasets know theirs.",
        "-t",
        metavar="COL,...",
    )
    target_type: str = _data("auto", "What the target is.", among=("auto", "discrete", "continuous"))
    drop: list[str] | None = _data(None, "Columns to leave out altogether.", metavar="COL,...")
    discrete: list[str] | None = _data(None, "Columns whose values are categories.", metavar="COL,...")
    continuous: list[str] | None = _data(None, "Columns whose values are numbers.", metavar="COL,...")
    row_groups: str | None = _data(
        None, "Column that says which rows belong together, such as a patient; it is no feature.", metavar="COL"
    )
    drop_missing_target: bool = _data(False, "Leave out rows without a target.")
    scheduler: str | None = _data(
        None, "A running Dask cluster that reads the files of a pattern.", metavar="tcp://HOST:PORT"
    )

    def discrete_features(self, names: Sequence[str]) -> Any:
        """Which columns were said to be discrete or not; the others are decided from the data."""
        given = {"--discrete": self.discrete, "--continuous": self.continuous}
        known = {one: flag == "--discrete" for flag in given for one in find_names(given[flag], names, flag)}
        return known or "auto"


# Flags whose default is another one in some commands.
_estimator = partial(
    _method,
    words="How information is estimated; auto is binned for a selection and knn for a measure.",
    among=("auto", *ESTIMATORS),
)
_beta = partial(_method, words="Weight of unique relevance; with 0 it is not computed.", min=0.0, max=1.0)
_unique_relevance = partial(
    _method,
    words="Given what a feature must be relevant: reference features, the selected ones, both, all others (ksg); or by "
    "the loss of a classifier without it.",
    short="-u",
    among=BOOSTS,
)
_criterion = partial(_method, words="What to score candidates by.", short="-c", among=CRITERIA)


@dataclass(frozen=True, kw_only=True)
class Estimation:
    estimator: str = _estimator("auto")
    neighbors: int | None = _method(None, "Neighbours of a row, for knn; 3 if not given.", min=1)
    metric: str | None = _method(None, "Distance in several columns, for knn.", among=METRICS)
    jobs: int = _method(-1, "Threads, -1 for one for each core.", "-j")

    def mi_estimator(self, automatic: str) -> Any:
        """The estimator of information, or its name; `automatic` is what "auto" stands for."""
        asked: dict[str, Any] = {"n_neighbors": self.neighbors, "metric": self.metric}
        given = {name: value for name, value in asked.items() if value is not None}
        if not given:
            return self.estimator
        if "knn" not in (self.estimator, self.estimator == "auto" and automatic):
            raise BadInput("--neighbors and --metric go with --estimator knn")
        from unirel import KNN

        return KNN(**given)


@dataclass(frozen=True, kw_only=True)
class Boosting(Estimation):
    beta: float = _beta(0.5)
    unique_relevance: str = _unique_relevance("both")
    unique_samples: int | None = _method(None, "Rows that it is estimated from; 2000 if not given.", min=10)
    classifier: str | None = _method(None, "What to train for --unique-relevance classifier.", among=CLASSIFIERS)
    max_candidates: str = _method(
        "auto",
        "Search among that many of the most relevant columns only; auto is 300 where there are more than ten columns "
        "for each row, otherwise 5000.",
        metavar="N|auto|all",
    )

    def __post_init__(self) -> None:
        if self.classifier is not None and self.unique_relevance != "classifier":
            raise BadInput("--classifier goes with --unique-relevance classifier")
        if self.unique_samples is not None and self.unique_relevance not in ("both", "reference", "selected"):
            raise BadInput("--unique-samples goes with --unique-relevance both, reference or selected")

    def boost(self) -> Any:
        """What is boosted: a name, or an object with parameters of its own."""
        from unirel import Boost, ClassifierLoss

        if self.classifier is not None:
            return ClassifierLoss(self.classifier)
        if self.unique_samples is not None:
            return Boost(self.unique_relevance, self.unique_samples)  # type: ignore[arg-type]
        return "both" if self.unique_relevance == "none" else self.unique_relevance


@dataclass(frozen=True, kw_only=True)
class Searching(Boosting):
    criterion: str = _criterion("cmim")
    include: list[str] | None = _method(
        None,
        "Features that are selected first; 'lab_*' for all of these names, dtype:bool for all of a type.",
        metavar="COL,...",
    )
    exclude: list[str] | None = _method(None, "Features that are never selected, likewise.", metavar="COL,...")
    seed: int = _method(0, "Seed of permutations and of samples of rows.", min=0)


@dataclass(frozen=True, kw_only=True)
class Selecting(Searching):
    """How a selection is made: all of the selector's parameters."""

    n_features: str = flag(
        "auto:20",
        "How many features, which share of them, or all in order; auto: as many as add something, auto:20: at most 20.",
        "-k",
        metavar="20|0.2|auto|auto:20|all",
    )
    alpha: float = _method(0.05, "With -k auto: chance to select anything where nothing is relevant.", min=0.0, max=1.0)
    group: list[str] | None = _method(None, "Columns that are selected or left as one.", metavar="NAME=COL,...")
    cost: list[str] | None = _method(None, "What columns cost, 1 if not given.", metavar="COL=NUMBER,...")
    budget: float | None = _method(None, "What all selected features may cost.", min=0.0)
    max_seconds: float | None = _method(
        None, "Time budget; what is selected by then is printed, marked incomplete.", min=0.0
    )


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How a result is printed, and whether anything is said beside it."""

    json: bool = flag(False, "Print JSON for programs.")
    csv: bool = _output(False, "Print the table as CSV.")
    quiet: bool = _output(False, "No messages and no progress.", "-q")

    def __post_init__(self) -> None:
        if self.json and self.csv:
            raise BadInput("--json and --csv are two ways to print; choose one")


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What is looked at beside the selection, and what is written."""

    save: Path | None = flag(None, "Write the selection to a file for `unirel apply`.", metavar="FILE.json")
    accuracy: str = _output(
        "auto",
        "How well 1, 2, ... features predict, in the report: by two quick models, one by name, or none.",
        among=("auto", "none", *CLASSIFIERS),
    )
    stability: int | None = _output(None, "Select again in this many halves of the rows.", min=2)
    force: bool = _output(False, "Write over the file that is read.")


@dataclass(frozen=True, kw_only=True)
class Applying:
    output: Path = flag(
        dataclasses.MISSING, "Where to: .csv, .tsv, .parquet, .arrow or .feather.", "-o", metavar="FILE"
    )
    keep: list[str] | None = flag(None, "Columns to keep beside the selected ones.", metavar="COL,...")
    force: bool = flag(False, "Write over the file that is read.")
    quiet: bool = flag(False, "No messages.", "-q")


@dataclass(frozen=True, kw_only=True)
class Ranking:
    top: int = flag(30, "How many rows, 0 for all; --json prints all.", "-n", min=0)
    test: bool = flag(False, "Test which features could seem relevant by chance.")
    alpha: float = flag(0.05, "With --test: the false discovery rate.", min=0.0, max=1.0)
    permutations: int = flag(1000, "With --test: permutations at most.", min=1)
    seed: int = flag(0, "With --test: seed of the permutations.", min=0)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A picture to write beside what is printed."""

    plot: Path | None = flag(None, "Write a picture: .png, .svg or .pdf.", metavar="FILE")

    def __post_init__(self) -> None:
        if self.plot is None:
            return
        if self.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise BadInput(f"--plot {self.plot}: pictures are .png, .svg or .pdf")
        if find_spec("matplotlib") is None:
            raise ImportError("a picture needs matplotlib; install it with: pip install 'unirel[plot]'")


@dataclass(frozen=True, kw_only=True)
class Pairing(Drawing):
    """Which pairs are looked at, and how sure they must be."""

    columns: list[str] | None = flag(None, "Only pairs with at least one of these.", metavar="COL,...")
    top: int = flag(20, "How many pairs to print at most.", "-n", min=1)
    alpha: float = flag(0.05, "The false discovery rate.", min=0.0, max=1.0)
    permutations: int = _method(1000, "Permutations behind a p-value.", min=20)
    max_seconds: float | None = _method(None, "Time budget; the pairs seen by then are tested and printed.", min=0.0)
    seed: int = _method(0, "Seed of the permutations.", min=0)
    jobs: int = _method(-1, "Threads, -1 for one for each core.", "-j")


@dataclass(frozen=True, kw_only=True)
class Drifting(Drawing):
    """How two tables are compared."""

    top: int = flag(30, "How many rows, 0 for all; --json prints all.", "-n", min=0)
    alpha: float = flag(0.05, "The false discovery rate.", min=0.0, max=1.0)
    common_bins: bool = _method(False, "Cut numbers at the same values in both, so that a shift is a change too.")
    permutations: int | None = _method(None, "Permutations at most; enough for all features if not given.", min=1)
    seed: int = _method(0, "Seed of the permutations.", min=0)


# Neighbours of all rows are looked for more often in some commands than one wants to wait for.
_max_rows = partial(flag, words="Of more rows a sample of this size is taken, by class.", min=2)
_max_features = partial(flag, words="Features to select at most.", min=1)


@dataclass(frozen=True, kw_only=True)
class Splitting(Searching):
    """How features are selected and then split into unique, conditional and redundant ones."""

    estimator: str = _estimator(REDUNDANCY_ORDER["mi_estimator"])
    beta: float = _beta(REDUNDANCY_ORDER["beta"])
    unique_relevance: str = _unique_relevance(REDUNDANCY_ORDER["unique_relevance"])
    criterion: str = _criterion(REDUNDANCY_ORDER["criterion"])
    order: list[str] | None = flag(None, "The features to analyse, instead of selecting some.", metavar="COL,...")
    max_features: int = _max_features(REDUNDANCY_FEATURES)
    tolerance: float = flag(0.0, "What counts as no loss, in nats.", min=0.0)
    max_rows: int = _max_rows(2000)


@dataclass(frozen=True, kw_only=True)
class Comparing(Boosting):
    jobs: int = _method(1, "Processes, -1 for one for each core; they take seconds to start.", "-j")
    with_: str | None = flag(
        None,
        "What to compare the selection with: kbest, lasso, forest, rfe, lightgbm or criteria; the first three if not "
        "given.",
        metavar="NAME,...",
    )
    criteria: str = flag("", "Criteria to compare, plain and boosted, instead of the selection.", metavar="NAME,...")
    models: str = flag(
        "knn,svm", "Of logistic, rf, knn and svm; for a target of numbers regressors.", metavar="NAME,..."
    )
    splits: int = flag(10, "Random splits into 60 / 20 / 20 % of the rows.", min=1)
    max_features: int = _max_features(20)
    plot: Path | None = flag(None, "Draw the scores for every number of features.", metavar="FILE.png|.svg|.pdf")
    seed: int = flag(0, "Seed of the splits and of a sample.", min=0)
    max_rows: int = _max_rows(1200)


def make_settings(options: Boosting, names: Sequence[str], **parameters: Any) -> "SearchSettings":
    """What a search is asked for by the flags, for a table with these columns; `parameters` are others of it."""
    from unirel.search.greedy import SearchSettings

    given: dict[str, Any] = {
        "beta": 0.0 if options.unique_relevance == "none" else options.beta,
        "unique_relevance": options.boost(),
        "mi_estimator": options.mi_estimator("binned"),
        "max_candidates": None if options.max_candidates == "all" else as_number(options.max_candidates),
        "n_jobs": options.jobs,
    }
    if isinstance(options, Selecting):
        from unirel.cli.columns import find_costs, find_groups

        groups = find_groups(options.group, names)
        names = [*names, *groups]
        given |= {"groups": groups or None, "costs": find_costs(options.cost, options.budget, names)}
        given |= {"n_features_to_select": as_number(options.n_features)}
        given |= {"alpha": options.alpha, "max_seconds": options.max_seconds}
    if isinstance(options, Searching):
        given |= {name: find_names(getattr(options, name), names, f"--{name}") for name in ("include", "exclude")}
        given |= {"criterion": options.criterion, "random_state": options.seed}
    return SearchSettings(**{**given, **parameters})


def find_names(values: Sequence[str] | None, names: Sequence[str], flag: str) -> list[str]:
    """Names of columns that are there, each once, of those or of patterns of them that were given with a flag."""
    known, found = dict.fromkeys(names), list[str]()
    for name in split_names(values, known):
        if name in known or (is_type(name) and flag in _FORCED):
            found.append(name)
        elif not is_pattern(name, names):
            raise BadInput(f"{flag}: there is no column {name!r}; {suggest(name, names)}")
        else:
            try:
                matched = matching(name, names)
            except ValueError as error:
                raise BadInput(f"{flag}: {error}") from None
            found += [name] if flag in _FORCED else matched
    return list(dict.fromkeys(found))


def split_names(values: Sequence[str] | None, known: Collection[str] = ()) -> list[str]:
    """Names given one by one or with commas between them, each once; a known name may have commas itself."""
    found: list[str] = []
    for value in values or ():
        found += [value] if value in known else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(found))


def suggest(name: str, names: Sequence[str]) -> str:
    """What a name that is not there may have been meant to be."""
    close = difflib.get_close_matches(name, names) or [other for other in names if other.lower() == name.lower()]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"the columns are {listed(names, 10)}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def with_flags(*examples: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function that typer understands: each parameter that is a group becomes the flags of its fields."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(command).parameters.values()
        groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
        parameters = [flag for one in own for flag in (_flags_of(one.annotation) if one.name in groups else [one])]

        @wraps(command)
        def run(**given: Any) -> int:
            for name, group in groups.items():
                given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
            return command(**given)

        run.__signature__ = inspect.Signature(sorted(parameters, key=_place))  # type: ignore[attr-defined]
        run.examples = "\n\n".join(("Examples:", *examples))  # type: ignore[attr-defined]
        return run

    return decorate


def _flags_of(group: Any) -> Iterator[inspect.Parameter]:
    for one, parameter in zip(fields(group), inspect.signature(group).parameters.values(), strict=True):
        option = one.metadata["option"]("--" + one.name.rstrip("_").replace("_", "-"))  # `with` is a word of Python
        yield parameter.replace(annotation=Annotated[parameter.annotation, option])


def _place(parameter: inspect.Parameter) -> tuple[int, int]:
    """Where a flag stands in the help."""
    about = getattr(parameter.annotation, "__metadata__", [None])[0]
    panel = getattr(about, "rich_help_panel", FIRST)
    return (FIRST, DATA, METHOD, OUTPUT).index(panel), (*_ORDER, parameter.name).index(parameter.name)
