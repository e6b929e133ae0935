"""Pieces of a journal, computed again and compared to the digit."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirel.evaluation import Outcome
from unirel.evaluation.journal import Records, check_settings, read_journal
from unirel.evaluation.plan import Plan
from unirel.evaluation.selection import Key
from unirel.evaluation.work import Work
from unirel.options import check_whole_number

# Time is never the same twice.
_SILENT = ("seconds",)


@dataclass(frozen=True)
class Verified:
    """An outcome of a journal that was computed again.

    Attributes
    ----------
    key : tuple
        Dataset, run, selector and classifier.
    differences : tuple of str
        What is not the same, in words; empty if all is equal.
    """

    key: Key
    differences: tuple[str, ...]

    def in_words(self) -> str:
        """One line."""
        dataset, run, selector, classifier = self.key
        return f"{dataset}, run {run}, {selector}, {classifier}: {'; '.join(self.differences) or 'equal'}"


# Records of outcomes in the journal of a plan.
Known = dict[Key, dict[str, Any]]


def read_outcomes(plans: Mapping[Path, Plan]) -> dict[Path, Known]:
    """Outcomes that journals hold, each journal of a plan."""
    known: dict[Path, Known] = {}
    for path, plan in plans.items():
        if (found := read_journal(path)) is not None:
            check_settings(path, found.settings, plan.settings())
            runs = sorted({key[2] for key in found.records if key[0] == "outcome"})
            known[path] = {key: found.records[key] for key in plan.units(runs) if key in found.records}
    return known


def whole_runs(known: Mapping[Path, Known], plans: Mapping[Path, Plan]) -> list[Outcome]:
    """Outcomes of runs in which a classifier has been through all selectors."""
    kept = []
    for path, records in known.items():
        planned = plans[path].units({key[2] for key in records})
        missing = {(key[2], key[4]) for key in planned if key not in records}
        kept += [Outcome.from_dict(record) for key, record in records.items() if (key[2], key[4]) not in missing]
    return kept


def verify_outcomes(
    known: Mapping[Path, Known], plans: Mapping[Path, Plan], n_units: int, seed: int, n_jobs: int | None
) -> list[Verified]:
    """Compute outcomes again that are drawn from those known."""
    check_whole_number("n_units", n_units, 1)
    units = sorted((str(path), key) for path, records in known.items() for key in records)
    if not units:
        raise ValueError("the journals hold no outcome to verify; name others, or compute some first")
    chosen = sorted(random.Random(seed).sample(units, min(n_units, len(units))))
    return [_verify(plans[Path(path)], key, known[Path(path)][key], n_jobs) for path, key in chosen]


def _verify(plan: Plan, key: Key, there: Mapping[str, Any], n_jobs: int | None) -> Verified:
    here = _again(plan, key, n_jobs)
    differences = (
        f"{name} is {value!r} in the journal and {here[name]!r} now"
        for name, value in there.items()
        if name not in _SILENT and value != here[name]
    )
    return Verified(key[1:], tuple(differences))


def _again(plan: Plan, key: Key, n_jobs: int | None) -> Mapping[str, Any]:
    """An outcome that nobody remembers anything for."""
    (data,) = plan.datasets
    records = Records()
    Work(plan, records, n_jobs, None).find(data, [key])
    return records[key]
