"""Every option of the library, declared once: its type, its default, what it means and how it is checked.

A group of options is a `TypedDict`, so that a public function takes ``**options: Unpack[Group]`` and editors and type
checkers know every name. `complete` refuses a misspelt name, checks values and fills in defaults; what it returns is
what the library passes on. Docstrings, flags of the command line and the settings in a report come from here too.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, cast, get_type_hints

from unirel._runtime import Progress
from unirel.criteria import CRITERIA
from unirel.estimation import ESTIMATORS

Kind = Literal["continuous", "discrete", "ignored"]
Kinds = Kind | Mapping[Any, Kind]
TargetKind = Literal["auto", "discrete", "continuous"]
Scale = Literal["standard", "rank"] | None
Missing = Literal["level", "error"]
Metric = Literal["auto", "chebyshev", "manhattan", "euclidean"]
Binning = Literal["frequency", "width", "mdl"]
Correction = Literal["chance", "miller-madow"] | None
Shrinkage = float | Literal["auto"]
ColumnNames = Sequence[int | str]

BINNINGS = ("frequency", "width", "mdl")
UNIQUE_METHODS = ("ksg", "reference", "classifier", "gaussian")
# Kinds of unique relevance that a search can boost.
BOOSTS = ("both", "reference", "selected", "ksg", "classifier")
CLASSIFIER_NAMES = ("logistic", "rf", "knn", "svm")
# More rows than fit anywhere, fewer than compiled code can count.
_MOST_ROWS = 10**15
# What `n_features_to_select` means by default, where there are that many features.
DEFAULT_N_FEATURES = 10


def check_choice(parameter: str, value: Any, allowed: Iterable[str | None]) -> None:
    """Refuse a value that is not one of a few names."""
    allowed = tuple(allowed)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, allowed))}")


def check_whole_number(
    parameter: str, value: Any, lowest: int, or_name: str = "", highest: float = float("inf")
) -> int:
    """Refuse what is not a whole number from `lowest` on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not lowest <= int(value) <= highest:
        other = f"{or_name!r} or " if or_name else ""
        until = f"to {highest:,}" if isinstance(value, Integral) and int(value) > highest else "on"
        raise ValueError(f"{parameter}={value!r} must be {other}a whole number from {lowest} {until}")
    return int(value)


def check_beta(value: Any, parameter: str = "beta") -> float:
    """Refuse a weight of unique relevance outside 0..1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(
            f"{parameter}={value!r} is out of range; it must be from 0 (no boost) to 1 (unique relevance alone)"
        )
    return float(value)


def _one_of(*allowed: str | None) -> Callable[[str, Any], None]:
    return lambda parameter, value: check_choice(parameter, value, allowed)


def _count_or(name: str, lowest: int) -> Callable[[str, Any], None]:
    def check(parameter: str, value: Any) -> None:
        if not (isinstance(value, str) and value == name):
            check_whole_number(parameter, value, lowest, or_name=name)

    return check


def _none_or(check: Callable[[str, Any], Any]) -> Callable[[str, Any], None]:
    return lambda parameter, value: None if value is None else check(parameter, value)


def _count_from(lowest: int) -> Callable[[str, Any], int]:
    return lambda parameter, value: check_whole_number(parameter, value, lowest)


def _check_seconds(parameter: str, value: Any) -> None:
    if value is not None and (not isinstance(value, Real) or not float(value) >= 0):
        raise ValueError(f"{parameter}={value!r} must be None or a number from 0 on")


def _check_shrinkage(parameter: str, value: Any) -> None:
    is_number = isinstance(value, Real) and 0 <= float(value) < float("inf")
    if not is_number and not (isinstance(value, str) and value == "auto"):
        raise ValueError(f"{parameter}={value!r} must be 'auto' or a number from 0 on")


def _check_alpha(parameter: str, value: Any) -> None:
    if not isinstance(value, Real) or not 0.0001 <= float(value) < 1:
        raise ValueError(f"{parameter}={value!r} must be a chance from 0.0001 to below 1, for example 0.05")


def _check_binning(parameter: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        check_choice(parameter, value, BINNINGS)


def _check_method(parameter: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(parameter, value, BOOSTS)


def _anything(parameter: str, value: Any) -> None:
    """What cannot be judged without the table or the estimator is checked where they are known."""


class Option(NamedTuple):
    """What is known of an option beside its type."""

    default: Any
    kind: str  # what it can be, as a docstring says it
    meaning: str  # in a sentence or two
    check: Callable[[str, Any], Any] = _anything  # refuses a wrong value, given the name of the option and the value
    flags: tuple[str, ...] = ()  # what it is called on the command line; empty if it is not there
    choices: tuple[str, ...] = ()  # the names it can have, if those are all it can be on the command line


class ReadingOptions(TypedDict, total=False):
    """How a table is read."""

    kinds: Annotated[
        Kinds | None,
        Option(
            None,
            '{"continuous", "discrete", "ignored"} or mapping, optional',
            "Kinds of columns, where the decision made from the data is not wanted: continuous, discrete or ignored.",
            flags=("--kinds",),
        ),
    ]
    target_kind: Annotated[
        TargetKind,
        Option(
            "auto",
            '{"auto", "discrete", "continuous"}',
            'Whether the target is a class label; "auto" decides from its type and values.',
            _one_of("auto", "discrete", "continuous"),
            ("--target-kind",),
            ("auto", "discrete", "continuous"),
        ),
    ]
    scale: Annotated[
        Scale,
        Option(
            "standard",
            '{"standard", "rank", None}',
            "Divide continuous columns by their standard deviation, or use their ranks, or leave them alone.",
            _one_of("standard", "rank", None),
        ),
    ]
    missing: Annotated[
        Missing,
        Option(
            "level",
            '{"level", "error"}',
            "Treat a missing value as a level of its own, or refuse it.",
            _one_of("level", "error"),
        ),
    ]


class WorkOptions(TypedDict, total=False):
    """How much of the machine is used."""

    n_jobs: Annotated[
        int | None,
        Option(
            None,
            "int, optional",
            "Threads, as in scikit-learn: -1 for one for each core. The result does not depend on them.",
            flags=("--jobs", "-j"),
        ),
    ]


class ShrinkageOptions(TypedDict, total=False):
    """How covariances are regularised; a search leaves that to the estimator."""

    shrinkage: Annotated[
        Shrinkage,
        Option(
            "auto",
            'float or "auto"',
            'Ridge on the features, which have unit variance ("gaussian"). "auto" is 0, but for what a feature adds to '
            "all others, with fewer than three rows for each, it is that of Ledoit and Wolf.",
            _check_shrinkage,
        ),
    ]


class SearchEstimationOptions(WorkOptions, total=False):
    """How information is estimated in a search."""

    estimator: Annotated[
        str,
        Option(
            "auto",
            "{" + ", ".join(f'"{name}"' for name in ("auto", *ESTIMATORS)) + "}",
            "Nearest neighbours, frequencies of discrete columns, frequencies after binning, correlations of normal "
            "scores and categories, an adaptive partition, kernel densities, or the bound of a neural network; "
            '"auto" is "binned" for a selection and "knn" for a measure.',
            _one_of("auto", *ESTIMATORS),
            ("--estimator",),
            ("auto", *ESTIMATORS),
        ),
    ]
    n_neighbors: Annotated[
        int,
        Option(
            3,
            "int",
            'Neighbours that span a ball ("knn").',
            lambda parameter, value: check_whole_number(parameter, value, 1, highest=_MOST_ROWS),
            ("--neighbors",),
        ),
    ]
    metric: Annotated[
        Metric,
        Option(
            "auto",
            '{"auto", "chebyshev", "manhattan", "euclidean"}',
            'Distance in blocks of columns when the target is discrete ("knn").',
            _one_of("auto", "chebyshev", "manhattan", "euclidean"),
            ("--metric",),
            ("auto", "chebyshev", "manhattan", "euclidean"),
        ),
    ]
    n_bins: Annotated[
        int | Literal["auto"],
        Option(
            "auto",
            'int or "auto"',
            'Bins of a continuous column ("binned"). "auto" is 8 for class labels and, for a continuous target, which '
            "is cut as well, the fourth root of the number of rows, from 3 to 20.",
            _count_or("auto", 2),
        ),
    ]
    binning: Annotated[
        Binning | Mapping[Any, Any],
        Option(
            "frequency",
            '{"frequency", "width", "mdl"} or mapping from columns to edges',
            "Bins of equal frequency, of equal width, or, for class labels, of minimum description length, which finds "
            'their number itself ("binned"). Edges that are given are used for their columns, frequency for others.',
            _check_binning,
        ),
    ]
    correction: Annotated[
        Correction,
        Option(
            "chance",
            '{"chance", "miller-madow", None}',
            "What is taken off counted information because columns of many levels seem to tell more: what the same "
            "levels tell on average over all orders of the rows, or what Miller and Madow estimate, or nothing.",
            _one_of("chance", "miller-madow", None),
        ),
    ]
    scratch: Annotated[
        str | None,
        Option(
            None,
            "path, optional",
            "Folder for the codes of a table in parts, on every worker if it is on a cluster; they are deleted in the "
            "end. That of temporary files if it is not given.",
            flags=("--scratch",),
        ),
    ]


class EstimationOptions(SearchEstimationOptions, ShrinkageOptions, total=False):
    """How information is estimated."""


class MeasureOptions(ReadingOptions, EstimationOptions, total=False):
    """How a table is read, and how information is estimated from it."""


class ClassifierOptions(TypedDict, total=False):
    """What is trained where unique relevance comes from a classifier."""

    classifier: Annotated[
        Any,
        Option(
            None,
            '{"logistic", "rf", "knn", "svm"} or scikit-learn estimator, optional',
            'What to train for ``unique_relevance="classifier"``; "logistic" if None.',
            flags=("--classifier",),
            choices=CLASSIFIER_NAMES,
        ),
    ]
    cv: Annotated[
        Any,
        Option(
            5,
            'int, splitter or "train"',
            "How the cross-entropy of that classifier is taken: out of fold, or on the training rows.",
        ),
    ]


class ProgressOptions(TypedDict, total=False):
    """Whether somebody watches."""

    progress: Annotated[
        Progress | None,
        Option(None, "callable, optional", "Called as ``progress(done, total)`` as the work goes on."),
    ]
    verbose: Annotated[bool, Option(False, "bool", "Show progress on standard error.")]


class RunOptions(WorkOptions, ProgressOptions, total=False):
    """How long work is shared out and watched."""


class SignificanceOptions(MeasureOptions, ProgressOptions, total=False):
    """How it is tested whether columns tell anything."""

    n_permutations: Annotated[
        int,
        Option(
            1000,
            "int",
            "Permutations at most; no p-value is below one in that many.",
            _count_from(1),
        ),
    ]
    stop_after: Annotated[
        int | None,
        Option(
            20,
            "int, optional",
            "A column is settled once that many permutations tell at least as much as the data; None for never.",
            _none_or(_count_from(1)),
        ),
    ]
    adjust: Annotated[
        Literal["fdr", "family"],
        Option(
            "fdr",
            '{"fdr", "family"}',
            "What adjusted values bound: the expected share of false alarms among all that are called significant, or "
            "the chance of any false alarm, from the maximum over all columns, for which no column can stop early.",
            _one_of("fdr", "family"),
        ),
    ]
    random_state: Annotated[
        int | None, Option(0, "int, optional", "Seed of the permutations.", _none_or(_count_from(0)))
    ]


class SearchOptions(ReadingOptions, SearchEstimationOptions, ClassifierOptions, ProgressOptions, total=False):
    """How features are searched, however many."""

    unique_relevance: Annotated[
        Any,
        Option(
            "both",
            '{"both", "reference", "selected", "ksg", "classifier"} or array of shape (n_features,)',
            "What a feature tells that others do not: beside the first 20 features that the same criterion selects "
            'without boost ("reference"), beside those selected so far ("selected"), both of these (three parts to '
            "two; for a continuous target also by the Gaussian estimator, with 30 % of all weight at ``beta=0.5``), "
            'beside all others ("ksg", as published), by the loss of a classifier without it ("classifier"), or values '
            "of your own. The first three are brought to the spread of the criterion at every step.",
            _check_method,
            ("--unique-relevance", "-u"),
            (*BOOSTS, "none"),
        ),
    ]
    unique_samples: Annotated[
        int | None,
        Option(
            2000,
            "int, optional",
            "Rows from which the first three of these are estimated: a seeded sample, by class, where there are more; "
            "None for all rows, whose cost grows with their square.",
            _none_or(_count_from(10)),
            ("--unique-samples",),
        ),
    ]
    include: Annotated[
        ColumnNames,
        Option(
            (), "list of names or positions", "Features that are selected first, in this order.", flags=("--include",)
        ),
    ]
    exclude: Annotated[
        ColumnNames,
        Option((), "list of names or positions", "Features that are never selected.", flags=("--exclude",)),
    ]
    max_candidates: Annotated[
        int | Literal["auto"] | None,
        Option(
            "auto",
            'int, "auto" or None',
            "Search among the most relevant columns only, that many of them; None for all. With many columns and few "
            'rows noise wins maxima: "auto" is 300 where there are more than ten columns for each row, otherwise 5000.',
            _none_or(_count_or("auto", 1)),
            ("--max-candidates",),
        ),
    ]
    max_seconds: Annotated[
        float | None,
        Option(
            None,
            "float, optional",
            "Time budget; what has been selected by then is kept, and marked incomplete.",
            _check_seconds,
            ("--max-seconds",),
        ),
    ]
    random_state: Annotated[
        int | None,
        Option(
            0,
            "int, optional",
            'Seed of the permutations of "auto" and of the sample of rows; nothing else is random.',
            _none_or(_count_from(0)),
            ("--seed",),
        ),
    ]


class SelectionOptions(SearchOptions, total=False):
    """The parameters of `selection_path`."""

    n_features_to_select: Annotated[
        int | float | Literal["auto", "all"],
        Option(
            DEFAULT_N_FEATURES,
            'int, float, "auto" or "all"',
            "How many features, which share of them, as many as are seen to add something to those before them, or all "
            "of them in order. If there are fewer than the number, all are selected.",
            flags=("-k", "--n-features"),
        ),
    ]
    alpha: Annotated[
        float,
        Option(
            0.05,
            "float",
            'Chance that ``n_features_to_select="auto"`` selects anything where no feature tells anything about the '
            "target, and at every step that it goes on when nothing is left to add.",
            _check_alpha,
            ("--alpha",),
        ),
    ]


class SelectorOptions(SelectionOptions, total=False):
    """What a single selection needs: the parameters of `BURSelector`."""

    criterion: Annotated[
        Any,
        Option(
            "cmim",
            "{" + ", ".join(f'"{name}"' for name in CRITERIA) + "} or Criterion",
            "What to score candidates by.",
            flags=("--criterion", "-c"),
            choices=CRITERIA,
        ),
    ]
    beta: Annotated[
        float,
        Option(
            0.5,
            "float",
            "Weight of unique relevance, from 0 to 1; with 0 it is not computed at all.",
            lambda parameter, value: check_beta(value, parameter),
            ("--beta",),
        ),
    ]


# The estimates of the paper, on all rows and columns.
PUBLISHED: dict[str, Any] = {"estimator": "knn", "correction": None, "max_candidates": None, "unique_samples": None}

Group = TypeVar("Group", bound=Mapping[str, Any])
Documented = TypeVar("Documented")
# Options that change nothing about the result.
_SILENT = ("n_jobs", "progress", "scratch", "verbose")


@cache
def options_of(group: type) -> dict[str, Option]:
    """The options of a group, by name."""
    hints = get_type_hints(group, include_extras=True)
    return {name: next(part for part in hint.__metadata__ if isinstance(part, Option)) for name, hint in hints.items()}


def complete(group: type[Group], given: Mapping[str, Any], owner: str) -> Group:
    """What was given, checked, with defaults for the rest.

    `owner` is the function that was called: a name it does not know is an error that says which one may be meant.
    """
    known = options_of(group)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}=?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"{owner}() has no option {name}=; {hint}")
    values = {name: given.get(name, option.default) for name, option in known.items()}
    for name, option in known.items():
        option.check(name, values[name])
    return cast(Group, values)


def for_search(options: Group) -> Group:
    """The same options with what "auto" means to a search."""
    return cast(Group, {**options, "estimator": "binned"}) if options["estimator"] == "auto" else options


def part_of(group: type[Group], options: Mapping[str, Any]) -> Group:
    """Those of some options that belong to a group."""
    return cast(Group, {name: options[name] for name in options_of(group) if name in options})


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that decide the result, as plain values that JSON can hold."""
    return {name: _plain(name, value) for name, value in options.items() if name not in _SILENT}


def is_default(name: str, value: Any) -> bool:
    """Whether an option has the plain value that it has if nothing is said."""
    return bool(_plain(name, options_of(SelectorOptions)[name].default) == value)


def _plain(name: str, value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if name == "unique_relevance" and not isinstance(value, str):
        return "given values"
    if isinstance(value, Mapping):
        return {str(key): _plain(name, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain("", one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else repr(value)


# What docstrings of several functions say of the same parameters.
_DATA = (
    ("X : array or frame of shape (n_samples, n_features)", "The features, in any form that `Table.from_data` reads."),
    ("y : array or series of shape (n_samples,)", "The target: class labels of any type, or numbers."),
)
_GIVEN = (
    (
        "given : name, position or list of them, or array or frame of shape (n_samples, n_conditions)",
        "What is known: a list names columns of `X`, an array or frame holds columns with the same rows.",
    ),
)


def documented(group: type, *, without: Sequence[str] = ()) -> Callable[[Documented], Documented]:
    """Write the options of a group into a docstring, in the place of a line that says ``{options}``.

    Lines that say ``{data}`` and ``{given}`` are replaced by what every function says of `X` and `y`, and of `given`.
    """

    def document(target: Documented) -> Documented:
        if target.__doc__ is not None:  # as with python -OO
            target.__doc__ = "\n".join(map(_expand, target.__doc__.splitlines()))
        return target

    def _expand(line: str) -> str:
        indent, marker = line[: len(line) - len(line.lstrip())], line.strip()
        entries = {"{data}": _DATA, "{given}": _GIVEN, "{options}": _entries_of(group, without)}.get(marker)
        return line if entries is None else "\n".join(f"{indent}{head}\n{indent}    {text}" for head, text in entries)

    return document


def _entries_of(group: type, without: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The options of a group as a docstring has them."""
    kept = {name: option for name, option in options_of(group).items() if name not in without}
    defaults = {
        name: "" if option.default is None else f", default={option.default!r}" for name, option in kept.items()
    }
    return tuple((f"{name} : {option.kind}{defaults[name]}", option.meaning) for name, option in kept.items())
