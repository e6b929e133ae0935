"""Replays of published experiments, one per file, each beside the published numbers in `expected`.

A replay is a file of the name it has in `EXPERIMENTS`, with a function `compute`. ``unirel reproduce NAME`` and
``python -m unirel.experiments NAME`` run it.
"""

import inspect
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unirel.experiments.tables import ReplayTables

EXPERIMENTS = {
    "accuracy_clf": "Accuracy of criteria boosted by a classifier's unique relevance, and of three wrappers, beside "
    "the paper's.",
    "accuracy_ksg": "Accuracy of five criteria with and without the boost, by three classifiers on six datasets, "
    "beside the paper's.",
    "dataset_table": "The six datasets and the share of their features that have unique relevance, beside the paper's.",
    "genes": "Two genes of Colon that the boost should find, and the ranks of the genes that the paper names.",
    "redundancy_sonar": "The redundancy rate on Sonar, for five criteria and five weights of unique relevance, beside "
    "the paper's.",
}


class PresetName(StrEnum):
    """How much to compute: what takes seconds, what takes minutes, as published."""

    SMOKE = "smoke"
    SMALL = "small"
    FULL = "full"


def run(name: str, *, preset: str = "small", output: str | Path | None = None, **options: Any) -> "ReplayTables":
    """Run a replay.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    preset : {"smoke", "small", "full"}
        What takes seconds, what takes minutes, as published.
    output : path, optional
        Folder to write CSV and Markdown to; nothing is written if None.
    **options
        ``data_home``, as in `unirel.datasets.load`; ``n_jobs``; ``progress``, called as ``progress(done, total)``.
        Those that compare selectors also take ``journal``, a path where finished work is kept to go on from, a file
        for each dataset with its name before the suffix; and ``datasets``, ``classifiers`` and ``n_runs`` instead of
        those of the preset.

    Returns
    -------
    ReplayTables
    """
    from unirel.options import check_choice

    check_choice("name", name, EXPERIMENTS)
    check_choice("preset", preset, [known.value for known in PresetName])
    for option in options:
        if option not in options_of(name):
            raise ValueError(f"{name} has no option {option}=; it takes {', '.join(options_of(name))}")
    tables: ReplayTables = _compute(name)(preset, **options)
    if output is not None:
        tables.write(output)
    return tables


def options_of(name: str) -> list[str]:
    """Names of the options that a replay takes, beside the preset."""
    return list(inspect.signature(_compute(name)).parameters)[1:]


def _compute(name: str) -> Callable[..., Any]:
    compute: Callable[..., Any] = import_module(f"unirel.experiments.{name}").compute
    return compute
