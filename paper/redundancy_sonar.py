"""The redundancy rate on Sonar, for five criteria and five weights of unique relevance, beside the paper's."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from paper.accuracy import Asked
from paper.datasets import load
from paper.tables import ReplayTables, Row, Rows, read_expected
from unirel import KNN, Boost, BURSelector, redundancy_analysis
from unirel.results import Redundancy


@dataclass(frozen=True)
class Setting:
    """How information is estimated, and what is boosted."""

    n_neighbors: int
    scale: Literal["standard"] | None
    boosted: str
    about: str


@dataclass(frozen=True)
class Extent:
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
_CRITERIA, _BETAS = ("mim", "jmi", "jmim", "mrmr", "gsa"), (0.0, 0.1, 0.2, 0.5, 0.9)
EXTENTS = {
    "smoke": Extent(("default",), ("mim", "gsa"), (0.0, 0.1), 0),
    "small": Extent(tuple(SETTINGS), _CRITERIA, _BETAS, 5),
    **dict.fromkeys(("medium", "full"), Extent(tuple(SETTINGS), _CRITERIA, _BETAS, 20)),
}
# Subsamples say how stable the default weight is, with the settings that estimate with few neighbours.
_STABLE_SETTINGS, _STABLE_BETAS, _SHARE = ("default", "ksg"), (0.0, 0.1), 0.8


def compute(asked: Asked) -> ReplayTables:
    """All tables."""
    extent, n_jobs = EXTENTS[asked.preset], asked.n_jobs
    start = time.perf_counter()
    sonar = load("sonar", asked.data)
    X, y = np.asarray(sonar.data, float), np.asarray(sonar.target)
    cells: list[Row] = []
    curve: list[Row] = []
    for name in extent.settings:
        for criterion, beta, result in _analyses(X, y, SETTINGS[name], extent.criteria, extent.betas, n_jobs):
            cells.append(_cell(name, criterion, beta, result) | _paper(criterion, beta))
            if (name, criterion, beta) == ("default", "gsa", 0.0):
                curve = _curve(result)
    subsamples: list[Row] = []
    for number in range(extent.n_subsamples):
        subsamples += _subsample(X, y, number, extent.criteria, n_jobs)
    return make_tables(cells, subsamples, curve, time.perf_counter() - start)


def make_tables(cells: Rows, subsamples: Rows, curve: Rows, seconds: float) -> ReplayTables:
    """All that is shown, from analyses of all rows and of subsamples."""
    by_beta, stable = _by_beta(cells), _stability(subsamples)
    page: list[str | Rows] = [
        f"{len(cells)} analyses and {len(subsamples)} of subsamples in {seconds:.0f} s.",
        "\n".join(f"- {name}: {setting.about}" for name, setting in SETTINGS.items()),
        "Redundancy rate, and redundant of saturated features:",
        by_beta,
    ]
    if subsamples:
        page += [f"Redundancy rate in percent over subsamples of {100 * _SHARE:.0f} % of the rows:", stable]
    page += ["I(S; y) along the selection of GSA, beta 0, default settings, in nats:", curve]
    tables = {"": cells, "_table": by_beta, "_subsamples": subsamples, "_stability": stable}
    named = {f"redundancy_sonar{end}": rows for end, rows in tables.items()}
    return ReplayTables("redundancy_sonar", "Redundancy rate on Sonar", page, named)


def _by_beta(cells: Rows) -> Rows:
    """A row for each criterion and source, a column for each beta, as in the paper."""
    rows: dict[tuple[str, str], Row] = {}
    for cell in cells:
        ours, paper = _row(rows, cell, str(cell["setting"])), _row(rows, cell, "paper")
        bound = "" if cell["exact"] else ">= "
        beta = f"beta {cell['beta']:g}"
        ours[beta] = f"{bound}{100 * cell['rate']:.1f} % ({cell['n_redundant']}/{cell['n_saturated']})"
        counts = f"({cell['paper_n_redundant']}/{cell['paper_n_saturated']})"
        paper[beta] = f"{cell['paper_rate_percent']:g} % {counts}"
    criteria = list(dict.fromkeys(row["criterion"] for row in rows.values()))
    return sorted(rows.values(), key=lambda row: (criteria.index(row["criterion"]), row["source"] == "paper"))


def _stability(subsamples: Rows) -> Rows:
    """For each setting and criterion, and for the mean of the criteria: rates over the subsamples, in percent."""
    rows = []
    for setting in dict.fromkeys(row["setting"] for row in subsamples):
        mine = [row for row in subsamples if row["setting"] == setting]
        rates = {criterion: _rates(mine, criterion) for criterion in dict.fromkeys(row["criterion"] for row in mine)}
        rates["mean"] = np.mean(list(rates.values()), axis=0)
        rows += [_compare(setting, criterion, *pair) for criterion, pair in rates.items()]
    return rows


def _rates(subsamples: Rows, criterion: str) -> Any:
    """Rates without and with boost, two rows with one column for each subsample, in percent."""
    chosen = [row for row in subsamples if row["criterion"] == criterion]
    return np.array([[100 * row["rate"] for row in chosen if row["beta"] == beta] for beta in _STABLE_BETAS])


def _analyses(
    X: Any, y: Any, setting: Setting, criteria: Sequence[str], betas: Sequence[float], n_jobs: int | None
) -> list[tuple[str, float, Redundancy]]:
    """Analyses of the selections of all criteria and betas."""
    unique: Any = Boost("reference", max_samples=None) if setting.boosted == "reference" else setting.boosted
    neighbors = KNN(setting.n_neighbors, scale=setting.scale, correction=None)
    options = {"mi_estimator": neighbors, "unique_relevance": unique, "n_jobs": n_jobs}
    selectors = [BURSelector.paper(criterion, beta=beta, **options) for criterion in criteria for beta in betas]
    return [
        (selector.criterion, selector.beta, redundancy_analysis(X, y, selector=selector, max_features=None))
        for selector in selectors
    ]


def _subsample(X: Any, y: Any, number: int, criteria: Sequence[str], n_jobs: int | None) -> list[Row]:
    rows = np.random.default_rng(number).choice(len(y), round(_SHARE * len(y)), replace=False)
    rows.sort()
    return [
        {"subsample": number} | _cell(name, criterion, beta, result)
        for name in _STABLE_SETTINGS
        for criterion, beta, result in _analyses(X[rows], y[rows], SETTINGS[name], criteria, _STABLE_BETAS, n_jobs)
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
