"""The flags that commands share, in groups: a parameter of a command that is a group stands for all of its flags."""

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from unirel.cli import BadInput
from unirel.criteria import CRITERIA
from unirel.estimation import ESTIMATORS

if TYPE_CHECKING:
    from unirel import BURSelector

# Panels of the help: flags that most people use stand first, under no heading of their own.
FIRST = None
DATA, METHOD, OUTPUT = "More about the data", "More about the method", "More about the output"
_ORDER = ("target", "n_features", "report", "save", "as_json")
METRICS = ("auto", "chebyshev", "manhattan", "euclidean")
BOOSTS = ("both", "reference", "selected", "ksg", "classifier", "none")
CLASSIFIERS = ("logistic", "rf", "knn", "svm")
# What the library calls its parameters in messages, and the flags that set them where these are called otherwise.
_FLAGS = {
    "n_features_to_select": "-k",
    "n_neighbors": "--neighbors",
    "target_kind": "--target-type",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_permutations": "--permutations",
}
_SAME = (
    "criterion|beta|unique_relevance|unique_samples|estimator|metric|classifier|include|exclude|max_candidates|"
    "max_seconds|alpha|accuracy|stability"
)
_PHRASES: tuple[tuple[str, Any], ...] = (
    (r"to use a column all the same, pass kinds=\{'(.*?)': '(\w+)'\}", r"to use a column all the same: --\2 '\1'"),
    (r"to leave a column out, pass kinds=\{'(.*?)': 'ignored'\}", r"to leave a column out: --drop '\1'"),
    (r"give it a kind with kinds=", "use it all the same with --discrete or --continuous"),
    (r"; drop those rows from X and y", "; --drop-missing-target drops those rows"),
    (
        rf"\b({'|'.join(_FLAGS)}|{_SAME})=(?:['\"](\w+)['\"])?",
        lambda found: f"{_FLAGS.get(found[1], '--' + found[1].replace('_', '-'))} {found[2] or ''}",
    ),
)


class Stopped(Exception):
    """Carries what the parser would handle in its own way: Ctrl-C, and a reader of the output who has seen enough."""


def flag(
    default: Any, names: str, words: str, *, panel: str | None = None, among: Collection[str] = (), **more: Any
) -> Any:
    """A field of a group that is a flag; `names` has blanks between them, `among` are the values that it can have."""
    if among:
        more |= {"metavar": "|".join(among), "callback": _checking(among), "autocompletion": lambda: list(among)}
    option = typer.Option(*names.split(), help=words, rich_help_panel=panel, **more)
    return dataclasses.field(default=default, metadata={"option": option})


def _checking(among: Collection[str]) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        if value is not None and value.lower() not in among:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, among))}.")
        return value and value.lower()

    return check


@dataclass(frozen=True, kw_only=True)
class File:
    """Where a table is, and how a text file is written; None is found out."""

    data: str = dataclasses.field(
        metadata={
            "option": typer.Argument(
                metavar="DATA",
                show_default=False,
                help="A CSV, TSV, Parquet or Arrow file, compressed or not; - for standard input; a pattern in quotes "
                "for Parquet or Arrow files that are read in parts; or the name of a dataset.",
            )
        }
    )
    delimiter: str | None = flag(
        None, "--delimiter", "Field separator; found if not given.", panel=DATA, metavar="CHAR"
    )
    decimal: str | None = flag(
        None, "--decimal", "Decimal mark, . or , ; found if not given.", panel=DATA, metavar="CHAR"
    )
    encoding: str = flag("utf-8", "--encoding", "Encoding of text.", panel=DATA, metavar="NAME")
    any_size: bool = flag(False, "--any-size", "Read a compressed file however large it becomes.", panel=DATA)

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


_COLUMNS = {"panel": DATA, "metavar": "COL,..."}


@dataclass(frozen=True, kw_only=True)
class Data(File):
    """A table, which column of it is to be explained, and what the others are."""

    target: str | None = flag(
        None, "--target -t", "The column to explain. Needed for files; datasets know theirs.", metavar="COL"
    )
    target_type: str = flag(
        "auto", "--target-type", "What the target is.", panel=DATA, among=("auto", "discrete", "continuous")
    )
    drop: list[str] | None = flag(None, "--drop", "Columns to leave out altogether.", **_COLUMNS)
    discrete: list[str] | None = flag(None, "--discrete", "Columns whose values are categories.", **_COLUMNS)
    continuous: list[str] | None = flag(None, "--continuous", "Columns whose values are numbers.", **_COLUMNS)
    drop_missing_target: bool = flag(False, "--drop-missing-target", "Leave out rows without a target.", panel=DATA)
    scheduler: str | None = flag(
        None,
        "--scheduler",
        "A running Dask cluster that reads the files of a pattern.",
        panel=DATA,
        metavar="tcp://HOST:PORT",
    )

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        """Kinds of columns that were given."""
        given = {"discrete": self.discrete, "continuous": self.continuous}
        return {name: kind for kind in given for name in find_names(given[kind], names, f"--{kind}")}


@dataclass(frozen=True, kw_only=True)
class Estimation:
    """How information is estimated."""

    estimator: str = flag(
        "auto",
        "--estimator",
        "How information is estimated; auto is binned for a selection and knn for a measure.",
        panel=METHOD,
        among=("auto", *ESTIMATORS),
    )
    neighbors: int = flag(3, "--neighbors", "Neighbours that span a ball, for knn.", panel=METHOD, min=1)
    metric: str = flag("auto", "--metric", "Distance in several columns, for knn.", panel=METHOD, among=METRICS)
    jobs: int = flag(-1, "--jobs -j", "Threads, -1 for one for each core.", panel=METHOD)

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise BadInput("--jobs 0 means no worker at all; pass 1 for one, or -1 for one for each core")


@dataclass(frozen=True, kw_only=True)
class Boosting(Estimation):
    """How unique relevance is estimated and weighed."""

    beta: float = flag(
        0.5, "--beta", "Weight of unique relevance; with 0 it is not computed.", panel=METHOD, min=0.0, max=1.0
    )
    unique_relevance: str = flag(
        "both",
        "--unique-relevance -u",
        "Given what a feature must be relevant: reference features, the selected ones, both, all others (ksg); or by "
        "the loss of a classifier without it.",
        panel=METHOD,
        among=BOOSTS,
    )
    unique_samples: int = flag(
        2000, "--unique-samples", "Rows from which the first three of these are estimated.", panel=METHOD, min=10
    )
    classifier: str | None = flag(
        None, "--classifier", "What to train for --unique-relevance classifier.", panel=METHOD, among=CLASSIFIERS
    )
    max_candidates: str = flag(
        "auto",
        "--max-candidates",
        "Search among that many of the most relevant columns only; auto is 300 where there are more than ten columns "
        "for each row, otherwise 5000.",
        panel=METHOD,
        metavar="N|auto|all",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classifier is not None and self.unique_relevance != "classifier":
            raise BadInput("--classifier goes with --unique-relevance classifier")


@dataclass(frozen=True, kw_only=True)
class Searching(Boosting):
    """How features are searched, however many."""

    criterion: str = flag("cmim", "--criterion -c", "What to score candidates by.", panel=METHOD, among=CRITERIA)
    include: list[str] | None = flag(
        None, "--include", "Features that are selected first.", panel=METHOD, metavar="COL,..."
    )
    exclude: list[str] | None = flag(
        None, "--exclude", "Features that are never selected.", panel=METHOD, metavar="COL,..."
    )
    seed: int = flag(0, "--seed", "Seed of permutations and of samples of rows.", panel=METHOD, min=0)


@dataclass(frozen=True, kw_only=True)
class Selecting(Searching):
    """How a selection is made: all of the selector's parameters."""

    n_features: str = flag(
        "10",
        "--n-features -k",
        "How many features, which share of them, all in order, or as many as are seen to add something.",
        metavar="20|0.2|auto|all",
    )
    alpha: float = flag(
        0.05,
        "--alpha",
        "With -k auto: chance to select anything where nothing is relevant.",
        panel=METHOD,
        min=0.0,
        max=1.0,
    )
    max_seconds: float | None = flag(
        None,
        "--max-seconds",
        "Time budget; what is selected by then is printed, marked incomplete.",
        panel=METHOD,
        min=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How a result is printed, and whether anything is said beside it."""

    as_json: bool = flag(False, "--json", "Print JSON for programs.")
    as_csv: bool = flag(False, "--csv", "Print the table as CSV.", panel=OUTPUT)
    quiet: bool = flag(False, "--quiet -q", "No messages and no progress.", panel=OUTPUT)

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise BadInput("--json and --csv are two ways to print; choose one")


def make_selector(
    options: Boosting, names: Sequence[str], kinds: dict[Any, str], target_type: str = "auto", **more: Any
) -> "BURSelector":
    """The selector that the flags describe, for a table with these columns; `more` are other parameters of it."""
    from unirel import BURSelector

    given: dict[str, Any] = {
        **{name: getattr(options, name) for name in ("beta", "unique_relevance", "unique_samples", "classifier")},
        "estimator": options.estimator,
        "n_neighbors": options.neighbors,
        "metric": options.metric,
        "max_candidates": None if options.max_candidates == "all" else _number(options.max_candidates),
        "kinds": kinds or None,
        "target_kind": target_type,
        "n_jobs": options.jobs,
    }
    if options.unique_relevance == "none":
        given |= {"unique_relevance": "both", "beta": 0.0}
    if isinstance(options, Searching):
        given |= {name: find_names(getattr(options, name), names, f"--{name}") for name in ("include", "exclude")}
        given |= {"criterion": options.criterion, "random_state": options.seed}
    if isinstance(options, Selecting):
        given |= {"n_features_to_select": _number(options.n_features)}
        given |= {"alpha": options.alpha, "max_seconds": options.max_seconds}
    return BURSelector(**{**given, **more})


def _number(text: str) -> int | float | str:
    """A number if it is one; what else it can be, the library knows."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def find_names(values: Sequence[str] | None, names: Sequence[str], flag: str) -> list[str]:
    """Names of columns that are there, each once, of those that were given with a flag."""
    known = dict.fromkeys(names)
    for name in (found := split_names(values, known)):
        if name not in known:
            raise BadInput(f"{flag}: there is no column {name!r}; {suggest(name, names)}")
    return found


def split_names(values: Sequence[str] | None, known: Collection[str] = ()) -> list[str]:
    """Names given one by one or with commas between them, each once; a known name may have commas itself."""
    found: list[str] = []
    for value in values or ():
        found += [value] if value in known else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(found))


def suggest(name: str, names: Sequence[str], what: str = "columns") -> str:
    """What a name that is not there may have been meant to be."""
    close = difflib.get_close_matches(name, names) or [other for other in names if other.lower() == name.lower()]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"the {what} are {listed(names, 10)}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def in_flags(text: str) -> str:
    """A text with flags where the library names its parameters."""
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return text.strip()


def with_flags(command: Callable[..., int]) -> Callable[..., int]:
    """A function that typer understands: each parameter that is a group becomes the flags of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group, hint = groups.get(parameter.name), hints[parameter.name]
        parameters += _flags_of(group) if group else [_keyword(parameter.name, hint, parameter.default)]

    @wraps(command)
    def run(**given: Any) -> int:
        built = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)}) for name, group in groups.items()
        }
        try:
            return command(**built, **given)
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise Stopped from error

    run.__signature__ = inspect.Signature(sorted(parameters, key=_place))  # type: ignore[attr-defined]
    return run


def _flags_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group)
    for one in fields(group):
        default = inspect.Parameter.empty if one.default is dataclasses.MISSING else one.default
        yield _keyword(one.name, Annotated[hints[one.name], one.metadata["option"]], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _place(parameter: inspect.Parameter) -> tuple[int, int]:
    """Where a flag stands in the help."""
    about = getattr(parameter.annotation, "__metadata__", [None])[0]
    panel = getattr(about, "rich_help_panel", FIRST)
    return (FIRST, DATA, METHOD, OUTPUT).index(panel), (*_ORDER, parameter.name).index(parameter.name)
