"""How a command gets its flags: those of the library's options are made from their one declaration.

A command is a function. Parameters whose type is a dataclass stand for the flags that its fields are, ``**options`` for
the flags of a group of the library's options, and every other parameter is a flag of its own.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum, StrEnum
from functools import wraps
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_args, get_origin, get_type_hints

import typer

from unirel.cli.messages import in_flags
from unirel.cli.naming import find_kinds, find_names
from unirel.options import ColumnNames, Kinds, Option, ReadingOptions, SelectorOptions, options_of

# Panels of the help: flags that most people use stand first, under no heading of their own.
FIRST = None
DATA, METHOD, OUTPUT = "More about the data", "More about the method", "More about the output"
_ORDER = ("target", "n_features_to_select", "report", "save", "as_json")
# Defaults that are not those of the library: a command has the machine for itself, and somebody waits for it.
_DEFAULTS = {"n_jobs": -1}


def flag(panel: str | None, words: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    """A flag of a command itself."""
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=panel, **more)


class _NoOptions(TypedDict):
    """The group of a command that takes none of the library's options."""


def takes(
    group: type = _NoOptions, *, without: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command its flags.

    Parameters
    ----------
    group : type
        Options of the library that the command gets by their names, as ``**options``; `read_options` makes of them what
        the library takes, once the columns are known.
    without : collection of str
        Options of the group that the command does not have.
    **defaults
        Defaults that differ from those of the library.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                parameters += _flags_of(group, without, defaults)
            elif is_dataclass(hints[parameter.name]):
                parameters += _flags_of_fields(hints[parameter.name])
            else:
                parameters.append(_keyword(parameter.name, hints[parameter.name], parameter.default))

        @wraps(command)
        def run(**given: Any) -> int:
            plain = {name: value.value if isinstance(value, Enum) else value for name, value in given.items()}
            parts = {name: _build(hint, plain) for name, hint in hints.items() if is_dataclass(hint)}
            return command(**parts, **plain)

        run.__signature__ = inspect.Signature(sorted(parameters, key=_panel))  # type: ignore[attr-defined]
        return run

    return decorate


def read_options(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """What was given on the command line as the library takes it, for a table with these columns."""
    hints, known = get_type_hints(SelectorOptions), options_of(SelectorOptions)
    read = {
        name: _form(name, known[name], hints[name]).read(value, names, known[name].flags[0])
        for name, value in options.items()
    }
    if read.get("unique_relevance") == "none":
        del read["unique_relevance"]
        read["beta"] = 0.0
    return read


def _panel(parameter: inspect.Parameter) -> tuple[int, int]:
    """Where a flag stands in the help."""
    panel = parameter.annotation.__metadata__[0].rich_help_panel
    place = _ORDER.index(parameter.name) if parameter.name in _ORDER else len(_ORDER)
    return (FIRST, DATA, METHOD, OUTPUT).index(panel), place


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flags_of_fields(group: Any) -> Iterator[inspect.Parameter]:
    """One flag for each field of a dataclass, and for those of its parts."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hints[field.name]):
            yield from _flags_of_fields(hints[field.name])
        else:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield _keyword(field.name, hints[field.name], default)


def _build(group: Any, given: dict[str, Any]) -> Any:
    """An instance of a dataclass from the flags of its fields, which are taken out."""
    hints = get_type_hints(group)
    names = [field.name for field in fields(group)]
    return group(**{n: _build(hints[n], given) if is_dataclass(hints[n]) else given.pop(n) for n in names})


def _flags_of(group: type, without: Collection[str], defaults: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """One flag for each option of the library that is called something on the command line."""
    hints = get_type_hints(group)
    # What is declared last concerns the selection as a whole, and is asked for first.
    for name, option in reversed(options_of(group).items()):
        if option.flags and name not in without:
            panel: str | None = DATA if name in options_of(ReadingOptions) else METHOD
            panel = panel if name in options_of(SelectorOptions) else OUTPUT
            panel = FIRST if name in _ORDER else panel
            form, check = _form(name, option, hints[name]), None if option.choices else _checking(name, option)
            own = flag(
                panel,
                _help(option.meaning),
                *option.flags,
                metavar=form.metavar,
                callback=check,
                case_sensitive=not option.choices,
            )
            default = {**_DEFAULTS, **defaults}.get(name, option.default)
            shown = None if default is None or default == () else form.type(default) if form.type else default
            yield _keyword(name, Annotated[form.annotation, own], shown)


def _help(meaning: str) -> str:
    """The meaning of an option in the words of the command line."""
    for mark, words in (("``", ""), ("if None", "if not given")):
        meaning = meaning.replace(mark, words)
    return in_flags(meaning).replace('"', "")


def _checking(name: str, option: Option) -> Callable[[Any], Any]:
    """A callback that refuses what the library would refuse, before anything is read."""

    def check(value: Any) -> Any:
        try:
            option.check(name, _number(value) if isinstance(value, str) else value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    return check


class _Form(NamedTuple):
    """How an option is written on the command line."""

    annotation: Any  # what typer makes of the text
    read: Callable[[Any, Sequence[str], str], Any]  # and what the library gets: from value, columns and flag
    metavar: str | None = None
    type: Callable[[Any], Any] | None = None  # makes a default of that type


def _form(name: str, option: Option, hint: Any) -> _Form:
    """Decide from the type of an option, or from its choices, how it is written."""
    if option.choices:
        choices = StrEnum(name, {choice: choice for choice in option.choices})  # type: ignore[misc]
        return _Form(choices if option.default is not None else choices | None, _as_it_is, None, choices)
    if hint == ColumnNames:
        return _Form(list[str] | None, find_names, "COL,...")
    if hint == Kinds | None:
        return _Form(list[str] | None, lambda *given: find_kinds(*given) or None, "COL=KIND,...")
    literals = [text for part in get_args(hint) if get_origin(part) is Literal for text in get_args(part)]
    if literals:
        numbers = [sample for kind, sample in ((int, "20"), (float, "0.2")) if kind in get_args(hint)]
        return _Form(str, lambda text, *_: _number(text), "|".join([*numbers, *literals]), str)
    return _Form(hint, _as_it_is)


def _as_it_is(value: Any, *_: Any) -> Any:
    return value


def _number(text: str) -> int | float | str:
    """A number if it is one; what else it can be, the library knows."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
