"""The redundancy rate on Sonar, for five criteria and five weights of unique relevance, beside the paper's.

Run it as ``python -m unirel.experiments.redundancy_sonar --data DIR --preset small --output DIR``, with the folder that
holds ``sonar.parquet``: features first, the last column ``target``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unirel.experiments.command import run_command
from unirel.experiments.tables import Row, read_expected, to_csv, to_markdown, write_texts
from unirel.information.knn import KNN
from unirel.path import SearchOptions, run_path
from unirel.redundancy import analyse, in_one_metric, unique_relevance_in
from unirel.results import Redundancy
from unirel.table import Table
from unirel.work import Progress


@dataclass(frozen=True)
class Setting:
    """How information is estimated, and what is boosted."""

    n_neighbors: int
    scale: Literal["standard"] | None
    boosted: str
    about: str


@dataclass(frozen=True)
class Preset:
    """How much is computed."""

    settings: tuple[str, ...]
    criteria: tuple[str, ...]
    betas: tuple[float, ...]
    n_subsamples: int


SETTINGS = {
    "default": Setting(
        3, "standard", "reference", "the defaults of unirel: 3 neighbours, scaled columns, reference UR"
    ),
    "ksg": Setting(3, "standard", "ksg", "the same, but boosting UR given all other features, as the paper does"),
    "script": Setting(100, None, "ksg", "close to the released script: 100 neighbours, columns as they are"),
}
PRESETS = {
    "smoke": Preset(("default",), ("mim", "gsa"), (0.0, 0.1), 0),
    "small": Preset(tuple(SETTINGS), ("mim", "jmi", "jmim", "mrmr", "gsa"), (0.0, 0.1, 0.2, 0.5, 0.9), 5),
    "full": Preset(tuple(SETTINGS), ("mim", "jmi", "jmim", "mrmr", "gsa"), (0.0, 0.1, 0.2, 0.5, 0.9), 20),
}
# Subsamples say how stable the default weight is, with the settings that estimate with few neighbours.
_STABLE_SETTINGS, _STABLE_BETAS, _SHARE = ("default", "ksg"), (0.0, 0.1), 0.8


@dataclass(frozen=True)
class Report:
    """What the experiment found.

    Attributes
    ----------
    cells : list of dict
        One for each setting, criterion and beta: sizes, rate, and the paper's.
    subsamples : list of dict
        The same for subsamples of the rows.
    curve : list of dict
        I(S; y) along the selection of GSA without boost, beside the curve of the paper.
    seconds : float
        Time taken.
    complete : bool
        Always true: an interruption ends the experiment.
    """

    cells: list[Row]
    subsamples: list[Row]
    curve: list[Row]
    seconds: float
    complete: bool = True

    def table(self) -> list[Row]:
        """A row for each criterion and source, a column for each beta, as in the paper."""
        rows: dict[tuple[str, str], Row] = {}
        for cell in self.cells:
            ours, paper = _row(rows, cell, str(cell["setting"])), _row(rows, cell, "paper")
            bound = "" if cell["exact"] else ">= "
            beta = f"beta {cell['beta']:g}"
            ours[beta] = f"{bound}{100 * cell['rate']:.1f} % ({cell['n_redundant']}/{cell['n_saturated']})"
            counts = f"({cell['paper_n_redundant']}/{cell['paper_n_saturated']})"
            paper[beta] = f"{cell['paper_rate_percent']:g} % {counts}"
        criteria = list(dict.fromkeys(row["criterion"] for row in rows.values()))
        return sorted(rows.values(), key=lambda row: (criteria.index(row["criterion"]), row["source"] == "paper"))

    def stability(self) -> list[Row]:
        """For each setting and criterion, and for the mean of the criteria: rates over the subsamples, in percent."""
        rows = []
        for setting in dict.fromkeys(row["setting"] for row in self.subsamples):
            criteria = dict.fromkeys(row["criterion"] for row in self.subsamples)
            rates = {criterion: self._rates(setting, criterion) for criterion in criteria}
            rates["mean"] = np.mean(list(rates.values()), axis=0)
            rows += [_compare(setting, criterion, *pair) for criterion, pair in rates.items()]
        return rows

    def _rates(self, setting: str, criterion: str) -> Any:
        """Rates without and with boost, two rows with one column for each subsample, in percent."""
        key = (setting, criterion)
        chosen = [row for row in self.subsamples if (row["setting"], row["criterion"]) == key]
        return np.array([[100 * row["rate"] for row in chosen if row["beta"] == beta] for beta in _STABLE_BETAS])

    def to_markdown(self) -> str:
        """All tables, with what they show."""
        about = "\n".join(f"- {name}: {setting.about}" for name, setting in SETTINGS.items())
        parts = [
            "# Redundancy rate on Sonar",
            f"{len(self.cells)} analyses and {len(self.subsamples)} of subsamples in {self.seconds:.0f} s.",
            about,
            "Redundancy rate, and redundant of saturated features:",
            to_markdown(self.table()),
        ]
        if self.subsamples:
            share = f"{100 * _SHARE:.0f} %"
            parts += [
                f"Redundancy rate in percent over subsamples of {share} of the rows:",
                to_markdown(self.stability()),
            ]
        parts += ["I(S; y) along the selection of GSA, beta 0, default settings, in nats:", to_markdown(self.curve)]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables as CSV and all of them as Markdown; each file appears whole or not at all."""
        texts = {
            "redundancy_sonar.csv": to_csv(self.cells),
            "redundancy_sonar_table.csv": to_csv(self.table()),
            "redundancy_sonar_subsamples.csv": to_csv(self.subsamples),
            "redundancy_sonar_stability.csv": to_csv(self.stability()),
            "redundancy_sonar.md": self.to_markdown(),
        }
        return write_texts(folder, texts)


def run(
    data_home: str | Path | None = None,
    preset: Literal["smoke", "small", "full"] = "small",
    n_jobs: int | None = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute the table.

    Parameters
    ----------
    data_home : path, optional
        The folder with ``sonar.parquet``; the environment variable UNIREL_DATA if None.
    preset : {"smoke", "small", "full"}
        Two criteria and two betas; the whole table and 5 subsamples; the whole table and 20 subsamples.
    n_jobs : int, optional
        Threads.
    output : path, optional
        Folder to write CSV and Markdown to; nothing is written if None.
    progress : callable, optional
        Called as ``progress(done, total)`` with settings and subsamples.

    Returns
    -------
    Report
    """
    if preset not in PRESETS:
        raise ValueError(f"preset={preset!r} is not one of {', '.join(map(repr, PRESETS))}")
    chosen = PRESETS[preset]
    start = time.perf_counter()
    X, y = _load(data_home)
    cells: list[Row] = []
    curve: list[Row] = []
    n_steps = len(chosen.settings) + chosen.n_subsamples
    for step, name in enumerate(chosen.settings, start=1):
        for criterion, beta, result in _analyses(X, y, SETTINGS[name], chosen.criteria, chosen.betas, n_jobs):
            cells.append(_cell(name, criterion, beta, result) | _paper(criterion, beta))
            if (name, criterion, beta) == ("default", "gsa", 0.0):
                curve = _curve(result)
        if progress is not None:
            progress(step, n_steps)
    subsamples: list[Row] = []
    for number in range(chosen.n_subsamples):
        subsamples += _subsample(X, y, number, chosen, n_jobs)
        if progress is not None:
            progress(len(chosen.settings) + number + 1, n_steps)
    report = Report(cells, subsamples, curve, time.perf_counter() - start)
    if output is not None:
        report.write(output)
    return report


def _analyses(
    X: Any, y: Any, setting: Setting, criteria: Sequence[str], betas: Sequence[float], n_jobs: int | None
) -> list[tuple[str, float, Redundancy]]:
    """Analyses of the selections of all criteria and betas; unique relevance is found once."""
    table = Table.from_data(X, y, scale=setting.scale)
    options = SearchOptions(
        n_features_to_select=len(table.features),
        unique_relevance=setting.boosted,
        n_neighbors=setting.n_neighbors,
        n_jobs=n_jobs,
    )
    path = run_path(table, criteria, betas, options)
    information = in_one_metric(KNN(table, n_neighbors=setting.n_neighbors, n_jobs=n_jobs))
    unique = unique_relevance_in(information)
    results = []
    for selection in path:
        if not selection.complete:
            raise KeyboardInterrupt(selection.reason)
        result = analyse(information, selection.order, unique)
        if not result.complete:
            raise KeyboardInterrupt("interrupted")
        results.append((selection.criterion, selection.beta, result))
    return results


def _subsample(X: Any, y: Any, number: int, preset: Preset, n_jobs: int | None) -> list[Row]:
    rows = np.random.default_rng(number).choice(len(y), round(_SHARE * len(y)), replace=False)
    rows.sort()
    return [
        {"subsample": number} | _cell(name, criterion, beta, result)
        for name in _STABLE_SETTINGS
        for criterion, beta, result in _analyses(
            X[rows], y[rows], SETTINGS[name], preset.criteria, _STABLE_BETAS, n_jobs
        )
    ]


def _cell(setting: str, criterion: str, beta: float, result: Redundancy) -> Row:
    return {
        "setting": setting,
        "criterion": criterion,
        "beta": beta,
        "rate": round(result.rate, 6),
        "n_redundant": len(result.redundant),
        "n_saturated": len(result.saturated),
        "n_unique": len(result.unique),
        "n_conditional": len(result.conditional),
        "joint_information": round(result.joint_information, 6),
        "reduced_information": round(result.reduced_information, 6),
        "exact": result.exact,
    }


def _paper(criterion: str, beta: float) -> Row:
    """The paper's numbers for a criterion and beta."""
    for row in read_expected("redundancy_rate_sonar"):
        if row["algorithm"].lower() == criterion and float(row["beta"]) == beta:
            return {
                "paper_rate_percent": float(row["redundancy_rate_percent"]),
                "paper_n_redundant": int(row["n_redundant"]),
                "paper_n_saturated": int(row["n_saturated"]),
            }
    raise KeyError(f"the paper has no redundancy rate for {criterion!r}, beta={beta}")


def _curve(result: Redundancy) -> list[Row]:
    """Some sizes of the curve beside those of the paper."""
    paper = {int(row["n_selected"]): row for row in read_expected("gsa_curve_sonar")}
    roles = {"UR": "unique", "CR": "conditional"}
    return [
        {
            "size": size,
            "I(S; y)": f"{result.curve[size - 1]:.4f}",
            "role": result.roles[size - 1],
            "paper I(S; y)": f"{float(paper[size]['joint_mi']):.4f}",
            "paper role": roles.get(paper[size]["mark"], paper[size]["mark"]),
        }
        for size in (1, 2, 5, 10, 20, 30, 34, 40)
    ]


def _load(data_home: str | Path | None) -> tuple[Any, Any]:
    """Features and target as arrays."""
    folder = data_home if data_home is not None else os.environ.get("UNIREL_DATA")
    if folder is None:
        raise FileNotFoundError("no data folder: name the one with sonar.parquet, or set UNIREL_DATA to it")
    path = Path(folder) / "sonar.parquet"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; name the folder that holds sonar.parquet")
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("reading parquet needs pyarrow; install it with: pip install 'unirel[cli]'") from error
    columns = parquet.read_table(path).to_pydict()
    y = np.array(columns.pop("target"))
    return np.column_stack(list(columns.values())), y


def _row(rows: dict[tuple[str, str], Row], cell: Row, source: str) -> Row:
    criterion = str(cell["criterion"])
    return rows.setdefault((criterion, source), {"criterion": criterion, "source": source})


def _compare(setting: str, criterion: str, plain: Any, boosted: Any) -> Row:
    """Rates without and with boost on the same subsamples: mean and standard deviation, and of their difference."""
    change = np.round(boosted - plain, 9)
    return {
        "setting": setting,
        "criterion": criterion,
        "subsamples": len(change),
        "beta 0": f"{plain.mean():.1f} +- {_deviation(plain):.1f}",
        "beta 0.1": f"{boosted.mean():.1f} +- {_deviation(boosted):.1f}",
        "change": f"{change.mean():+.1f} +- {_deviation(change):.1f}",
        "lower": int((change < 0).sum()),
        "equal": int((change == 0).sum()),
        "higher": int((change > 0).sum()),
    }


def _deviation(values: Any) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    return run_command("redundancy_sonar", __doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
