"""Replays of published experiments, one per file, each beside the published numbers in `expected`.

A replay is a file of the name it has in `EXPERIMENTS`, with a function `compute`. ``unirel reproduce NAME`` and
``python -m unirel.experiments NAME`` run it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from unirel._runtime import Progress
    from unirel.experiments.tables import ReplayTables
    from unirel.experiments.verified import Verified


class Experiment(NamedTuple):
    """What a replay is about, and what it takes beside a preset, a folder with data, workers and progress."""

    about: str
    options: tuple[str, ...] = ()


EXPERIMENTS = {
    "accuracy_clf": Experiment(
        "Accuracy of criteria boosted by a classifier's unique relevance, and of three wrappers, beside the paper's.",
        ("journal", "datasets", "classifiers", "n_runs", "tables_only"),
    ),
    "accuracy_ksg": Experiment(
        "Accuracy of five criteria with and without the boost, by three classifiers on six datasets, "
        "beside the paper's.",
        ("journal", "datasets", "classifiers", "n_runs", "tables_only"),
    ),
    "dataset_table": Experiment(
        "The six datasets and the share of their features that have unique relevance, beside the paper's."
    ),
    "genes": Experiment(
        "Two genes of Colon that the boost should find, and the ranks of the genes that the paper names.",
        ("journal", "classifiers", "n_runs"),
    ),
    "redundancy_sonar": Experiment(
        "The redundancy rate on Sonar, for five criteria and five weights of unique relevance, beside the paper's."
    ),
}


class PresetName(StrEnum):
    """How much to compute: what takes seconds, minutes, hours, as published."""

    SMOKE = "smoke"
    SMALL = "small"
    MEDIUM = "medium"
    FULL = "full"


@dataclass(frozen=True)
class Asked:
    """What is asked of a replay: the parameters of `run`."""

    preset: str = "small"
    data_home: str | Path | None = None
    n_jobs: int | None = None
    progress: "Progress | None" = None
    journal: str | Path | None = None
    datasets: Sequence[str] | None = None
    classifiers: Sequence[str] | None = None
    n_runs: int | None = None
    tables_only: bool = False


def run(name: str, *, output: str | Path | None = None, **options: Any) -> "ReplayTables":
    """Run a replay.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    output : path, optional
        Folder to write CSV and Markdown to, and with a journal its outcomes in compact form, to go on from; nothing
        is written if None.
    **options
        ``preset``, "smoke", "small", "medium" or "full"; ``data_home``, as in `unirel.datasets.load`; ``n_jobs``;
        ``progress``, called as ``progress(done, total)``. Those that compare selectors also take ``journal``, a path
        where finished work is kept to go on from, a file for each dataset with its name before the suffix; and
        ``datasets``, ``classifiers`` and ``n_runs`` instead of those of the preset. ``tables_only=True`` computes
        nothing and makes tables of the accuracies that are in the journal, of whole runs.

    Returns
    -------
    ReplayTables
    """
    asked = _check(name, options)
    tables: ReplayTables = import_module(f"unirel.experiments.{name}").compute(asked)
    if output is not None:
        tables.write(output)
    return tables


def verify(name: str, n_units: int, *, seed: int = 0, **options: Any) -> "list[Verified]":
    """Compute some pieces of a journal again and compare them to the digit.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS` that keeps a journal of outcomes.
    n_units : int
        How many outcomes, drawn at random from those in the journals.
    seed : int
        Decides which ones.
    **options
        As in `run`; ``journal`` is needed.

    Returns
    -------
    list of Verified
        One for each, with what differs.
    """
    asked = _check(name, options)
    replay = getattr(import_module(f"unirel.experiments.{name}"), "REPLAY", None)
    if replay is None or asked.journal is None:
        raise ValueError(f"{name}: verify needs journal= with outcomes, as accuracy_ksg and accuracy_clf write them")
    found: list[Verified] = replay.verify(asked, n_units, seed)
    return found


def _check(name: str, options: dict[str, Any]) -> Asked:
    """What is asked for, if there is such a thing."""
    from unirel.options import check_choice

    check_choice("name", name, EXPERIMENTS)
    known = ("preset", "data_home", "n_jobs", "progress", *EXPERIMENTS[name].options)
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option}=; it takes output, {', '.join(known)}")
    asked = Asked(**options)
    check_choice("preset", asked.preset, [preset.value for preset in PresetName])
    return asked
